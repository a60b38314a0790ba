package store

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
)

// Load writes records that are whole already, as the server once left them:
// with their ids, numbers, states, sums and versions. It is for taking over a
// finished past. What the rows say is neither checked nor followed by effects or
// audit, so that they must agree with each other; defaults are filled in,
// counters count, and the sequence of a business number goes on behind theirs.
func (b *Bulk) Load(rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	changes := make([]Change, len(rows))
	for i, row := range rows {
		for k := range b.resource.Fields {
			f := &b.resource.Fields[k]
			if d := b.tx.Store.defaults[f]; d != nil && row[f.Name] == nil {
				row[f.Name] = d
			}
		}
		changes[i] = Change{Resource: b.resource, Op: Insert, After: row}
		changes[i].addCounts(b.deltas)
	}
	b.wrote = true
	b.goOn(rows)
	return queueInsert(b.tx.Tx, b.resource, changes)
}

// goOn moves the sequences of a resource's business number behind those of the
// rows.
func (b *Bulk) goOn(rows []Row) {
	f := numberField(b.resource)
	if f == nil {
		return
	}
	last := map[int64]int64{}
	for _, row := range rows {
		if year, value, ok := parseSequenced(f, row); ok && value > last[year] {
			last[year] = value
		}
	}
	years := make([]int64, 0, len(last))
	for year := range last {
		years = append(years, year)
	}
	slices.Sort(years)
	for _, year := range years {
		b.tx.Queue(sequenceText+"CASE WHEN sequences.value > excluded.value THEN sequences.value ELSE excluded.value END",
			[]any{b.tx.TenantID, b.resource.Name, year, last[year]}, nil)
	}
}

// parseSequenced reads year and value of a number of the sequence.
func parseSequenced(f *catalog.Field, row Row) (year, value int64, ok bool) {
	no, _ := row[f.Name].(string)
	rest, found := strings.CutPrefix(no, f.Prefix+"-")
	y, v, cut := strings.Cut(rest, "-")
	if !found || !cut {
		return 0, 0, false
	}
	year, err1 := strconv.ParseInt(y, 10, 64)
	value, err2 := strconv.ParseInt(v, 10, 64)
	return year, value, err1 == nil && err2 == nil
}
