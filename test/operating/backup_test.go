package operating_test

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
	"holdfast/internal/testkit/program"
	"holdfast/internal/testkit/s3test"
)

var withPassphrase = []string{"HOLDFAST_BACKUP_PASSPHRASE=" + program.BackupPassphrase}

// backup makes a backup that must succeed and returns the path of its file.
func backup(s *program.Site, to string, args ...string) string {
	s.Helper()
	o := s.Finish(s.Command(withPassphrase, append([]string{"backup", to}, args...)...), "")
	if o.Code != 0 {
		s.Fatalf("backup: %s", o)
	}
	path, _, _ := strings.Cut(o.Out, "\n")
	return path
}

// another is an empty place on the same engine.
func another(s *program.Site) *program.Site {
	n := program.Embedded(s.T)
	if s.DSN != "" {
		n.DSN = pgtest.DSN(s.T)
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
func (l *ledger) write(v *program.Server, bearer string, worker int, stop *atomic.Bool) {
	for i := 0; !stop.Load(); i++ {
		code := fmt.Sprintf("LOAD-%d-%d", worker, i)
		l.Lock()
		l.begun[code] = time.Now()
		l.Unlock()
		r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": code, "name": code, "max_capacity": 5})
		if r.Status != http.StatusCreated {
			v.Errorf("a write beside the backup: %d %s", r.Status, r.Body)
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
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev", "--webhook-allow-private")
		bearer := v.Token("admin@north.example", "holdfast-demo")
		session, _ := v.SignIn("viewer@north.example", "holdfast-demo")
		hook := map[string]any{"url": "http://127.0.0.1:9/hook", "events": []string{"order.*"}}
		if r := v.Call("POST", "/v1/webhooks", bearer, hook); r.Status != http.StatusCreated {
			s.Fatalf("a webhook: %d %s", r.Status, r.Body)
		}
		l := &ledger{acked: map[string]time.Time{}, begun: map[string]time.Time{}}
		var stop atomic.Bool
		var load sync.WaitGroup
		defer load.Wait() // also when the backup fails: no writer outlives the test
		defer stop.Store(true)
		for w := range 4 {
			load.Go(func() { l.write(v, bearer, w, &stop) })
		}
		time.Sleep(300 * time.Millisecond)
		begin := time.Now()
		path := backup(s, s.TempDir()+"/")
		end := time.Now()
		time.Sleep(100 * time.Millisecond)
		stop.Store(true)
		load.Wait()
		v.Stop()
		hidden(s, path, "admin@north.example", "PRAGMA", "master")

		n := another(s)
		if o := restore(n, path); o.Code != 0 || !strings.Contains(o.Out, "audit log agree") {
			s.Fatalf("restore: %s", o)
		}
		have := n.Codes("LOAD-")
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
		w := n.Serve("--dev")
		if r := w.Call("GET", "/v1/zones?limit=1", session.AccessToken, nil); r.Status != http.StatusUnauthorized {
			s.Errorf("a token of before the backup: %d %s", r.Status, r.Body)
		}
		old := map[string]string{"refresh_token": session.RefreshToken}
		if r := w.Call("POST", "/auth/v1/token?grant_type=refresh_token", "", old); r.Status != http.StatusBadRequest {
			s.Errorf("a refresh token of before the backup: %d %s", r.Status, r.Body)
		}
		fresh := w.Token("admin@north.example", "holdfast-demo")
		var hooks []struct{ Status string }
		w.Call("GET", "/v1/webhooks?select=status", fresh, nil).Into(s, &hooks)
		if len(hooks) != 1 || hooks[0].Status != "paused" {
			s.Errorf("webhooks after the restore: %+v", hooks)
		}
		w.Stop()
		n.Exec("verify")
	})
}

// hidden fails when a file holds one of the words.
func hidden(s *program.Site, path string, words ...string) {
	s.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(s.Data, "master.key"))
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
	s := program.SiteOn(t, db.SQLite)
	s.Exec("tenant", "create", "Acme")
	dir := t.TempDir()
	taken := s.File(filepath.Join(dir, "taken.backup"), "precious")
	for name, r := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"no passphrase": {nil, []string{filepath.Join(dir, "a.backup")}, "backup_passphrase"},
		"short passphrase": {[]string{"HOLDFAST_BACKUP_PASSPHRASE=hunter2"}, []string{filepath.Join(dir, "a.backup")},
			"too short"},
		"no recipient":  {nil, []string{filepath.Join(dir, "a.backup"), "--recipient", "nobody"}, "age public key"},
		"file is there": {withPassphrase, []string{taken}, "exists already"},
		"no such base": {withPassphrase, []string{filepath.Join(dir, "a.backup"), "--base", dir + "/none"},
			"no such file"},
		"bucket away": {withPassphrase, []string{"s3://key:secret@127.0.0.1:1/files?tls=off&region=x"},
			"cannot be reached"},
	} {
		o := s.Finish(s.Command(r.env, append([]string{"backup"}, r.args...)...), "")
		if o.Code != 1 || !strings.Contains(o.Err, r.want) || strings.Contains(o.Err, "hunter2") {
			t.Errorf("%s: want a refusal with %q: %s", name, r.want, o)
		}
	}
	if text, _ := os.ReadFile(taken); string(text) != "precious" {
		t.Error("the file that was there was written to")
	}
	nothingIn(s, dir, "taken.backup")
	empty := program.Embedded(t)
	if o := empty.Finish(empty.Command(withPassphrase, "backup", filepath.Join(dir, "a.backup")), ""); o.Code != 1 {
		t.Errorf("of nothing: %s", o)
	}
}

