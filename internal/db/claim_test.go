package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

// A claim holds until its connection ends, however that happens.
func TestClaim(t *testing.T) {
	ctx := context.Background()
	dsn := pgtest.DSN(t)
	admin, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close(ctx) })
	d, err := db.Open(ctx, db.Options{URL: dsn, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	free := func(key int64) (is bool) {
		t.Helper()
		err := d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
			is, err = tx.Unclaimed(key)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	for name, end := range map[string]func(c *db.Claim){
		"closed": func(c *db.Claim) { c.Close() },
		"killed": func(c *db.Claim) {
			_, err := admin.Exec(ctx,
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast claim' AND datname = current_database()")
			if err != nil {
				t.Error(err)
			}
		},
	} {
		c, err := d.Claim(ctx)
		if err != nil || !c.Held(ctx) || free(c.Key) {
			t.Fatalf("%s: %v", name, err)
		}
		end(c)
		for try := 0; !free(c.Key); try++ {
			if try == 300 {
				t.Fatalf("%s: still claimed", name)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if c.Held(ctx) {
			t.Errorf("%s: held by a connection that ended", name)
		}
	}
}
