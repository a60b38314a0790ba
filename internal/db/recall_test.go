package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/testkit/pgtest"
)

const nameOfSiteSQL = `
	SELECT sites.name
	FROM sites
	WHERE sites.tenant_id = $1
		AND sites.code = $2`

const renameSiteSQL = `
	UPDATE sites
	SET name = $3
	WHERE tenant_id = $1
		AND code = $2`

// eachPair calls f with a database of each engine and, where it serves several processes,
// with another handle on it.
func eachPair(t *testing.T, f func(t *testing.T, d, other *db.DB)) {
	dsn := pgtest.DSN(t)
	for name, options := range map[string][]db.Options{
		"sqlite":     {{Dir: t.TempDir(), Migrate: true}},
		"postgresql": {{URL: dsn, Migrate: true}, {URL: dsn}},
		"pooled":     {{URL: dsn, Migrate: true, Pooler: true}, {URL: dsn}},
	} {
		t.Run(name, func(t *testing.T) {
			handles := make([]*db.DB, len(options))
			for i, o := range options {
				d, err := db.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { d.Close() })
				handles[i] = d
			}
			f(t, handles[0], handles[len(handles)-1])
		})
	}
}

// What a transaction recalls is what stands in the database when it commits: what others,
// another process too, and it itself have changed meanwhile.
func TestRecallIsTrue(t *testing.T) {
	eachPair(t, func(t *testing.T, d, other *db.DB) {
		s := db.Scope{Tenant: uuid.NewString()}
		rename := func(by *db.DB, name string) {
			t.Helper()
			err := by.Write(t.Context(), s, func(tx *db.Tx) error {
				n, err := tx.Exec(renameSiteSQL, s.Tenant, "A", name)
				if n != 1 {
					t.Errorf("%d sites are called %s", n, name)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		copied := func(code string, before ...string) (name string) {
			t.Helper()
			err := d.Write(t.Context(), s, func(tx *db.Tx) (err error) {
				for _, own := range before {
					tx.Queue(renameSiteSQL, []any{s.Tenant, "A", own}, nil)
				}
				if name, err = tx.Recall(nameOfSiteSQL, s.Tenant, "A"); err != nil {
					return err
				}
				tx.Queue(insertSite, []any{s.Tenant, uuid.NewString(), code, name, time.Now()}, nil)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var stored string
			err = d.Read(t.Context(), s, func(tx *db.Tx) error {
				return tx.One(nameOfSiteSQL, []any{s.Tenant, code}, func(r *db.Row) error {
					stored = r.Text(0)
					return nil
				})
			})
			if err != nil || stored != name {
				t.Errorf("%s: %q is stored, %q was recalled: %v", code, stored, name, err)
			}
			return name
		}

		if name := copied("none"); name != "" {
			t.Errorf("a site that there is not is called %q", name)
		}
		err := d.Write(t.Context(), s, func(tx *db.Tx) error {
			tx.Queue(insertSite, []any{s.Tenant, uuid.NewString(), "A", "first", time.Now()}, nil)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			code string
			do   func()
			own  []string
			want string
		}{
			{"made", func() {}, nil, "first"},
			{"again", func() {}, nil, "first"},
			{"by-itself", func() { rename(d, "second") }, nil, "second"},
			{"by-another", func() { rename(other, "third") }, nil, "third"},
			{"in-itself", func() {}, []string{"fourth"}, "fourth"},
			{"after", func() {}, nil, "fourth"},
		} {
			c.do()
			if name := copied(c.code, c.own...); name != c.want {
				t.Errorf("%s: %q is recalled, want %q", c.code, name, c.want)
			}
		}
	})
}

// A refusal stands on what is so, not on what was so when the last transaction asked.
func TestRefusalsStandOnWhatIsSo(t *testing.T) {
	eachPair(t, func(t *testing.T, d, other *db.DB) {
		s := db.Scope{Tenant: uuid.NewString()}
		write := func(by *db.DB, fn func(tx *db.Tx) error) {
			t.Helper()
			if err := by.Write(t.Context(), s, fn); err != nil {
				t.Fatal(err)
			}
		}
		write(d, func(tx *db.Tx) error {
			tx.Queue(insertSite, []any{s.Tenant, uuid.NewString(), "A", "closed", time.Now()}, nil)
			return nil
		})
		refuseClosed := func(tx *db.Tx) error {
			name, err := tx.Recall(nameOfSiteSQL, s.Tenant, "A")
			if err == nil && name == "closed" {
				err = fault.New(fault.Conflict, "HF000", "the site is closed")
			}
			return err
		}
		for range 2 {
			if err := d.Write(t.Context(), s, refuseClosed); !fault.HasCode(err, "HF000") {
				t.Errorf("a closed site: %v", err)
			}
		}
		write(other, func(tx *db.Tx) error {
			_, err := tx.Exec(renameSiteSQL, s.Tenant, "A", "open")
			return err
		})
		write(d, refuseClosed)
	})
}

// A write does not wait for an answer that was given before.
func TestRecallSavesATrip(t *testing.T) {
	tap, dsn := pgtest.Through(t, pgtest.DSN(t))
	d, err := db.Open(t.Context(), db.Options{URL: dsn, Migrate: true, PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	first, second := db.Scope{Tenant: uuid.NewString()}, db.Scope{Tenant: uuid.NewString()}
	for i, s := range []db.Scope{first, first, second, second, second} {
		tap.Reset()
		err := d.Write(t.Context(), s, func(tx *db.Tx) error {
			name, err := tx.Recall(nameOfSiteSQL, s.Tenant, "A")
			id := uuid.NewString()
			tx.Queue(insertSite, []any{s.Tenant, id, id, name, time.Now()}, nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			continue // its statements were not prepared
		}

		want := int64(1)
		if i == 2 {
			want = 2
		}
		if n := tap.Trips.Load(); n != want {
			t.Errorf("write %d: %d round trips, want %d", i+1, n, want)
		}
	}
}
