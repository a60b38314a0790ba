package warehouse

import (
	"fmt"
	"slices"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/kits"
	"holdfast/internal/warehouse/locking"
)

// ShipmentLineIn is how much of an order line travels.
type ShipmentLineIn struct {
	LineID   string      `json:"order_line_id" required:"true" format:"uuid" names:"order_lines" doc:"A line of an outbound order."`
	Quantity decimal.Dec `json:"quantity" required:"true" min:"0.0001" doc:"Base units."`
}

// CreateShipmentIn says what travels together; an order may travel in several
// shipments.
type CreateShipmentIn struct {
	Lines    []ShipmentLineIn `json:"lines" max:"500" doc:"What travels; or"`
	OrderIDs []string         `json:"order_ids" max:"200" format:"uuid" names:"orders" doc:"all of these orders that is reserved and on no other shipment."`
	Carrier  string           `json:"carrier" code:"true" max:"64" doc:"Code of the carrier; absent for the own fleet."`
	Carries  string           `json:"carrier_id" format:"uuid" names:"carriers" doc:"Or its record."`
	Service  string           `json:"service" max:"64" doc:"Of the carrier."`
	DriverID string           `json:"driver_id" format:"uuid" names:"drivers" doc:"Who drives."`
	Vehicle  string           `json:"vehicle_id" format:"uuid" names:"vehicles" doc:"What with."`
	Planned  string           `json:"planned_at" format:"date-time" doc:"When it is to leave."`
}

// ShipmentOut is a shipment with its lines.
type ShipmentOut struct {
	verb.Answer
	Shipment verb.Record   `json:"shipment" record:"shipments"`
	Lines    []verb.Record `json:"lines" record:"shipment_lines"`
	Packages []verb.Record `json:"packages" record:"packages" doc:"That travel with it."`
}

func (w Watch) createShipment(c *verb.Call, in *CreateShipmentIn) (*ShipmentOut, error) {
	k := w.workOf(c)
	if err := checkKnown[record.Driver](c, "driver_id", in.DriverID); err != nil {
		return nil, err
	}
	if err := checkKnown[record.Vehicle](c, "vehicle_id", in.Vehicle); err != nil {
		return nil, err
	}
	if err := checkKnown[record.Carrier](c, "carrier_id", in.Carries); err != nil {
		return nil, err
	}
	asked := map[string]decimal.Dec{}
	var ids []string
	for _, l := range in.Lines {
		asked[l.LineID] += l.Quantity
		ids = append(ids, l.LineID)
	}
	lines, err := k.lockShippable(c, in.OrderIDs, ids)
	if err != nil {
		return nil, err
	}
	rows, orders, err := k.makeShipmentLines(c, lines, ids, asked)
	if err != nil {
		return nil, err
	}
	set := record.Shipment{"order_ids": orders}
	for name, v := range map[string]string{"carrier": in.Carrier, "carrier_id": in.Carries, "service": in.Service,
		"driver_id": in.DriverID, "vehicle_id": in.Vehicle, "planned_at": in.Planned} {
		if v != "" {
			set[name] = v
		}
	}
	made, err := record.Insert(k.Tx, []record.Shipment{set})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		record.ShipmentLine(r).SetShipmentIDOrNull(made[0].ID())
	}
	if _, err := record.Insert(k.Tx, rows); err != nil {
		return nil, err
	}
	id := made[0].ID()
	if err := k.claimPackages(id); err != nil {
		return nil, err
	}
	if err := k.settleShipment(id); err != nil {
		return nil, err
	}
	return shipmentOut(c, id)
}

// checkKnown refuses an id that the tenant does not have, "" is none.
func checkKnown[R record.Kind](c *verb.Call, field, id string) error {
	_, err := readRecord[R](c, field, id)
	return err
}

// lockOrderLines locks the orders of the order lines that the elements of lines
// name, then the lines.
func lockOrderLines(c *verb.Call, ids []string) ([]record.OrderLine, error) {
	if _, err := locking.LockOrdersOfLines(c.Tx, ids); err != nil {
		return nil, err
	}
	return lockLines(c, ids)
}

// lockLines locks the order lines that the elements of lines name, in their order.
func lockLines(c *verb.Call, ids []string) ([]record.OrderLine, error) {
	rows, err := record.List[record.OrderLine](c.Tx, c.DB().InUUID("id", 2)+" ORDER BY id"+c.DB().ForUpdate(),
		jsonList(ids))
	if err != nil {
		return nil, err
	}
	known := record.IDs(rows)
	for i, id := range ids {
		if !slices.Contains(known, id) {
			return nil, verb.Missing("order_lines", lineField(i, "order_line_id"))
		}
	}
	if at := slices.IndexFunc(rows, kits.IsKitLine); at >= 0 {
		field := lineField(slices.Index(ids, known[at]), "order_line_id")
		return nil, kits.RefuseKitLine(rows[at]).At(field, "is the line of a kit")
	}
	return rows, nil
}

