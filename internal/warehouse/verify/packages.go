package verify

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/warehouse/ending"
	"holdfast/internal/warehouse/packing"
	"holdfast/internal/warehouse/returns"
	"holdfast/internal/warehouse/transfers"
)

// recountPackages compares order lines, shipment lines and packages with each other.
func (r *recount) recountPackages() {
	r.queueQuery(packing.PackedLines(), func(row *db.Row) {
		r.addPair("order line "+row.Text(0)+" packed, not shipped", row.Int(1), row.Int(2))
	})
	r.queueQuery(packing.ShippedLinesSQL, func(row *db.Row) {
		r.addPair("order line "+row.Text(0)+" shipped", row.Int(1), row.Int(2))
	})
	r.queueQuery(packing.ShipmentContentsSQL, func(row *db.Row) {
		carried, packed := row.Int(3), row.Int(4)
		if row.Text(1) == "planned" && packed < carried {
			return
		}
		r.addPair(fmt.Sprintf("shipment %s order line %s", row.Text(0), row.Text(2)), carried, packed)
	})
}

// recountTransit holds what is in transit to what transfers shipped and did not receive.
func (r *recount) recountTransit() {
	r.queueQuery(transfers.LinesSQL, func(row *db.Row) {
		r.addPair("order line "+row.Text(0)+" in transit", row.Int(1), row.Int(2))
	})
	r.queueQuery(transfers.ItemsSQL, func(row *db.Row) {
		r.addPair("item "+row.Text(0)+" in transit", row.Int(1), row.Int(2))
	})
}

// recountReturns finds items of which more came back than left.
func (r *recount) recountReturns() {
	r.queueQuery(returns.ReturnedSQL(), func(row *db.Row) {
		what := "item " + row.Text(0) + " came back, of what left"
		if !row.Null(1) {
			what += ", of owner " + row.Text(1)
		}
		r.addPair(what, row.Int(2), min(row.Int(2), row.Int(3)))
	})
}

// recountChildren finds what outlived what it was made for.
func (r *recount) recountChildren() {
	r.queueQuery(ending.DeadParentsSQL(r.tx.DB()), func(row *db.Row) {
		r.addPair(row.Text(0)+" "+row.Text(1)+" open after the end of what it was made for", 1, 0)
	})
}
