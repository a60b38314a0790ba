package imports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/store"
)

const shelves = "code,name\nA-1,Shelf one\nA-2,Shelf two\n"

func TestStates(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		empty, err := k.m.Create(ctx, k.as, imports.Request{Target: "zones"})
		if err != nil || empty.Status != "created" || empty.JobNo == "" {
			k.Fatalf("%+v %v", empty, err)
		}
		if _, err := k.m.Process(ctx, k.as, empty.ID); !fault.HasCode(err, "import_state") {
			k.Errorf("process without file: %v", err)
		}
		job, err := k.m.Attach(ctx, k.as, empty.ID, `C:\files\shelves.csv`, strings.NewReader(shelves))
		if err != nil || job.Status != "uploaded" || job.FileName != "shelves.csv" || job.Size != int64(len(shelves)) ||
			len(job.SHA256) != 64 {
			k.Fatalf("%+v %v", job, err)
		}
		if _, err := k.m.Apply(ctx, k.as, job.ID); !fault.HasCode(err, "import_state") {
			k.Errorf("apply before process: %v", err)
		}
		first := k.process(job)
		if diff := cmp.Diff(first, k.process(job)); diff != "" || k.status(job) != "ready" {
			k.Errorf("process again: %s, %s", diff, k.status(job))
		}
		if _, err := k.m.Rollback(ctx, k.as, job.ID); !fault.HasCode(err, "import_state") {
			k.Errorf("roll back what was not applied: %v", err)
		}
		applied := k.apply(job)
		if diff := cmp.Diff(applied, k.apply(job)); diff != "" || len(k.rows("zones")) != 2 {
			k.Errorf("apply again: %s, %d zones", diff, len(k.rows("zones")))
		}
		for name, f := range map[string]func() error{
			"process": func() error { _, err := k.m.Process(ctx, k.as, job.ID); return err },
			"attach":  func() error { _, err := k.m.Attach(ctx, k.as, job.ID, "x.csv", strings.NewReader("a")); return err },
			"cancel":  func() error { _, err := k.m.Cancel(ctx, k.as, job.ID); return err },
		} {
			if err := f(); !fault.HasCode(err, "import_state") {
				k.Errorf("%s a completed job: %v", name, err)
			}
		}
		if r, err := k.m.Rollback(ctx, k.as, job.ID); err != nil || r.RolledBack != 2 || k.status(job) != "rolled_back" {
			k.Errorf("%+v %v", r, err)
		}
		if _, err := k.m.Rollback(ctx, k.as, job.ID); !fault.Is(err, fault.Conflict) {
			k.Errorf("roll back twice: %v", err)
		}
		for range 2 { // the first leaves nothing behind that makes the job busy
			if _, err := k.m.Apply(ctx, k.as, job.ID); !fault.HasCode(err, "import_state") ||
				!strings.Contains(err.Error(), "upload its file anew") ||
				k.status(job) != "rolled_back" {
				k.Errorf("apply a rolled back job: %v, job %s", err, k.status(job))
			}
		}
		other := k.upload("zones", "", "", "z.csv", []byte(shelves))
		if c, err := k.m.Cancel(ctx, k.as, other.ID); err != nil || c.Status != "cancelled" {
			k.Errorf("%+v %v", c, err)
		}
		if diff := cmp.Diff([]string{"zones", "zones"}, k.changed); diff != "" {
			k.Errorf("told of changes: %s", diff)
		}
	})
}

// The dashboard's import metrics follow the states.
func TestMetrics(t *testing.T) {
	each(t, func(k *kit) {
		job, _, _ := k.imported("zones", "", "", "z.csv", []byte(shelves))
		metrics := func() map[string]int64 {
			all := map[string]int64{}
			err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
				k.s.Counts(tx, k.as.TenantID, all)
				return tx.Flush()
			})
			if err != nil {
				k.Fatal(err)
			}
			out := map[string]int64{}
			for n, v := range all {
				if v != 0 && strings.HasPrefix(n, "import_jobs") {
					out[n] = v
				}
			}
			return out
		}
		if diff := cmp.Diff(map[string]int64{"import_jobs:completed": 1, "import_jobs.imported:completed": 2},
			metrics()); diff != "" {
			k.Error(diff)
		}
		if _, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil {
			k.Fatal(err)
		}
		if diff := cmp.Diff(map[string]int64{"import_jobs:rolled_back": 1, "import_jobs.imported:rolled_back": 2},
			metrics()); diff != "" {
			k.Error(diff)
		}
		actions := map[any]int{}
		for _, r := range k.rows("audit") {
			actions[r["action"]]++
		}
		if actions["import_jobs.apply"] != 1 || actions["import_jobs.rollback"] != 1 || actions["zones.insert"] != 0 {
			k.Errorf("audit: %v", actions)
		}
	})
}

// Whoever listens to changes and panics takes nothing back that is committed,
// and leaves no job behind that is busy for ever.
func TestPanickingListener(t *testing.T) {
	each(t, func(k *kit) {
		panics := false
		k.rebuild(func(o *imports.Options) {
			o.OnChange = func(string, []string) {
				if panics {
					panic("the listener")
				}
			}
		})
		job := k.upload("zones", "", "", "z.csv", []byte(shelves))
		k.process(job)
		panics = true
		if a := k.apply(job); a.ImportedCount != 2 || k.status(job) != "completed" {
			k.Errorf("%+v, job %s", a, k.status(job))
		}
		if r, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil || r.RolledBack != 2 ||
			k.status(job) != "rolled_back" {
			k.Errorf("%+v %v", r, err)
		}
	})
}

