package packing

import (
	"strings"

	"holdfast/internal/db"
)

// sumOrdersSQL sums lines into their orders and derives their stage. Goods are those of
// lines and of components of kits; a kit's own line has the price alone. Each order looks
// for its own lines: a join of both is quadratic while PostgreSQL does not know yet how
// many there are. $1 tenant, $2 ids of orders, $3 now.
const sumOrdersSQL = `
	UPDATE orders
	SET updated_at = $3,
		(line_count, qty_ordered, qty_allocated, qty_picked, qty_packed, qty_shipped, qty_received, total_value, stage) = (
			SELECT s.n, s.ordered, s.allocated, s.picked, s.packed, s.shipped, s.received, s.worth,
				CASE
					WHEN orders.type NOT IN ('outbound', 'transfer') OR orders.type = 'transfer' AND s.received > 0 THEN
						CASE
							WHEN s.wanted > 0 AND s.received >= s.wanted THEN 'received'
							WHEN s.received > 0 THEN 'part_received'
							ELSE 'expected'
						END
					WHEN s.wanted > 0 AND s.shipped >= s.wanted THEN
						CASE
							WHEN orders.stage = 'delivered' THEN 'delivered'
							ELSE 'shipped'
						END
					WHEN s.shipped > 0 THEN 'part_shipped'
					WHEN s.wanted > 0 AND s.packed >= s.wanted THEN 'packed'
					WHEN s.wanted > 0 AND s.picked >= s.wanted THEN 'picked'
					WHEN s.picked > 0 THEN 'picking'
					WHEN s.wanted > 0 AND s.allocated >= s.wanted THEN 'allocated'
					WHEN s.allocated > 0 THEN 'part_allocated'
					ELSE 'unallocated'
				END
			FROM (
				SELECT COUNT(l.id) FILTER (WHERE l.kit_line_id IS NULL) AS n,
					CAST(COALESCE(SUM(l.qty_ordered) FILTER (WHERE l.is_kit IS NOT TRUE), 0) AS bigint) AS ordered,
					CAST(
						COALESCE(SUM(l.qty_ordered - l.qty_cancelled) FILTER (WHERE l.is_kit IS NOT TRUE), 0)
					AS bigint) AS wanted,
					CAST(COALESCE(SUM(l.qty_allocated) FILTER (WHERE l.is_kit IS NOT TRUE), 0) AS bigint) AS allocated,
					CAST(COALESCE(SUM(l.qty_picked) FILTER (WHERE l.is_kit IS NOT TRUE), 0) AS bigint) AS picked,
					CAST(COALESCE(SUM(l.qty_packed) FILTER (WHERE l.is_kit IS NOT TRUE), 0) AS bigint) AS packed,
					CAST(COALESCE(SUM(l.qty_shipped) FILTER (WHERE l.is_kit IS NOT TRUE), 0) AS bigint) AS shipped,
					CAST(COALESCE(SUM(l.qty_received) FILTER (WHERE l.is_kit IS NOT TRUE), 0) AS bigint) AS received,
					CAST(COALESCE(SUM(l.amount), 0) AS bigint) AS worth
				FROM order_lines AS l
				WHERE l.tenant_id = $1
					AND l.order_id = orders.id
			) AS s
		)
	WHERE orders.tenant_id = $1
		AND {orders}`

// SumOrders is the statement that brings the sums and the stage of orders up to date
// with their lines. Its arguments are the tenant, the ids of the orders and the time.
func SumOrders(d *db.DB) string {
	return strings.Replace(sumOrdersSQL, "{orders}", d.InUUID("orders.id", 2), 1)
}
