package ending

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// endedOrdersSQL selects orders that have ended. $1 tenant, $2 ids.
const endedOrdersSQL = `
	SELECT orders.id, orders.order_no, orders.status
	FROM orders
	WHERE orders.tenant_id = $1
		AND {orders}
		AND orders.status IN ('cancelled', 'completed')`

// ReadEnded returns the orders that have ended, by their id, in words: "order SO-7 is
// cancelled". The caller holds the orders.
func ReadEnded(tx *store.Tx, orders []string) (map[string]string, error) {
	text := strings.ReplaceAll(endedOrdersSQL, "{orders}", tx.DB().InUUID("orders.id", 2))
	return readReasons(tx, text, orders)
}

// endedLinesSQL selects order lines of which nothing is picked any more, with the reason.
// $1 tenant, $2 ids.
const endedLinesSQL = `
	SELECT line.id, orders.order_no,
		CASE WHEN orders.status IN ('cancelled', 'completed') THEN orders.status ELSE 'cancelled in this line' END
	FROM order_lines AS line
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE line.tenant_id = $1
		AND {lines}
		AND (
			orders.status IN ('cancelled', 'completed')
			OR line.qty_cancelled = line.qty_ordered
		)`

// ReadEndedLines says of order lines that have ended, alone or with their order, why, by
// their id. The caller holds the orders.
func ReadEndedLines(tx *store.Tx, lines []string) (map[string]string, error) {
	text := strings.ReplaceAll(endedLinesSQL, "{lines}", tx.DB().InUUID("line.id", 2))
	return readReasons(tx, text, lines)
}

// readReasons reads an id, an order's number and what the order is of each row.
func readReasons(tx *store.Tx, text string, ids []string) (map[string]string, error) {
	why := map[string]string{}
	if len(ids) == 0 {
		return why, nil
	}
	err := tx.Query(text, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		why[r.Text(0)] = "order " + r.Text(1) + " is " + r.Text(2)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ending: orders that have ended: %w", err)
	}
	return why, nil
}
