package routing

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Place is where a picker stops: metres on the floor, Z above it. Aisle names
// the aisle it is reached from, "" on the open floor.
type Place struct {
	Aisle   string
	X, Y, Z float64
}

// Ends are where an aisle is left, as Y of its front and back.
type Ends struct{ Front, Back float64 }

// Floor is what walking depends on: the ends of aisles by name, which run
// along Y. An aisle that it does not know ends at its own outermost places.
type Floor map[string]Ends

// Walk is an order to visit places in and its length in metres.
type Walk struct {
	Order  []int
	Metres float64
}

// Length is how long the walk through places in the order given is, in metres,
// however many they are. With a start the walk begins and ends there.
func Length(places []Place, start *Place, floor Floor) (metres float64, err error) {
	w, err := newWalker(places, start, floor)
	if err != nil {
		return 0, err
	}
	return w.walkOf(w.orderGiven()).Metres, nil
}

// Pick orders places for one picker: S-shape, aisle by aisle and up one and down
// the next, then improved on the distance walked (Roodbergen & de
// Koster 2001, International Journal of Production Research 39:1865-1883, for
// aisles between two cross aisles). The order given is improved likewise, and
// the shorter of the two is the result, so that it is never longer than that.
// More than MaxStops places, or a coordinate that is no number, is
// fault.Invalid.
func Pick(places []Place, start *Place, floor Floor) (Walk, error) {
	if len(places) > MaxStops {
		return Walk{}, refuseInput("places", "must be at most %d", MaxStops)
	}
	w, err := newWalker(places, start, floor)
	if err != nil {
		return Walk{}, err
	}
	best := w.improveTour(w.sShape())
	if other := w.improveTour(w.orderGiven()); other.Metres < best.Metres-better {
		best = other
	}
	return best, nil
}

// walker holds the places, a start behind them if there is one.
type walker struct {
	places []Place
	n      int    // without the start
	ends   []Ends // of the aisle of each place
}

func newWalker(places []Place, start *Place, floor Floor) (*walker, error) {
	w := &walker{places: slices.Clone(places), n: len(places)}
	if start != nil {
		w.places = append(w.places, *start)
	}
	ends := maps.Clone(floor)
	if ends == nil {
		ends = Floor{}
	}
	for _, p := range w.places {
		if !areFinite(p.X, p.Y, p.Z) {
			return nil, refuseInput("coordinates", "must be numbers")
		}
		e, known := ends[p.Aisle]
		if !known {
			e = Ends{p.Y, p.Y}
		}
		ends[p.Aisle] = Ends{min(e.Front, p.Y), max(e.Back, p.Y)}
	}
	for _, p := range w.places {
		w.ends = append(w.ends, ends[p.Aisle])
	}
	return w, nil
}

func (w *walker) hasStart() bool { return len(w.places) > w.n }

// orderGiven is the order given.
func (w *walker) orderGiven() []int {
	order := make([]int, w.n)
	for i := range order {
		order[i] = i
	}
	return order
}

// legMetres is the distance walked between two places. Inside an aisle and on the
// open floor it is along the axes; from one aisle to another it leads around
// the nearer end of both. Reaching up is no walking.
func (w *walker) legMetres(i, j int) float64 {
	p, q := w.places[i], w.places[j]
	across := math.Abs(p.X - q.X)
	if p.Aisle == q.Aisle || p.Aisle == "" || q.Aisle == "" {
		return across + math.Abs(p.Y-q.Y)
	}
	a, b := w.ends[i], w.ends[j]
	front, back := min(a.Front, b.Front), max(a.Back, b.Back)
	return across + min(p.Y-front+q.Y-front, back-p.Y+back-q.Y)
}

// sShape goes through the aisles from the least X on, up the first and down the
// next. Places on the open floor form lanes of a metre.
func (w *walker) sShape() []int {
	type lane struct {
		name    string
		x       float64
		members []int
	}
	lanes := map[string]*lane{}
	var list []*lane
	for i, p := range w.places[:w.n] {
		name := p.Aisle
		if name == "" {
			name = "\x00" + strconv.FormatFloat(math.Round(p.X), 'f', 0, 64) // no aisle is called so
		}
		l := lanes[name]
		if l == nil {
			l = &lane{name: name, x: p.X}
			lanes[name] = l
			list = append(list, l)
		}
		l.x = min(l.x, p.X)
		l.members = append(l.members, i)
	}
	slices.SortFunc(list, func(a, b *lane) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.name, b.name)) })
	var order []int
	for n, l := range list {
		up := 1
		if n%2 == 1 {
			up = -1
		}
		slices.SortFunc(l.members, func(i, j int) int {
			a, b := w.places[i], w.places[j]
			return cmp.Or(up*cmp.Compare(a.Y, b.Y), up*cmp.Compare(a.X, b.X), cmp.Compare(a.Z, b.Z), cmp.Compare(i, j))
		})
		order = append(order, l.members...)
	}
	return order
}

// improveTour shortens an order, on the closed tour from the start where there is one.
func (w *walker) improveTour(order []int) Walk {
	if !w.hasStart() {
		shortenTour(order, 0, false, w.legMetres)
		return w.walkOf(order)
	}
	tour := append([]int{w.n}, order...)
	shortenTour(tour, 1, true, w.legMetres)
	return w.walkOf(tour[1:])
}

func (w *walker) walkOf(order []int) Walk {
	if !w.hasStart() {
		return Walk{order, tourLength(order, false, w.legMetres)}
	}
	return Walk{order, tourLength(append([]int{w.n}, order...), true, w.legMetres)}
}
