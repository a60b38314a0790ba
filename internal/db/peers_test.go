package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
)

func TestWrittenByOthers(t *testing.T) {
	ctx, dir, tenant := context.Background(), t.TempDir(), uuid.NewString()
	open := func() *db.DB {
		d, err := db.Open(ctx, db.Options{Dir: dir, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	write := func(d *db.DB) {
		if err := d.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
			_, err := tx.Exec(insertSite, tenant, uuid.NewString(), uuid.NewString()[:8], "x", time.Now())
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	server, tool := open(), open()
	expect := func(want bool) {
		t.Helper()
		if got, err := server.WrittenByOthers(ctx); err != nil || got != want {
			t.Errorf("got %v %v, want %v", got, err, want)
		}
	}
	expect(false)
	write(server)
	expect(false)
	write(tool)
	expect(true)
	expect(false)
}
