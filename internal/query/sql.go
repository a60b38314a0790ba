package query

import (
	"strconv"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// Dialect is what SQL text needs to know of the engine; *db.DB is one.
type Dialect interface {
	Engine() db.Engine
	ForUpdate() string
	InUUID(col string, n int) string
	InText(col string, n int) string
	InInt(col string, n int) string
	InTime(col string, n int) string
	Elements(expr, alias string) string
	UUID(expr string) string
	MatchRegex(col string, n int, ignoreCase bool) string
	JSONPath(col string, path []db.Arrow, asText bool) string
	JSONNumber(json string) string
	JSONContains(left, right string) string
	Day(expr string) string
}

// Statement is SQL text with its bound values. The text depends on the shape
// of the request alone, so that prepared statements are found again.
type Statement struct {
	SQL    string
	Args   []any
	Sorted string // columns whose order no index keeps: all that match are read for a page
}

type writer struct {
	b      []byte
	args   []any
	d      Dialect
	tenant int // parameter that holds the tenant, 0 = not yet bound
	tables int
}

func (w *writer) s(parts ...string) {
	for _, p := range parts {
		w.b = append(w.b, p...)
	}
}

func (w *writer) addArgument(v any) int {
	w.args = append(w.args, v)
	return len(w.args)
}

func (w *writer) bind(v any) {
	w.b = append(w.b, '$')
	w.b = strconv.AppendInt(w.b, int64(w.addArgument(v)), 10)
}

func (w *writer) newTable() string {
	w.tables++
	return "t" + strconv.Itoa(w.tables-1)
}

// Limits of one statement, below those of both engines: SQLite binds 32,766
// values, PostgreSQL 65,535.
const (
	maxBinds = 30_000
	maxText  = 900_000
)

// isFull reports a statement that has outgrown the limits. Embeds repeat their
// conditions wherever a filter asks for them, so that the parts of a request
// can be few and their product endless.
func (w *writer) isFull() bool { return len(w.args) > maxBinds || len(w.b) > maxText }

func (w *writer) done() (Statement, error) {
	if len(w.args) > maxBinds {
		return Statement{}, fault.New(fault.Invalid, "PGRST100", "the filters compare with more than %d values in all",
			maxBinds)
	}
	if len(w.b) > maxText {
		return Statement{}, fault.New(fault.Invalid, "PGRST100", "the filters make a statement of more than %d characters",
			maxText)
	}
	return Statement{SQL: string(w.b), Args: w.args}, nil
}

func newWriter(d Dialect) *writer { return &writer{d: d, b: make([]byte, 0, 512)} }

// Rows is the statement for the rows of the root.
func (q *Select) Rows(d Dialect) (Statement, error) {
	if q.Root.Capped() {
		return q.groupStatement(d)
	}
	if q.Root.grouped {
		return q.countStatement(d)
	}
	n, w := q.Root, newWriter(d)
	t := w.newTable()
	w.s("SELECT ")
	w.writeColumns(n, t)
	w.s(" FROM ", n.Resource.Name, " ", t)
	w.writeWhere(n, t)
	w.writeAfterCursor(n, t)
	w.orderBy(n, t)
	if n.Only == nil {
		w.writePage(n)
	}
	by := q.unindexedOrder()
	if by != "" { // for who reads the statement in the slow log or in a trace
		w.s(" /* no index keeps the order by ", by, " */")
	}
	st, err := w.done()
	st.Sorted = by
	return st, err
}

// Total counts what Rows would return without a page; of groups with a limit
// also the rows that they are made of.
func (q *Select) Total(d Dialect) (Statement, error) {
	if q.Root.Capped() {
		return q.groupTotal(d)
	}
	w := newWriter(d)
	if q.Root.grouped {
		w.s("SELECT 1")
		return w.done()
	}
	t := w.newTable()
	w.s("SELECT COUNT(*) FROM ", q.Root.Resource.Name, " ", t)
	w.writeWhere(q.Root, t)
	return w.done()
}

// Matching is the statement that finds the rows a change is about, and locks them
// with the words lock, if any: every field in catalog order, sorted by id so that two writers lock in one
// order.
func (n *Node) Matching(d Dialect, lock string) (Statement, error) {
	w := newWriter(d)
	t := w.newTable()
	w.s("SELECT ")
	for i := range n.Resource.Fields {
		if i > 0 {
			w.s(", ")
		}
		w.s(t, ".", n.Resource.Fields[i].Name)
	}
	w.s(" FROM ", n.Resource.Name, " ", t)
	w.writeWhere(n, t)
	w.s(" ORDER BY ", t, ".id LIMIT ", strconv.Itoa(MaxWriteRows+1), lock)
	return w.done()
}

// writePage writes LIMIT and OFFSET. Usual page sizes are part of the text, which
// gives the planner the truth; odd ones are bound, so that they cannot fill
// the statement cache.
func (w *writer) writePage(n *Node) {
	limit := n.PageSize()
	w.s(" LIMIT ")
	switch limit {
	case 1, 2, 10, 20, 25, 50, 100, 200, 500, MaxRows:
		w.s(strconv.Itoa(limit))
	default:
		w.bind(int64(limit))
	}
	if n.Offset > 0 {
		w.s(" OFFSET ")
		w.bind(int64(n.Offset))
	}
}

// PageSize is the number of rows one page of the node may have.
func (n *Node) PageSize() int {
	if n.Limit < 0 || n.Limit > MaxRows {
		return MaxRows
	}
	return n.Limit
}

func (w *writer) writeColumns(n *Node, t string) {
	if len(n.fetch) == 0 {
		w.s("1")
		return
	}
	for i, c := range n.fetch {
		if i > 0 {
			w.s(", ")
		}
		if c.by != nil {
			w.writeOrderTerm(*c.by, t)
			continue
		}
		w.writeFetched(&c, t)
	}
}

// writeFetched writes a column that a node fetches, or the id of the parent that names
// the row.
func (w *writer) writeFetched(c *fetched, t string) {
	if c.via {
		w.s(t, "p.id")
		return
	}
	w.writeValue(t, c.field, c.steps, c.text)
}

// writeValue writes a column or a path into it.
func (w *writer) writeValue(t string, f *catalog.Field, steps []Step, text bool) {
	if len(steps) == 0 {
		w.s(t, ".", f.Name)
		return
	}
	col := t + "." + f.Name
	raw := w.d.JSONPath(col, steps, false)
	if !text {
		w.s("CAST(", raw, " AS text)")
		return
	}
	str := w.d.JSONPath(col, steps, true)
	if w.d.Engine() == db.PostgreSQL {
		w.s(str)
		return
	}
	// SQLite's ->> makes numbers of numbers and 1 of true; PostgreSQL's makes texts.
	w.s("CASE WHEN substr(", raw, ", 1, 1) = '\"' THEN CAST(", str, " AS text) WHEN ", raw, " = 'null' THEN NULL ELSE ",
		raw, " END")
}

// writeNumber writes what a path leads to where that is a number, else null.
func (w *writer) writeNumber(t string, f *catalog.Field, steps []Step) {
	w.s(w.d.JSONNumber(w.d.JSONPath(t+"."+f.Name, steps, false)))
}

func (w *writer) writeWhere(n *Node, t string) {
	w.s(" WHERE ")
	w.writeConditions(n, t, "")
}

// writeConditions writes the row policy, the filters and what inner embeds demand.
// parent is the table of the enclosing statement of a correlated one.
func (w *writer) writeConditions(n *Node, t, parent string) {
	w.writePolicy(&n.policy, t, parent, n.Only == nil)
	if n.Only != nil {
		w.s(" AND ", w.d.InUUID(t+".id", w.addArgument(List(n.Only))))
	} else {
		for i := range n.where {
			w.s(" AND ")
			w.writePredicate(&n.where[i], t)
		}
	}
	for _, e := range n.Embeds {
		if e.Inner {
			w.s(" AND ")
			w.writeExists(e, t)
		}
	}
}

// List is a JSON array text of strings, the form in which lists are bound.
func List(list []string) string {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = db.AppendString(b, s)
	}
	return string(append(b, ']'))
}

