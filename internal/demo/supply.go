package demo

import (
	"time"

	"holdfast/internal/store"
)

// delivery is a purchase on its way.
type delivery struct {
	order  *order
	arrive int
}

// never is the arrival day of what a late supplier owes.
const never = 9999

// bookSupply books what arrives on a day and looks at what must be ordered.
func (w *stock) bookSupply(day int) {
	for _, d := range w.deliveries {
		if d.arrive == day {
			w.bookDelivery(d)
		}
	}
	w.fillPickBins(day)
	for i := range w.categories {
		c := &w.categories[i]
		if int(w.cal.localWeekday(day)) == c.review {
			w.orderSupplies(c, day, (day+goLive)/7%2 == i%2)
		}
	}
	for _, it := range w.items {
		if it.kind == fresh && it.born == day {
			w.launchItem(it, day)
		}
	}
}

// orderSupplies orders what will not last: fast goods every week, the others every
// second one. What a late supplier owes goes on an order of its own.
func (w *stock) orderSupplies(c *category, day int, all bool) {
	var due, owed []*line
	for _, it := range w.items {
		if it.cat != c || it.kind == dead || !all && it.kind != fast || it.reorderAt == 0 || it.born > day ||
			float64(w.freeQuantity(it)+it.onOrder) > orderTrigger(it) {
			continue
		}
		qty := max(it.packet, (it.maxStock-w.freeQuantity(it)-it.onOrder)/it.packet*it.packet)
		l := &line{item: it, qty: qty, price: it.cents}
		if it.late && day > -34 {
			owed = append(owed, l)
		} else {
			due = append(due, l)
		}
	}
	lead := c.lead + w.cal.drawBetween(-1, 2)
	for len(due) > orderLines { // what a sheet of paper holds
		w.makePurchaseOrder(c, day, due[:orderLines], day+max(1, lead))
		due = due[orderLines:]
	}
	w.makePurchaseOrder(c, day, due, day+max(1, lead))
	w.makePurchaseOrder(c, day, owed, never)
}

// orderLines is how many lines a purchase order has at most.
const orderLines = 60

// orderTrigger is the stock, present and ordered, below which an item is ordered:
// what lasts until the goods of the next look would come.
func orderTrigger(it *item) float64 {
	if it.kind == fast {
		return 1.2*float64(it.reorderAt) + 6*it.rate
	}
	return 1.5*float64(it.reorderAt) + 12*it.rate
}

// makePurchaseOrder makes a purchase order; arrivals on weekends wait for Monday.
func (w *stock) makePurchaseOrder(c *category, day int, lines []*line, arrive int) {
	if len(lines) == 0 {
		return
	}
	if arrive != never && !w.cal.isWorkingDay(arrive) {
		arrive = w.cal.nextWorking(arrive)
	}
	o := w.newOrder("inbound", day, w.cal.drawHour(8, 10), lines)
	o.party, o.source = c.supplier, "purchasing"
	o.promised = w.cal.momentAt(min(arrive, day+c.lead+1), 12)
	for _, l := range lines {
		l.item.onOrder += l.qty
	}
	w.deliveries = append(w.deliveries, &delivery{order: o, arrive: arrive})
	w.traffic.addShipment(
		&shipment{inbound: true, orders: []*order{o}, made: day, arrive: arrive,
			carrier: pickOne(w.cal, w.carriers[len(w.carriers)-2:])},
	)
}

// launchItem brings the first stock of a new item.
func (w *stock) launchItem(it *item, day int) {
	hour := w.cal.drawHour(6.3, 6.9)
	at := w.cal.momentAt(day, hour)
	l := w.lotOf(it, day)
	lane := w.stagingLane("RCV", day)
	qty := it.maxStock
	w.bookMovement(movement{day: day, at: at, kind: "receipt", item: it, lot: l, to: lane, qty: qty,
		worker: w.findHand(day, at, inboundTeam)})
	at = w.cal.momentAt(day, hour+0.8)
	w.bookMovement(
		movement{day: day, at: at, kind: "putaway", item: it, lot: l, from: lane, to: it.home, qty: qty,
			worker: w.findHand(day, at, inboundTeam)},
	)
}

// stagingLane is the staging lane used at a door on a day.
func (w *stock) stagingLane(area string, day int) *zone {
	if z := w.zones[area+"-L"+string(rune('1'+(day+goLive)%3))]; z != nil {
		return z
	}
	return w.zones[area+"-L1"]
}

