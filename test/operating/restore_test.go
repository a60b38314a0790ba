package operating_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/testkit/program"
)

func restore(s *program.Site, from string, args ...string) program.Outcome {
	s.Helper()
	return s.Finish(s.Command(withPassphrase, append([]string{"restore", from}, args...)...), "")
}

// What is no whole backup, or would go over something, is refused in words, and
// the place it was meant for stays as it was.
func TestRestoreRefuses(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		path := backup(s, filepath.Join(s.TempDir(), "one.backup"))
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
			n := another(s)
			refusedRestore(n, name, s.File("", string(r.file)), withPassphrase, r.want)
			untouched(n, name)
		}
		n := another(s)
		refusedRestore(n, "wrong passphrase", path, []string{"HOLDFAST_BACKUP_PASSPHRASE=not the one it was"},
			"does not open the backup")
		refusedRestore(n, "no passphrase", path, nil, "passphrase")
		refusedRestore(n, "no such file", path+"x", withPassphrase, "no such file")
		untouched(n, "after refusals")
		if o := restore(n, path); o.Code != 0 {
			s.Fatalf("the same place takes the right one: %s", o)
		}
		refusedRestore(n, "over an installation", path, withPassphrase, "in use|not empty")
	})
}

func refusedRestore(s *program.Site, name, path string, env []string, want string) {
	s.Helper()
	o := s.Finish(s.Command(env, "restore", path), "")
	matched := false
	for w := range strings.SplitSeq(want, "|") {
		matched = matched || strings.Contains(o.Err, w)
	}
	if o.Code != 1 || !matched {
		s.Errorf("%s: want a refusal with %q: %s", name, want, o)
	}
}

// untouched fails when a restore left anything.
func untouched(s *program.Site, name string) {
	s.Helper()
	if _, err := os.Stat(s.Data); err == nil {
		s.Errorf("%s: the data directory was made", name)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Data), ".*"))
	if len(left) > 0 {
		s.Errorf("%s: %v is left", name, left)
	}
	if s.DSN != "" {
		if n := s.Tables(); n != 0 {
			s.Errorf("%s: %d tables are left in the database", name, n)
		}
	}
}

// A newer schema is refused before anything is written.
func TestRestoreNewerSchema(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		s.Write("INSERT INTO schema_migrations VALUES (9999, 'future', $1)", time.Now())
		path := backup(s, filepath.Join(s.TempDir(), "one.backup"))
		n := another(s)
		refusedRestore(n, "newer schema", path, withPassphrase, "newer Holdfast")
		untouched(n, "newer schema")
	})
}

// Over a running server nothing is restored; over one that is stopped only when
// asked to, and what was there is kept. PostgreSQL's rows go into an empty
// database and no other, whatever is asked.
func TestRestoreReplaces(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		path := backup(s, filepath.Join(s.TempDir(), "one.backup"))
		for _, args := range [][]string{nil, {"--replace"}} {
			if o := restore(s, path, args...); o.Code != 1 || !strings.Contains(o.Err, s.Data) &&
				!strings.Contains(o.Err, "not empty") {
				s.Errorf("over a running server, %v: %s", args, o)
			}
		}
		bearer := v.Token("admin@north.example", "holdfast-demo")
		if r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": "LATER", "name": "x",
			"max_capacity": 1}); r.Status != http.StatusCreated {
			s.Fatalf("a zone: %d %s", r.Status, r.Body)
		}
		if s.DSN != "" {
			n := program.Embedded(s.T)
			n.DSN = s.DSN
			refusedRestore(n, "into the database of a running server", path, withPassphrase, "not empty")
			v.Stop()
			if o := restore(s, path, "--replace"); o.Code != 1 || !strings.Contains(o.Err, "not empty") {
				s.Errorf("into a database with rows: %s", o)
			}
			if len(s.Codes("LATER")) != 1 {
				s.Error("a refused restore changed the database")
			}
			s.DSN = pgtest.DSN(s.T)
		} else {
			v.Stop()
		}
		if o := restore(s, path, "--replace"); o.Code != 0 || !strings.Contains(o.Out, "what was there before is in") {
			s.Fatalf("replace: %s", o)
		}
		if len(s.Codes("LATER")) != 0 {
			s.Error("the restored database has what came after the backup")
		}
		aside, _ := filepath.Glob(s.Data + ".before-*")
		if len(aside) != 1 {
			s.Fatalf("put aside: %v", aside)
		}
		if before := (&program.Site{T: s.T, Data: aside[0]}); s.DSN == "" && len(before.Codes("LATER")) != 1 {
			s.Error("what was put aside is not what was there")
		}
		s.Serve("--dev").Stop()
	})
}

