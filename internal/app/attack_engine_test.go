package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// A query nobody waits for any more is ended, on both
// engines; on PostgreSQL also the one of a client that has gone.
func TestAttackClientGone(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- k.App.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.Query("WITH RECURSIVE c(n) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000000) SELECT COUNT(*) FROM c",
					nil, func(*db.Row) error { return nil })
			})
		}()
		time.Sleep(100 * time.Millisecond) // it runs for hours
		cancel()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("a cancelled query succeeded")
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the query goes on")
		}
		if k.Engine == db.PostgreSQL {
			clientGone(t, k)
		}
	})
}

func clientGone(t *testing.T, k *testkit.Kit) {
	token := k.Token(testkit.As(actor.Manager))
	watch := connect(t, k)
	waiting := func() (n int) {
		if err := watch.QueryRow(context.Background(),
			"SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	lock := connect(t, k)
	if _, err := lock.Exec(context.Background(), "BEGIN; LOCK TABLE shipments IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", k.URL+"/v1/shipments?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	within(t, "the query waits for the lock", func() bool { return waiting() > 0 })
	cancel()
	<-gone
	within(t, "the query is ended", func() bool { return waiting() == 0 })
	lock.Close(context.Background())
	if r := k.Call(testkit.Request{Method: "GET", Path: "/v1/shipments?limit=1", Bearer: token}); r.Status != 200 {
		t.Errorf("afterwards: %d %s", r.Status, r.Body)
	}
}

// connect asks the database beside the product, as its owner.
func connect(t *testing.T, k *testkit.Kit) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), k.App.Config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// PostgreSQL ends the connections of an apply at random moments. The job is
// where it was or done, its rows are none or all, and applying again completes.
func TestAttackBackendsEndDuringApply(t *testing.T) {
	const rows = 2000
	k := testkit.New(t, db.PostgreSQL)
	as := testkit.As(actor.Owner)
	k.Token(as)
	var b strings.Builder
	b.WriteString("sku,name\n")
	for i := range rows {
		fmt.Fprintf(&b, "D2-%d,Item %d\n", i, i)
	}
	body, kind := form(t, "items", "items.csv", b.String())
	var job struct{ ID string }
	k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: as, Body: body,
		Header: map[string]string{"Content-Type": kind}}).JSON(t, &job)
	if r := k.Post(as, "/functions/v1/process-import-job", map[string]any{"job_id": job.ID}); r.Status != 200 {
		t.Fatalf("process: %d %s", r.Status, r.Body)
	}
	side := connect(t, k)
	count := func(q string, args ...any) (n int) {
		if err := side.QueryRow(context.Background(), q, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	state := func() (s string) {
		if err := side.QueryRow(context.Background(), "SELECT status FROM import_jobs WHERE id = $1",
			job.ID).Scan(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	ended := map[string]int{}
	for round := 0; round < 8 && state() != "completed"; round++ {
		done := make(chan testkit.Response, 1)
		go func() {
			done <- k.Post(as, "/functions/v1/apply-import-job", map[string]any{"job_id": job.ID})
		}()
		time.Sleep(rand.N(250 * time.Millisecond))
		count("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		r := <-done
		if r.Status != 200 && r.Status != 503 && r.Status != 409 {
			t.Errorf("round %d: %d %s", round, r.Status, r.Body)
		}
		// When the last write was cut off too, the job's lease runs out first.
		if _, err := side.Exec(context.Background(),
			"UPDATE import_jobs SET lease_until = now() - interval '1 hour' WHERE id = $1 AND lease_until IS NOT NULL",
			job.ID); err != nil {
			t.Fatal(err)
		}
		within(t, "a stable state", func() bool {
			if err := k.App.DB.Ping(context.Background()); err != nil {
				return false
			}
			if _, err := k.App.Imports.Recover(context.Background()); err != nil {
				t.Logf("recover: %v", err)
				return false
			}
			return state() == "ready" || state() == "completed"
		})
		n, s := count("SELECT COUNT(*) FROM items WHERE sku LIKE 'D2-%'"), state()
		ended[s]++
		if s == "ready" && n != 0 || s == "completed" && n != rows {
			t.Fatalf("round %d: %s with %d rows of %d", round, s, n, rows)
		}
	}
	t.Logf("rounds by the state they ended in: %v", ended)
	if state() != "completed" {
		if r := k.Post(as, "/functions/v1/apply-import-job", map[string]any{"job_id": job.ID}); r.Status != 200 {
			t.Errorf("again: %d %s", r.Status, r.Body)
		}
	}
	if n := count("SELECT COUNT(*) FROM items WHERE sku LIKE 'D2-%'"); n != rows || state() != "completed" {
		t.Errorf("in the end: %s with %d rows of %d", state(), n, rows)
	}
}

// Requests run as a role that row level security binds, every tenant's
// table has it by force, and a statement without a WHERE sees one tenant.
func TestAttackRowSecurity(t *testing.T) {
	k := testkit.New(t, db.PostgreSQL)
	side := connect(t, k)
	for _, res := range catalog.Default().All() {
		if res.Root {
			continue
		}
		var forced bool
		if err := side.QueryRow(context.Background(), "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = to_regclass($1)",
			res.Name).Scan(&forced); err != nil || !forced {
			t.Errorf("%s: row level security is not forced (%v)", res.Name, err)
		}
		err := k.App.DB.Read(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			return tx.One("SELECT COUNT(*) FROM "+res.Name+" WHERE tenant_id <> $1", []any{demo.North}, func(r *db.Row) error {
				if r.Int(0) != 0 {
					t.Errorf("%s: %d rows of others are seen", res.Name, r.Int(0))
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	}
	err := k.App.DB.Read(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
		return tx.One("SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user", nil,
			func(r *db.Row) error {
				if r.Text(0) == "" || r.Bool(1) {
					t.Errorf("requests run as %s, which nothing binds", r.Text(0))
				}
				return nil
			})
	})
	if err != nil {
		t.Error(err)
	}
}
