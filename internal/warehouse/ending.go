package warehouse

import (
	"slices"

	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/ending"
	"holdfast/internal/warehouse/kits"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
	"holdfast/internal/warehouse/selling"
)

// releaseCancelled gives back what orders that ended were promised and ends what was
// made for them: lines to pick, packages, shipments, waves. Picked goods are free for
// others, and tasks bring them from the lane to a place.
func (k work) releaseCancelled(orders []string) error {
	if len(orders) == 0 {
		return nil
	}
	lines, err := k.linesOf(orders)
	if err != nil {
		return err
	}
	if err := k.endLines(lines, orders); err != nil {
		return err
	}
	return ending.EndWaves(k.Tx, orders)
}

// endLines ends what was made for order lines that are no longer wanted, and for orders
// that have ended.
func (k work) endLines(lines, orders []string) error {
	if err := k.emptyPackages(lines); err != nil {
		return err
	}
	changed, err := ending.LeaveShipments(k.Tx, lines, orders)
	if err != nil {
		return err
	}
	if err := k.settleShipments(changed); err != nil {
		return err
	}
	rows, err := k.activeReservations(lines)
	if err != nil {
		return err
	}
	if err := k.releaseReservations(rows); err != nil {
		return err
	}
	if err := putAwayPicked(k.Tx, rows); err != nil {
		return err
	}
	if err := k.cancelPicks(lines); err != nil {
		return err
	}
	return k.updateOrderLines(record.Texts(rows, record.Reservation.OrderLineID), nil)
}

// cancelPicks cancels what is still to be picked for order lines.
func (k work) cancelPicks(lines []string) error {
	waiting, err := record.List[record.PickLine](k.Tx, "order_line_id IN {ids $2} AND status = 'pending' ORDER BY id",
		jsonList(lines))
	if err != nil {
		return err
	}
	if err := locking.LockListsOf(k.Tx, waiting); err != nil {
		return err
	}
	return k.UpdateRows("pick_lines", record.IDs(waiting), store.Row{"status": "cancelled"})
}

// settleShipments brings shipments to the states that their packages mean.
func (k work) settleShipments(ids []string, spent ...string) error {
	for _, id := range ids {
		if err := k.settleShipment(id, spent...); err != nil {
			return err
		}
	}
	return nil
}

// putAwayPicked opens tasks for goods that were picked and are no longer promised.
func putAwayPicked(tx *store.Tx, released []record.Reservation) error {
	var goods []record.PutawayTask
	for _, r := range released {
		if r.Picked() {
			goods = append(goods, newPutAway(store.Row(r), r.ZoneID(), r.StockStatus()))
		}
	}
	_, err := openPutAways(tx, goods)
	return err
}

// followLines brings orders up to date with their lines, and what was made for lines
// with what is still wanted of them.
func (w Watch) followLines(tx *store.Tx, changes []store.Change) error {
	drafts, err := sumOrders(tx, changes)
	if err != nil {
		return err
	}
	var less, none, more []string
	for _, c := range record.Changes[record.OrderLine](changes) {
		if c.Op == store.Delete {
			continue
		}
		id := c.After.ID()
		if asksForMore(c) && !drafts[c.After.OrderID()] {
			more = append(more, id)
		}
		if !c.Alters(record.OrderLine.QtyCancelledOrNull) && !c.Alters(record.OrderLine.QtyOrderedOrNull) {
			continue
		}
		less = append(less, id)
		if c.After.QtyCancelled() == c.After.QtyOrdered() {
			none = append(none, id)
		}
	}
	if tx.Store.Audited() { // a file tells of the past
		if err := selling.CheckLines(tx.Tx, tx.TenantID, more); err != nil {
			return err
		}
	}
	if err := kits.ExpandLines(tx, more); err != nil {
		return err
	}
	if err := kits.CancelComponents(tx, changes); err != nil {
		return err
	}
	if len(less) == 0 {
		return nil
	}
	k := work{tx, w}
	changed, err := ending.TrimShipments(tx, less)
	if err != nil {
		return err
	}
	if err := k.settleShipments(changed); err != nil || len(none) == 0 {
		return err
	}
	return k.cancelPicks(none)
}

// asksForMore reports a line that is added, or asks for more or for another item.
func asksForMore(c record.Change[record.OrderLine]) bool {
	return c.Op == store.Insert || c.Alters(record.OrderLine.ItemIDOrNull) ||
		c.Op == store.Update && c.After.QtyOrdered()-c.After.QtyCancelled() >
			c.Before.QtyOrdered()-c.Before.QtyCancelled()
}

// emptyPackages takes goods of order lines out of the packages that have not left. The
// goods lie in the lane again; goods of other orders stay packed, those of a closed
// package in an open one like it. The caller holds the orders.
func (k work) emptyPackages(orderLines []string) error {
	contents, err := packing.ReadContents(k.Tx, orderLines)
	if err != nil {
		return err
	}
	var ids, shipments set
	for _, c := range contents {
		ids.addID(c.PackageID)
	}
	packages, err := locking.LockRows[record.Package](k.Tx, ids.list)
	if err != nil {
		return err
	}
	var spent []string
	for _, p := range packages {
		held, err := packing.ReadContentsOfPackage(k.Tx, p.ID())
		if err != nil {
			return err
		}
		rest := slices.Clone(held)
		for i := range rest {
			if slices.Contains(orderLines, rest[i].OrderLineID) {
				rest[i].Quantity = 0
			}
		}
		if _, err := packing.EmptyPackage(k.Tx, p, held, rest); err != nil {
			return err
		}
		shipments.addID(p.ShipmentID())
		spent = append(spent, p.SSCC())
	}
	return k.settleShipments(shipments.list, spent...)
}
