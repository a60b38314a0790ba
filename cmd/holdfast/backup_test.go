package main_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"holdfast/internal/blob"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/testkit/s3test"
)

const backupPassphrase = "five quiet herons fish"

var withPassphrase = []string{"HOLDFAST_BACKUP_PASSPHRASE=" + backupPassphrase}

// backup makes a backup that must succeed and returns the path of its file.
func (s *site) backup(to string, args ...string) string {
	s.Helper()
	o := s.finish(s.command(withPassphrase, append([]string{"backup", to}, args...)...), "")
	if o.code != 0 {
		s.Fatalf("backup: %s", o)
	}
	path, _, _ := strings.Cut(o.out, "\n")
	return path
}

// another is an empty place on the same engine.
func (s *site) another() *site {
	n := embedded(s.T)
	if s.dsn != "" {
		n.dsn = pgtest.DSN(s.T)
	}
	return n
}

// ledger is the test's own list of what was acknowledged, by zone code.
type ledger struct {
	sync.Mutex
	acked map[string]time.Time
	begun map[string]time.Time
}

// write adds zones until stop says so, and notes when each began and was
// acknowledged.
func (l *ledger) write(v *server, bearer string, worker int, stop *atomic.Bool) {
	for i := 0; !stop.Load(); i++ {
		code := fmt.Sprintf("LOAD-%d-%d", worker, i)
		l.Lock()
		l.begun[code] = time.Now()
		l.Unlock()
		r := v.call("POST", "/v1/zones", bearer, map[string]any{"code": code, "name": code, "max_capacity": 5})
		if r.status != http.StatusCreated {
			v.Errorf("a write beside the backup: %d %s", r.status, r.body)
			return
		}
		l.Lock()
		l.acked[code] = time.Now()
		l.Unlock()
	}
}

// A backup made while clients write is a state of a moment of it: all that was
// acknowledged before, nothing that began after. Restored, it serves; sessions
// of before are ended and webhooks paused; the file shows nothing.
func TestBackupBesideServer(t *testing.T) {
	eachDemo(t, func(s *site) {
		v := s.serve("--dev", "--webhook-allow-private")
		bearer := v.token("admin@north.example", "holdfast-demo")
		session, _ := v.signIn("viewer@north.example", "holdfast-demo")
		hook := map[string]any{"url": "http://127.0.0.1:9/hook", "events": []string{"order.*"}}
		if r := v.call("POST", "/v1/webhooks", bearer, hook); r.status != http.StatusCreated {
			s.Fatalf("a webhook: %d %s", r.status, r.body)
		}
		l := &ledger{acked: map[string]time.Time{}, begun: map[string]time.Time{}}
		var stop atomic.Bool
		var load sync.WaitGroup
		for w := range 4 {
			load.Go(func() { l.write(v, bearer, w, &stop) })
		}
		time.Sleep(300 * time.Millisecond)
		begin := time.Now()
		path := s.backup(s.TempDir() + "/")
		end := time.Now()
		time.Sleep(100 * time.Millisecond)
		stop.Store(true)
		load.Wait()
		v.stop()
		s.hidden(path, "admin@north.example", "PRAGMA", "master")

		n := s.another()
		if o := n.restore(path); o.code != 0 || !strings.Contains(o.out, "audit log agree") {
			s.Fatalf("restore: %s", o)
		}
		have := n.codes("LOAD-")
		for code, at := range l.acked {
			if at.Before(begin) && !have[code] {
				s.Errorf("%s was acknowledged before the backup began and is lost", code)
			}
		}
		for code := range have {
			if at, ok := l.begun[code]; !ok || at.After(end) {
				s.Errorf("%s is in the backup and began after it", code)
			}
		}
		w := n.serve("--dev")
		if r := w.call("GET", "/v1/zones?limit=1", session.AccessToken, nil); r.status != http.StatusUnauthorized {
			s.Errorf("a token of before the backup: %d %s", r.status, r.body)
		}
		old := map[string]string{"refresh_token": session.RefreshToken}
		if r := w.call("POST", "/auth/v1/token?grant_type=refresh_token", "", old); r.status != http.StatusBadRequest {
			s.Errorf("a refresh token of before the backup: %d %s", r.status, r.body)
		}
		fresh := w.token("admin@north.example", "holdfast-demo")
		var hooks []struct{ Status string }
		w.call("GET", "/v1/webhooks?select=status", fresh, nil).into(s, &hooks)
		if len(hooks) != 1 || hooks[0].Status != "paused" {
			s.Errorf("webhooks after the restore: %+v", hooks)
		}
		w.stop()
		n.run("verify")
	})
}

