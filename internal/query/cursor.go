package query

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/fault"
)

// A list is gone through from row to row: the place behind a row is told by
// what the row holds in the members of the order, the id that ends every order
// among them. What is written or deleted before that place moves nothing.

// orderKeys are the members by which the rows are ordered, to the last: those asked
// for, then, unless one of them tells each row from the others, the id in the
// direction of the last, so that one index serves both, and across tenants the
// tenant.
func (n *Node) orderKeys() []orderBy {
	out := make([]orderBy, 0, len(n.order)+2)
	desc, total := false, false
	for _, o := range n.order {
		if len(o.steps) > 0 && !o.text { // numbers by their value, before everything else
			number := o
			number.number = true
			out = append(out, number)
		}
		out = append(out, o)
		total = total || n.isUniqueKey(&o)
		desc = o.desc
	}
	if !total {
		out = append(out, n.tieBreaker("id", desc))
	}
	if n.Global() {
		out = append(out, n.tieBreaker("tenant_id", desc))
	}
	return out
}

// isUniqueKey reports a member of the order that no two rows of a tenant share.
func (n *Node) isUniqueKey(o *orderBy) bool {
	if !o.isNeverNull() || o.embed != nil {
		return false
	}
	return o.field.Name == "id" || !n.Global() && slices.ContainsFunc(n.Resource.Unique, func(key []string) bool {
		return len(key) == 1 && key[0] == o.field.Name
	})
}

func (n *Node) tieBreaker(name string, desc bool) orderBy {
	f, _ := n.Resource.Field(name)
	return orderBy{field: f, desc: desc, tie: true}
}

// isNeverNull reports a member of the order that is never null.
func (o *orderBy) isNeverNull() bool {
	return o.tie || o.group == nil && o.embed == nil && len(o.steps) == 0 && o.field.Required
}

// Order is the collection and its order as a text, the same for requests whose
// rows come in the same order.
func (q *Select) Order() string {
	b := []byte(q.Root.Resource.Name)
	for _, o := range q.Root.orderKeys() {
		b = append(b, ' ')
		if o.embed != nil {
			b = append(b, o.embed.Rel.Name+" "...)
		}
		b = append(b, o.field.Name...)
		for _, s := range o.steps {
			b = strconv.AppendQuote(append(b, '>'), s.Key+strconv.Itoa(s.Index))
		}
		for _, set := range []bool{o.text, o.number, o.desc, o.nullsFirst} {
			b = strconv.AppendBool(append(b, ','), set)
		}
	}
	return string(b)
}

// Key is one member of the place behind a row.
type Key struct {
	At    int            // column of the statement's rows
	Field *catalog.Field // nil = a number or a text out of a document
	Float bool           // of those, a number
}

// Continued makes the statement's rows tell the place behind them, and says
// where.
func (q *Select) Continued() []Key {
	n, keys := q.Root, q.Root.orderKeys()
	out := make([]Key, len(keys))
	for i := range keys {
		o := &keys[i]
		if o.embed == nil && len(o.steps) == 0 {
			out[i] = Key{At: n.fetchColumn(o.field, nil, false), Field: o.field}
			continue
		}
		if len(o.steps) == 0 {
			out[i].Field = o.field
		}
		out[i].Float = o.number
		out[i].At = len(n.fetch)
		n.fetch = append(n.fetch, fetched{field: o.field, steps: o.steps, text: o.text, by: o})
	}
	return out
}

// From makes the rows begin behind a place, whose values are those of
// Continued, as JSON.
func (q *Select) From(values []json.RawMessage) error {
	keys := q.Root.orderKeys()
	if len(keys) != len(values) {
		return fault.New(fault.Invalid, "HF016", "the cursor is of another order")
	}
	from := make([]any, len(keys))
	for i := range keys {
		var err error
		if from[i], err = keys[i].cursorValue(values[i]); err != nil {
			return fault.New(fault.Invalid, "HF016", "the cursor is of another order")
		}
	}
	q.Root.from = from
	return nil
}

func (o *orderBy) cursorValue(raw json.RawMessage) (any, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	if o.number {
		var v float64
		return v, json.Unmarshal(raw, &v)
	}
	if len(o.steps) > 0 {
		var v string
		return v, json.Unmarshal(raw, &v)
	}
	v, err := Value(o.field, raw)
	if text, ok := v.(json.RawMessage); ok {
		v = string(text)
	}
	return v, err
}

// writeAfterCursor writes the condition of the rows behind the place that the node's rows
// begin at. Members that all run one way and are never null compare as one row,
// which an index answers by a single range.
func (w *writer) writeAfterCursor(n *Node, t string) {
	if n.from == nil {
		return
	}
	keys := n.orderKeys()
	w.s(" AND ")
	if !oneWay(keys) {
		if first := &keys[0]; n.from[0] != nil && (first.isNeverNull() || first.nullsFirst) { // where a range may begin
			w.writeOrderTerm(*first, t)
			w.s(" ", operatorAfter(first.desc), "= ")
			w.bind(n.from[0])
			w.s(" AND ")
		}
		w.writeAfterKeys(keys, n.from, t)
		return
	}
	w.s("(")
	for i, o := range keys {
		if i > 0 {
			w.s(", ")
		}
		w.writeOrderTerm(o, t)
	}
	w.s(") ", operatorAfter(keys[0].desc), " (")
	for i := range keys {
		if i > 0 {
			w.s(", ")
		}
		w.bind(n.from[i])
	}
	w.s(")")
}

func oneWay(keys []orderBy) bool {
	for i := range keys {
		if !keys[i].isNeverNull() || keys[i].embed != nil || keys[i].desc != keys[0].desc {
			return false
		}
	}
	return true
}

// writeAfterKeys writes: behind the first value, or at it and behind the others.
func (w *writer) writeAfterKeys(keys []orderBy, from []any, t string) {
	o, v := &keys[0], from[0]
	w.s("(")
	switch {
	case v == nil && !o.nullsFirst:
		w.s("1 = 0")
	case v == nil:
		w.writeOrderTerm(*o, t)
		w.s(" IS NOT NULL")
	default:
		w.writeOrderTerm(*o, t)
		w.s(" ", operatorAfter(o.desc), " ")
		w.bind(v)
		if !o.isNeverNull() && !o.nullsFirst {
			w.s(" OR ")
			w.writeOrderTerm(*o, t)
			w.s(" IS NULL")
		}
	}
	if len(keys) > 1 {
		w.s(" OR (")
		w.writeOrderTerm(*o, t)
		if v == nil {
			w.s(" IS NULL AND ")
		} else {
			w.s(" = ")
			w.bind(v)
			w.s(" AND ")
		}
		w.writeAfterKeys(keys[1:], from[1:], t)
		w.s(")")
	}
	w.s(")")
}

// parseCursor reads the parameter of that name.
func (p *parser) parseCursor(value string) error {
	if err := p.refuseSecond("cursor"); err != nil {
		return err
	}
	if value == "" || len(value) > maxCursor || strings.ContainsAny(value, " \t") {
		return fault.New(fault.Invalid, "HF016", "the cursor cannot be read")
	}
	p.req.Cursor = value
	return nil
}

// maxCursor is the length of a cursor. A place behind texts that are longer has
// none.
const maxCursor = 4096

// operatorAfter compares a row that comes after another with it.
func operatorAfter(isDescending bool) string {
	if isDescending {
		return "<"
	}
	return ">"
}
