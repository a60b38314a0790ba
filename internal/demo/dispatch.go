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
		w.writePickList(day, due[:n], listStatus(due[0]))
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

func (w *stock) writePickList(day int, orders []*order, status string) {
	l := &pickList{day: day, at: w.cal.momentAt(day, w.cal.drawHour(8.15, 8.4)), status: status}
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
		id := w.cal.newID(l.day, l.at)
		started, done, picked := l.pickTimes()
		r := store.Row{
			"id":       id,
			"pick_no":  w.nextNumber("PL", l.at),
			"strategy": []string{"single", "batch", "batch"}[min(2, len(l.takes)/3)],
			"status":   l.status,
			"priority": int64(
				2 + i%3,
			),
			"route_m":    decimal.FromFloat(math.Round(l.walkMetres())),
			"created_by": w.userID("manager"),
			"version":    int64(1 + picked),
		}
		if l.by != nil {
			r["assigned_worker_id"] = l.by.id
		}
		if l.status != "draft" {
			r["released_at"] = formatMoment(w.cal.clipToNow(l.at.Add(4 * time.Minute)))
		}
		if picked > 0 {
			r["started_at"], r["updated_at"] = formatMoment(started), formatMoment(done)
		}
		if l.status == "completed" {
			r["completed_at"] = formatMoment(done)
		}
		w.addRecord("pick_lists", l.day, l.at, r)
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
		if longest != nil && p.user == w.userID("operator") && p.user != "" {
			longest.by = p
		}
	}
}

func (l *pickList) pickTimes() (started, done time.Time, picked int) {
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

// walkMetres is the way through the bins in metres, from the door and back.
func (l *pickList) walkMetres() float64 {
	x, y, sum := 0.0, 0.0, 0.0
	for _, t := range l.takes {
		z := t.level.zone
		sum += math.Abs(z.x-x) + math.Abs(z.y-y)
		x, y = z.x, z.y
	}
	return sum + x + y
}

func (w *stock) emitPickLine(l *pickList, list string, n int, t *take) {
	r := store.Row{"pick_list_id": list, "seq": int64(n + 1), "order_line_id": t.line.id, "zone_id": t.level.zone.id,
		"item_id": t.line.item.id,
		"qty":     wholeUnits(t.qty), "qty_picked": wholeUnits(0), "status": "pending", "created_by": w.userID("manager")}
	if t.id != "" {
		r["reservation_id"] = t.id
	}
	if t.level.lot != nil {
		r["lot_id"] = t.level.lot.id
	}
	if l.by != nil {
		r["assigned_worker_id"] = l.by.id
	}
	if l.status == "cancelled" {
		r["status"] = "cancelled"
	} else if !t.picked.IsZero() {
		r["status"], r["qty_picked"], r["picked_at"], r["picked_by"] = "picked", wholeUnits(t.qty), formatMoment(t.picked),
			nullableID(t.by.user)
		r["target_container"], r["updated_at"], r["version"] = fmt.Sprintf("TOTE-%03d", 100+len(l.takes)*7%90),
			formatMoment(t.picked), int64(2)
		if len(w.rows["pick_lines"])%47 == 20 {
			r["status"], r["qty"], r["short_reason"] = "short", wholeUnits(t.qty+t.line.item.packet),
				"bin held less than the system said"
		}
	}
	w.addRecord("pick_lines", l.day, l.at, r)
}

// loadTrucks sends a day's packed orders on their way; orders of one carrier may
// share a truck.
func (w *stock) loadTrucks(day int, due []*order) {
	var trucks []*shipment
	for _, o := range due {
		if o.stage != gone {
			continue
		}
		s := w.traffic.findTruck(trucks, o)
		if s == nil {
			s = w.traffic.addShipment(
				&shipment{
					made:    day,
					at:      w.cal.momentAt(day, w.cal.drawHour(13.5, 13.8)),
					left:    w.cal.momentAt(day, w.cal.drawHour(14.4, 15.8)),
					carrier: o.carrier,
					arrive:  w.cal.nextWorking(day),
					status:  "in_transit",
				},
			)
			if o.carrier == "OWN" {
				s.driver = w.nextDriver()
			} else {
				s.arrive = w.cal.nextWorking(s.arrive)
			}
			trucks = append(trucks, s)
		}
		s.orders = append(s.orders, o)
		w.bookDeparture(o, day, s.left)
	}
}
