package db_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// each runs f on an empty, migrated database of both engines.
func each(t *testing.T, f func(t *testing.T, d *db.DB)) {
	for name, o := range map[string]func(t *testing.T) db.Options{
		"sqlite":     func(t *testing.T) db.Options { return db.Options{Dir: t.TempDir()} },
		"postgresql": func(t *testing.T) db.Options { return db.Options{URL: pgtest.DSN(t)} },
		"pooled":     func(t *testing.T) db.Options { return db.Options{URL: pgtest.DSN(t), Pooler: true} },
	} {
		t.Run(name, func(t *testing.T) {
			opt := o(t)
			opt.Migrate = true
			d, err := db.Open(context.Background(), opt)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			f(t, d)
		})
	}
}

// Text sorts by bytes on both engines, or nothing is opened.
func TestCollations(t *testing.T) {
	ctx := t.Context()
	dsn := pgtest.DSN(t)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for name, c := range map[string]struct {
		clause string
		opens  bool
	}{
		"ascii":    {"locale 'C'", true},
		"posix":    {"locale 'POSIX'", true},
		"language": {"locale 'C' locale_provider icu icu_locale 'en-US'", false},
	} {
		t.Run(name, func(t *testing.T) {
			other := "collated_" + strings.ToLower(rand.Text())
			if _, err := conn.Exec(ctx, "create database "+other+" template template0 encoding 'UTF8' "+c.clause); err != nil {
				t.Fatal(err)
			}
			defer conn.Exec(context.WithoutCancel(ctx), "drop database "+other+" with (force)")
			u, err := url.Parse(dsn)
			if err != nil {
				t.Fatal(err)
			}
			u.Path = "/" + other
			d, err := db.Open(ctx, db.Options{URL: u.String(), Migrate: true})
			if err == nil {
				d.Close()
			}
			if (err == nil) != c.opens || err != nil && !strings.Contains(err.Error(), "LOCALE 'C'") {
				t.Errorf("opened: %v", err)
			}
		})
	}
}

// The server ends statements at their time, but for maintenance.
func TestStatementTimeout(t *testing.T) {
	for _, pooler := range []bool{false, true} {
		d, err := db.Open(t.Context(), db.Options{URL: pgtest.DSN(t), Migrate: true, Pooler: pooler})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for want, ctx := range map[string]context.Context{"12s": t.Context(),
			"2min": db.Patient(t.Context(), 2*time.Minute)} {
			got := ""
			err := d.Read(ctx, db.Scope{}, func(tx *db.Tx) error {
				return tx.One("SHOW statement_timeout", nil, func(r *db.Row) error { got = r.Text(0); return nil })
			})
			if err != nil || got != want {
				t.Errorf("statements may take %s, want %s: %v", got, want, err)
			}
		}
	}
}

const insertSite = "INSERT INTO sites (tenant_id, id, code, name, created_at, updated_at, version) VALUES ($1, $2, $3, $4, $5, $5, 1)"

func TestTransaction(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		tenant, id := uuid.NewString(), uuid.NewString()
		at := time.Date(2026, 3, 29, 1, 2, 3, 456789000, time.UTC)
		scope := db.Scope{Tenant: tenant}
		if err := d.Write(ctx, scope, func(tx *db.Tx) error {
			tx.Queue(insertSite, []any{tenant, id, "A-1", "Dock", at}, nil)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		err := d.Read(ctx, scope, func(tx *db.Tx) error {
			return tx.One("SELECT id, code, created_at, version, city FROM sites WHERE tenant_id = $1 AND code LIKE 'A%'",
				[]any{tenant}, func(r *db.Row) error {
					if r.Text(0) != id || r.Text(1) != "A-1" || !r.Time(2).Equal(at) || r.Int(3) != 1 || !r.Null(4) {
						t.Errorf("row = %s %s %v %d %v", r.Text(0), r.Text(1), r.Time(2), r.Int(3), r.Null(4))
					}
					if got := r.Text(2); got != "2026-03-29T01:02:03.456789Z" {
						t.Errorf("time text = %s", got)
					}
					return nil
				})
		})
		if err != nil {
			t.Fatal(err)
		}
		err = d.Write(ctx, scope, func(tx *db.Tx) error {
			_, err := tx.Exec(insertSite, tenant, uuid.NewString(), "a-1", "Dock", at)
			return err
		})
		if !fault.HasCode(err, "23505") || !fault.Is(err, fault.Conflict) {
			t.Errorf("same code in other case: %v", err)
		}
		err = d.Write(ctx, scope, func(tx *db.Tx) error {
			_, err := tx.Exec("INSERT INTO teams (tenant_id, id, code, name, site_id, created_at, updated_at, version) VALUES ($1, $2, 'x', 'x', $3, $4, $4, "+
				"1)", tenant, uuid.NewString(), uuid.NewString(), at)
			return err
		})
		if !fault.HasCode(err, "23503") {
			t.Errorf("missing reference: %v", err)
		}
	})
}