// codes are the zone codes with a prefix.
func (s *site) codes(prefix string) map[string]bool {
	s.Helper()
	out := map[string]bool{}
	for _, code := range s.texts("SELECT code FROM zones WHERE code LIKE $1", prefix+"%") {
		out[code] = true
	}
	return out
}

// hidden fails when a file holds one of the words.
func (s *site) hidden(path string, words ...string) {
	s.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	if err != nil {
		s.Fatal(err)
	}
	for _, w := range append(words, strings.TrimSpace(string(key))) {
		if bytes.Contains(text, []byte(w)) {
			s.Errorf("%s is legible in the backup", w)
		}
	}
}

// Without something to encrypt to, with a weak passphrase, over a file, or
// without room there is no backup, and nothing is left of it.
func TestBackupRefuses(t *testing.T) {
	s := siteOn(t, db.SQLite)
	s.run("tenant", "create", "Acme")
	dir := t.TempDir()
	taken := s.file(filepath.Join(dir, "taken.backup"), "precious")
	for name, r := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"no passphrase":    {nil, []string{filepath.Join(dir, "a.backup")}, "backup_passphrase"},
		"short passphrase": {[]string{"HOLDFAST_BACKUP_PASSPHRASE=hunter2"}, []string{filepath.Join(dir, "a.backup")}, "too short"},
		"no recipient":     {nil, []string{filepath.Join(dir, "a.backup"), "--recipient", "nobody"}, "age public key"},
		"file is there":    {withPassphrase, []string{taken}, "exists already"},
		"no such base":     {withPassphrase, []string{filepath.Join(dir, "a.backup"), "--base", dir + "/none"}, "no such file"},
		"bucket away":      {withPassphrase, []string{"s3://key:secret@127.0.0.1:1/files?tls=off&region=x"}, "cannot be reached"},
	} {
		o := s.finish(s.command(r.env, append([]string{"backup"}, r.args...)...), "")
		if o.code != 1 || !strings.Contains(o.err, r.want) || strings.Contains(o.err, "hunter2") {
			t.Errorf("%s: want a refusal with %q: %s", name, r.want, o)
		}
	}
	if text, _ := os.ReadFile(taken); string(text) != "precious" {
		t.Error("the file that was there was written to")
	}
	s.nothingIn(dir, "taken.backup")
	empty := embedded(t)
	if o := empty.finish(empty.command(withPassphrase, "backup", filepath.Join(dir, "a.backup")), ""); o.code != 1 {
		t.Errorf("of nothing: %s", o)
	}
}

// nothingIn fails when a directory holds more than these names, or the data
// directory a copy that was begun.
func (s *site) nothingIn(dir string, but ...string) {
	s.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.Fatal(err)
	}
	if len(entries) != len(but) {
		s.Errorf("left: %v", entries)
	}
	if left, _ := filepath.Glob(filepath.Join(s.data, "tmp-backup-*")); len(left) > 0 {
		s.Errorf("left in the data directory: %v", left)
	}
}

// Files of an earlier backup are not stored again, and both together restore.
func TestBackupIncremental(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		one := s.upload(1 << 20)
		dir := s.TempDir() + "/"
		base := s.backup(dir)
		two := s.upload(1 << 10)
		next := s.backup(dir, "--base", base)
		large, small := size(s.T, base), size(s.T, next)
		if small > large-(1<<19) {
			s.Errorf("the second backup has %d bytes beside %d of the first: the file is in it again", small, large)
		}
		n := s.another()
		if o := n.restore(next); o.code != 0 {
			s.Fatalf("restore: %s", o)
		}
		for key, want := range map[string][]byte{one: s.kept(one), two: s.kept(two)} {
			if got := n.kept(key); !bytes.Equal(got, want) {
				s.Errorf("%s came back with %d of %d bytes", key, len(got), len(want))
			}
		}
		if err := os.Remove(base); err != nil {
			s.Fatal(err)
		}
		m := s.another()
		m.refusedRestore("base is gone", next, withPassphrase, "earlier backup")
		m.untouched("base is gone")
	})
}

