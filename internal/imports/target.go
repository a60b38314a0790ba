package imports

import (
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// column is one thing a file may give: a field of the record, or (extra) what
// is needed to find or make a record it refers to.
type column struct {
	name  string
	field *catalog.Field
	fold  []string // header spellings, folded, most telling first
	line  bool     // a field of the record's line, not of the record
}

// target is a kind of record that files are imported into.
type target struct {
	name     string
	resource *catalog.Resource
	lines    *catalog.Resource // each row is also a line of its record, of this kind; nil = a row is a record
	parent   string            // the lines' field that names the record
	posts    *catalog.Resource // rows are posted as movements and not written; nil = they are
	columns  []column
	defaults map[string]string // for columns no file gives
}

// lotExpiry is a column of stock files: the expiry of the lot the row names,
// so that missing lots can be made.
const lotExpiry = "lot_expires_on"

// lotNumber is staged in place of lot_id while the lot does not exist.
const lotNumber = "lot_no"

// people stands for the resource of fields that hold a user's id: files name
// the person.
const people = "people"

// shortNames are other spellings of targets.
var shortNames = map[string]string{"training": "training_assignments"}

// targets are the catalog's resources that have an Import section.
func targets(c *catalog.Catalog) map[string]*target {
	out := map[string]*target{}
	for _, r := range c.All() {
		if r.Import == nil {
			continue
		}
		t := &target{name: r.Name, resource: r, defaults: map[string]string{}}
		t.add(r, false)
		if lines, ok := c.Get(r.Import.Lines); ok {
			t.lines = lines
			t.parent = lines.Import.Key[0]
			t.add(lines, true)
		}
		switch r.Name {
		case "stock_movements", "stock_levels":
			t.posts, _ = c.Get("stock_movements")
			t.columns = append(t.columns, newColumn(&catalog.Field{Name: lotExpiry, Type: catalog.Date, Label: "Lot expiry"},
				[]string{"expiration date", "expiry date", "expiry", "expires on", "use by", "verfallsdatum", "ablaufdatum", "date de peremption",
					"fecha de caducidad", "data di scadenza", "houdbaar tot", "validade"}))
			if r.Name == "stock_movements" {
				t.defaults["type"] = "opening"
			}
		case "shifts":
			t.defaults["source"] = "import"
		case "incidents":
			// A register of accidents says nowhere that its rows are accidents.
			t.defaults["kind"] = "injury"
		}
		out[r.Name] = t
	}
	return out
}

// add makes columns of the fields that files may set.
func (t *target) add(r *catalog.Resource, line bool) {
	for _, name := range r.Import.Fields {
		if line && name == t.parent {
			continue
		}
		f, _ := r.Field(name)
		c := newColumn(f, r.Import.Synonyms[name])
		c.line = line
		t.columns = append(t.columns, c)
	}
}

func newColumn(f *catalog.Field, synonyms []string) column {
	if f.Type == catalog.UUID && f.Ref == "" && strings.HasSuffix(f.Name, "user_id") {
		person := *f
		person.Ref = people
		f = &person
	}
	c := column{name: f.Name, field: f, fold: []string{cell.Fold(f.Name), cell.Fold(f.Label)}}
	for _, s := range synonyms {
		c.fold = append(c.fold, cell.Fold(s))
	}
	return c
}

func (t *target) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

// keyed reports whether rows can be found again by a key.
func (t *target) keyed() bool { return len(t.resource.Import.Key) > 0 }

// written is the resource whose grants and lots of rows count.
func (t *target) written() *catalog.Resource {
	if t.posts != nil {
		return t.posts
	}
	return t.resource
}

// part cuts out of a row what belongs to the record, or to its line.
func (t *target) part(row store.Row, line bool) store.Row {
	if t.lines == nil {
		return row
	}
	out := make(store.Row, len(row)+1)
	for i := range t.columns {
		if c := &t.columns[i]; c.line == line {
			if v, ok := row[c.name]; ok {
				out[c.name] = v
			}
		}
	}
	return out
}

// rights say what a role may do with a target's records: what the catalog lets
// it do one by one. Movements are only ever made.
func (t *target) rights(r actor.Role) (create, update bool) {
	access := &t.written().Access
	create = query.MayAll(access.Create, r)
	return create, query.MayAll(access.Update, r) || t.written().AppendOnly && create
}

// permit refuses a mode that needs a right the role lacks. An upsert needs
// either; rows that would need the other become errors.
func (t *target) permit(r actor.Role, mode string) error {
	create, update := t.rights(r)
	switch {
	case mode == ModeInsert && !create:
		return fault.New(fault.Forbidden, "42501", "role %q may not make %s: use the mode update", r, spoken(t.name))
	case mode == ModeUpdate && !update:
		return fault.New(fault.Forbidden, "42501", "role %q may not change %s: use the mode insert", r, spoken(t.name))
	}
	return nil
}

// allowed refuses callers who may not run imports into a target, "" = into any:
// those whom the catalog gives jobs to make, and a right on the target's
// records.
func (m *Importer) allowed(a actor.Actor, name string) error {
	if a.TenantID == "" {
		return fault.New(fault.Forbidden, "no_tenant", "no tenant is chosen")
	}
	if !query.May(m.jobs.Access.Create, a.Role) {
		return fault.New(fault.Forbidden, "42501", "role %q may not run imports", a.Role)
	}
	return mayImport(m.targets, a.Role, name)
}

// writable refuses what a suspended tenant may not do: it may only read.
func writable(a actor.Actor) error {
	if a.Suspended {
		return fault.New(fault.Forbidden, "tenant_suspended", "the tenant is suspended: nothing can be written")
	}
	return nil
}

func mayImport(list map[string]*target, r actor.Role, name string) error {
	t := list[name]
	if t == nil {
		return nil
	}
	if create, update := t.rights(r); create || update {
		return nil
	}
	var names []string
	for n, other := range list {
		if create, update := other.rights(r); create || update {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return fault.New(fault.Forbidden, "42501", "role %q may not import %s, only %s", r, t.name, strings.Join(names, ", "))
}

// GuardJobs returns the effect that refuses, before a job is made or its
// mapping or options are changed as a record, callers who may not import into
// its target.
func GuardJobs(c *catalog.Catalog) store.Effect {
	list := targets(c)
	return func(_ *db.Tx, a actor.Actor, _ *store.Store, changes []store.Change) error {
		for _, ch := range changes {
			if ch.After == nil {
				continue
			}
			name, _ := ch.After["target"].(string)
			if err := mayImport(list, a.Role, name); err != nil {
				return fault.As(err).At("target", "is not yours to import into")
			}
		}
		return nil
	}
}
