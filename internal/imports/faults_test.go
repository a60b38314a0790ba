package imports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
)

// Hostile files and broken moments, each on both engines. Hostile workbooks are
// TestHostileImports; uploads past the quota are TestQuota; ends of server and
// database are TestKilled, TestServerEnds and TestBackendsEndedBetweenChunks.
func TestFaults(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		for _, c := range []struct {
			name string
			try  func(k *kit)
		}{
			{"F1 formulas go out guarded and come back as they were", formulas},
			{"F5 F6 files as they should not be", hostileFiles},
			{"F5 too wide, too long, twice the same header", misshapenFiles},
			{"F7 file names", fileNames},
			{"F8 too large, cut off, twice", uploads},
			{"F10 many errors", manyErrors},
			{"D5 parallel apply", parallelApply},
			{"D5 two nodes, and apply during process", twoNodes},
			{"D7 rollback after a later edit", rollbackAfterEdit},
			{"D9 rollback of stock that was used", rollbackOfSpentStock},
			{"D9 rollback of records that orders and picks use", rollbackOfUsed},
			{"D9 rollback of records that shipments, members and incidents name", rollbackOfNamed},
			{"D11 rollback twice, at once, by others, of nothing", rollbackTwice},
			{"D12 apply in chunks", applyInChunks},
			{"D12 rollback from the middle", rollbackFromTheMiddle},
		} {
			t.Run(c.name, func(t *testing.T) { c.try(open(t, dbtest.Options(t, e))) })
		}
	})
}

// formulas are kept as text; written to a file that spreadsheets open they are
// harmless, and that file read again gives the same records.
func formulas(k *kit) {
	names := []string{"=1+1", "+4 x", "-cmd|' /C calc'!A0", "@sum(A1)", "\uff1dSUM(A1)", "'=quoted", "plain"}
	var b strings.Builder
	b.WriteString("sku,name\n")
	for i, n := range names {
		fmt.Fprintf(&b, "F-%d,%q\n", i, n)
	}
	job := k.upload("items", "", "", "f.csv", []byte(b.String()))
	k.process(job)
	file, err := k.m.Corrected(context.Background(), k.as, job.ID, "all")
	if err != nil {
		k.Fatal(err)
	}
	var out bytes.Buffer
	if err := file.Write(context.Background(), &out); err != nil {
		k.Fatal(err)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if _, name, ok := strings.Cut(strings.ReplaceAll(line, `"`, ""), ","); ok && strings.ContainsAny(name[:1], "=+-@") {
			k.Errorf("a formula in the file: %s", line)
		}
	}
	k.apply(job)
	first := map[string]any{}
	for _, it := range k.rows("items") {
		first[it["sku"].(string)] = it["name"]
	}
	again := k.upload("items", "", "", "again.csv", out.Bytes())
	k.process(again)
	if a := k.apply(again); !strings.Contains(a.Message, fmt.Sprintf("0 new, 0 changed, %d as they were", len(names))) {
		k.Errorf("%s", a.Message)
	}
	for i, n := range names[:5] {
		if first[fmt.Sprint("F-", i)] != n {
			k.Errorf("%q became %q", n, first[fmt.Sprint("F-", i)])
		}
	}
}

// misshapenFiles are refused whole, or by the row, with the line.
func misshapenFiles(k *kit) {
	ctx := context.Background()
	wide := k.upload("zones", "", "", "wide.csv", []byte(strings.Repeat("a,", 1_000_000)+"b\n"))
	if _, err := k.m.Process(ctx, k.as, wide.ID); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "200") {
		k.Errorf("a million columns: %v", err)
	}
	long := k.process(k.upload("zones", "", "", "long.csv",
		[]byte("code,name\nL-1,\""+strings.Repeat("x", 2<<20)+"\"\nL-2,y\n")))
	if long.Stats != (plan.Stats{TotalRows: 2, ValidRows: 1, InvalidRows: 1}) || long.Errors[0].Line != 2 ||
		long.Errors[0].Code != "cell_too_long" {
		k.Errorf("a cell of 2 MB: %+v %v", long.Stats, where(long.Errors))
	}
	twice := k.upload("zones", "", "", "twice.csv", []byte("code,code,name\na,b,c\n"))
	if _, err := k.m.Process(ctx, k.as, twice.ID); !fault.HasCode(err, "import_question") ||
		!strings.Contains(err.Error(), "columns 1 and 2") {
		k.Errorf("a header twice: %v", err)
	}
}