func (w *writer) writeExists(e *Embed, parent string) {
	if w.isFull() {
		return
	}
	t := w.newTable()
	pc, cc := e.keyColumns()
	if e.listed {
		w.s("EXISTS (SELECT 1 FROM ", w.d.Elements(parent+"."+pc, t+"e"), " JOIN ", e.Resource.Name, " ", t, " ON ", t, ".",
			cc, " = ", w.d.UUID(t+"e.value"), " WHERE ")
	} else {
		w.s("EXISTS (SELECT 1 FROM ", e.Resource.Name, " ", t, " WHERE ", t, ".", cc, " = ", parent, ".", pc, " AND ")
	}
	w.writeConditions(&e.Node, t, parent)
	w.s(")")
}

func (w *writer) orderBy(n *Node, t string) {
	w.s(" ORDER BY ")
	w.writeOrderTerms(n, t)
}

// writeOrderTerms writes the order.
func (w *writer) writeOrderTerms(n *Node, t string) {
	for i, o := range n.orderKeys() {
		if i > 0 {
			w.s(", ")
		}
		w.writeOrderTerm(o, t)
		w.writeDirection(o)
	}
}

// writeOrderTerm writes what one member of the order compares.
func (w *writer) writeOrderTerm(o orderBy, t string) {
	switch {
	case o.embed != nil:
		w.writeRelatedTerm(o, t)
	case o.number:
		w.writeNumber(t, o.field, o.steps)
	default:
		w.writeValue(t, o.field, o.steps, o.text)
	}
}

