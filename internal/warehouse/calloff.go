package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
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
	lines, err := record.List[record.PickLine](k.Tx, d.InUUID("pick_list_id", 2)+
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
	if _, err := record.Insert(k.Tx, b.moves); err != nil {
		return err
	}
	if err := k.UpdateEach("reservations", record.Rows(b.moved)); err != nil {
		return err
	}
	if err := k.UpdateRows("pick_lines", record.IDs(lines), store.Row{"status": "cancelled"}); err != nil {
		return err
	}
	return k.updateOrderLines(b.lines, nil)
}

// back is goods on their way from the staging lane to their bins.
type back struct {
	work
	loose *packing.Loose
	held  []record.Reservation            // picked reservations
	free  map[string]record.StockMovement // pick line -> movement of goods that nobody was promised
	lines []string                        // order lines
	moves []record.StockMovement
	moved []record.Reservation // reservations
}

// lockAndReadPicked locks the orders of pick lines and reads what is picked for them.
func (b *back) lockAndReadPicked(picks []record.PickLine) error {
	var wanted set
	var bare []record.PickLine
	for _, l := range picks {
		if line := l.OrderLineID(); line != "" {
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
func (b *back) readBarePicks(picks []record.PickLine) error {
	b.free = map[string]record.StockMovement{}
	if len(picks) == 0 {
		return nil
	}
	moves, err := record.List[record.StockMovement](b.Tx, barePicksSQL, query.List(record.IDs(picks)),
		query.List(record.Texts(picks, record.PickLine.ItemID)))
	store.SortByID(record.Rows(moves))
	for _, m := range moves {
		b.free[m.RefID()] = m
	}
	return err
}

// planWayBack plans the way back of one pick line's goods.
func (b *back) planWayBack(l record.PickLine) error {
	left, line := l.QtyPicked(), l.OrderLineID()
	if line == "" {
		if m := b.free[l.ID()]; m != nil {
			_, at := movementPlaces(m)
			b.moves = append(b.moves, b.wayBack(l, m.ToZoneIDOrNull(), at, left))
		}
		return nil
	}
	if left > b.loose.Sum(line, identityOf(l)) {
		return fault.New(fault.Conflict, CodeInUse, "goods of line %v are packed or have left: short the open lines instead",
			l.Seq()).
			At("status", "goods of line %v are packed", l.Seq())
	}
	b.loose.Take(line, identityOf(l), left)
	for i, r := range b.held {
		isSame := r.OrderLineID() == l.OrderLineID() && *identityOf(r) == *identityOf(l)
		if left == 0 || !r.Picked() || !isSame {
			continue
		}
		q := min(left, r.Quantity())
		left -= q
		part, err := b.cutReservation(r, q)
		if err != nil {
			return err
		}
		if part.ID() == r.ID() {
			b.held[i] = record.Reservation{} // all of it goes back
		}
		at := spotOf(store.Row(part))
		if at.zone != l.ZoneID() {
			m := b.wayBack(l, part.ZoneID(), at, q)
			m.SetReservationID(part.ID())
			b.moves = append(b.moves, m)
		}
		at.zone = l.ZoneID()
		b.moved = append(b.moved, record.Reservation{"id": part.ID(), "zone_id": at.zone, "stock_key": at.stockKey(),
			"picked": false})
	}
	if left > 0 {
		return refuseAbove("status", l.QtyPicked(), l.QtyPicked()-left, "is still picked for the line")
	}
	return nil
}

// wayBack is the movement of goods from a staging lane into a pick line's bin. They lay there
// and have no other place: a manager takes them back also where the bin was filled meanwhile.
func (b *back) wayBack(l record.PickLine, from any, at spot, q decimal.Dec) record.StockMovement {
	m := record.StockMovement{"type": "unpick", "item_id": at.item, "lot_id": db.Null(at.lot),
		"serial":   db.Null(at.serial),
		"owner_id": db.Null(at.owner),
		"lpn":      db.Null(at.lpn), "from_zone_id": from, "to_zone_id": l.ZoneID(), "quantity": q,
		"ref_type": "pick_lines", "ref_id": l.ID()}
	if isManager(b.Actor.Role) {
		m.SetOverrideReason("the pick was taken back")
	}
	return m
}
