package operating_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
	"holdfast/internal/testkit/s3test"
)

// logged is a server that ships its log, and where to.
type logged struct {
	*program.Site
	*program.Server
	dir    string
	bearer string
}

func serveLogged(s *program.Site, dir string, args ...string) *logged {
	s.Helper()
	x := &logged{Site: s, dir: dir}
	x.Server = s.Serve(append([]string{"--dev", "--backup-to", x.dir, "--backup-log", "--backup-passphrase",
		program.BackupPassphrase}, args...)...)
	x.bearer = x.Token("admin@north.example", "holdfast-demo")
	return x
}

// shipped waits until all that was acknowledged so far has been sent.
func (x *logged) shipped() {
	x.Site.Helper()
	// A write of its own: without one nothing would be sent.
	x.zone(fmt.Sprintf("MARK-%d", time.Now().UnixNano()))
	now := time.Now()
	x.Site.Eventually("the log is shipped", func() bool {
		var state struct {
			Made time.Time
			Log  struct{ ID string }
		}
		text, err := os.ReadFile(filepath.Join(x.Data, "backup-log.json"))
		return err == nil && json.Unmarshal(text, &state) == nil && state.Log.ID != "" && state.Made.After(now)
	})
}

func (x *logged) zone(code string) {
	x.Site.Helper()
	if r := x.Call("POST", "/v1/zones", x.bearer, map[string]any{"code": code,
		"name": code}); r.Status != http.StatusCreated {
		x.Site.Fatalf("a zone: %d %s", r.Status, r.Body)
	}
}

// based waits for so many backups, and until the log goes on from the last.
func (x *logged) based(n int) (last string) {
	x.Site.Helper()
	x.Site.Eventually(fmt.Sprintf("%d backups", n), func() bool {
		made, _ := filepath.Glob(filepath.Join(x.dir, "*.backup"))
		if len(made) < n {
			return false
		}
		last = made[len(made)-1]
		return len(made) == n && x.Number("SELECT COUNT(*) FROM backups WHERE scheduled = $1", true) == int64(n)
	})
	return last
}

func (x *logged) killed() {
	x.Cmd.Process.Kill()
	<-x.Gone
}

// A server is killed under load and its disk is lost: what it had acknowledged a
// moment before is in what was shipped, with the files; what is missing came last.
func TestLogShipped(t *testing.T) {
	s := program.DemoOn(t, db.SQLite)
	x := serveLogged(s, filepath.Join(t.TempDir(), "backups"))
	base := x.based(1)
	l := &ledger{acked: map[string]time.Time{}, begun: map[string]time.Time{}}
	var stop atomic.Bool
	var load sync.WaitGroup
	var last [3]int // of each worker, that was acknowledged
	for w := range last {
		load.Go(func() {
			for i := 0; !stop.Load(); i++ {
				code := fmt.Sprintf("LOAD-%d-%d", w, i)
				r, err := http.NewRequest("POST", x.URL+"/v1/zones", strings.NewReader(`{"code":"`+code+`","name":"x"}`))
				if err != nil {
					return
				}
				r.Header.Set("Authorization", "Bearer "+x.bearer)
				r.Header.Set("Content-Type", "application/json")
				got, err := http.DefaultClient.Do(r)
				if err != nil {
					return // killed
				}
				got.Body.Close()
				if got.StatusCode == http.StatusCreated {
					l.Lock()
					l.acked[code], last[w] = time.Now(), i
					l.Unlock()
				}
			}
		})
	}
	job := x.Uploaded(x.bearer, 200)
	x.shipped()
	sent := time.Now()
	x.shipped()
	time.Sleep(200 * time.Millisecond)
	files, _ := filepath.Glob(filepath.Join(s.Data, "files", "*"))
	x.killed()
	stop.Store(true)
	load.Wait()
	if err := os.RemoveAll(s.Data); err != nil {
		t.Fatal(err)
	}
	n := another(s)
	if o := restore(n, base); o.Code != 0 || !strings.Contains(o.Out, "segments of the log behind it lead to") ||
		!strings.Contains(o.Out, "audit log agree") {
		t.Fatalf("restore: %s", o)
	}
	have := n.Codes("LOAD-")
	for code, at := range l.acked {
		if at.Before(sent) && !have[code] {
			t.Errorf("%s was acknowledged before all was shipped, and is lost", code)
		}
	}
	for w := range last {
		for i, missing := 0, false; i <= last[w]; i++ {
			is := have[fmt.Sprintf("LOAD-%d-%d", w, i)]
			if is && missing {
				t.Errorf("worker %d: what came before its %d is lost, and it is there", w, i)
			}
			missing = missing || !is
		}
	}
	if len(files) == 0 {
		t.Error("no file was uploaded")
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(n.Data, "files", filepath.Base(f))); err != nil {
			t.Errorf("an uploaded file is lost: %v", err)
		}
	}
	n.Exec("verify")
	v := n.Serve("--dev")
	if r := v.Call("GET", "/v1/import_jobs?id=eq."+job, v.Token("admin@north.example", "holdfast-demo"),
		nil); !strings.Contains(string(r.Body), job) {
		t.Errorf("the import job: %d %s", r.Status, r.Body)
	}
}

