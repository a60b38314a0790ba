package main_test

import (
	"bytes"
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/demo"
)

func (s *site) restore(from string, args ...string) outcome {
	s.Helper()
	return s.finish(s.command(withPassphrase, append([]string{"restore", from}, args...)...), "")
}

// What is no whole backup, or would go over something, is refused in words, and
// the place it was meant for stays as it was.
func TestRestoreRefuses(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		path := s.backup(filepath.Join(s.TempDir(), "one.backup"))
		text, err := os.ReadFile(path)
		if err != nil {
			s.Fatal(err)
		}
		altered := func(at int) []byte {
			out := bytes.Clone(text)
			out[at] ^= 1
			return out
		}
		for name, r := range map[string]struct {
			file []byte
			want string
		}{
			"empty":               {nil, "cut short or was altered"},
			"something else":      {bytes.Repeat([]byte("hello"), 1000), "cut short or was altered"},
			"cut in the head":     {text[:100], "cut short or was altered"},
			"cut in the middle":   {text[:len(text)/2], "cut short or was altered"},
			"last byte missing":   {text[:len(text)-1], "cut short or was altered"},
			"altered at the end":  {altered(len(text) - 1), "cut short or was altered"},
			"altered in the data": {altered(len(text) / 2), "cut short or was altered"},
			"something after it":  {append(bytes.Clone(text), "more"...), "cut short or was altered"},
		} {
			n := s.another()
			n.refusedRestore(name, s.file("", string(r.file)), withPassphrase, r.want)
			n.untouched(name)
		}
		n := s.another()
		n.refusedRestore("wrong passphrase", path, []string{"HOLDFAST_BACKUP_PASSPHRASE=not the one it was"}, "does not open the backup")
		n.refusedRestore("no passphrase", path, nil, "passphrase")
		n.refusedRestore("no such file", path+"x", withPassphrase, "no such file")
		n.untouched("after refusals")
		if o := n.restore(path); o.code != 0 {
			s.Fatalf("the same place takes the right one: %s", o)
		}
		n.refusedRestore("over an installation", path, withPassphrase, "in use|not empty")
	})
}

func (s *site) refusedRestore(name, path string, env []string, want string) {
	s.Helper()
	o := s.finish(s.command(env, "restore", path), "")
	matched := false
	for w := range strings.SplitSeq(want, "|") {
		matched = matched || strings.Contains(o.err, w)
	}
	if o.code != 1 || !matched {
		s.Errorf("%s: want a refusal with %q: %s", name, want, o)
	}
}

// untouched fails when a restore left anything.
func (s *site) untouched(name string) {
	s.Helper()
	if _, err := os.Stat(s.data); err == nil {
		s.Errorf("%s: the data directory was made", name)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.data), ".*"))
	if len(left) > 0 {
		s.Errorf("%s: %v is left", name, left)
	}
	if s.dsn != "" {
		if n := s.tables(); n != 0 {
			s.Errorf("%s: %d tables are left in the database", name, n)
		}
	}
}

// A newer schema is refused before anything is written.
func TestRestoreNewerSchema(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		s.write("INSERT INTO schema_migrations VALUES (9999, 'future', $1)", time.Now())
		path := s.backup(filepath.Join(s.TempDir(), "one.backup"))
		n := s.another()
		n.refusedRestore("newer schema", path, withPassphrase, "newer Holdfast")
		n.untouched("newer schema")
	})
}

// Over a running server nothing is restored; over one that is stopped only when
// asked to, and what was there is kept.
func TestRestoreReplaces(t *testing.T) {
	s := demoOn(t, db.SQLite)
	v := s.serve("--dev")
	path := s.backup(filepath.Join(t.TempDir(), "one.backup"))
	for _, args := range [][]string{nil, {"--replace"}} {
		if o := s.restore(path, args...); o.code != 1 || !strings.Contains(o.err, s.data) {
			t.Errorf("over a running server, %v: %s", args, o)
		}
	}
	bearer := v.token("admin@north.example", "holdfast-demo")
	if r := v.call("POST", "/v1/zones", bearer, map[string]any{"code": "LATER", "name": "x", "max_capacity": 1}); r.status != http.StatusCreated {
		t.Fatalf("a zone: %d %s", r.status, r.body)
	}
	v.stop()
	if o := s.restore(path, "--replace"); o.code != 0 || !strings.Contains(o.out, "what was there before is in") {
		t.Fatalf("replace: %s", o)
	}
	if n := s.number("SELECT COUNT(*) FROM zones WHERE code = 'LATER'"); n != 0 {
		t.Error("the restored database has what came after the backup")
	}
	aside, _ := filepath.Glob(s.data + ".before-*")
	if len(aside) != 1 {
		t.Fatalf("put aside: %v", aside)
	}
	before := &site{T: t, data: aside[0]}
	if n := before.number("SELECT COUNT(*) FROM zones WHERE code = 'LATER'"); n != 1 {
		t.Error("what was put aside is not what was there")
	}
	s.serve("--dev").stop()
}

// Of two restores into one place one wins, and what it made is whole.
func TestRestoreTwiceAtOnce(t *testing.T) {
	s := demoOn(t, db.SQLite)
	path := s.backup(filepath.Join(t.TempDir(), "one.backup"))
	n := s.another()
	var done sync.WaitGroup
	results := make(chan outcome, 4)
	for range 4 {
		done.Go(func() { results <- n.restore(path) })
	}
	done.Wait()
	close(results)
	won := 0
	for o := range results {
		switch {
		case o.code == 0:
			won++
		case !strings.Contains(o.err, "another restore") && !strings.Contains(o.err, "in use"):
			t.Errorf("the one that lost: %s", o)
		}
	}
	if won != 1 {
		t.Errorf("%d of 4 restores won", won)
	}
	n.run("verify")
}

// A restore that was killed is repeated without further ado.
func TestRestoreKilled(t *testing.T) {
	s := demoSized(t, db.SQLite, demo.Whole)
	path := s.backup(filepath.Join(t.TempDir(), "one.backup"))
	n := s.another()
	for i := range 8 {
		cmd := n.command(withPassphrase, "restore", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(40+i*40) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := os.Stat(n.data); err == nil {
			break // it was through
		}
	}
	if _, err := os.Stat(n.data); err != nil {
		if o := n.restore(path); o.code != 0 {
			t.Fatalf("after the kills: %s", o)
		}
	}
	n.run("verify")
}

// A drill says whether the backup would do and leaves nothing.
func TestRestoreDrill(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		path := s.backup(filepath.Join(s.TempDir(), "one.backup"))
		n := s.another()
		if o := n.restore(path, "--dry-run"); o.code != 0 || !strings.Contains(o.out, "nothing was kept") {
			s.Errorf("drill: %s", o)
		}
		n.untouched("drill")
	})
}

// tables counts what a PostgreSQL database has.
func (s *site) tables() (n int) {
	s.Helper()
	d, err := sql.Open("pgx", s.dsn)
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	if err := d.QueryRow("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}
