package query

import (
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/suggest"
)

// binder checks a request against the catalog for one caller.
type binder struct {
	cat      *catalog.Catalog
	a        actor.Actor
	patterns int // regular expressions so far
}

// Find returns the resource behind a collection's name.
func Find(c *catalog.Catalog, name string) (*catalog.Resource, error) {
	r, ok := c.Get(name)
	if ok {
		return r, nil
	}
	e := fault.New(fault.NotFound, "PGRST205", "no collection is called %q", clipText(name))
	if near := c.Nearest(name); near != "" {
		e.Hint = fmt.Sprintf("perhaps %q is meant", near)
	}
	return nil, e
}

// BindSelect checks a read of resource r.
func BindSelect(c *catalog.Catalog, a actor.Actor, r *catalog.Resource, req *Request) (*Select, error) {
	n, err := bindNode(c, a, r, r.Access.Read, req)
	if err != nil {
		return nil, err
	}
	return &Select{Root: n}, nil
}

// bindNode checks the root of a read, or with another grant the rows of a
// change.
func bindNode(c *catalog.Catalog, a actor.Actor, r *catalog.Resource, gs []catalog.Grant, req *Request) (*Node, error) {
	g, err := Access(a, r, gs)
	if err != nil {
		return nil, err
	}
	b := &binder{cat: c, a: a}
	n := &Node{Resource: r, Limit: -1, policy: newPolicy(a, r, g)}
	items := req.Select
	if len(items) == 0 {
		items = []Item{{Star: true}}
	}
	if err := b.bindItems(n, items); err != nil {
		return nil, err
	}
	for _, w := range req.Wheres {
		at, err := n.findPath(w.Path)
		if err != nil {
			return nil, err
		}
		p, err := b.bindCondition(at, w.Cond)
		if err != nil {
			return nil, err
		}
		at.where = append(at.where, p)
	}
	for _, o := range req.Orders {
		if err := b.bindOrder(n, o); err != nil {
			return nil, err
		}
	}
	for _, pg := range req.Pages {
		at, err := n.findPath(pg.Path)
		if err != nil {
			return nil, err
		}
		if pg.Limit >= 0 {
			at.Limit = pg.Limit
		}
		if pg.Offset >= 0 {
			at.Offset = pg.Offset
		}
	}
	return n, nil
}

// findPath follows a path of embeds.
func (n *Node) findPath(path []string) (*Node, error) {
	for _, name := range path {
		e := n.findEmbed(name)
		if e == nil {
			return nil, notEmbedded(n, name)
		}
		n = &e.Node
	}
	return n, nil
}

func (n *Node) findEmbed(name string) *Embed {
	for _, e := range n.Embeds {
		if e.Name() == name {
			return e
		}
	}
	for _, e := range n.Embeds {
		if e.written == name {
			return e
		}
	}
	return nil
}

func notEmbedded(n *Node, name string) error {
	return fault.New(fault.Invalid, "PGRST108", "%q is not embedded in %q in this request", clipText(name),
		n.Resource.Name).
		With("", "embed it in select")
}

