package imports_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/store"
)

// seeds are the records that files refer to, two of each, and what files call
// them.
var seeds = map[string]struct {
	row  func(n int) store.Row
	name func(n int) string
}{
	"sites": {func(n int) store.Row { return store.Row{"code": fmt.Sprint("S-", n), "name": "Site"} },
		func(n int) string { return fmt.Sprint("s-", n) }},
	"teams": {func(n int) store.Row { return store.Row{"code": fmt.Sprint("T-", n), "name": "Team"} },
		func(n int) string { return fmt.Sprint("T-", n) }},
	"zones": {func(n int) store.Row {
		return store.Row{"code": fmt.Sprint("Z-", n), "name": fmt.Sprint("Shelf ", n)}
	}, func(n int) string { return fmt.Sprint("Shelf ", n) }},
	"items": {func(n int) store.Row { return store.Row{"sku": fmt.Sprint("P-", n), "name": "Thing"} },
		func(n int) string { return fmt.Sprint("P-", n) }},
	"workers": {func(n int) store.Row {
		return store.Row{"employee_no": fmt.Sprint("E-", n), "name": "W", "user_id": person(n)}
	}, func(n int) string { return fmt.Sprint("E-", n) }},
	"vehicles": {func(n int) store.Row { return store.Row{"plate": fmt.Sprint("HH X ", n)} },
		func(n int) string { return fmt.Sprint("HH X ", n) }},
	"equipment": {func(n int) store.Row { return store.Row{"asset_no": fmt.Sprint("A-", n)} },
		func(n int) string { return fmt.Sprint("a-", n) }},
	"courses": {func(n int) store.Row {
		return store.Row{"code": fmt.Sprint("C-", n), "title": fmt.Sprint("Course ", n)}
	}, func(n int) string { return fmt.Sprint("Course ", n) }},
	"incidents": {func(n int) store.Row {
		return store.Row{"external_ref": fmt.Sprint("R-", n), "kind": "hazard", "title": "x",
			"occurred_at": "2026-01-01T00:00:00Z"}
	}, func(n int) string { return fmt.Sprint("R-", n) }},
	"orders": {func(n int) store.Row { return store.Row{"order_no": fmt.Sprint("O-", n)} },
		func(n int) string { return fmt.Sprint("O-", n) }},
	"members": {func(n int) store.Row {
		return store.Row{"user_id": person(n), "email": fmt.Sprintf("p%d@north.example", n), "role": "operator"}
	}, func(n int) string { return fmt.Sprintf("P%d@North.example", n) }},
}

func person(n int) string { return fmt.Sprintf("0190a000-0000-7000-8000-0000000000b%d", n) }

// samples are the cells that a field's kind does not make up.
var samples = map[string]func(n, v int) string{
	"regulations.rule": func(n, v int) string {
		return `{"scope":{"entity_types":["zone"],"filter":{}},
			"evidence":{"of":"incidents","absence":"insufficient_data"},
			"metric":"incident_count","window_days":90,"breach":{"op":">=","value":` + strconv.Itoa(n+v+1) + `}}`
	},
	// A code is one item's, also while a file changes those of several.
	"items.gtin": func(n, v int) string {
		return []string{"96385074", "4006381333931", "5901234123457", "012345678905"}[2*n+v]
	},
	"orders.to_site_id":      nothing, // of transfers alone, and these orders are none
	"orders.party_gln":       func(n, v int) string { return []string{"4006381333931", "5901234123457"}[(n+v)%2] },
	"stock_movements.type":   func(int, int) string { return "receipt" },
	"stock_movements.lot_id": nothing, "stock_movements.serial": nothing, "stock_movements.from_zone_id": nothing,
	"stock_levels.lot_id": nothing, "stock_levels.serial": nothing, "order_lines.lot_id": nothing,
	// A price is of a unit of the item, which the line is in.
	"order_lines.uom":       func(int, int) string { return "EA" },
	"order_lines.price_uom": func(int, int) string { return "EA" },
	"workers.user_id":       nothing, "zones.parent_id": nothing,
	// A certificate ends after the training was done.
	"training_assignments.expires_on": func(n, v int) string { return fmt.Sprintf("2027-01-%02d", 10+n+v) },
}