// A backup for an age recipient opens with the identity alone, which the machine
// that makes it has not; as a base it is opened with that too.
func TestBackupToRecipient(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		one := s.upload(1 << 20)
		own, other := s.identity(), s.identity()
		to, from := []string{"--recipient", own.Recipient().String()}, s.file("", own.String()+"\n")
		base := s.recipient(nil, to...)
		s.hidden(base, "PRAGMA", "master")
		n := s.another()
		n.refusedRestore("with a passphrase", base, withPassphrase, "does not open the backup")
		n.refusedRestore("with nothing", base, nil, "passphrase or the age identity")
		for name, c := range map[string]struct{ file, want string }{
			"another identity": {other.String(), "does not open the backup"}, "no identity": {"hello", "holds no age identity"},
		} {
			if o := n.finish(n.command(nil, "restore", base, "--identity-file", s.file(filepath.Join(s.TempDir(), "id"), c.file)), ""); o.code != 1 ||
				!strings.Contains(o.err, c.want) {
				s.Errorf("%s: %s", name, o)
			}
		}
		n.untouched("after refusals")
		s.upload(1 << 10)
		setting := []string{"HOLDFAST_BACKUP_RECIPIENT=" + own.Recipient().String()}
		next := s.recipient(setting, "--base", base, "--identity-file", from)
		if small, large := size(s.T, next), size(s.T, base); small > large-(1<<19) {
			s.Errorf("the second backup has %d bytes beside %d of the first", small, large)
		}
		if o := n.finish(n.command(nil, "restore", next, "--identity-file", from), ""); o.code != 0 {
			s.Fatalf("with the identity: %s", o)
		}
		if !bytes.Equal(n.kept(one), s.kept(one)) {
			s.Error("a file came back otherwise")
		}
	})
}

func (s *site) identity() *age.X25519Identity {
	s.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		s.Fatal(err)
	}
	return id
}

// recipient makes a backup without a passphrase and returns its path.
func (s *site) recipient(env []string, args ...string) string {
	s.Helper()
	o := s.finish(s.command(env, append([]string{"backup", s.shelf() + "/"}, args...)...), "")
	if o.code != 0 {
		s.Fatalf("backup: %s", o)
	}
	path, _, _ := strings.Cut(o.out, "\n")
	return path
}

// shelf is the directory for backups of this site.
func (s *site) shelf() string { return filepath.Join(filepath.Dir(s.data), "backups") }

// upload keeps a file of so many bytes, which nothing makes smaller, and returns
// the key it is kept by.
func (s *site) upload(size int64) string {
	s.Helper()
	files, err := blob.OpenDir(filepath.Join(s.data, "files"))
	if err != nil {
		s.Fatal(err)
	}
	defer files.Close()
	ref, err := files.Put(context.Background(), io.LimitReader(rand.Reader, size), size)
	if err != nil {
		s.Fatal(err)
	}
	return ref.Key
}

func (s *site) kept(key string) []byte {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "files", key))
	if err != nil {
		s.Error(err)
	}
	return text
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// A bucket takes backups and gives them back.
func TestBackupInBucket(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		address := s3test.Start(s.T).Address("safe/one.backup")
		one := s.upload(1 << 20)
		s.backup(address)
		two := s.upload(1 << 10)
		next := strings.Replace(address, "one.backup", "two.backup", 1)
		if o := s.finish(s.command(withPassphrase, "backup", next, "--base", address), ""); o.code != 0 || strings.Contains(o.String(), "secret") {
			s.Fatalf("a backup on one of the bucket: %s", o)
		}
		n := s.another()
		if o := n.restore(next); o.code != 0 {
			s.Fatalf("restore: %s", o)
		}
		for _, key := range []string{one, two} {
			if got := n.kept(key); !bytes.Equal(got, s.kept(key)) {
				s.Errorf("%s came back with %d bytes", key, len(got))
			}
		}
		if o := s.finish(s.command(withPassphrase, "backup", address), ""); o.code != 1 || !strings.Contains(o.err, "exists already") {
			s.Errorf("over one that is there: %s", o)
		}
	})
}

// texts reads one column of texts from the database.
func (s *site) texts(sql string, args ...any) (out []string) {
	s.Helper()
	s.open(func(ctx context.Context, d *db.DB) error {
		return d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query(sql, args, func(r *db.Row) error { out = append(out, r.Text(0)); return nil })
		})
	})
	return out
}