// fileNames are labels: nothing is written where they point.
func fileNames(k *kit) {
	root := k.TempDir()
	k.connect(k.again, filepath.Join(root, "a", "files"))
	list := func() (paths []string) {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasPrefix(path, filepath.Join(root, "a", "files")) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			k.Fatal(err)
		}
		return paths
	}
	for _, name := range []string{"../../../evil.csv", `..\..\evil.csv`, "/etc/cron.d/evil.csv", "a\x00b.csv",
		"a\r\nSet-Cookie: x.csv",
		strings.Repeat("n", 3000) + ".csv", "..", "con.csv"} {
		job := k.upload("zones", "", "", name, []byte(shelves))
		if strings.ContainsAny(job.FileName, "/\\\x00\r\n") || len([]rune(job.FileName)) > 200 || job.FileName == ".." {
			k.Errorf("%q is kept as %q", name, job.FileName)
		}
		if p := k.process(job); p.Stats.ValidRows != 2 {
			k.Errorf("%q: %+v", name, p.Stats)
		}
	}
	if out := list(); len(out) != 0 {
		k.Errorf("written outside: %v", out)
	}
}

// uploads that are too large or break off leave neither job nor file; two of
// one name are two jobs.
func uploads(k *kit) {
	send := func(body io.Reader) error {
		_, err := k.m.Upload(context.Background(), k.as, imports.Request{Target: "zones"}, "z.csv", body)
		return err
	}
	if err := send(&endless{left: sheet.MaxBytes + 20<<20}); !fault.Is(err, fault.TooLarge) {
		k.Errorf("220 MB: %v", err)
	}
	if err := send(&endless{left: 18 << 20, end: io.ErrUnexpectedEOF}); !fault.Is(err, fault.Invalid) {
		k.Errorf("cut off: %v", err)
	}
	if k.files() != 0 || len(k.rows("import_jobs")) != 0 {
		k.Errorf("%d files and %d jobs are left", k.files(), len(k.rows("import_jobs")))
	}
	for range 2 {
		if err := send(strings.NewReader(shelves)); err != nil {
			k.Error(err)
		}
	}
	if k.files() != 2 || len(k.rows("import_jobs")) != 2 {
		k.Errorf("two of one name: %d files, %d jobs", k.files(), len(k.rows("import_jobs")))
	}
}

// slow holds the reading of a file back until it is let go.
type slow struct {
	imports.Files
	began, release chan bool
}

func (s *slow) Open(ctx context.Context, key string) (io.ReadSeekCloser, error) {
	select {
	case s.began <- true:
		<-s.release
	default:
	}
	return s.Files.Open(ctx, key)
}

// holding is another importer, whose files are held until they are released.
func holding(k *kit) (*slow, *imports.Importer) {
	k.Helper()
	held := &slow{Files: k.o.Files, began: make(chan bool), release: make(chan bool)}
	o := k.o
	o.Files = held
	busy := imports.New(o)
	k.Cleanup(busy.Close)
	return held, busy
}

// atOnce has six callers ask at once, and counts those who are told of the effect;
// the others are refused by a conflict.
func atOnce(k *kit, ask func(caller int) (told bool, err error)) int {
	k.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range 6 {
		all.Go(func() {
			told, err := ask(i)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && told:
				done++
			case !fault.Is(err, fault.Conflict):
				k.Errorf("told of it: %v, %v", told, err)
			}
		})
	}
	all.Wait()
	return done
}

