package main_test

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

func (v *server) snapshot(token string) (out snapshot) {
	v.Helper()
	v.call("GET", "/functions/v1/get-dashboard-snapshot-v2?lightweight=true", token, nil).into(v, &out)
	return out
}

// The files of a real warehouse, imported beside the running server: each row
// is accounted for, and the dashboard, cached a moment ago, shows them.
func TestImportRealFiles(t *testing.T) {
	each(t, func(s *site) {
		v := s.serve()
		s.runWith(passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
		jo := v.token("jo@acme.example", passphrase)
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
				"28, Physical QOH", "31, Product code", "31, Physical QOH", "32, Product code", "33, Physical QOH", "44, Physical QOH",
				"45, Product code", "45, Physical QOH", "54, Physical QOH", "57, Physical QOH",
			}, nil},
			{"ihm_incidents.csv", "incidents", "439 rows, 439 valid, 0 refused", nil,
				func(d snapshot) bool { return d.Safety.Metrics.Total == 439 }},
		} {
			before := v.snapshot(jo)
			if again := v.snapshot(jo); !again.Cached {
				s.Errorf("before %s the dashboard is not cached", r.file)
			}
			dry := s.run("import", file(r.file), "--target", r.target, "--tenant", "acme", "--dry-run")
			if !strings.Contains(dry, r.want) || !strings.Contains(dry, "nothing was written") {
				s.Errorf("dry run of %s: %s", r.file, dry)
			}
			if n := s.number("SELECT COUNT(*) FROM " + r.target); n != 0 {
				s.Errorf("the dry run of %s wrote %d records", r.file, n)
			}
			out := s.run("import", file(r.file), "--target", r.target, "--tenant", "acme")
			if !strings.Contains(out, r.want) {
				s.Errorf("import %s: %s, want %s", r.file, out, r.want)
			}
			if got := named(out); strings.Join(got, "\n") != strings.Join(r.errors, "\n") {
				s.Errorf("import %s names %q, want %q", r.file, got, r.errors)
			}
			if r.shows != nil && !within(30*time.Second, func() bool { return r.shows(v.snapshot(jo)) }) {
				s.Errorf("after the import of %s the dashboard shows %+v, before %+v", r.file, v.snapshot(jo), before)
			}
		}
		if n := s.number("SELECT COUNT(*) FROM stock_movements"); n != 43 {
			s.Errorf("%d movements, want 43", n)
		}
		s.refused(`applied before`, "import", file("ihm_incidents.csv"), "--target", "incidents", "--tenant", "acme")
		s.run("verify")
		v.stop()
		s.run("verify")
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
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		bins := file("openboxes_binLocations.csv")
		s.refused(`no tenant "gamma"`, "import", bins, "--target", "zones", "--tenant", "gamma")
		s.refused(`secrets`, "import", bins, "--target", "secrets", "--tenant", "acme")
		s.refused(`no such file`, "import", "missing.csv", "--target", "zones", "--tenant", "acme")
		s.refused(`target`, "import", bins, "--tenant", "acme")
		s.refused(`nosuchcolumn`, "import", bins, "--target", "zones", "--tenant", "acme", "--map", "code=nosuchcolumn")
		s.refused(`colour`, "import", bins, "--target", "zones", "--tenant", "acme", "--map", "colour=name")
		s.refused(`speed`, "import", bins, "--target", "zones", "--tenant", "acme", "--set", "speed=fast")
		s.refused(`line 99`, "import", bins, "--target", "zones", "--tenant", "acme", "--set", "header_row=99")
		empty := filepath.Join(s.TempDir(), "empty.csv")
		if err := os.WriteFile(empty, nil, 0o600); err != nil {
			s.Fatal(err)
		}
		s.refused(`empty|no rows`, "import", empty, "--target", "zones", "--tenant", "acme")
		out := s.refused("no row of .* could be imported", "import", file("openboxes_WHO_products.csv"), "--target", "items", "--tenant", "acme").out
		if !strings.Contains(out, "729 rows, 0 valid, 729 refused") || !strings.Contains(out, "... and more") || len(named(out)) != 20 {
			s.Errorf("products without a code: %s", out)
		}
		for _, table := range []string{"zones", "items"} {
			if n := s.number("SELECT COUNT(*) FROM " + table); n != 0 {
				s.Errorf("%d %s were written", n, table)
			}
		}
	})
}

