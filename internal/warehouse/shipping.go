package warehouse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// CodeDispatch is a shipment that may not leave, with the list of reasons.
const CodeDispatch = "HF024"

// closed are the states after which a shipment is kept as it is.
var closed = []string{"delivered", "received", "returned", "cancelled"}

// keep refuses changes of shipments that have come to their end.
func keep(c store.Change) *fault.Error {
	for _, st := range closed {
		if err := frozen(c, "status", st, "freight_cost"); err != nil {
			return err
		}
	}
	return nil
}

// leaving reports an outbound shipment that leaves the warehouse.
func leaving(c store.Change) bool {
	return c.Op == store.Update && c.After["direction"] == "outbound" && turned(c, "status", "in_transit") && c.Before["status"] == "ready"
}

// followShipments books what leaves, and brings orders and drivers along.
func (w Watch) followShipments(tx *db.Tx, a actor.Actor, s *store.Store, changes []store.Change) error {
	k := work{w: w, tx: tx, a: a, s: s}
	var gone, arrived []string
	for _, c := range changes {
		switch {
		case leaving(c):
			gone = append(gone, text(c.After, "id"))
		case c.Op == store.Update && turned(c, "status", "delivered"):
			arrived = append(arrived, text(c.After, "id"))
		}
	}
	if err := k.depart(gone); err != nil {
		return err
	}
	if err := k.arrive(arrived); err != nil {
		return err
	}
	return k.crews(changes)
}

// waits is what of a shipment line is still to leave.
type waits struct {
	store.Row
	left decimal.Dec
}

// loads are the lines of shipments that are to leave.
func (k work) loads(shipments []string) ([]waits, error) {
	rows, err := k.rows("shipment_lines", k.tx.DB().InUUID("shipment_id", 2)+" ORDER BY id", jsonList(shipments))
	if err != nil {
		return nil, err
	}
	out := make([]waits, len(rows))
	for i, r := range rows {
		out[i] = waits{Row: r, left: dec(r, "quantity") - dec(r, "qty_shipped")}
	}
	return out, nil
}

// depart books the goods of shipments out and consumes their reservations.
func (k work) depart(shipments []string) error {
	if len(shipments) == 0 {
		return nil
	}
	list, err := k.loads(shipments)
	if err != nil || len(list) == 0 {
		return err
	}
	var lines []string
	for _, l := range list {
		lines = append(lines, text(l.Row, "order_line_id"))
	}
	held, err := k.active(lines)
	if err != nil {
		return err
	}
	d := &departure{work: k, shipped: map[string]decimal.Dec{}}
	for _, l := range list {
		if err := d.take(l, held); err != nil {
			return err
		}
	}
	return d.book(lines)
}

// departure is what leaves.
type departure struct {
	work
	moves, parted, sent []store.Row
	consumed            []string
	shipped             map[string]decimal.Dec // by order line
}

// take takes a shipment line's goods off the reservations of its order line.
func (d *departure) take(l waits, held []store.Row) error {
	left, line := l.left, text(l.Row, "order_line_id")
	for _, r := range held {
		if left == 0 || r["order_line_id"] != l.Row["order_line_id"] || r["picked"] != true || dec(r, "quantity") == 0 {
			continue
		}
		q := min(left, dec(r, "quantity"))
		id := text(r, "id")
		if q < dec(r, "quantity") {
			n, err := d.part(r, q)
			if err != nil {
				return err
			}
			d.parted = append(d.parted, n)
			id = text(n, "id")
		} else {
			r["quantity"] = decimal.Dec(0) // none of it is left for another line
		}
		d.consumed = append(d.consumed, id)
		d.moves = append(d.moves, store.Row{"type": "ship", "item_id": r["item_id"], "lot_id": r["lot_id"], "serial": r["serial"], "owner_id": r["owner_id"],
			"lpn": r["lpn"], "from_zone_id": r["zone_id"], "quantity": q, "ref_type": "shipments", "ref_id": l.Row["shipment_id"], "reservation_id": id})
		d.shipped[line] += q
		left -= q
	}
	if left > 0 {
		return notReady("goods of a line are not picked").At("shipment_id", "is not complete")
	}
	d.sent = append(d.sent, store.Row{"id": l.Row["id"], "qty_shipped": l.Row["quantity"]})
	return nil
}

func (d *departure) book(lines []string) error {
	if _, err := d.insert("stock_movements", d.moves); err != nil {
		return err
	}
	if _, err := d.insert("reservations", d.parted); err != nil {
		return err
	}
	if err := d.update("reservations", d.consumed, store.Row{"state": "consumed"}); err != nil {
		return err
	}
	if err := d.updateEach("shipment_lines", d.sent); err != nil {
		return err
	}
	return d.progress(lines, d.shipped)
}

