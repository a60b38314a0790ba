package transfers

// LinesSQL selects what of the lines of transfers is in transit, as the lines say and as
// the ledger does: nothing, once the transfer is completed. $1 tenant.
const LinesSQL = `
	SELECT line.id,
		CASE WHEN orders.status = 'completed' THEN 0 ELSE line.qty_shipped - line.qty_received END,
		CAST(COALESCE((
			SELECT SUM(CASE WHEN leg.reservation_id IS NULL THEN -leg.quantity ELSE leg.quantity END)
			FROM stock_movements AS leg
			WHERE leg.tenant_id = $1
				AND leg.item_id = line.item_id
				AND leg.order_line_id = line.id
		), 0) AS bigint)
	FROM order_lines AS line
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE line.tenant_id = $1
		AND orders.type = 'transfer'`

// ItemsSQL selects what of items lies in transit zones, and how much of them open transfers
// shipped and did not receive. $1 tenant.
const ItemsSQL = `
	SELECT part.item_id, CAST(SUM(part.lies) AS bigint), CAST(SUM(part.left_open) AS bigint)
	FROM (
		SELECT level.item_id, level.quantity AS lies, 0 AS left_open
		FROM stock_levels AS level
		JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = level.zone_id
		WHERE level.tenant_id = $1
			AND zone.kind = 'transit'
		UNION ALL
		SELECT line.item_id, 0, line.qty_shipped - line.qty_received
		FROM order_lines AS line
		JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
		WHERE line.tenant_id = $1
			AND orders.type = 'transfer'
			AND orders.status <> 'completed'
	) AS part
	GROUP BY part.item_id`
