package demo

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/catalog"
	"holdfast/internal/store"
)

// order is a request to move goods, and how far it has come.
type order struct {
	id, kind, status string
	day              int // made on this day
	at, promised     time.Time
	done             time.Time // last change; zero = since it was made
	steps            int64     // changes since
	pickDay          int
	party, city, zip string
	source, hold     string
	carrier          string
	priority         int64
	lines            []*line
	delivered        bool
	stage            stage
	picker           *person
}

// stage is how far today's picking has taken an outbound order.
type stage uint8

const (
	_       stage = iota // waiting: nothing set aside
	promise              // stock reserved
	begun                // some lines in the staging lane
	fetched              // all of them
	wrapped
	gone
)

// line is an order line; quantities in pieces.
type line struct {
	id                        string
	item                      *item
	qty, cancelled            int64
	allocated, picked, packed int64
	shipped, received         int64
	price                     int64
	disposition               string
	takes                     []*take
}

// take is stock set aside for a line at one place.
type take struct {
	id     string // of its reservation
	line   *line
	level  *level
	qty    int64
	picked time.Time
	by     *person
	staged *level
}

func (w *stock) newOrder(kind string, day int, hour float64, lines []*line) *order {
	at := w.cal.momentAt(day, hour)
	o := &order{id: w.cal.newID(day, at), kind: kind, status: "confirmed", day: day, at: at, lines: lines, priority: 3,
		promised: at, pickDay: never, steps: 1}
	for _, l := range lines {
		l.id = w.cal.newID(day, at)
	}
	w.orders = append(w.orders, o)
	return o
}

// landOf is the country of a customer's town.
func (w *world) landOf(city string) string {
	if c := w.abroad[city]; c != "" {
		return c
	}
	return w.country
}

func (o *order) setCustomer(c [3]string) { o.party, o.city, o.zip = c[0], c[1], c[2] }

// rhythm is a weekday's share of an average day's orders, Sunday first.
var rhythm = [...]float64{0, 1.45, 1.15, 1.1, 1.3, 1.0, 0.25}

// takeOrders takes a day's outbound orders and sets stock aside for them.
func (w *stock) takeOrders(day int) {
	season := 1 + 0.25*float64(day+history)/history // business grows a little
	n := w.cal.drawPoisson(w.ordersPerDay * rhythm[w.cal.localWeekday(day)] * season * 0.9)
	if day == 0 {
		n = max(n, w.today)
	}
	if w.cal.isWorkingDay(day) {
		n = max(n, w.least)
	}
	for i := range n {
		hour := w.cal.drawHour(6.2, 8.1)
		if day != 0 && day > -w.opened && w.cal.drawChance(0.35) || day == 0 && i > n*3/4 {
			hour = w.cal.drawHour(9, 16.5)
		}
		o := w.newOrder("outbound", day, hour, w.drawLines(day))
		o.setCustomer(pickOne(w.cal, w.customers))
		o.carrier = pickOne(w.cal, w.carriers)
		if day == 0 && i%3 == 0 {
			o.carrier = "OWN"
		}
		o.source = pickOne(w.cal, []string{"webshop", "webshop", "edi", "phone"})
		o.priority = int64([]int{1, 2, 3, 3, 3, 3, 4, 5}[w.cal.drawBetween(0, 7)])
		o.pickDay = day
		if hour > 9 || !w.cal.isWorkingDay(day) {
			o.pickDay = w.cal.nextWorking(day)
		}
		o.promised = w.cal.momentAt(w.cal.nextWorking(o.pickDay), 17)
		w.settleFate(o, i)
	}
}

// settleFate confirms an order and reserves its goods, or lets it end early.
func (w *stock) settleFate(o *order, nth int) {
	if o.day >= -1 && nth%6 == 5 {
		o.status, o.steps = "draft", 0
		return
	}
	if o.day < -2 && w.cal.drawChance(0.025) {
		o.status, o.done, o.steps = "cancelled", o.at.Add(3*time.Hour), 2
		return
	}
	o.done = w.cal.clipToNow(o.at.Add(12 * time.Minute))
	whole := true
	for _, l := range o.lines {
		w.allocateLine(l)
		whole = whole && l.allocated == l.qty
	}
	switch some := o.lines[0].allocated > 0; {
	case o.day < -4 && !whole: // what could not be had in time was cancelled
		for _, l := range o.lines {
			l.cancelled = l.qty - l.allocated
		}
		if !isAllocated(o) {
			o.status, o.steps = "cancelled", 2
		}
	case o.day >= -12 && w.cal.drawChance(0.02) && some:
		o.status, o.hold, o.pickDay, o.steps = "on_hold", pickOne(w.cal,
			[]string{"credit limit", "address to be checked", "customer asked to wait"}), never, 2
	case !whole:
		o.pickDay = never
	}
}