func TestRollback(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx, tenant := context.Background(), uuid.NewString()
		scope := db.Scope{Tenant: tenant}
		after := false
		err := d.Write(ctx, scope, func(tx *db.Tx) error {
			tx.After(func() { after = true })
			if _, err := tx.Exec(insertSite, tenant, uuid.NewString(), "A", "A", time.Now()); err != nil {
				return err
			}
			return fault.New(fault.Conflict, "HF001", "veto")
		})
		if !fault.HasCode(err, "HF001") || after {
			t.Fatalf("err = %v, after = %v", err, after)
		}
		if err := d.Read(ctx, scope, func(tx *db.Tx) error {
			return tx.Query("SELECT 1 FROM sites WHERE tenant_id = $1", []any{tenant},
				func(*db.Row) error { t.Error("a row survived"); return nil })
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// The second fence of tenancy: even a statement without a tenant predicate
// sees and writes nothing of another tenant on PostgreSQL.
func TestRowLevelSecurity(t *testing.T) {
	for _, pooler := range []bool{false, true} {
		d, err := db.Open(context.Background(), db.Options{URL: pgtest.DSN(t), Migrate: true, Pooler: pooler})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		ctx, a, b := context.Background(), uuid.NewString(), uuid.NewString()
		insert := func(scope db.Scope, tenant string) error {
			return d.Write(ctx, scope, func(tx *db.Tx) error {
				_, err := tx.Exec(insertSite, tenant, uuid.NewString(), "A", "A", time.Now())
				return err
			})
		}
		if err := insert(db.Scope{Tenant: a}, a); err != nil {
			t.Fatal(err)
		}
		if err := insert(db.Scope{Tenant: a}, b); !fault.HasCode(err, "42501") {
			t.Errorf("write into another tenant: %v", err)
		}
		for _, c := range []struct {
			scope db.Scope
			rows  int
		}{{db.Scope{Tenant: a}, 1}, {db.Scope{Tenant: b}, 0}, {db.Scope{}, 0}, {db.Scope{All: true}, 1}} {
			n := 0
			if err := d.Read(ctx, c.scope, func(tx *db.Tx) error {
				return tx.Query("SELECT id FROM sites", nil, func(*db.Row) error { n++; return nil })
			}); err != nil {
				t.Fatal(err)
			}
			if n != c.rows {
				t.Errorf("pooler %v scope %+v sees %d rows, want %d", pooler, c.scope, n, c.rows)
			}
		}
	}
}

// More statements than a connection keeps: the oldest are closed and come
// back when they are asked for again, in the middle of transactions too.
func TestManyStatements(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		for round := range 2 {
			for from := 0; from < 900; from += 60 {
				sum, want := 0, 0
				if err := d.Read(ctx, db.Scope{}, func(tx *db.Tx) error {
					for i := from; i < from+60; i++ {
						want += i
						tx.Queue(fmt.Sprintf("SELECT CAST($1 AS bigint) + %d - %d", i, round), []any{round},
							func(r *db.Row) error { sum += int(r.Int(0)); return nil })
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if sum != want {
					t.Fatalf("from %d: %d, want %d", from, sum, want)
				}
			}
		}
	})
}

func TestAnalyze(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		if err := d.Analyze(context.Background(), "zones", "items"); err != nil {
			t.Error(err)
		}
	})
}

// A read that says it has ended leaves its connection free, whether anything
// was queued or not, and takes no further statement.
func TestEnd(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx, tenant := context.Background(), uuid.NewString()
		one := func(tx *db.Tx) { tx.Queue("SELECT 1", nil, func(*db.Row) error { return nil }) }
		for name, c := range map[string]struct {
			fn func(tx *db.Tx) error
			ok bool
		}{
			"at once":       {func(tx *db.Tx) error { one(tx); return tx.End() }, true},
			"after a flush": {func(tx *db.Tx) error { one(tx); tx.Flush(); one(tx); return tx.End() }, true},
			"with nothing":  {func(tx *db.Tx) error { one(tx); tx.Flush(); return tx.End() }, true},
			"never begun":   {func(tx *db.Tx) error { return tx.End() }, true},
			"queued after":  {func(tx *db.Tx) error { one(tx); tx.End(); one(tx); return nil }, false},
			"flushed after": {func(tx *db.Tx) error { one(tx); tx.End(); one(tx); return tx.Flush() }, false},
			"a failing one": {func(tx *db.Tx) error { tx.Queue("SELECT nothing FROM nowhere", nil, nil); return tx.End() },
				false},
			"failing after":   {func(tx *db.Tx) error { one(tx); tx.End(); return context.Canceled }, false},
			"two in the last": {func(tx *db.Tx) error { one(tx); one(tx); return tx.End() }, true},
		} {
			for range 20 { // more than there are connections
				if err := d.Read(ctx, db.Scope{Tenant: tenant}, c.fn); (err == nil) != c.ok {
					t.Fatalf("%s: %v", name, err)
				}
			}
			id := uuid.NewString()
			if err := d.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
				tx.Queue(insertSite, []any{tenant, id, id, "Dock", time.Now()}, nil)
				if err := tx.End(); err != nil {
					return err
				}
				_, err := tx.Exec("DELETE FROM sites WHERE id = $1", id)
				return err
			}); err != nil {
				t.Fatalf("%s: a write after it: %v", name, err)
			}
		}
	})
}

// A statement may run as long as its context's patience says, on every engine,
// and no longer; the next on the same connection has the usual limit again.
func TestPatient(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		const long = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 400000) SELECT COUNT(*) FROM c"
		run := func(tx *db.Tx) error { return tx.Query(long, nil, func(*db.Row) error { return nil }) }
		hurried := db.Patient(t.Context(), 2*time.Millisecond)
		for name, do := range map[string]func(context.Context, db.Scope, func(*db.Tx) error) error{"read": d.Read,
			"write": d.Write} {
			for _, c := range []struct {
				ctx   context.Context
				ended bool
			}{{hurried, true}, {db.Patient(hurried, time.Minute), false}, {t.Context(), false}} {
				if err := do(c.ctx, db.Scope{}, run); fault.HasCode(err, "57014") != c.ended || !c.ended && err != nil {
					t.Errorf("%s, to be ended %v: %v", name, c.ended, err)
				}
			}
		}
	})
}
