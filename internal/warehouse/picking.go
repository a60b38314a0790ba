package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/ending"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/plates"
	"holdfast/internal/warehouse/sites"
)

// CodeOver is an attempt to do more than was asked for.
const CodeOver = "HF022"

// fetch is a pick line of which more has been picked.
type fetch struct {
	line   record.PickLine
	more   decimal.Dec
	weight decimal.Dec        // kg, 0 where it is not weighed
	lane   string             // where the goods are put
	from   record.Reservation // the reservation that is picked, nil = free stock
}

// picks are the movements of a change of pick lines, with the reservations that
// go along.
type picks struct {
	work
	moves  []record.StockMovement // movements
	moved  []record.Reservation   // reservations that changed their place
	parted []record.Reservation   // new reservations, of goods that moved
	fresh  []record.Reservation   // reservations of stock that nobody was promised
	lines  []string               // order lines
}

// followPickLines moves the goods of what was picked, gives back what was short,
// and brings pick lists along.
func (w Watch) followPickLines(tx *store.Tx, changes []store.Change) error {
	k := work{tx, w}
	if err := k.pickLines(changes); err != nil {
		return err
	}
	if err := k.releaseShortened(changes); err != nil {
		return err
	}
	if err := startPickLists(tx, changes); err != nil {
		return err
	}
	return ending.FinishLists(tx, listsOfClosed(changes))
}

// listsOfClosed are the lists of pick lines that are no longer pending, or gone.
func listsOfClosed(changes []store.Change) (lists []string) {
	for _, c := range record.Changes[record.PickLine](changes) {
		if c.Leaves(record.PickLine.Status, "pending") {
			lists = append(lists, c.Before.PickListID())
		}
	}
	return lists
}