// nothingIn fails when a directory holds more than these names, or the data
// directory a copy that was begun.
func nothingIn(s *program.Site, dir string, but ...string) {
	s.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.Fatal(err)
	}
	if len(entries) != len(but) {
		s.Errorf("left: %v", entries)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Data, "tmp-backup-*")); len(left) > 0 {
		s.Errorf("left in the data directory: %v", left)
	}
}

// Files of an earlier backup are not stored again, and both together restore.
func TestBackupIncremental(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		one := upload(s, 1<<20)
		dir := s.TempDir() + "/"
		base := backup(s, dir)
		two := upload(s, 1<<10)
		next := backup(s, dir, "--base", base)
		large, small := program.FileSize(s.T, base), program.FileSize(s.T, next)
		if small > large-(1<<19) {
			s.Errorf("the second backup has %d bytes beside %d of the first: the file is in it again", small, large)
		}
		n := another(s)
		if o := restore(n, next); o.Code != 0 {
			s.Fatalf("restore: %s", o)
		}
		for key, want := range map[string][]byte{one: kept(s, one), two: kept(s, two)} {
			if got := kept(n, key); !bytes.Equal(got, want) {
				s.Errorf("%s came back with %d of %d bytes", key, len(got), len(want))
			}
		}
		if err := os.Remove(base); err != nil {
			s.Fatal(err)
		}
		m := another(s)
		refusedRestore(m, "base is gone", next, withPassphrase, "earlier backup")
		untouched(m, "base is gone")
	})
}

// A backup for an age recipient opens with the identity alone, which the machine
// that makes it has not; as a base it is opened with that too.
func TestBackupToRecipient(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		one := upload(s, 1<<20)
		own, other := identity(s), identity(s)
		to, from := []string{"--recipient", own.Recipient().String()}, s.File("", own.String()+"\n")
		base := recipient(s, nil, to...)
		hidden(s, base, "PRAGMA", "master")
		n := another(s)
		refusedRestore(n, "with a passphrase", base, withPassphrase, "does not open the backup")
		refusedRestore(n, "with nothing", base, nil, "passphrase or the age identity")
		for name, c := range map[string]struct{ file, want string }{
			"another identity": {other.String(), "does not open the backup"}, "no identity": {"hello", "holds no age identity"},
		} {
			if o := n.Finish(n.Command(nil, "restore", base, "--identity-file",
				s.File(filepath.Join(s.TempDir(), "id"), c.file)), ""); o.Code != 1 ||
				!strings.Contains(o.Err, c.want) {
				s.Errorf("%s: %s", name, o)
			}
		}
		untouched(n, "after refusals")
		upload(s, 1<<10)
		setting := []string{"HOLDFAST_BACKUP_RECIPIENT=" + own.Recipient().String()}
		next := recipient(s, setting, "--base", base, "--identity-file", from)
		if small, large := program.FileSize(s.T, next), program.FileSize(s.T, base); small > large-(1<<19) {
			s.Errorf("the second backup has %d bytes beside %d of the first", small, large)
		}
		if o := n.Finish(n.Command(nil, "restore", next, "--identity-file", from), ""); o.Code != 0 {
			s.Fatalf("with the identity: %s", o)
		}
		if !bytes.Equal(kept(n, one), kept(s, one)) {
			s.Error("a file came back otherwise")
		}
	})
}

func identity(s *program.Site) *age.X25519Identity {
	s.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		s.Fatal(err)
	}
	return id
}

// recipient makes a backup without a passphrase and returns its path.
func recipient(s *program.Site, env []string, args ...string) string {
	s.Helper()
	o := s.Finish(s.Command(env, append([]string{"backup", shelf(s) + "/"}, args...)...), "")
	if o.Code != 0 {
		s.Fatalf("backup: %s", o)
	}
	path, _, _ := strings.Cut(o.Out, "\n")
	return path
}

// shelf is the directory for backups of this site.
func shelf(s *program.Site) string { return filepath.Join(filepath.Dir(s.Data), "backups") }

// upload keeps a file of so many bytes, which nothing makes smaller, and returns
// the key it is kept by.
func upload(s *program.Site, size int64) string {
	s.Helper()
	files, err := blob.OpenDir(filepath.Join(s.Data, "files"))
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

func kept(s *program.Site, key string) []byte {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.Data, "files", key))
	if err != nil {
		s.Error(err)
	}
	return text
}

// A bucket takes backups and gives them back.
func TestBackupInBucket(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		address := s3test.Start(s.T).Address("safe/one.backup")
		one := upload(s, 1<<20)
		backup(s, address)
		two := upload(s, 1<<10)
		next := strings.Replace(address, "one.backup", "two.backup", 1)
		if o := s.Finish(s.Command(withPassphrase, "backup", next, "--base", address), ""); o.Code != 0 ||
			strings.Contains(o.String(), "secret") {
			s.Fatalf("a backup on one of the bucket: %s", o)
		}
		n := another(s)
		if o := restore(n, next); o.Code != 0 {
			s.Fatalf("restore: %s", o)
		}
		for _, key := range []string{one, two} {
			if got := kept(n, key); !bytes.Equal(got, kept(s, key)) {
				s.Errorf("%s came back with %d bytes", key, len(got))
			}
		}
		if o := s.Finish(s.Command(withPassphrase, "backup", address), ""); o.Code != 1 ||
			!strings.Contains(o.Err, "exists already") {
			s.Errorf("over one that is there: %s", o)
		}
	})
}
