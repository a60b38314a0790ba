package warehouse

import (
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
)

// Reservations are written here alone, together with what their stock levels
// have reserved, so that the one is the sum of the other after each transaction.
// Writers of one order's reservations hold the lock of its order; writers of one
// item's stock that of the item, taken in the order of ids, levels after them in
// the order of keys.

// work is what a change of reservations runs in.
type work struct {
	*store.Tx
	watch Watch
}

// pledge is a change of what is reserved at a place.
type pledge struct {
	at spot
	by decimal.Dec
}

// changeReserved changes what stock levels have reserved, and what is available of
// their items. A level that has less free than asked for is fault.Conflict.
func (k work) changeReserved(list []pledge) error {
	if len(list) == 0 {
		return nil
	}
	p := posting{ledger: ledger{levels: map[string]*level{}}}
	for _, h := range list {
		p.items.addID(h.at.item)
		if err := p.bookAt(h.at, 0, nil); err != nil {
			return err
		}
		p.levels[h.at.stockKey()].promised += h.by
	}
	if err := p.queueReads(k.Tx.Tx, k.TenantID); err != nil {
		return err
	}
	fallen, err := p.settleTotals(k.Tx)
	if err != nil || len(fallen) == 0 || k.watch.LowStock == nil {
		return err
	}
	return k.watch.LowStock(k.Tx, fallen)
}

// newReservation is a new row of quantity q of a line at a place.
func newReservation(line string, at spot, q decimal.Dec) record.Reservation {
	return record.Reservation{"order_line_id": line, "item_id": at.item, "zone_id": at.zone, "lot_id": db.Null(at.lot),
		"serial": db.Null(at.serial), "owner_id": db.Null(at.owner),
		"lpn": db.Null(at.lpn), "stock_status": at.status, "stock_key": at.stockKey(), "quantity": q}
}

// reserveStock promises stock to order lines.
func (k work) reserveStock(rows []record.Reservation) ([]record.Reservation, error) {
	list := make([]pledge, len(rows))
	for i, r := range rows {
		list[i] = pledge{spotOf(store.Row(r)), r.Quantity()}
	}
	if err := k.changeReserved(list); err != nil {
		return nil, err
	}
	return record.Insert(k.Tx, rows)
}

// releaseReservations gives active reservations back; pick lines that wait for them are
// cancelled.
func (k work) releaseReservations(rows []record.Reservation) error {
	if len(rows) == 0 {
		return nil
	}
	ids := record.IDs(rows)
	waiting, err := record.List[record.PickLine](k.Tx,
		k.DB().InUUID("reservation_id", 2)+" AND status = 'pending' ORDER BY id",
		jsonList(ids))
	if err != nil {
		return err
	}
	if err := locking.LockListsOf(k.Tx, waiting); err != nil {
		return err
	}
	list := make([]pledge, len(rows))
	for i, r := range rows {
		list[i] = pledge{spotOf(store.Row(r)), -r.Quantity()}
	}
	if err := k.changeReserved(list); err != nil {
		return err
	}
	if err := k.UpdateRows("pick_lines", record.IDs(waiting), store.Row{"status": "cancelled"}); err != nil {
		return err
	}
	return k.UpdateRows("reservations", ids, store.Row{"state": "released"})
}

// splitReservation takes quantity q off an active reservation, for goods at the same place,
// and returns the values of a new one for it, which the caller inserts. What the
// level has reserved stays.
func (k work) splitReservation(row record.Reservation, q decimal.Dec) (record.Reservation, error) {
	id, left := row.ID(), row.Quantity()-q
	if err := k.UpdateRows("reservations", []string{id}, store.Row{"quantity": left}); err != nil {
		return nil, err
	}
	row.SetQuantity(left)
	n := newReservation(row.OrderLineID(), spotOf(store.Row(row)), q)
	n.SetID(db.NewID())
	n.SetPickedOrNull(row.PickedOrNull())
	n.SetExpiresAtOrNull(row.ExpiresAtOrNull())
	return n, nil
}

// cutReservation is a reservation of quantity q of an active one: itself when that is all
// of it.
func (k work) cutReservation(row record.Reservation, q decimal.Dec) (record.Reservation, error) {
	if q == row.Quantity() {
		return row, nil
	}
	n, err := k.splitReservation(row, q)
	if err != nil {
		return nil, err
	}
	made, err := record.Insert(k.Tx, []record.Reservation{n})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

// activeReservations are the active reservations of order lines, oldest first.
func (k work) activeReservations(lines []string) ([]record.Reservation, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	return record.List[record.Reservation](k.Tx,
		k.DB().InUUID("order_line_id", 2)+" AND state = 'active' ORDER BY id"+k.DB().ForUpdate(),
		jsonList(lines))
}

// updateOrderLines brings the quantities of order lines up to date with their
// reservations and packages. shipped is what has just left, by line. Orders follow by the
// effects of their lines.
func (k work) updateOrderLines(lines []string, shipped map[string]decimal.Dec) error {
	if len(lines) == 0 {
		return nil
	}
	lines = slices.Compact(slices.Sorted(slices.Values(lines)))
	var sets []record.OrderLine
	err := k.Query(packing.LineProgress(k.DB()), []any{k.TenantID, jsonList(lines)}, func(r *db.Row) error {
		gone := r.Dec(1) + shipped[r.Text(0)]
		sets = append(sets, record.OrderLine{"id": r.Text(0), "qty_shipped": gone, "qty_allocated": gone + r.Dec(3),
			"qty_picked": gone + r.Dec(4), "qty_packed": gone + min(r.Dec(2), r.Dec(4))})
		return nil
	})
	if err != nil {
		return err
	}
	return k.UpdateEach("order_lines", record.Rows(sets))
}
