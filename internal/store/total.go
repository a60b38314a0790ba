package store

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
)

// appendTotal writes a sum, or a mean: the sum's upper part, its lower part, and
// how many values there were.
func appendTotal(dst []byte, o *query.Out, r *db.Row) []byte {
	t := decimal.Total{High: r.Int(o.At), Low: r.Int(o.At + 1), Count: 1, Scaled: o.Scaled, Places: decimal.MeanPlaces}
	if o.Form == query.AsMean {
		t.Count = r.Int(o.At + 2)
	}
	if o.Whole {
		t.Places = 0
	}
	return t.Append(dst)
}
