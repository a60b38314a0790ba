// Package catalog says what the records are: one literal per resource. From
// it come validation, REST, row policy, OpenAPI, import mapping and the loops
// of tests; a resource's only other file is its migration.
//
// Layer: catalog and access. Begin at [Resource].
package catalog

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
	"holdfast/internal/suggest"
)

// Type is a field's type; it decides column type, JSON form and parsing.
type Type uint8

// Field types with their column type and JSON form.
const (
	Text    Type = iota // text; string
	Int                 // bigint; integer
	Decimal             // bigint scaled by 10^4; number with up to 4 places
	Float               // double precision; number (coordinates and statistics only)
	Bool                // boolean
	UUID                // uuid; lower-case string
	Time                // timestamptz; RFC 3339 UTC with microseconds
	Date                // text YYYY-MM-DD, a local calendar day
	JSON                // text holding a JSON value; opaque
	Array               // text holding a JSON array of strings
)

// Column returns the column type, the same text on both engines.
func (t Type) Column() string {
	return [...]string{"text", "bigint", "bigint", "double precision", "boolean", "uuid", "timestamptz", "text", "text",
		"text"}[t]
}

func (t Type) String() string {
	return [...]string{"text", "integer", "decimal", "float", "boolean", "uuid", "timestamp", "date", "json", "array"}[t]
}

// Format narrows a Text field.
type Format uint8

// Formats of a Text field.
const (
	Plain   Format = iota // up to 10,000 characters
	Name                  // up to 200 characters, no line breaks
	Code                  // up to 64 of [A-Za-z0-9._-], unique without regard to case
	Number                // business number, up to 40 characters; made by the server when absent
	Email                 // address
	GTIN                  // 14 digits with GS1 check digit, zero padded
	GLN                   // 13 digits with GS1 check digit
	IANA                  // time zone name
	Country               // ISO 3166-1 alpha-2
	Money                 // ISO 4217
)

// Currency is the unit of an amount of money: the currency of the tenant.
const Currency = "currency"

// Field is one column = JSON key = CSV header = form control.
type Field struct {
	Name     string
	Type     Type
	Format   Format
	Label    string // shown to people; made from Name when empty
	Doc      string
	Unit     string   // kg, mm, m, h, percent, Currency; empty for counts and texts
	Required bool     // never null
	Default  string   // literal for an absent value; "" = null (or an error when Required)
	OneOf    []string // closed set of a Text field
	Codes    string   // list of package coding that OneOf is made of; people are shown its names
	Min, Max string   // inclusive decimal bounds of a number; "" = none
	MaxLen   int      // characters of a text, elements of an array; 0 = the format's limit
	Ref      string   // resource this id points to; the reference stays in the tenant
	// resource whose record this id, or each id of an Array, names when a caller sets it; unlike Ref it may outlive
	// the record
	Names    string
	ReadOnly bool          // kept by the server; refused in a body with 428C9
	Fixed    bool          // settable at creation only
	Cost     bool          // says what goods or their carriage cost, or what they are worth: costReaders see it
	Readers  []actor.Role  // who sees the value; empty = everyone who sees the row
	Setters  []actor.Role  // who sets the value; empty = everyone who may write the row
	Prefix   string        // Number: prefix of the generated value, "SO" -> SO-2026-000001
	Prefixes Prefixes      // Number: other prefixes, each with a sequence of its own, by another field
	Filled   bool          // Required, and found by the server when a new record does not say it
	Shape    *schema.Shape // JSON: what the value is made of
	Ruled    bool          // JSON: a rule of its domain checks it, more closely than Shape
}

// Prefixes are the prefixes of a business number by the value of another field of
// the record; a value that is not among them has the number's Prefix.
type Prefixes struct {
	By string
	Of map[string]string
}

// PrefixOf is the prefix of a number in a record whose fields value reads.
func (f *Field) PrefixOf(value func(string) string) string {
	if f.Prefixes.By == "" {
		return f.Prefix
	}
	if p := f.Prefixes.Of[value(f.Prefixes.By)]; p != "" {
		return p
	}
	return f.Prefix
}

