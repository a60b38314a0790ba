package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/testkit/pgtest"
)

// What a connection has said once PostgreSQL never parses again, the scope
// included, whoever asks; and a transaction of one flush is one round trip,
// without a begin and a commit.
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
	for name, c := range map[string]struct {
		do   func(db.Scope) error
		runs int64
	}{
		"read":  {read, 2},  // the scope, the query
		"write": {write, 3}, // the scope, Relaxed, the insert
	} {
		for round := range 2 {
			for range 5 {
				tap.Reset()
				s := db.Scope{Tenant: uuid.NewString(), User: uuid.NewString()}
				if err := c.do(s); err != nil {
					t.Fatal(name, err)
				}
				if n := tap.Parses.Load(); round > 0 && n != 0 {
					t.Errorf("%s: %d statements were parsed again", name, n)
				}
				if n := tap.Trips.Load(); round > 0 && n != 1 {
					t.Errorf("%s: %d round trips, want 1", name, n)
				}
				if n := tap.Runs.Load(); n != c.runs {
					t.Errorf("%s: %d statements were run, want %d", name, n, c.runs)
				}
			}
		}
	}
}

// A transaction that is sent whole fails whole: by a statement in its middle and
// by what shows only at its end; and a read of one statement writes nothing.
func TestSentWhole(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		s := db.Scope{Tenant: uuid.NewString()}
		insert := func(codes ...string) error {
			return d.Write(t.Context(), s, func(tx *db.Tx) error {
				for _, c := range codes {
					tx.Queue(insertSite, []any{s.Tenant, uuid.NewString(), c, "Dock", time.Now()}, nil)
				}
				return nil
			})
		}
		count := func() (n int64) {
			if err := d.Read(t.Context(), s, func(tx *db.Tx) error {
				tx.Queue("SELECT COUNT(*) FROM sites WHERE tenant_id = $1", []any{s.Tenant},
					func(r *db.Row) error { n = r.Int(0); return nil })
				return tx.End()
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if err := insert("A", "B", "A", "C"); !fault.HasCode(err, "23505") {
			t.Errorf("the same code twice: %v", err)
		}
		if n := count(); n != 0 {
			t.Errorf("%d rows are left of a transaction that failed", n)
		}
		if err := insert("A", "B"); err != nil {
			t.Fatal(err)
		}
		for range 20 { // more than there are connections
			if err := d.Read(t.Context(), s, func(tx *db.Tx) error {
				tx.Queue("DELETE FROM sites WHERE tenant_id = $1", []any{s.Tenant}, nil)
				return tx.End()
			}); err == nil {
				t.Fatal("a read deleted rows")
			}
		}
		if n := count(); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
	})
}

func TestDeferredConstraint(t *testing.T) {
	dsn := pgtest.DSN(t)
	d, err := db.Open(t.Context(), db.Options{URL: dsn, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), "ALTER TABLE sites ADD UNIQUE (tenant_id, name) DEFERRABLE INITIALLY DEFERRED"); err != nil {
		t.Fatal(err)
	}
	s := db.Scope{Tenant: uuid.NewString()}
	for range 20 { // more than there are connections
		if err := d.Write(t.Context(), s, func(tx *db.Tx) error {
			for range 2 {
				id := uuid.NewString()
				tx.Queue(insertSite, []any{s.Tenant, id, id, "Dock", time.Now()}, nil)
			}
			return nil
		}); !fault.HasCode(err, "23505") {
			t.Fatalf("a constraint that is looked at with the commit: %v", err)
		}
	}
	if err := d.Read(t.Context(), s, func(tx *db.Tx) error {
		tx.Queue("SELECT 1 FROM sites", nil, func(*db.Row) error { return fault.New(fault.Internal, "", "a row is left") })
		return tx.End()
	}); err != nil {
		t.Error(err)
	}
}

// Whoever does not hear the answer to a commit is told that it is unknown; a
// read that hears nothing is only to be asked again.
func TestUnheard(t *testing.T) {
	tap, dsn := pgtest.Through(t, pgtest.DSN(t))
	d, err := db.Open(t.Context(), db.Options{URL: dsn, Migrate: true, PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := db.Scope{Tenant: uuid.NewString()}
	insert := func(tx *db.Tx) error {
		id := uuid.NewString()
		tx.Queue(insertSite, []any{s.Tenant, id, id, "Dock", time.Now()}, nil)
		return nil
	}
	one := func(tx *db.Tx) error {
		tx.Queue("SELECT 1", nil, nil)
		return tx.End()
	}
	for _, c := range []struct {
		name string
		do   func() error
		code string
	}{
		{"a write sent whole", func() error { return d.Write(t.Context(), s, insert) }, "08007"},
		{"a read sent whole", func() error { return d.Read(t.Context(), s, one) }, "08006"},
	} {
		tap.Cut.Store(true)
		if err := c.do(); !fault.HasCode(err, c.code) {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
		if err := d.Read(t.Context(), s, one); err != nil {
			t.Errorf("%s: the next read: %v", c.name, err)
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
