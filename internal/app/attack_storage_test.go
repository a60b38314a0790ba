package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/app"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// A data directory that was in use and has lost its database is a fault to
// mend, not a place for a fresh empty one.
func TestAttackLostDatabase(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(file string) error
	}{
		{"moved away", func(file string) error { return os.Rename(file, file+".moved") }},
		{"emptied", func(file string) error { return os.Truncate(file, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := config.Load("", nil, map[string]string{"dev": "true", "listen": "127.0.0.1:0", "data": t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			a, err := app.Open(t.Context(), set, app.Server)
			if err != nil {
				t.Fatal(err)
			}
			a.Close()
			if err := c.lose(filepath.Join(set.Data, db.FileName)); err != nil {
				t.Fatal(err)
			}
			again, err := app.Open(t.Context(), set, app.Server)
			if err == nil {
				again.Close()
				t.Error("started with a fresh empty database")
			}
		})
	}
}

// A disk that takes no writes makes a server not ready, with the reason, while
// reads go on; one that takes them again makes it ready.
func TestReadyWithoutWrites(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		write := func(sql string) error {
			return k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error { _, err := tx.Exec(sql); return err })
		}
		zones := func() {
			t.Helper()
			if r := k.Get(testkit.As(actor.Viewer), "/v1/zones?limit=1"); r.Status != 200 {
				t.Errorf("a read: %d %s", r.Status, r.Body)
			}
		}
		zones()
		// PostgreSQL's disk has room again at once.
		sql, status, reason := "DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$", 200, `"ready"`
		if k.App.DB.Engine() == db.SQLite {
			sql, status, reason = "INSERT INTO probes (name, beat) VALUES ('x', 1)", 503, "the database cannot be written"
			if err := write("PRAGMA query_only = ON"); err != nil {
				t.Fatal(err)
			}
		}
		if err := write(sql); err == nil {
			t.Fatal("the write succeeded")
		}
		if r := k.Get("", "/readyz"); r.Status != status || !strings.Contains(string(r.Body), reason) {
			t.Errorf("ready: %d %s", r.Status, r.Body)
		}
		zones()
	})
}

// broken has each row fail that a statement writes, such as INSERT ON zones, and
// for which when holds, and with it what its transaction did; mend ends that.
func broken(t *testing.T, k *testkit.Kit, statement, when string) (mend func()) {
	t.Helper()
	table := statement[strings.LastIndex(statement, " ")+1:]
	if k.Engine == db.PostgreSQL {
		c := connect(t, k)
		exec := func(sql string) {
			t.Helper()
			if _, err := c.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		exec("CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken' USING ERRCODE = 'XX000'; END $$")
		exec("CREATE TRIGGER broken AFTER " + statement + " FOR EACH ROW WHEN (" + when + ") EXECUTE FUNCTION broken()")
		return func() { exec("DROP TRIGGER broken ON " + table) }
	}
	exec := func(sql string) {
		t.Helper()
		if err := k.App.DB.Write(t.Context(), db.Scope{All: true},
			func(tx *db.Tx) error { _, err := tx.Exec(sql); return err }); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TRIGGER broken AFTER " + statement + " WHEN " + when + " BEGIN SELECT RAISE(ABORT, 'broken'); END")
	return func() { exec("DROP TRIGGER broken") }
}