// arrive gives orders whose goods have all been delivered their last stage.
func (k work) arrive(shipments []string) error {
	if len(shipments) == 0 {
		return nil
	}
	rows, err := k.rows("shipments", k.tx.DB().InUUID("id", 2), jsonList(shipments))
	if err != nil {
		return err
	}
	var orders set
	for _, r := range rows {
		for _, id := range idsOf(r["order_ids"]) {
			orders.add(id)
		}
	}
	queueDelivered(k.tx, k.a.TenantID, jsonList(orders.list), k.s.Now())
	return nil
}

// crews brings the drivers of shipments to the state that their work says; one
// who is off duty or suspended stays so.
func (k work) crews(changes []store.Change) error {
	var ids set
	for _, c := range changes {
		if c.Op != store.Update || altered(c, "status") || altered(c, "driver_id") {
			ids.add(text(c.Before, "driver_id"))
			ids.add(text(c.After, "driver_id"))
		}
	}
	if len(ids.list) == 0 {
		return nil
	}
	want := map[string][]string{}
	err := k.tx.Query("SELECT d.id, d.status, COUNT(CASE WHEN s.status IN ('in_transit', 'exception') THEN 1 END), COUNT(CASE WHEN s.status IN "+
		"('planned', 'packed', 'ready') THEN 1 END) "+
		"FROM drivers d LEFT JOIN shipments s ON s.tenant_id = $1 AND s.driver_id = d.id WHERE d.tenant_id = $1 AND "+k.tx.DB().InUUID("d.id", 2)+
		" GROUP BY d.id, d.status ORDER BY d.id", []any{k.a.TenantID, jsonList(ids.list)}, func(r *db.Row) error {
		for _, st := range duty(r.Text(1), r.Int(2), r.Int(3)) {
			want[st] = append(want[st], r.Text(0))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, st := range []string{"assigned", "on_trip", "available"} {
		if err := k.update("drivers", want[st], store.Row{"status": st}); err != nil {
			return err
		}
	}
	return nil
}

// duty lists the states that take a driver from the one he is in to the one that
// so many shipments on the road and in the house mean.
func duty(now string, road, house int64) []string {
	to := "available"
	switch {
	case road > 0:
		to = "on_trip"
	case house > 0:
		to = "assigned"
	}
	switch {
	case now == to || now == "off_duty" || now == "suspended":
		return nil
	case now == "available" && to == "on_trip":
		return []string{"assigned", "on_trip"}
	}
	return []string{to}
}

// unready lists why shipments may not leave, by their id: goods that are not
// picked and packed, a driver who may not drive, a vehicle that may not go.
func (k work) unready(changes []store.Change) (map[string][]string, error) {
	why := map[string][]string{}
	var ids []string
	for _, c := range changes {
		if leaving(c) {
			ids = append(ids, text(c.After, "id"))
		}
	}
	if len(ids) == 0 {
		return why, nil
	}
	if err := k.attach(ids, why); err != nil {
		return nil, err
	}
	if err := k.unpacked(ids, why); err != nil {
		return nil, err
	}
	for _, c := range changes {
		if !leaving(c) {
			continue
		}
		id := text(c.After, "id")
		for _, of := range []func(store.Row) ([]string, error){k.driverUnfit, k.vehicleUnfit} {
			reasons, err := of(c.After)
			if err != nil {
				return nil, err
			}
			why[id] = append(why[id], reasons...)
		}
	}
	return why, nil
}

// attach gives shipments that only name their orders lines of all that is
// reserved of them, and adds the orders that have nothing reserved.
func (k work) attach(shipments []string, why map[string][]string) error {
	bare, err := k.rows("shipments", k.tx.DB().InUUID("id", 2)+" AND NOT EXISTS (SELECT 1 FROM shipment_lines l WHERE l.tenant_id = $1 AND "+
		"l.shipment_id = shipments.id) "+
		"ORDER BY id", jsonList(shipments))
	if err != nil {
		return err
	}
	var rows []store.Row
	for _, sh := range bare {
		lines, err := k.rows("order_lines", k.tx.DB().InUUID("order_id", 2)+" AND qty_ordered - qty_cancelled > qty_shipped ORDER BY id",
			jsonList(idsOf(sh["order_ids"])))
		if err != nil {
			return err
		}
		for _, l := range lines {
			q := dec(l, "qty_allocated") - dec(l, "qty_shipped")
			if q == 0 {
				id := text(sh, "id")
				why[id] = append(why[id], fmt.Sprintf("line %v: nothing is reserved", l["line_no"]))
				continue
			}
			rows = append(rows, store.Row{"shipment_id": sh["id"], "order_id": l["order_id"], "order_line_id": l["id"], "item_id": l["item_id"], "quantity": q})
		}
	}
	_, err = k.insert("shipment_lines", rows)
	return err
}

// unpacked adds the lines of which not all is packed.
func (k work) unpacked(shipments []string, why map[string][]string) error {
	list, err := k.loads(shipments)
	if err != nil {
		return err
	}
	var lines set
	for _, l := range list {
		lines.add(text(l.Row, "order_line_id"))
	}
	have := map[string]store.Row{}
	rows, err := k.rows("order_lines", k.tx.DB().InUUID("id", 2), jsonList(lines.list))
	if err != nil {
		return err
	}
	for _, r := range rows {
		have[text(r, "id")] = r
	}
	for _, l := range list {
		r, id := have[text(l.Row, "order_line_id")], text(l.Row, "shipment_id")
		picked, packed := dec(r, "qty_picked")-dec(r, "qty_shipped"), dec(r, "qty_packed")-dec(r, "qty_shipped")
		switch {
		case picked < l.left:
			why[id] = append(why[id], fmt.Sprintf("line %v: %s of %s are picked", r["line_no"], picked, l.left))
		case packed < l.left:
			why[id] = append(why[id], fmt.Sprintf("line %v: %s of %s are packed", r["line_no"], packed, l.left))
		}
	}
	return nil
}

// driverUnfit says why a shipment's driver may not drive today.
func (k work) driverUnfit(sh store.Row) (why []string, err error) {
	if sh["driver_id"] == nil {
		return nil, nil
	}
	today := k.s.Now().Format(time.DateOnly)
	drivers, err := k.rows("drivers", "id = $2", sh["driver_id"])
	if err != nil || len(drivers) != 1 {
		return nil, err
	}
	d := drivers[0]
	if st := text(d, "status"); st == "suspended" || st == "off_duty" || d["archived_at"] != nil {
		why = append(why, "the driver is "+strings.ReplaceAll(st, "_", " "))
	}
	if on := text(d, "licence_expires_on"); on != "" && on < today {
		why = append(why, "the driver's licence expired on "+on)
	}
	lapsed, err := k.lapsed(text(d, "worker_id"), today)
	for _, title := range lapsed {
		why = append(why, "the driver's certificate of "+title+" is not valid")
	}
	return why, err
}

// lapsed are the courses that a worker's job asks for and whose certificate has
// run out. A course he was never certified in is the programme's to assign.
func (k work) lapsed(worker, today string) (titles []string, err error) {
	workers, err := k.rows("workers", "id = $2", worker)
	if err != nil || len(workers) != 1 || workers[0]["job_title"] == nil || workers[0]["user_id"] == nil {
		return nil, err
	}
	courses, err := k.rows("courses", "status = 'active' AND archived_at IS NULL ORDER BY code")
	if err != nil {
		return nil, err
	}
	for _, c := range courses {
		if !slices.Contains(idsOf(c["required_for"]), text(workers[0], "job_title")) {
			continue
		}
		held, err := k.rows("training_assignments", "course_id = $2 AND user_id = $3 AND status IN ('completed', 'expired')", c["id"], workers[0]["user_id"])
		if err != nil {
			return nil, err
		}
		valid := slices.ContainsFunc(held, func(r store.Row) bool {
			return r["status"] == "completed" && (r["expires_on"] == nil || text(r, "expires_on") >= today)
		})
		if len(held) > 0 && !valid {
			titles = append(titles, text(c, "title"))
		}
	}
	return titles, nil
}

// vehicleUnfit says why a shipment's vehicle may not go today.
func (k work) vehicleUnfit(sh store.Row) (why []string, err error) {
	if sh["vehicle_id"] == nil {
		return nil, nil
	}
	rows, err := k.rows("vehicles", "id = $2", sh["vehicle_id"])
	if err != nil || len(rows) != 1 {
		return nil, err
	}
	v := rows[0]
	if st := text(v, "status"); st != "in_service" {
		why = append(why, "the vehicle is "+strings.ReplaceAll(st, "_", " "))
	}
	if due := text(v, "inspection_due_on"); due != "" && due < k.s.Now().Format(time.DateOnly) {
		why = append(why, "the vehicle's inspection was due on "+due)
	}
	return why, nil
}

// notLeaving refuses a shipment that may not leave.
func notLeaving(why []string) *fault.Error {
	return fault.New(fault.Conflict, CodeDispatch, "the shipment may not leave: %s", why[0]).With(strings.Join(why, "; "), "").At("shipment_id", "may not leave")
}
