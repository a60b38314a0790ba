package operating_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// A damaged page of the embedded database is told of: what lies on it is answered
// with 503, what lies elsewhere as before; the doctor names it, and no backup is
// made of it.
func TestDamagedPage(t *testing.T) {
	t.Parallel()
	s := program.DemoOn(t, db.SQLite)
	at := []string{"--dev", "--listen", program.ClosedPort(t)} // the same twice, and so the same issuer of tokens
	v := s.Serve(at...)
	bearer := v.Token("admin@north.example", "holdfast-demo")
	const told = "A zone on the page that is damaged"
	if r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": "DAMAGED",
		"name": told}); r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	v.Stop()
	damage(s, told)
	v = s.Serve(at...)
	if r := v.Call("GET", "/v1/zones?code=eq.DAMAGED", bearer, nil); r.Status != http.StatusServiceUnavailable {
		t.Errorf("what lay there: %d %s", r.Status, r.Body)
	}
	if r := v.Call("GET", "/v1/drivers?limit=3", bearer, nil); r.Status != http.StatusOK {
		t.Errorf("what lies elsewhere: %d %s", r.Status, r.Body)
	}
	to := filepath.Join(t.TempDir(), "x.backup")
	got := s.Finish(s.Command([]string{"HOLDFAST_BACKUP_PASSPHRASE=" + program.BackupPassphrase}, "backup", to), "")
	if _, err := os.Stat(to); err == nil || got.Code == 0 || !strings.Contains(got.Err, "malformed") {
		t.Errorf("a backup of it: %v", got)
	}
	if got := s.Finish(s.Command(nil, "doctor"), ""); got.Code != 1 || !strings.Contains(got.Out, "failure  pages") {
		t.Errorf("doctor: %v", got)
	}
}

// damage overwrites the beginning of each page of the database that holds a text.
func damage(s *program.Site, text string) {
	s.Helper()
	path := filepath.Join(s.Data, db.FileName)
	all, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	size := int(binary.BigEndian.Uint16(all[16:])) // of a page: the file format of SQLite, 1.3.2
	found := 0
	for at := 0; at+size <= len(all); at += size {
		if page := all[at : at+size]; at > 0 && bytes.Contains(page, []byte(text)) {
			copy(page, bytes.Repeat([]byte{0xff}, 64))
			found++
		}
	}
	if found == 0 {
		s.Fatal("no page holds it")
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		s.Fatal(err)
	}
}

// With damaged pages under the audit log nobody signs in and nothing is
// changed, since neither could be recorded: 503, also for the right password.
// Who is signed in goes on reading, and a restored backup brings the rest back.
func TestDamagedAuditLog(t *testing.T) {
	t.Parallel()
	s := program.DemoOn(t, db.SQLite)
	at := []string{"--dev", "--listen", program.ClosedPort(t)}
	v := s.Serve(at...)
	bearer := v.Token("admin@north.example", "holdfast-demo")
	v.Stop()
	path := backup(s, filepath.Join(t.TempDir(), "before.backup"))
	damageTable(s, "audit")
	v = s.Serve(at...)
	if _, status := v.SignIn("admin@north.example", "holdfast-demo"); status != http.StatusServiceUnavailable {
		t.Errorf("a sign-in: %d", status)
	}
	if r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": "UNHEARD",
		"name": "Unheard"}); r.Status != http.StatusServiceUnavailable {
		t.Errorf("a change: %d %s", r.Status, r.Body)
	}
	if r := v.Call("GET", "/v1/zones?limit=1", bearer, nil); r.Status != http.StatusOK {
		t.Errorf("a read: %d %s", r.Status, r.Body)
	}
	v.Stop()
	if got := s.Finish(s.Command(nil, "doctor"), ""); got.Code != 1 || !strings.Contains(got.Out, "failure  pages") {
		t.Errorf("doctor: %v", got)
	}
	n := another(s)
	if o := restore(n, path); o.Code != 0 {
		t.Fatalf("restore: %s", o)
	}
	n.Serve("--dev").Token("admin@north.example", "holdfast-demo")
	if n := n.Number("SELECT COUNT(*) FROM zones WHERE code = 'UNHEARD'"); n != 0 {
		t.Error("the change that was refused is there")
	}
}

// damageTable overwrites the beginning of each leaf of a table.
func damageTable(s *program.Site, name string) {
	s.Helper()
	file := filepath.Join(s.Data, db.FileName)
	d, err := sql.Open("sqlite", file)
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	var size, found int
	if err := d.QueryRow("PRAGMA page_size").Scan(&size); err != nil {
		s.Fatal(err)
	}
	rows, err := d.Query("SELECT pageno FROM dbstat WHERE name = $1 AND pagetype = 'leaf'", name)
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	for ; rows.Next(); found++ {
		var page int64
		if err := rows.Scan(&page); err != nil {
			s.Fatal(err)
		}
		if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, 64), (page-1)*int64(size)); err != nil {
			s.Fatal(err)
		}
	}
	if rows.Err() != nil || found == 0 {
		s.Fatalf("%d pages of %s: %v", found, name, rows.Err())
	}
}
