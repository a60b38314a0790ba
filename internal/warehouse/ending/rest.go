package ending

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// restSQL selects the lines of an order of which more is wanted than has moved, with
// what is to be cancelled of them then. $1 tenant, $2 order.
const restSQL = `
	SELECT line.id,
		line.qty_ordered - CASE WHEN orders.type IN ('outbound', 'transfer') THEN line.qty_shipped ELSE line.qty_received END
	FROM order_lines AS line
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE line.tenant_id = $1
		AND line.order_id = $2
		AND line.is_kit IS NOT TRUE
		AND line.qty_ordered - line.qty_cancelled >
			CASE WHEN orders.type IN ('outbound', 'transfer') THEN line.qty_shipped ELSE line.qty_received END
	ORDER BY line.id`

// ReadRest reads the lines of an order of which something has not left or come in, and
// the changes that cancel it. The caller holds the order.
func ReadRest(tx *store.Tx, order string) (lines []string, changes []record.OrderLine, err error) {
	err = tx.Query(restSQL, []any{tx.TenantID, order}, func(r *db.Row) error {
		lines = append(lines, r.Text(0))
		changes = append(changes, record.OrderLine{"id": r.Text(0), "qty_cancelled": r.Dec(1)})
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("ending: rest of an order: %w", err)
	}
	return lines, changes, nil
}

// CompleteOrder completes an order that its lines have not completed.
func CompleteOrder(tx *store.Tx, id string) error {
	open, err := record.List[record.Order](tx, "id = $2 AND status = 'in_progress'", id)
	if err != nil {
		return err
	}
	return tx.UpdateRows("orders", record.IDs(open), store.Row{"status": "completed"})
}