func parallelApply(k *kit) { appliedOnce(k, k.m) }

func TestSameFileAgain(t *testing.T) {
	each(t, func(k *kit) {
		first, _, _ := k.imported("zones", "", "", "z.csv", []byte(shelves))
		again := k.upload("zones", "", "", "z.csv", []byte(shelves))
		p := k.process(again)
		if len(p.Warnings) != 1 || !strings.Contains(p.Message, first.JobNo) {
			k.Errorf("%+v", p)
		}
		if _, err := k.m.Apply(context.Background(), k.as, again.ID); !fault.HasCode(err, "import_repeated") ||
			!fault.Is(err, fault.Conflict) {
			k.Errorf("without force: %v", err)
		}
		k.set("import_jobs", again.ID, store.Row{"options": json.RawMessage(`{"force":true}`)})
		if a := k.apply(again); a.ImportedCount != 2 || !strings.Contains(a.Message, "2 as they were") {
			k.Errorf("%+v", a)
		}
		if z := k.rows("zones"); len(z) != 2 || z[0]["version"] != int64(1) {
			k.Errorf("%v", z)
		}
	})
}

// A file that was applied in part, or is being applied, was applied before as
// well, until all of it is rolled back.
func TestSameFileHalfApplied(t *testing.T) {
	each(t, func(k *kit) {
		half := k.broken()
		warned := func(when, no string) {
			k.Helper()
			again := k.upload("zones", "", "", "z.csv", zonesFile(3500))
			for what, text := range map[string]string{"upload": again.Message, "process": k.process(again).Message} {
				if no == "" == strings.Contains(text, "same file") || !strings.Contains(text, no) {
					k.Errorf("%s, %s: %q", when, what, text)
				}
			}
			_, err := k.m.Apply(context.Background(), k.as, again.ID)
			if no != "" != fault.HasCode(err, "import_repeated") {
				k.Errorf("%s: apply without force: %v", when, err)
			}
		}
		warned("broken off", half.JobNo)
		k.set("import_jobs", half.ID, store.Row{"status": jobs.Applying, "lease_claim": nil,
			"lease_until": k.now.Add(-time.Second)})
		warned("died after a part", half.JobNo+": go on")
		k.set("import_jobs", half.ID, store.Row{"imported_count": int64(0)})
		if again := k.upload("zones", "", "", "z.csv", zonesFile(3500)); strings.Contains(again.Message, "same file") {
			k.Errorf("died before any of it: %q", again.Message)
		}
		if c, err := k.d.Claim(context.Background()); err != nil {
			k.Fatal(err)
		} else if c != nil { // nil on the embedded engine
			k.set("import_jobs", half.ID, store.Row{"lease_claim": c.Key})
			warned("being applied", half.JobNo+": to apply it again")
			c.Close()
			k.set("import_jobs", half.ID, store.Row{"lease_claim": nil, "lease_until": k.now.Add(time.Hour)})
			warned("being applied by who had no connection for a claim", half.JobNo+": to apply it again")
		}
		k.set("import_jobs", half.ID, store.Row{"status": jobs.RollingBack, "imported_count": int64(2000)})
		warned("being rolled back", half.JobNo+": wait")
		k.set("import_jobs", half.ID, store.Row{"status": jobs.Failed, "imported_count": int64(2000)})
		remove(k, "zones", k.find("zones", "name", "in the way")["id"].(string))
		if _, err := k.m.Rollback(context.Background(), k.as, half.ID); err != nil {
			k.Fatal(err)
		}
		warned("rolled back", "")
	})
}

// An edit after the import survives; rolling back names it and changes nothing.
func rollbackAfterEdit(k *kit) {
	k.imported("items", "", "", "a.csv", []byte("sku,name\nP-1,One\nP-2,Two\n"))
	k.now = k.now.Add(time.Second)
	job, _, _ := k.imported("items", "", "", "b.csv", []byte("sku,name\nP-1,Uno\nP-3,Tres\nP-4,Cuatro\n"))
	k.set("items", k.find("items", "sku", "P-1")["id"].(string), store.Row{"name": "Eins"})
	k.set("items", k.find("items", "sku", "P-3")["id"].(string), store.Row{"price": decimal.FromInt(3)})
	before := k.dump("items")
	_, err := k.m.Rollback(context.Background(), k.as, job.ID)
	var labels []string
	for _, c := range imports.Conflicts(err) {
		labels = append(labels, c.EntityType+" "+c.Label)
	}
	if diff := cmp.Diff([]string{"items P-3", "items P-1"}, labels); diff != "" || !fault.Is(err, fault.Conflict) {
		k.Errorf("%v: %s", err, diff)
	}
	if diff := cmp.Diff(before, k.dump("items")); diff != "" || k.status(job) != "completed" {
		k.Errorf("something changed: %s", diff)
	}
}

