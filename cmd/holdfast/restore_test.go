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

	"holdfast/internal/testkit/pgtest"
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
// asked to, and what was there is kept. PostgreSQL's rows go into an empty
// database and no other, whatever is asked.
func TestRestoreReplaces(t *testing.T) {
	eachDemo(t, func(s *site) {
		v := s.serve("--dev")
		path := s.backup(filepath.Join(s.TempDir(), "one.backup"))
		for _, args := range [][]string{nil, {"--replace"}} {
			if o := s.restore(path, args...); o.code != 1 || !strings.Contains(o.err, s.data) && !strings.Contains(o.err, "not empty") {
				s.Errorf("over a running server, %v: %s", args, o)
			}
		}
		bearer := v.token("admin@north.example", "holdfast-demo")
		if r := v.call("POST", "/v1/zones", bearer, map[string]any{"code": "LATER", "name": "x", "max_capacity": 1}); r.status != http.StatusCreated {
			s.Fatalf("a zone: %d %s", r.status, r.body)
		}
		if s.dsn != "" {
			n := embedded(s.T)
			n.dsn = s.dsn
			n.refusedRestore("into the database of a running server", path, withPassphrase, "not empty")
			v.stop()
			if o := s.restore(path, "--replace"); o.code != 1 || !strings.Contains(o.err, "not empty") {
				s.Errorf("into a database with rows: %s", o)
			}
			if len(s.codes("LATER")) != 1 {
				s.Error("a refused restore changed the database")
			}
			s.dsn = pgtest.DSN(s.T)
		} else {
			v.stop()
		}
		if o := s.restore(path, "--replace"); o.code != 0 || !strings.Contains(o.out, "what was there before is in") {
			s.Fatalf("replace: %s", o)
		}
		if len(s.codes("LATER")) != 0 {
			s.Error("the restored database has what came after the backup")
		}
		aside, _ := filepath.Glob(s.data + ".before-*")
		if len(aside) != 1 {
			s.Fatalf("put aside: %v", aside)
		}
		if before := (&site{T: s.T, data: aside[0]}); s.dsn == "" && len(before.codes("LATER")) != 1 {
			s.Error("what was put aside is not what was there")
		}
		s.serve("--dev").stop()
	})
}

// Of several restores into one place one wins, and what it made is whole: into
// one data directory, and into one database of PostgreSQL from several.
func TestRestoreTwiceAtOnce(t *testing.T) {
	eachDemo(t, func(s *site) {
		path := s.backup(filepath.Join(s.TempDir(), "one.backup"))
		n := s.another()
		places := []*site{n, n, n, n}
		if n.dsn != "" {
			for i := range places[1:] {
				places[i+1] = embedded(s.T)
				places[i+1].dsn = n.dsn
			}
		}
		var done sync.WaitGroup
		results := make([]outcome, len(places))
		for i, p := range places {
			done.Go(func() { results[i] = p.restore(path) })
		}
		done.Wait()
		var won []*site
		for i, o := range results {
			switch {
			case o.code == 0:
				won = append(won, places[i])
			case !strings.Contains(o.err, "another restore") && !strings.Contains(o.err, "in use") && !strings.Contains(o.err, "not empty"):
				s.Errorf("one that lost: %s", o)
			}
		}
		if len(won) != 1 {
			s.Fatalf("%d of %d restores won: %v", len(won), len(places), results)
		}
		won[0].run("verify")
		won[0].serve("--dev").stop()
	})
}

// A restore that was killed is repeated without further ado. On PostgreSQL what it
// began may go on for a moment, and may have filled the database: the next says
// so, and another database takes it.
func TestRestoreKilled(t *testing.T) {
	eachDemo(t, func(s *site) {
		path := s.backup(filepath.Join(s.TempDir(), "one.backup"))
		n := s.another()
		for i := range 8 {
			cmd := n.command(withPassphrase, "restore", path)
			if err := cmd.Start(); err != nil {
				s.Fatal(err)
			}
			time.Sleep(time.Duration(40+i*40) * time.Millisecond)
			cmd.Process.Kill()
			cmd.Wait()
			if _, err := os.Stat(n.data); err == nil {
				break // it was through
			}
		}
		if _, err := os.Stat(n.data); err != nil {
			var o outcome
			n.eventually("what the killed ones began is over", func() bool {
				o = n.restore(path)
				return !strings.Contains(o.err, "another restore")
			})
			if n.dsn != "" && strings.Contains(o.err, "not empty") {
				n.dsn = pgtest.DSN(s.T)
				o = n.restore(path)
			}
			if o.code != 0 {
				s.Fatalf("after the kills: %s", o)
			}
		}
		n.run("verify")
	})
}

// What was wrong when the backup was made is told by the restore, and not swapped
// in: stock that does not follow from its movements, totals, a sealed audit row that
// was changed.
func TestRestoreComparesAll(t *testing.T) {
	eachDemo(t, func(s *site) {
		v := s.serve("--dev")
		bearer := v.token("admin@north.example", "holdfast-demo")
		if r := v.call("POST", "/v1/zones", bearer, map[string]any{"code": "SEALED", "name": "x", "max_capacity": 1}); r.status != http.StatusCreated {
			s.Fatalf("a zone: %d %s", r.status, r.body)
		}
		s.eventually("the audit log is sealed", func() bool { return s.number("SELECT COUNT(*) FROM audit WHERE seal_no > 0") > 0 })
		v.stop()
		dir := s.TempDir()
		path := s.backup(filepath.Join(dir, "sound.backup"))
		if o := s.another().restore(path, "--dry-run"); o.code != 0 {
			s.Fatalf("of a sound one: %s", o)
		}
		for i, c := range []struct{ fault, mend, want string }{
			{"UPDATE stock_levels SET quantity = quantity + 10000", "UPDATE stock_levels SET quantity = quantity - 10000", "do not agree with the records"},
			{"UPDATE counters SET delta = delta + 1", "UPDATE counters SET delta = delta - 1", "do not agree with the records"},
			{"UPDATE audit SET entity_type = 'x' WHERE seal_no > 0", "", "the audit log of tenant"},
		} {
			s.write(c.fault)
			path := s.backup(filepath.Join(dir, string(rune('a'+i))+".backup"))
			if c.mend != "" {
				s.write(c.mend)
			}
			n := s.another()
			n.refusedRestore(c.fault, path, withPassphrase, c.want)
			n.untouched(c.fault)
		}
	})
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