// writeDirection says where nulls go, unless there are none: an index is used
// without asking then.
func (w *writer) writeDirection(o orderBy) {
	if o.desc {
		w.s(" DESC")
	}
	switch {
	case o.isNeverNull():
	case o.nullsFirst:
		w.s(" NULLS FIRST")
	default:
		w.s(" NULLS LAST")
	}
}

func (w *writer) writeRelatedTerm(o orderBy, parent string) {
	t := w.newTable()
	pc, cc := o.embed.keyColumns()
	w.s("(SELECT ")
	own := o
	own.embed = nil
	w.writeOrderTerm(own, t)
	w.s(" FROM ", o.embed.Resource.Name, " ", t, " WHERE ", t, ".", cc, " = ", parent, ".", pc, " AND ")
	w.writePolicy(&o.embed.policy, t, parent, true)
	w.s(")")
}

// Rows is the statement for the embedded rows of parents with these keys.
func (e *Embed) Rows(d Dialect, keys []string) (Statement, error) {
	if e.grouped {
		return e.groupStatement(d, keys)
	}
	w := newWriter(d)
	t := w.newTable()
	paged := e.Many && (e.Limit >= 0 || e.Offset > 0)
	if paged {
		w.s("SELECT * FROM (")
	}
	w.s("SELECT ")
	w.writeColumns(&e.Node, t)
	if paged {
		w.s(", ROW_NUMBER() OVER (PARTITION BY ")
		w.writeFetched(&e.fetch[e.ChildAt], t)
		w.s(" ORDER BY ")
		w.writeOrderTerms(&e.Node, t)
		w.s(") AS place")
	}
	w.writeEmbedFrom(e, t, keys)
	w.writeConditions(&e.Node, t, "")
	if paged {
		w.s(") x")
		w.writePlaces(e)
		return w.done()
	}
	if e.Many {
		w.orderBy(&e.Node, t)
	}
	w.s(" LIMIT ", strconv.Itoa(MaxInRows+1))
	return w.done()
}

// writeEmbedFrom writes where the rows of parents with these keys are: those that an array
// of ids names are found through the parents.
func (w *writer) writeEmbedFrom(e *Embed, t string, keys []string) {
	in := func(col string) string { return w.d.InUUID(col, w.addArgument(List(keys))) }
	if !e.listed {
		_, key := e.keyColumns()
		w.s(" FROM ", e.Resource.Name, " ", t, " WHERE ", in(t+"."+key), " AND ")
		return
	}
	parent, element := t+"p", t+"e"
	w.s(" FROM ", e.Rel.From, " ", parent, " CROSS JOIN ", w.d.Elements(parent+"."+e.Rel.Column, element), " JOIN ",
		e.Resource.Name, " ", t,
		" ON ", t, ".id = ", w.d.UUID(element+".value"), " AND ", t, ".tenant_id = ", parent, ".tenant_id WHERE ",
		in(parent+".id"), " AND ")
}
