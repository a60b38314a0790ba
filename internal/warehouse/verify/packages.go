package verify

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/warehouse/packing"
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

// deadParentsSQL selects what is still open though what it was made for has ended.
// $1 tenant.
const deadParentsSQL = `
	SELECT 'pick line', pick.id
	FROM pick_lines AS pick
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = pick.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE pick.tenant_id = $1
		AND pick.status = 'pending'
		AND orders.status = 'cancelled'
	UNION ALL
	SELECT 'reservation', promise.id
	FROM reservations AS promise
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = promise.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE promise.tenant_id = $1
		AND promise.state = 'active'
		AND orders.status = 'cancelled'
	UNION ALL
	SELECT 'shipment line', load.id
	FROM shipment_lines AS load
	JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = load.shipment_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = load.order_id
	WHERE load.tenant_id = $1
		AND shipment.status IN ('planned', 'packed', 'ready')
		AND orders.status = 'cancelled'
	UNION ALL
	SELECT 'pick list', list.id
	FROM pick_lists AS list
	WHERE list.tenant_id = $1
		AND list.status = 'released'
		AND EXISTS (
			SELECT 1
			FROM pick_lines AS gone
			WHERE gone.tenant_id = $1
				AND gone.pick_list_id = list.id
		)
		AND NOT EXISTS (
			SELECT 1
			FROM pick_lines AS open
			WHERE open.tenant_id = $1
				AND open.pick_list_id = list.id
				AND open.status = 'pending'
		)`

// recountChildren finds what outlived what it was made for.
func (r *recount) recountChildren() {
	r.queueQuery(deadParentsSQL, func(row *db.Row) {
		r.addPair(row.Text(0)+" "+row.Text(1)+" open after its end", 1, 0)
	})
}
