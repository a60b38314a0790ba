package demo

import (
	"fmt"
	"math"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
)

// pickList is one picker's walk.
type pickList struct {
	day    int
	at     time.Time
	status string
	by     *person
	takes  []*take
}

// listUp turns a day's picking into lists of a few orders each. Only the last
// weeks' lists are kept.
func (w *stock) listUp(day int, due []*order) {
	if day < -w.listDays {
		return
	}
	for len(due) > 0 {
		n := 1
		for n < len(due) && n < 3 && listStatus(due[n]) == listStatus(due[0]) && due[n].picker == due[0].picker {
			n++
		}
		w.list(day, due[:n], listStatus(due[0]))
		due = due[n:]
	}
}

func listStatus(o *order) string {
	switch {
	case o.stage >= fetched:
		return "completed"
	case o.stage == begun:
		return "in_progress"
	case o.pickDay > 0:
		return "draft"
	}
	return "released"
}

func (w *stock) list(day int, orders []*order, status string) {
	l := &pickList{day: day, at: w.cal.at(day, w.cal.hour(8.15, 8.4)), status: status}
	for _, o := range orders {
		for _, ln := range o.lines {
			l.takes = append(l.takes, ln.takes...)
		}
	}
	sortStable(l.takes, func(a, b *take) bool { return a.level.zone.seq < b.level.zone.seq })
	if l.by = orders[0].picker; status == "draft" {
		l.by = nil
	}
	if len(l.takes) > 0 {
		w.lists = append(w.lists, l)
	}
}

// planLists prepares tomorrow's lists, and one that was called off.
func (w *stock) planLists() {
	var next []*order
	for _, o := range w.orders {
		if o.pickDay == w.cal.nextWorking(0) && o.kind == "outbound" && o.status == "confirmed" && len(next) < 6 {
			next = append(next, o)
		}
	}
	w.listUp(0, next)
	for _, l := range w.lists {
		if l.day < -3 && l.status == "completed" && len(l.takes) > 2 {
			c := &pickList{day: l.day, at: l.at.Add(-20 * time.Minute), status: "cancelled"}
			for _, t := range l.takes[:2] {
				c.takes = append(c.takes, &take{line: t.line, level: t.level, qty: t.qty})
			}
			w.lists = append(w.lists, c)
			return
		}
	}
}

func (w *stock) emitLists() {
	w.planLists()
	sortStable(w.lists, func(a, b *pickList) bool { return a.at.Before(b.at) })
	handOut(w)
	for i, l := range w.lists {
		id := w.cal.id(l.day, l.at)
		started, done, picked := l.times()
		r := store.Row{"id": id, "pick_no": w.number("PL", l.at), "strategy": []string{"single", "batch", "batch"}[min(2, len(l.takes)/3)], "status": l.status,
			"priority": int64(2 + i%3), "route_m": decimal.FromFloat(math.Round(l.walk())), "created_by": w.user("manager"), "version": int64(1 + picked)}
		if l.by != nil {
			r["assigned_worker_id"] = l.by.id
		}
		if l.status != "draft" {
			r["released_at"] = stamp(w.cal.clip(l.at.Add(4 * time.Minute)))
		}
		if picked > 0 {
			r["started_at"], r["updated_at"] = stamp(started), stamp(done)
		}
		if l.status == "completed" {
			r["completed_at"] = stamp(done)
		}
		w.add("pick_lists", l.day, l.at, r)
		for n, t := range l.takes {
			w.emitPickLine(l, id, n, t)
		}
	}
}

// handOut gives today's longest open list to the picker who signs in to the
// demonstration.
func handOut(w *stock) {
	var longest *pickList
	for _, l := range w.lists {
		if l.day == 0 && l.status == "released" && (longest == nil || len(l.takes) > len(longest.takes)) {
			longest = l
		}
	}
	for _, p := range w.people {
		if longest != nil && p.user == w.user("operator") && p.user != "" {
			longest.by = p
		}
	}
}

func (l *pickList) times() (started, done time.Time, picked int) {
	for _, t := range l.takes {
		if t.picked.IsZero() {
			continue
		}
		picked++
		if started.IsZero() || t.picked.Before(started) {
			started = t.picked
		}
		if t.picked.After(done) {
			done = t.picked
		}
	}
	return started, done, picked
}

// walk is the way through the bins in metres, from the door and back.
func (l *pickList) walk() float64 {
	x, y, sum := 0.0, 0.0, 0.0
	for _, t := range l.takes {
		z := t.level.zone
		sum += math.Abs(z.x-x) + math.Abs(z.y-y)
		x, y = z.x, z.y
	}
	return sum + x + y
}