// Stock that left since cannot be taken back.
func rollbackOfSpentStock(k *kit) {
	k.imported("zones", "", "", "z.csv", []byte(shelves))
	k.imported("items", "", "", "i.csv", []byte("sku,name\nP-1,One\n"))
	job, _, _ := k.imported("stock_movements", "", "", "s.csv", []byte("sku,location,qty\nP-1,A-1,10\nP-1,Shelf two,5\n"))
	item, zone := k.find("items", "sku", "P-1")["id"], k.find("zones", "code", "A-1")["id"]
	k.add("stock_movements", store.Row{"type": "scrap", "item_id": item, "from_zone_id": zone,
		"quantity": decimal.FromInt(4)})
	before := k.dump("stock_levels", "stock_movements", "items")
	_, err := k.m.Rollback(context.Background(), k.as, job.ID)
	list := imports.Conflicts(err)
	if len(list) != 1 || list[0].Label != "P-1 in A-1" || list[0].Reason != "10 were imported and only 6 are free there" {
		k.Errorf("%v %+v", err, list)
	}
	if diff := cmp.Diff(before, k.dump("stock_levels", "stock_movements", "items")); diff != "" {
		k.Error(diff)
	}
}

// What cannot be known is asked, and the same job goes on with the answer.
func TestQuestions(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("items", "", "", "i.csv", []byte("sku,name\nP-1,One\n"))
		for _, c := range []struct{ name, target, file, field, answer, want string }{
			{"day or month", "lots", "item,lot,expiry\nP-1,L1,03/04/2025\nP-1,L2,05/06/2025\n", "options.date_order",
				`{"date_order":"mdy"}`, "2025-03-04"},
			{"year in front", "lots", "item,lot,expiry\nP-1,L3,25-01-30\nP-1,L4,26-12-28\n", "options.date_order",
				`{"date_order":"ymd"}`, "2026-12-28"},
			{"thousand or fraction", "items", "sku;name;unit cost\nP-9;Nine;1,234\n", "options.decimal_mark",
				`{"decimal_mark":","}`, "1.234"},
			{"no name", "items", "sku,colour\nP-9,red\n", "mapping.name", `{"defaults":{"name":"Unnamed"}}`, "Unnamed"},
		} {
			job := k.upload(c.target, "", "", "f.csv", []byte(c.file))
			_, err := k.m.Process(context.Background(), k.as, job.ID)
			f := fault.As(err)
			if f == nil || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Name != c.field ||
				k.status(job) != "failed" {
				k.Errorf("%s: %v, job %s", c.name, err, k.status(job))
				continue
			}
			k.set("import_jobs", job.ID, store.Row{"options": json.RawMessage(c.answer)})
			if p := k.process(job); p.Stats.InvalidRows != 0 {
				k.Errorf("%s: %+v", c.name, p)
			}
			k.apply(job)
			if all := k.dump("lots", "items"); !strings.Contains(all, c.want) {
				k.Errorf("%s: %q is not in %s", c.name, c.want, all)
			}
		}
		job := k.upload("items", "", "", "f.csv", []byte("sku,SKU,name\na,b,c\n"))
		if _, err := k.m.Process(context.Background(), k.as, job.ID); err == nil ||
			!strings.Contains(err.Error(), "columns 1 and 2") {
			k.Errorf("two columns of one name: %v", err)
		}
	})
}

