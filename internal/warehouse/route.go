package warehouse

import (
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
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
	for _, c := range changes {
		if becomes(c, "status", "cancelled") {
			off = append(off, c.After.Text("id"))
		}
		if isAltered(c, "status") {
			drivers.addID(c.After.Text("driver_id"))
			vehicles.addID(c.After.Text("vehicle_id"))
		}
	}
	if len(off) > 0 {
		stops, err := k.Rows("shipments", tx.DB().InUUID("route_id", 2)+" ORDER BY id"+tx.DB().ForUpdate(), jsonList(off))
		if err != nil {
			return err
		}
		if err := k.UpdateRows("shipments", store.TextColumn(stops, "id"),
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
func onTheWay(c store.Change, now time.Time) *fault.Error {
	if c.After["route_id"] != nil && c.After["route_id"] == c.Before["route_id"] {
		for _, field := range []string{"driver_id", "vehicle_id", "carrier", "carrier_id"} {
			if isAltered(c, field) {
				return fault.New(fault.Conflict, CodeInUse, "%s is that of the route which the shipment is on", field).
					With("", "Cancel the route, or plan another one.").At(field, "is that of the route")
			}
		}
	}
	if !isAltered(c, "arrived_at") || c.After["arrived_at"] == nil {
		return nil
	}
	at, err := time.Parse(time.RFC3339, c.After.Text("arrived_at"))
	if st := c.After.Text("status"); err != nil || at.After(now) {
		return fault.New(fault.Invalid, "22023", "arrived_at is in the future").At("arrived_at", "is in the future")
	} else if c.After["dispatched_at"] == nil {
		return notReady("a shipment that is %s has no arrived_at yet", st).At("arrived_at", "is for shipments on the road")
	}
	return nil
}

// lockRoute locks a route for the caller; a driver's own are there for him.
func lockRoute(c *verb.Call, id string) (store.Row, error) {
	r, err := c.One("routes", "route_id", id)
	if err != nil {
		return nil, err
	}
	if c.Role == actor.Driver && (c.WorkerID == "" || r["assigned_worker_id"] != any(c.WorkerID)) {
		return nil, verb.Missing("routes", "route_id")
	}
	return r, nil
}

// lockStops are the shipments of a route in their order, locked.
func lockStops(tx *store.Tx, route string) ([]store.Row, error) {
	if _, err := tx.Rows("shipments", "route_id = $2 ORDER BY id"+tx.DB().ForUpdate(), route); err != nil {
		return nil, err
	}
	return tx.Rows("shipments", "route_id = $2 ORDER BY stop_seq, id", route)
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
	out := &RouteOut{Route: rec, Stops: c.Records("shipments", rows)}
	switch rec.Row().Text("status") {
	case "planned":
		out.Then("start_route", "Start the route")
	case "started":
		out.Then("deliver", "Deliver a stop")
		out.Then("report_exception", "Report a problem")
		out.Then("finish_route", "Finish the route")
	}
	return out, err
}
