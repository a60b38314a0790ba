package operating_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// alter changes a PostgreSQL schema as the database's owner.
func alter(s *program.Site, statements ...string) {
	s.Helper()
	d, err := sql.Open("pgx", s.DSN)
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	for _, text := range statements {
		if _, err := d.Exec(text); err != nil {
			s.Fatal(err)
		}
	}
}

// behind takes the last two migrations back, so that they are due again: one
// only writes the first rows of two tables, the other mends stored values.
func behind(s *program.Site) {
	s.Helper()
	for _, text := range []string{"DELETE FROM outbox_head", "DELETE FROM notices_head",
		"DELETE FROM schema_migrations WHERE version >= 4"} {
		s.Write(text)
	}
}

// What is due is told, and the three ways to deal with it are kept: the embedded
// engine is copied before it is migrated, a waiting server goes on once another
// has migrated, a server that must not migrate refuses.
func TestUpgrade(t *testing.T) {
	program.EachEmpty(t, func(s *program.Site) {
		if out := s.Exec("upgrade", "check"); !strings.Contains(out, "empty") {
			s.Errorf("of nothing: %s", out)
		}
		s.Exec("migrate")
		if out := s.Exec("upgrade", "check"); !strings.Contains(out, "nothing is to do") {
			s.Errorf("of a current schema: %s", out)
		}
		behind(s)
		if out := s.Exec("upgrade", "check"); !strings.Contains(out, "0004_seeds") || !strings.Contains(out, "outbox_head") {
			s.Errorf("of one that is behind: %s", out)
		}
		s.Refused("migrate = never", "serve", "--listen", "127.0.0.1:0", "--migrate", "never")

		waiting := s.Command(nil, "serve", "--listen", "127.0.0.1:0", "--migrate", "wait", "--log-level", "warn")
		log := &program.Transcript{}
		waiting.Stdout, waiting.Stderr = log, log
		if err := waiting.Start(); err != nil {
			s.Fatal(err)
		}
		defer waiting.Process.Kill()
		s.Eventually("the server waits", func() bool { return strings.Contains(log.String(), "waiting until") })
		if strings.Contains(log.String(), "is ready") {
			s.Error("it serves an old schema")
		}
		s.Exec("migrate")
		s.Eventually("the server goes on", func() bool { return strings.Contains(log.String(), "is ready") })
		waiting.Process.Kill()
		waiting.Wait()

		behind(s)
		s.Serve().Stop()
		copies, _ := filepath.Glob(filepath.Join(s.Data, "before-upgrade", "*-schema-0003.db"))
		if want := map[bool]int{true: 1, false: 0}[s.DSN == ""]; len(copies) != want {
			s.Errorf("%d copies before the upgrade, want %d", len(copies), want)
		}
		if out := s.Exec("upgrade", "check"); !strings.Contains(out, "nothing is to do") {
			s.Errorf("after the start: %s", out)
		}
	})
}