// The log goes on over an end, a kill and being written back, without another
// backup, and each moment of it can be restored. Where somebody wrote past the
// server a backup is made anew.
func TestLogGoesOn(t *testing.T) {
	s := program.DemoOn(t, db.SQLite)
	dir := filepath.Join(t.TempDir(), "backups")
	x := serveLogged(s, dir)
	base := x.based(1)
	x.zone("A")
	x.Stop()
	x = serveLogged(s, dir)
	x.zone("B")
	x.shipped()
	x.killed()
	x = serveLogged(s, dir)
	x.zone("C")
	x.shipped()
	until := time.Now()
	s.Eventually("the log was written back", func() bool {
		before := modified(s)
		s.Write("UPDATE items SET description = $1", strings.Repeat(fmt.Sprint(time.Now().UnixNano()), 150))
		return before != modified(s)
	})
	x.zone("D")
	x.shipped()
	if made, _ := filepath.Glob(filepath.Join(dir, "*.backup")); len(made) != 1 {
		t.Errorf("the log went on from one backup, and there are %d", len(made))
	}
	x.Stop()
	restoredTo(s, base, "ABCD")
	restoredTo(s, base, "ABC", "--until", until.UTC().Format(time.RFC3339Nano))

	s.Write("UPDATE zones SET code = 'X' WHERE code = 'D'") // while no server looks
	x = serveLogged(s, dir)
	again := x.based(2)
	x.zone("E")
	x.shipped()
	x.Stop()
	restoredTo(s, again, "ABCEX")
	restoredTo(s, base, "ABCD")
}

// While nothing can be written where the backups are, writes go on, the age of what
// was sent tells of it, and what came meanwhile is sent from the same backup on once
// it can be.
func TestLogPlaceAway(t *testing.T) {
	s := program.DemoOn(t, db.SQLite)
	dir, admin := filepath.Join(t.TempDir(), "backups"), program.ClosedPort(t)
	x := serveLogged(s, dir, "--admin-listen", admin)
	base := x.based(1)
	x.zone("A")
	x.shipped()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	s.File(dir, "no directory")
	x.zone("B")
	x.zone("C")
	s.Eventually("the age of what was sent grows", func() bool {
		m := regexp.MustCompile(`(?m)^holdfast_backup_log_age_seconds (\S+)`).FindStringSubmatch(program.Metrics(t, admin))
		age, err := strconv.ParseFloat(m[1], 64)
		return err == nil && age > 2
	})
	x.zone("D")
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	x.shipped()
	x.killed()
	if made, _ := filepath.Glob(filepath.Join(dir, "*.backup")); len(made) != 1 {
		t.Errorf("the log went on from one backup, and there are %d", len(made))
	}
	restoredTo(s, base, "ABCD")
}

func modified(s *program.Site) time.Time {
	st, err := os.Stat(filepath.Join(s.Data, db.FileName))
	if err != nil {
		s.Fatal(err)
	}
	return st.ModTime()
}

