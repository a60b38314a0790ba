package operating_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// finding is a line of `doctor --json`.
type finding struct{ Check, Level, What, Why, Command string }

func doctor(s *program.Site, env []string, args ...string) (found map[string]finding, code int) {
	s.Helper()
	o := s.Finish(s.Command(env, append([]string{"doctor", "--json"}, args...)...), "")
	found = map[string]finding{}
	for _, f := range readFindings(s, o) {
		if was, ok := found[f.Check]; !ok || was.Level == "warning" {
			found[f.Check] = f
		}
	}
	return found, o.Code
}

// readFindings reads what doctor printed.
func readFindings(s *program.Site, o program.Outcome) (list []finding) {
	s.Helper()
	if err := json.Unmarshal([]byte(o.Out), &list); err != nil {
		s.Fatalf("doctor: %v: %s", err, o)
	}
	return list
}

// soundChecks find nothing where nothing was done wrong.
var soundChecks = []string{"data directory", "master key", "disk", "schema", "writes", "commits", "pages", "clock",
	"moments",
	"totals", "audit", "owners", "jobs", "keys", "row security", "files", "copy", "backup place", "pooler", "replicas",
	"redis", "webhooks", "tls"}

func expectSound(s *program.Site, found map[string]finding) {
	s.Helper()
	for _, c := range soundChecks {
		if f := found[c]; f.Level != "ok" && (c != "disk" || f.Level != "warning") {
			s.Errorf("%s: %+v", c, f)
		}
	}
}

// Nor has one that is new and empty.
func TestDoctorSoundWhenNew(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v := s.Serve()
		found, code := doctor(s, nil)
		if code != 0 {
			s.Errorf("exit status %d: %+v", code, found)
		}
		expectSound(s, found)
		v.Stop()
	})
}

// A place of backups that somebody removed is told, and so is the backup that was in it.
func TestDoctorMissesThePlace(t *testing.T) {
	s := program.Embedded(t)
	s.Serve().Stop()
	dir := filepath.Join(s.TempDir(), "backups")
	backup(s, dir+"/")
	if found, _ := doctor(s, nil); found["backup"].Level != "ok" || strings.Contains(found["backup place"].What,
		"not there") {
		s.Errorf("with the place: %+v, %+v", found["backup"], found["backup place"])
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	expect(s, "backup", "failure", "is not there", nil)
	expect(s, "backup place", "warning", "is not there", nil)
}

// A sound installation has nothing that fails, beside a running server too.
func TestDoctorSound(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		found, code := doctor(s, nil)
		if code != 0 {
			s.Errorf("exit status %d: %+v", code, found)
		}
		expectSound(s, found)
		if f := found["backup"]; f.Level != "warning" || !strings.Contains(f.Command, "holdfast backup") {
			s.Errorf("no backup was made: %+v", f)
		}
		backup(s, s.TempDir()+"/")
		if found, _ := doctor(s, nil); found["backup"].Level != "ok" {
			s.Errorf("after a backup: %+v", found["backup"])
		}
		v.Stop()
	})
}

// Each fault is found, with what, why and a command, whatever else is broken.
func TestDoctorFinds(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		nobody := program.ClosedPort(t)
		for check, r := range map[string]struct {
			env  []string
			args []string
			want string
		}{
			"configuration": {env: []string{"HOLDFAST_LISTN=x"}, want: "did you mean"},
			"mail":          {env: []string{"HOLDFAST_SMTP_URL=smtp://user:hunter2@" + nobody}, want: "does not answer"},
			"redis":         {env: []string{"HOLDFAST_REDIS_URL=redis://user:hunter2@" + nobody}, want: "does not answer"},
			"tls":           {args: []string{"--listen", ":8443"}, want: "no TLS"},
		} {
			found, code := doctor(s, r.env, r.args...)
			f := found[check]
			if f.Level != "failure" || code != 1 || !strings.Contains(f.What, r.want) || f.Command == "" {
				s.Errorf("%s: exit status %d, %+v", check, code, f)
			}
			for _, f := range found {
				if strings.Contains(f.What+f.Why+f.Command, "hunter2") {
					s.Errorf("a password is shown: %+v", f)
				}
			}
		}
		s.Write("INSERT INTO audit_writers (epoch, sealed_through, seen_at) VALUES (999, 0, $1)", time.Now().Add(2*time.Hour))
		if found, _ := doctor(s, nil); found["clock"].Level != "failure" || !strings.Contains(found["clock"].What, "behind") {
			s.Errorf("a clock two hours off: %+v", found["clock"])
		}
		s.File(filepath.Join(s.Data, "master.key"), "bm90IHRoZSBrZXkgdGhhdCBzZWFsZWQgdGhlIHZhbHVlcyE=\n")
		if found, _ := doctor(s, nil); found["keys"].Level != "failure" {
			s.Errorf("another master key: %+v", found["keys"])
		}
		s.Write("INSERT INTO schema_migrations VALUES (9999, 'future', $1)", time.Now())
		if found, _ := doctor(s, nil); found["schema"].Level != "failure" ||
			!strings.Contains(found["schema"].What, "newer") {
			s.Errorf("a newer schema: %+v", found["schema"])
		}
	})
}

// A table whose fence fell is named.
func TestDoctorRowSecurity(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		if s.DSN == "" {
			return // the embedded engine has no row security
		}
		s.Exec("migrate")
		for _, table := range []string{"zones", "webhook_lanes"} { // tenant_id comes first, and further on
			alter(s, "ALTER TABLE "+table+" NO FORCE ROW LEVEL SECURITY")
			if found, code := doctor(s, nil); code != 1 || !strings.Contains(found["row security"].What, table) {
				s.Errorf("exit status %d: %+v", code, found["row security"])
			}
			alter(s, "ALTER TABLE "+table+" FORCE ROW LEVEL SECURITY")
		}
	})
}

// --fix puts modes right and removes what killed commands left; nothing works
// without a database, and doctor does.
func TestDoctorFix(t *testing.T) {
	s := program.Embedded(t)
	if found, _ := doctor(s, nil); found["schema"].Level != "warning" {
		t.Errorf("of nothing: %+v", found["schema"])
	}
	s.Exec("migrate")
	s.Exec("tenant", "create", "Acme")
	left := filepath.Join(s.Data, "tmp-backup-1")
	old := time.Now().Add(-48 * time.Hour)
	for _, err := range []error{
		os.Chmod(s.MasterKeyFile(), 0o644),
		os.Chmod(filepath.Join(s.Data, "holdfast.db"), 0o644),
		os.Mkdir(left, 0o700),
		os.Chtimes(left, old, old),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	found, _ := doctor(s, nil)
	for _, check := range []string{"data directory", "master key"} {
		if found[check].Level != "warning" {
			t.Errorf("not found: %+v", found[check])
		}
	}
	doctor(s, nil, "--fix")
	found, _ = doctor(s, nil)
	for _, check := range []string{"data directory", "master key"} {
		if found[check].Level != "ok" {
			t.Errorf("not put right: %+v", found[check])
		}
	}
	if err := os.Truncate(filepath.Join(s.Data, "holdfast.db"), 5000); err != nil {
		t.Fatal(err)
	}
	if found, code := doctor(s, nil); code != 1 || found["schema"].Level != "failure" {
		t.Errorf("of a broken database: %+v", found)
	}
}
