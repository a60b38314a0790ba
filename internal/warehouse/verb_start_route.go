package warehouse

import (
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/crew"
)

// StartRouteIn is the vehicle that the driver stands at and what it shows.
type StartRouteIn struct {
	RouteID  string      `json:"route_id" required:"true" format:"uuid" names:"routes" doc:"A planned route; a driver's own."`
	Vehicle  string      `json:"vehicle_id" required:"true" format:"uuid" names:"vehicles" doc:"The planned one, confirmed."`
	Odometer decimal.Dec `json:"odometer_km" required:"true" min:"0" doc:"Not less than it showed last."`
}

// StartRouteOut is the route and what became of each of its shipments.
type StartRouteOut struct {
	verb.Answer
	Route     verb.Record  `json:"route" record:"routes"`
	Shipments []Dispatched `json:"shipments"`
	Warnings  []string     `json:"warnings" doc:"Against driving now: (EC) 561/2006."`
}

func (w Watch) startRoute(c *verb.Call, in *StartRouteIn) (*StartRouteOut, error) {
	k := w.workOf(c)
	r, err := lockRoute(c, in.RouteID)
	if err != nil {
		return nil, err
	}
	if st := r.Status(); st != "planned" {
		return nil, notReady("route %s is %s, not planned", r.RouteNo(), st).At("route_id", "is %s", st)
	}
	if err := checkKnown[record.Vehicle](c, "vehicle_id", in.Vehicle); err != nil {
		return nil, err
	}
	if r.VehicleID() != in.Vehicle {
		return nil, notReady("route %s is planned with another vehicle than vehicle_id", r.RouteNo()).At("vehicle_id",
			"is not that of the plan")
	}
	stops, err := lockStops(k.Tx, in.RouteID)
	if err != nil {
		return nil, err
	}
	why, err := staysBehind(k, stops)
	if err != nil {
		return nil, err
	}
	if err := mayStart(c, r, in.Odometer); err != nil {
		return nil, err
	}
	if err := nobodyLeaves(stops, why); err != nil {
		return nil, err
	}
	against, err := crew.CheckDrivingHours(k.Tx, r.DriverID())
	if err != nil {
		return nil, err
	}
	out, err := w.setOff(c, in, stops, why)
	if out != nil {
		out.Warnings = append([]string{}, against...)
	}
	return out, err
}

// staysBehind says why stops may not leave. What has left before its route is on it.
func staysBehind(k work, stops []record.Shipment) (map[string][]string, error) {
	var waiting []record.Shipment
	for _, s := range stops {
		if !hasLeft(s) {
			waiting = append(waiting, s)
		}
	}
	store.SortByID(record.Rows(waiting))
	return k.listStaying(waiting)
}

// hasLeft reports a shipment that has left.
func hasLeft(s record.Shipment) bool { return s.HasDispatchedAt() }

// nobodyLeaves refuses a route of which no shipment may leave.
func nobodyLeaves(stops []record.Shipment, why map[string][]string) error {
	var all []string
	for _, s := range stops {
		list := why[s.ID()]
		if len(list) == 0 {
			return nil
		}
		all = append(all, s.ShipmentNo()+": "+strings.Join(list, ", "))
	}
	return fault.New(fault.Conflict, CodeDispatch, "no shipment of the route may leave").With(strings.Join(all, "; "), "").
		At("route_id", "has none that may leave")
}

// mayStart refuses a reading below the vehicle's last, and a driver or a vehicle
// that is out on another route. It locks both.
func mayStart(c *verb.Call, r record.Route, odometer decimal.Dec) error {
	if _, err := record.One[record.Driver](c, "driver_id", r.DriverID()); err != nil {
		return err
	}
	v, err := record.One[record.Vehicle](c, "vehicle_id", r.VehicleID())
	if err != nil {
		return err
	}
	if last := v.OdometerKm(); odometer < last {
		return fault.New(fault.Conflict, CodeOrder, "odometer_km is %s, and the vehicle has shown %s", odometer,
			last).At("odometer_km", "is less than %s", last)
	}
	out, err := record.List[record.Route](c.Tx,
		"status = 'started' AND (driver_id = $2 OR vehicle_id = $3) ORDER BY id", r.DriverID(),
		r.VehicleID())
	if err != nil || len(out) == 0 {
		return err
	}
	return notReady("the driver or the vehicle is out on route %s", out[0].RouteNo()).At("route_id", "waits for %s",
		out[0].RouteNo())
}

// setOff starts the route and sends its shipments off.
func (w Watch) setOff(
	c *verb.Call, in *StartRouteIn, stops []record.Shipment, why map[string][]string,
) (*StartRouteOut, error) {
	k := w.workOf(c)
	set := record.Route{"status": "started", "odometer_start_km": in.Odometer, "started_at": query.FormatTime(c.Now())}
	if err := record.Update(k.Tx, []string{in.RouteID}, set); err != nil {
		return nil, err
	}
	if err := k.UpdateRows("vehicles", []string{in.Vehicle}, store.Row{"odometer_km": in.Odometer}); err != nil {
		return nil, err
	}
	var off []string
	for _, s := range stops {
		id := s.ID()
		if len(why[id]) > 0 {
			off = append(off, id)
			continue
		}
		if hasLeft(s) {
			continue
		}
		if err := k.sendShipment(s, nil); err != nil {
			return nil, err
		}
	}
	if err := k.UpdateRows("shipments", off, store.Row{"route_id": nil, "stop_seq": nil}); err != nil {
		return nil, err
	}
	out := &StartRouteOut{}
	for _, s := range stops {
		id := s.ID()
		rec, err := c.Again("shipments", id)
		if err != nil {
			return nil, err
		}
		out.Shipments = append(out.Shipments, Dispatched{ShipmentID: id, OK: len(why[id]) == 0,
			Reasons: append([]string{}, why[id]...), Shipment: rec})
	}
	route, err := w.routeOut(c, in.RouteID)
	if err != nil {
		return nil, err
	}
	out.Answer, out.Route = route.Answer, route.Route
	return out, nil
}
