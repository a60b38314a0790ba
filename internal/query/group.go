package query

import (
	"slices"
	"strconv"

	"holdfast/internal/catalog"
	"holdfast/internal/fault"
)

// A select with an aggregate answers groups: the other columns of the select are
// what rows are grouped by, and an embed of one row by its reference. Sums are
// taken in two halves of 64 bits, so that neither engine overflows or rounds,
// and joined where they are written.

// MaxGrouped is how many rows the groups of one answer are made of. Counts of
// rows alone have no such limit.
const MaxGrouped = 1_000_000

// fold is what an engine makes of a column of a group's rows.
type fold uint8

const (
	unfolded  fold = iota // what rows are grouped by
	foldRows              // number of rows
	foldCount             // number of values
	foldMin
	foldMax
	foldHigh // sum of the values' upper 32 bits, with their sign
	foldLow  // sum of their lower 32 bits
)

// merge is a cast that makes one value of several.
type merge uint8

const (
	apart  merge = iota
	whole        // a decimal, rounded half away from zero
	oneDay       // the UTC day of an instant
)

// Grouped reports a node that answers groups of its rows.
func (n *Node) Grouped() bool { return n.grouped }

// Alone reports groups of one row each that stands for all rows, and is there
// when there are none.
func (n *Node) Alone() bool { return n.grouped && !n.keyed }

// Capped reports groups of at most MaxGrouped rows. How many there were stands
// behind the columns of each group.
func (n *Node) Capped() bool {
	return n.grouped && (n.keyed || slices.ContainsFunc(n.fetch, func(c fetched) bool { return c.fold > foldRows }))
}

// Counts reports a member of a group that is a number of rows or values.
func (n *Node) Counts(o *Out) bool {
	return o.Embed == nil && o.Form == AsInt && (n.fetch[o.At].fold == foldRows || n.fetch[o.At].fold == foldCount)
}

// Enough refuses groups that are made of more rows than they may be.
func (n *Node) Enough(rows int64) error {
	if n.Capped() && rows > int64(n.maxGroups()) {
		return fault.New(fault.Invalid, "54000", "the groups are made of more than %d rows", n.maxGroups()).With("",
			"filter more narrowly")
	}
	return nil
}

func (n *Node) maxGroups() int {
	if n.Most > 0 {
		return n.Most
	}
	return MaxGrouped
}