// AllPrefixes are the prefixes of a number, that of most records first.
func (f *Field) AllPrefixes() []string {
	return append([]string{f.Prefix}, slices.Sorted(maps.Values(f.Prefixes.Of))...)
}

// States is the state machine of one field.
type States struct {
	Field   string
	Initial []string // states a new record may have; the first is the default
	Moves   []Move
}

// Move is one legal transition.
type Move struct {
	From  []string
	To    string
	Roles []actor.Role // who may ask for it; empty = the server alone
}

// FindWay says which states role r may move a record to from one state, and which of them it may
// go on from to another; "" for none.
func (s *States) FindWay(from, to string, r actor.Role) (next []string, first string) {
	for _, m := range s.Moves {
		if _, permitted := s.Allows(from, m.To, r); !permitted || containsText(next, m.To) {
			continue
		}
		next = append(next, m.To)
		if _, permitted := s.Allows(m.To, to, r); permitted && first == "" {
			first = m.To
		}
	}
	return next, first
}

// Allows reports whether role r may move a record from one state to another,
// and whether the move exists at all.
func (s *States) Allows(from, to string, r actor.Role) (legal, permitted bool) {
	for _, m := range s.Moves {
		if m.To != to || !containsText(m.From, from) {
			continue
		}
		legal = true
		if r == actor.Service {
			return true, true
		}
		for _, x := range m.Roles {
			if x == r {
				return true, true
			}
		}
	}
	return legal, false
}

// Import says what a file may write into a resource.
type Import struct {
	Key    []string // fields that find an existing record for upsert
	Fields []string // fields a file may set, in the order of a template file
	Lines  string   // resource whose records a file gives beside: each row is one line of a record, "" = a row is a record
}

// Resource is one kind of record.
type Resource struct {
	Name    string // plural snake_case: path, table and import target
	Doc     string
	Family  string
	Fields  []Field
	Unique  [][]string // each per tenant
	Indexes [][]string // after tenant_id; a leading "-" on a column = descending; those of Listed are made besides
	Listed  []string   // columns beside created_at in whose order people and programs page through the records
	// columns that name the caller: his worker record where the name ends in worker_id, else his user
	Own        []string
	Goods      []string // whose goods a row is about: the owner's column, or a reference and the owner's column there
	Parents    []string // references to the record that a row is kept with, of which exactly one is set
	States     *States
	Access     Access
	Counters   []Counter
	Import     *Import
	Makers     []actor.Role // who sees created_by and the like; empty = who sees the own column in Own, else leaders
	Archives   bool         // has archived_at
	Bare       bool         // has no created_at, updated_at, created_by, version
	AppendOnly bool         // rows are never updated or deleted
	// field with the record that the server keeps these rows beside: they go with it, and are nobody's reference to it
	Follows string
	// condition on rows that follow a record and are a use of it all the same: an undo of the record keeps it then
	Binds  string
	Queue  bool     // its table is read across tenants by workers: keyed by id alone, in the platform's migration
	Root   bool     // the tenants table: its id is the tenant
	Zoned  string   // column holding a zone id, for operators' and drivers' zone scope
	Checks []string // row conditions of the table, in SQL both engines know
	Seal   *Seal    // rows that only named readers reach

	byName  map[string]*Field
	parents []ParentRecord
	wholes  map[string]*Resource // of grants' Beside: what the reference names
	refs    []Relation
	lists   [][]string // the indexes that keep an order, after tenant_id
}

// Relation is a foreign key seen from one side.
type Relation struct {
	Name   string // constraint name, e.g. order_lines_order_id_fkey
	From   string // resource holding Column
	Column string
	To     string // resource pointed to, by id
	Unique bool   // at most one From row per To row
}

// Catalog is the set of resources, checked and linked.
type Catalog struct {
	list   []*Resource
	byName map[string]*Resource
}

