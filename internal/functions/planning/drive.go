package planning

import (
	"cmp"
	"context"
	"math"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/score"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/routing"
)

// DriveIn asks for routes.
type DriveIn struct {
	DriverID  string  `query:"driver_id" format:"uuid" doc:"Plan the stops of this driver; without it those that nobody drives yet."`
	VehicleID string  `query:"vehicle_id" format:"uuid" doc:"Its payload_kg is what a route carries."`
	Payload   float64 `query:"payload_kg" default:"0" min:"0" doc:"What a route carries, in kg; 0 = the vehicle's, or without limit."`
	MaxStops  int64   `query:"max_stops" default:"0" min:"0" max:"500" doc:"Stops of a route; 0 = without limit."`
	Lat       float64 `query:"depot_lat" default:"0" min:"-90" max:"90" doc:"Where routes begin and end; the origin of the shipments when absent."`
	Lon       float64 `query:"depot_lon" default:"0" min:"-180" max:"180" doc:"Its longitude, in degrees."`
	Apply     bool    `query:"apply" default:"false" doc:"Write stop_seq to the driver's shipments; needs driver_id."`
}

// DriveOut is the answer of plan-routes.
type DriveOut struct {
	Success  bool       `json:"success" doc:"true."`
	TenantID string     `json:"tenant_id" format:"uuid" doc:"The tenant."`
	Applied  bool       `json:"applied" doc:"Whether stop numbers were written."`
	Depot    Point      `json:"depot" doc:"Where routes begin and end."`
	Routes   []RouteOut `json:"routes" doc:"The routes."`
	Km       float64    `json:"distance_km" unit:"km" doc:"Length of all routes."`
	Before   float64    `json:"distance_before_km" unit:"km" doc:"Length as it was: a driver's stops in their order, or a trip for each stop."`
	Saved    float64    `json:"saved_km" unit:"km" doc:"What the routes save."`
	Unplaced []LostStop `json:"unplaced" doc:"Shipments that could not be placed."`
}

// Point is a place on earth.
type Point struct {
	Lat float64 `json:"lat" unit:"degrees" doc:"Latitude, WGS 84."`
	Lon float64 `json:"lon" unit:"degrees" doc:"Longitude, WGS 84."`
}

// RouteOut is one route.
type RouteOut struct {
	Km    float64   `json:"distance_km" unit:"km" doc:"Length of the route."`
	Load  float64   `json:"load_kg" unit:"kg" doc:"What it carries."`
	Stops []StopOut `json:"stops" doc:"Its stops in order."`
}

// StopOut is a stop of a route.
type StopOut struct {
	ID     string  `json:"shipment_id" format:"uuid" doc:"The shipment."`
	Number string  `json:"shipment_no" doc:"Its number."`
	Seq    int64   `json:"stop_seq" doc:"The stop's number."`
	Lat    float64 `json:"lat" unit:"degrees" doc:"Latitude, WGS 84."`
	Lon    float64 `json:"lon" unit:"degrees" doc:"Longitude, WGS 84."`
	Load   float64 `json:"load_kg" unit:"kg" doc:"Weight of the shipment."`
}

// LostStop is a shipment that could not be placed.
type LostStop struct {
	ID     string `json:"shipment_id" format:"uuid" doc:"The shipment."`
	Number string `json:"shipment_no" doc:"Its number."`
	Reason string `json:"reason" doc:"What is in the way."`
}

// Shipments that can still be put in order: of nobody yet, or of a driver, who
// may be on the way.
const (
	waiting = "direction = 'outbound' AND status IN ('planned', 'packed', 'ready') AND driver_id IS NULL"
	driven  = "direction = 'outbound' AND status IN ('planned', 'packed', 'ready', 'in_transit') AND driver_id = $2"
)

// drop is a shipment as a stop.
type drop struct {
	id, number string
	seq        int64 // 0 = none yet
	stop       routing.Stop
}

// round is what routes are planned from.
type round struct {
	in      *DriveIn
	drops   []drop
	lost    []LostStop
	depot   *Point
	payload float64
	vehicle bool // there is such a vehicle
}

// Drive answers plan-routes.
func (p *Planner) Drive(ctx context.Context, a actor.Actor, in *DriveIn) (*DriveOut, error) {
	if in.Apply && in.DriverID == "" {
		return nil, fault.New(fault.Invalid, "", "parameter %q needs %q: stop numbers belong to somebody's round", "apply",
			"driver_id").At("driver_id", "is required with apply")
	}
	r := &round{in: in, payload: in.Payload}
	if in.Lat != 0 || in.Lon != 0 {
		r.depot = &Point{in.Lat, in.Lon}
	}
	if err := p.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		return r.loadRound(tx, a.TenantID)
	}); err != nil {
		return nil, err
	}
	out, err := r.planRound()
	if err != nil {
		return nil, err
	}
	out.TenantID, out.Applied = a.TenantID, in.Apply
	if err := p.writeIfApplied(ctx, a, in.Apply, func(tx *db.Tx) error {
		return out.writeStopNumbers(p.store.In(tx, a), in.DriverID)
	}); err != nil {
		return nil, err
	}
	return out, nil
}

