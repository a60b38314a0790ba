package main_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// alter changes a PostgreSQL schema as the database's owner.
func (s *site) alter(statements ...string) {
	s.Helper()
	d, err := sql.Open("pgx", s.dsn)
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

// behind takes the last migration back, so that it is due again: that which
// only writes the first rows of three tables.
func (s *site) behind() {
	s.Helper()
	for _, text := range []string{"DELETE FROM outbox_head", "DELETE FROM notices_head", "DELETE FROM schema_migrations WHERE version = 4"} {
		s.write(text)
	}
}

// What is due is told, and the three ways to deal with it are kept: the embedded
// engine is copied before it is migrated, a waiting server goes on once another
// has migrated, a server that must not migrate refuses.
func TestUpgrade(t *testing.T) {
	eachEmpty(t, func(s *site) {
		if out := s.run("upgrade", "check"); !strings.Contains(out, "empty") {
			s.Errorf("of nothing: %s", out)
		}
		s.run("migrate")
		if out := s.run("upgrade", "check"); !strings.Contains(out, "nothing is to do") {
			s.Errorf("of a current schema: %s", out)
		}
		s.behind()
		if out := s.run("upgrade", "check"); !strings.Contains(out, "0004_seeds") || !strings.Contains(out, "outbox_head") {
			s.Errorf("of one that is behind: %s", out)
		}
		s.refused("migrate = never", "serve", "--listen", "127.0.0.1:0", "--migrate", "never")

		waiting := s.command(nil, "serve", "--listen", "127.0.0.1:0", "--migrate", "wait", "--log-level", "warn")
		log := &transcript{}
		waiting.Stdout, waiting.Stderr = log, log
		if err := waiting.Start(); err != nil {
			s.Fatal(err)
		}
		defer waiting.Process.Kill()
		s.eventually("the server waits", func() bool { return strings.Contains(log.String(), "waiting until") })
		if strings.Contains(log.String(), "is ready") {
			s.Error("it serves an old schema")
		}
		s.run("migrate")
		s.eventually("the server goes on", func() bool { return strings.Contains(log.String(), "is ready") })
		waiting.Process.Kill()
		waiting.Wait()

		s.behind()
		s.serve().stop()
		copies, _ := filepath.Glob(filepath.Join(s.data, "before-upgrade", "*-schema-0003.db"))
		if want := map[bool]int{true: 1, false: 0}[s.dsn == ""]; len(copies) != want {
			s.Errorf("%d copies before the upgrade, want %d", len(copies), want)
		}
		if out := s.run("upgrade", "check"); !strings.Contains(out, "nothing is to do") {
			s.Errorf("after the start: %s", out)
		}
	})
}

// A server makes backups by itself, keeps so many, and tells how old the last
// good one is.
func TestScheduledBackups(t *testing.T) {
	eachDemo(t, func(s *site) {
		dir := filepath.Join(s.TempDir(), "backups")
		s.refused("backup_to needs", "serve", "--backup-to", dir)
		s.refused("backup_every", "serve", "--backup-to", dir, "--backup-passphrase", backupPassphrase, "--backup-every", "1s")
		for i := range 3 { // as if made long ago
			name := "holdfast-old-" + string(rune('a'+i)) + ".backup"
			s.write("INSERT INTO backups (id, made_at, place, name, bytes, scheduled, chain) VALUES ($1, $2, $3, $4, 1, $5, $1)",
				"00000000-0000-4000-8000-00000000000"+string(rune('1'+i)), time.Now().Add(-time.Duration(100-i)*time.Hour), dir, name, true)
		}
		v := s.serve("--dev", "--backup-to", dir, "--backup-passphrase", backupPassphrase, "--backup-keep", "2")
		bearer := v.token("admin@north.example", "holdfast-demo")
		var made []string
		if !within(90*time.Second, func() bool {
			made, _ = filepath.Glob(filepath.Join(dir, "*.backup"))
			return len(made) == 1 && s.number("SELECT COUNT(*) FROM backups") == 2
		}) {
			s.Fatalf("no backup was made, or old ones were not forgotten: %v\n%s", made, v.out)
		}
		if r := v.call("GET", "/v1/backup-status", v.token("viewer@north.example", "holdfast-demo"), nil); r.status != 403 {
			s.Errorf("a viewer asks: %d", r.status)
		}
		s.eventually("the status tells of it", func() bool {
			var status struct {
				Scheduled bool
				Age       *int64 `json:"age_seconds"`
			}
			v.call("GET", "/v1/backup-status", bearer, nil).into(s, &status)
			return status.Scheduled && status.Age != nil && *status.Age < 600
		})
		v.stop()
		if o := s.another().restore(made[0], "--dry-run"); o.code != 0 {
			s.Errorf("what the server made: %s", o)
		}
	})
}