// New links resources and checks each literal; a mistake in one is a
// programming error, found by every test and at start-up.
func New(rs ...Resource) (*Catalog, error) {
	c := &Catalog{byName: map[string]*Resource{}}
	for i := range rs {
		r := rs[i]
		r.Fields = withCommon(&r)
		r.byName = map[string]*Field{}
		for j := range r.Fields {
			f := &r.Fields[j]
			if f.Format == Number && f.Prefix != "" { // whoever leaves it out is given one
				f.Required, f.Filled = true, true
			}
			if f.Label == "" {
				f.Label = Label(f.Name)
			}
			if f.saysWhoDid() {
				f.Names = "members"
			}
			if r.byName[f.Name] != nil {
				return nil, fmt.Errorf("catalog: %s.%s is declared twice", r.Name, f.Name)
			}
			r.byName[f.Name] = f
		}
		c.list = append(c.list, &r)
		c.byName[r.Name] = &r
	}
	sort.Slice(c.list, func(i, j int) bool { return c.list[i].Name < c.list[j].Name })
	for _, r := range c.list {
		if err := c.linkResource(r); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Default returns the product's catalog.
func Default() *Catalog {
	c, err := New(Resources()...)
	if err != nil {
		panic(err)
	}
	return c
}

func (c *Catalog) linkResource(r *Resource) error {
	check := func(what string, names ...string) error {
		for _, n := range names {
			if r.byName[strings.TrimPrefix(n, "-")] == nil {
				return fmt.Errorf("catalog: %s: %s names unknown field %q", r.Name, what, n)
			}
		}
		return nil
	}
	for _, f := range r.Fields {
		if f.Names != "" && c.byName[f.Names] == nil {
			return fmt.Errorf("catalog: %s.%s names unknown resource %q", r.Name, f.Name, f.Names)
		}
		if f.Ref == "" {
			continue
		}
		if c.byName[f.Ref] == nil {
			return fmt.Errorf("catalog: %s.%s points to unknown resource %q", r.Name, f.Name, f.Ref)
		}
		rel := Relation{Name: r.Name + "_" + f.Name + "_fkey", From: r.Name, Column: f.Name, To: f.Ref,
			Unique: r.uniqueOn(f.Name)}
		r.refs = append(r.refs, rel)
		if f.Ref != r.Name {
			to := c.byName[f.Ref]
			to.refs = append(to.refs, rel)
		}
	}
	for _, u := range append(append([][]string{}, r.Unique...), r.Indexes...) {
		if err := check("key", u...); err != nil {
			return err
		}
	}
	for i := range r.Counters {
		if err := r.Counters[i].checkCounter(r); err != nil {
			return err
		}
	}
	for _, g := range r.Access.Read {
		if g.Also != "" {
			if err := check("grant", g.Also); err != nil {
				return err
			}
		}
		if err := c.linkWork(r, g, check); err != nil {
			return err
		}
	}
	if r.States != nil {
		if err := check("states", r.States.Field); err != nil {
			return err
		}
	}
	if r.Import != nil {
		if err := check("import", append(r.Import.Fields, r.Import.Key...)...); err != nil {
			return err
		}
	}
	if err := check("listed", r.Listed...); err != nil {
		return err
	}
	if err := c.checkGoods(r); err != nil {
		return err
	}
	if err := c.linkParents(r); err != nil {
		return err
	}
	if err := c.linkSeal(r); err != nil {
		return err
	}
	r.lists = append(r.orderIndexes(), r.Indexes...)
	return check("own", r.Own...)
}

// checkGoods holds a resource's way to the owner of its goods to the fields: the
// owner's own column, or a reference and the owner's column there.
func (c *Catalog) checkGoods(r *Resource) error {
	at, way := r, r.Goods
	if len(way) == 2 && r.byName[way[0]] != nil && c.byName[r.byName[way[0]].Ref] != nil {
		at, way = c.byName[r.byName[way[0]].Ref], way[1:]
	}
	switch g, shown := Find(r.Access.Read, actor.Client); {
	case len(way) == 0 && (!shown || g.Scope != Goods):
		return nil
	case len(way) == 1 && at.Name == "goods_owners" && way[0] == "id":
		return nil
	case len(way) == 1 && at.byName[way[0]] != nil && at.byName[way[0]].Ref == "goods_owners":
		return nil
	}
	return fmt.Errorf("catalog: %s does not say whose goods it is about", r.Name)
}

// NamedBy is the column by which a resource's records are named in a field with
// Names: people by their user, everything else by its id.
func NamedBy(resource string) string {
	if resource == "members" {
		return "user_id"
	}
	return "id"
}

// saysWhoDid reports a column in which the server keeps whose act or record it is: completed_by, user_id.
func (f *Field) saysWhoDid() bool {
	person := strings.HasSuffix(f.Name, "_by") || strings.HasSuffix(f.Name, "user_id")
	return person && f.ReadOnly && f.Type == UUID && f.Ref == "" && f.Names == ""
}

func (r *Resource) uniqueOn(field string) bool {
	for _, u := range r.Unique {
		if len(u) == 1 && u[0] == field {
			return true
		}
	}
	return false
}

// All returns every resource by name.
func (c *Catalog) All() []*Resource { return c.list }

// Get returns a resource by its name; dashes count as underscores.
func (c *Catalog) Get(name string) (*Resource, bool) {
	r, ok := c.byName[strings.ReplaceAll(name, "-", "_")]
	return r, ok
}

// Nearest returns the resource name closest to a misspelt one, or "".
func (c *Catalog) Nearest(name string) string {
	names := make([]string, len(c.list))
	for i, r := range c.list {
		names[i] = r.Name
	}
	return suggest.Nearest(name, names)
}

// keyColumns writes a unique key for SQL. Codes are unique without regard to
// case.
func (r *Resource) keyColumns(key []string) string {
	cols := []string{"tenant_id"}
	if r.Root {
		cols = nil
	}
	for _, k := range key {
		if f := r.byName[k]; f.Type == Text && f.Format == Code {
			k = "lower(" + k + ")"
		}
		cols = append(cols, k)
	}
	return strings.Join(cols, ", ")
}

// Field returns a field by name.
func (r *Resource) Field(name string) (*Field, bool) {
	f, ok := r.byName[name]
	return f, ok
}

// Relations returns the foreign keys of r and those that point to it.
func (r *Resource) Relations() []Relation { return r.refs }

// Arrays returns the relations by which records of r name many others, by their
// ids in an array. No constraint of the database holds them.
func (r *Resource) Arrays() []Relation {
	var out []Relation
	for _, f := range r.Fields {
		if f.Type == Array && f.Names != "" {
			out = append(out, Relation{Name: r.Name + "_" + f.Name + "_fkey", From: r.Name, Column: f.Name, To: f.Names})
		}
	}
	return out
}

// Following are the resources whose rows follow records of r.
func (c *Catalog) Following(r *Resource) []*Resource {
	var out []*Resource
	for _, x := range c.All() {
		if f, ok := x.Field(x.Follows); ok && f.Ref == r.Name {
			out = append(out, x)
		}
	}
	return out
}

// Visible reports whether role sees field f of a row it may read.
func (f *Field) Visible(role actor.Role) bool {
	return isAmong(f.Readers, role)
}

// Settable reports whether role may give field f a value in a row it may write.
func (f *Field) Settable(role actor.Role) bool {
	return isAmong(f.Setters, role)
}

// isAmong reports one of roles, or that they are not limited.
func isAmong(roles []actor.Role, role actor.Role) bool {
	return len(roles) == 0 || role == actor.Service || slices.Contains(roles, role)
}

// Label is what a field is called by its name alone.
func Label(name string) string {
	s := strings.ReplaceAll(strings.TrimSuffix(name, "_id"), "_", " ")
	if s == "" {
		return name
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func containsText(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
