package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/catchweight"
	"holdfast/internal/warehouse/costs"
	"holdfast/internal/warehouse/plates"
	"holdfast/internal/warehouse/returns"
)

// checkReversals holds movements that reverse others to what they reverse: the
// same goods the other way, no more than is left to reverse, and no reversal of
// a reversal.
func checkReversals(tx *store.Tx, changes []store.Change) error {
	var ids set
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op == store.Insert {
			ids.addID(c.After.ReversalOf())
		}
	}
	if len(ids.list) == 0 || !tx.Store.Audited() {
		return nil // bulk work undoes what it did itself
	}
	rows, err := record.List[record.StockMovement](tx, tx.DB().InUUID("id", 2)+" ORDER BY id"+tx.DB().ForUpdate(),
		jsonList(ids.list))
	if err != nil {
		return err
	}
	first, left := map[string]record.StockMovement{}, map[string]decimal.Dec{}
	for _, r := range rows {
		first[r.ID()], left[r.ID()] = r, r.Quantity()
	}
	done, err := record.List[record.StockMovement](tx, tx.DB().InUUID("reversal_of", 2), jsonList(ids.list))
	if err != nil {
		return err
	}
	for _, r := range done {
		left[r.ReversalOf()] -= r.Quantity()
	}
	for i, c := range record.Changes[record.StockMovement](changes) {
		id := c.After.ReversalOf()
		if id == "" || first[id] == nil {
			continue // the reference refuses what is not there
		}
		left[id] -= c.After.Quantity()
		if err := checkReversal(c.After, first[id], left[id]); err != nil {
			return nameRow(err, i, len(changes))
		}
	}
	return checkReversedShipments(tx, changes, first)
}

// checkReversedShipments refuses that goods which came back are said never to have left:
// they would be in the house twice.
func checkReversedShipments(tx *store.Tx, changes []store.Change, first map[string]record.StockMovement) error {
	var items set
	var sent []returns.Sent
	for _, c := range record.Changes[record.StockMovement](changes) {
		m := c.After
		if of := first[m.ReversalOf()]; c.Op != store.Insert || of == nil || of.Type() != any("ship") {
			continue
		}
		at := spotOf(store.Row(m))
		items.addID(at.item)
		goods := returns.Goods{ItemID: at.item, OwnerID: at.owner, LotID: at.lot, Serial: at.serial}
		sent = append(sent, returns.Sent{Goods: goods, Quantity: m.Quantity()})
	}
	if len(sent) == 0 {
		return nil
	}
	lockItems(tx.Tx, tx.TenantID, jsonList(items.list))
	return returns.CheckReversed(tx, sent)
}

// checkReversal refuses a movement that is not the other way of one; left is what
// would remain to reverse.
func checkReversal(m, of record.StockMovement, left decimal.Dec) *fault.Error {
	if of.HasReversalOf() {
		return refuseMovement("reversal_of", "that movement is a reversal itself: book the goods anew")
	}
	for _, f := range [...]string{"item_id", "lot_id", "serial", "owner_id", "lpn"} {
		if m[f] != of[f] {
			return refuseMovement(f, "a reversal is of the same goods as the movement it reverses")
		}
	}
	if m.FromZoneID() != of.ToZoneID() || m.ToZoneID() != of.FromZoneID() {
		return refuseMovement("from_zone_id", "a reversal goes from where the movement went to where it came from")
	}
	if of.HasToZoneID() && m.FromStatusOrNull() != of.ToStatus() || of.HasFromZoneID() &&
		m.ToStatusOrNull() != of.FromStatus() {
		return refuseMovement("to_status", "a reversal takes the goods back to the status they had")
	}
	if of.PlateChange() == plates.TakenOff {
		m.SetPlateChange(plates.PutBack)
	}
	if err := costs.CopyOfReversed(m, of); err != nil {
		return err
	}
	if err := catchweight.CopyOfReversed(m, of); err != nil {
		return refuseMovement("quantity", "what it weighs is out of range")
	}
	if left < 0 {
		return fault.New(fault.Conflict, CodeOver, "only %s of that movement is left to reverse", left+m.Quantity()).
			At("quantity", "only %s is left to reverse", left+m.Quantity())
	}
	return nil
}