// appliedOnce: of six applies at once, on the nodes in turn, one has the effect.
func appliedOnce(k *kit, nodes ...*imports.Importer) {
	k.Helper()
	job := k.upload("items", "", "", "i.csv", benchFile(2000))
	k.process(job)
	done := atOnce(k, func(caller int) (bool, error) {
		res, err := nodes[caller%len(nodes)].Apply(context.Background(), k.as, job.ID)
		return err == nil && res.ImportedCount == 2000, err
	})
	if n := len(k.rows("items")); n != 2000 || done == 0 {
		k.Errorf("%d items, %d callers were told so", n, done)
	}
}

// twoNodes: of applies on two nodes one has the effect; a job that is being
// processed is not applied, on whichever node.
func twoNodes(k *kit) {
	ctx := context.Background()
	nodes := []*imports.Importer{k.m}
	if k.d.Engine() == db.PostgreSQL { // the embedded engine has one
		other := imports.New(k.o)
		k.Cleanup(other.Close)
		nodes = append(nodes, other)
	}
	appliedOnce(k, nodes...)

	held, busy := holding(k)
	next := k.upload("zones", "", "", "z.csv", []byte(shelves))
	ended := make(chan error)
	go func() {
		_, err := busy.Process(ctx, k.as, next.ID)
		ended <- err
	}()
	<-held.began
	for i, m := range append(nodes[1:], busy) {
		if _, err := m.Apply(ctx, k.as, next.ID); !fault.HasCode(err, "import_busy") || fault.As(err).RetryAfter == 0 {
			k.Errorf("node %d applies during process: %v", i, err)
		}
	}
	close(held.release)
	if err := <-ended; err != nil {
		k.Error(err)
	}
	if a := k.apply(next); a.ImportedCount != 2 {
		k.Errorf("%+v", a)
	}
}

// rollbackOfUsed: what an order, a pick list or the ledger names since stays,
// and so does all else.
func rollbackOfUsed(k *kit) {
	k.imported("zones", "", "", "z.csv", []byte(shelves))
	job, _, _ := k.imported("items", "", "", "i.csv", []byte("sku,name\nU-1,One\nU-2,Two\nU-3,Three\nU-4,Four\n"))
	item := func(n int) any { return k.find("items", "sku", fmt.Sprint("U-", n))["id"] }
	zone := k.find("zones", "code", "A-1")["id"]
	order := k.add("orders", store.Row{"order_no": "O-1"})
	k.add("order_lines", store.Row{"order_id": order, "line_no": 1, "item_id": item(1), "qty_ordered": "1"})
	list := k.add("pick_lists", store.Row{})
	k.add("pick_lines", store.Row{"pick_list_id": list, "seq": 1, "zone_id": zone, "item_id": item(2), "qty": "1"})
	k.add("stock_movements", store.Row{"type": "receipt", "item_id": item(3), "to_zone_id": zone, "quantity": "5"})
	before := k.dump("items", "order_lines", "pick_lines", "stock_levels", "stock_movements")
	_, err := k.m.Rollback(context.Background(), k.as, job.ID)
	said := map[string]string{}
	for _, c := range imports.Conflicts(err) {
		said[c.Label] = c.Reason
	}
	if said["U-1"] != "is used by a record of order lines" || said["U-2"] != "is used by a record of pick lines" ||
		said["U-3"] == "" || len(said) != 3 {
		k.Errorf("%v %v", err, said)
	}
	if k.dump("items", "order_lines", "pick_lines", "stock_levels", "stock_movements") != before ||
		k.status(job) != "completed" {
		k.Error("the refused rollback changed something")
	}
}