func (w *stock) emitPickLine(l *pickList, list string, n int, t *take) {
	r := store.Row{"pick_list_id": list, "seq": int64(n + 1), "order_line_id": t.line.id, "zone_id": t.level.zone.id, "item_id": t.line.item.id,
		"qty": units(t.qty), "qty_picked": units(0), "status": "pending", "created_by": w.user("manager")}
	if t.id != "" {
		r["reservation_id"] = t.id
	}
	if t.level.lot != nil {
		r["lot_id"] = t.level.lot.id
	}
	if l.by != nil {
		r["assigned_worker_id"] = l.by.id
	}
	switch {
	case l.status == "cancelled":
		r["status"] = "cancelled"
	case !t.picked.IsZero():
		r["status"], r["qty_picked"], r["picked_at"], r["picked_by"] = "picked", units(t.qty), stamp(t.picked), ref(t.by.user)
		r["target_container"], r["updated_at"], r["version"] = fmt.Sprintf("TOTE-%03d", 100+len(l.takes)*7%90), stamp(t.picked), int64(2)
		if len(w.rows["pick_lines"])%47 == 20 {
			r["status"], r["qty"], r["short_reason"] = "short", units(t.qty+t.line.item.packet), "bin held less than the system said"
		}
	}
	w.add("pick_lines", l.day, l.at, r)
}

// shipment is goods that travel together.
type shipment struct {
	inbound   bool
	orders    []*order
	made      int
	at        time.Time
	arrive    int // inbound: day of arrival; outbound: of delivery
	left      time.Time
	done      time.Time
	carrier   string
	status    string
	exception string
	driver    *driver
}

func (w *stock) ship(s *shipment) *shipment {
	if s.at.IsZero() {
		s.at = w.cal.clip(s.orders[0].at.Add(25 * time.Minute))
	}
	w.shipments = append(w.shipments, s)
	return s
}

// load sends a day's packed orders on their way; orders of one carrier may
// share a truck.
func (w *stock) load(day int, due []*order) {
	var trucks []*shipment
	for _, o := range due {
		if o.stage != gone {
			continue
		}
		s := w.truck(trucks, o)
		if s == nil {
			s = w.ship(&shipment{made: day, at: w.cal.at(day, w.cal.hour(13.5, 13.8)), left: w.cal.at(day, w.cal.hour(14.4, 15.8)), carrier: o.carrier,
				arrive: w.cal.nextWorking(day), status: "in_transit"})
			if o.carrier == "OWN" {
				s.driver = w.nextDriver()
			} else {
				s.arrive = w.cal.nextWorking(s.arrive)
			}
			trucks = append(trucks, s)
		}
		s.orders = append(s.orders, o)
		w.leave(o, day, s.left)
	}
}

// truck finds room on a truck of the order's carrier.
func (w *stock) truck(trucks []*shipment, o *order) *shipment {
	for _, s := range trucks {
		if s.carrier == o.carrier && len(s.orders) < w.perTruck && w.cal.chance(0.7) {
			return s
		}
	}
	return nil
}

// arrivals says what became of the shipments.
func (w *stock) arrivals() {
	due := 0
	for _, s := range w.shipments {
		switch {
		case s.inbound:
			w.inbound(s)
		case s.arrive > 0:
		case s.arrive == 0 && due%4 == 1:
			due++
			if due == 2 {
				s.status, s.exception = "exception", "ADDRESS_UNKNOWN"
			}
		case s.arrive < -3 && w.cal.chance(0.012):
			s.status, s.exception = "returned", "REFUSED"
		default:
			if s.arrive == 0 {
				due++
			}
			s.status, s.done = "delivered", w.cal.at(s.arrive, w.cal.hour(7.5, 15.5))
			for _, o := range s.orders {
				o.delivered = true
			}
		}
	}
	w.trouble()
	w.planned()
}

// trouble makes sure that one delivery has gone wrong: the last that left.
func (w *stock) trouble() {
	var last *shipment
	for _, s := range w.shipments {
		if s.exception != "" && s.status == "exception" {
			return
		}
		if !s.inbound && s.status == "in_transit" {
			last = s
		}
	}
	if last != nil {
		last.status, last.exception = "exception", "VEHICLE_BREAKDOWN"
	}
}

func (w *stock) inbound(s *shipment) {
	late := s.arrive == never
	switch {
	case s.arrive <= 0:
		s.status, s.left, s.done = "received", s.at.Add(20*time.Hour), w.cal.at(s.arrive, 7.6)
		if s.left.After(s.done) {
			s.left = s.done.Add(-2 * time.Hour)
		}
	case late && s.made < -20:
		s.status, s.exception, s.left = "exception", "SUPPLIER_DELAY", s.at.Add(48*time.Hour)
	case late || s.arrive > 3 || s.made == 0:
		s.status = "planned"
	default:
		s.status, s.left = "in_transit", w.cal.at(min(s.made+1, -1), 15)
		if !w.docked {
			w.docked, s.status = true, "arrived"
		}
	}
}

// planned adds the shipments that have not left.
func (w *stock) planned() {
	n := 0
	for _, o := range w.orders {
		if o.kind != "outbound" {
			continue
		}
		s := &shipment{orders: []*order{o}, made: o.day, carrier: o.carrier, arrive: w.cal.nextWorking(0)}
		switch {
		case o.stage == wrapped:
			n++
			s.status = []string{"ready", "packed"}[n%2]
			if s.status == "ready" && o.carrier == "OWN" {
				s.driver = w.nextDriver()
			}
		case o.status == "in_progress" && o.stage >= begun && o.stage < gone, o.status == "confirmed" && o.pickDay == w.cal.nextWorking(0) && o.carrier == "OWN":
			s.status = "planned"
		case o.status == "cancelled" && o.day%3 == 0:
			s.status = "cancelled"
		default:
			continue
		}
		w.ship(s)
	}
}