func nothing(int, int) string { return "" }

// cellOf is what a file says in a field of record n: what it says for keys and
// for what is fixed does not depend on the version v.
func cellOf(r *catalog.Resource, f *catalog.Field, n, v int) string {
	key := slices.Contains(r.Import.Key, f.Name)
	if key || f.Fixed {
		v = 0
	}
	if s := samples[r.Name+"."+f.Name]; s != nil {
		return s(n, v)
	}
	ref := f.Ref
	if ref == "" && f.Type == catalog.UUID && strings.HasSuffix(f.Name, "user_id") {
		ref = "members"
	}
	low, _ := strconv.Atoi(strings.Split(f.Min, ".")[0])
	switch {
	case ref != "":
		return seeds[ref].name((n + v) % 2)
	case r.States != nil && r.States.Field == f.Name:
		return r.States.Initial[0]
	case len(f.OneOf) > 0:
		return f.OneOf[v%len(f.OneOf)]
	}
	switch f.Type {
	case catalog.Int:
		return strconv.Itoa(low + n + v + 1)
	case catalog.Decimal, catalog.Float:
		return strconv.Itoa(low+n+v+1) + ".5"
	case catalog.Bool:
		return strconv.FormatBool(v == 1)
	case catalog.Date:
		return fmt.Sprintf("2026-01-%02d", 10+n+v)
	case catalog.Time:
		hour := 8 + v
		if strings.HasPrefix(f.Name, "end") || strings.HasPrefix(f.Name, "report") {
			hour += 6
		}
		return fmt.Sprintf("2026-02-%02dT%02d:00:00Z", 10+n, hour)
	case catalog.JSON:
		return "[]"
	case catalog.Array:
		return fmt.Sprintf("one;%d", v)
	}
	return fmt.Sprintf("%.10s-%d.%d", f.Name, n, v)
}

// sample is a file of records, each in a version. A record with lines has two.
func sample(k *kit, r *catalog.Resource, versions map[int]int) []byte {
	k.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	lines := 1
	fields := append([]string{}, r.Import.Fields...)
	var detail *catalog.Resource
	if r.Import.Lines != "" {
		detail, lines = k.resource(r.Import.Lines), 2
		fields = append(fields, detail.Import.Fields[1:]...)
	}
	w.Write(fields)
	for _, n := range []int{0, 1} {
		v, ok := versions[n]
		for line := range lines {
			var cells []string
			for _, name := range r.Import.Fields {
				f, _ := r.Field(name)
				cells = append(cells, cellOf(r, f, n, v))
			}
			for _, name := range fields[len(r.Import.Fields):] {
				f, _ := detail.Field(name)
				cells = append(cells, cellOf(detail, f, line, v))
			}
			if ok {
				w.Write(cells)
			}
		}
	}
	w.Flush()
	return b.Bytes()
}

// trial is one target on one engine.
type trial struct {
	*kit
	resource *catalog.Resource
	posts    bool // its rows become movements
}

// state is all that the target's files can change, byte for byte. Of stock it
// is what is where: the ledger keeps both ways, and says when.
func (t *trial) state() string {
	t.Helper()
	if !t.posts {
		if t.resource.Import.Lines != "" {
			return t.dump(t.resource.Name, t.resource.Import.Lines)
		}
		return t.dump(t.resource.Name)
	}
	var b strings.Builder
	for _, l := range t.rows("stock_levels") {
		if l["quantity"] != decimal.Dec(0) {
			fmt.Fprintln(&b, l["zone_id"], l["item_id"], l["lpn"], l["stock_status"], l["quantity"])
		}
	}
	for _, it := range t.rows("items") {
		fmt.Fprintln(&b, it["sku"], it["on_hand"], it["available"], it["version"])
	}
	return b.String()
}

func (t *trial) taken(options string, versions map[int]int, want int64) *jobs.Job {
	t.Helper()
	job, p, a := t.imported(t.resource.Name, options, "", "file.csv", sample(t.kit, t.resource, versions))
	if p.Stats.InvalidRows != 0 || a.ImportedCount != want {
		t.Fatalf("%s: %+v %v, imported %d, want %d: %s", options, p.Stats, p.Errors, a.ImportedCount, want, a.Message)
	}
	return job
}

