package warehouse

import (
	"strings"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// FinishRouteIn is what the vehicle shows at the end.
type FinishRouteIn struct {
	RouteID  string      `json:"route_id" required:"true" format:"uuid" names:"routes" doc:"A started route; a driver's own. No stop may be in transit."`
	Odometer decimal.Dec `json:"odometer_km" required:"true" min:"0" doc:"Not less than at the start."`
	Driving  *int64      `json:"driving_min" min:"0" max:"100000" doc:"At the wheel; all the time when absent."`
}

func (w Watch) finishRoute(c *verb.Call, in *FinishRouteIn) (*RouteOut, error) {
	k := w.workOf(c)
	r, err := lockRoute(c, in.RouteID)
	if err != nil {
		return nil, err
	}
	if st := r.Status(); st != "started" {
		return nil, notReady("route %s is %s, not started", r.RouteNo(), st).At("route_id", "is %s", st)
	}
	first := r.OdometerStartKm()
	if in.Odometer < first {
		return nil, fault.New(fault.Conflict, CodeOrder, "odometer_km is %s, and was %s at the start", in.Odometer,
			first).At("odometer_km", "is less than %s", first)
	}
	now := c.Now()
	if err := wheelTime(r, in.Driving, now); err != nil {
		return nil, err
	}
	if err := noneOpen(k, in.RouteID); err != nil {
		return nil, err
	}
	v, err := record.One[record.Vehicle](c, "vehicle_id", r.VehicleID())
	if err != nil {
		return nil, err
	}
	if in.Odometer > v.OdometerKm() {
		if err := k.UpdateRows("vehicles", []string{v.ID()}, store.Row{"odometer_km": in.Odometer}); err != nil {
			return nil, err
		}
	}
	set := record.Route{"status": "finished", "odometer_end_km": in.Odometer, "distance_km": in.Odometer - first,
		"finished_at": query.FormatTime(now)}
	if in.Driving != nil {
		set.SetDrivingMin(*in.Driving)
	}
	if err := record.Update(k.Tx, []string{in.RouteID}, set); err != nil {
		return nil, err
	}
	return w.routeOut(c, in.RouteID)
}

// wheelTime refuses more time at the wheel than the route has taken.
func wheelTime(r record.Route, driving *int64, now time.Time) error {
	began, err := time.Parse(time.RFC3339, r.StartedAt())
	if err != nil {
		return err
	}
	if most := int64(now.Sub(began).Minutes()) + 1; driving != nil && *driving > most {
		return fault.New(fault.Invalid, "22023", "driving_min is %d, and the route has taken %d minutes", *driving,
			most).At("driving_min", "is above %d", most)
	}
	return nil
}

// noneOpen refuses the end of a route with stops that are neither delivered nor
// an exception.
func noneOpen(k work, route string) error {
	stops, err := lockStops(k.Tx, route)
	if err != nil {
		return err
	}
	var open []string
	for _, s := range stops {
		if s.Status() == "in_transit" {
			open = append(open, s.ShipmentNo())
		}
	}
	if len(open) == 0 {
		return nil
	}
	return notReady("%d stops of the route are open", len(open)).With(strings.Join(open, ", "),
		"Deliver them, or report what is in the way.").
		At("route_id", "has open stops")
}
