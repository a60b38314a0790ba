package dbtest

import (
	"context"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

// RefuseWrites makes an open database take no more writes while reads go on:
// SQLite as on a disk that became read-only, PostgreSQL as a standby. allow makes
// it writable again; on SQLite nothing does, and allow is nil.
func RefuseWrites(t testing.TB, d *db.DB, o db.Options) (allow func()) {
	t.Helper()
	if d.Engine() == db.PostgreSQL {
		return pgtest.RefuseWrites(t, o.URL)
	}
	err := d.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec("PRAGMA query_only = ON")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return nil
}

// LockWrites has another program hold what each write of a table needs, until
// release is called: on SQLite the database's write lock, on PostgreSQL the table.
func LockWrites(t testing.TB, d *db.DB, o db.Options, table string) (release func()) {
	t.Helper()
	if d.Engine() == db.PostgreSQL {
		return pgtest.Lock(t, o.URL, table)
	}
	o.Rehearse, o.Migrate, o.Observe = false, false, nil
	other := Open(t, o)
	locked, unlock, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- other.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM probes WHERE name = 'locked'")
			close(locked)
			<-unlock
			return err
		})
	}()
	<-locked
	return func() {
		close(unlock)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