func TestRoles(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		as := func(role actor.Role, tenant string) actor.Actor {
			return actor.Actor{TenantID: tenant, UserID: anna, Role: role}
		}
		create := func(a actor.Actor, target string) error {
			_, err := k.m.Create(ctx, a, imports.Request{Target: target})
			return err
		}
		for _, c := range []struct {
			a      actor.Actor
			target string
			want   bool
		}{
			{as(actor.Owner, north), "items", true}, {as(actor.Admin, north), "items", true},
			{as(actor.Manager, north), "items", true},
			{as(actor.Manager, north), "incidents", true}, {as(actor.Service, north), "items", true},
			{as(actor.Safety, north), "incidents", true}, {as(actor.Safety, north), "items", false},
			{as(actor.Safety, north), "regulations", true}, {as(actor.Safety, north), "training", true},
			{as(actor.Safety, north), "workers", true},
			{as(actor.Safety, north), "orders", false}, {as(actor.Safety, north), "stock_levels", false},
			{as(actor.Safety, north), "shifts", true},
			{as(actor.Manager, north), "orders", true}, {as(actor.Manager, north), "courses", true},
			{as(actor.Manager, north), "regulations", false},
			{as(actor.Admin, north), "regulations", true}, {as(actor.Operator, north), "orders", false},
			{as(actor.Operator, north), "items", false}, {as(actor.Driver, north), "items", false},
			{as(actor.Viewer, north), "items", false},
			{as(actor.Anon, north), "items", false}, {as(actor.Admin, ""), "items",
				false}, {actor.Actor{TenantID: north, Role: actor.Admin, Suspended: true}, "items", false},
		} {
			if err := create(c.a, c.target); (err == nil) != c.want || err != nil && !fault.Is(err, fault.Forbidden) {
				k.Errorf("%s in %q into %s: %v", c.a.Role, c.a.TenantID, c.target, err)
			}
		}
		// Who may change but not make, or make but not change, finds the other rows
		// refused.
		k.add("workers", store.Row{"employee_no": "E-1", "name": "One"})
		k.add("courses", store.Row{"code": "C-1", "title": "One"})
		for _, c := range []struct {
			role         actor.Role
			target, file string
			want         []string
			refused      string
		}{
			{actor.Safety, "workers", "employee_no,name\nE-1,Uno\nE-2,Two\n", []string{"3 employee_no unknown"}, "insert"},
			{actor.Manager, "courses", "code,title\nC-1,Uno\nC-2,Two\n", []string{"2 code exists"}, "update"},
		} {
			one := *k
			one.as = as(c.role, north)
			p := one.process(one.upload(c.target, "", "", "f.csv", []byte(c.file)))
			if diff := cmp.Diff(c.want, where(p.Errors)); diff != "" {
				k.Errorf("%s into %s: %s", c.role, c.target, diff)
			}
			job := one.upload(c.target, `{"mode":"`+c.refused+`"}`, "", "f.csv", []byte(c.file))
			if _, err := k.m.Process(ctx, one.as, job.ID); !fault.Is(err, fault.Forbidden) {
				k.Errorf("%s into %s by %s: %v", c.role, c.target, c.refused, err)
			}
		}
		// What a role may not see stays out of its files.
		const courses = "code,title,risk_threshold\nC-3,Three,30\n"
		manager := *k
		manager.as = as(actor.Manager, north)
		bound := manager.upload("courses", "", "", "c.csv", []byte(courses))
		if p := manager.process(bound); cmp.Diff([]string{"risk_threshold"}, p.Ignored) != "" ||
			!strings.Contains(p.Message, "may not see the field risk_threshold") {
			k.Errorf("%+v", p)
		}
		manager.apply(bound)
		if c := k.find("courses", "code", "C-3"); c["risk_threshold"] != nil {
			k.Errorf("a manager's threshold: %v", c)
		}
		bound = k.upload("courses", `{"force":true}`, "", "c.csv", []byte(courses))
		k.process(bound)
		if _, err := k.m.Apply(ctx, manager.as, bound.ID); !fault.Is(err, fault.Forbidden) {
			k.Errorf("a threshold applied by a manager: %v", err)
		}
		k.apply(bound)
		if c := k.find("courses", "code", "C-3"); c["risk_threshold"] == nil {
			k.Errorf("an administrator's threshold: %v", c)
		}
		if _, err := k.m.Create(ctx, manager.as,
			imports.Request{Target: "courses",
				Mapping: json.RawMessage(`{"code":"code","title":"title","risk_threshold":"risk_threshold"}`)}); !fault.Is(err,
			fault.Forbidden) {
			k.Errorf("a threshold mapped by a manager: %v", err)
		}
		// Nor does it help that somebody else had the file checked.
		ready := k.upload("workers", "", "", "f.csv", []byte("employee_no,name\nE-7,Seven\n"))
		k.process(ready)
		if _, err := k.m.Apply(ctx, as(actor.Safety, north), ready.ID); !fault.Is(err, fault.Forbidden) {
			k.Errorf("workers made by a safety officer: %v", err)
		}
		job, _, _ := k.imported("zones", "", "", "z.csv", []byte(shelves))
		for _, role := range []actor.Role{actor.Manager, actor.Safety, actor.Operator} {
			if _, err := k.m.Rollback(ctx, as(role, north), job.ID); !fault.Is(err, fault.Forbidden) {
				k.Errorf("rollback by %s: %v", role, err)
			}
		}
		if _, err := k.m.Process(ctx, as(actor.Safety, north), job.ID); !fault.Is(err, fault.Forbidden) {
			k.Errorf("safety on zones: %v", err)
		}
		stranger := as(actor.Admin, south)
		for name, f := range map[string]func() error{
			"process":  func() error { _, err := k.m.Process(ctx, stranger, job.ID); return err },
			"apply":    func() error { _, err := k.m.Apply(ctx, stranger, job.ID); return err },
			"rollback": func() error { _, err := k.m.Rollback(ctx, stranger, job.ID); return err },
			"attach": func() error {
				_, err := k.m.Attach(ctx, stranger, job.ID, "x.csv",
					strings.NewReader("a"))
				return err
			},
			"errors": func() error { _, err := k.m.RowErrors(ctx, stranger, job.ID, 1, 10); return err },
			"cancel": func() error { _, err := k.m.Cancel(ctx, stranger, job.ID); return err },
		} {
			if err := f(); !fault.Is(err, fault.NotFound) {
				k.Errorf("%s another tenant's job: %v", name, err)
			}
		}
		if _, err := k.m.Process(ctx, k.as, "not-an-id"); !fault.Is(err, fault.Invalid) {
			k.Errorf("no id: %v", err)
		}
	})
}

