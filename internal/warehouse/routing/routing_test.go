package routing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"holdfast/internal/fault"
	"holdfast/internal/warehouse/routing"
)

// at is a place in an aisle that stands at its own X.
func at(aisle string, x, y float64) routing.Place { return routing.Place{Aisle: aisle, X: x, Y: y} }

// Three aisles 4 m apart, from Y = 0 to 20.
func floor() routing.Floor {
	return routing.Floor{"A": {Front: 0, Back: 20}, "B": {Front: 0, Back: 20}, "C": {Front: 0, Back: 20}}
}

// The S-shape over aisles between two cross aisles, and 2-opt on the distance
// walked (Roodbergen & de Koster 2001, IJPR 39:1865-1883). Distances by hand:
// from aisle to aisle the way leads around an end, not through the racks.
func TestPick(t *testing.T) {
	dock := routing.Place{X: 0, Y: -2}
	for _, c := range []struct {
		name   string
		places []routing.Place
		start  *routing.Place
		as     float64 // the order given
		order  []int
		metres float64
	}{
		{"nothing to pick", nil, nil, 0, nil, 0},
		{"one place", []routing.Place{at("A", 0, 5)}, nil, 0, []int{0}, 0},
		{"one place and back to the dock", []routing.Place{at("A", 0, 5)}, &dock, 14, []int{0}, 14},
		{"along one aisle", []routing.Place{at("A", 0, 15), at("A", 0, 5), at("A", 0, 10)}, nil, 15, []int{1, 2, 0}, 10},
		// To A2, up to 18, around the back (2 + 4 + 3), down B from 17 to 6, home.
		{"up one aisle and down the next", []routing.Place{at("B", 4, 6), at("A", 0, 2), at("B", 4, 17), at("A", 0, 18)},
			&dock, 12 + 12 + 23 + 9 + 20,
			[]int{1, 3, 2, 0}, 4 + 16 + 9 + 11 + 12},
		// Without a dock to return to the way may begin anywhere.
		{"from A2 around the front, back from B", []routing.Place{at("B", 4, 6), at("A", 0, 2), at("B", 4, 17),
			at("A", 0, 18)}, nil, 12 + 23 + 9,
			[]int{1, 0, 2, 3}, 12 + 11 + 9},
		// Both near the front: 2 + 4 + 3 around the front, not through the rack.
		{"around the nearer end", []routing.Place{at("A", 0, 2), at("B", 4, 3)}, nil, 9, []int{0, 1}, 9},
		{"around the back, where it is nearer", []routing.Place{at("A", 0, 19), at("B", 4, 18)}, nil, 7, []int{0, 1}, 7},
		// S-shape would walk A to the back for nothing: 2-opt takes the front.
		{"the end of an aisle is not visited for nothing", []routing.Place{at("C", 8, 1), at("B", 4, 1), at("A", 0, 1)},
			&dock, 11 + 6 + 6 + 3, []int{0, 1, 2}, 26},
		{"the open floor is walked straight", []routing.Place{{X: 3, Y: 4}, {X: 0, Y: 0}, {X: 3, Y: 0}}, nil, 7 + 3,
			[]int{1, 2, 0}, 7},
		{"height is no distance", []routing.Place{{Aisle: "A", Y: 5, Z: 6}, {Aisle: "A", Y: 5}}, nil, 0, []int{1, 0}, 0},
	} {
		as, err := routing.Length(c.places, c.start, floor())
		if err != nil || math.Abs(as-c.as) > 1e-9 {
			t.Errorf("%s: as given %v m, want %v (%v)", c.name, as, c.as, err)
		}
		got, err := routing.Pick(c.places, c.start, floor())
		if err != nil || math.Abs(got.Metres-c.metres) > 1e-9 {
			t.Errorf("%s: %v m, want %v (%v)", c.name, got.Metres, c.metres, err)
		}
		if back := slices.Clone(got.Order); !slices.Equal(got.Order, c.order) {
			if slices.Reverse(back); !slices.Equal(back, c.order) {
				t.Errorf("%s: order %v, want %v", c.name, got.Order, c.order)
			}
		}
	}
}

