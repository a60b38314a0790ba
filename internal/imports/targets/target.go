package targets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/suggest"
)

// Modes of an import: what happens to a row whose key exists already, or does
// not.
const (
	ModeInsert = "insert" // existing keys are refused
	ModeUpsert = "upsert" // existing records are changed, others made
	ModeUpdate = "update" // unknown keys are refused
)

// Column is one thing a file may give: a field of the record, or (extra) what
// is needed to find or make a record it refers to.
type Column struct {
	Name   string
	Field  *catalog.Field
	Fold   []string          // header spellings, folded, most telling first
	Values map[string]string // members of its closed set, and codes, by what files call them, folded
	Line   bool              // a field of the record's line, not of the record
}

// Target is a kind of record that files are imported into.
type Target struct {
	Name     string
	Resource *catalog.Resource
	Lines    *catalog.Resource // each row is also a line of its record, of this kind; nil = a row is a record
	Parent   string            // the lines' field that names the record
	Posts    *catalog.Resource // rows are posted as movements and not written; nil = they are
	Columns  []Column
	Defaults map[string]string // for columns no file gives
}

// LotExpiry is a column of stock files: the expiry of the lot the row names,
// so that missing lots can be made.
const LotExpiry = "lot_expires_on"

// Lot is the field of the lot that a row names.
const Lot = "lot_id"

// LotNumber is staged in place of lot_id while the lot does not exist.
const LotNumber = "lot_no"

// People stands for the resource of fields that hold a user's id: files name
// the person. Holders stands for it where a record has a field for the worker as
// well, who may have no account.
const (
	People  = "people"
	Holders = "holders"
)

// Account and Worker are the two fields that name one person.
const (
	Account = "user_id"
	Worker  = "worker_id"
)

// ShortNames are other spellings of targets.
var ShortNames = map[string]string{"training": "training_assignments"}

// All are the targets, by name.
type All map[string]*Target

// Of are the catalog's resources that have an Import section.
func Of(c *catalog.Catalog) All {
	out := All{}
	for _, r := range c.All() {
		if r.Import == nil {
			continue
		}
		t := &Target{Name: r.Name, Resource: r, Defaults: map[string]string{}}
		t.add(r, false)
		if lines, ok := c.Get(r.Import.Lines); ok {
			t.Lines = lines
			t.Parent = lines.Import.Key[0]
			t.add(lines, true)
		}
		switch r.Name {
		case "stock_movements", "stock_levels":
			t.Posts, _ = c.Get("stock_movements")
			expiry := &catalog.Field{Name: LotExpiry, Type: catalog.Date, Label: "Lot expiry"}
			t.Columns = append(t.Columns, t.newColumn(r, expiry))
			if r.Name == "stock_movements" {
				t.Defaults["type"] = "opening"
			}
		case "shifts":
			t.Defaults["source"] = "import"
		}
		out[r.Name] = t
	}
	return out
}

// Named is the target that a request names, with a hyphen or by a short name too.
func (l All) Named(name string) (*Target, error) {
	spelt := strings.ReplaceAll(name, "-", "_")
	if full := ShortNames[spelt]; full != "" {
		spelt = full
	}
	if t := l[spelt]; t != nil {
		return t, nil
	}
	var names []string
	for n := range l {
		names = append(names, n)
	}
	slices.Sort(names)
	f := fault.New(fault.Invalid, "target", "%q is no import target: use one of %s", name, strings.Join(names, ", "))
	if near := suggest.Nearest(name, names); near != "" {
		f.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, f.At("target", "must be one of %s", strings.Join(names, ", "))
}

// add makes columns of the fields that files may set.
func (t *Target) add(r *catalog.Resource, line bool) {
	for _, name := range r.Import.Fields {
		if line && name == t.Parent {
			continue
		}
		f, _ := r.Field(name)
		c := t.newColumn(r, f)
		c.Line = line
		t.Columns = append(t.Columns, c)
	}
}

func (t *Target) newColumn(r *catalog.Resource, f *catalog.Field) Column {
	if f.Type == catalog.UUID && f.Ref == "" && strings.HasSuffix(f.Name, "user_id") {
		person := *f
		person.Ref = People
		if _, ok := r.Field(Worker); ok && f.Name == Account {
			person.Ref = Holders
		}
		f = &person
	}
	c := Column{Name: f.Name, Field: f, Values: valueWords(t.Name, f.Name)}
	c.Fold = []string{cell.Fold(f.Name), cell.Fold(f.Label)}
	for _, of := range slices.Compact([]string{r.Name, t.Name}) {
		c.Fold = append(c.Fold, headerWords()[of+"."+f.Name]...)
	}
	return c
}

// Column is the column that gives a field; nil if no file may give it.
func (t *Target) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// NamesHolder reports records that name a person by account, by worker, or by both.
func (t *Target) NamesHolder() bool {
	account, worker := t.Column(Account), t.Column(Worker)
	return account != nil && worker != nil && account.Field.Ref == Holders
}

// Keyed reports whether rows can be found again by a key.
func (t *Target) Keyed() bool { return len(t.Resource.Import.Key) > 0 }

// Written is the resource whose grants and lots of rows count.
func (t *Target) Written() *catalog.Resource {
	if t.Posts != nil {
		return t.Posts
	}
	return t.Resource
}

// Part cuts out of a row what belongs to the record, or to its line.
func (t *Target) Part(row store.Row, line bool) store.Row {
	if t.Lines == nil {
		return row
	}
	out := make(store.Row, len(row)+1)
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Line == line {
			if v, ok := row[c.Name]; ok {
				out[c.Name] = v
			}
		}
	}
	return out
}

