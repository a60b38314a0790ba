package warehouse

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/catchweight"
	"holdfast/internal/warehouse/crew"
	"holdfast/internal/warehouse/packing"
	"holdfast/internal/warehouse/transfers"
)

// CodeDispatch is a shipment that may not leave, with the list of reasons.
const CodeDispatch = "HF024"

// closed are the states after which a shipment is kept as it is.
var closed = []string{"delivered", "received", "returned", "cancelled"}

// checkClosedShipment refuses changes of shipments that have come to their end.
func checkClosedShipment(c record.Change[record.Shipment]) *fault.Error {
	for _, st := range closed {
		if err := checkFrozen(c.Change, "status", st, "freight_cost"); err != nil {
			return err
		}
	}
	return nil
}

// isDeparture reports an outbound shipment that leaves the warehouse.
func isDeparture(c record.Change[record.Shipment]) bool {
	return c.Op == store.Update && c.After.Direction() == "outbound" &&
		c.Becomes(record.Shipment.Status, "in_transit") && c.Before.Status() == "ready"
}

// followShipments books what leaves, brings orders and drivers along, and opens
// return orders over what comes back.
func (w Watch) followShipments(tx *store.Tx, changes []store.Change) error {
	k := work{tx, w}
	var gone, arrived, returned, cancelled []string
	for _, c := range record.Changes[record.Shipment](changes) {
		switch {
		case isDeparture(c):
			gone = append(gone, c.After.ID())
		case c.Op == store.Update && c.Becomes(record.Shipment.Status, "delivered"):
			arrived = append(arrived, c.After.ID())
		case c.Op == store.Update && c.Becomes(record.Shipment.Status, "returned"):
			returned = append(returned, c.After.ID())
		case c.Op == store.Update && c.Becomes(record.Shipment.Status, "cancelled"):
			cancelled = append(cancelled, c.After.ID())
		}
	}
	if err := k.freePackages(cancelled); err != nil {
		return err
	}
	if err := k.bookDeparture(gone); err != nil {
		return err
	}
	if err := k.completeDelivered(arrived); err != nil {
		return err
	}
	for _, id := range returned {
		if err := k.openReturn(id); err != nil {
			return err
		}
	}
	if err := k.updateDrivers(changes); err != nil {
		return err
	}
	return k.updateVehicles(changes)
}

// waits is what of a shipment line is still to leave.
type waits struct {
	record.ShipmentLine
	left decimal.Dec
}

// loadLines are the lines of shipments that are to leave.
func (k work) loadLines(shipments []string) ([]waits, error) {
	rows, err := record.List[record.ShipmentLine](k.Tx, k.DB().InUUID("shipment_id", 2)+" ORDER BY id",
		jsonList(shipments))
	if err != nil {
		return nil, err
	}
	out := make([]waits, len(rows))
	for i, r := range rows {
		out[i] = waits{ShipmentLine: r, left: r.Quantity() - r.QtyShipped()}
	}
	return out, nil
}

// bookDeparture books the goods of shipments out and consumes their reservations.
func (k work) bookDeparture(shipments []string) error {
	if len(shipments) == 0 {
		return nil
	}
	list, err := k.loadLines(shipments)
	if err != nil || len(list) == 0 {
		return err
	}
	var lines []string
	for _, l := range list {
		lines = append(lines, l.OrderLineID())
	}
	held, err := k.activeReservations(lines)
	if err != nil {
		return err
	}
	contents, err := packing.ReadContentsOfShipments(k.Tx, shipments)
	if err != nil {
		return err
	}
	d := &departure{work: k, shipped: map[string]decimal.Dec{}}
	if d.weighed, err = catchweight.ReadPicked(k.Tx, lines); err != nil {
		return err
	}
	if d.transit, err = transfers.OpenTransit(k.Tx, lines); err != nil {
		return err
	}
	for _, l := range list {
		if err := d.consumeReservations(l, held, contents); err != nil {
			return err
		}
	}
	return d.postDeparture(lines)
}

// departure is what leaves.
type departure struct {
	work
	moves    []record.StockMovement
	sent     []record.ShipmentLine
	parted   []record.Reservation
	consumed []string
	shipped  map[string]decimal.Dec // by order line
	weighed  *catchweight.Picked
	transit  *transfers.Transit
}

// consumeReservations takes what a shipment's own packages hold of a line off the
// reservations of its order line, lot by lot and piece by piece.
func (d *departure) consumeReservations(l waits, held []record.Reservation, contents []packing.Content) error {
	line := l.OrderLineID()
	var own decimal.Dec
	for _, c := range packing.OfShipment(contents, l.ShipmentID()) {
		if c.OrderLineID != line {
			continue
		}
		own += c.Quantity
		if err := d.consumeContent(l, c, held); err != nil {
			return err
		}
	}
	if own != l.left {
		return notReady("goods of a line are not packed").At("shipment_id", "is not complete")
	}
	d.sent = append(d.sent, record.ShipmentLine{"id": l.ID(), "qty_shipped": l.Quantity()})
	return nil
}

