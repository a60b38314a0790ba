package demo

import (
	"fmt"
	"maps"
	"time"

	"holdfast/internal/store"
)

// haulage is what travels between the tenant and its trading partners: the
// shipments, in which load and the suppliers' deliveries put orders.
type haulage struct {
	*world

	shipments []*shipment
	docked    bool // a truck stands at the door
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

func (w *haulage) addShipment(s *shipment) *shipment {
	if s.at.IsZero() {
		s.at = w.cal.clipToNow(s.orders[0].at.Add(25 * time.Minute))
	}
	w.shipments = append(w.shipments, s)
	return s
}

// findTruck finds room on a truck of the order's carrier.
func (w *haulage) findTruck(trucks []*shipment, o *order) *shipment {
	for _, s := range trucks {
		if s.carrier == o.carrier && len(s.orders) < w.perTruck && w.cal.drawChance(0.7) {
			return s
		}
	}
	return nil
}

// settleArrivals says what became of the shipments, and plans those of the orders that
// have not left.
func (w *haulage) settleArrivals(orders []*order) {
	due := 0
	for _, s := range w.shipments {
		switch {
		case s.inbound:
			w.addInbound(s)
		case s.arrive > 0:
		case s.arrive == 0 && due%4 == 1:
			due++
			if due == 2 {
				s.status, s.exception = "exception", "ADDRESS_UNKNOWN"
			}
		case s.arrive < -3 && w.cal.drawChance(0.012):
			s.status, s.exception = "returned", "REFUSED"
		default:
			if s.arrive == 0 {
				due++
			}
			s.status, s.done = "delivered", w.cal.momentAt(s.arrive, w.cal.drawHour(7.5, 15.5))
			for _, o := range s.orders {
				o.delivered = true
			}
		}
	}
	w.ensureFailedDelivery()
	w.addPlanned(orders)
}

// ensureFailedDelivery makes sure that one delivery has gone wrong: the last that left.
func (w *haulage) ensureFailedDelivery() {
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

func (w *haulage) addInbound(s *shipment) {
	late := s.arrive == never
	switch {
	case s.arrive <= 0:
		s.status, s.left, s.done = "received", s.at.Add(20*time.Hour), w.cal.momentAt(s.arrive, 7.6)
		if s.left.After(s.done) {
			s.left = s.done.Add(-2 * time.Hour)
		}
	case late && s.made < -20:
		s.status, s.exception, s.left = "exception", "SUPPLIER_DELAY", s.at.Add(48*time.Hour)
	case late || s.arrive > 3 || s.made == 0:
		s.status = "planned"
	default:
		s.status, s.left = "in_transit", w.cal.momentAt(min(s.made+1, -1), 15)
		if !w.docked {
			w.docked, s.status = true, "arrived"
		}
	}
}

// addPlanned adds the shipments that have not left.
func (w *haulage) addPlanned(orders []*order) {
	n := 0
	for _, o := range orders {
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
		case o.status == "in_progress" && o.stage >= begun && o.stage < gone, o.status == "confirmed" &&
			o.pickDay == w.cal.nextWorking(0) && o.carrier == "OWN":
			s.status = "planned"
		case o.status == "cancelled" && o.day%3 == 0:
			s.status = "cancelled"
		default:
			continue
		}
		w.addShipment(s)
	}
}

func (w *haulage) emitShipments() {
	sortStable(w.shipments, func(a, b *shipment) bool { return a.at.Before(b.at) })
	for n, s := range w.shipments {
		w.emitShipment(s, n)
	}
	w.emitRoutes()
	w.emitDrivers()
}

func (w *haulage) emitShipment(s *shipment, n int) {
	ids, pieces := make([]string, len(s.orders)), int64(0)
	for i, o := range s.orders {
		ids[i] = o.id
		pieces += o.sumQuantities().ordered
	}
	sscc := []string{checkDigit(fmt.Sprintf("3%s%09d", w.gs1, n+1))}
	r := store.Row{"shipment_no": w.nextNumber("SH", s.at), "direction": "outbound", "status": s.status,
		"order_ids": rawJSON(ids), "sscc": rawJSON(sscc),
		"packages":     rawJSON([]any{map[string]any{"sscc": sscc[0], "pieces": pieces, "weight_kg": 8 + n%40}}),
		"planned_at":   formatMoment(s.at.Add(2 * time.Hour)),
		"freight_cost": moneyCents(int64(1900 + 370*(n%23))), "created_by": w.userID("manager"), "version": int64(1)}
	first := s.orders[0]
	site := map[string]any{"name": w.buildings[0].name, "city": w.buildings[0].city, "country": w.country}
	other := map[string]any{"name": first.party, "city": first.city, "postal_code": first.zip,
		"country": w.landOf(first.city)}
	addCoordinates(site)
	addCoordinates(other)
	r["origin"], r["destination"] = rawJSON(site), rawJSON(other)
	if s.inbound {
		r["direction"], r["origin"], r["destination"] = "inbound", rawJSON(map[string]any{"name": first.party}), rawJSON(site)
	}
	last := s.at
	for field, t := range map[string]time.Time{"dispatched_at": s.left, "completed_at": s.done} {
		if !t.IsZero() {
			r[field] = formatMoment(t)
			if t.After(last) {
				last = t
			}
			r["version"] = r["version"].(int64) + 2
		}
	}
	r["updated_at"] = formatMoment(last)
	if !s.inbound || s.arrive != never {
		r["eta"] = formatMoment(w.cal.momentAt(s.arrive, 12))
	}
	if s.exception != "" {
		r["exception_code"] = s.exception
	}
	w.nameCarrier(r, s, n)
	id := w.cal.newID(s.made, s.at)
	r["id"] = id
	w.addRecord("shipments", s.made, s.at, r)
	emitShipmentLines(w, id, s, sscc[0])
}

// emitShipmentLines writes what travels with the outbound shipments of the last
// weeks.
func emitShipmentLines(w *haulage, id string, s *shipment, sscc string) {
	if s.inbound || s.made < -w.listDays || s.status == "cancelled" {
		return
	}
	box := emitPackage(w, id, s, sscc)
	for _, o := range s.orders {
		for _, l := range o.lines {
			if l.allocated > 0 {
				w.addRecord("shipment_lines", s.made, s.at, store.Row{
					"id": derivedID(l.id, "shipment "+id), "shipment_id": id, "order_id": o.id,
					"order_line_id": l.id, "item_id": l.item.id,
					"quantity": wholeUnits(l.allocated), "qty_shipped": wholeUnits(l.shipped), "qty_short": wholeUnits(0),
					"qty_damaged": wholeUnits(0),
				})
				emitContents(w, box, s, l)
			}
		}
	}
}

// emitPackage writes the carton of a shipment whose orders are packed, and returns its
// id, "" where they are not. It is closed unless the shipment is only packed.
func emitPackage(w *haulage, shipment string, s *shipment, sscc string) string {
	first := s.orders[0]
	if first.stage < wrapped {
		return ""
	}
	id := derivedID(shipment, "package")
	box := store.Row{"id": id, "package_no": w.nextNumber("PK", s.at), "shipment_id": shipment,
		"status": "closed", "closed_at": formatMoment(s.at), "sscc": sscc}
	if s.status == "packed" {
		maps.Copy(box, store.Row{"status": "open", "closed_at": nil, "sscc": nil})
	}
	w.addRecord("packages", s.made, s.at, box)
	return id
}

// emitContents writes what of a line is in a package, lot by lot.
func emitContents(w *haulage, box string, s *shipment, l *line) {
	if box == "" {
		return
	}
	var lots []string
	byLot := map[string]int64{}
	for _, t := range l.takes {
		lot := lotNo(t.level.lot)
		if byLot[lot] == 0 {
			lots = append(lots, lot)
		}
		byLot[lot] += t.qty
	}
	for _, lot := range lots {
		w.addRecord("package_lines", s.made, s.at, store.Row{"id": derivedID(box, l.id+lot), "package_id": box,
			"order_line_id": l.id, "item_id": l.item.id, "lot_id": nullableID(lot), "quantity": wholeUnits(byLot[lot])})
	}
}

// addCoordinates adds where a place's town lies.
func addCoordinates(place map[string]any) {
	if at, ok := towns[fmt.Sprint(place["city"])]; ok {
		place["lat"], place["lon"] = at[0], at[1]
	}
}

// signed is how a receiver's signature was drawn.
const signed = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 60 20'%3E" +
	"%3Cpath d='M2 15c9-14 12-14 11-4s9-9 14-6 8 8 31-2' fill='none' stroke='black'/%3E%3C/svg%3E"

// nameCarrier names who carries it: our own truck, or a carrier's tracking number.
func (w *haulage) nameCarrier(r store.Row, s *shipment, n int) {
	if s.carrier != "OWN" {
		r["carrier"], r["carrier_id"] = s.carrier, w.freight[s.carrier]
	}
	if s.driver == nil {
		if s.carrier != "OWN" {
			r["tracking_no"], r["service"] = fmt.Sprintf("%s%010d", s.carrier[:2], 7000412345+int64(n)*7919), "standard"
		}
		return
	}
	r["driver_id"], r["assigned_worker_id"], r["vehicle_id"], r["stop_seq"] = s.driver.id, s.driver.person.id,
		nullableID(s.driver.vehicle), int64(1+n%6)
	if s.status == "delivered" {
		r["proof"] = rawJSON(map[string]any{"name": map[string]string{"DE": "Warenannahme"}[w.country], "signature": signed})
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