// Rights say what a role may do with a target's records: what the catalog lets
// it do one by one. Movements are only ever made.
func (t *Target) Rights(r actor.Role) (create, update bool) {
	access := &t.Written().Access
	create = query.MayAll(access.Create, r)
	return create, query.MayAll(access.Update, r) || t.Written().AppendOnly && create
}

// Permit refuses a mode that needs a right the role lacks. An upsert needs
// either; rows that would need the other become errors.
func (t *Target) Permit(r actor.Role, mode string) error {
	create, update := t.Rights(r)
	if mode == ModeInsert && !create {
		return fault.New(fault.Forbidden, "42501", "role %q may not make %s: use the mode update", r, Spoken(t.Name))
	}
	if mode == ModeUpdate && !update {
		return fault.New(fault.Forbidden, "42501", "role %q may not change %s: use the mode insert", r, Spoken(t.Name))
	}
	return nil
}

// MayImport refuses a caller who may not import into the target called name, and
// names those it may. A name that is no target is not refused here.
func MayImport(list All, a actor.Actor, name string) error {
	t := list[name]
	if t == nil {
		return nil
	}
	for _, r := range []*catalog.Resource{t.Resource, t.Posts, t.Lines} {
		if r != nil && !a.Scope.Writes(r.Name) {
			return fault.New(fault.Forbidden, "42501", "this key has no scope %s:write", r.Name)
		}
	}
	r := a.Role
	if create, update := t.Rights(r); create || update {
		return nil
	}
	var names []string
	for n, other := range list {
		if create, update := other.Rights(r); create || update {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return fault.New(fault.Forbidden, "42501", "role %q may not import %s, only %s", r, t.Name, strings.Join(names, ", "))
}

// Spoken is the name of a resource, a field or a member of a closed set as people say it.
func Spoken(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_id"), "_", " ")
}

// SpokenList are the names of members of a closed set as people say them.
func SpokenList(names []string, between string) string {
	spoken := make([]string, len(names))
	for i, name := range names {
		spoken[i] = Spoken(name)
	}
	return strings.Join(spoken, between)
}

// Words are a field in a sentence: its label in quotation marks.
func (t *Target) Words(field string) string {
	if c := t.Column(field); c != nil {
		return c.Words()
	}
	return strconv.Quote(catalog.Label(field))
}

// Called is a column in a sentence to somebody who maps it: its label, and the
// field's name where that is another word.
func (c *Column) Called() string {
	if cell.Fold(c.Field.Label) == cell.Fold(c.Name) {
		return c.Words()
	}
	return fmt.Sprintf("%s (%s)", c.Words(), c.Name)
}

// Words are a column in a sentence: its label in quotation marks, as forms show it.
func (c *Column) Words() string { return strconv.Quote(c.Field.Label) }

// Hides reports that a role may not see a field of the target.
func (t *Target) Hides(field string, r actor.Role) bool {
	c := t.Column(field)
	return c != nil && !c.Field.Visible(r)
}

// Denied is what a role may not do that keeps it from giving a field by a file,
// or "".
func Denied(f *catalog.Field, r actor.Role) string {
	if !f.Visible(r) {
		return "see"
	}
	if !f.Settable(r) {
		return "set"
	}
	return ""
}

// Denies reports that a role may not give a field of the target.
func (t *Target) Denies(field string, r actor.Role) bool {
	c := t.Column(field)
	return c != nil && Denied(c.Field, r) != ""
}

// Sets refuses a role that names a field it may not give.
func (t *Target) Sets(field, at string, r actor.Role) error {
	if !t.Denies(field, r) {
		return nil
	}
	return fault.New(fault.Forbidden, "42501", "role %q may not set %s of %s", r, field, t.Name).At(at,
		"is not yours to set")
}

// Becomes names the resource whose records the rows of a file become.
func (t *Target) Becomes(lined bool) string {
	if t.Posts != nil {
		return t.Posts.Name
	}
	if lined {
		return t.Lines.Name
	}
	return t.Resource.Name
}