// Of several restores into one place one wins, and what it made is whole: into
// one data directory, and into one database of PostgreSQL from several.
func TestRestoreTwiceAtOnce(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		path := backup(s, filepath.Join(s.TempDir(), "one.backup"))
		n := another(s)
		places := []*program.Site{n, n, n, n}
		if n.DSN != "" {
			for i := range places[1:] {
				places[i+1] = program.Embedded(s.T)
				places[i+1].DSN = n.DSN
			}
		}
		var done sync.WaitGroup
		results := make([]program.Outcome, len(places))
		for i, p := range places {
			done.Go(func() { results[i] = restore(p, path) })
		}
		done.Wait()
		var won []*program.Site
		for i, o := range results {
			switch {
			case o.Code == 0:
				won = append(won, places[i])
			case !strings.Contains(o.Err, "another restore") && !strings.Contains(o.Err, "in use") &&
				!strings.Contains(o.Err, "not empty"):
				s.Errorf("one that lost: %s", o)
			}
		}
		if len(won) != 1 {
			s.Fatalf("%d of %d restores won: %v", len(won), len(places), results)
		}
		won[0].Exec("verify")
		won[0].Serve("--dev").Stop()
	})
}

// A restore that was killed is repeated without further ado. On PostgreSQL what it
// began may go on for a moment, and may have filled the database: the next says
// so, and another database takes it.
func TestRestoreKilled(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		path := backup(s, filepath.Join(s.TempDir(), "one.backup"))
		n := another(s)
		for i := range 8 {
			cmd := n.Command(withPassphrase, "restore", path)
			if err := cmd.Start(); err != nil {
				s.Fatal(err)
			}
			time.Sleep(time.Duration(40+i*40) * time.Millisecond)
			cmd.Process.Kill()
			cmd.Wait()
			if _, err := os.Stat(n.Data); err == nil {
				break // it was through
			}
		}
		if _, err := os.Stat(n.Data); err != nil {
			var o program.Outcome
			n.Eventually("what the killed ones began is over", func() bool {
				o = restore(n, path)
				return !strings.Contains(o.Err, "another restore")
			})
			if n.DSN != "" && strings.Contains(o.Err, "not empty") {
				n.DSN = pgtest.DSN(s.T)
				o = restore(n, path)
			}
			if o.Code != 0 {
				s.Fatalf("after the kills: %s", o)
			}
		}
		n.Exec("verify")
	})
}

// What was wrong when the backup was made is told by the restore, and not swapped
// in: stock that does not follow from its movements, totals, a sealed audit row that
// was changed.
func TestRestoreComparesAll(t *testing.T) {
	t.Parallel() // half of it waits until the log is sealed
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		bearer := v.Token("admin@north.example", "holdfast-demo")
		if r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": "SEALED", "name": "x",
			"max_capacity": 1}); r.Status != http.StatusCreated {
			s.Fatalf("a zone: %d %s", r.Status, r.Body)
		}
		s.Eventually("the audit log is sealed", func() bool { return s.Number("SELECT COUNT(*) FROM audit_seals") > 0 })
		v.Stop()
		dir := s.TempDir()
		path := backup(s, filepath.Join(dir, "sound.backup"))
		if o := restore(another(s), path, "--dry-run"); o.Code != 0 {
			s.Fatalf("of a sound one: %s", o)
		}
		for i, c := range []struct{ fault, mend, want string }{
			{"UPDATE stock_levels SET quantity = quantity + 10000", "UPDATE stock_levels SET quantity = quantity - 10000",
				"do not agree with the records"},
			{"UPDATE counters SET delta = delta + 1", "UPDATE counters SET delta = delta - 1", "do not agree with the records"},
			{"UPDATE audit SET entity_type = 'x' WHERE batch IN (SELECT batch FROM audit_seals)", "", "the audit log of tenant"},
		} {
			s.Write(c.fault)
			path := backup(s, filepath.Join(dir, string(rune('a'+i))+".backup"))
			if c.mend != "" {
				s.Write(c.mend)
			}
			n := another(s)
			refusedRestore(n, c.fault, path, withPassphrase, c.want)
			untouched(n, c.fault)
		}
	})
}

// A drill says whether the backup would do and leaves nothing.
func TestRestoreDrill(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		path := backup(s, filepath.Join(s.TempDir(), "one.backup"))
		n := another(s)
		if o := restore(n, path, "--dry-run"); o.Code != 0 || !strings.Contains(o.Out, "nothing was kept") {
			s.Errorf("drill: %s", o)
		}
		untouched(n, "drill")
	})
}
