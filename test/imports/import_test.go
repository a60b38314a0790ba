package imports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

func file(name string) string { return filepath.Join("testdata", name) }

// A snapshot is the part of the dashboard that imports change.
type snapshot struct {
	Cached bool
	Zones  struct{ Total int }
	Safety struct {
		Metrics struct {
			Total int `json:"total_incidents"`
		}
	}
	Inventory struct {
		Metrics struct {
			Items int     `json:"total_items"`
			Value float64 `json:"total_stock_value"`
		}
	}
}

func shownTo(v *program.Server, token string) (out snapshot) {
	v.Helper()
	v.Call("GET", "/functions/v1/get-dashboard-snapshot-v2?lightweight=true", token, nil).Into(v, &out)
	return out
}

// The files of a real warehouse, imported beside the running server: each row
// is accounted for, and the dashboard, cached a moment ago, shows them.
func TestImportRealFiles(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		v := s.Serve()
		s.ExecWith(program.Passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
		jo := v.Token("jo@acme.example", program.Passphrase)
		for _, r := range []struct {
			file, target, want string
			errors             []string
			shows              func(snapshot) bool
		}{
			{"openboxes_binLocations.csv", "zones", "40 rows, 40 valid, 0 refused", nil,
				func(d snapshot) bool { return d.Zones.Total == 40 }},
			{"openboxes_inventoryLevels.csv", "items", "52 rows, 52 valid, 0 refused", nil,
				func(d snapshot) bool { return d.Inventory.Metrics.Items == 52 }},
			{"openboxes_mainWarehouseInventory.csv", "stock_movements", "57 rows, 43 valid, 14 refused", []string{
				"4, Physical QOH", "8, Bin location", "9, Bin location", "12, Physical QOH", "17, Product code", "18, Product code",
				"28, Physical QOH", "31, Product code", "31, Physical QOH", "32, Product code", "33, Physical QOH",
				"44, Physical QOH",
				"45, Product code", "45, Physical QOH", "54, Physical QOH", "57, Physical QOH",
			}, nil},
			{"ihm_incidents.csv", "incidents", "439 rows, 439 valid, 0 refused", nil,
				func(d snapshot) bool { return d.Safety.Metrics.Total == 439 }},
		} {
			before := shownTo(v, jo)
			if !program.Within(30*time.Second, func() bool { return shownTo(v, jo).Cached }) {
				s.Errorf("before %s the dashboard is not cached", r.file)
			}
			dry := s.Exec("import", file(r.file), "--target", r.target, "--tenant", "acme", "--dry-run")
			if !strings.Contains(dry, r.want) || !strings.Contains(dry, "nothing was written") {
				s.Errorf("dry run of %s: %s", r.file, dry)
			}
			if n := s.Number("SELECT COUNT(*) FROM " + r.target); n != 0 {
				s.Errorf("the dry run of %s wrote %d records", r.file, n)
			}
			out := s.Exec("import", file(r.file), "--target", r.target, "--tenant", "acme")
			if !strings.Contains(out, r.want) {
				s.Errorf("import %s: %s, want %s", r.file, out, r.want)
			}
			if got := named(out); strings.Join(got, "\n") != strings.Join(r.errors, "\n") {
				s.Errorf("import %s names %q, want %q", r.file, got, r.errors)
			}
			if r.shows != nil && !program.Within(30*time.Second, func() bool { return r.shows(shownTo(v, jo)) }) {
				s.Errorf("after the import of %s the dashboard shows %+v, before %+v", r.file, shownTo(v, jo), before)
			}
		}
		if n := s.Number("SELECT COUNT(*) FROM stock_movements"); n != 43 {
			s.Errorf("%d movements, want 43", n)
		}
		s.Refused(`applied before`, "import", file("ihm_incidents.csv"), "--target", "incidents", "--tenant", "acme")
		s.Exec("verify")
		v.Stop()
		s.Exec("verify")
	})
}