func (w *stock) emitShipments() {
	sortStable(w.shipments, func(a, b *shipment) bool { return a.at.Before(b.at) })
	for n, s := range w.shipments {
		w.emitShipment(s, n)
	}
	w.emitRoutes()
	w.emitDrivers()
}

func (w *stock) emitShipment(s *shipment, n int) {
	ids, pieces := make([]string, len(s.orders)), int64(0)
	for i, o := range s.orders {
		ids[i] = o.id
		pieces += o.sums().ordered
	}
	sscc := []string{checkDigit(fmt.Sprintf("3%s%09d", w.gs1, n+1))}
	r := store.Row{"shipment_no": w.number("SH", s.at), "direction": "outbound", "status": s.status, "order_ids": raw(ids), "sscc": raw(sscc),
		"packages": raw([]any{map[string]any{"sscc": sscc[0], "pieces": pieces, "weight_kg": 8 + n%40}}), "planned_at": stamp(s.at.Add(2 * time.Hour)),
		"freight_cost": money(int64(1900 + 370*(n%23))), "created_by": w.user("manager"), "version": int64(1)}
	first := s.orders[0]
	site := map[string]any{"name": w.buildings[0].name, "city": w.buildings[0].city, "country": w.country}
	other := map[string]any{"name": first.party, "city": first.city, "postal_code": first.zip, "country": w.landOf(first.city)}
	locate(site)
	locate(other)
	r["origin"], r["destination"] = raw(site), raw(other)
	if s.inbound {
		r["direction"], r["origin"], r["destination"] = "inbound", raw(map[string]any{"name": first.party}), raw(site)
	}
	last := s.at
	for field, t := range map[string]time.Time{"dispatched_at": s.left, "completed_at": s.done} {
		if !t.IsZero() {
			r[field] = stamp(t)
			if t.After(last) {
				last = t
			}
			r["version"] = r["version"].(int64) + 2
		}
	}
	r["updated_at"] = stamp(last)
	if !s.inbound || s.arrive != never {
		r["eta"] = stamp(w.cal.at(s.arrive, 12))
	}
	if s.exception != "" {
		r["exception_code"] = s.exception
	}
	w.haul(r, s, n)
	r["id"] = w.cal.id(s.made, s.at)
	w.add("shipments", s.made, s.at, r)
	emitShipmentLines(w, r, s)
}

// emitShipmentLines writes what travels with the outbound shipments of the last
// weeks.
func emitShipmentLines(w *stock, r store.Row, s *shipment) {
	if s.inbound || s.made < -w.listDays || s.status == "cancelled" {
		return
	}
	for _, o := range s.orders {
		for _, l := range o.lines {
			if l.allocated > 0 {
				w.add("shipment_lines", s.made, s.at, store.Row{"id": derived(l.id, "shipment "+r["id"].(string)), "shipment_id": r["id"], "order_id": o.id,
					"order_line_id": l.id, "item_id": l.item.id,
					"quantity": units(l.allocated), "qty_shipped": units(l.shipped), "qty_short": units(0), "qty_damaged": units(0)})
			}
		}
	}
}

// locate adds where a place's town lies.
func locate(place map[string]any) {
	if at, ok := towns[fmt.Sprint(place["city"])]; ok {
		place["lat"], place["lon"] = at[0], at[1]
	}
}

// signed is how a receiver's signature was drawn.
const signed = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 60 20'%3E" +
	"%3Cpath d='M2 15c9-14 12-14 11-4s9-9 14-6 8 8 31-2' fill='none' stroke='black'/%3E%3C/svg%3E"

// haul names who carries it: our own truck, or a carrier's tracking number.
func (w *stock) haul(r store.Row, s *shipment, n int) {
	if s.carrier != "OWN" {
		r["carrier"], r["carrier_id"] = s.carrier, w.freight[s.carrier]
	}
	if s.driver == nil {
		if s.carrier != "OWN" {
			r["tracking_no"], r["service"] = fmt.Sprintf("%s%010d", s.carrier[:2], 7000412345+int64(n)*7919), "standard"
		}
		return
	}
	r["driver_id"], r["assigned_worker_id"], r["vehicle_id"], r["stop_seq"] = s.driver.id, s.driver.person.id, ref(s.driver.vehicle), int64(1+n%6)
	if s.status == "delivered" {
		r["proof"] = raw(map[string]any{"name": map[string]string{"DE": "Warenannahme"}[w.country], "signature": signed})
	}
	if s.status == "in_transit" {
		s.driver.status = "on_trip"
		for _, v := range w.rows["vehicles"] {
			v["on_trip"] = v["on_trip"] == true || v["id"] == r["vehicle_id"]
		}
	}
	if s.status == "ready" && s.driver.status == "available" {
		s.driver.status = "assigned"
	}
}
