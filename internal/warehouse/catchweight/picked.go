package catchweight

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// goods are those of an order line that are of one lot, or one piece.
type goods struct{ orderLine, lot, serial string }

// weighed is a quantity in base units and what it weighs in kg.
type weighed struct{ quantity, weight decimal.Dec }

// Picked is what was weighed when it was picked for order lines: what of it is still in the
// house, and what has left with which shipment.
type Picked struct {
	here map[goods]weighed
	left map[string]map[goods]weighed // by shipment
}

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

// departedSQL selects what was weighed of order lines and has left, without what was taken back
// of it. $1 tenant, $2 ids of order lines.
const departedSQL = `
	SELECT promise.order_line_id, move.lot_id, move.serial, move.ref_id,
		move.quantity - CAST(COALESCE((
			SELECT SUM(back.quantity)
			FROM stock_movements AS back
			WHERE back.tenant_id = $1
				AND back.reversal_of = move.id
		), 0) AS bigint),
		move.weight_kg - CAST(COALESCE((
			SELECT SUM(back.weight_kg)
			FROM stock_movements AS back
			WHERE back.tenant_id = $1
				AND back.reversal_of = move.id
		), 0) AS bigint)
	FROM reservations AS promise
	JOIN stock_movements AS move ON move.tenant_id = $1
		AND move.item_id = promise.item_id
		AND move.reservation_id = promise.id
	WHERE promise.tenant_id = $1
		AND promise.order_line_id IN {ids $2}
		AND promise.state = 'consumed'
		AND move.type = 'ship'
		AND move.weight_kg > 0`

// ReadPicked reads what was weighed when it was picked for order lines.
func ReadPicked(tx *store.Tx, orderLines []string) (*Picked, error) {
	p := &Picked{here: map[goods]weighed{}, left: map[string]map[goods]weighed{}}
	args := []any{tx.TenantID, query.List(orderLines)}
	err := tx.Query(pickedSQL, args, func(r *db.Row) error {
		p.here[goods{r.Text(0), r.Text(1), r.Text(2)}] = weighed{r.Dec(3), r.Dec(4)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("catchweight: what was picked: %w", err)
	}
	if p.IsEmpty() {
		return p, nil
	}
	err = tx.Query(departedSQL, args, func(r *db.Row) error {
		p.noteDeparture(goods{r.Text(0), r.Text(1), r.Text(2)}, r.Text(3), weighed{r.Dec(4), r.Dec(5)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("catchweight: what has left: %w", err)
	}
	return p, nil
}

// IsEmpty reports that nothing was weighed.
func (p *Picked) IsEmpty() bool { return len(p.here) == 0 }

func (p *Picked) noteDeparture(g goods, shipment string, w weighed) {
	here := p.here[g]
	p.here[g] = weighed{here.quantity - w.quantity, here.weight - w.weight}
	if p.left[shipment] == nil {
		p.left[shipment] = map[goods]weighed{}
	}
	before := p.left[shipment][g]
	p.left[shipment][g] = weighed{before.quantity + w.quantity, before.weight + w.weight}
}

// TakeWeight takes a quantity of an order line's goods out of what is in the house, and returns what it
// weighs in kg: its share, of the last of them the rest. 0 where nothing was weighed.
func (p *Picked) TakeWeight(orderLine, lot, serial string, quantity decimal.Dec) (decimal.Dec, error) {
	g := goods{orderLine, lot, serial}
	here := p.here[g]
	if here.quantity <= 0 || here.weight <= 0 {
		return 0, nil
	}
	quantity = min(quantity, here.quantity)
	share, err := here.weight.MulDiv(quantity, here.quantity)
	if err != nil {
		return 0, fmt.Errorf("catchweight: share of %s: %w", here.weight, err)
	}
	p.here[g] = weighed{here.quantity - quantity, here.weight - share}
	return share, nil
}

// WeighDeparted is what goods of an order line weigh in kg that left with a shipment.
func (p *Picked) WeighDeparted(shipment, orderLine, lot, serial string) decimal.Dec {
	return p.left[shipment][goods{orderLine, lot, serial}].weight
}

// CopyOfReversed gives a movement that takes a part of another back its share of the weight.
func CopyOfReversed(m, of record.StockMovement) error {
	if !of.HasWeightKg() {
		return nil
	}
	share, err := of.WeightKg().MulDiv(m.Quantity(), of.Quantity())
	if err != nil {
		return fmt.Errorf("catchweight: share of a movement: %w", err)
	}
	m.SetWeightKg(share)
	return nil
}
