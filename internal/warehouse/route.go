package warehouse

import (
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/crew"
)

// A route's stops are the shipments that name it; nothing else lists them. Who
// changes a route locks it before its shipments.

// followRoutes brings drivers and vehicles along, and frees the shipments of
// routes that are cancelled.
func (w Watch) followRoutes(tx *store.Tx, changes []store.Change) error {
	k := work{tx, w}
	var off []string
	var drivers, vehicles set
	for _, c := range record.Changes[record.Route](changes) {
		if c.Becomes(record.Route.Status, "cancelled") {
			off = append(off, c.After.ID())
		}
		if c.Alters(record.Route.StatusOrNull) {
			drivers.addID(c.After.DriverID())
			vehicles.addID(c.After.VehicleID())
		}
	}
	if len(off) > 0 {
		stops, err := record.List[record.Shipment](k.Tx,
			tx.DB().InUUID("route_id", 2)+" ORDER BY id"+tx.DB().ForUpdate(), jsonList(off))
		if err != nil {
			return err
		}
		if err := k.UpdateRows("shipments", record.IDs(stops),
			store.Row{"route_id": nil, "stop_seq": nil}); err != nil {
			return err
		}
	}
	if err := crew.UpdateDrivers(k.Tx, drivers.list); err != nil {
		return err
	}
	return crew.UpdateVehicles(k.Tx, vehicles.list)
}

// onTheWay holds a shipment to its route, whose driver and vehicle take it, and
// its arrival to the time that it is on the road.
func onTheWay(c record.Change[record.Shipment], now time.Time) *fault.Error {
	if c.After.HasRouteID() && c.After.RouteID() == c.Before.RouteID() {
		for _, field := range []string{"driver_id", "vehicle_id", "carrier", "carrier_id"} {
			if isAltered(c.Change, field) {
				return fault.New(fault.Conflict, CodeInUse, "%s is that of the route which the shipment is on", field).
					With("", "Cancel the route, or plan another one.").At(field, "is that of the route")
			}
		}
	}
	if !c.Alters(record.Shipment.ArrivedAtOrNull) || !c.After.HasArrivedAt() {
		return nil
	}
	at, err := time.Parse(time.RFC3339, c.After.ArrivedAt())
	if st := c.After.Status(); err != nil || at.After(now) {
		return fault.New(fault.Invalid, "22023", "arrived_at is in the future").At("arrived_at", "is in the future")
	} else if !c.After.HasDispatchedAt() {
		return notReady("a shipment that is %s has no arrived_at yet", st).At("arrived_at", "is for shipments on the road")
	}
	return nil
}

// lockRoute locks a route for the caller; a driver's own are there for him.
func lockRoute(c *verb.Call, id string) (record.Route, error) {
	r, err := record.One[record.Route](c, "route_id", id)
	if err != nil {
		return nil, err
	}
	if c.Role == actor.Driver && (c.WorkerID == "" || r.AssignedWorkerIDOrNull() != any(c.WorkerID)) {
		return nil, verb.Missing("routes", "route_id")
	}
	return r, nil
}

// lockStops are the shipments of a route in their order, locked.
func lockStops(tx *store.Tx, route string) ([]record.Shipment, error) {
	if _, err := record.List[record.Shipment](tx, "route_id = $2 ORDER BY id"+tx.DB().ForUpdate(), route); err != nil {
		return nil, err
	}
	return record.List[record.Shipment](tx, "route_id = $2 ORDER BY stop_seq, id", route)
}

// RouteOut is a route with its stops.
type RouteOut struct {
	verb.Answer
	Route verb.Record   `json:"route" record:"routes"`
	Stops []verb.Record `json:"stops" record:"shipments" doc:"In their order."`
}

// routeOut reads a route back, with what can be done with it.
func (w Watch) routeOut(c *verb.Call, id string) (*RouteOut, error) {
	rec, err := c.Again("routes", id)
	if err != nil {
		return nil, err
	}
	rows, err := lockStops(w.workOf(c).Tx, id)
	out := &RouteOut{Route: rec, Stops: record.ShowList(c, rows)}
	switch record.Route(rec.Row()).Status() {
	case "planned":
		out.Then("start_route", "Start the route")
	case "started":
		out.Then("deliver", "Deliver a stop")
		out.Then("report_exception", "Report a problem")
		out.Then("finish_route", "Finish the route")
	}
	return out, err
}