// consumeContent takes goods of a package off the reservations of their order line.
func (d *departure) consumeContent(l waits, c packing.Content, held []record.Reservation) error {
	left := c.Quantity
	for _, r := range held {
		isSame := r.OrderLineID() == l.OrderLineID() && *identityOf(r) == c.Identity
		if left == 0 || !isSame || !r.Picked() || r.Quantity() == 0 {
			continue
		}
		q := min(left, r.Quantity())
		id := r.ID()
		if q < r.Quantity() {
			n, err := d.splitReservation(r, q)
			if err != nil {
				return err
			}
			d.parted = append(d.parted, n)
			id = n.ID()
		} else {
			r.SetQuantity(decimal.Dec(0)) // none of it is left for another line
		}
		d.consumed = append(d.consumed, id)
		move := record.StockMovement{
			"type": "ship", "item_id": c.ItemID, "lot_id": db.Null(c.LotID), "serial": db.Null(c.Serial),
			"owner_id": r.OwnerIDOrNull(), "lpn": r.LPNOrNull(), "from_zone_id": r.ZoneID(), "quantity": q,
			"ref_type": "shipments", "ref_id": c.ShipmentID, "reservation_id": id,
		}
		weight, err := d.weighed.TakeWeight(c.OrderLineID, c.LotID, c.Serial, q)
		if err != nil {
			return fmt.Errorf("warehouse: weight of what leaves: %w", err)
		}
		if weight > 0 {
			move.SetWeightKg(weight)
		}
		d.transit.LeadInto(move, c.OrderLineID)
		d.moves = append(d.moves, move)
		d.shipped[c.OrderLineID] += q
		left -= q
	}
	if left > 0 {
		return notReady("goods of package %s are not picked", c.PackageNo).At("shipment_id", "is not complete")
	}
	return nil
}

func (d *departure) postDeparture(lines []string) error {
	if _, err := record.Insert(d.Tx, d.moves); err != nil {
		return err
	}
	if _, err := record.Insert(d.Tx, d.parted); err != nil {
		return err
	}
	if err := d.UpdateRows("reservations", d.consumed, store.Row{"state": "consumed"}); err != nil {
		return err
	}
	if err := d.UpdateEach("shipment_lines", record.Rows(d.sent)); err != nil {
		return err
	}
	return d.updateOrderLines(lines, d.shipped)
}

// completeDelivered gives orders whose goods have all been delivered their last stage.
func (k work) completeDelivered(shipments []string) error {
	if len(shipments) == 0 {
		return nil
	}
	rows, err := record.List[record.Shipment](k.Tx, k.DB().InUUID("id", 2), jsonList(shipments))
	if err != nil {
		return err
	}
	var orders set
	for _, r := range rows {
		for _, id := range store.Texts(r.OrderIDs()) {
			orders.addID(id)
		}
	}
	queueDelivered(k.Tx.Tx, k.TenantID, jsonList(orders.list), k.Now())
	return nil
}

// updateDrivers brings the drivers of shipments to the state that their work says; one
// who is off duty or suspended stays so.
func (k work) updateDrivers(changes []store.Change) error {
	var ids set
	for _, c := range record.Changes[record.Shipment](changes) {
		if c.Op != store.Update || c.Alters(record.Shipment.StatusOrNull) || c.Alters(record.Shipment.DriverIDOrNull) {
			ids.addID(c.Before.DriverID())
			ids.addID(c.After.DriverID())
		}
	}
	return crew.UpdateDrivers(k.Tx, ids.list)
}

// updateVehicles notes of vehicles whether they are out with a shipment, and of drivers
// which vehicle they took.
func (k work) updateVehicles(changes []store.Change) error {
	var ids set
	var seats []store.Row
	for _, c := range record.Changes[record.Shipment](changes) {
		if c.Alters(record.Shipment.StatusOrNull) || c.Alters(record.Shipment.VehicleIDOrNull) {
			ids.addID(c.Before.VehicleID())
			ids.addID(c.After.VehicleID())
		}
		if isDeparture(c) && c.After.HasDriverID() && c.After.HasVehicleID() {
			seats = append(seats, store.Row{"id": c.After.DriverIDOrNull(), "vehicle_id": c.After.VehicleIDOrNull()})
		}
	}
	if err := crew.UpdateVehicles(k.Tx, ids.list); err != nil {
		return err
	}
	return k.UpdateEach("drivers", firstOfEach(seats))
}

// firstOfEach keeps the first row of each id.
func firstOfEach(rows []store.Row) (out []store.Row) {
	seen := map[any]bool{}
	for _, r := range rows {
		if !seen[r["id"]] {
			seen[r["id"]] = true
			out = append(out, r)
		}
	}
	return out
}