func isAllocated(o *order) bool {
	for _, l := range o.lines {
		if l.allocated > 0 {
			return true
		}
	}
	return false
}

// drawLines draws the lines of an order.
func (w *stock) drawLines(day int) []*line {
	n := min(1+w.cal.drawPoisson(w.lines), int(3*w.lines))
	rashShare := 0.15
	if w.knowing {
		rashShare = 0.02
	}
	rash := w.cal.drawChance(rashShare)
	seen := map[*item]bool{}
	var lines []*line
	for i := 0; i < n || len(lines) == 0; i++ {
		it := w.drawItem(day)
		qty := it.packet * int64(1+w.cal.drawPoisson(lineQuantity-1))
		// Most customers see what is in stock; of late they order little else, so
		// that there is work to show.
		if seen[it] || (day >= -1 || w.knowing) && !rash && w.freeQuantity(it) < qty {
			continue
		}
		seen[it] = true
		lines = append(lines, &line{item: it, qty: qty, price: it.price})
	}
	return lines
}

// drawItem picks an item by how it sells. Slow goods sold a little at first and
// nothing of late.
func (w *stock) drawItem(day int) *item {
	if day < -63 && w.cal.drawChance(0.16) {
		return w.slowOne()
	}
	if w.draws == nil {
		sum := 0.0
		for _, it := range w.items {
			sum += it.draw
			w.draws = append(w.draws, sum)
		}
	}
	for {
		n, _ := slices.BinarySearch(w.draws, w.cal.rng.Float64()*w.draws[len(w.draws)-1])
		it := w.items[min(n, len(w.items)-1)]
		if it.kind == dead || it.kind == slow || it.kind == fresh && day < it.born+2 {
			continue
		}
		return it
	}
}

// slowOne takes the slow goods in turn.
func (w *stock) slowOne() *item {
	for {
		w.slowTurn++
		if it := w.items[w.slowTurn%len(w.items)]; it.kind == slow {
			return it
		}
	}
}

// allocateLine reserves stock for a line, first expiring first.
func (w *stock) allocateLine(l *line) {
	for _, v := range w.listFreeLevels(l.item) {
		q := min(l.qty-l.allocated, v.qty-v.reserved)
		if q == 0 {
			return
		}
		v.reserved += q
		l.allocated += q
		l.takes = append(l.takes, &take{line: l, level: v, qty: q})
	}
}

// workDay picks, packs and ships what is due on a day, then books what else
// happened to stock.
func (w *stock) workDay(day int) {
	var due []*order
	for _, o := range w.orders {
		if o.pickDay == day && o.kind == "outbound" && o.status == "confirmed" {
			due = append(due, o)
		}
	}
	hands := w.pickersOn(day)
	if len(hands) == 0 {
		return
	}
	free := make([]float64, len(hands)) // hours from which each of them can begin a list
	for i := range free {
		free[i] = picking
	}
	for i, o := range due {
		to := gone
		if day == 0 { // a day in the middle of its work
			to = [...]stage{gone, gone, gone, wrapped, wrapped, fetched, begun, begun, promise, promise}[i*10/len(due)]
		}
		w.pickOrder(o, day, to, hands[i/3%len(hands)], &free[i/3%len(hands)], linePace(due, len(hands)))
	}
	w.listUp(day, due)
	for _, o := range due {
		if o.stage >= wrapped {
			w.packOrder(o, day)
		}
	}
	w.loadTrucks(day, due)
	w.bookDifferences(day)
	w.countSomeBins(day)
	w.holdGoods(day)
	w.sendTransfer(day)
	w.bookReturns(day)
}

