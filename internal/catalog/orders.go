package catalog

import "slices"

// Orders are the columns by which clients ask for a resource's records one page
// after another, beside the id and the unique keys. Each has an index that ends
// with the id, for all records and for those in one state, so that a page costs
// the same however many records a tenant has.
func (r *Resource) Orders() []string {
	if r.Bare || r.Queue || r.Root {
		return nil
	}
	return append([]string{"created_at"}, r.Listed...)
}

// Rides reports that records in the order of these columns are read from an
// index as they lie, where the columns of equal hold one value each.
func (r *Resource) Rides(order []string, equal map[string]bool) bool {
	if slices.Equal(order, []string{"id"}) {
		return !r.Bare && !r.Queue && !r.Root
	}
	for _, key := range r.Unique {
		// What the order names after a unique key changes nothing. A code's index holds it without regard to case.
		if rest := columnsBehind(key, equal); len(rest) == 1 && order[0] == rest[0] && r.byName[rest[0]].Required &&
			r.byName[rest[0]].Format != Code {
			return true
		}
	}
	for _, ix := range r.lists {
		rest := columnsBehind(ix, equal)
		if last := len(rest) - 1; last == len(order) && rest[last] == "id" && slices.Equal(rest[:last], order) {
			return true
		}
	}
	return false
}

// columnsBehind are the columns of an index after those that hold one value.
func columnsBehind(ix []string, equal map[string]bool) []string {
	for len(ix) > 0 && equal[ix[0]] {
		ix = ix[1:]
	}
	return ix
}

// orderIndexes are the indexes that Orders ride.
func (r *Resource) orderIndexes() [][]string {
	var out [][]string
	for _, column := range r.Orders() {
		out = append(out, []string{column, "id"})
		if r.States != nil {
			out = append(out, []string{r.States.Field, column, "id"})
		}
	}
	return out
}
