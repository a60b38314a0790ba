package ending

import (
	"strings"

	"holdfast/internal/db"
)

// deadParentsSQL selects what is still open though what it was made for has ended, as
// its kind and id. $1 tenant.
const deadParentsSQL = `
	SELECT 'pick line', pick.id
	FROM pick_lines AS pick
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = pick.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE pick.tenant_id = $1
		AND pick.status = 'pending'
		AND (
			orders.status IN ('cancelled', 'completed')
			OR line.qty_cancelled = line.qty_ordered
		)
	UNION ALL
	SELECT 'pick line of a closed list', pick.id
	FROM pick_lines AS pick
	JOIN pick_lists AS list ON list.tenant_id = $1 AND list.id = pick.pick_list_id
	WHERE pick.tenant_id = $1
		AND pick.status = 'pending'
		AND list.status IN ('cancelled', 'completed')
	UNION ALL
	SELECT 'pick list', list.id
	FROM pick_lists AS list
	WHERE list.tenant_id = $1
		AND list.status IN ('released', 'in_progress')
		AND EXISTS (
			SELECT 1
			FROM pick_lines AS closed
			WHERE closed.tenant_id = $1
				AND closed.pick_list_id = list.id
		)
		AND NOT EXISTS (
			SELECT 1
			FROM pick_lines AS pending
			WHERE pending.tenant_id = $1
				AND pending.pick_list_id = list.id
				AND pending.status = 'pending'
		)
	UNION ALL
	SELECT 'reservation', promise.id
	FROM reservations AS promise
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = promise.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE promise.tenant_id = $1
		AND promise.state = 'active'
		AND orders.status IN ('cancelled', 'completed')
	UNION ALL
	SELECT 'shipment line', load.id
	FROM shipment_lines AS load
	JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = load.shipment_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = load.order_id
	WHERE load.tenant_id = $1
		AND shipment.status IN ('planned', 'packed', 'ready')
		AND orders.status IN ('cancelled', 'completed')
	UNION ALL
	SELECT 'shipment', shipment.id
	FROM shipments AS shipment
	WHERE shipment.tenant_id = $1
		AND shipment.status IN ('planned', 'packed', 'ready')
		AND shipment.order_ids <> '[]'
		AND NOT EXISTS (
			SELECT 1
			FROM {names of shipment}
			JOIN orders ON orders.tenant_id = $1 AND orders.id = {id of name}
			WHERE orders.status <> 'cancelled'
		)
	UNION ALL
	SELECT 'package line', content.id
	FROM package_lines AS content
	JOIN packages AS package ON package.tenant_id = $1 AND package.id = content.package_id
	LEFT JOIN shipments AS shipment ON shipment.tenant_id = $1 AND shipment.id = package.shipment_id
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = content.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE content.tenant_id = $1
		AND package.status <> 'emptied'
		AND (shipment.id IS NULL OR shipment.status IN ('planned', 'packed', 'ready', 'cancelled'))
		AND orders.status IN ('cancelled', 'completed')
	UNION ALL
	SELECT 'wave', wave.id
	FROM waves AS wave
	WHERE wave.tenant_id = $1
		AND wave.status = 'planned'
		AND NOT EXISTS (
			SELECT 1
			FROM {names of wave}
			JOIN orders ON orders.tenant_id = $1 AND orders.id = {id of name}
			WHERE orders.status <> 'cancelled'
		)`

// DeadParentsSQL is the statement that finds what is still open though what it was made
// for has ended, as its kind and id. Its argument is the tenant.
func DeadParentsSQL(d *db.DB) string {
	return strings.NewReplacer("{names of shipment}", d.Elements("shipment.order_ids", "name"),
		"{names of wave}", d.Elements("wave.order_ids", "name"), "{id of name}", d.UUID("name.value")).Replace(deadParentsSQL)
}