// Great-circle distances (haversine): a quarter of a meridian, and two cities.
func TestKilometres(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to routing.Stop
		want     float64
	}{
		{"nowhere", routing.Stop{Lat: 53, Lon: 10}, routing.Stop{Lat: 53, Lon: 10}, 0},
		{"pole to equator", routing.Stop{Lat: 90}, routing.Stop{}, 6371.0088 * math.Pi / 2},
		{"one degree of the equator", routing.Stop{}, routing.Stop{Lon: 1}, 6371.0088 * math.Pi / 180},
		{"across the date line", routing.Stop{Lon: 179.5}, routing.Stop{Lon: -179.5}, 6371.0088 * math.Pi / 180},
		{"Hamburg to Berlin", routing.Stop{Lat: 53.5511, Lon: 9.9937}, routing.Stop{Lat: 52.5200, Lon: 13.4050}, 255.25},
	} {
		if got := routing.Kilometres(c.from, c.to); math.Abs(got-c.want) > 0.05 {
			t.Errorf("%s: %.3f km, want %.3f", c.name, got, c.want)
		}
	}
}

// Savings and limits (Clarke & Wright 1964, Operations Research 12:568-581) on
// stops of the equator: one degree is 111.195 km.
func TestDrive(t *testing.T) {
	const deg = 6371.0088 * math.Pi / 180
	east := func(lon, load float64) routing.Stop { return routing.Stop{Lon: lon, Load: load} }
	for _, c := range []struct {
		name   string
		stops  []routing.Stop
		limits routing.Limits
		want   []string // stops and degrees driven
	}{
		{"no stops", nil, routing.Limits{}, nil},
		{"one way out and back", []routing.Stop{east(1, 5), east(3, 5), east(2, 5)}, routing.Limits{}, []string{"[0 1 2] 6"}},
		{"joined where it saves most: the far two", []routing.Stop{east(1, 6), east(3, 6), east(2, 6)},
			routing.Limits{Load: 12}, []string{"[1 2] 6", "[0] 2"}},
		{"at most two stops", []routing.Stop{east(1, 0), east(3, 0), east(2, 0)}, routing.Limits{Stops: 2},
			[]string{"[1 2] 6", "[0] 2"}},
		{"opposite ways save nothing", []routing.Stop{east(1, 0), east(-2, 0)}, routing.Limits{}, []string{"[1] 4", "[0] 2"}},
		{"too heavy for any vehicle, alone", []routing.Stop{east(1, 50), east(2, 5)}, routing.Limits{Load: 12},
			[]string{"[1] 4", "[0] 2"}},
		{"exactly full", []routing.Stop{east(1, 6), east(2, 6)}, routing.Limits{Load: 12}, []string{"[0 1] 4"}},
	} {
		routes, err := routing.Drive(routing.Stop{}, c.stops, c.limits)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range routes {
			slices.Sort(r.Order) // out and back along one line, any order is as long
			got = append(got, fmt.Sprintf("%v %g", r.Order, math.Round(1e6*r.Km/deg)/1e6))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A square driven crosswise costs two diagonals more than around it.
func TestDriveUncrosses(t *testing.T) {
	depot := routing.Stop{}
	square := []routing.Stop{{Lat: 1, Lon: 1}, {Lat: 0, Lon: 1}, {Lat: 1, Lon: 0}}
	as, err := routing.InOrder(depot, square)
	if err != nil {
		t.Fatal(err)
	}
	routes, err := routing.Drive(depot, square, routing.Limits{})
	if err != nil || len(routes) != 1 {
		t.Fatalf("%v, %v", routes, err)
	}
	if o := routes[0].Order; o[1] != 0 {
		t.Errorf("order %v, the far corner lies in the middle", o)
	}
	if side := routing.Kilometres(depot, square[1]); math.Abs(routes[0].Km-4*side) > 0.1 || as.Km < 4.8*side {
		t.Errorf("%.1f km against %.1f as given; a side is %.1f", routes[0].Km, as.Km, side)
	}
}

// What was found is never longer than what was given, keeps every stop once,
// and keeps to the limits.
func TestNeverWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		n := 1 + rng.IntN(40)
		places, stops := make([]routing.Place, n), make([]routing.Stop, n)
		for i := range n {
			a := rng.IntN(5)
			places[i] = routing.Place{Aisle: []string{"A", "B", "C", "D", ""}[a], X: float64(4 * a), Y: 20 * rng.Float64()}
			stops[i] = routing.Stop{Lat: 50 + 3*rng.Float64(), Lon: 8 + 3*rng.Float64(), Load: 10 * rng.Float64()}
		}
		as, _ := routing.Length(places, &places[0], nil)
		got, err := routing.Pick(places, &places[0], nil)
		if err != nil || got.Metres > as+1e-9 || len(slices.Compact(slices.Sorted(slices.Values(got.Order)))) != n {
			t.Fatalf("walk %v of %v m, given %v m (%v)", got.Order, got.Metres, as, err)
		}
		limits := routing.Limits{Load: 25, Stops: 6}
		routes, err := routing.Drive(routing.Stop{Lat: 51.5, Lon: 9.5}, stops, limits)
		var all []int
		for _, r := range routes {
			all = append(all, r.Order...)
			if r.Load > limits.Load || len(r.Order) > limits.Stops {
				t.Fatalf("route %+v passes %+v", r, limits)
			}
		}
		if slices.Sort(all); err != nil || len(slices.Compact(all)) != n {
			t.Fatalf("%d of %d stops driven to (%v)", len(all), n, err)
		}
	}
}

// Bad places are refused by name, never planned around.
func TestTourRefusals(t *testing.T) {
	nan := math.NaN()
	many := make([]routing.Place, routing.MaxStops+1)
	for name, call := range map[string]func() error{
		"a place that is no number": func() error { _, err := routing.Pick([]routing.Place{{X: nan}}, nil, nil); return err },
		"an infinite place": func() error {
			_, err := routing.Length([]routing.Place{{Y: math.Inf(1)}}, nil,
				nil)
			return err
		},
		"a start that is no number": func() error { _, err := routing.Pick(nil, &routing.Place{Z: nan}, nil); return err },
		"too many places":           func() error { _, err := routing.Pick(many, nil, nil); return err },
		"a stop that is no number": func() error {
			_, err := routing.Drive(routing.Stop{}, []routing.Stop{{Lat: nan}}, routing.Limits{})
			return err
		},
		"a latitude past the pole": func() error {
			_, err := routing.Drive(routing.Stop{}, []routing.Stop{{Lat: 91}}, routing.Limits{})
			return err
		},
		"a depot beyond the earth": func() error { _, err := routing.InOrder(routing.Stop{Lon: 200}, nil); return err },
		"a load below nothing": func() error {
			_, err := routing.InOrder(routing.Stop{},
				[]routing.Stop{{Load: -1}})
			return err
		},
		"more stops than are bounds": func() error {
			_, err := routing.Drive(routing.Stop{}, make([]routing.Stop, routing.MaxStops+1), routing.Limits{})
			return err
		},
	} {
		if err := call(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, want fault.Invalid", name, err)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	places := make([]routing.Place, routing.MaxStops)
	for i := range places {
		a := rng.IntN(20)
		places[i] = routing.Place{Aisle: string(rune('A' + a)), X: float64(4 * a), Y: 60 * rng.Float64()}
	}
	for b.Loop() {
		if _, err := routing.Pick(places, &routing.Place{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