// rollbackOfNamed: so does what is named without a foreign key, alone or in a
// list; partial=true takes back the rest.
func rollbackOfNamed(k *kit) {
	id := func(resource, field, value string) string { return k.find(resource, field, value)["id"].(string) }
	about := func(kind, id string) store.Row {
		return store.Row{"kind": "near_miss", "title": "Seen", "occurred_at": "2026-02-01T00:00:00Z",
			"entities": json.RawMessage(`[{"entity_type":"` + kind + `","entity_id":"` + id + `"}]`)}
	}
	for _, c := range []struct {
		target, file, by string
		use              func()
	}{
		{"orders", "order_no,customer\nN-1,A\nN-2,B\n", "shipments", func() {
			k.add("shipments", store.Row{"order_ids": []string{id("orders", "order_no", "N-1")}})
		}},
		{"zones", "code,name\nN-1,A\nN-2,B\n", "members", func() {
			k.add("members", store.Row{"user_id": anna, "email": "a@north.example", "role": "operator", "status": "active",
				"zone_ids": []string{id("zones", "code", "N-1")}})
		}},
		{"zones", "code,name\nN-1,A\nN-3,B\n", "incidents",
			func() { k.add("incidents", about("zone", id("zones", "code", "N-3"))) }},
		{"workers", "employee_no,name\nN-1,A\nN-2,B\n", "incidents",
			func() { k.add("incidents", about("worker", id("workers", "employee_no", "N-1"))) }},
		{"equipment", "asset_no,name,kind\nN-1,A,forklift\nN-2,B,forklift\n", "incidents", func() {
			k.add("incidents", about("equipment", id("equipment", "asset_no", "N-1")))
		}},
	} {
		job, p, _ := k.imported(c.target, "", "", "n.csv", []byte(c.file))
		if p.Stats.InvalidRows > 0 {
			k.Fatalf("%s: %+v", c.target, p.Errors)
		}
		c.use()
		before := k.dump(c.target)
		_, err := k.m.Rollback(context.Background(), k.as, job.ID)
		if list := imports.Conflicts(err); len(list) != 1 || list[0].Reason != "is used by a record of "+c.by ||
			k.dump(c.target) != before || k.status(job) != "completed" {
			k.Errorf("%s: %v %+v", c.target, err, list)
		}
		if res, err := k.m.RollbackRest(context.Background(), k.as, job.ID); err != nil || res.Kept != 1 ||
			strings.Count(k.dump(c.target), "\n") != strings.Count(before, "\n")-int(res.RolledBack) {
			k.Errorf("%s: %+v %v", c.target, res, err)
		}
	}
}

// rollbackTwice: one of parallel rollbacks has the effect; what is back, or
// never was applied, is refused, and so are others than administrators.
func rollbackTwice(k *kit) {
	ctx := context.Background()
	idle := k.upload("zones", "", "", "y.csv", []byte("code,name\nY-1,One\n"))
	k.process(idle)
	if _, err := k.m.Rollback(ctx, k.as, idle.ID); !fault.Is(err, fault.Conflict) {
		k.Errorf("of an unapplied job: %v", err)
	}
	job, _, _ := k.imported("zones", "", "", "z.csv", []byte(shelves))
	for _, role := range []actor.Role{actor.Manager, actor.Safety, actor.Operator, actor.Viewer} {
		a := k.as
		a.Role = role
		if _, err := k.m.Rollback(ctx, a, job.ID); !fault.Is(err, fault.Forbidden) {
			k.Errorf("by %s: %v", role, err)
		}
	}
	done := atOnce(k, func(int) (bool, error) {
		res, err := k.m.Rollback(ctx, k.as, job.ID)
		return err == nil && res.RolledBack == 2, err
	})
	if done != 1 || len(k.rows("zones")) != 0 {
		k.Errorf("%d rollbacks, %d zones", done, len(k.rows("zones")))
	}
	if _, err := k.m.Rollback(ctx, k.as, job.ID); !fault.HasCode(err, "import_state") {
		k.Errorf("once more: %v", err)
	}
}