func (b *binder) bindItems(n *Node, items []Item) error {
	if slices.ContainsFunc(items, func(it Item) bool { return it.Func != "" || b.isCount(n, it) }) {
		return b.bindGroups(n, items)
	}
	for _, it := range items {
		var err error
		switch {
		case it.Star:
			b.bindAllColumns(n)
		case it.Embed != nil:
			err = b.bindEmbed(n, it)
		default:
			err = b.bindColumn(n, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *binder) bindAllColumns(n *Node) {
	for i := range n.Resource.Fields {
		f := &n.Resource.Fields[i]
		n.Out = append(n.Out, b.outputColumn(n, f, f.Name))
	}
}

func (b *binder) outputColumn(n *Node, f *catalog.Field, key string) Out {
	if !f.Visible(b.a.Role) {
		return Out{Key: key, Form: AsNull, At: -1}
	}
	return Out{Key: key, At: n.fetchColumn(f, nil, false), Form: formOfType(f.Type)}
}

// Members are the columns of a list that shows a role every field it may read,
// in catalog order; each is at its own place.
func Members(r *catalog.Resource, role actor.Role) []Out {
	var out []Out
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Visible(role) {
			out = append(out, Out{Key: f.Name, At: len(out), Form: formOfType(f.Type)})
		}
	}
	return out
}

func formOfType(t catalog.Type) Form {
	return [...]Form{AsText, AsInt, AsDec, AsFloat, AsBool, AsPlain, AsPlain, AsPlain, AsRaw, AsRaw}[t]
}

func (b *binder) bindColumn(n *Node, it Item) error {
	f, err := b.findField(n, it.Column)
	if err != nil {
		return err
	}
	key := it.Alias
	if key == "" {
		key = lastKey(it.Column)
	}
	o := b.outputColumn(n, f, key)
	if len(it.Column.Steps) > 0 && o.Form != AsNull {
		o.At, o.Form = n.fetchColumn(f, it.Column.Steps, it.Column.Text), AsRaw
		if it.Column.Text {
			o.Form = AsText
		}
	}
	if it.Cast != "" {
		if len(it.Column.Steps) > 0 && !slices.Contains([]string{"text", "varchar", "json", "jsonb"}, it.Cast) {
			return refuseUnserved("a cast of a member of a document to " + clipText(it.Cast))
		}
		if err := castOutput(&o, f.Type, it.Cast); err != nil {
			return err
		}
	}
	n.Out = append(n.Out, o)
	return nil
}

func lastKey(c Column) string {
	for i := len(c.Steps) - 1; i >= 0; i-- {
		if !c.Steps[i].IsIndex {
			return c.Steps[i].Key
		}
	}
	return c.Name
}

// castOutput changes how a column of type t is written.
func castOutput(o *Out, t catalog.Type, to string) error {
	from := o.Form
	fits := from == AsNull
	switch to {
	case "text", "varchar":
		o.Quoted = from != AsText && from != AsPlain && from != AsNull
		fits = true
	case "int", "int4", "int8", "bigint", "integer":
		o.Whole = from == AsSum || from == AsMean
		if fits = fits || o.Whole || from == AsInt || from == AsDec; from == AsDec {
			o.Form = AsWhole
		}
	case "numeric", "float8":
		fits = fits || from == AsInt || from == AsDec || from == AsFloat || from == AsSum || from == AsMean
	case "bool":
		fits = fits || from == AsBool
	case "uuid":
		fits = fits || t == catalog.UUID
	case "json", "jsonb":
		fits = fits || from == AsRaw
	case "date":
		if fits = fits || t == catalog.Time || t == catalog.Date; from == AsPlain {
			o.Form = AsDay
		}
	case "timestamptz":
		if fits = fits || t == catalog.Time || t == catalog.Date; from == AsPlain && t == catalog.Date {
			o.Form = AsMidnight
		}
	default:
		return fault.New(fault.Invalid, "42704", "type %q does not exist", clipText(to))
	}
	if !fits {
		return fault.New(fault.Invalid, "42846", "column %q cannot be cast to %s", o.Key, to)
	}
	return nil
}

// findField finds a column; a path needs a column that holds JSON.
func (b *binder) findField(n *Node, c Column) (*catalog.Field, error) {
	f, ok := n.Resource.Field(c.Name)
	if !ok {
		return nil, unknownColumn(n.Resource, c.Name)
	}
	if len(c.Steps) > 0 && f.Type != catalog.JSON && f.Type != catalog.Array {
		return nil, fault.New(fault.NotFound, "42883", "operator does not exist: %s -> unknown", f.Type).
			With(fmt.Sprintf("column %q does not hold JSON", f.Name), "")
	}
	return f, nil
}

func unknownColumn(r *catalog.Resource, name string) error {
	e := fault.New(fault.Invalid, "42703", "column %s.%s does not exist", r.Name, clipText(name))
	if near := suggest.Nearest(name, Names(r)); near != "" {
		e.Hint = fmt.Sprintf("perhaps %q is meant", r.Name+"."+near)
	}
	return e
}

// Names lists the fields of r.
func Names(r *catalog.Resource) []string {
	out := make([]string, len(r.Fields))
	for i := range r.Fields {
		out[i] = r.Fields[i].Name
	}
	return out
}

// findVisibleField finds a column the caller may filter or order by.
func (b *binder) findVisibleField(n *Node, c Column) (*catalog.Field, error) {
	f, err := b.findField(n, c)
	if err == nil && !f.Visible(b.a.Role) {
		return nil, fault.New(fault.Forbidden, "42501", "permission denied for column %q of table %s", f.Name,
			n.Resource.Name)
	}
	return f, err
}

func (b *binder) bindEmbed(n *Node, it Item) error {
	l, err := resolveLink(n.Resource, it.Column.Name, it.Embed.Hint)
	if err != nil {
		return err
	}
	if it.Embed.Spread && l.hasMany() {
		return refuseUnserved("spreading a to-many relation")
	}
	target, _ := b.cat.Get(l.targetResource())
	g, err := Access(b.a, target, target.Access.Read)
	if err != nil {
		return err
	}
	e := &Embed{
		Node: Node{Resource: target, Limit: -1, policy: newPolicy(b.a, target, g)},
		Rel:  l.rel, Many: l.hasMany(), forward: l.forward, listed: l.listed,
		Inner: it.Embed.Inner, Spread: it.Embed.Spread,
		Hidden: len(it.Embed.Items) == 0, alias: it.Alias, written: it.Column.Name,
	}
	parent, child := e.keyColumns()
	pf, err := b.findVisibleField(n, Column{Name: parent})
	if err != nil {
		return err
	}
	cf, err := b.findVisibleField(&e.Node, Column{Name: child})
	if err != nil {
		return err
	}
	e.fetchJoinColumns(n, pf, cf)
	n.Embeds = append(n.Embeds, e)
	if !e.Hidden {
		n.Out = append(n.Out, Out{Key: e.Name(), At: len(n.Embeds) - 1, Embed: e})
	}
	if err := b.bindItems(&e.Node, it.Embed.Items); err != nil {
		return err
	}
	if e.Spread && e.grouped {
		return refuseUnserved("spreading aggregates")
	}
	return nil
}

// fetchJoinColumns has both nodes fetch what tells which rows belong together.
func (e *Embed) fetchJoinColumns(parent *Node, pf, cf *catalog.Field) {
	if e.listed {
		pf, _ = parent.Resource.Field("id")
	}
	if !e.Hidden {
		e.ParentAt = parent.fetchColumn(pf, nil, false)
		parent.TenantAt()
	}
	if e.listed {
		e.fetch = append(e.fetch, fetched{field: cf, via: true})
		e.ChildAt = len(e.fetch) - 1
	} else {
		e.ChildAt = e.fetchColumn(cf, nil, false)
	}
	e.TenantAt()
}

func (b *binder) bindOrder(root *Node, o Order) error {
	n, err := root.findPath(o.Path)
	if err != nil {
		return err
	}
	n.ordered = true
	for _, t := range o.Terms {
		if n.grouped {
			by, err := n.groupOrder(t)
			if err != nil {
				return err
			}
			n.order = append(n.order, by)
			continue
		}
		by := orderBy{steps: t.Column.Steps, text: t.Column.Text, desc: t.Desc, nullsFirst: t.NullsFirst}
		at := n
		if t.Relation != "" {
			e := n.findEmbed(t.Relation)
			if e == nil {
				return notEmbedded(n, t.Relation)
			}
			if e.Many {
				return fault.New(fault.Invalid, "PGRST118", "rows of %q cannot be ordered by %q: it is a to-many relation",
					n.Resource.Name, e.Name())
			}
			by.embed, at = e, &e.Node
		}
		if by.field, err = b.findVisibleField(at, t.Column); err != nil {
			return err
		}
		n.order = append(n.order, by)
	}
	return nil
}
