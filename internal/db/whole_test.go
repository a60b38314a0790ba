package db

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file whose end is missing is refused. One that a crash left short while its
// log was written back is not: the log has the rest.
func TestWholeFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, FileName)
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	d, err := Open(t.Context(), Options{Dir: dir, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	w := d.eng.(*lite).writer
	must := func(sql string) {
		t.Helper()
		if err := w.execText(sql); err != nil {
			t.Fatal(err)
		}
	}
	must("PRAGMA wal_checkpoint(TRUNCATE)")
	before := len(read(file))
	must("CREATE TABLE grown AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i, hex(randomblob(200)) AS b FROM n")
	log := read(file + "-wal")
	must("PRAGMA wal_checkpoint(TRUNCATE)")
	all := read(file)
	if err := d.Close(); err != nil || len(all) < before+50*4096 {
		t.Fatalf("%v, %d bytes after %d", err, len(all), before)
	}
	for name, c := range map[string]struct {
		file, log []byte
		whole     bool
	}{
		"whole":                 {all, nil, true},
		"cut off":               {all[:len(all)-20*4096], nil, false},
		"cut off by half":       {all[:len(all)/2], nil, false},
		"cut off within a page": {all[:len(all)-100], nil, false},
		"a crash while written": {all[:before], log, true},
		"cut off, with its log": {all[:before/2], log, false},
		"a log of another": {all[:before], append(append([]byte(nil), log[:16]...),
			append(make([]byte, 8), log[24:]...)...), false},
		"a log that is cut off":  {all[:before], log[:10*4096], false},
		"a log without anything": {all[:before], log[:32], false},
	} {
		at := t.TempDir()
		path := filepath.Join(at, FileName)
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+"-wal", c.log, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), Options{Dir: at, Migrate: true})
		if err != nil {
			if c.whole || !strings.Contains(err.Error(), "is missing") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		rows := 0
		err = d.Read(t.Context(), Scope{All: true}, func(tx *Tx) error {
			return tx.Query("SELECT i FROM grown", nil, func(*Row) error { rows++; return nil })
		})
		if !c.whole || err != nil || rows != 2000 {
			t.Errorf("%s: opened with %d rows: %v", name, rows, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A server that has gone silent holds a request for 15 seconds at most.
func TestAnswerTime(t *testing.T) {
	if got := answerTime(t.Context(), 5) + cancelTime; got > 15*time.Second || got < statementTimeout {
		t.Errorf("%s, where a statement may take %s", got, statementTimeout)
	}
}
