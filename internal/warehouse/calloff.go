package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
	"holdfast/internal/warehouse/sites"
)

// callOff puts what was picked on cancelled lists back into its bins, where it
// stays promised to its orders: another list can fetch it again. What is packed
// or has left keeps its list from being cancelled.
func (k work) callOff(lists []string) error {
	if len(lists) == 0 {
		return nil
	}
	d := k.DB()
	lines, err := k.Rows("pick_lines", d.InUUID("pick_list_id", 2)+
		" AND qty_picked > 0 AND status <> 'cancelled' ORDER BY id", jsonList(lists))
	if err != nil || len(lines) == 0 {
		return err
	}
	b := &back{work: k}
	if err := b.lockAndReadPicked(lines); err != nil {
		return err
	}
	for _, l := range lines {
		if err := b.planWayBack(l); err != nil {
			return err
		}
	}
	if err := sites.NameTransfers(k.Tx, b.moves); err != nil {
		return err
	}
	if _, err := k.InsertRows("stock_movements", b.moves); err != nil {
		return err
	}
	if err := k.UpdateEach("reservations", b.moved); err != nil {
		return err
	}
	if err := k.UpdateRows("pick_lines", store.TextColumn(lines, "id"), store.Row{"status": "cancelled"}); err != nil {
		return err
	}
	return k.updateOrderLines(b.lines, nil)
}

// back is goods on their way from the staging lane to their bins.
type back struct {
	work
	loose *packing.Loose
	held  []store.Row          // picked reservations
	free  map[string]store.Row // pick line -> movement of goods that nobody was promised
	lines []string             // order lines
	moves []store.Row
	moved []store.Row // reservations
}

// lockAndReadPicked locks the orders of pick lines and reads what is picked for them.
func (b *back) lockAndReadPicked(picks []store.Row) error {
	var wanted set
	var bare []store.Row
	for _, l := range picks {
		if line := l.Text("order_line_id"); line != "" {
			wanted.addID(line)
		} else {
			bare = append(bare, l)
		}
	}
	b.lines = wanted.list
	_, err := locking.LockOrdersOfLines(b.Tx, b.lines)
	if err != nil {
		return err
	}
	if b.loose, err = packing.ReadLoose(b.Tx, b.lines); err != nil {
		return err
	}
	if b.held, err = b.activeReservations(b.lines); err != nil {
		return err
	}
	return b.readBarePicks(bare)
}

// barePicksSQL takes the movements of items $3 that picked pick lines $2. No index names what a
// movement is of, so that its item leads to it.
const barePicksSQL = `
	item_id IN {ids $3}
		AND type = 'pick'
		AND ref_type = 'pick_lines'
		AND ref_id IN {ids $2}`

// readBarePicks reads how goods came to their lane that were picked for no order line.
func (b *back) readBarePicks(picks []store.Row) error {
	b.free = map[string]store.Row{}
	if len(picks) == 0 {
		return nil
	}
	moves, err := b.Rows("stock_movements", barePicksSQL, query.List(store.TextColumn(picks, "id")),
		query.List(store.TextColumn(picks, "item_id")))
	store.SortByID(moves)
	for _, m := range moves {
		b.free[m.Text("ref_id")] = m
	}
	return err
}

// planWayBack plans the way back of one pick line's goods.
func (b *back) planWayBack(l store.Row) error {
	left, line := l.Decimal("qty_picked"), l.Text("order_line_id")
	if line == "" {
		if m := b.free[l.Text("id")]; m != nil {
			b.moves = append(b.moves, b.wayBack(l, m["to_zone_id"], spotOf(m), left))
		}
		return nil
	}
	if left > b.loose.Sum(line, identityOf(l)) {
		return fault.New(fault.Conflict, CodeInUse, "goods of line %v are packed or have left: short the open lines instead",
			l["seq"]).
			At("status", "goods of line %v are packed", l["seq"])
	}
	b.loose.Take(line, identityOf(l), left)
	for i, r := range b.held {
		isSame := r["order_line_id"] == l["order_line_id"] && *identityOf(r) == *identityOf(l)
		if left == 0 || r["picked"] != true || !isSame {
			continue
		}
		q := min(left, r.Decimal("quantity"))
		left -= q
		part, err := b.cutReservation(r, q)
		if err != nil {
			return err
		}
		if part["id"] == r["id"] {
			b.held[i] = store.Row{} // all of it goes back
		}
		at := spotOf(part)
		if at.zone != l.Text("zone_id") {
			m := b.wayBack(l, part["zone_id"], at, q)
			m["reservation_id"] = part["id"]
			b.moves = append(b.moves, m)
		}
		at.zone = l.Text("zone_id")
		b.moved = append(b.moved, store.Row{"id": part["id"], "zone_id": at.zone, "stock_key": at.stockKey(),
			"picked": false})
	}
	if left > 0 {
		return refuseAbove("status", l.Decimal("qty_picked"), l.Decimal("qty_picked")-left, "is still picked for the line")
	}
	return nil
}

// wayBack is the movement of goods from a staging lane into a pick line's bin. They lay there
// and have no other place: a manager takes them back also where the bin was filled meanwhile.
func (b *back) wayBack(l store.Row, from any, at spot, q decimal.Dec) store.Row {
	m := store.Row{"type": "unpick", "item_id": at.item, "lot_id": db.Null(at.lot), "serial": db.Null(at.serial),
		"owner_id": db.Null(at.owner),
		"lpn":      db.Null(at.lpn), "from_zone_id": from, "to_zone_id": l["zone_id"], "quantity": q,
		"ref_type": "pick_lines", "ref_id": l["id"]}
	if isManager(b.Actor.Role) {
		m["override_reason"] = "the pick was taken back"
	}
	return m
}
