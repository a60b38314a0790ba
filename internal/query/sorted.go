package query

import "slices"

// unindexedOrder names what the rows are ordered by where no index keeps them in that
// order, so that all that match are read and sorted for a page of them; "" where
// a page costs what it shows. Groups are made of all rows in any order.
func (q *Select) unindexedOrder() string {
	n := q.Root
	if !n.ordered || n.grouped || n.Only != nil || n.matchesOneRow() {
		return ""
	}
	equal := n.equalColumns()
	text, order, desc := "", []string{}, n.order[0].desc
	plain := !n.Global()
	for i := range n.order {
		o := &n.order[i]
		if i > 0 {
			text += ","
		}
		text += o.field.Name
		if o.embed != nil || len(o.steps) > 0 || o.desc != desc || o.nullsFirst != o.desc && !o.isNeverNull() {
			plain = false
		}
		if !equal[o.field.Name] && (o.field.Name != "id" || len(n.order) == 1) {
			order = append(order, o.field.Name)
		}
	}
	if plain && (len(order) == 0 || n.Resource.Rides(order, equal)) {
		return ""
	}
	return text
}

// equalColumns are the columns that the filters hold to one value.
func (n *Node) equalColumns() map[string]bool {
	out := map[string]bool{}
	for i := range n.where {
		p := &n.where[i]
		if p.field != nil && p.op == Eq && !p.not && !p.quant && p.embed == nil && len(p.steps) == 0 {
			out[p.field.Name] = true
		}
	}
	return out
}

// matchesOneRow reports filters that leave one row at most.
func (n *Node) matchesOneRow() bool {
	equal := n.equalColumns()
	if equal["id"] {
		return true
	}
	for _, key := range n.Resource.Unique {
		if !slices.ContainsFunc(key, func(column string) bool { return !equal[column] }) {
			return true
		}
	}
	return false
}
