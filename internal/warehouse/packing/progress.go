package packing

import (
	"strings"

	"holdfast/internal/db"
)

// lineProgressSQL selects of order lines what has left, what lies in packages that
// have not, what is promised and what of it is picked. $1 tenant, $2 ids.
const lineProgressSQL = `
	SELECT line.id, line.qty_shipped,
		CAST(COALESCE((
			SELECT SUM(content.quantity)
			FROM package_lines AS content
			JOIN packages AS package ON package.tenant_id = $1 AND package.id = content.package_id
			LEFT JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = package.shipment_id
			WHERE content.tenant_id = $1
				AND content.order_line_id = line.id
				AND package.status <> 'emptied'
				AND {in house}
		), 0) AS bigint),
		CAST(COALESCE(SUM(promise.quantity), 0) AS bigint),
		CAST(COALESCE(SUM(CASE WHEN promise.picked THEN promise.quantity END), 0) AS bigint)
	FROM order_lines AS line
	LEFT JOIN reservations AS promise ON promise.tenant_id = $1
		AND promise.order_line_id = line.id
		AND promise.state = 'active'
	WHERE line.tenant_id = $1
		AND {lines}
		AND line.is_kit IS NOT TRUE
	GROUP BY line.id, line.qty_shipped`

// LineProgress is the statement that says of order lines how much has left, lies in
// packages that have not, is promised, and is picked of that. Its arguments are the
// tenant and the ids of the lines.
func LineProgress(d *db.DB) string {
	return strings.NewReplacer("{lines}", d.InUUID("line.id", 2), "{in house}", InHouseSQL).Replace(lineProgressSQL)
}

// packedLinesSQL selects what is packed of lines of orders that ship goods and has not left, as
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
		AND line.is_kit IS NOT TRUE
		AND orders.type IN ('outbound', 'transfer')`

// ShippedLinesSQL selects what has left of order lines that travel with shipments, as
// the line says and as its shipments do. $1 tenant.
const ShippedLinesSQL = `
	SELECT line.id, line.qty_shipped, CAST(SUM(load.qty_shipped) AS bigint)
	FROM order_lines AS line
	JOIN shipment_lines AS load ON load.tenant_id = $1 AND load.order_line_id = line.id
	WHERE line.tenant_id = $1
	GROUP BY line.id, line.qty_shipped`

// ShipmentContentsSQL selects what shipments carry of order lines, as their lines say
// and as their packages do; shipments that are planned may lack some of it, those
// without lines have none yet. $1 tenant.
const ShipmentContentsSQL = `
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
	WHERE (
		shipment.status = 'cancelled'
		OR NOT EXISTS (
			SELECT 1
			FROM shipment_lines AS own
			WHERE own.tenant_id = $1
				AND own.shipment_id = shipment.id
				AND own.order_line_id = content.order_line_id
		)
		AND EXISTS (
			SELECT 1
			FROM shipment_lines AS other
			WHERE other.tenant_id = $1
				AND other.shipment_id = shipment.id
		)
	)`

// PackedLines is the statement that says of outbound order lines what is packed and has
// not left, as they say and as packages do. Its argument is the tenant.
func PackedLines() string { return strings.ReplaceAll(packedLinesSQL, "{in house}", InHouseSQL) }
