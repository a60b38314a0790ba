package db

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/db/wal"
)

// A log that was deleted after a crash is missed, and so is an older database in the place of
// a newer one; a database that a crash left with its log is whole.
func TestMarkMissesDeletedLog(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(t.Context(), Options{Dir: dir, Migrate: true, Exclusive: true, MarkEvery: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	path := filepath.Join(dir, MarkName)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if m, err := readMark(path); err == nil && m.Beat > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no mark was written")
		}
	}
	first := copyCrashed(t, dir, FileName, MarkName) // without the log, to which all of it was written
	whole := copyCrashed(t, dir, FileName, FileName+wal.Suffix, MarkName)
	for name, c := range map[string]struct {
		dir    string
		isLost bool
	}{"without its log": {first, true}, "with its log": {whole, false}} {
		again, err := Open(t.Context(), Options{Dir: c.dir, Migrate: true, Exclusive: true,
			MarkEvery: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // what is lost stays lost while the server runs
			lost, err := again.FindLostCommits(t.Context())
			if err != nil || (lost != nil) != c.isLost {
				t.Errorf("%s: %+v %v", name, lost, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		again.Close()
	}
}

// copyCrashed is what a crash left of a data directory.
func copyCrashed(t *testing.T, dir string, names ...string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