// disturb changes a record of the import as somebody would later.
func (t *trial) disturb() {
	t.Helper()
	if t.posts {
		for _, l := range t.rows("stock_levels") {
			if q, _ := l["quantity"].(decimal.Dec); q > 0 {
				t.add("stock_movements", store.Row{"type": "ship", "item_id": l["item_id"], "from_zone_id": l["zone_id"],
					"lpn":         l["lpn"],
					"from_status": l["stock_status"], "to_status": l["stock_status"], "quantity": l["quantity"]})
			}
		}
		return
	}
	rows := t.rows(t.resource.Name)
	last := rows[len(rows)-1]
	for _, name := range t.resource.Import.Fields {
		f, _ := t.resource.Field(name)
		if name == "uom" || name == "price_uom" {
			continue // one of the item's units
		}
		if f.Type == catalog.Text && len(f.OneOf) == 0 && !f.Fixed && !slices.Contains(t.resource.Import.Key, name) {
			t.set(t.resource.Name, last["id"].(string), store.Row{name: "edited"})
			return
		}
		if f.Type == catalog.Decimal {
			t.set(t.resource.Name, last["id"].(string), store.Row{name: "1"}) // fits every shift
			return
		}
	}
	t.Fatalf("%s has no field to edit", t.resource.Name)
}

// Every target: a small file goes in, in each mode; taking it back leaves every
// byte as it was; an edit in between is named and nothing changes. A resource
// becomes a target by its catalog literal, and is tried here unasked.
func TestEveryTarget(t *testing.T) {
	each(t, func(k *kit) {
		names := slices.Sorted(func(yield func(string) bool) {
			for _, r := range k.s.Catalog().All() {
				if r.Import != nil && !yield(r.Name) {
					return
				}
			}
		})
		for _, name := range names {
			k.TB.(*testing.T).Run(name, func(t *testing.T) {
				one := *k
				one.TB = t
				one.as.TenantID = fresh(&one, name)
				(&trial{kit: &one, resource: one.resource(name), posts: strings.HasPrefix(name, "stock_")}).run()
			})
		}
	})
}

// fresh makes a tenant with the records that files refer to.
func fresh(k *kit, name string) string {
	k.Helper()
	id := fmt.Sprintf("0190a000-0000-7000-8000-%012x",
		len(name)<<32+int(name[0])<<24+int(name[1])<<16+int(name[len(name)-1])<<8+int(name[len(name)-2]))
	k.as = actor.Actor{TenantID: id, UserID: anna, Role: actor.Admin}
	k.add("tenants", store.Row{"id": id, "name": "T", "slug": strings.ReplaceAll(name, "_", "-"),
		"timezone": "Europe/Berlin"})
	for _, r := range []string{"sites", "teams", "zones", "items", "workers", "vehicles", "equipment", "courses",
		"incidents", "orders", "members"} {
		for n := range 2 {
			k.add(r, seeds[r].row(n))
		}
	}
	return id
}

