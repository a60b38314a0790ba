package query

import (
	"strconv"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

func (w *writer) writePredicate(p *pred, t string) {
	if w.isFull() {
		return
	}
	if p.join != Leaf {
		w.writeLogicGroup(p, t)
		return
	}
	if p.embed != nil {
		// is.null = no related row; not.is.null = at least one.
		if !p.not {
			w.s("NOT ")
		}
		w.writeExists(p.embed, t)
		return
	}
	if p.not {
		w.s("NOT (")
	}
	w.writeComparison(p, t)
	if p.not {
		w.s(")")
	}
}

func (w *writer) writeLogicGroup(p *pred, t string) {
	if p.not {
		w.s("NOT ")
	}
	w.s("(")
	for i := range p.kids {
		if i > 0 && p.join == Or {
			w.s(" OR ")
		} else if i > 0 {
			w.s(" AND ")
		}
		w.writePredicate(&p.kids[i], t)
	}
	w.s(")")
}

func (w *writer) writeComparison(p *pred, t string) {
	switch {
	case p.op == Is:
		w.writeValue(t, p.field, p.steps, p.text)
		w.s(map[string]string{"null": " IS NULL", "true": " IS TRUE", "false": " IS FALSE"}[p.word])
	case p.op == In:
		w.writeIn(p, t)
	case p.op == Contains || p.op == Contained || p.op == Overlap:
		w.writeElements(p, t)
	case p.quant && len(p.args) == 0:
		// all of nothing holds, any of nothing does not.
		if p.all {
			w.s("1 = 1")
		} else {
			w.s("1 = 0")
		}
	case p.quant && (p.op == Eq && !p.all || p.op == Neq && p.all):
		if p.op == Neq {
			w.s("NOT ")
		}
		w.writeIn(p, t)
	default:
		w.writeEachMember(p, t, p.args)
	}
}

// writeEachMember compares with every member, as a balanced tree: SQLite takes no
// expression deeper than 1,000 (sqlite.org/limits.html).
func (w *writer) writeEachMember(p *pred, t string, args []any) {
	switch n := len(args); {
	case w.isFull():
	case n == 1:
		w.s("(")
		w.writeSingle(p, t, args[0])
		w.s(")")
	default:
		w.s("(")
		w.writeEachMember(p, t, args[:n/2])
		if p.all {
			w.s(" AND ")
		} else {
			w.s(" OR ")
		}
		w.writeEachMember(p, t, args[n/2:])
		w.s(")")
	}
}

func (w *writer) writeSingle(p *pred, t string, a any) {
	switch p.op {
	case Match, IMatch:
		w.b = append(w.b, w.d.MatchRegex(w.comparedText(p, t), w.addArgument(a), p.op == IMatch)...)
		return
	case ILike:
		w.s("LOWER(")
		w.writeValue(t, p.field, p.steps, p.text)
		w.s(") LIKE LOWER(")
		w.bind(a)
		w.s(`) ESCAPE '\'`)
		return
	}
	if p.exact && p.op == Neq {
		w.s("(")
		w.writeLeftSide(p, t)
		w.s(" IS DISTINCT FROM ")
		w.bind(a)
		w.s(" AND ")
		w.writeValue(t, p.field, p.steps, false)
		w.s(" IS NOT NULL)")
		return
	}
	w.writeLeftSide(p, t)
	w.s([...]string{Eq: " = ", Neq: " <> ", Gt: " > ", Gte: " >= ", Lt: " < ", Lte: " <= ",
		Like: " LIKE ", IsDistinct: " IS DISTINCT FROM "}[p.op])
	w.bind(a)
	if p.op == Like {
		w.s(` ESCAPE '\'`)
	}
}

// writeLeftSide writes the left side of a comparison.
func (w *writer) writeLeftSide(p *pred, t string) {
	if p.exact {
		w.writeNumber(t, p.field, p.steps)
		return
	}
	w.writeValue(t, p.field, p.steps, p.text)
}

// comparedText is the compared value as a string, for fragments.
func (w *writer) comparedText(p *pred, t string) string {
	at := len(w.b)
	w.writeValue(t, p.field, p.steps, p.text)
	s := string(w.b[at:])
	w.b = w.b[:at]
	return s
}

// writeIn pads its list to a power of two by repeating the last member, so that
// lists of any length share a few statement texts.
func (w *writer) writeIn(p *pred, t string) {
	if len(p.args) == 0 {
		w.s("1 = 0")
		return
	}
	if len(p.args) > maxPadded && !p.exact && w.writeLongList(p, w.comparedText(p, t)) {
		return
	}
	w.writeLeftSide(p, t)
	w.s(" IN (")
	w.writePaddedList(p.args)
	w.s(")")
}

// maxPadded is the longest list bound value by value.
const maxPadded = 64

// writeLongList writes a long list as one bound JSON array, for the types that have a
// fragment for it.
func (w *writer) writeLongList(p *pred, col string) bool {
	in := w.d.InText
	switch typ := p.field.Type; {
	case len(p.steps) > 0, typ == catalog.Text, typ == catalog.Date:
	case typ == catalog.UUID:
		in = w.d.InUUID
	case typ == catalog.Int, typ == catalog.Decimal:
		in = w.d.InInt
	case typ == catalog.Time:
		in = w.d.InTime
	default:
		return false
	}
	b := []byte{'['}
	for i, a := range p.args {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := a.(type) {
		case string:
			b = db.AppendString(b, v)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case decimal.Dec:
			b = strconv.AppendInt(b, int64(v), 10)
		}
	}
	w.s(in(col, w.addArgument(string(append(b, ']')))))
	return true
}

func (w *writer) writePaddedList(args []any) {
	size := 1
	for size < len(args) {
		size *= 2
	}
	for i := 0; i < size; i++ {
		if i > 0 {
			w.s(", ")
		}
		w.bind(args[min(i, len(args)-1)])
	}
}

// writeElements compares the members of an array: cs has all, ov has one, cd has no
// other. The list is bound as one JSON array.
func (w *writer) writeElements(p *pred, t string) {
	col := t + "." + p.field.Name
	if p.field.Type == catalog.JSON {
		doc := "CAST($" + strconv.Itoa(w.addArgument(p.args[0])) + " AS text)"
		if p.op == Contains {
			w.s("(", w.d.JSONContains(col, doc), ")")
		} else {
			w.s("(", w.d.JSONContains(doc, col), ")")
		}
		return
	}
	list := make([]string, len(p.args))
	for i, a := range p.args {
		list[i], _ = a.(string)
	}
	at := w.addArgument(List(list))
	switch p.op {
	case Contains:
		w.s("(", col, " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ", w.d.Elements("$"+strconv.Itoa(at), "k"),
			" WHERE k.value NOT IN (SELECT j.value FROM ", w.d.Elements(col, "j"), ")))")
	case Overlap:
		w.s("EXISTS (SELECT 1 FROM ", w.d.Elements(col, "j"), " WHERE ", w.d.InText("j.value", at), ")")
	case Contained:
		w.s("(", col, " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ", w.d.Elements(col, "j"), " WHERE NOT ",
			w.d.InText("j.value", at), "))")
	}
}