// loadRound reads the shipments and the vehicle in one round trip.
func (r *round) loadRound(tx *db.Tx, tenant string) error {
	where, args := waiting, []any{tenant}
	if r.in.DriverID != "" {
		where, args = driven, append(args, r.in.DriverID)
	}
	tx.Queue(db.FillWords(`
		SELECT id, shipment_no, stop_seq, origin, destination, packages
		FROM shipments
		WHERE tenant_id = $1
			AND {where}
		ORDER BY id
		LIMIT 501`, "{where}", where), args, func(row *db.Row) error {
		r.addShipment(row)
		return nil
	})
	if r.in.VehicleID != "" {
		tx.Queue("SELECT payload_kg FROM vehicles WHERE tenant_id = $1 AND id = $2", []any{tenant, r.in.VehicleID},
			func(row *db.Row) error {
				r.vehicle = true
				if r.payload == 0 {
					r.payload = row.Dec(0).Float()
				}
				return nil
			})
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	if r.in.VehicleID != "" && !r.vehicle {
		return fault.New(fault.NotFound, "", "there is no vehicle %s", r.in.VehicleID).At("vehicle_id", "unknown")
	}
	slices.SortStableFunc(r.drops, func(a, b drop) int {
		last := func(d drop) int64 { return cmp.Or(d.seq, math.MaxInt64) }
		return cmp.Compare(last(a), last(b))
	})
	return nil
}

// addShipment takes a shipment in: as a stop when it says where it goes.
func (r *round) addShipment(row *db.Row) {
	d := drop{id: row.Text(0), number: row.Text(1), seq: row.Int(2)}
	if at, ok := routing.At([]byte(row.Text(3))); ok && r.depot == nil {
		r.depot = &Point{at.Lat, at.Lon}
	}
	at, ok := routing.At([]byte(row.Text(4)))
	if !ok {
		r.lost = append(r.lost, LostStop{d.id, d.number, "destination has no lat and lon within their range"})
		return
	}
	d.stop = at
	d.stop.Load = routing.Weight([]byte(row.Text(5)))
	r.drops = append(r.drops, d)
}

// planRound finds the routes. What is driven now is a driver's stops in their
// order, or one trip for each stop that nobody drives.
func (r *round) planRound() (*DriveOut, error) {
	out := &DriveOut{Success: true, Routes: []RouteOut{}, Unplaced: append([]LostStop{}, r.lost...)}
	if len(r.drops) == 0 {
		return out, nil
	}
	if r.depot == nil {
		return nil, fault.New(fault.Invalid, "", "parameter %q is required: no shipment's origin has lat and lon",
			"depot_lat").At("depot_lat", "is required")
	}
	out.Depot = *r.depot
	depot, stops := routing.Stop{Lat: r.depot.Lat, Lon: r.depot.Lon}, make([]routing.Stop, len(r.drops))
	for i, d := range r.drops {
		stops[i] = d.stop
	}
	limits := routing.Limits{Load: r.payload, Stops: int(r.in.MaxStops)}
	routes, err := routing.Drive(depot, stops, limits)
	if err != nil {
		return nil, err
	}
	now, err := routing.InOrder(depot, stops)
	if err != nil {
		return nil, err
	}
	out.Before = now.Km
	if r.in.DriverID == "" {
		out.Before = 0
		for _, s := range stops {
			out.Before += 2 * routing.Kilometres(depot, s)
		}
	} else if len(routes) == 1 && now.Km < routes[0].Km {
		routes[0] = now
	}
	out.fillRoutes(r.drops, routes)
	return out, nil
}

func (o *DriveOut) fillRoutes(drops []drop, routes []routing.Route) {
	km, seq := 0.0, int64(0)
	for _, t := range routes {
		km += t.Km
		ro := RouteOut{Km: score.Round(t.Km, 1), Load: score.Round(t.Load, 1)}
		for _, i := range t.Order {
			seq++
			d := drops[i]
			ro.Stops = append(ro.Stops, StopOut{d.id, d.number, seq, d.stop.Lat, d.stop.Lon, score.Round(d.stop.Load, 1)})
		}
		o.Routes = append(o.Routes, ro)
	}
	o.Km, o.Before, o.Saved = score.Round(km, 1), score.Round(o.Before, 1), score.Round(o.Before-km, 1)
}

// writeStopNumbers writes the stop numbers of a driver's round, if it is still the one
// that was planned.
func (o *DriveOut) writeStopNumbers(tx *store.Tx, driver string) error {
	var sets []store.Row
	planned := map[string]bool{}
	for _, ro := range o.Routes {
		for _, st := range ro.Stops {
			sets = append(sets, store.Row{"id": st.ID, "stop_seq": st.Seq})
			planned[st.ID] = true
		}
	}
	for _, l := range o.Unplaced {
		planned[l.ID] = true
	}
	n, same := 0, true
	err := tx.Query(db.FillWords(`
		SELECT id
		FROM shipments
		WHERE tenant_id = $1
			AND {driven}
		ORDER BY id
		{for update}`, "{driven}", driven),
		[]any{tx.TenantID, driver}, func(row *db.Row) error {
			n++
			same = same && planned[row.Text(0)]
			return nil
		})
	if err != nil {
		return err
	}
	if !same || n != len(planned) {
		return fault.New(fault.Conflict, "HF006", "the driver's shipments have changed meanwhile; plan the round again")
	}
	err = tx.UpdateEach("shipments", sets)
	return err
}