// restoredTo restores a backup with its log and expects these zones, of A to Z.
func restoredTo(s *program.Site, from, want string, args ...string) {
	s.Helper()
	n := another(s)
	if o := restore(n, from, args...); o.Code != 0 {
		s.Fatalf("restore %v: %s", args, o)
	}
	got := ""
	for c := 'A'; c <= 'Z'; c++ {
		if n.Number("SELECT COUNT(*) FROM zones WHERE code = $1", string(c)) > 0 {
			got += string(c)
		}
	}
	if got != want {
		s.Errorf("restored %v has zones %s, want %s", args, got, want)
	}
	n.Exec("verify")
}

// What is sent into a bucket is as good.
func TestLogInBucket(t *testing.T) {
	s := program.DemoOn(t, db.SQLite)
	place := s3test.Start(t).Address("safe/")
	x := serveLogged(s, place)
	x.zone("A")
	x.shipped()
	var noted []string
	s.Eventually("the backup is noted", func() bool { noted = s.Texts("SELECT name FROM backups"); return len(noted) > 0 })
	x.killed()
	if err := os.RemoveAll(s.Data); err != nil {
		t.Fatal(err)
	}
	address, query, _ := strings.Cut(place, "?")
	from := strings.TrimSuffix(address, "/") + "/" + noted[0]
	if query != "" {
		from += "?" + query
	}
	restoredTo(s, from, "A")
}

// A log with a gap, one that was altered or is another's, and a time that it does
// not reach are refused in words; nothing is put in place.
func TestLogRefuses(t *testing.T) {
	s := program.DemoOn(t, db.SQLite)
	dir := filepath.Join(t.TempDir(), "backups")
	s.Refused("backup_log needs backup_to", "serve", "--backup-log")
	pg := &program.Site{T: t, Data: s.Data, DSN: "postgres://nobody@127.0.0.1:1/none"}
	pg.Refused("PostgreSQL archives its own log", "serve", "--backup-log", "--backup-to", dir, "--backup-passphrase",
		program.BackupPassphrase)
	plain := backup(s, filepath.Join(t.TempDir(), "plain.backup"))
	x := serveLogged(s, dir)
	base := x.based(1)
	for range 4 {
		x.shipped()
	}
	x.Stop()
	segments, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	if len(segments) < 4 {
		t.Fatalf("%d segments", len(segments))
	}
	n := another(s)
	refuse := func(name, want string, args ...string) {
		t.Helper()
		if o := restore(n, base, append(args, "--dry-run")...); o.Code != 1 || !strings.Contains(o.Err, want) {
			t.Errorf("%s: %s, want %s", name, o, want)
		}
	}
	refuse("a time before the backup", "restore an earlier one", "--until", "2020-01-01T00:00:00Z")
	refuse("no time", "is no time", "--until", "yesterday")
	if o := restore(n, plain, "--dry-run", "--until", time.Now().UTC().Format(time.RFC3339)); o.Code != 1 ||
		!strings.Contains(o.Err, "no log was shipped") {
		t.Errorf("a time of a backup without a log: %s", o)
	}
	changing := func(name, want string, change func(path string, text []byte) []byte) {
		t.Helper()
		path := segments[2]
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if out := change(path, text); out == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, out, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		refuse(name, want)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	changing("one is missing", "number 3 is missing", func(string, []byte) []byte { return nil })
	changing("cut short", "cut short or was altered", func(_ string, b []byte) []byte { return b[:len(b)-10] })
	changing("altered", "cut short or was altered", func(_ string, b []byte) []byte {
		b = append([]byte(nil), b...)
		b[len(b)/2] ^= 1
		return b
	})
	changing("another in its place", "number 3 is missing", func(string, []byte) []byte {
		b, err := os.ReadFile(segments[3])
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	changing("empty", "cut short or was altered", func(string, []byte) []byte { return []byte{} })
	if o := restore(n, base); o.Code != 0 {
		t.Errorf("put back as they were: %s", o)
	}
}