// bookDelivery books a delivery in and puts it away. Of today's delivery half still
// stands in the lane.
func (w *stock) bookDelivery(d *delivery) {
	day, o := d.arrive, d.order
	lane := w.stagingLane("RCV", day)
	hour := w.cal.drawHour(6.3, 6.8)
	for i, l := range o.lines {
		in := w.cal.momentAt(day, hour+0.004*float64(i))
		lt := w.lotOf(l.item, day)
		w.bookMovement(movement{day: day, at: in, kind: "receipt", item: l.item, lot: lt, to: lane, qty: l.qty,
			refType: "order", ref: o.id, worker: w.findHand(day, in, inboundTeam)})
		l.received = l.qty
		l.item.onOrder -= l.qty
		if day == 0 && i%2 == 1 {
			continue
		}
		to := l.item.home
		if l.item.bulk != nil && l.item.kind == fast {
			to = l.item.bulk
		}
		in = w.cal.momentAt(day, hour+0.9+0.004*float64(i))
		w.bookMovement(movement{day: day, at: in, kind: "putaway", item: l.item, lot: lt, from: lane, to: to, qty: l.qty,
			refType: "order", ref: o.id, worker: w.findHand(day, in, inboundTeam)})
	}
	o.status, o.done, o.steps = "completed", w.cal.momentAt(day, hour+1.2), 3
}

// fillPickBins fills pick bins from bulk before picking starts.
func (w *stock) fillPickBins(day int) {
	for _, it := range w.items {
		if it.bulk == nil || !w.cal.isWorkingDay(day) {
			continue
		}
		reserve := w.byKey[levelKey{it.bulk, it, nil, "available"}]
		bin := w.byKey[levelKey{it.home, it, nil, "available"}]
		if reserve == nil || reserve.qty == reserve.reserved || bin != nil &&
			float64(bin.qty-bin.reserved) > max(float64(2*it.packet), 3*it.rate) {
			continue
		}
		qty := min(reserve.qty-reserve.reserved, max(4*it.packet, int64(6*it.rate)/it.packet*it.packet))
		at := w.cal.momentAt(day, w.cal.drawHour(8, 8.4))
		w.bookMovement(
			movement{day: day, at: at, kind: "replenish", item: it, from: it.bulk, to: it.home, qty: qty,
				worker: w.findHand(day, at, inboundTeam)},
		)
	}
}

// bookDifferences books the small differences a day's counts and mishaps bring.
func (w *stock) bookDifferences(day int) {
	if !w.cal.isWorkingDay(day) {
		return
	}
	last := 3
	if w.crew { // thousands of bins are counted in turn, and most of them are right
		last = 15
	}
	for range w.cal.drawPoisson(float64(len(w.items)) / 300) {
		it := pickOne(w.cal, w.items)
		list := w.listPresentLevels(it, day)
		if it.kind == fast && w.cal.drawChance(0.5) || len(list) == 0 {
			continue
		}
		l := list[0]
		small := int64(w.cal.drawBetween(1, 3))
		at := w.cal.momentAt(day, w.cal.drawHour(13.4, 13.8))
		switch m := (movement{day: day, at: at, item: it, lot: l.lot, qty: small,
			worker: w.findHand(day, at)}); w.cal.drawBetween(0, last) {
		case 0:
			m.kind, m.to, m.reason = "count_gain", l.zone, "cycle_count"
			m.refType, m.ref = "stock_counts", w.recordCount(l, day, at, small)
			w.bookMovement(m)
		case 1:
			if l.qty-l.reserved >= small {
				m.kind, m.from, m.reason = "count_loss", l.zone, "cycle_count"
				m.refType, m.ref = "stock_counts", w.recordCount(l, day, at, -small)
				w.bookMovement(m)
			}
		case 4, 5, 6, 7, 8, 9:
			w.recordCount(l, day, at, 0)
		default:
			if l.qty-l.reserved >= small {
				m.kind, m.from, m.reason = "adjust_loss", l.zone, pickOne(w.cal,
					[]string{"damaged", "damaged", "own_use", "theft", "expired"})
				w.bookMovement(m)
			}
		}
	}
}

// recordCount records what was found at a level beside what the books said, and
// returns the record.
func (w *stock) recordCount(l *level, day int, at time.Time, variance int64) string {
	l.counted = at
	r := store.Row{
		"zone_id":      l.zone.id,
		"item_id":      l.item.id,
		"stock_status": l.status,
		"counted":      wholeUnits(l.qty + variance),
		"expected":     wholeUnits(l.qty),
		"variance":     wholeUnits(variance),
		"exact":        variance == 0,
		"counted_at":   formatMoment(at),
		"reason_code":  "cycle_count",
	}
	if l.lot != nil {
		r["lot_id"] = l.lot.id
	}
	return w.addRecord("stock_counts", day, at, r)["id"].(string)
}

