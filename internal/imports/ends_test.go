package imports_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/testkit/pgtest"
)

// A PostgreSQL server that goes down under an apply or a rollback, and comes
// back, leaves whole parts; the process that lives goes on by itself.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	cluster, err := pgtest.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	durable(t, cluster.DSN())
	k := open(t, db.Options{URL: cluster.DSN(), Migrate: true})
	k.parted(1000)
	job := k.upload("items", "", "", "i.csv", benchFile(killRows))
	k.process(job)
	for round, step := range []func() error{
		func() error { _, err := k.m.Apply(ctx, k.as, job.ID); return err },
		func() error { _, err := k.m.Rollback(ctx, k.as, job.ID); return err },
	} {
		ended := make(chan error, 1)
		go func() { ended <- step() }()
		var seen [2]int64
		for over := false; seen[round] == 0 && !over; { // until it is under way
			seen = k.part(job)
			select {
			case err := <-ended:
				ended <- err
				over = true
			case <-time.After(2 * time.Millisecond):
			}
		}
		if err := cluster.Crash(ctx); err != nil {
			t.Fatal(err)
		}
		first := <-ended
		k.answers()
		state := k.settled(job.ID)
		part := k.part(job)
		if part[0] < seen[0] || part[1] < seen[1] {
			t.Fatalf("%v was told, %v is left", seen, part)
		}
		if n := int64(len(k.rows("items"))); part[0]%1000 != 0 || part[1]%1000 != 0 || n != part[0]-part[1] {
			t.Fatalf("job %s, %v, %d items", state, part, n)
		}
		t.Logf("%v; job %s, %v", first, state, part)
		if err := step(); err != nil && !fault.HasCode(err, "import_state") {
			t.Fatal(err)
		}
	}
	if n := len(k.rows("items")); n != 0 || k.status(job) != "rolled_back" || len(k.counters()) != 0 {
		t.Errorf("%d items, job %s", n, k.status(job))
	}
}

// durable undoes what makes throwaway servers fast: a commit that was told must
// outlive the crash.
func durable(t *testing.T, dsn string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, sql := range []string{"ALTER SYSTEM SET fsync = on", "ALTER SYSTEM SET synchronous_commit = on",
		"ALTER SYSTEM SET full_page_writes = on",
		"SELECT pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
}

// part is how many rows of a job are in, and how many are back.
func (k *kit) part(job *jobs.Job) [2]int64 {
	k.Helper()
	j := k.find("import_jobs", "id", job.ID)
	return [2]int64{j["imported_count"].(int64), j["rolled_back_count"].(int64)}
}

// answers waits until the pool's connections are to a server that lives.
func (k *kit) answers() {
	k.Helper()
	for good, end := 0, time.Now().Add(30*time.Second); good < 30; good++ {
		if err := k.d.Ping(context.Background()); err != nil {
			if good = 0; time.Now().After(end) {
				k.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
