package warehouse

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/warehouse/packing"
)

// packedLinesSQL selects what is packed of outbound order lines and has not left, as
// the line says and as packages do. $1 tenant.
const packedLinesSQL = `
	SELECT line.id, line.qty_packed - line.qty_shipped,
		CAST(COALESCE((
			SELECT SUM(content.quantity)
			FROM package_lines AS content
			JOIN packages AS package ON package.tenant_id = $1 AND package.id = content.package_id
			LEFT JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = package.shipment_id
			WHERE content.tenant_id = $1
				AND content.order_line_id = line.id
				AND package.status <> 'emptied'
				AND {in house}
		), 0) AS bigint)
	FROM order_lines AS line
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE line.tenant_id = $1
		AND orders.type = 'outbound'`

// shippedLinesSQL selects what has left of order lines that travel with shipments, as
// the line says and as its shipments do. $1 tenant.
const shippedLinesSQL = `
	SELECT line.id, line.qty_shipped, CAST(SUM(load.qty_shipped) AS bigint)
	FROM order_lines AS line
	JOIN shipment_lines AS load ON load.tenant_id = $1 AND load.order_line_id = line.id
	WHERE line.tenant_id = $1
	GROUP BY line.id, line.qty_shipped`

// shipmentContentsSQL selects what shipments carry of order lines, as their lines say
// and as their packages do; shipments that are planned may lack some of it, those
// without lines have none yet. $1 tenant.
const shipmentContentsSQL = `
	WITH content AS (
		SELECT package.shipment_id, line.order_line_id, CAST(SUM(line.quantity) AS bigint) AS quantity
		FROM packages AS package
		JOIN package_lines AS line ON line.tenant_id = $1 AND line.package_id = package.id
		WHERE package.tenant_id = $1
			AND package.status <> 'emptied'
			AND package.shipment_id IS NOT NULL
		GROUP BY package.shipment_id, line.order_line_id
	)
	SELECT shipment.id, shipment.status, load.order_line_id, load.quantity, COALESCE(content.quantity, 0)
	FROM shipment_lines AS load
	JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = load.shipment_id
	LEFT JOIN content ON content.shipment_id = load.shipment_id AND content.order_line_id = load.order_line_id
	WHERE load.tenant_id = $1
		AND shipment.status <> 'cancelled'
	UNION ALL
	SELECT shipment.id, 'none', content.order_line_id, 0, content.quantity
	FROM content
	JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = content.shipment_id
	WHERE shipment.status = 'cancelled'
		OR EXISTS (SELECT 1 FROM shipment_lines AS other WHERE other.tenant_id = $1 AND other.shipment_id = shipment.id)
		AND NOT EXISTS (
			SELECT 1
			FROM shipment_lines AS own
			WHERE own.tenant_id = $1
				AND own.shipment_id = shipment.id
				AND own.order_line_id = content.order_line_id
		)`

// recountPackages compares order lines, shipment lines and packages with each other.
func (r *recount) recountPackages() {
	r.queueQuery(strings.ReplaceAll(packedLinesSQL, "{in house}", packing.InHouseSQL), func(row *db.Row) {
		r.addPair("order line "+row.Text(0)+" packed, not shipped", row.Int(1), row.Int(2))
	})
	r.queueQuery(shippedLinesSQL, func(row *db.Row) {
		r.addPair("order line "+row.Text(0)+" shipped", row.Int(1), row.Int(2))
	})
	r.queueQuery(shipmentContentsSQL, func(row *db.Row) {
		carried, packed := row.Int(3), row.Int(4)
		if row.Text(1) == "planned" && packed < carried {
			return
		}
		r.addPair(fmt.Sprintf("shipment %s order line %s", row.Text(0), row.Text(2)), carried, packed)
	})
}
