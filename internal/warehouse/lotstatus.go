package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/arrivals"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/ownstock"
)

// isSellable reports a lot whose stock counts as available.
func isSellable(lot record.Lot) bool { return lot.Status() == "released" && !lot.ShortDated() }

// dateLots notes of lots whether they last as long as their items ask for.
func dateLots(tx *store.Tx, changes []store.Change) error {
	var items set
	for _, c := range record.Changes[record.Lot](changes) {
		if c.After != nil && (c.Op == store.Insert && c.After.HasExpiresOn() || c.Alters(record.Lot.ExpiresOnOrNull)) {
			items.addID(c.After.ItemID())
		}
	}
	if len(items.list) == 0 {
		return nil
	}
	keep := map[string]int64{}
	ru := queueRules(tx.Tx, tx.TenantID, tx.Now())
	err := tx.Query(`
		SELECT id, min_remaining_days
		FROM items
		WHERE tenant_id = $1
			AND min_remaining_days > 0
			AND id IN {ids $2}`, []any{tx.TenantID, jsonList(items.list)}, func(r *db.Row) error {
		keep[r.Text(0)] = r.Int(1)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.Lot](changes) {
		if l := c.After; l != nil && (c.Op == store.Insert || c.Alters(record.Lot.ExpiresOnOrNull)) {
			l.SetShortDated(tooShort(l.ExpiresOn(), ru.localToday(), keep[l.ItemID()]))
		}
	}
	return nil
}

// tooShort reports a last day of use before which too few days are left, or none.
func tooShort(expires, today string, keep int64) bool {
	return inventory.LotBarReason("released", expires, today, keep) != ""
}

// redateLots looks at the lots of items anew whose asked-for days have changed.
func redateLots(tx *store.Tx, changes []store.Change) error {
	keep := map[string]int64{}
	var items set
	for _, c := range record.Changes[record.Item](changes) {
		if c.Alters(record.Item.MinRemainingDaysOrNull) {
			keep[c.After.ID()] = c.After.MinRemainingDays()
			items.addID(c.After.ID())
		}
	}
	if len(items.list) == 0 {
		return nil
	}
	today, err := readLocalToday(tx)
	if err != nil {
		return err
	}
	lots, err := record.List[record.Lot](tx, tx.DB().InUUID("item_id", 2)+" AND expires_on IS NOT NULL ORDER BY id"+
		tx.DB().ForUpdate(), jsonList(items.list))
	if err != nil {
		return err
	}
	var sets []record.Lot
	for _, l := range lots {
		if short := tooShort(l.ExpiresOn(), today, keep[l.ItemID()]); short != (l.ShortDated()) {
			sets = append(sets, record.Lot{"id": l.ID(), "short_dated": short})
		}
	}
	return tx.UpdateEach("lots", record.Rows(sets))
}

// followLots keeps totals in step with the status of lots, and secures the stock
// of those that are recalled.
func (w Watch) followLots(tx *store.Tx, changes []store.Change) error {
	if err := w.freeLots(tx, changes); err != nil {
		return err
	}
	return w.recallLots(tx, changes)
}

// freeLots keeps what is available of items in step with the status of their
// lots: stock of a lot that is not released, or does not last, is there and not
// available.
func (w Watch) freeLots(tx *store.Tx, changes []store.Change) error {
	sign := map[string]decimal.Dec{}
	var lots, items set
	for _, c := range record.Changes[record.Lot](changes) {
		if c.Op != store.Update || isSellable(c.Before) == isSellable(c.After) {
			continue
		}
		id := c.After.ID()
		lots.addID(id)
		items.addID(c.After.ItemID())
		if sign[id] = -1; isSellable(c.After) {
			sign[id] = 1
		}
	}
	if len(lots.list) == 0 {
		return nil
	}
	askForOpened(tx, sign)
	return w.addFree(tx, items, sign, func() ([]ownstock.Free, error) { return ownstock.ReadOfLots(tx, lots.list) })
}

// askForOpened asks for the allocation of open orders where goods of lots or zones may be promised
// from now on. Files tell of the past: they ask for nothing.
func askForOpened(tx *store.Tx, sign map[string]decimal.Dec) {
	for _, by := range sign {
		if by > 0 && tx.Store.Audited() {
			arrivals.Ask(tx)
			return
		}
	}
}

// addFree locks items and adds what is then free of lots or zones to what is available of
// them, or takes it off, by the sign of each lot or zone.
func (w Watch) addFree(
	tx *store.Tx, items set, sign map[string]decimal.Dec, read func() ([]ownstock.Free, error),
) error {
	p := posting{ledger: ledger{levels: map[string]*level{}, items: items}}
	if err := p.queueReads(tx.Tx, tx.TenantID); err != nil {
		return err
	}
	list, err := read()
	if err != nil {
		return err
	}
	free := map[string]decimal.Dec{}
	for _, f := range list {
		free[f.ItemID] += sign[f.Of] * f.Quantity
		if p.itemByID[f.ItemID] == nil {
			return fault.New(fault.Unavailable, "40001", "goods were moved meanwhile; try again")
		}
	}
	return w.addAvailable(tx, p.itemByID, free)
}

// addAvailable adds to what is available of items.
func (w Watch) addAvailable(tx *store.Tx, items map[string]*stocked, free map[string]decimal.Dec) error {
	counts := map[string]int64{}
	changed := map[string]*stocked{}
	var fallen []string
	for id, d := range free {
		it := items[id]
		if d == 0 || it == nil {
			continue
		}
		was := *it
		it.available += d
		it.low = inventory.LowStock(it.available, it.reorderPoint)
		if err := it.addCounters(counts, was); err != nil {
			return err
		}
		if it.low && !was.low {
			fallen = append(fallen, id)
		}
		changed[id] = it
	}
	if len(changed) == 0 {
		return nil
	}
	writeItems(tx.Tx, tx.TenantID, query.FormatTime(tx.Now()), changed)
	tx.Store.Count(tx.Tx, tx.TenantID, counts)
	if len(fallen) == 0 || w.LowStock == nil {
		return nil
	}
	return w.LowStock(tx, fallen)
}
