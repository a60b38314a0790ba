package routing

import (
	"cmp"
	"math"
	"slices"
)

// Stop is where a delivery goes: degrees of WGS 84, and what it weighs in kg.
type Stop struct{ Lat, Lon, Load float64 }

// Limits of one route; 0 = none.
type Limits struct {
	Load  float64 // kg a vehicle carries
	Stops int
}

// Route is an order of stops from the depot and back, in kilometres.
type Route struct {
	Order []int
	Km    float64
	Load  float64
}

// Kilometres is the great-circle distance between two places (haversine
// formula, mean earth radius 6,371.0088 km of the IUGG). Roads are longer, by
// a quarter or so; the order of stops hardly depends on it.
func Kilometres(a, b Stop) float64 {
	const radius, rad = 6371.0088, math.Pi / 180
	lat, lon := (b.Lat-a.Lat)*rad/2, (b.Lon-a.Lon)*rad/2
	h := math.Sin(lat)*math.Sin(lat) + math.Cos(a.Lat*rad)*math.Cos(b.Lat*rad)*math.Sin(lon)*math.Sin(lon)
	return 2 * radius * math.Asin(math.Min(1, math.Sqrt(h)))
}

// Drive plans routes from a depot: the savings method (Clarke & Wright 1964,
// Operations Research 12:568-581) joins trips to single stops where that saves
// most and the limits allow, and 2-opt shortens each route. A stop that alone
// passes the load limit gets a trip of its own, because somebody has to drive
// it. Routes come longest first. More than MaxStops stops, a coordinate out of
// range or a load below 0 is fault.Invalid.
func Drive(depot Stop, stops []Stop, l Limits) ([]Route, error) {
	d, err := newDriver(depot, stops)
	if err != nil {
		return nil, err
	}
	var out []Route
	for _, trip := range d.joinTrips(l) {
		out = append(out, d.routeOf(trip))
	}
	slices.SortStableFunc(out, func(a, b Route) int { return cmp.Compare(b.Km, a.Km) })
	return out, nil
}

// InOrder is the route from the depot through the stops as given, and back.
func InOrder(depot Stop, stops []Stop) (Route, error) {
	d, err := newDriver(depot, stops)
	if err != nil {
		return Route{}, err
	}
	r := Route{Order: make([]int, len(stops))}
	for i, s := range stops {
		r.Order[i] = i
		r.Load = r.Load + s.Load
	}
	r.Km = tourLength(d.fromDepot(r.Order), true, d.legKm)
	return r, nil
}

// Round is one route through all stops: the better of Drive's, one trip behind
// the other, and the order as given. Errors are those of Drive.
func Round(depot Stop, stops []Stop) (Route, error) {
	now, err := InOrder(depot, stops)
	if err != nil || len(stops) < 2 {
		return now, err
	}
	d, err := newDriver(depot, stops)
	if err != nil {
		return Route{}, err
	}
	if r := d.routeOf(slices.Concat(d.joinTrips(Limits{})...)); r.Km < now.Km-better {
		return r, nil
	}
	return now, nil
}

func checkStop(name string, s Stop) error {
	switch {
	case !areFinite(s.Lat, s.Lon, s.Load):
		return refuseInput(name, "must have numbers for coordinates and load")
	case math.Abs(s.Lat) > 90 || math.Abs(s.Lon) > 180:
		return refuseInput(name, "must lie within 90 degrees of latitude and 180 of longitude")
	case s.Load < 0:
		return refuseInput(name, "must not weigh less than 0")
	}
	return nil
}

// driver knows all distances; the depot is behind the stops.
type driver struct {
	stops []Stop
	depot int
	km    [][]float64
}

func newDriver(depot Stop, stops []Stop) (*driver, error) {
	if len(stops) > MaxStops {
		return nil, refuseInput("stops", "must be at most %d", MaxStops)
	}
	err := checkStop("depot", depot)
	for i := 0; i < len(stops) && err == nil; i++ {
		err = checkStop("stops", stops[i])
	}
	if err != nil {
		return nil, err
	}
	d := &driver{stops: append(slices.Clone(stops), depot), depot: len(stops)}
	d.km = make([][]float64, len(d.stops))
	for i := range d.stops {
		d.km[i] = make([]float64, len(d.stops))
		for j := range i {
			d.km[i][j] = Kilometres(d.stops[i], d.stops[j])
			d.km[j][i] = d.km[i][j]
		}
	}
	return d, nil
}

func (d *driver) legKm(i, j int) float64 { return d.km[i][j] }

// fromDepot is a tour from the depot.
func (d *driver) fromDepot(order []int) []int { return append([]int{d.depot}, order...) }

func (d *driver) routeOf(order []int) Route {
	tour := d.fromDepot(order)
	shortenTour(tour, 1, true, d.legKm)
	r := Route{Order: tour[1:], Km: tourLength(tour, true, d.legKm)}
	for _, i := range r.Order {
		r.Load += d.stops[i].Load
	}
	return r
}

// saving is what one trip through both stops saves against two.
type saving struct {
	i, j int
	km   float64
}

func (d *driver) listSavings() []saving {
	var list []saving
	for i := range d.depot {
		for j := range i {
			if km := d.km[d.depot][i] + d.km[d.depot][j] - d.km[i][j]; km > better {
				list = append(list, saving{j, i, km})
			}
		}
	}
	slices.SortFunc(list, func(a, b saving) int {
		return cmp.Or(cmp.Compare(b.km, a.km), cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j))
	})
	return list
}

// joinTrips merges trips by falling saving: only at their ends, only within limits.
func (d *driver) joinTrips(l Limits) [][]int {
	trips, load, at := make([][]int, d.depot), make([]float64, d.depot), make([]int, d.depot)
	for i := range d.depot {
		trips[i] = []int{i}
		load[i] = d.stops[i].Load
		at[i] = i
	}
	for _, s := range d.listSavings() {
		a, b := at[s.i], at[s.j]
		if a == b || l.Load > 0 && load[a]+load[b] > l.Load || l.Stops > 0 && len(trips[a])+len(trips[b]) > l.Stops {
			continue
		}
		first, ok := endingIn(trips[a], s.i)
		second, ok2 := endingIn(trips[b], s.j)
		if !ok || !ok2 {
			continue
		}
		slices.Reverse(second)
		trips[a] = append(first, second...)
		load[a] = load[a] + load[b]
		for _, i := range second {
			at[i] = a
		}
		trips[b] = nil
	}
	return slices.DeleteFunc(trips, func(t []int) bool { return len(t) == 0 })
}

// endingIn is a trip so turned that a stop comes last; ok is false when the
// stop lies inside it.
func endingIn(trip []int, stop int) (turned []int, ok bool) {
	if trip[0] != stop && trip[len(trip)-1] != stop {
		return nil, false
	}
	turned = slices.Clone(trip)
	if turned[len(turned)-1] != stop {
		slices.Reverse(turned)
	}
	return turned, true
}
