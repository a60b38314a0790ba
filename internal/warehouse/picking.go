package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/ending"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/sites"
)

// CodeOver is an attempt to do more than was asked for.
const CodeOver = "HF022"

// fetch is a pick line of which more has been picked.
type fetch struct {
	line   store.Row
	more   decimal.Dec
	weight decimal.Dec // kg, 0 where it is not weighed
	lane   string      // where the goods are put
	from   store.Row   // the reservation that is picked, nil = free stock
}

// picks are the movements of a change of pick lines, with the reservations that
// go along.
type picks struct {
	work
	moves  []store.Row // movements
	moved  []store.Row // reservations that changed their place
	parted []store.Row // new reservations, of goods that moved
	fresh  []store.Row // reservations of stock that nobody was promised
	lines  []string    // order lines
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
	for _, c := range changes {
		if isNoLonger(c, "status", "pending") {
			lists = append(lists, c.Before.Text("pick_list_id"))
		}
	}
	return lists
}

// pickLines moves goods from their bins to the staging lane, with their reservations.
func (k work) pickLines(changes []store.Change) error {
	var list []*fetch
	for _, c := range changes {
		if c.Op != store.Update {
			continue
		}
		if more := c.After.Decimal("qty_picked") - c.Before.Decimal("qty_picked"); more > 0 {
			weight := c.After.Decimal("weight_kg") - c.Before.Decimal("weight_kg")
			list = append(list, &fetch{line: c.After, more: more, weight: weight, lane: c.After.Text("to_zone_id")})
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
			bins.addID(f.line.Text("zone_id"))
		}
	}
	if len(bins.list) == 0 {
		return nil
	}
	staging, err := k.Rows("zones", "kind = 'staging' AND status = 'active' ORDER BY code")
	if err != nil {
		return err
	}
	places, err := sites.ReadOfZones(k.Tx, append(bins.list, store.TextColumn(staging, "id")...))
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.lane != "" {
			continue
		}
		bin := places[f.line.Text("zone_id")]
		if f.lane = chooseLane(store.TextColumn(staging, "id"), places, bin.SiteID); f.lane == "" {
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
		lines.addID(f.line.Text("order_line_id"))
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
		if o["status"] == "confirmed" {
			started = append(started, o.Text("id"))
		}
	}
	return k.UpdateRows("orders", started, store.Row{"status": "in_progress"})
}

// findReservations finds the reservation behind each pick: the one that the line names,
// or another of its order line at that place.
func (k work) findReservations(list []*fetch) error {
	var lines []string
	for _, f := range list {
		if id := f.line.Text("order_line_id"); id != "" {
			lines = append(lines, id)
		}
	}
	rows, err := k.activeReservations(lines)
	if err != nil {
		return err
	}
	for _, f := range list {
		for _, r := range rows {
			same := r["item_id"] == f.line["item_id"] && r["zone_id"] == f.line["zone_id"] && r["lot_id"] == f.line["lot_id"] &&
				r["serial"] == f.line["serial"]
			mine := r["id"] == f.line["reservation_id"] || f.line["reservation_id"] == nil && same &&
				r.Decimal("quantity") >= f.more
			if mine && r["picked"] == false && r["order_line_id"] == f.line["order_line_id"] {
				f.from = r
				break
			}
		}
		if f.from == nil && f.line["reservation_id"] != nil || f.from != nil && f.from.Decimal("quantity") < f.more {
			return fault.New(fault.Conflict, CodeOver, "line %v picks more than is reserved for it",
				f.line["seq"]).At("qty_picked", "is more than reserved")
		}
	}
	return nil
}

// planPick plans one pick.
func (p *picks) planPick(f *fetch) error {
	at := spot{zone: f.line.Text("zone_id"), item: f.line.Text("item_id"), lot: f.line.Text("lot_id"),
		serial: f.line.Text("serial"), lpn: f.line.Text("lpn"), status: "available"}
	if f.from != nil {
		at = spotOf(f.from)
	}
	to := at
	to.zone = f.lane
	m := store.Row{"type": "pick", "item_id": at.item, "lot_id": db.Null(at.lot), "serial": db.Null(at.serial),
		"owner_id": db.Null(at.owner), "lpn": db.Null(at.lpn),
		"from_zone_id": at.zone, "to_zone_id": to.zone, "quantity": f.more, "ref_type": "pick_lines", "ref_id": f.line["id"],
		"worker_id": f.line["assigned_worker_id"]}
	if f.weight > 0 {
		m["weight_kg"] = f.weight
	}
	if line := f.line.Text("order_line_id"); line != "" {
		p.lines = append(p.lines, line)
	}
	switch {
	case f.from == nil:
		if line := f.line.Text("order_line_id"); line != "" {
			r := newReservation(line, to, f.more)
			r["picked"] = true
			p.fresh = append(p.fresh, r)
		}
	case f.from.Decimal("quantity") == f.more:
		p.moved = append(p.moved, store.Row{"id": f.from["id"], "zone_id": to.zone, "stock_key": to.stockKey(),
			"picked": true})
		m["reservation_id"] = f.from["id"]
	default:
		r, err := p.splitReservation(f.from, f.more)
		if err != nil {
			return err
		}
		r["zone_id"], r["stock_key"], r["picked"] = to.zone, to.stockKey(), true
		p.parted = append(p.parted, r)
		m["reservation_id"] = r["id"]
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
	if _, err := p.InsertRows("stock_movements", p.moves); err != nil {
		return err
	}
	if err := p.UpdateEach("reservations", p.moved); err != nil {
		return err
	}
	if _, err := p.InsertRows("reservations", p.parted); err != nil {
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
	lines, err := p.Rows("order_lines", p.DB().InUUID("id", 2), jsonList(store.TextColumn(p.fresh, "order_line_id")))
	if err != nil {
		return err
	}
	left := map[string]decimal.Dec{}
	for _, l := range lines {
		left[l.Text("id")] = l.Decimal("qty_ordered") - l.Decimal("qty_cancelled") - l.Decimal("qty_allocated")
	}
	for _, r := range p.fresh {
		id := r.Text("order_line_id")
		if left[id] -= r.Decimal("quantity"); left[id] < 0 {
			return fault.New(fault.Conflict, CodeOver, "more is picked than the order line asks for").At("qty_picked",
				"is more than ordered")
		}
	}
	return nil
}

// releaseShortened gives back what is reserved for lines that turned out short.
func (k work) releaseShortened(changes []store.Change) error {
	var ids []string
	for _, c := range changes {
		if c.Op == store.Update && becomes(c, "status", "short") && c.After["reservation_id"] != nil {
			ids = append(ids, c.After.Text("reservation_id"))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := k.Rows("reservations", k.DB().InUUID("id", 2)+" AND state = 'active' AND NOT picked ORDER BY id"+
		k.DB().ForUpdate(), jsonList(ids))
	if err != nil {
		return err
	}
	if err := k.releaseReservations(rows); err != nil {
		return err
	}
	return k.updateOrderLines(store.TextColumn(rows, "order_line_id"), nil)
}
