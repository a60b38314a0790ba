package imports_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
)

// parted makes jobs of more than n rows be applied in chunks, each in a
// transaction of its own.
func (k *kit) parted(n int64) { k.rebuild(func(o *imports.Options) { o.Whole, o.Together = n, 1 }) }

// broken applies a job, two chunks to a transaction, whose third chunk cannot be
// written, because somebody made a record with one of its keys meanwhile.
func (k *kit) broken() *jobs.Job {
	k.Helper()
	k.rebuild(func(o *imports.Options) { o.Whole, o.Together = 1500, 2 })
	job := k.upload("zones", `{"mode":"insert"}`, "", "z.csv", zonesFile(3500))
	k.process(job)
	k.add("zones", store.Row{"code": "Z-2700", "name": "in the way"})
	if _, err := k.m.Apply(context.Background(), k.as, job.ID); !fault.HasCode(err, "import_stale") {
		k.Fatalf("%v", err)
	}
	return job
}

func zonesFile(n int) []byte {
	var b bytes.Buffer
	b.WriteString("code,name\n")
	for i := range n {
		fmt.Fprintf(&b, "Z-%d,zone %d\n", i, i)
	}
	return b.Bytes()
}

// A large job is applied in chunks; one that broke off says how far it is and
// goes on behind the last chunk.
func applyInChunks(k *kit) {
	ctx := context.Background()
	job := k.broken()
	j := k.find("import_jobs", "id", job.ID)
	if j["status"] != "failed" || j["imported_count"] != int64(2000) || len(k.rows("zones")) != 2001 {
		k.Fatalf("%v %v, %d zones", j["status"], j["imported_count"], len(k.rows("zones")))
	}
	for name, f := range map[string]func() error{
		"process": func() error { _, err := k.m.Process(ctx, k.as, job.ID); return err },
		"attach":  func() error { _, err := k.m.Attach(ctx, k.as, job.ID, "x.csv", strings.NewReader("a")); return err },
		"cancel":  func() error { _, err := k.m.Cancel(ctx, k.as, job.ID); return err },
	} {
		if err := f(); !fault.HasCode(err, "import_state") || !strings.Contains(err.Error(), "2000 of its rows were applied") {
			k.Errorf("%s: %v", name, err)
		}
	}
	zone := k.find("zones", "name", "in the way")
	remove(k, "zones", zone["id"].(string))
	if a := k.apply(job); a.ImportedCount != 3500 || a.Message != "3500 rows applied: 3500 new, 0 changed, 0 as they were." {
		k.Errorf("%+v", a)
	}
	if n := len(k.rows("zones")); n != 3500 {
		k.Errorf("%d zones", n)
	}
	if again := k.apply(job); again.ImportedCount != 3500 {
		k.Errorf("%+v", again)
	}
	res, err := k.m.Rollback(ctx, k.as, job.ID)
	if err != nil || res.RolledBack != 3500 || len(k.rows("zones")) != 0 || len(k.counters()) != 0 {
		k.Errorf("%+v %v, %d zones, %v", res, err, len(k.rows("zones")), k.counters())
	}
}

// A job that broke off can be rolled back from where it is.
func rollbackFromTheMiddle(k *kit) {
	ctx := context.Background()
	job := k.broken()
	res, err := k.m.Rollback(ctx, k.as, job.ID)
	if err != nil || res.RolledBack != 2000 || k.status(job) != "rolled_back" {
		k.Fatalf("%+v %v", res, err)
	}
	if n := len(k.rows("zones")); n != 1 {
		k.Errorf("%d zones", n)
	}
}

