package plan

import (
	"slices"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/targets"
)

// A field may stand in several columns: a time in one of its date and one of its time
// of day, a person's name in first and last. The type of the field says in which.

// Part is one of the columns that together give a field.
type Part struct {
	Index  int    `json:"index"`
	Header string `json:"header"`
}

// joinLimit is how many columns one field is put together from at most.
const joinLimit = 4

// TextIn is what a record says of the column's field: its cell, or those of its parts
// with a blank between them. A date that several times share is none of them without
// its time of day.
func (c *Mapped) TextIn(rec *sheet.Record) string {
	if len(c.Parts) == 0 {
		return rec.Cells[c.Index]
	}
	if c.Shared && strings.TrimSpace(rec.Cells[c.Index]) == "" {
		return ""
	}
	var words []string
	for _, p := range c.Parts {
		if text := strings.TrimSpace(rec.Cells[p.Index]); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, " ")
}

// sourceIndexes are the columns that a field is read from.
func (c *Mapped) sourceIndexes() []int {
	if len(c.Parts) == 0 {
		return []int{c.Index}
	}
	list := make([]int, len(c.Parts))
	for i, p := range c.Parts {
		list[i] = p.Index
	}
	return list
}

// partOf is a column as a part.
func (l *Layout) partOf(i int) Part { return Part{Index: i, Header: l.Headers[i]} }

// usedColumns are the columns that give some field, also as a part of it.
func (l *Layout) usedColumns() map[int]bool {
	used := map[int]bool{}
	for i := range l.Cols {
		for _, at := range l.Cols[i].sourceIndexes() {
			used[at] = true
		}
	}
	return used
}

// columnCalled is the first column outside of used with a header among some words, -1 =
// none.
func (l *Layout) columnCalled(words []string, used map[int]bool) int {
	for i, h := range l.Headers {
		if !used[i] && slices.Contains(words, cell.Fold(h)) {
			return i
		}
	}
	return -1
}

// joinNames gives the name of a person that no column gives from those of its first and
// its last name.
func (l *Layout) joinNames(t *targets.Target, told map[string]Place) {
	used := l.usedColumns()
	first, last := l.columnCalled(targets.PartWords("first"), used), l.columnCalled(targets.PartWords("last"), used)
	if first < 0 || last < 0 {
		return
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if _, given := told[c.Name]; given || l.Column(c.Name) != nil || !c.NamesPerson(t) {
			continue
		}
		l.Cols = append(l.Cols, Mapped{Column: c, Index: last, Header: l.Headers[last], How: "joined",
			Parts: []Part{l.partOf(first), l.partOf(last)}})
		return
	}
}

// pair is a column that may be a part of another's field, with what their cells say
// of it.
type pair struct {
	field string
	part  int // its column
	kind  string
	dates cell.Dates // of both
	favor int        // rows that speak for it
	less  int        // rows that speak against it
}

// possiblePairs are the columns that give nothing and are called like the date or the
// time of day of a column that gives a time, or like the first name of one that gives
// a name.
func (v *Survey) possiblePairs() []*pair {
	if !v.Headed {
		return nil
	}
	var list []*pair
	used := v.Layout.usedColumns()
	for i := range v.Layout.withheld {
		used[v.Layout.withheld[i].Index] = true
	}
	for i := range v.Layout.Cols {
		c := &v.Layout.Cols[i]
		if len(c.Parts) > 0 || c.alone {
			continue
		}
		for _, kind := range v.possibleParts(c) {
			if at := v.Layout.columnCalled(c.PartWords(kind), used); at >= 0 {
				list = append(list, &pair{field: c.Name, part: at, kind: kind})
			}
		}
	}
	return list
}

// possibleParts are the parts that a column may lack, by the type of its field.
func (v *Survey) possibleParts(c *Mapped) []string {
	if c.Field.Type == catalog.Time {
		return []string{"date", "clock"}
	}
	if c.NamesPerson(v.Target) && c.Field.Ref == "" {
		return []string{"first"}
	}
	return nil
}

// noteRow notes whether a row speaks for a pair: the one cell has a time of day where the
// other has a date alone, or a name that the other does not hold already.
func (p *pair) noteRow(c *Mapped, cells []string) {
	if c.Index >= len(cells) || p.part >= len(cells) {
		return
	}
	own, part := strings.TrimSpace(cells[c.Index]), strings.TrimSpace(cells[p.part])
	if own == "" || part == "" {
		return
	}
	speaks := false
	switch p.kind {
	case "date":
		p.dates.Add(part)
		speaks = cell.IsClock(own) && !cell.IsClock(part)
	case "clock":
		p.dates.Add(own)
		speaks = cell.IsClock(part) && !cell.HasClock(own)
	default:
		speaks = !slices.Contains(strings.Fields(strings.ToLower(own)), strings.ToLower(part))
	}
	if speaks {
		p.favor++
	} else {
		p.less++
	}
}

// settlePairs joins the columns that most rows speak for. dates has the orders of the
// fields that are joined.
func (v *Survey) settlePairs(list []*pair, dates map[string]*cell.Dates) {
	for _, p := range list {
		c := v.Layout.Column(p.field)
		if p.favor <= p.less || c == nil || len(c.Parts) > 0 {
			continue
		}
		own, part := v.Layout.partOf(c.Index), v.Layout.partOf(p.part)
		if c.Parts = []Part{part, own}; p.kind == "clock" {
			c.Parts = []Part{own, part}
		}
		if p.kind != "first" {
			dates[p.field] = &p.dates
		}
	}
	v.Layout.markShared()
	v.Layout.orderColumns()
}

// markShared notes the fields whose date other fields have as well.
func (l *Layout) markShared() {
	fields := map[int]int{}
	for i := range l.Cols {
		for _, p := range l.Cols[i].Parts {
			fields[p.Index]++
		}
	}
	for i := range l.Cols {
		c := &l.Cols[i]
		c.Shared = slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Index != c.Index && fields[p.Index] > 1 })
	}
}

// SharesDates reports fields that have one date in common.
func (l *Layout) SharesDates() bool {
	return slices.ContainsFunc(l.Cols, func(c Mapped) bool { return c.Shared })
}

// quotedParts are the headers of parts in a sentence.
func quotedParts(parts []Part) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = `"` + p.Header + `"`
	}
	return joinWords(words, "and")
}
