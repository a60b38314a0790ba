package verify

import (
	"holdfast/internal/db"
	"holdfast/internal/warehouse/kits"
)

// recountKits holds kits to their components: what is available of them, and how far their
// lines have come.
func (r *recount) recountKits() {
	r.queueQuery(kits.AvailableSQL, func(row *db.Row) {
		id := "item " + row.Text(0)
		r.addPair(id+" available", row.Int(1), int64(kits.CapAvailable(row.Int(3))))
		r.addPair(id+" is_kit", boolToInt(row.Bool(2)), 1)
	})
	r.queueQuery(db.FillWords(kits.StandingSQL, "{which}", "TRUE"), func(row *db.Row) {
		s := kits.ReadStanding(row)
		for i, f := range kits.Counted {
			r.addPair("order line "+s.LineID+" "+f+" of its components", int64(s.Kept[i]), int64(s.Real[i]))
		}
	})
	r.queueQuery(kits.ComponentLinesSQL, func(row *db.Row) {
		r.addPair("order line "+row.Text(0)+" qty_ordered of its kit", row.Int(1), row.Int(2))
		r.addPair("order line "+row.Text(3)+" is_kit", boolToInt(row.Bool(4)), 1)
	})
}
