package warehouse

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/costs"
	"holdfast/internal/warehouse/history"
	"holdfast/internal/warehouse/plates"
	"holdfast/internal/warehouse/sites"
)

// Ends a movement must have.
type ends uint8

const (
	into    ends = iota + 1 // to zone only: stock appears
	outOf                   // from zone only: stock leaves
	between                 // two different zones
	within                  // one zone, two statuses
	any2                    // two zones, perhaps the same
)

// shapes says where stock of each movement type comes from and goes to.
var shapes = map[string]ends{
	"receipt": into, "return_in": into, "adjust_gain": into, "count_gain": into, "opening": into, "import": into,
	"ship": outOf, "adjust_loss": outOf, "count_loss": outOf, "scrap": outOf,
	"putaway": between, "transfer": between, "replenish": between, "pick": between, "unpick": between,
	"pack": any2, "status_change": within,
}

// Outward and Inward are the types of movement by which stock leaves the
// warehouse and comes into it, as lists of SQL: a type alone tells the
// direction, and movements inside change no item's stock.
const (
	Outward = "('ship', 'adjust_loss', 'count_loss', 'scrap')"
	Inward  = "('receipt', 'return_in', 'adjust_gain', 'count_gain', 'opening', 'import')"
)

// checkMovements fills and checks what needs no other record.
func checkMovements(tx *store.Tx, changes []store.Change) error {
	if err := convertMovements(tx.Tx, tx.TenantID, changes); err != nil {
		return err
	}
	now := tx.Now()
	for i, c := range record.Changes[record.StockMovement](changes) {
		m := c.After
		if c.Op != store.Insert {
			continue
		}
		if err := checkOccurredAt(m, now); err != nil {
			return nameRow(err, i, len(changes))
		}
		for _, f := range [...]string{"serial", "lpn"} {
			if m[f] == "" {
				m[f] = nil
			}
		}
		if err := checkMovementShape(m); err != nil {
			return nameRow(err, i, len(changes))
		}
		if m.Quantity() > maxMove {
			return nameRow(fault.As(tooMuch("quantity", maxMove)), i, len(changes))
		}
		if m.HasSerial() && m.Quantity() != decimal.One {
			return nameRow(refuseMovement("quantity", "a serial number moves one unit at a time"), i, len(changes))
		}
	}
	if err := wholeMovements(tx.Tx, tx.TenantID, changes); err != nil {
		return err
	}
	reckoning := costs.Reckon(tx, changes)
	if at, err := sites.CheckMovements(tx, changes); err != nil {
		return nameRow(fault.As(err), at, len(changes))
	}
	if err := checkReversals(tx, changes); err != nil {
		return err
	}
	if err := plates.TakeOff(tx, changes); err != nil {
		return err
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	return reckoning.SetCosts()
}

// wholeMovements holds movements that nothing stands behind to the decimals of
// their items' units. Those of a task, a promise or a count were held to them by
// what made them, which may carry all of what lay there before its unit was bounded.
func wholeMovements(tx *db.Tx, tenant string, changes []store.Change) error {
	var said []spoken
	for i, c := range record.Changes[record.StockMovement](changes) {
		m := c.After
		if c.Op != store.Insert || m.HasReversalOf() {
			continue
		}
		if !m.HasRefType() || shapes[m.Type()] == into && m.Type() != "count_gain" {
			said = append(said, spoken{item: m.ItemID(), member: "quantity", quantity: m.Quantity(), row: i})
		}
	}
	return fineRows(tx, tenant, said, len(changes))
}

// convertMovements turns movements given in another unit into base units. A
// quantity given beside has to say the same.
func convertMovements(tx *db.Tx, tenant string, changes []store.Change) error {
	var items set
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op == store.Insert && c.After.HasUOM() {
			items.addID(c.After.ItemID())
		}
	}
	if len(items.list) == 0 {
		return nil
	}
	u := queueUnits(tx, tenant, items.list)
	if err := tx.Flush(); err != nil {
		return err
	}
	for i, c := range record.Changes[record.StockMovement](changes) {
		if c.Op != store.Insert || !c.After.HasUOM() || u.base[c.After.ItemID()] == "" {
			continue // no such item: the reference refuses it
		}
		if err := u.convertQuantity(c.After); err != nil {
			return nameRow(err, i, len(changes))
		}
	}
	return nil
}

// convertQuantity fills quantity from uom_quantity, or the other way round.
func (u *units) convertQuantity(m record.StockMovement) *fault.Error {
	item, unit := m.ItemID(), m.UOM()
	if !m.HasUOMQuantity() {
		q, ok := u.fromBase(item, unit, m.Quantity())
		if _, err := u.unitFactor(item, unit); err != nil {
			return err
		}
		if ok {
			m.SetUOMQuantity(q)
		}
		return nil
	}
	base, err := u.toBase(item, unit, m.UOMQuantity())
	switch {
	case err != nil:
		return err
	case m.QuantityOrNull() != nil && m.Quantity() != base:
		return refuseMovement(
			"quantity",
			m.UOMQuantity().String()+" "+unit+" is "+base.String()+" "+u.base[item]+", not "+
				m.Quantity().String(),
		)
	}
	m.SetQuantity(base)
	return nil
}

func checkOccurredAt(m record.StockMovement, now time.Time) *fault.Error {
	if !m.HasOccurredAt() {
		m.SetOccurredAt(now.Format(db.TimeLayout))
		return nil
	}
	if m.OccurredAt() > now.Add(history.ClockTolerance).Format(db.TimeLayout) {
		return refuseMovement("occurred_at", "a movement cannot lie in the future")
	}
	return nil
}

func refuseMovement(field, why string) *fault.Error {
	return fault.New(fault.Invalid, CodeMovement, "%s", why).At(field, "%s", why)
}

// nameRow names the row of a bulk insert that was refused.
func nameRow(err *fault.Error, i, n int) error {
	if n > 1 {
		err.Details = "row " + decimal.FromInt(int64(i+1)).String()
	}
	return err
}

// checkMovementShape holds a movement's zones and statuses to its type.
func checkMovementShape(m record.StockMovement) *fault.Error {
	kind, from, to := m.Type(), m.FromZoneID(), m.ToZoneID()
	switch shapes[kind] {
	case into:
		if from != "" {
			return refuseMovement("from_zone_id", "a "+kind+" has no from zone")
		}
		if to == "" {
			return refuseMovement("to_zone_id", "a "+kind+" needs a to zone")
		}
	case outOf:
		if to != "" {
			return refuseMovement("to_zone_id", "a "+kind+" has no to zone")
		}
		if from == "" {
			return refuseMovement("from_zone_id", "a "+kind+" needs a from zone")
		}
	case between:
		if from == "" || to == "" || from == to {
			return refuseMovement("to_zone_id", "a "+kind+" needs two different zones")
		}
	case any2:
		if from == "" || to == "" {
			return refuseMovement("to_zone_id", "a "+kind+" needs a from zone and a to zone")
		}
	case within:
		if from == "" || from != to {
			return refuseMovement("to_zone_id", "a status change stays in one zone")
		}
		if m.FromStatus() == m.ToStatus() {
			return refuseMovement("to_status", "a status change needs two different statuses")
		}
	default:
		return refuseMovement("type", "unknown movement type")
	}
	return nil
}