// Files as they should not be: each is refused by name or its rows are, by
// line; nothing else happens.
func hostileFiles(k *kit) {
	for _, c := range []struct {
		name, file string
		stats      plan.Stats
		errs       []string
	}{
		{"byte order mark", "\xef\xbb\xbfcode,name\nB-1,x\n", plan.Stats{TotalRows: 1, ValidRows: 1}, nil},
		{"UTF-16", "\xff\xfec\x00o\x00d\x00e\x00,\x00n\x00a\x00m\x00e\x00\n\x00U\x001\x00,\x00\xe4\x00\n\x00",
			plan.Stats{TotalRows: 1, ValidRows: 1}, nil},
		{"CR only", "code,name\rB-2,x\rB-3,\r", plan.Stats{TotalRows: 2, ValidRows: 1, InvalidRows: 1},
			[]string{"3 name required"}},
		{"header only", "code,name\n", plan.Stats{}, nil},
		{"blank lines", "code,name\n\n\nB-4,x\n,,\n,\n", plan.Stats{TotalRows: 1, ValidRows: 1}, nil},
		{"ragged", "code,name\nB-5\nB-6,x,y\nB-7,x,\n", plan.Stats{TotalRows: 3, ValidRows: 1, InvalidRows: 2},
			[]string{"2  columns", "3  columns"}},
		{"unclosed quote", "code,name\nB-8,\"x\nB-9,y\n", plan.Stats{TotalRows: 1, InvalidRows: 1},
			[]string{"2 name unclosed_quote"}},
		{"lines after a quoted break", "code,name\nB-10,\"x\ny\"\nB 11,z\n",
			plan.Stats{TotalRows: 2, ValidRows: 1, InvalidRows: 1}, []string{"4 code invalid"}},
		{"long cell", "code,name\nB-12," + strings.Repeat("x", 40<<10) + "\nB-13," + strings.Repeat("y", 201) + "\n",
			plan.Stats{TotalRows: 2, InvalidRows: 2},
			[]string{"2 name cell_too_long", "3 name invalid"}},
		{"foreign ids", "tenant_id,id,code,name,version\n" + south + "," + south + ",B-14,x,9\n",
			plan.Stats{TotalRows: 1, ValidRows: 1}, nil},
		{"repeated keys", "code,name\nB-15,x\nb-15,y\n", plan.Stats{TotalRows: 2, ValidRows: 1, InvalidRows: 1},
			[]string{"3 code duplicate"}},
		{"formulas", "code,name\nB-16,=1+1\nB-17,'=2+2\nB-18,@x\n", plan.Stats{TotalRows: 3, ValidRows: 3}, nil},
		{"numbers and choices",
			"code,name,kind,max_capacity,status\nB-19,x,Bin,many,active\nB-20,x,shed,1,active\nB-21,x,Rack,-1,archived\nB-22,x,Dock,2.00005,blocked\n",
			plan.Stats{TotalRows: 4, ValidRows: 1, InvalidRows: 3},
			[]string{"2 max_capacity number", "3 kind choice", "4 max_capacity invalid"}},
		{"a state no record begins in", "code,name,status\nB-23,x,archived\n", plan.Stats{TotalRows: 1, InvalidRows: 1},
			[]string{"2 status state"}},
	} {
		p := k.process(k.upload("zones", "", "", "f.csv", []byte(c.file)))
		if diff := cmp.Diff(c.stats, p.Stats); diff != "" {
			k.Errorf("%s: %s %v", c.name, diff, p.Errors)
		}
		if diff := cmp.Diff(append([]string{}, c.errs...), where(p.Errors)); diff != "" {
			k.Errorf("%s: %s", c.name, diff)
		}
	}
	job := k.upload("zones", "", "", "f.csv", []byte("tenant_id,id,code,name\n"+south+","+south+",F-1,=1+1\n,,F-2,'=2+2\n"))
	k.process(job)
	k.apply(job)
	if z := k.find("zones", "code", "F-1"); z["tenant_id"] != north || z["id"] == south || z["name"] != "=1+1" {
		k.Errorf("%v", z)
	}
	if z := k.find("zones", "code", "F-2"); z["name"] != "=2+2" {
		k.Errorf("%v", z)
	}
}

// openDocument is how a spreadsheet of LibreOffice begins: a zip archive whose first entry
// is its media type, uncompressed (OpenDocument 1.3, part 2, 3.3).
const openDocument = "PK\x03\x04\x14\x00\x00\x08\x00\x00\x00\x00\x00\x00\x85l9\x8a.\x00\x00\x00.\x00\x00\x00" +
	"\x08\x00\x00\x00mimetypeapplication/vnd.oasis.opendocument.spreadsheetPK\x03\x04"