func (t *trial) run() {
	ctx := context.Background()
	lines := int64(1)
	if t.resource.Import.Lines != "" {
		lines = 2
	}
	t.taken(`{"mode":"insert"}`, map[int]int{0: 0}, lines)
	base := t.state()
	t.now = t.now.Add(time.Second)

	job := t.upload(t.resource.Name, `{"dry_run":true}`, "", "file.csv",
		sample(t.kit, t.resource, map[int]int{0: 1, 1: 0}))
	keyed := len(t.resource.Import.Key) > 0
	foreseen := &plan.Counts{Inserts: lines, Updates: lines}
	if !keyed {
		foreseen = &plan.Counts{Inserts: 2}
	}
	if diff := cmp.Diff(foreseen, t.process(job).Preview); diff != "" {
		t.Errorf("dry run: %s", diff)
	}
	if diff := cmp.Diff(base, t.state()); diff != "" {
		t.Errorf("the dry run wrote: %s", diff)
	}
	if keyed {
		t.modes(lines)
	}
	changes := t.taken(`{"mode":"upsert"}`, map[int]int{0: 1, 1: 0}, 2*lines)
	applied := t.state()
	if applied == base {
		t.Fatal("nothing was written")
	}
	res, err := t.m.Rollback(ctx, t.as, changes.ID)
	if err != nil || res.RolledBack != 2*lines {
		t.Fatalf("roll back: %+v %v", res, err)
	}
	if diff := cmp.Diff(base, t.state()); diff != "" {
		t.Fatalf("not as it was: %s", diff)
	}

	again := t.taken(`{"force":true}`, map[int]int{0: 1, 1: 0}, 2*lines)
	t.now = t.now.Add(time.Second)
	t.disturb()
	edited := t.state()
	_, err = t.m.Rollback(ctx, t.as, again.ID)
	if list := imports.Conflicts(err); !fault.HasCode(err, "import_conflict") || len(list) == 0 || list[0].Label == "" ||
		list[0].Reason == "" {
		t.Errorf("roll back after an edit: %v %v", err, list)
	}
	if diff := cmp.Diff(edited, t.state()); diff != "" || t.status(again) != "completed" {
		t.Errorf("the refused rollback changed something: job %s, %s", t.status(again), diff)
	}
}

// modes tries insert on what exists, and update on what does not.
func (t *trial) modes(lines int64) {
	t.Helper()
	file := sample(t.kit, t.resource, map[int]int{0: 1, 1: 0})
	for mode, code := range map[string]string{"insert": "exists", "update": "unknown"} {
		p := t.process(t.upload(t.resource.Name, `{"mode":"`+mode+`"}`, "", "file.csv", file))
		if p.Stats.ValidRows != lines || p.Stats.InvalidRows != lines || p.Errors[0].Code != code {
			t.Errorf("%s: %+v %v", mode, p.Stats, p.Errors)
		}
	}
	text, err := json.Marshal(t.process(t.upload(t.resource.Name, "", "", "file.csv", file)).Columns)
	if err != nil || bytes.Contains(text, []byte(`"ignored"`)) {
		t.Errorf("a column called by its field's name is not known: %s", text)
	}
}

// The keys beside the one that finds a record again, as far as files give them,
// stay as the record got them: checking a file holds them against the records
// that there are, as if no row took one away.
func TestSecondKeysAreFixed(t *testing.T) {
	for _, r := range catalog.Default().All() {
		if r.Import == nil {
			continue
		}
		for _, key := range r.Unique {
			if slices.Equal(key, r.Import.Key) {
				continue
			}
			for _, name := range key {
				if f, _ := r.Field(name); slices.Contains(r.Import.Fields, name) && !f.Fixed && !f.ReadOnly {
					t.Errorf("%s: a file may change %s, a part of the key %v: see clashes", r.Name, name, key)
				}
			}
		}
	}
}

// A column refers to our records though their names are as long as names can
// be, in a script of two bytes a letter; one of longer texts means something else.
func TestLongNamesOfRecords(t *testing.T) {
	each(t, func(k *kit) {
		name := func(n int) string { return strings.Repeat("Ж", 199) + strconv.Itoa(n) }
		team := k.add("teams", store.Row{"code": "T-1", "name": name(1)})
		_, p, a := k.imported("workers", "", "", "w.csv",
			[]byte("employee_no,name,team,site\nE-1,Анна,"+name(1)+","+strings.Repeat("Я", 300)+"\n"))
		if a.ImportedCount != 1 || k.find("workers", "employee_no", "E-1")["team_id"] != team || len(p.Mapping) != 3 ||
			p.Mapping["team_id"] == "" {
			k.Errorf("%+v %+v", p, a)
		}
		k.add("teams", store.Row{"code": "T-2", "name": "=Team"})
		if _, p, _ := k.imported("workers", "", "", "g.csv",
			[]byte("employee_no,name,team\nE-2,Bert,'=Team\n")); p.Mapping["team_id"] == "" {
			k.Errorf("an exported name that begins as formulas do: %+v", p)
		}
	})
}