// linePace is the hours that a line takes when the pickers' lines are spread over
// the time until the trucks are packed.
func linePace(due []*order, pickers int) float64 {
	lines := 1
	for _, o := range due {
		for _, l := range o.lines {
			lines += len(l.takes)
		}
	}
	return min(0.05, 4/(float64(lines)/float64(pickers)+30))
}

// pickOrder moves an order's goods to the staging lane, all or the first half.
func (w *stock) pickOrder(o *order, day int, to stage, who *duty, hour *float64, pace float64) {
	o.stage, o.picker = to, who.person
	if to < begun {
		return
	}
	lane := w.stagingLane("SHP", day)
	n := 0
	for _, l := range o.lines {
		for _, t := range l.takes {
			n++
			if to == begun && n > 1 && n > len(o.lines)/2 {
				continue
			}
			*hour += pace
			t.picked, t.by = w.cal.momentAt(day, *hour), who.person
			who.lines++
			w.stageReservation(o, t, lane, day)
		}
	}
	if to == begun && n == 1 {
		o.stage = fetched
	}
	o.status, o.done, o.steps = "in_progress", w.cal.momentAt(day, *hour), o.steps+1
}

// stageReservation moves one reservation with its goods.
func (w *stock) stageReservation(o *order, t *take, lane *zone, day int) {
	t.level.reserved -= t.qty
	w.bookMovement(movement{day: day, at: t.picked, kind: "pick", item: t.line.item, lot: t.level.lot, from: t.level.zone,
		to: lane, qty: t.qty, refType: "order", ref: o.id, worker: t.by.id})
	t.staged = w.byKey[levelKey{lane, t.line.item, t.level.lot, "available"}]
	t.staged.reserved += t.qty
	t.line.picked += t.qty
}

func (w *stock) packOrder(o *order, day int) {
	for _, l := range o.lines {
		l.packed = l.picked
	}
	o.done, o.steps = w.cal.momentAt(day, 13.4), o.steps+1
}

// bookDeparture books an order's goods out.
func (w *stock) bookDeparture(o *order, day int, at time.Time) {
	for _, l := range o.lines {
		for _, t := range l.takes {
			t.staged.reserved -= t.qty
			w.bookMovement(movement{day: day, at: at, kind: "ship", item: l.item, lot: t.level.lot, from: t.staged.zone,
				qty: t.qty, refType: "order", ref: o.id, worker: w.findHand(day, at, outTeam)})
			l.shipped += t.qty
		}
	}
	o.status, o.done, o.steps = "completed", at, o.steps+2
}

// sums are an order's totals over its lines.
type sums struct{ ordered, cancelled, allocated, picked, packed, shipped, received, cents int64 }

func (o *order) sumQuantities() sums {
	var s sums
	for _, l := range o.lines {
		s.ordered += l.qty
		s.cancelled += l.cancelled
		s.allocated += l.allocated
		s.picked += l.picked
		s.packed += l.packed
		s.shipped += l.shipped
		s.received += l.received
		s.cents += (l.qty - l.cancelled) * l.price
	}
	return s
}

// stageName is the derived stage of an order.
func (o *order) stageName(s sums) any {
	net := s.ordered - s.cancelled
	switch {
	case o.kind != "outbound" && (o.kind != "transfer" || s.received > 0):
		return o.inStage(s)
	case net > 0 && s.shipped >= net && o.delivered:
		return "delivered"
	case net > 0 && s.shipped >= net:
		return "shipped"
	case net > 0 && s.packed >= net:
		return "packed"
	case net > 0 && s.picked >= net:
		return "picked"
	case s.picked > 0:
		return "picking"
	case net > 0 && s.allocated >= net:
		return "allocated"
	case s.allocated > 0:
		return "part_allocated"
	}
	return "unallocated"
}

// inStage is the derived stage of an order whose goods come in.
func (o *order) inStage(s sums) string {
	if s.ordered > s.cancelled && s.received >= s.ordered-s.cancelled {
		return "received"
	}
	if s.received > 0 {
		return "part_received"
	}
	return "expected"
}

