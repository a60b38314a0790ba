package query

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/prefer"
	"holdfast/internal/suggest"
)

// Write is a change of rows, checked as far as the catalog can: what is sent,
// which rows it is about, and what to answer.
type Write struct {
	Resource  *catalog.Resource
	Body      *Body
	Match     *Node    // rows a PATCH or DELETE is about
	Return    *Select  // what to answer; nil = nothing
	Conflict  []string // upsert: the unique key, without tenant_id; nil = no upsert
	Ignore    bool     // upsert: leave existing rows alone
	Missing   bool     // absent keys take the default rather than null
	Count     prefer.Counting
	Singular  bool
	MaxRows   int   // max-affected; -1 = any
	Location  bool  // answer with the Location of the row
	IfVersion int64 // If-Match; 0 = any version
	Try       bool  // answer what would happen and keep nothing
}

// Options are the parts of a write that stand outside the query string.
type Options struct {
	Prefer prefer.Preferences
	Form   Shape
	Body   *Body
}

// newWrite makes what all writes share. The rows of the answer need the right to
// read.
func newWrite(c *catalog.Catalog, a actor.Actor, r *catalog.Resource, req *Request, o Options) (*Write, error) {
	w := &Write{Resource: r, Body: o.Body, Count: o.Prefer.Count, Missing: o.Prefer.Missing, MaxRows: -1,
		Singular: o.Form.Singular, Location: o.Prefer.Return == prefer.Headers, Try: o.Prefer.Rollback()}
	if o.Prefer.Strict {
		w.MaxRows = o.Prefer.MaxAffected
	}
	if o.Prefer.Return != prefer.Representation {
		return w, nil
	}
	shown := &Request{Select: req.Select, Orders: req.Orders}
	for _, f := range req.Wheres {
		if len(f.Path) > 0 {
			shown.Wheres = append(shown.Wheres, f)
		}
	}
	for _, p := range req.Pages {
		if len(p.Path) > 0 {
			shown.Pages = append(shown.Pages, p)
		}
	}
	q, err := BindSelect(c, a, r, shown)
	if err != nil {
		return nil, err
	}
	q.Form = o.Form
	w.Return = q
	return w, nil
}

// BindInsert checks a POST.
func BindInsert(c *catalog.Catalog, a actor.Actor, r *catalog.Resource, req *Request, o Options) (*Write, error) {
	if _, err := Access(a, r, r.Access.Create); err != nil {
		return nil, err
	}
	w, err := newWrite(c, a, r, req, o)
	if err != nil {
		return nil, err
	}
	w.MaxRows = -1
	if err := bodyColumns(r, w.Body); err != nil {
		return nil, err
	}
	if o.Prefer.Resolution == "" {
		return w, nil
	}
	if !o.onlyIgnore() {
		if _, err := Access(a, r, r.Access.Update); err != nil {
			return nil, err
		}
	}
	w.Ignore = o.onlyIgnore()
	w.Conflict, err = conflictKey(r, req.Conflict)
	return w, err
}

func (o Options) onlyIgnore() bool { return o.Prefer.Resolution == "ignore-duplicates" }

// conflictKey finds the unique key an upsert names. Keys are per tenant, so
// tenant_id in it is neither needed nor harmful.
func conflictKey(r *catalog.Resource, cols []string) ([]string, error) {
	var want []string
	for _, c := range cols {
		if _, ok := r.Field(c); !ok {
			return nil, unknownColumn(r, c)
		}
		if c != "tenant_id" && !containsText(want, c) {
			want = append(want, c)
		}
	}
	if len(want) == 0 || len(want) == 1 && want[0] == "id" {
		return []string{"id"}, nil
	}
	for _, u := range r.Unique {
		if len(u) != len(want) {
			continue
		}
		same := true
		for _, c := range u {
			same = same && containsText(want, c)
		}
		if same {
			return u, nil
		}
	}
	return nil, fault.New(fault.Invalid, "42P10", "there is no unique key on (%s)", clipText(strings.Join(want, ", "))).
		With("", "unique keys of "+r.Name+": "+conflictKeys(r))
}