func (b *binder) bindGroups(n *Node, items []Item) error {
	n.grouped = true
	for _, it := range items {
		var err error
		switch {
		case b.isCount(n, it):
			err = b.bindRowCount(n, it)
		case it.Star:
			err = refuseUnserved("* beside an aggregate")
		case it.Embed != nil:
			err = b.groupEmbed(n, it)
		case it.Func != "":
			err = b.bindAggregate(n, it)
		default:
			err = b.groupKey(n, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isCount reports the number of rows: count(), and count where no column is
// called so.
func (b *binder) isCount(n *Node, it Item) bool {
	if it.Embed != nil || it.Column.Name != "count" || len(it.Column.Steps) > 0 {
		return false
	}
	_, exists := n.Resource.Field("count")
	return it.Rows || it.Func == "" && !exists
}

func (b *binder) bindRowCount(n *Node, it Item) error {
	o := Out{Key: "count", At: n.addFold(foldRows, &catalog.Field{Name: "id"}, it.Column, apart), Form: AsInt}
	return n.addGroupMember(o, it, catalog.Int)
}

// addGroupMember adds a member of a group, cast and named as the request says.
func (n *Node) addGroupMember(o Out, it Item, t catalog.Type) error {
	if it.Alias != "" {
		o.Key = it.Alias
	}
	if it.Cast != "" {
		if err := castOutput(&o, t, it.Cast); err != nil {
			return err
		}
	}
	n.Out = append(n.Out, o)
	return nil
}

func (n *Node) addFold(how fold, f *catalog.Field, c Column, m merge) int {
	n.fetch = append(n.fetch, fetched{field: f, steps: c.Steps, text: c.Text, fold: how, merge: m})
	return len(n.fetch) - 1
}

// groupKey is a column that rows are grouped by.
func (b *binder) groupKey(n *Node, it Item) error {
	f, err := b.findVisibleField(n, it.Column)
	if err != nil {
		return err
	}
	n.keyed = true
	o := Out{Key: lastKey(it.Column), Form: formOfType(f.Type)}
	if len(it.Column.Steps) > 0 {
		if o.Form = AsRaw; it.Column.Text {
			o.Form = AsText
		}
	}
	m, err := castBeforeGrouping(&o, f, it.Column, it.Cast)
	if err != nil {
		return err
	}
	o.At = n.addFold(unfolded, f, it.Column, m)
	it.Cast = ""
	return n.addGroupMember(o, it, f.Type)
}

// castBeforeGrouping casts a column before it is grouped by or folded, and says which of
// its values become one.
func castBeforeGrouping(o *Out, f *catalog.Field, c Column, to string) (merge, error) {
	if to == "" {
		return apart, nil
	}
	if len(c.Steps) > 0 && !slices.Contains([]string{"text", "varchar", "json", "jsonb"}, to) {
		return apart, refuseUnserved("a cast of a member of a document to " + clipText(to))
	}
	if err := castOutput(o, f.Type, to); err != nil {
		return apart, err
	}
	if o.Form == AsWhole {
		return whole, nil
	}
	if o.Form == AsDay && f.Type == catalog.Time {
		return oneDay, nil
	}
	return apart, nil
}

// bindAggregate is sum, avg, min, max or count of a column.
func (b *binder) bindAggregate(n *Node, it Item) error {
	f, err := b.findVisibleField(n, it.Column)
	if err != nil {
		return err
	}
	o := Out{Key: it.Func, Form: formOfType(f.Type)}
	if len(it.Column.Steps) > 0 {
		if o.Form = AsRaw; it.Column.Text {
			o.Form = AsText
		}
	}
	m, err := castBeforeGrouping(&o, f, it.Column, it.Before)
	if err != nil {
		return err
	}
	if o.Quoted {
		return refuseUnserved("an aggregate of a column cast to text")
	}
	switch it.Func {
	case "count":
		o.At, o.Form = n.addFold(foldCount, f, it.Column, m), AsInt
		return n.addGroupMember(o, it, catalog.Int)
	case "min", "max":
		if o.Form == AsRaw || o.Form == AsBool || f.Type == catalog.UUID {
			return noFunction(it.Func, f)
		}
		how := foldMin
		if it.Func == "max" {
			how = foldMax
		}
		o.At = n.addFold(how, f, it.Column, m)
		return n.addGroupMember(o, it, f.Type)
	}
	return b.bindSum(n, it, f, o, m)
}

// bindSum is the sum or the mean of a column of integers or decimals. Sums of floats
// depend on the order of the rows, and would differ between the engines.
func (b *binder) bindSum(n *Node, it Item, f *catalog.Field, o Out, m merge) error {
	switch {
	case o.Form == AsFloat:
		return refuseUnserved(it.Func + " of a column of floats")
	case len(it.Column.Steps) > 0:
		return refuseUnserved(it.Func + " of a member of a document")
	case o.Form != AsInt && o.Form != AsDec && o.Form != AsWhole:
		return noFunction(it.Func, f)
	}
	o.Scaled = o.Form != AsInt
	o.At = n.addFold(foldHigh, f, it.Column, m)
	n.addFold(foldLow, f, it.Column, m)
	if o.Form = AsSum; it.Func == "avg" {
		o.Form = AsMean
		n.addFold(foldCount, f, it.Column, m)
	}
	return n.addGroupMember(o, it, catalog.Decimal)
}

func noFunction(name string, f *catalog.Field) error {
	return fault.New(fault.NotFound, "42883", "function %s does not exist for column %q of type %s", name, f.Name, f.Type)
}

// groupEmbed is an embed beside aggregates: groups have its reference in common.
func (b *binder) groupEmbed(n *Node, it Item) error {
	if len(it.Embed.Items) > 0 {
		n.keyed = true
		l, err := resolveLink(n.Resource, it.Column.Name, it.Embed.Hint)
		if err == nil && l.hasMany() {
			return refuseUnserved("a relation to many beside an aggregate")
		}
	}
	return b.bindEmbed(n, it)
}

// groupOrder finds what an order's term names: a column that rows are grouped by,
// or by its name in the answer an aggregate.
func (n *Node) groupOrder(t Term) (orderBy, error) {
	by := orderBy{desc: t.Desc, nullsFirst: t.NullsFirst}
	if t.Relation != "" {
		return by, refuseUnserved("the order of groups by a column of an embed")
	}
	if len(t.Column.Steps) > 0 && !t.Column.Text {
		return by, refuseUnserved("the order of groups by a JSON value")
	}
	for i, c := range n.fetch {
		if c.fold == unfolded && c.field.Name == t.Column.Name && slices.Equal(c.steps, t.Column.Steps) &&
			c.text == t.Column.Text {
			by.group = &Out{At: i, Form: AsText}
			return by, nil
		}
	}
	for i := range n.Out {
		if o := &n.Out[i]; o.Embed == nil && n.fetch[o.At].fold != unfolded && o.Key == t.Column.Name &&
			len(t.Column.Steps) == 0 {
			by.group = o
			return by, nil
		}
	}
	if _, ok := n.Resource.Field(t.Column.Name); !ok {
		return by, unknownColumn(n.Resource, t.Column.Name)
	}
	return by, fault.New(fault.Invalid, "42803", "column %q must be grouped by or used in an aggregate function",
		n.Resource.Name+"."+t.Column.Name).
		With("", "put it into select")
}

// groupOrders is the order of groups: as asked for, then by what they are
// grouped by.
func (n *Node) groupOrders() []orderBy {
	out := slices.Clone(n.order)
	for i, c := range n.fetch {
		if c.fold == unfolded {
			out = append(out, orderBy{group: &Out{At: i, Form: AsText}})
		}
	}
	return out
}

// groupRows writes the groups of a node as a derived table x: its columns are
// c0, c1 and so on as the node fetches them, and behind them how many rows there
// were. from writes where the rows of an embed are; nil at the root.
func (w *writer) groupRows(n *Node, from func(t string)) {
	w.s("(SELECT ")
	for i := range n.fetch {
		w.writeFold(&n.fetch[i], "c"+strconv.Itoa(i))
		w.s(" AS c", strconv.Itoa(i), ", ")
	}
	w.s("CAST(SUM(COUNT(*)) OVER () AS bigint) AS seen FROM ")
	w.writeGroupMembers(n, from)
	w.groupBy(n)
	w.s(") x")
}

func (w *writer) writeFold(c *fetched, name string) {
	col := "s." + name
	switch c.fold {
	case unfolded:
		w.s(col)
	case foldRows:
		w.s("COUNT(*)")
	case foldCount:
		w.s("COUNT(", col, ")")
	case foldMin:
		w.s("MIN(", col, ")")
	case foldMax:
		w.s("MAX(", col, ")")
	case foldHigh:
		w.s("CAST(SUM(", col, " >> 32) AS bigint)")
	case foldLow:
		w.s("CAST(SUM(", col, " & 4294967295) AS bigint)")
	}
}

// writeGroupMembers writes the rows that groups are made of as a derived table s, with one
// row more than there may be.
func (w *writer) writeGroupMembers(n *Node, from func(t string)) {
	t := w.newTable()
	w.s("(SELECT ")
	for i, c := range n.fetch {
		if i > 0 {
			w.s(", ")
		}
		if c.fold == foldRows {
			w.s("1")
		} else {
			w.writeMerged(&c, t)
		}
		w.s(" AS c", strconv.Itoa(i))
	}
	if from != nil {
		from(t)
	} else {
		w.s(" FROM ", n.Resource.Name, " ", t, " WHERE ")
	}
	w.writeConditions(n, t, "")
	if n.Capped() {
		w.s(" LIMIT ", strconv.Itoa(n.maxGroups()+1))
	}
	w.s(") s")
}

func (w *writer) writeMerged(c *fetched, t string) {
	at := len(w.b)
	w.writeFetched(c, t)
	expr := string(w.b[at:])
	switch c.merge {
	case whole: // scaled by 10,000
		w.b = append(w.b[:at], "(("+expr+" + CASE WHEN "+expr+" < 0 THEN -5000 ELSE 5000 END) / 10000 * 10000)"...)
	case oneDay:
		w.b = append(w.b[:at], w.d.Day(expr)...)
	}
}

func (w *writer) groupBy(n *Node) {
	lead := " GROUP BY "
	for i, c := range n.fetch {
		if c.fold == unfolded {
			w.s(lead, "s.c", strconv.Itoa(i))
			lead = ", "
		}
	}
}

func (w *writer) groupColumns(n *Node) {
	for i := range n.fetch {
		w.s("x.c", strconv.Itoa(i), ", ")
	}
	w.s("x.seen")
}

// groupStatement is the statement for the groups of the root.
func (q *Select) groupStatement(d Dialect) (Statement, error) {
	n, w := q.Root, newWriter(d)
	w.s("SELECT ")
	w.groupColumns(n)
	w.s(" FROM ")
	w.groupRows(n, nil)
	w.groupSort(n)
	w.writePage(n)
	return w.done()
}

// countStatement is the statement for numbers of all rows, which have no limit.
func (q *Select) countStatement(d Dialect) (Statement, error) {
	n, w := q.Root, newWriter(d)
	t := w.newTable()
	for i := range n.fetch {
		w.writeBetween(i, "SELECT ", ", ")
		w.s("COUNT(*)")
	}
	w.s(" FROM ", n.Resource.Name, " ", t)
	w.writeWhere(n, t)
	w.writePage(n)
	return w.done()
}

// groupTotal counts the groups, and the rows they are made of.
func (q *Select) groupTotal(d Dialect) (Statement, error) {
	w := newWriter(d)
	w.s("SELECT COUNT(*), CAST(SUM(x.n) AS bigint) FROM (SELECT COUNT(*) AS n FROM ")
	w.writeGroupMembers(q.Root, nil)
	w.groupBy(q.Root)
	w.s(") x")
	return w.done()
}

// writeBetween writes what stands before the element i of a list: first before
// the first one, further before the others.
func (w *writer) writeBetween(i int, first, further string) {
	if i == 0 {
		w.s(first)
		return
	}
	w.s(further)
}

func (w *writer) groupSort(n *Node) {
	for i, o := range n.groupOrders() {
		w.writeBetween(i, " ORDER BY ", ", ")
		w.groupTerm(o)
	}
}

// groupTerm writes what one member of the order of groups compares.
func (w *writer) groupTerm(o orderBy) {
	col := func(i int) string { return "x.c" + strconv.Itoa(o.group.At+i) }
	switch o.group.Form {
	case AsSum:
		w.s("(", col(0), " + (", col(1), " >> 32))")
		w.writeDirection(o)
		w.s(", (", col(1), " & 4294967295)")
	case AsMean:
		real := func(expr string) string { return "CAST(" + expr + " AS double precision)" }
		w.s("(", real(col(0)), " * ", real("4294967296"), " + ", real(col(1)), ") / ", real("NULLIF("+col(2)+", 0)"))
	default:
		w.s(col(0))
	}
	w.writeDirection(o)
}

// groupStatement is the statement for the groups of embedded rows of parents with these
// keys.
func (e *Embed) groupStatement(d Dialect, keys []string) (Statement, error) {
	n, w := &e.Node, newWriter(d)
	of := func(t string) { w.writeEmbedFrom(e, t, keys) }
	if !e.Many || e.Limit < 0 && e.Offset == 0 {
		w.s("SELECT ")
		w.groupColumns(n)
		w.s(" FROM ")
		w.groupRows(n, of)
		w.groupSort(n)
		w.s(" LIMIT ", strconv.Itoa(MaxInRows+1))
		return w.done()
	}
	w.s("SELECT * FROM (SELECT ")
	w.groupColumns(n)
	w.s(", ROW_NUMBER() OVER (PARTITION BY x.c", strconv.Itoa(e.ChildAt))
	w.groupSort(n)
	w.s(") AS place FROM ")
	w.groupRows(n, of)
	w.s(") y")
	w.writePlaces(e)
	return w.done()
}

// writePlaces writes which rows of each parent a paged embed has.
func (w *writer) writePlaces(e *Embed) {
	w.s(" WHERE place > ")
	w.bind(int64(e.Offset))
	w.s(" AND place <= ")
	w.bind(int64(e.Offset) + int64(e.PageSize()))
	w.s(" ORDER BY place LIMIT ", strconv.Itoa(MaxInRows+1))
}