// What the program of before has made is taken over by that of one version on:
// what is due is told, the embedded engine is copied first, and everything is
// there, who was signed in too. The program of before refuses the newer schema when it is started anew,
// and changes nothing; with the copy in its place it goes on from there.
func TestUpgradeFromBefore(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		at := program.ClosedPort(s.T) // one address, and so one issuer of tokens
		v := s.Serve("--dev", "--listen", at)
		admin := v.Token("admin@north.example", "holdfast-demo")
		made := map[string]any{"code": "BEFORE", "name": "Before"}
		if r := v.Call("POST", "/v1/zones", admin, made); r.Status != 201 {
			s.Fatalf("a record: %d %s", r.Status, r.Body)
		}
		v.Stop()
		next := *s
		next.Program = program.Later(s.T)
		if out := next.Exec("upgrade", "check"); !strings.Contains(out, "_"+program.LaterMigration) ||
			!strings.Contains(out, "zones") {
			s.Errorf("of what is due: %s", out)
		}
		s.Exec("verify") // the check has changed nothing: the program of before takes it
		v = next.Serve("--dev", "--listen", at)
		var rows []map[string]any
		v.Call("PATCH", "/v1/zones?code=eq.BEFORE", admin, map[string]any{"next_note": "new"})
		v.Call("GET", "/v1/zones?code=eq.BEFORE", admin, nil).Into(s, &rows)
		if len(rows) != 1 || rows[0]["name"] != "Before" || rows[0]["next_note"] != "new" {
			s.Errorf("after the upgrade: %v", rows)
		}
		v.Stop()
		next.Exec("verify")
		schema := s.Fingerprint()
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate"}, {"upgrade", "check"}} {
			s.Refused("newer Holdfast", args...)
		}
		if s.Fingerprint() != schema {
			s.Error("a refused program changed the schema")
		}
		copies, _ := filepath.Glob(filepath.Join(s.Data, "before-upgrade", "*.db"))
		if want := map[bool]int{true: 1, false: 0}[s.DSN == ""]; len(copies) != want {
			s.Fatalf("%d copies before the upgrade, want %d", len(copies), want)
		}
		if s.DSN != "" {
			return
		}
		file := filepath.Join(s.Data, db.FileName)
		for _, name := range []string{file + "-wal", file + "-shm"} {
			if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
				s.Fatal(err)
			}
		}
		if err := os.Rename(copies[0], file); err != nil {
			s.Fatal(err)
		}
		v = s.Serve("--dev", "--listen", at)
		v.Call("GET", "/v1/zones?code=eq.BEFORE", admin, nil).Into(s, &rows)
		if len(rows) != 1 || rows[0]["name"] != "Before" {
			s.Errorf("with the copy: %v", rows)
		}
		v.Stop()
	})
}

// A server makes backups by itself, keeps so many, and tells how old the last
// good one is.
func TestScheduledBackups(t *testing.T) {
	t.Parallel() // it waits, and does little else
	program.EachDemo(t, func(s *program.Site) {
		dir := filepath.Join(s.TempDir(), "backups")
		s.Refused("backup_to needs", "serve", "--backup-to", dir)
		s.Refused("backup_every", "serve", "--backup-to", dir, "--backup-passphrase", program.BackupPassphrase,
			"--backup-every", "1s")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			s.Fatal(err)
		}
		for i := range 3 { // as if made long ago
			name := "holdfast-old-" + string(rune('a'+i)) + ".backup"
			s.File(filepath.Join(dir, name), "x")
			s.Write("INSERT INTO backups (id, made_at, place, name, bytes, scheduled, chain) VALUES ($1, $2, $3, $4, 1, $5, $1)",
				"00000000-0000-4000-8000-00000000000"+string(rune('1'+i)), time.Now().Add(-time.Duration(100-i)*time.Hour), dir,
				name, true)
		}
		v := s.Serve("--dev", "--backup-to", dir, "--backup-passphrase", program.BackupPassphrase, "--backup-keep", "2")
		bearer := v.Token("admin@north.example", "holdfast-demo")
		var made []string
		if !program.Within(90*time.Second, func() bool {
			made, _ = filepath.Glob(filepath.Join(dir, "holdfast-2*.backup"))
			old, _ := filepath.Glob(filepath.Join(dir, "holdfast-old-*.backup"))
			return len(made) == 1 && len(old) == 1 && s.Number("SELECT COUNT(*) FROM backups") == 2
		}) {
			s.Fatalf("no backup was made, or old ones were not forgotten: %v\n%s", made, v.Out)
		}
		if r := v.Call("GET", "/v1/backup-status", v.Token("viewer@north.example", "holdfast-demo"), nil); r.Status != 403 {
			s.Errorf("a viewer asks: %d", r.Status)
		}
		s.Eventually("the status tells of it", func() bool {
			var status struct {
				Scheduled bool
				Age       *int64 `json:"age_seconds"`
			}
			v.Call("GET", "/v1/backup-status", bearer, nil).Into(s, &status)
			return status.Scheduled && status.Age != nil && *status.Age < 600
		})
		v.Stop()
		if o := restore(another(s), made[0], "--dry-run"); o.Code != 0 {
			s.Errorf("what the server made: %s", o)
		}
	})
}
