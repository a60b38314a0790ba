package catchweight

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// goods are those of an order line that are of one lot, or one piece.
type goods struct{ orderLine, lot, serial string }

// weighed is a quantity in base units and what it weighs in kg.
type weighed struct{ quantity, weight decimal.Dec }

// Picked is what was weighed when it was picked for order lines.
type Picked map[goods]weighed

// pickedSQL adds up what was weighed of order lines. $1 tenant, $2 ids of order lines.
const pickedSQL = `
	SELECT pick.order_line_id, pick.lot_id, pick.serial, CAST(SUM(pick.qty_picked) AS bigint),
		CAST(SUM(pick.weight_kg) AS bigint)
	FROM pick_lines AS pick
	WHERE pick.tenant_id = $1
		AND pick.order_line_id IN {ids $2}
		AND pick.weight_kg > 0
		AND pick.qty_picked > 0
	GROUP BY pick.order_line_id, pick.lot_id, pick.serial`

// ReadPicked reads what was weighed when it was picked for order lines.
func ReadPicked(tx *store.Tx, orderLines []string) (Picked, error) {
	picked := Picked{}
	err := tx.Query(pickedSQL, []any{tx.TenantID, query.List(orderLines)}, func(r *db.Row) error {
		picked[goods{r.Text(0), r.Text(1), r.Text(2)}] = weighed{r.Dec(3), r.Dec(4)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("catchweight: what was picked: %w", err)
	}
	return picked, nil
}

// Weigh is what a quantity of an order line's goods weighs in kg: its share of what was weighed
// of them. 0 where nothing was.
func (p Picked) Weigh(orderLine, lot, serial string, quantity decimal.Dec) (decimal.Dec, error) {
	w, ok := p[goods{orderLine, lot, serial}]
	if !ok {
		return 0, nil
	}
	return w.weight.MulDiv(min(quantity, w.quantity), w.quantity)
}