// Stock in chunks adds up, and goes back by movements the other way.
func TestStockInChunks(t *testing.T) {
	each(t, func(k *kit) {
		k.parted(1500)
		k.imported("items", "", "", "i.csv", []byte("sku,name\nA,One\nB,Two\n"))
		k.imported("zones", "", "", "z.csv", []byte("code,name\nZ,One\n"))
		var b bytes.Buffer
		b.WriteString("sku,zone,quantity\n")
		for i := range 2500 {
			fmt.Fprintf(&b, "%c,Z,%d\n", 'A'+i%2, i%7+1)
		}
		before := k.dump("items", "stock_levels")
		job, _, a := k.imported("stock_movements", "", "", "s.csv", b.Bytes())
		if a.ImportedCount != 2500 || len(k.rows("stock_movements")) != 2500 {
			k.Errorf("%+v", a)
		}
		if res, err := k.m.Rollback(hurried(), k.as, job.ID); err != nil || res.RolledBack != 2500 {
			k.Errorf("%+v %v", res, err)
		}
		for _, r := range k.rows("items") {
			if fmt.Sprint(r["on_hand"]) != "0" {
				k.Errorf("%v on hand of %v; before: %s", r["on_hand"], r["sku"], before)
			}
		}
	})
}

// A backend that PostgreSQL ends under an apply leaves whole chunks too.
func TestBackendsEndedBetweenChunks(t *testing.T) {
	k := open(t, dbtest.Options(t, db.PostgreSQL))
	admin, err := pgx.Connect(context.Background(), k.again.URL) // only a superuser may end others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close(context.Background()) })
	k.parted(1000)
	ctx := context.Background()
	for round := range 4 {
		job := k.upload("items", `{"force":true}`, "", "i.csv", benchFile(killRows))
		k.process(job)
		stop := make(chan bool)
		go func() {
			defer close(stop)
			time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
			if _, err := admin.Exec(ctx,
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"); err != nil {
				t.Error(err)
			}
		}()
		_, err := k.m.Apply(ctx, k.as, job.ID)
		<-stop
		k.answers()
		j := k.find("import_jobs", "id", job.ID)
		n := len(k.rows("items"))
		if n%1000 != 0 || err == nil && n != killRows || j["imported_count"] != int64(n) {
			t.Fatalf("round %d: %d rows, %v, %v", round, n, j["imported_count"], err)
		}
		if j["status"] == "applying" { // the end could not be told
			if _, err := k.m.Recover(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if a, err := k.m.Apply(ctx, k.as, job.ID); err != nil || a.ImportedCount != killRows {
			t.Fatalf("round %d: %+v %v", round, a, err)
		}
		if res, err := k.m.Rollback(ctx, k.as, job.ID); err != nil || res.RolledBack != killRows || len(k.rows("items")) != 0 {
			t.Fatalf("round %d: %+v %v", round, res, err)
		}
	}
}

// How far a job is never goes back, and ends at all.
func TestProgress(t *testing.T) {
	each(t, func(k *kit) {
		k.parted(1000)
		ctx := context.Background()
		job := k.upload("zones", "", "", "z.csv", zonesFile(6000))
		k.process(job)
		var rows atomic.Int64
		looked := make(chan bool)
		zones := k.effects.Before["zones"]
		k.effects.Before["zones"] = func(tx *store.Tx, c []store.Change) error {
			if rows.Add(int64(len(c))) > 3000 { // the first chunk can be seen, even if it was begun twice
				select {
				case <-looked:
				case <-time.After(30 * time.Second):
				}
			}
			if zones == nil {
				return nil
			}
			return zones(tx, c)
		}
		look := sync.OnceFunc(func() { close(looked) })
		stop, seen := make(chan bool), make(chan []int64)
		go func() {
			var list []int64
			for {
				if p, err := k.m.Progress(ctx, k.as, job.ID); err == nil && p.Total == 6000 {
					if list = append(list, p.Done); p.Done > 0 {
						look()
					}
				}
				select {
				case <-stop:
					seen <- list
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
		k.apply(job)
		close(stop)
		list := <-seen
		last, between := int64(0), false
		for _, n := range list {
			if n < last || n%1000 != 0 {
				k.Fatalf("progress %v", list)
			}
			between = between || n > 0 && n < 6000
			last = n
		}
		if p, err := k.m.Progress(ctx, k.as, job.ID); err != nil || p.Percent != 100 || !between {
			k.Errorf("%+v %v, seen %v", p, err, list)
		}
	})
}

// A partial rollback leaves what was changed or used since, names it, and
// takes back the rest; it is finished when nothing stands against it any more.
func TestPartialRollback(t *testing.T) {
	each(t, func(k *kit) {
		for _, whole := range []int64{0, 1} { // at once, and in batches
			k.parted(whole)
			ctx := context.Background()
			k.imported("zones", `{"force":true}`, "", "a.csv", []byte("code,name\nZ,Zone\n"))
			job, _, _ := k.imported("items", "", "", "a.csv", []byte("sku,name\nA,One\nB,Two\nC,Three\n"))
			k.set("items", k.find("items", "sku", "B")["id"].(string), store.Row{"name": "Zwei"})
			stock, _, _ := k.imported("stock_movements", "", "", "s.csv", []byte("sku,zone,quantity\nA,Z,5\nC,Z,7\n"))
			shipped := store.Row{"type": "ship", "item_id": k.find("items", "sku", "A")["id"], "from_zone_id": k.find("zones", "code", "Z")["id"], "quantity": "2"}
			k.add("stock_movements", shipped)
			rest := func(job *jobs.Job, total int64, kept int, status string) *imports.RolledBackResult {
				k.Helper()
				res, err := k.m.RollbackRest(ctx, k.as, job.ID)
				if err != nil || res.RolledBack != total || res.Kept != kept || len(res.Conflicts) != kept || k.status(job) != status {
					k.Fatalf("%+v %v, job %s", res, err, k.status(job))
				}
				return res
			}
			if _, err := k.m.Rollback(ctx, k.as, stock.ID); !fault.HasCode(err, "import_conflict") {
				k.Error(err)
			}
			if res := rest(stock, 1, 1, "completed"); res.Conflicts[0].Label != "A in Z" {
				k.Errorf("%+v", res)
			}
			onHand := func(want string) {
				k.Helper()
				if a, c := k.find("items", "sku", "A"), k.find("items", "sku", "C"); fmt.Sprint(a["on_hand"], " ", c["on_hand"]) != want {
					k.Errorf("%v %v, want %s", a["on_hand"], c["on_hand"], want)
				}
			}
			onHand("3 0")
			shipped["type"], shipped["to_zone_id"] = "return_in", shipped["from_zone_id"]
			delete(shipped, "from_zone_id")
			k.add("stock_movements", shipped)
			rest(stock, 2, 0, "rolled_back")
			onHand("0 0")

			again := k.upload("items", "", "", "b.csv", []byte("sku,name\nD,Four\nE,Five\nF,Six\n"))
			k.process(again)
			k.apply(again)
			d := k.find("items", "sku", "D")["id"].(string)
			k.set("items", d, store.Row{"name": "Vier"})
			rest(again, 2, 1, "completed")
			rest(again, 2, 1, "completed") // nothing was settled meanwhile
			if _, err := k.m.Apply(ctx, k.as, again.ID); err == nil && len(k.rows("items")) != 4 {
				k.Errorf("applied anew after half of it went back: %v", err)
			}
			if k.find("items", "sku", "D")["name"] != "Vier" {
				k.Error("the edit is gone")
			}
			remove(k, "items", d)
			rest(again, 2, 0, "rolled_back")
			if res := rest(job, 0, 3, "completed"); res.Conflicts[0].Reason == "" { // all three are edited, or in the ledger
				k.Errorf("%+v", res)
			}
			k.as.TenantID = south
		}
	})
}

// What somebody changes or begins to use when a rollback is under way, after it
// looked and before its turn came, stops the rest, and is named; what is back
// stays back.
func TestChangedAmidRollback(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		var once func()
		var turns sync.Mutex // of the connections: none goes on while somebody meddles
		k.rebuild(func(o *imports.Options) {
			o.Whole, o.Together = 1000, 1
			o.OnChange = func(string, []string) {
				turns.Lock()
				defer turns.Unlock()
				if f := once; f != nil {
					once = nil
					f()
				}
			}
		})
		for name, c := range map[string]struct {
			meddle func(id string)
			settle func(id string)
			why    string
		}{
			"edited": {func(id string) {
				k.set("items", id, store.Row{"name": "Mine"})
			}, func(id string) { remove(k, "items", id) }, "was changed after the import (version 2)"},
			"used": {func(id string) {
				k.add("lots", store.Row{"item_id": id, "lot_no": "L"})
			}, func(string) { remove(k, "lots", k.find("lots", "lot_no", "L")["id"].(string)) },
				"is used by a record of lots"},
		} {
			job := k.upload("items", `{"force":true}`, "", "i.csv", benchFile(3000))
			k.process(job)
			k.apply(job)
			id := k.find("items", "sku", "SKU-0000000")["id"].(string) // of the first batch, the last to go
			once = func() { c.meddle(id) }
			_, err := k.m.Rollback(ctx, k.as, job.ID)
			if list := imports.Conflicts(err); len(list) != 1 || list[0].Label != "SKU-0000000" || list[0].Reason != c.why ||
				!strings.Contains(err.Error(), "2000 were rolled back before") {
				k.Fatalf("%s: %v %+v", name, err, list)
			}
			if n := len(k.rows("items")); n != 1000 || k.status(job) != "completed" {
				k.Errorf("%s: %d items, job %s", name, n, k.status(job))
			}
			if res, err := k.m.RollbackRest(ctx, k.as, job.ID); err != nil || res.RolledBack != 2999 || res.Kept != 1 || len(k.rows("items")) != 1 {
				k.Errorf("%s: %+v %v", name, res, err)
			}
			c.settle(id)
			if res, err := k.m.Rollback(ctx, k.as, job.ID); err != nil || k.status(job) != "rolled_back" || len(k.rows("items")) != 0 || len(k.counters()) != 0 {
				k.Errorf("%s: %+v %v, %v", name, res, err, k.counters())
			}
		}
	})
}

func remove(k *kit, name, id string) {
	k.Helper()
	err := k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		err := k.s.In(tx, k.server()).DeleteRows(k.resource(name).Name, []string{id})
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
}

// While a large file is applied on the embedded database, other tenants' writes
// go through. How long they wait is measured by bench, case neighbour.
func TestOthersWriteDuringApply(t *testing.T) {
	const rows = 30_000
	k := open(t, db.Options{Dir: t.TempDir(), Migrate: true})
	job := k.upload("items", "", "", "i.csv", benchFile(rows))
	k.process(job)
	other := *k
	other.as.TenantID = south
	done := make(chan error, 1)
	go func() {
		_, err := k.m.Apply(context.Background(), k.as, job.ID)
		done <- err
	}()
	amid := 0 // writes that were through while rows were yet to be applied
	for i := 0; ; i++ {
		select {
		case err := <-done:
			if err != nil || amid == 0 {
				t.Errorf("%v: of %d writes %d went through amid the apply", err, i, amid)
			}
			return
		default:
		}
		other.add("zones", store.Row{"code": fmt.Sprintf("W-%d", i), "name": "x"})
		p, err := k.m.Progress(context.Background(), k.as, job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if p.Working() && p.Done < p.Total {
			amid++
		}
	}
}

// Where connections write side by side, a large import is rolled back by two:
// somebody who holds a record of the newest batch holds up that batch alone, and
// who changes it meanwhile keeps that record, and nothing else is lost count of.
func TestRollbackSideBySide(t *testing.T) {
	for _, c := range []struct {
		name, meanwhile string
		stop            bool
		back, rest      int64 // records, by the first rollback and by that of the rest
	}{
		{"held and let go", "SELECT 1 FROM items WHERE id = $1", false, 5000, 0},
		{"changed", "UPDATE items SET version = 2 WHERE id = $1", false, 4000, 999},
		{"stopped", "SELECT 1 FROM items WHERE id = $1", true, 4000, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := open(t, dbtest.Options(t, db.PostgreSQL))
			k.parted(1000)
			job, _, _ := k.imported("items", "", "", "i.csv", benchFile(5000))
			ctx := context.Background()
			admin, err := pgx.Connect(ctx, k.again.URL)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { admin.Close(ctx) })
			var newest string
			if err := admin.QueryRow(ctx, "SELECT id::text FROM items ORDER BY id DESC LIMIT 1").Scan(&newest); err != nil {
				t.Fatal(err)
			}
			if _, err := admin.Exec(ctx, "BEGIN"); err != nil {
				t.Fatal(err)
			}
			if _, err := admin.Exec(ctx, "SELECT 1 FROM items WHERE id = $1 FOR UPDATE", newest); err != nil {
				t.Fatal(err)
			}
			var res *imports.RolledBackResult
			ended := make(chan error)
			go func() {
				var err error
				res, err = k.m.Rollback(hurried(), k.as, job.ID)
				ended <- err
			}()
			for left, since := 5000, time.Now(); left > 1000; {
				if time.Since(since) > 30*time.Second {
					t.Fatalf("%d records are left while one of them is held", left)
				}
				if err := admin.QueryRow(ctx, "SELECT count(*) FROM items").Scan(&left); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
			if c.stop {
				k.m.Close()
				if err = <-ended; err == nil {
					t.Fatal("a rollback that was stopped says nothing")
				}
				if j := k.find("import_jobs", "id", job.ID); j["status"] != "completed" || !strings.Contains(fmt.Sprint(j["message"]), "4000 of 5000") {
					t.Fatalf("%v: %v", j["status"], j["message"])
				}
			}
			if _, err := admin.Exec(ctx, c.meanwhile, newest); err != nil {
				t.Fatal(err)
			}
			if _, err := admin.Exec(ctx, "COMMIT"); err != nil {
				t.Fatal(err)
			}
			if c.stop {
				k.parted(1000)
				if res, err = k.m.Rollback(hurried(), k.as, job.ID); err != nil {
					t.Fatal(err)
				}
			} else if err = <-ended; c.rest > 0 {
				if !fault.HasCode(err, "import_conflict") || !strings.Contains(err.Error(), fmt.Sprint(c.back)) {
					t.Fatalf("%+v %v", res, err)
				}
				if res, err = k.m.RollbackRest(hurried(), k.as, job.ID); err != nil || res.Kept != 1 || len(res.Conflicts) != 1 {
					t.Fatalf("%+v %v", res, err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if res.RolledBack != c.back+c.rest || len(k.rows("items")) != int(5000-c.back-c.rest) {
				t.Errorf("%+v, %d items left", res, len(k.rows("items")))
			}
		})
	}
}

// Records whose deletion touches others are rolled back one transaction after
// the other: two would wait for what the other holds.
func TestRollbackInTurn(t *testing.T) {
	each(t, func(k *kit) {
		k.parted(1000)
		var inside, met atomic.Int32
		k.effects.Before["items"] = func(*store.Tx, []store.Change) error {
			if inside.Add(1) > 1 {
				met.Add(1)
			}
			time.Sleep(20 * time.Millisecond)
			inside.Add(-1)
			return nil
		}
		job, _, _ := k.imported("items", "", "", "i.csv", benchFile(5000))
		if res, err := k.m.Rollback(hurried(), k.as, job.ID); err != nil || res.RolledBack != 5000 || met.Load() > 0 {
			k.Errorf("%+v %v, %d met", res, err, met.Load())
		}
	})
}