// A worker that is alive keeps its job however long it reads: by its claim, and
// where it has none by renewing its lease.
func TestLongReading(t *testing.T) {
	k := open(t, dbtest.Options(t, db.PostgreSQL))
	ctx := context.Background()
	held := &slow{Files: k.o.Files, began: make(chan bool), release: make(chan bool)}
	o := k.o
	o.Files = held
	node := imports.New(o)
	k.Cleanup(node.Close)
	job := k.upload("zones", "", "", "z.csv", []byte(shelves))
	ended := make(chan error)
	process := func() {
		_, err := node.Process(ctx, k.as, job.ID)
		ended <- err
	}
	go process()
	<-held.began
	k.now = k.now.Add(time.Hour)
	if n, err := k.m.Recover(ctx); n != 0 || err != nil || k.status(job) != "processing" {
		t.Errorf("a job that is worked on was taken: %d %v, job %s", n, err, k.status(job))
	}
	held.release <- true
	if err := <-ended; err != nil {
		t.Error(err)
	}

	o.Lease = 60 * time.Millisecond
	node = imports.New(o)
	k.Cleanup(node.Close)
	k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(`{"timezone":"UTC"}`)}) // to be processed again
	go process()
	<-held.began
	k.set("import_jobs", job.ID, store.Row{"lease_claim": nil})
	lease := func() any { return k.find("import_jobs", "id", job.ID)["lease_until"] }
	for first, end := lease(), time.Now().Add(30*time.Second); lease() == first; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the lease is not renewed")
		}
	}
	held.release <- true
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Renewing the lease does not get into the way of the work whose lease it is.
func TestBeats(t *testing.T) {
	k := open(t, dbtest.Options(t, db.PostgreSQL))
	k.rebuild(func(o *imports.Options) { o.Whole, o.Together, o.Lease = 1000, 1, 3*time.Millisecond })
	job, p, a := k.imported("zones", "", "", "z.csv", zonesFile(6000))
	if p.Stats.ValidRows != 6000 || a.ImportedCount != 6000 {
		t.Errorf("%+v %+v", p.Stats, a)
	}
	if res, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil || res.RolledBack != 6000 {
		t.Errorf("%+v %v", res, err)
	}
}

// A job whose worker's claim is gone goes on at once, before its lease is over.
func TestClaimEnds(t *testing.T) {
	t.Parallel()
	k := open(t, dbtest.Options(t, db.PostgreSQL))
	ctx := context.Background()
	held := &slow{Files: k.o.Files, began: make(chan bool), release: make(chan bool)}
	o := k.o
	o.Files = held
	dying := imports.New(o)
	job := k.upload("zones", "", "", "z.csv", []byte(shelves))
	ended := make(chan error)
	go func() {
		_, err := dying.Process(ctx, k.as, job.ID)
		ended <- err
	}()
	<-held.began
	if n, err := k.m.Recover(ctx); n != 0 || err != nil {
		t.Errorf("a job that is worked on was taken: %d %v", n, err)
	}
	dying.Close() // its claim ends with it
	for end := time.Now().Add(30 * time.Second); k.status(job) != "uploaded"; time.Sleep(10 * time.Millisecond) {
		if _, err := k.m.Recover(ctx); err != nil || time.Now().After(end) {
			t.Fatalf("%v, job %s", err, k.status(job))
		}
	}
	if p := k.process(job); p.Stats.ValidRows != 2 {
		t.Errorf("%+v", p.Stats)
	}
	k.apply(job)
	close(held.release)
	if err := <-ended; !fault.HasCode(err, "import_lost") &&
		!errors.Is(err, context.Canceled) { // closing leaves its steps, too
		t.Errorf("the worker that was given up: %v", err)
	}
	if n := len(k.rows("zones")); n != 2 || k.status(job) != "completed" {
		t.Errorf("%d zones, job %s", n, k.status(job))
	}
}