func TestRefusedUploads(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		for _, c := range []struct {
			name, file string
			kind       fault.Kind
			says       string
		}{
			{"stock.xls", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", fault.Unsupported, "old Excel workbook"},
			{"stock.xlsx", "sku,name\n", fault.Unsupported, "no Excel workbook"},
			{"stock.xlsx", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", fault.Unsupported, "with a password"},
			{"stock.xlsm", "PK\x03\x04", fault.Unsupported, "macros"},
			{"stock.ods", openDocument, fault.Unsupported, "an OpenDocument spreadsheet (.ods), which cannot be read; open it, choose Save as"},
			{"stock.csv", openDocument, fault.Unsupported, "an OpenDocument spreadsheet (.ods) under another name; open it, choose Save as"},
			{"stock.xlsx", openDocument, fault.Unsupported,
				"an OpenDocument spreadsheet (.ods) under another name; open it, choose Save as"},
			{"stock.numbers", "PK\x03\x04", fault.Unsupported, "choose Save as"},
			{"stock.json", "PK\x03\x04", fault.Unsupported, "under another name"},
			{"stock.csv", "PK\x03\x04rest", fault.Unsupported, "under another name"},
			{"stock.csv", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1rest", fault.Unsupported, "Save as"},
			{"stock.exe", "MZ", fault.Unsupported, "no file of rows"},
			{"stock.csv", "", fault.Invalid, "empty"},
		} {
			_, err := k.m.Upload(ctx, k.as, imports.Request{Target: "items"}, c.name, strings.NewReader(c.file))
			if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				k.Errorf("%s: %v", c.name, err)
			}
		}
		huge := &endless{left: sheet.MaxBytes + 1}
		if _, err := k.m.Upload(ctx, k.as, imports.Request{Target: "items"}, "big.csv", huge); !fault.Is(err,
			fault.TooLarge) {
			k.Errorf("a file over the limit: %v", err)
		}
		cut := &endless{left: 1 << 20, end: errors.New("connection reset")}
		if _, err := k.m.Upload(ctx, k.as, imports.Request{Target: "items"}, "cut.csv", cut); !fault.Is(err, fault.Invalid) {
			k.Errorf("an upload that broke off: %v", err)
		}
		for _, r := range []imports.Request{
			{Target: "item"}, {Target: "tenants"}, {Target: "items", Options: json.RawMessage(`{"mode":"replace"}`)},
			{Target: "items",
				Options: json.RawMessage(`{"modus":"insert"}`)},
			{Target: "items", Mapping: json.RawMessage(`{"skuu":"a"}`)}, {Target: "items", Mapping: json.RawMessage(`[1]`)},
			{Target: "items",
				Mapping: json.RawMessage(`{"sku":0}`)},
			{Target: "items", Mapping: json.RawMessage(`{"on_hand":"a"}`)},
			{Target: "items", Options: json.RawMessage(`{"timezone":"Mars"}`)},
		} {
			if _, err := k.m.Upload(ctx, k.as, r, "a.csv", strings.NewReader("a")); !fault.Is(err, fault.Invalid) ||
				len(fault.As(err).Fields) == 0 {
				k.Errorf("%+v: %v", r, err)
			}
		}
		if n := len(k.rows("import_jobs")); n != 0 {
			k.Errorf("refused uploads left %d jobs", n)
		}
		job := k.upload("items", "", "", "../../etc/"+strings.Repeat("n", 3000)+"\x00\r\n.csv", []byte("sku,name\na,b\n"))
		if len([]rune(job.FileName)) > 200 || strings.ContainsAny(job.FileName, "/\\\x00\r\n") ||
			!strings.HasSuffix(job.FileName, ".csv") {
			k.Errorf("file name %q", job.FileName)
		}
		if job = k.upload("items", "", "", "a\r\nX: y\x00.csv", []byte("sku,name\nc,d\n")); job.FileName != "aX: y.csv" {
			k.Errorf("file name %q", job.FileName)
		}
	})
}

type endless struct {
	left int64
	end  error
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		if e.end != nil {
			return 0, e.end
		}
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return int(n), nil
}

func TestModes(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("items", "", "", "a.csv", []byte("sku,name,price\nP-1,One,1\nP-2,Two,2\n"))
		file := []byte("sku,name,price\nP-2,Zwei,\nP-3,Drei,3\n")
		for mode, want := range map[string][]string{"insert": {"2 sku exists"}, "update": {"3 sku unknown"}, "upsert": {}} {
			p := k.process(k.upload("items", `{"mode":"`+mode+`"}`, "", "b.csv", file))
			if diff := cmp.Diff(want, where(p.Errors)); diff != "" {
				k.Errorf("%s: %s", mode, diff)
			}
		}
		// An update needs only the key; blank cells leave things as they are.
		_, p, a := k.imported("items", `{"mode":"update"}`, "", "c.csv", []byte("sku,price,name\nP-2,9,\nP-1,,\n"))
		if p.Stats.ValidRows != 2 || a.ImportedCount != 2 {
			k.Errorf("%+v %+v", p, a)
		}
		if it := k.find("items", "sku", "P-2"); it["price"] != decimal.FromInt(9) || it["name"] != "Two" ||
			it["version"] != int64(2) {
			k.Errorf("%v", it)
		}
		if it := k.find("items", "sku", "P-1"); it["version"] != int64(1) {
			k.Errorf("%v", it)
		}
		// What the records became since the file was checked is found out.
		job := k.upload("items", `{"mode":"insert"}`, "", "d.csv", []byte("sku,name\nP-7,Seven\n"))
		k.process(job)
		k.add("items", store.Row{"sku": "P-7", "name": "Sieben"})
		if _, err := k.m.Apply(context.Background(), k.as, job.ID); !fault.HasCode(err, "import_stale") ||
			!strings.Contains(err.Error(), "line 2") ||
			k.status(job) != "failed" {
			k.Errorf("%v, job %s", err, k.status(job))
		}
	})
}

// The bulk path and the store's own make the same records, derived columns and
// totals included.
func TestBulkPathEqualsStore(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("items", "", "", "i.csv", []byte("sku,name,unit_cost,reorder_point,has_expiry,abc_class,gtin\nX-1,Thing,2.5,7,yes,b,96385074\n"))
		k.imported("zones", "", "", "z.csv", []byte("code,name,max_capacity,x\nX-1,Place,50,1.25\n"))
		north1, counters := []store.Row{k.rows("items")[0], k.rows("zones")[0]}, k.counters()
		k.as.TenantID = south
		k.add("items", store.Row{"sku": "X-1", "name": "Thing", "unit_cost": "2.5", "reorder_point": "7", "has_expiry": true,
			"abc_class": "B",
			"gtin":      "00000096385074"})
		k.add("zones", store.Row{"code": "X-1", "name": "Place", "max_capacity": "50", "x": "1.25"})
		south1 := []store.Row{k.rows("items")[0], k.rows("zones")[0]}
		for i := range north1 {
			for _, f := range []string{"id", "tenant_id"} {
				delete(north1[i], f)
				delete(south1[i], f)
			}
		}
		if diff := cmp.Diff(south1, north1); diff != "" {
			k.Error(diff)
		}
		if diff := cmp.Diff(k.counters(), counters); diff != "" {
			k.Error(diff)
		}
	})
}