func conflictKeys(r *catalog.Resource) string {
	out := []string{"(id)"}
	for _, u := range r.Unique {
		out = append(out, "("+strings.Join(u, ", ")+")")
	}
	return strings.Join(out, ", ")
}

// bodyColumns refuses a key that is no column.
func bodyColumns(r *catalog.Resource, b *Body) error {
	for _, c := range b.Columns {
		if _, ok := r.Field(c); !ok {
			return unknownBody(r, c)
		}
	}
	return nil
}

func unknownBody(r *catalog.Resource, name string) error {
	e := fault.New(fault.Invalid, "PGRST204", "%q has no column %q", r.Name, clipText(name)).At(clipText(name),
		"unknown column")
	if near := suggest.Nearest(name, Names(r)); near != "" {
		e.Hint = "perhaps \"" + near + "\" is meant"
	}
	return e
}

// BindUpdate checks a PATCH.
func BindUpdate(c *catalog.Catalog, a actor.Actor, r *catalog.Resource, req *Request, o Options) (*Write, error) {
	w, err := newChange(c, a, r, r.Access.Update, req, o)
	if err != nil {
		return nil, err
	}
	if len(w.Body.Rows) > 1 {
		w.Body.Rows = w.Body.Rows[:1]
	}
	return w, bodyColumns(r, w.Body)
}

// BindDelete checks a DELETE.
func BindDelete(c *catalog.Catalog, a actor.Actor, r *catalog.Resource, req *Request, o Options) (*Write, error) {
	return newChange(c, a, r, r.Access.Delete, req, o)
}

func newChange(
	c *catalog.Catalog, a actor.Actor, r *catalog.Resource, gs []catalog.Grant, req *Request, o Options,
) (*Write, error) {
	if _, err := Access(a, r, gs); err != nil {
		return nil, err
	}
	if r.AppendOnly {
		return nil, fault.New(fault.Forbidden, "42501", "rows of %s are never changed or deleted", r.Name)
	}
	w, err := newWrite(c, a, r, req, o)
	if err != nil {
		return nil, err
	}
	match := &Request{}
	for _, f := range req.Wheres {
		if len(f.Path) == 0 {
			match.Wheres = append(match.Wheres, f)
		}
	}
	if len(match.Wheres) == 0 {
		return nil, fault.New(fault.Invalid, "21000", "a change of %s requires a WHERE clause", r.Name).
			With("", "add a filter, such as id=eq.<id>")
	}
	w.Match, err = bindNode(c, a, r, gs, match)
	return w, err
}

// BindPut checks a PUT: exactly id=eq.<id>, one row with that id.
func BindPut(c *catalog.Catalog, a actor.Actor, r *catalog.Resource, req *Request, o Options) (*Write, error) {
	if _, err := Access(a, r, r.Access.Create); err != nil {
		return nil, err
	}
	if _, err := Access(a, r, r.Access.Update); err != nil {
		return nil, err
	}
	id := ""
	for _, f := range req.Wheres {
		if len(f.Path) > 0 {
			continue
		}
		k := f.Cond
		if id != "" || k.Join != Leaf || k.Op != Eq || k.Not || k.Quant || k.Column.Name != "id" || len(k.Column.Steps) > 0 {
			return nil, notByID()
		}
		id = strings.ToLower(k.Value)
	}
	if id == "" {
		return nil, notByID()
	}
	for _, p := range req.Pages {
		if len(p.Path) == 0 {
			return nil, fault.New(fault.Invalid, "PGRST114", "limit and offset are not allowed with PUT")
		}
	}
	w, err := newWrite(c, a, r, req, o)
	if err != nil {
		return nil, err
	}
	f, _ := r.Field("id")
	if len(w.Body.Rows) != 1 {
		return nil, fault.New(fault.Invalid, "PGRST115", "PUT takes exactly one row")
	}
	if got, err := Value(f, w.Body.Rows[0]["id"]); err != nil || got != any(id) {
		return nil, fault.New(fault.Invalid, "PGRST115", "the id in the body differs from the one in the URL")
	}
	w.MaxRows, w.Conflict = -1, []string{"id"}
	return w, bodyColumns(r, w.Body)
}

func notByID() error {
	return fault.New(fault.BadMethod, "PGRST105", "the filters of PUT must be exactly id=eq.<id>")
}
