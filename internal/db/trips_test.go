package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

// What a connection has said once PostgreSQL never parses again, the beginning,
// the scope and the commit included, whoever asks; and a transaction of one
// flush is one round trip.
func TestNothingIsParsedTwice(t *testing.T) {
	tap, dsn := pgtest.Through(t, pgtest.DSN(t))
	d, err := db.Open(t.Context(), db.Options{URL: dsn, Migrate: true, PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	read := func(s db.Scope) error {
		return d.Read(t.Context(), s, func(tx *db.Tx) error {
			tx.Queue("SELECT code FROM sites WHERE tenant_id = $1", []any{s.Tenant}, func(*db.Row) error { return nil })
			return tx.End()
		})
	}
	write := func(s db.Scope) error {
		return d.Write(t.Context(), s, func(tx *db.Tx) error {
			tx.Relaxed()
			id := uuid.NewString()
			tx.Queue(insertSite, []any{s.Tenant, id, id, "", time.Now()}, nil)
			return nil
		})
	}
	for name, do := range map[string]func(db.Scope) error{"read": read, "write": write} {
		for round := range 2 {
			for range 5 {
				tap.Reset()
				s := db.Scope{Tenant: uuid.NewString(), User: uuid.NewString()}
				if err := do(s); err != nil {
					t.Fatal(name, err)
				}
				if n := tap.Parses.Load(); round > 0 && n != 0 {
					t.Errorf("%s: %d statements were parsed again", name, n)
				}
				if n := tap.Trips.Load(); round > 0 && n != 1 {
					t.Errorf("%s: %d round trips, want 1", name, n)
				}
			}
		}
	}
}

// Citus tells its other servers of SET LOCAL and not of set_config, so where
// the extension is (here its name alone) the scope is set by one SET LOCAL each.
func TestScopeOnCitus(t *testing.T) {
	dsn := pgtest.DSN(t)
	d, err := db.Open(t.Context(), db.Options{URL: dsn, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), "SET allow_system_table_mods = on; INSERT INTO pg_extension "+
		"SELECT 4242, 'citus', extowner, extnamespace, false, '13' FROM pg_extension WHERE extname = 'plpgsql'"); err != nil {
		t.Fatal(err)
	}
	for _, pooler := range []bool{false, true} {
		tap, through := pgtest.Through(t, dsn)
		d, err := db.Open(t.Context(), db.Options{URL: through, PoolSize: 1, Pooler: pooler})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s := db.Scope{Tenant: uuid.NewString(), User: uuid.NewString()}
		if err := d.Write(t.Context(), s, func(tx *db.Tx) error {
			id := uuid.NewString()
			tx.Queue(insertSite, []any{s.Tenant, id, id, "", time.Now()}, nil)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			tap.Reset()
			n := 0
			if err := d.Read(t.Context(), s, func(tx *db.Tx) error {
				tx.Queue("SELECT code FROM sites", nil, func(*db.Row) error { n++; return nil })
				return tx.End()
			}); err != nil || n != 1 {
				t.Fatalf("%d rows: %v", n, err)
			}
		}
		if n, sets := tap.Parses.Load(), tap.Sets.Load(); sets < 2 || !pooler && n != 2 {
			t.Errorf("pooler %v: %d statements parsed, %d of them SET LOCAL, want one each for tenant and user", pooler, n, sets)
		}
	}
}

// An empty text is no null, first in a statement or behind bytes.
func TestEmptyParameters(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		got := [4]bool{true, true, true, false}
		if err := d.Read(t.Context(), db.Scope{}, func(tx *db.Tx) error {
			return tx.One("SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text)",
				[]any{"", []byte("a"), []byte{}, nil}, func(r *db.Row) error {
					got = [4]bool{r.Null(0), r.Null(1), r.Null(2), r.Null(3)}
					return nil
				})
		}); err != nil {
			t.Fatal(err)
		}
		if got != [4]bool{false, false, false, true} {
			t.Error("nulls:", got)
		}
	})
}