// Stock moves by file change levels, loads and values as by hand.
func TestStockMoves(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("zones", "", "", "z.csv", []byte("code,name,max_capacity\nA-1,Shelf one,100\nA-2,Shelf two,0\n"))
		k.imported("items", "", "", "i.csv", []byte("sku,name,unit_cost,tracking\nP-1,One,2.5,none\nP-2,Two,1,lot\nP-3,Three,1,serial\n"))
		file := "date,type,sku,lot,serial number,from zone,to zone,qty\n" +
			"2026-02-01 08:00,receipt,P-1,,,,A-1,10\n" +
			"2026-02-02 08:00,transfer,P-1,,,A-1,A-2,4\n" +
			"2026-02-03 08:00,scrap,P-1,,,A-2,,1\n" +
			"2026-02-03 08:00,receipt,P-2,,,,A-1,1\n" + // tracked by lot
			"2026-02-03 08:00,receipt,P-3,,,,A-1,1\n" + // tracked by serial number
			"2026-02-03 08:00,receipt,P-3,,S1,,A-1,1\n" +
			"2026-02-03 08:00,receipt,P-1,,,A-2,A-1,1\n" + // comes from nowhere
			"2026-02-03 08:00,scrap,P-1,,,,,1\n" +
			"2027-02-03 08:00,receipt,P-1,,,,A-1,1\n" +
			"2026-02-03 08:00,receipt,P-1,L9,,,A-1,1\n" // no such lot, and nothing says when it expires
		_, p, a := k.imported("stock_movements", "", "", "m.csv", []byte(file))
		want := []string{"5 lot required", "6 serial number required", "8 from zone invalid", "9 from zone required",
			"10 date future", "11 lot unknown_lot"}
		if diff := cmp.Diff(want, where(p.Errors)); diff != "" || a.ImportedCount != 4 {
			k.Errorf("%s %+v", diff, a)
		}
		it := k.find("items", "sku", "P-1")
		if it["on_hand"] != decimal.FromInt(9) || it["stock_value"] != decimal.Dec(225000) {
			k.Errorf("%v", it)
		}
		if z := k.find("zones", "code", "A-1"); z["load_units"] != decimal.FromInt(7) ||
			z["utilization"] != decimal.FromInt(7) {
			k.Errorf("%v", z)
		}
		if m := k.find("stock_movements", "type", "receipt"); m["occurred_at"] != "2026-02-01T07:00:00.000000Z" ||
			m["created_by"] != anna ||
			m["import_job_id"] == nil {
			k.Errorf("%v", m)
		}
		// One movement that cannot be posted stops the whole file.
		job := k.upload("stock_movements", "", "", "n.csv",
			[]byte("type,sku,from zone,to zone,qty\nscrap,P-1,A-2,,1\nreceipt,P-1,,A-2,90\nscrap,P-1,A-2,,99\nscrap,P-1,A-1,,1\n"))
		k.process(job)
		before := k.dump("stock_levels", "stock_movements", "items")
		if _, err := k.m.Apply(context.Background(), k.as, job.ID); !fault.HasCode(err, "HF002") ||
			!strings.Contains(fault.As(err).Msg, "line 4: not enough stock of P-1 in zone A-2") || k.status(job) != "failed" {
			k.Errorf("%v, job %s", err, k.status(job))
		}
		if diff := cmp.Diff(before, k.dump("stock_levels", "stock_movements", "items")); diff != "" {
			k.Error(diff)
		}
	})
}

// A job that a dead process left in the middle goes back to where it was.
func TestRecover(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		job := k.upload("zones", "", "", "z.csv", []byte(shelves))
		leave := func(status string) { // whatever the job was: not a step that the server takes
			err := k.d.Write(ctx, db.Scope{Tenant: north}, func(tx *db.Tx) error {
				_, err := tx.Exec("UPDATE import_jobs SET status = $3, lease_until = $4, applied_at = $5 WHERE tenant_id = $1 AND id = $2", north, job.ID,
					status, k.now.Add(-time.Second), k.now)
				return err
			})
			if err != nil {
				k.Fatal(err)
			}
		}
		for _, c := range []struct{ left, rest string }{{"processing", "uploaded"}, {"applying", "ready"},
			{"rolling_back", "completed"}} {
			leave(c.left)
			if n, err := k.m.Recover(ctx); n != 1 || err != nil || k.status(job) != c.rest {
				k.Errorf("%s: gave back %d, %v, job %s", c.left, n, err, k.status(job))
			}
		}
		leave("processing")
		k.process(job) // by itself when touched
		leave("applying")
		k.apply(job)
		leave("rolling_back")
		if _, err := k.m.Rollback(ctx, k.as, job.ID); err != nil {
			k.Error(err)
		}
		if k.d.Engine() == db.PostgreSQL {
			leave("processing")
			k.set("import_jobs", job.ID, store.Row{"lease_until": k.now.Add(time.Minute),
				"lease_claim": nil}) // by a node that could take no claim
			if n, err := k.m.Recover(ctx); n != 0 || err != nil {
				k.Errorf("a job another node works on was taken: %d %v", n, err)
			}
			if _, err := k.m.Process(ctx, k.as, job.ID); !fault.HasCode(err, "import_busy") {
				k.Errorf("%v", err)
			}
		}
	})
}