func (w *stock) emitOrders() {
	w.traffic.settleArrivals(w.orders)
	sortStable(w.orders, func(a, b *order) bool { return a.at.Before(b.at) })
	for n, o := range w.orders {
		w.emitOrder(o, n)
		for i, l := range o.lines {
			r := store.Row{"id": l.id, "order_id": o.id, "line_no": int64(10 * (i + 1)), "item_id": l.item.id,
				"uom": l.item.cat.uom, "qty_ordered": wholeUnits(l.qty),
				"qty_cancelled": wholeUnits(l.cancelled), "qty_allocated": wholeUnits(l.allocated),
				"qty_picked": wholeUnits(l.picked), "qty_packed": wholeUnits(l.packed),
				"qty_shipped": wholeUnits(l.shipped), "qty_received": wholeUnits(l.received), "unit_price": moneyCents(l.price),
				"price_qty": wholeUnits(1), "amount": moneyCents(l.price * (l.qty - l.cancelled)),
				"created_by": w.clerkOf(n), "version": o.steps}
			if l.disposition != "" {
				r["disposition"] = l.disposition
			}
			w.addRecord("order_lines", o.day, o.at, r)
			for _, t := range l.takes {
				emitReservation(w, o, t)
			}
		}
	}
	w.emitLists()
	w.traffic.emitShipments()
}

func (w *stock) emitOrder(o *order, n int) {
	s := o.sumQuantities()
	if o.done.IsZero() {
		o.done = o.at
	}
	r := store.Row{"id": o.id, "order_no": w.nextNumber(catalog.OrderPrefix(o.kind), o.at), "type": o.kind,
		"status": o.status, "stage": o.stageName(s), "priority": o.priority, "party_name": o.party,
		"site_id": w.sites[0], "requested_at": formatMoment(o.at), "promised_at": formatMoment(o.promised),
		"tags": rawJSON([]string{}), "line_count": int64(len(o.lines)),
		"qty_ordered": wholeUnits(s.ordered), "qty_allocated": wholeUnits(s.allocated), "qty_picked": wholeUnits(s.picked),
		"qty_packed":   wholeUnits(s.packed),
		"qty_shipped":  wholeUnits(s.shipped),
		"qty_received": wholeUnits(s.received), "total_value": moneyCents(s.cents), "created_by": w.clerkOf(n),
		"updated_at": formatMoment(o.done), "version": 1 + o.steps}
	if o.kind == "transfer" {
		r["to_site_id"] = w.sites[w.zones[crossDock].site]
	}
	if o.city != "" {
		r["ship_to"] = rawJSON(map[string]any{"name": o.party, "city": o.city, "postal_code": o.zip,
			"country": w.landOf(o.city)})
	}
	if o.source != "" {
		r["source"], r["external_ref"] = o.source, "R"+o.id[24:]
	}
	if o.hold != "" {
		r["hold_reason"] = o.hold
	}
	if o.carrier != "" {
		r["carrier"] = o.carrier
	}
	if o.priority == 1 {
		r["tags"] = rawJSON([]string{"express"})
	}
	w.addRecord("orders", o.day, o.at, r)
}

// emitReservation writes what an order is still promised, where it lies.
func emitReservation(w *stock, o *order, t *take) {
	if o.stage == gone {
		return
	}
	at, picked := t.level, t.staged != nil
	if picked {
		at = t.staged
	}
	t.id = derivedID(t.line.id, "reservation "+t.level.zone.id+" "+lotNo(t.level.lot))
	lotID := ""
	r := store.Row{"id": t.id, "order_line_id": t.line.id, "item_id": t.line.item.id, "zone_id": at.zone.id,
		"stock_status": at.status, "quantity": wholeUnits(t.qty),
		"state": "active", "picked": picked}
	if at.lot != nil {
		lotID = at.lot.id
		r["lot_id"] = lotID
	}
	r["stock_key"] = stockKey(at.zone.id, t.line.item.id, lotID, at.status)
	w.addRecord("reservations", o.day, o.at, r)
}

// derivedID is an id that follows from another one and a word, so that it draws
// nothing from the world's chance.
func derivedID(id, word string) string {
	return uuid.NewSHA1(uuid.MustParse(id), []byte(word)).String()
}

func lotNo(l *lot) string {
	if l == nil {
		return ""
	}
	return l.id
}

// clerkOf is who keyed in the nth order.
func (w *stock) clerkOf(n int) any {
	if n%3 == 0 {
		return nil // came through an interface
	}
	return []string{w.userID("manager"), w.userID("operator")}[n%2]
}