// named are the places "line, column" of an import's report.
func named(report string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^  line (\d+, [^:]+):`).FindAllStringSubmatch(report, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestImportRefuses(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		bins := file("openboxes_binLocations.csv")
		s.Refused(`no tenant "gamma"`, "import", bins, "--target", "zones", "--tenant", "gamma")
		s.Refused(`secrets`, "import", bins, "--target", "secrets", "--tenant", "acme")
		s.Refused(`no such file`, "import", "missing.csv", "--target", "zones", "--tenant", "acme")
		s.Refused(`target`, "import", bins, "--tenant", "acme")
		s.Refused(`nosuchcolumn`, "import", bins, "--target", "zones", "--tenant", "acme", "--map", "code=nosuchcolumn")
		s.Refused(`colour`, "import", bins, "--target", "zones", "--tenant", "acme", "--map", "colour=name")
		s.Refused(`speed`, "import", bins, "--target", "zones", "--tenant", "acme", "--set", "speed=fast")
		s.Refused(`line 99`, "import", bins, "--target", "zones", "--tenant", "acme", "--set", "header_row=99")
		empty := filepath.Join(s.TempDir(), "empty.csv")
		if err := os.WriteFile(empty, nil, 0o600); err != nil {
			s.Fatal(err)
		}
		s.Refused(`empty|no rows`, "import", empty, "--target", "zones", "--tenant", "acme")
		out := s.Refused("no row of .* could be imported", "import", file("openboxes_WHO_products.csv"), "--target", "items",
			"--tenant", "acme").Out
		if !strings.Contains(out, "729 rows, 0 valid, 729 refused") || !strings.Contains(out, "... and more") ||
			len(named(out)) != 20 {
			s.Errorf("products without a code: %s", out)
		}
		for _, table := range []string{"zones", "items"} {
			if n := s.Number("SELECT COUNT(*) FROM " + table); n != 0 {
				s.Errorf("%d %s were written", n, table)
			}
		}
	})
}

// Verify is not blind: a level that the ledger does not explain is named.
func TestVerifyFindsDifference(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		s.Exec("import", file("openboxes_binLocations.csv"), "--target", "zones", "--tenant", "acme")
		s.Exec("import", file("openboxes_inventoryLevels.csv"), "--target", "items", "--tenant", "acme")
		s.Exec("import", file("openboxes_mainWarehouseInventory.csv"), "--target", "stock_movements", "--tenant", "acme")
		s.Exec("verify")
		s.Write("UPDATE stock_levels SET quantity = quantity + 10000")
		s.Refused(`differences`, "verify")
		s.Write("UPDATE stock_levels SET quantity = quantity - 10000")
		s.Exec("verify")
		s.Write("UPDATE stock_levels SET reserved = reserved + 10000 WHERE quantity >= 10000")
		s.Refused(`differences`, "verify")
	})
}

// rows is how many items the killed imports hold.
const rows = 4000

// An import that is killed at any moment leaves all of its records or none,
// and the file can be imported again.
func TestImportKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(path, manyItems(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Each(t, func(s *program.Site) {
		took := wholeImport(s, path)
		seed := rand.Uint64()
		s.Logf("seed %d; a whole import takes %v", seed, took)
		random := rand.New(rand.NewPCG(seed, 0))
		for i := range 3 { // anywhere, and once the records are being written
			killedImport(s, path, fmt.Sprintf("any%d", i), func(string) { time.Sleep(time.Duration(random.Float64() * float64(took))) })
			killedImport(s, path, fmt.Sprintf("late%d", i), func(tenant string) {
				applying(s, tenant)
				time.Sleep(time.Duration(random.Float64() * float64(took) / 2))
			})
		}
		recovered(s)
	})
}

func wholeImport(s *program.Site, path string) time.Duration {
	s.Helper()
	s.Exec("tenant", "create", "Whole")
	begin := time.Now()
	s.Exec("import", path, "--target", "items", "--tenant", "whole")
	return time.Since(begin)
}

// applying waits until a tenant's import writes its records, or is through.
func applying(s *program.Site, tenant string) {
	s.Helper()
	s.Open(func(ctx context.Context, d *db.DB) error {
		var read error
		there := program.Within(time.Minute, func() bool {
			n := int64(0)
			read = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.One("SELECT COUNT(*) FROM import_jobs WHERE tenant_id = $1 AND status IN ('applying', 'completed')",
					[]any{tenant}, func(r *db.Row) error {
						n = r.Int(0)
						return nil
					})
			})
			return n > 0 || read != nil
		})
		if read == nil && !there {
			s.Error("the import does not come to writing")
		}
		return read
	})
}

func killedImport(s *program.Site, path, tenant string, moment func(tenant string)) {
	s.Helper()
	id := strings.TrimSpace(s.Exec("tenant", "create", tenant))
	items := func() int64 { return s.Number("SELECT COUNT(*) FROM items WHERE tenant_id = $1", id) }
	cmd := s.Command(nil, "import", path, "--target", "items", "--tenant", tenant)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	moment(id)
	after := time.Since(begin)
	cmd.Process.Kill()
	killed := cmd.Wait() != nil
	if s.DSN != "" {
		settled(s)
	}
	n := items()
	s.Logf("killed (%v) after %v: %d records", killed, after.Round(time.Millisecond), n)
	if n != 0 && n != rows || !killed && n != rows {
		s.Errorf("%d of %d records", n, rows)
	}
	s.Exec("verify")
	if n == 0 {
		s.Exec("import", path, "--target", "items", "--tenant", tenant)
	}
	if n := items(); n != rows {
		s.Errorf("after importing again: %d of %d records", n, rows)
	}
	s.Exec("verify")
}

// settled waits until the killed process's session has ended: PostgreSQL
// finishes a commit that it has begun.
func settled(s *program.Site) {
	s.Helper()
	alone := func() bool {
		return s.Number("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND state <> 'idle' "+
			"AND pid <> pg_backend_pid()") == 0
	}
	if !program.Within(time.Minute, alone) {
		s.Error("the killed import's session goes on")
	}
}

// recovered starts a server, which gives back the jobs whose worker died, and
// finishes each by the functions: at once on the embedded engine, and on
// PostgreSQL when the dead worker's lease of a minute is over, which the test
// does not wait for.
func recovered(s *program.Site) {
	s.Helper()
	if s.DSN != "" {
		s.Write("UPDATE import_jobs SET lease_until = $1 WHERE lease_until IS NOT NULL", time.Now().Add(-time.Minute))
	}
	v := s.Serve()
	key := s.Keys()["SERVICE_ROLE_KEY"]
	var jobs []struct {
		ID     string
		Tenant string `json:"tenant_id"`
		Status string
	}
	v.Call("GET", "/rest/v1/import_jobs?select=id,tenant_id,status&status=neq.completed", key, nil).Into(s, &jobs)
	for _, job := range jobs {
		if job.Status != "uploaded" && job.Status != "ready" {
			s.Errorf("a job is left %s", job.Status)
		}
		for _, step := range []string{"process", "apply"} {
			body := map[string]string{"job_id": job.ID, "tenant_id": job.Tenant}
			r := v.Call("POST", "/functions/v1/"+step+"-import-job", key, body)
			var said struct{ Error, Details string }
			if json.Unmarshal(r.Body, &said); r.Status != 200 && !strings.Contains(said.Error+said.Details, "applied before") {
				s.Errorf("%s of a job that was %s: %d %s", step, job.Status, r.Status, r.Body)
			}
		}
	}
	s.Logf("%d jobs were taken up again", len(jobs))
	if n := s.Number("SELECT COUNT(*) FROM items"); n != 7*rows {
		s.Errorf("%d records in seven tenants, want %d", n, 7*rows)
	}
	s.Exec("verify")
}

// manyItems is a file of n items.
func manyItems(n int) []byte {
	var text bytes.Buffer
	text.WriteString("sku,name,category,unit_cost,reorder_point\n")
	for i := range n {
		fmt.Fprintf(&text, "K-%05d,Item %d,class %d,%d.25,%d\n", i, i, i%17, i%90, i%50)
	}
	return text.Bytes()
}