// lineField is the place of a member in the list lines of a request.
func lineField(i int, member string) string { return fmt.Sprintf("lines[%d].%s", i, member) }

// lockShippable locks the orders, and returns the lines of them or those named.
func (k work) lockShippable(c *verb.Call, orders, ids []string) ([]record.OrderLine, error) {
	if len(ids) == 0 && len(orders) == 0 {
		return nil, fault.New(fault.Invalid, "22023", "name lines or order_ids").At("lines", "is required")
	}
	if len(ids) > 0 && len(orders) > 0 {
		return nil, fault.New(fault.Invalid, "22023", "name lines or order_ids, not both").At("order_ids",
			"stands beside lines")
	}
	field := "order_ids"
	var lines []record.OrderLine
	var err error
	if len(ids) > 0 {
		field = "lines"
		if lines, err = lockOrderLines(c, ids); err != nil {
			return nil, err
		}
		var of set
		for _, l := range lines {
			of.addID(l.OrderID())
		}
		orders = of.list
	}
	found, err := record.Lock[record.Order](c, field, orders...)
	if err != nil {
		return nil, err
	}
	for _, o := range found {
		if err := checkWorkable(o); err != nil {
			return nil, err
		}
	}
	if len(ids) > 0 {
		return lines, nil
	}
	return record.List[record.OrderLine](k.Tx,
		k.DB().InUUID("order_id", 2)+" AND is_kit IS NOT TRUE ORDER BY order_id, line_no",
		jsonList(orders))
}

// makeShipmentLines makes the lines of a shipment: what is asked of each order line, named
// by ids in the request's order, or what is reserved of it and on no other shipment.
func (k work) makeShipmentLines(
	c *verb.Call, lines []record.OrderLine, ids []string, asked map[string]decimal.Dec,
) (rows []record.ShipmentLine, orders []string, err error) {
	other := map[string]decimal.Dec{}
	on, err := record.List[record.ShipmentLine](k.Tx, k.DB().InUUID("order_line_id", 2)+
		" AND EXISTS (SELECT 1 FROM shipments s WHERE s.tenant_id = $1 "+
		"AND s.id = shipment_lines.shipment_id AND s.status NOT IN ('cancelled', 'returned'))",
		jsonList(record.IDs(lines)))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range on {
		other[r.OrderLineID()] += r.Quantity()
	}
	var of set
	var said []spoken
	for _, l := range lines {
		id := l.ID()
		most := l.QtyOrdered() - l.QtyCancelled() - other[id]
		q := l.QtyAllocated() - other[id]
		if len(asked) > 0 {
			if q = asked[id]; q > most {
				return nil, nil, refuseAbove(lineField(slices.Index(ids, id), "quantity"), q, max(most, 0),
					"is ordered and on no other shipment")
			}
			said = append(said, spoken{item: l.ItemID(), member: lineField(slices.Index(ids, id), "quantity"),
				quantity: q, all: most})
		}
		if q <= 0 {
			continue
		}
		of.addID(l.OrderID())
		rows = append(rows, record.ShipmentLine{"order_id": l.OrderID(), "order_line_id": id, "item_id": l.ItemID(),
			"quantity": q})
	}
	if err := checkBaseUnitDecimals(c, said...); err != nil {
		return nil, nil, err
	}
	if len(rows) == 0 {
		return nil, nil, notReady("nothing is reserved for these orders that is on no other shipment").At("order_ids",
			"have nothing to ship")
	}
	return rows, of.list, nil
}

// shipmentOut reads a shipment back, with what can be done with it.
func shipmentOut(c *verb.Call, id string) (*ShipmentOut, error) {
	rec, err := c.Again("shipments", id)
	if err != nil {
		return nil, err
	}
	rows, err := record.List[record.ShipmentLine](c.Tx, "shipment_id = $2 ORDER BY id", id)
	if err != nil {
		return nil, err
	}
	boxes, err := record.List[record.Package](c.Tx, "shipment_id = $2 ORDER BY package_no", id)
	out := &ShipmentOut{Shipment: rec, Lines: record.ShowList(c, rows), Packages: record.ShowList(c, boxes)}
	switch record.Shipment(rec.Row()).Status() {
	case "planned":
		out.Then("pack", "Pack its goods")
	case "packed":
		out.Then("close_package", "Close its packages")
		out.Then("dispatch", "Send it off")
	case "ready":
		out.Then("dispatch", "Send it off")
	case "in_transit":
		out.Then("deliver", "Deliver it")
		out.Then("report_exception", "Report a problem")
	case "exception":
		out.Then("return_shipment", "Take it back")
	}
	return out, err
}