// pickLines moves goods from their bins to the staging lane, with their reservations.
func (k work) pickLines(changes []store.Change) error {
	var list []*fetch
	for _, c := range record.Changes[record.PickLine](changes) {
		if c.Op != store.Update {
			continue
		}
		if more := c.After.QtyPicked() - c.Before.QtyPicked(); more > 0 {
			weight := c.After.WeightKg() - c.Before.WeightKg()
			list = append(list, &fetch{line: c.After, more: more, weight: weight, lane: c.After.ToZoneID()})
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := k.assignStagingZones(list); err != nil {
		return err
	}
	if err := k.startOrders(list); err != nil {
		return err
	}
	if err := k.findReservations(list); err != nil {
		return err
	}
	p := &picks{work: k}
	for _, f := range list {
		if err := p.planPick(f); err != nil {
			return err
		}
	}
	return p.bookPicks()
}

// assignStagingZones gives the picks without a place to put the goods the first staging zone
// that serves their bin.
func (k work) assignStagingZones(list []*fetch) error {
	var bins set
	for _, f := range list {
		if f.lane == "" {
			bins.addID(f.line.ZoneID())
		}
	}
	if len(bins.list) == 0 {
		return nil
	}
	staging, err := record.List[record.Zone](k.Tx, "kind = 'staging' AND status = 'active' ORDER BY code")
	if err != nil {
		return err
	}
	places, err := sites.ReadOfZones(k.Tx, append(bins.list, record.IDs(staging)...))
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.lane != "" {
			continue
		}
		bin := places[f.line.ZoneID()]
		if f.lane = chooseLane(record.IDs(staging), places, bin.SiteID); f.lane == "" {
			return notReady("there is no staging zone at the site of zone %s to put the goods into", bin.Code).
				At("to_zone_id", "name a zone, or make one of kind staging")
		}
	}
	return nil
}

// chooseLane is the first staging zone of a bin's site, else the first of no site;
// for a bin without a site, any. It is "" where there is none.
func chooseLane(staging []string, places map[string]sites.Zone, site string) string {
	spare := ""
	for _, id := range staging {
		if places[id].SiteID == site {
			return id
		}
		if spare == "" && !sites.Differ(places[id].SiteID, site) {
			spare = id
		}
	}
	return spare
}

// startOrders locks the orders that are picked for and puts confirmed ones in
// progress.
func (k work) startOrders(list []*fetch) error {
	var lines set
	for _, f := range list {
		lines.addID(f.line.OrderLineID())
	}
	orders, err := locking.LockOrdersOfLines(k.Tx, lines.list)
	if err != nil {
		return err
	}
	var started []string
	for _, o := range orders {
		if err := checkWorkable(o); err != nil {
			return err
		}
		if o.Status() == "confirmed" {
			started = append(started, o.ID())
		}
	}
	return k.UpdateRows("orders", started, store.Row{"status": "in_progress"})
}

// findReservations finds the reservation behind each pick: the one that the line names,
// or another of its order line at that place.
func (k work) findReservations(list []*fetch) error {
	var lines []string
	for _, f := range list {
		if id := f.line.OrderLineID(); id != "" {
			lines = append(lines, id)
		}
	}
	rows, err := k.activeReservations(lines)
	if err != nil {
		return err
	}
	for _, f := range list {
		for _, r := range rows {
			same := r.ItemID() == f.line.ItemID() && r.ZoneID() == f.line.ZoneID() && r.LotID() == f.line.LotID() &&
				r.SerialOrNull() == f.line.SerialOrNull()
			mine := r.ID() == f.line.ReservationID() || !f.line.HasReservationID() && same && r.Quantity() >= f.more
			if mine && r.Picked() == false && r.OrderLineID() == f.line.OrderLineID() {
				f.from = r
				break
			}
		}
		if f.from == nil && f.line.HasReservationID() || f.from != nil && f.from.Quantity() < f.more {
			return fault.New(fault.Conflict, CodeOver, "line %v picks more than is reserved for it",
				f.line.SeqOrNull()).At("qty_picked", "is more than reserved")
		}
	}
	return nil
}

// planPick plans one pick.
func (p *picks) planPick(f *fetch) error {
	at := spot{zone: f.line.ZoneID(), item: f.line.ItemID(), lot: f.line.LotID(),
		serial: f.line.Serial(), lpn: f.line.LPN(), status: "available"}
	if f.from != nil {
		at = spotOf(store.Row(f.from))
	}
	to := at
	if to.zone = f.lane; to.zone != at.zone {
		to.lpn = "" // what is picked is for its shipment, and on the plate no more
	}
	m := record.StockMovement{
		"type": "pick", "item_id": at.item, "lot_id": db.Null(at.lot), "serial": db.Null(at.serial),
		"owner_id": db.Null(at.owner), "lpn": db.Null(at.lpn), "from_zone_id": at.zone, "to_zone_id": to.zone,
		"quantity": f.more, "ref_type": "pick_lines", "ref_id": f.line.IDOrNull(),
		"worker_id": f.line.AssignedWorkerIDOrNull(),
	}
	if at.lpn != to.lpn {
		m.SetPlateChange(plates.TakenOff)
	}
	if f.weight > 0 {
		m.SetWeightKg(f.weight)
		m.SetWeightReasonOrNull(f.line.WeightReasonOrNull())
	}
	if line := f.line.OrderLineID(); line != "" {
		p.lines = append(p.lines, line)
	}
	switch {
	case f.from == nil:
		if line := f.line.OrderLineID(); line != "" {
			r := newReservation(line, to, f.more)
			r.SetPicked(true)
			p.fresh = append(p.fresh, r)
		}
	case f.from.Quantity() == f.more:
		p.moved = append(p.moved, record.Reservation{"id": f.from.ID(), "zone_id": to.zone, "stock_key": to.stockKey(),
			"lpn": db.Null(to.lpn), "picked": true})
		m.SetReservationID(f.from.ID())
	default:
		r, err := p.splitReservation(f.from, f.more)
		if err != nil {
			return err
		}
		r.SetZoneID(to.zone)
		r.SetLPNOrNull(db.Null(to.lpn))
		r.SetStockKey(to.stockKey())
		r.SetPicked(true)
		p.parted = append(p.parted, r)
		m.SetReservationID(r.ID())
	}
	if at.zone != to.zone {
		p.moves = append(p.moves, m)
	}
	return nil
}

// bookPicks writes what was planned: goods first, then the promises that lie on them.
func (p *picks) bookPicks() error {
	if err := p.checkOpenDemand(); err != nil {
		return err
	}
	if _, err := record.Insert(p.Tx, p.moves); err != nil {
		return err
	}
	if err := p.UpdateEach("reservations", record.Rows(p.moved)); err != nil {
		return err
	}
	if _, err := record.Insert(p.Tx, p.parted); err != nil {
		return err
	}
	if _, err := p.reserveStock(p.fresh); err != nil {
		return err
	}
	return p.updateOrderLines(p.lines, nil)
}

// checkOpenDemand refuses free stock for order lines that want no more.
func (p *picks) checkOpenDemand() error {
	if len(p.fresh) == 0 {
		return nil
	}
	lines, err := record.List[record.OrderLine](p.Tx, p.DB().InUUID("id", 2),
		jsonList(record.Texts(p.fresh, record.Reservation.OrderLineID)))
	if err != nil {
		return err
	}
	left := map[string]decimal.Dec{}
	for _, l := range lines {
		left[l.ID()] = l.QtyOrdered() - l.QtyCancelled() - l.QtyAllocated()
	}
	for _, r := range p.fresh {
		id := r.OrderLineID()
		if left[id] -= r.Quantity(); left[id] < 0 {
			return fault.New(fault.Conflict, CodeOver, "more is picked than the order line asks for").At("qty_picked",
				"is more than ordered")
		}
	}
	return nil
}

// releaseShortened gives back what is reserved for lines that turned out short.
func (k work) releaseShortened(changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.PickLine](changes) {
		if c.Op == store.Update && c.Becomes(record.PickLine.Status, "short") && c.After.HasReservationID() {
			ids = append(ids, c.After.ReservationID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := record.List[record.Reservation](k.Tx,
		k.DB().InUUID("id", 2)+" AND state = 'active' AND NOT picked ORDER BY id"+
			k.DB().ForUpdate(), jsonList(ids))
	if err != nil {
		return err
	}
	if err := k.releaseReservations(rows); err != nil {
		return err
	}
	return k.updateOrderLines(record.Texts(rows, record.Reservation.OrderLineID), nil)
}