func manyErrors(k *kit) {
	var b bytes.Buffer
	b.WriteString("code,name\n")
	for i := range 10_000 {
		if i%200 == 0 {
			fmt.Fprintf(&b, "bad code %d,x\n", i)
		} else {
			fmt.Fprintf(&b, "C-%d,x\n", i)
		}
	}
	job, p, a := k.imported("zones", "", "", "z.csv", b.Bytes())
	if diff := cmp.Diff(plan.Stats{TotalRows: 10_000, ValidRows: 9_950, InvalidRows: 50}, p.Stats); diff != "" ||
		a.ImportedCount != 9_950 {
		k.Errorf("%s %+v", diff, a)
	}
	page, err := k.m.RowErrors(context.Background(), k.as, job.ID, 2, 20)
	if err != nil || page.Total != 50 || !page.HasMore || page.Errors[0].Line != 20*200+2 {
		k.Errorf("%+v %v", page, err)
	}
	all := strings.ReplaceAll(b.String(), "C-", "c c ")
	p = k.process(k.upload("zones", "", "", "z.csv", []byte(all)))
	if p.Stats.InvalidRows != 10_000 || len(p.Errors) != 100 {
		k.Errorf("%+v", p.Stats)
	}
}

// A suspended tenant sees what became of its files and changes nothing.
func TestSuspended(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		job := k.upload("zones", "", "", "z.csv", []byte(shelves+"bad code,x\n"))
		k.process(job)
		a := k.as
		a.Suspended = true
		one := imports.RowFilter{Page: 1, PageSize: 1}
		for name, c := range map[string]struct {
			call func() error
			may  bool
		}{
			"rows":      {func() error { _, err := k.m.Rows(ctx, a, job.ID, one); return err }, true},
			"errors":    {func() error { _, err := k.m.RowErrors(ctx, a, job.ID, 1, 1); return err }, true},
			"preview":   {func() error { _, err := k.m.Preview(ctx, a, job.ID, 1, 1); return err }, true},
			"progress":  {func() error { _, err := k.m.Progress(ctx, a, job.ID); return err }, true},
			"corrected": {func() error { _, err := k.m.Corrected(ctx, a, job.ID, "all"); return err }, true},
			"edit": {func() error {
				_, err := k.m.EditRow(ctx, a, job.ID, 1, imports.Edit{Cells: map[string]string{"name": "x"}})
				return err
			}, false},
			"attach": {func() error {
				_, err := k.m.Attach(ctx, a, job.ID, "z.csv",
					strings.NewReader(shelves))
				return err
			}, false},
			"process":   {func() error { _, err := k.m.Process(ctx, a, job.ID); return err }, false},
			"apply":     {func() error { _, err := k.m.Apply(ctx, a, job.ID); return err }, false},
			"cancel":    {func() error { _, err := k.m.Cancel(ctx, a, job.ID); return err }, false},
			"roll back": {func() error { _, err := k.m.Rollback(ctx, a, job.ID); return err }, false},
		} {
			if err := c.call(); c.may && err != nil || !c.may && !fault.HasCode(err, "tenant_suspended") {
				k.Errorf("%s: %v", name, err)
			}
		}
		if k.status(job) != "ready" || len(k.rows("zones")) != 0 {
			k.Errorf("job %s, %d zones", k.status(job), len(k.rows("zones")))
		}
	})
}

// More rows than the limit are refused as a file.
func TestRowLimit(t *testing.T) {
	k := open(t, db.Options{Dir: t.TempDir(), Migrate: true})
	file := []byte("code,name\n" + strings.Repeat("x y,z\n", sheet.MaxRows+1))
	job := k.upload("zones", "", "", "z.csv", file)
	if _, err := k.m.Process(context.Background(), k.as, job.ID); !fault.HasCode(err, "too_many_rows") ||
		k.status(job) != "failed" {
		t.Errorf("%v, job %s", err, k.status(job))
	}
}

// Stock that names more items, zones and lots than are remembered at once
// still finds each of them.
func TestManyReferences(t *testing.T) {
	k := open(t, db.Options{Dir: t.TempDir(), Migrate: true})
	const n = 52_000
	k.imported("items", "", "", "i.csv", benchFile(n))
	var b bytes.Buffer
	b.WriteString("sku,lot,expiry\n")
	for i := range n {
		fmt.Fprintf(&b, "SKU-%07d,L,2027-01-31\n", (i*7919)%1_000_000)
		if i >= 50_000 { // some of a batch known, some not
			fmt.Fprintf(&b, "SKU-%07d,M,2027-01-31\n", (i-50_000)*7919%1_000_000)
		}
	}
	if p := k.process(k.upload("lots", "", "", "l.csv", b.Bytes())); p.Stats.ValidRows != n+2000 {
		t.Errorf("%+v %+v", p.Stats, p.Errors[:min(3, len(p.Errors))])
	}
}
