package operating_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// backupFlags are those of a server that makes backups by itself.
func backupFlags(dir string) []string {
	return []string{"--backup-to", dir, "--backup-passphrase", program.BackupPassphrase}
}

// A place of backups that cannot be used keeps no server from starting: it is told at
// /readyz, in the status and by doctor.
func TestServerStartsWithoutItsPlace(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		flags := backupFlags(filepath.Join(s.File("", "no directory"), "backups"))
		if s.DSN == "" {
			flags = append(flags, "--backup-log")
		}
		v := s.Serve(append(flags, "--dev")...)
		if !isDegradedBy(v, "backup_to") {
			s.Error("/readyz does not say that the place cannot be used")
		}
		bearer := v.Token("admin@north.example", "holdfast-demo")
		s.Eventually("the status says so", func() bool {
			var status struct {
				Place struct {
					OK      bool
					Problem string
				}
			}
			v.Call("GET", "/v1/backup-status", bearer, nil).Into(s, &status)
			return !status.Place.OK && strings.Contains(status.Place.Problem, "cannot be used")
		})
		found, code := doctor(s, nil, flags...)
		if code != 1 || !strings.Contains(found["backup"].What, "not a directory") {
			s.Errorf("doctor: %d %+v", code, found["backup"])
		}
		v.Stop()
	})
}

// holdfast jobs run backup-drill restores what the server made, beside the server; the
// server then knows the age of the last proved backup. Doctor fails on one that is gone,
// also where somebody made a newer one by hand elsewhere.
func TestDrillByHand(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		dir, admin := filepath.Join(s.TempDir(), "backups"), program.ClosedPort(t)
		flags := backupFlags(dir)
		v := s.Serve(append(flags, "--dev", "--admin-listen", admin)...)
		s.Eventually("a backup is made", func() bool { return s.Number("SELECT COUNT(*) FROM backups") == 1 })
		s.Refused("backup_recipient", "jobs", "run", "backup-drill", "--backup-to", dir, "--backup-recipient",
			"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")
		s.Exec(append(flags, "jobs", "run", "backup-drill")...)
		s.Eventually("the age of the proved backup is among the metrics", func() bool {
			text := program.Metrics(t, admin)
			return strings.Contains(text, "holdfast_backup_proved_age_seconds ") &&
				!strings.Contains(text, "holdfast_backup_proved_age_seconds -1")
		})
		if left, _ := filepath.Glob(filepath.Join(s.Data, "tmp-backup-*")); len(left) > 0 {
			s.Errorf("the drill left %v", left)
		}
		v.Stop()
		if found, _ := doctor(s, nil, flags...); found["backup"].Level != "ok" {
			s.Errorf("doctor: %+v", found["backup"])
		}

		made, _ := filepath.Glob(filepath.Join(dir, "*.backup"))
		if err := os.Remove(made[0]); err != nil {
			s.Fatal(err)
		}
		backup(s, filepath.Join(s.TempDir(), "by-hand.backup"))
		found, code := doctor(s, nil, flags...)
		if code != 1 || !strings.Contains(found["backup"].What, "its file is missing") {
			s.Errorf("doctor without the file: %d %+v", code, found["backup"])
		}
	})
}

// An audit log that is broken on the server too fails no drill: the backup is as good as what
// it was made of.
func TestDrillOfBrokenAuditLog(t *testing.T) {
	s := program.DemoOn(t, db.SQLite)
	v := s.Serve("--dev")
	v.Token("admin@north.example", "holdfast-demo")
	s.Eventually("the audit log is sealed", func() bool { return s.Number("SELECT COUNT(*) FROM audit_seals") > 0 })
	v.Stop()
	s.Write("UPDATE audit SET entity_type = 'x' WHERE batch IN (SELECT batch FROM audit_seals)")

	flags := backupFlags(filepath.Join(t.TempDir(), "backups"))
	v = s.Serve(append(flags, "--dev")...)
	s.Eventually("a backup is made", func() bool { return s.Number("SELECT COUNT(*) FROM backups") == 1 })
	if out := s.Exec(append(flags, "jobs", "run", "backup-drill")...); strings.Contains(out, "failed") {
		t.Errorf("the drill: %s", out)
	}
	if n := s.Number("SELECT COUNT(*) FROM backup_places WHERE proved_at IS NOT NULL AND failure IS NULL"); n != 1 {
		t.Errorf("%d proved backups", n)
	}
	v.Stop()
}

// A segment that is missing behind the last backup is named by doctor, and the server
// makes a backup from which the log goes on.
func TestLogGapIsFound(t *testing.T) {
	s := program.DemoOn(t, db.SQLite)
	dir := filepath.Join(t.TempDir(), "backups")
	x := serveLogged(s, dir)
	x.based(1)
	for _, code := range []string{"A", "B", "C"} {
		x.zone(code)
		x.shipped()
	}
	x.Stop()
	flags := append(backupFlags(dir), "--backup-log")
	if found, _ := doctor(s, nil, flags...); found["backup"].Level != "ok" {
		t.Errorf("doctor: %+v", found["backup"])
	}
	segments := listSegments(t, dir)
	gone := segments[len(segments)-2]
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	found, code := doctor(s, nil, flags...)
	if code != 1 || !strings.Contains(found["backup"].What, filepath.Base(gone)) {
		t.Errorf("doctor with a gap: %d %+v", code, found["backup"])
	}
	s.Write("DELETE FROM backup_places") // as if a tenth of backup_every had passed
	x = serveLogged(s, dir)
	again := x.based(2)
	x.zone("D")
	x.shipped()
	x.Stop()
	restoredTo(s, again, "ABCD")
}

func listSegments(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "holdfast-log-*"))
	if err != nil || len(names) < 2 {
		t.Fatal(names, err)
	}
	return names
}

// Of two servers that ship to one place the second is told, and sends nothing. When it
// takes the place over, the first sends nothing more, also when it ends.
func TestTwoServersShipToOnePlace(t *testing.T) {
	t.Parallel() // it waits for a minute, and does little else
	first, second := program.DemoOn(t, db.SQLite), program.SiteOn(t, db.SQLite)
	dir := filepath.Join(t.TempDir(), "backups")
	x := serveLogged(first, dir)
	x.based(1)
	x.shipped()
	flags := append(backupFlags(dir), "--backup-log")
	v := second.Serve(append(flags, "--dev")...)
	if !isDegradedBy(v, "belongs to installation") {
		t.Error("/readyz of the second does not say whose the place is")
	}
	second.Refused("belongs to installation", append(flags, "jobs", "run", "backup")...)
	if made, _ := filepath.Glob(filepath.Join(dir, "*.backup")); len(made) != 1 {
		t.Errorf("backups of both: %v", made)
	}
	v.Stop()

	second.Exec(append(flags, "resume", "--as-original")...)
	first.Eventually("the first hears of it", func() bool { return isDegradedBy(x.Server, "belongs to installation") })
	before := listSegments(t, dir)
	x.zone("LATE")
	time.Sleep(2 * time.Second)
	x.Stop()
	if after := listSegments(t, dir); !slices.Equal(before, after) {
		t.Errorf("the first sends on to the place of the second: %v", after[len(before):])
	}
}