// countSomeBins counts some bins a day, in which nothing is amiss: each of them about
// once in half a year, as a cycle count does.
func (w *stock) countSomeBins(day int) {
	bins := min(len(w.levels), 3)
	if w.crew {
		bins = len(w.levels) / 130
	}
	for n := range bins {
		at := w.cal.momentAt(day, 13.9+0.09*float64(n)/float64(bins))
		l := w.levels[(7*-day+13*n)%len(w.levels)]
		if w.cal.isWorkingDay(day) && l.zone.kind == "bin" && l.status == "available" && l.qty > 0 && l.last.Before(at) {
			w.recordCount(l, day, at, 0)
		}
	}
}

// holdGoods sets goods apart: one complaint about a lot, one crushed pallet.
func (w *stock) holdGoods(day int) {
	reason := [2]string{}
	for on, why := range map[int][2]string{-23: {"quarantine", "supplier_complaint"}, -9: {"damaged", "crushed_pallet"},
		-4: {"hold", "customer_claim"}} {
		if w.cal.workingBefore(on) == day {
			reason = why
		}
	}
	if reason[0] == "" {
		return
	}
	at := w.cal.momentAt(day, 14)
	for _, it := range w.items {
		list := w.listPresentLevels(it, day)
		if len(list) == 0 || it.kind != steady || reason[0] == "quarantine" && !it.cat.lots ||
			list[0].qty-list[0].reserved < 2*it.packet {
			continue
		}
		l := list[0]
		w.bookMovement(movement{day: day, at: at, kind: "status_change", item: it, lot: l.lot, from: l.zone, to: l.zone,
			toStatus: reason[0], qty: min(l.qty-l.reserved, 2*it.packet), reason: reason[1], worker: w.findHand(day, at)})
		if reason[0] == "quarantine" {
			l.lot.status = "quarantine"
		}
		return
	}
}

// crossDock is the zone that transfers bring goods to.
const crossDock = "BER-X-02"

// sendTransfer sends fast goods to the cross-dock every other Thursday.
func (w *stock) sendTransfer(day int) {
	to := w.zones[crossDock]
	if to == nil || w.cal.localWeekday(day) != time.Thursday || (day+goLive)%2 == 1 || day == 0 {
		return
	}
	var lines []*line
	for _, it := range w.items {
		if it.kind == fast && !it.cat.lots && len(lines) < 3 && len(w.listPresentLevels(it, day)) > 0 &&
			w.freeQuantity(it) > it.reorderAt && w.cal.drawChance(0.25) {
			lines = append(lines, &line{item: it, qty: it.packet, price: it.cents})
		}
	}
	if len(lines) == 0 {
		return
	}
	o := w.newOrder("transfer", day, 9, lines)
	o.party = "Berlin cross-dock"
	for i, l := range lines {
		from := w.listPresentLevels(l.item, day)[0]
		q := min(l.qty, from.qty-from.reserved)
		l.qty, l.allocated, l.picked, l.packed, l.shipped, l.received = q, q, q, q, q, q
		at := w.cal.momentAt(day, 14.1+0.01*float64(i))
		w.bookMovement(movement{day: day, at: at, kind: "transfer", item: l.item, from: from.zone, to: to, qty: q,
			refType: "order", ref: o.id, worker: w.findHand(day, at, outTeam)})
	}
	o.status, o.done, o.steps = "completed", w.cal.momentAt(day, 14.2), 3
}

// bookReturns takes goods back every second week or so.
func (w *stock) bookReturns(day int) {
	if !w.cal.isWorkingDay(day) || !w.cal.drawChance(0.11) || day > -2 {
		return
	}
	it := pickOne(w.cal, w.items)
	if it.cat.lots || it.kind == dead || it.born > day || it.levels[0].day > day {
		return
	}
	to, status, disposition := it.home, "available", "restock"
	if z := w.zones["MUC-R-01"]; z != nil && w.cal.drawChance(0.4) {
		to, status, disposition = z, "quarantine", "quarantine"
	}
	l := &line{item: it, qty: it.packet, received: it.packet, price: it.price, disposition: disposition}
	o := w.newOrder("return", day, w.cal.drawHour(9, 11), []*line{l})
	o.setCustomer(pickOne(w.cal, w.customers))
	at := w.cal.momentAt(day, 14.25)
	o.status, o.done, o.steps = "completed", w.cal.momentAt(day, 14.3), 3
	w.bookMovement(movement{day: day, at: at, kind: "return_in", item: it, to: to, fromStatus: status, toStatus: status,
		qty: it.packet, reason: "customer_return", refType: "order", ref: o.id, worker: w.findHand(day, at)})
}