// Verify is not blind: a level that the ledger does not explain is named.
func TestVerifyFindsDifference(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		s.run("import", file("openboxes_binLocations.csv"), "--target", "zones", "--tenant", "acme")
		s.run("import", file("openboxes_inventoryLevels.csv"), "--target", "items", "--tenant", "acme")
		s.run("import", file("openboxes_mainWarehouseInventory.csv"), "--target", "stock_movements", "--tenant", "acme")
		s.run("verify")
		s.write("UPDATE stock_levels SET quantity = quantity + 10000")
		s.refused(`differences`, "verify")
		s.write("UPDATE stock_levels SET quantity = quantity - 10000")
		s.run("verify")
		s.write("UPDATE stock_levels SET reserved = reserved + 10000 WHERE quantity >= 10000")
		s.refused(`differences`, "verify")
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
	each(t, func(s *site) {
		took := s.wholeImport(path)
		seed := rand.Uint64()
		s.Logf("seed %d; a whole import takes %v", seed, took)
		random := rand.New(rand.NewPCG(seed, 0))
		for i := range 3 { // anywhere, and once the records are being written
			s.killedImport(path, fmt.Sprintf("any%d", i), func(string) { time.Sleep(time.Duration(random.Float64() * float64(took))) })
			s.killedImport(path, fmt.Sprintf("late%d", i), func(tenant string) {
				s.applying(tenant)
				time.Sleep(time.Duration(random.Float64() * float64(took) / 2))
			})
		}
		s.recovered()
	})
}

func (s *site) wholeImport(path string) time.Duration {
	s.Helper()
	s.run("tenant", "create", "Whole")
	begin := time.Now()
	s.run("import", path, "--target", "items", "--tenant", "whole")
	return time.Since(begin)
}

// applying waits until a tenant's import writes its records, or is through.
func (s *site) applying(tenant string) {
	s.Helper()
	s.open(func(ctx context.Context, d *db.DB) error {
		var read error
		there := within(time.Minute, func() bool {
			n := int64(0)
			read = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.One("SELECT COUNT(*) FROM import_jobs WHERE tenant_id = $1 AND status IN ('applying', 'completed')", []any{tenant}, func(r *db.Row) error {
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

func (s *site) killedImport(path, tenant string, moment func(tenant string)) {
	s.Helper()
	id := strings.TrimSpace(s.run("tenant", "create", tenant))
	items := func() int64 { return s.number("SELECT COUNT(*) FROM items WHERE tenant_id = $1", id) }
	cmd := s.command(nil, "import", path, "--target", "items", "--tenant", tenant)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	moment(id)
	after := time.Since(begin)
	cmd.Process.Kill()
	killed := cmd.Wait() != nil
	if s.dsn != "" {
		s.settled()
	}
	n := items()
	s.Logf("killed (%v) after %v: %d records", killed, after.Round(time.Millisecond), n)
	if n != 0 && n != rows || !killed && n != rows {
		s.Errorf("%d of %d records", n, rows)
	}
	s.run("verify")
	if n == 0 {
		s.run("import", path, "--target", "items", "--tenant", tenant)
	}
	if n := items(); n != rows {
		s.Errorf("after importing again: %d of %d records", n, rows)
	}
	s.run("verify")
}

// settled waits until the killed process's session has ended: PostgreSQL
// finishes a commit that it has begun.
func (s *site) settled() {
	s.Helper()
	alone := func() bool {
		return s.number("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND state <> 'idle' "+
			"AND pid <> pg_backend_pid()") == 0
	}
	if !within(time.Minute, alone) {
		s.Error("the killed import's session goes on")
	}
}

// recovered starts a server, which gives back the jobs whose worker died, and
// finishes each by the functions: at once on the embedded engine, and on
// PostgreSQL when the dead worker's lease of a minute is over, which the test
// does not wait for.
func (s *site) recovered() {
	s.Helper()
	if s.dsn != "" {
		s.write("UPDATE import_jobs SET lease_until = $1 WHERE lease_until IS NOT NULL", time.Now().Add(-time.Minute))
	}
	v := s.serve()
	key := s.keys()["SERVICE_ROLE_KEY"]
	var jobs []struct {
		ID     string
		Tenant string `json:"tenant_id"`
		Status string
	}
	v.call("GET", "/rest/v1/import_jobs?select=id,tenant_id,status&status=neq.completed", key, nil).into(s, &jobs)
	for _, job := range jobs {
		if job.Status != "uploaded" && job.Status != "ready" {
			s.Errorf("a job is left %s", job.Status)
		}
		for _, step := range []string{"process", "apply"} {
			body := map[string]string{"job_id": job.ID, "tenant_id": job.Tenant}
			r := v.call("POST", "/functions/v1/"+step+"-import-job", key, body)
			var said struct{ Error, Details string }
			if json.Unmarshal(r.body, &said); r.status != 200 && !strings.Contains(said.Error+said.Details, "applied before") {
				s.Errorf("%s of a job that was %s: %d %s", step, job.Status, r.status, r.body)
			}
		}
	}
	s.Logf("%d jobs were taken up again", len(jobs))
	if n := s.number("SELECT COUNT(*) FROM items"); n != 7*rows {
		s.Errorf("%d records in seven tenants, want %d", n, 7*rows)
	}
	s.run("verify")
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
