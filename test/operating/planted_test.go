package operating_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// planted is a fault that somebody made, and how doctor has to name it.
type planted struct {
	name         string
	plant        func(s *program.Site)
	args         func(s *program.Site) []string
	check, level string
	what, do     string
	embedded     bool // it concerns the embedded engine alone
}

// plantedFaults are what monitoring does not show and somebody pays for later.
func plantedFaults() []planted {
	write := func(sql string, args ...any) func(*program.Site) {
		return func(s *program.Site) { s.Write(sql, args...) }
	}
	return []planted{
		{
			name: "an order line that promises less than is reserved for it",
			plant: write(`
				UPDATE order_lines
				SET qty_allocated = 0
				WHERE CAST(id AS text) IN (
					SELECT MIN(CAST(id AS text))
					FROM order_lines
					WHERE qty_allocated > 0
						AND qty_picked = 0
				)`),
			check: "totals", level: "failure", what: ": order line ", do: "holdfast verify",
		},
		{
			name: "a stock level that its movements do not explain",
			plant: write(`
				UPDATE stock_levels
				SET quantity = quantity + 70000
				WHERE CAST(id AS text) IN (SELECT MAX(CAST(id AS text)) FROM stock_levels)`),
			check: "totals", level: "failure", what: ": level ", do: "holdfast verify",
		},
		{
			name:  "a row of the audit log that was changed",
			plant: write("UPDATE audit SET entity_type = 'x' WHERE batch IN (SELECT batch FROM audit_seals)"),
			check: "audit", level: "failure", what: "the audit log is broken: ", do: "holdfast verify --audit",
		},
		{
			name: "rows of a clock that was two days ahead",
			plant: write(`
				UPDATE zones
				SET updated_at = $1
				WHERE CAST(id AS text) IN (SELECT MIN(CAST(id AS text)) FROM zones)`, time.Now().Add(48*time.Hour)),
			check: "moments", level: "warning", what: "1 row of zones by updated_at", do: "timedatectl",
		},
		{
			name:  "a tenant without an owner",
			plant: func(s *program.Site) { s.Exec("tenant", "create", "Orphan") },
			check: "owners", level: "warning", what: "the tenant orphan has no active owner",
			do: "holdfast admin create YOU@EXAMPLE.COM --tenant orphan",
		},
		{
			name: "a mail that was given up",
			plant: write(`
				INSERT INTO jobs (tenant_id, kind, key, payload, status, tries, claim, made_at, due_at)
				VALUES ('00000000-0000-0000-0000-000000000000', 'safety-mail', 'x', '{}', 'failed', 5, 0, $1, $1)`,
				time.Now().Add(-time.Hour)),
			check: "jobs", level: "warning", what: "jobs of kind safety-mail were given up: 1",
			do: "holdfast jobs retry safety-mail",
		},
		{
			name:  "backups inside the data directory",
			args:  func(s *program.Site) []string { return backupFlags(filepath.Join(s.Data, "backups")) },
			check: "backup place", level: "failure", what: "inside the data directory", do: "backup_to",
		},
		{
			name: "backups inside it by a link",
			plant: func(s *program.Site) {
				if err := os.Symlink(s.Data, filepath.Join(filepath.Dir(s.Data), "elsewhere")); err != nil {
					s.Fatal(err)
				}
			},
			args: func(s *program.Site) []string {
				return backupFlags(filepath.Join(filepath.Dir(s.Data), "elsewhere", "backups"))
			},
			check: "backup place", level: "failure", what: "inside the data directory", do: "backup_to",
		},
		{
			name: "backups on the same disk",
			args: func(s *program.Site) []string {
				beside := filepath.Join(filepath.Dir(s.Data), "beside")
				if err := os.MkdirAll(beside, 0o700); err != nil {
					s.Fatal(err)
				}
				return backupFlags(beside)
			},
			check: "backup place", level: "warning", what: "on the disk of the data directory", do: "backup_to",
		},
		{
			name: "a passphrase that is too short",
			args: func(s *program.Site) []string {
				return []string{"--backup-to", s.TempDir(), "--backup-passphrase", "short"}
			},
			check: "configuration", level: "failure", what: "at least 12 characters", do: "holdfast",
		},
		{
			name: "a log that was deleted after a crash",
			plant: func(s *program.Site) {
				s.File(filepath.Join(s.Data, "holdfast.mark"), `{"beat":99,"at":"2026-01-02T03:04:05Z"}`)
			},
			check: "commits", level: "failure", what: "committed before 2026-01-02T03:04:05Z", do: "holdfast restore",
			embedded: true,
		},
	}
}

// Each fault that somebody plants is named by doctor, with why it matters and what to do;
// none is found before.
func TestDoctorFindsPlanted(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		v.Token("admin@north.example", "holdfast-demo")
		s.Eventually("the audit log is sealed", func() bool { return s.Number("SELECT COUNT(*) FROM audit_seals") > 0 })
		v.Stop()
		sound := findAll(s)
		for _, f := range plantedFaults() {
			if f.args == nil && isNamed(sound, f) {
				s.Errorf("%s: before it is planted: %+v", f.check, sound[f.check])
			}
		}
		for _, f := range plantedFaults() {
			if f.embedded && s.DSN != "" {
				continue
			}
			if f.plant != nil {
				f.plant(s)
			}
			args := []string(nil)
			if f.args != nil {
				args = f.args(s)
			}
			found := findAll(s, args...)
			if !isNamed(found, f) {
				s.Errorf("%s: not among %+v", f.name, found[f.check])
			}
		}
	})
}

// findAll lists the findings of doctor by their check.
func findAll(s *program.Site, args ...string) map[string][]finding {
	s.Helper()
	o := s.Finish(s.Command(nil, append([]string{"doctor", "--json"}, args...)...), "")
	out := map[string][]finding{}
	for _, f := range readFindings(s, o) {
		out[f.Check] = append(out[f.Check], f)
	}
	return out
}

func isNamed(found map[string][]finding, want planted) bool {
	for _, f := range found[want.check] {
		if f.Level == want.level && strings.Contains(f.What, want.what) && strings.Contains(f.Command, want.do) {
			return true
		}
	}
	return false
}

// What was deleted from the place of the backups is a failure, and so is a disk that takes no
// file of the data directory.
func TestDoctorFindsPlacesThatTakeNothing(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		dir := filepath.Join(s.TempDir(), "backups")
		flags := backupFlags(dir)
		v := s.Serve(flags...)
		s.Eventually("a backup is made", func() bool { return s.Number("SELECT COUNT(*) FROM backups") == 1 })
		if r := v.Call("GET", "/readyz", "", nil); r.Status != http.StatusOK {
			s.Errorf("/readyz: %d %s", r.Status, r.Body)
		}
		v.Stop()
		made, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, path := range made {
			if err := os.RemoveAll(path); err != nil {
				s.Fatal(err)
			}
		}
		if found := findAll(s, flags...)["backup"]; fmt.Sprint(found) == "" || found[0].Level != "failure" {
			s.Errorf("a place that was emptied: %+v", found)
		}
		o := full(s, "0", "doctor", "--json")
		isFound := false
		for _, f := range readFindings(s, o) {
			isFound = isFound || f.Check == "disk" && f.Level == "failure" &&
				strings.Contains(f.What, "a trial file cannot be written")
		}
		if !isFound {
			s.Errorf("a data directory that takes nothing: %s", o)
		}
	})
}
