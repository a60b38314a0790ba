package plates

import (
	"fmt"
	"slices"

	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// What becomes of a movement's goods and their plate, where they do not stay on it.
const (
	TakenOff = "taken_off" // they arrive without it
	PutBack  = "put_back"  // they come without it and arrive on it
)

// LockNumbers has others who bring goods onto plates, or carry plates, wait until the
// transaction ends. A plate has no row of its own that could be locked.
func LockNumbers(tx *store.Tx, numbers []string) error {
	if err := tx.LockNames("plate of "+tx.TenantID, slices.Compact(slices.Sorted(slices.Values(numbers)))); err != nil {
		return fmt.Errorf("plates: lock: %w", err)
	}
	return nil
}

// TakeOff takes off their plates the goods that are carried elsewhere while something stays on
// the plate, and locks the plates that goods come onto or that are carried. Files tell of the
// past.
func TakeOff(tx *store.Tx, changes []store.Change) error {
	if !tx.Store.Audited() {
		return nil
	}
	var numbers []string
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op == store.Insert && (comesOnPlate(c.After) || isCarried(c.After)) {
			numbers = append(numbers, c.After.LPN())
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	if err := LockNumbers(tx, numbers); err != nil {
		return err
	}
	carried := map[string]decimal.Dec{} // plate and place -> how much leaves there
	for _, c := range record.Changes[record.StockMovement](changes) {
		if m := c.After; c.Op == store.Insert && isCarried(m) {
			carried[m.LPN()+"|"+m.FromZoneID()] += m.Quantity()
		}
	}
	if len(carried) == 0 {
		return nil
	}
	places, err := listPlaces(tx, numbers)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.StockMovement](changes) {
		m := c.After
		if c.Op == store.Insert && isCarried(m) && !m.HasReservationID() && leavesSome(places[m.LPN()], m, carried) {
			m.SetPlateChange(TakenOff)
		}
	}
	return nil
}

// isCarried reports goods on a plate that go from one place to another, for which nothing else
// has said yet what becomes of the plate. Goods on the way to another site stay on it.
func isCarried(m record.StockMovement) bool {
	return m.HasLPN() && m.HasFromZoneID() && m.HasToZoneID() && m.FromZoneID() != m.ToZoneID() &&
		!m.HasPlateChange() && !m.HasOrderLineID()
}

// leavesSome reports a movement after which goods of its plate lie elsewhere than where it goes.
func leavesSome(places []*Place, m record.StockMovement, carried map[string]decimal.Dec) bool {
	for _, p := range places {
		var holds decimal.Dec
		for _, g := range p.Goods {
			holds += g.Quantity
		}
		if p.ZoneID != m.ToZoneID() && holds > carried[m.LPN()+"|"+p.ZoneID] {
			return true
		}
	}
	return false
}
