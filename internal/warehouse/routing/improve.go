package routing

import (
	"math/rand/v2"
	"slices"
)

// kickedStops is up to how many stops a tour is kicked out of the local optimum it ends
// in, and kicks how often: sixty stops take some ten milliseconds.
const (
	kickedStops = 60
	kicks       = 120
)

// longestMove is how many stops in a row Or-opt moves.
const longestMove = 3

// none stands for the stop before the first or behind the last of an open tour.
const none = -1

// A tour is an order of stops that is being shortened. The stops before first stay;
// closed says that the last stop leads back to the first, which then stays as well.
type tour struct {
	order  []int
	first  int
	closed bool
	leg    func(i, j int) float64
}

// shortenTour shortens a tour in place: by 2-opt and Or-opt until neither helps, and a
// tour of at most kickedStops beyond that by iterated local search (Lourenço, Martin &
// Stützle 2003, Handbook of Metaheuristics, 321-353). The result is never longer than
// the order given, and the same for the same order.
func shortenTour(order []int, first int, closed bool, leg func(i, j int) float64) {
	leg = measureLegs(order, leg)
	t := &tour{order, first, closed, leg}
	t.searchMoves()
	if free := len(order) - first; free < 5 || free > kickedStops {
		return
	}

	best, metres := slices.Clone(order), tourLength(order, closed, leg)
	random := rand.New(rand.NewPCG(uint64(len(order)), kicks))
	for range kicks {
		t.kickTour(random)
		t.searchMoves()
		if now := tourLength(t.order, closed, leg); now < metres-better {
			copy(best, t.order)
			metres = now
		} else {
			copy(t.order, best)
		}
	}
	copy(order, best)
}

// measureLegs measures every leg between two stops once, since a search asks for each of
// them many times.
func measureLegs(order []int, leg func(i, j int) float64) func(i, j int) float64 {
	if len(order) == 0 {
		return leg
	}
	n := slices.Max(order) + 1
	legs := make([]float64, n*n)
	for _, i := range order {
		for _, j := range order {
			legs[i*n+j] = leg(i, j)
		}
	}
	return func(i, j int) float64 { return legs[i*n+j] }
}

// searchMoves alternates the two moves until neither shortens the tour.
func (t *tour) searchMoves() {
	for range maxPasses {
		twoOpt(t.order, t.first, t.closed, t.leg)
		if !t.moveStops() {
			return
		}
	}
}

// kickTour exchanges two neighbouring parts of the tour, which neither move undoes at once
// (the double bridge of Martin, Otto & Felten 1991, Complex Systems 5:299-326).
func (t *tour) kickTour(random *rand.Rand) {
	free := len(t.order) - t.first
	cuts := []int{random.IntN(free + 1), random.IntN(free + 1), random.IntN(free + 1)}
	slices.Sort(cuts)
	a, b, c := t.first+cuts[0], t.first+cuts[1], t.first+cuts[2]
	copy(t.order, slices.Concat(t.order[:a], t.order[b:c], t.order[a:b], t.order[c:]))
}

// moveStops is Or-opt (Or 1976, thesis, Northwestern University): one to three stops in a
// row go elsewhere, turned around or not, while that shortens the tour.
func (t *tour) moveStops() (moved bool) {
	for size := 1; size <= longestMove; size++ {
		for from := t.first; from+size <= len(t.order); from++ {
			if behind, turned, ok := t.findGap(from, size); ok {
				t.movePart(from, size, behind, turned)
				moved = true
			}
		}
	}
	return moved
}

// findGap finds the place behind which size stops that begin at from shorten the tour most.
func (t *tour) findGap(from, size int) (behind int, turned, ok bool) {
	head, tail := t.order[from], t.order[from+size-1]
	before, after := t.stopAt(from-1), t.stopAt(from+size)
	most := t.legBetween(before, head) + t.legBetween(tail, after) - t.legBetween(before, after) - better

	for p := t.first - 1; p < len(t.order); p++ {
		if p >= from-1 && p < from+size {
			continue
		}
		left, right := t.stopAt(p), t.stopAt(p+1)
		open := t.legBetween(left, right)
		straight := t.legBetween(left, head) + t.legBetween(tail, right) - open
		around := t.legBetween(left, tail) + t.legBetween(head, right) - open
		if cost := min(straight, around); cost < most {
			most, behind, turned, ok = cost, p, around < straight, true
		}
	}
	return behind, turned, ok
}

// movePart takes size stops out at from and puts them behind the place named.
func (t *tour) movePart(from, size, behind int, turned bool) {
	part := slices.Clone(t.order[from : from+size])
	if turned {
		slices.Reverse(part)
	}
	rest := slices.Delete(slices.Clone(t.order), from, from+size)
	if behind >= from {
		behind -= size
	}
	copy(t.order, slices.Insert(rest, behind+1, part...))
}

// stopAt is the stop at a place of the tour.
func (t *tour) stopAt(place int) int {
	if place >= 0 && place < len(t.order) {
		return t.order[place]
	}
	if place == len(t.order) && t.closed {
		return t.order[0]
	}
	return none
}

// legBetween is the leg between two stops; beyond the ends of an open tour there is none.
func (t *tour) legBetween(i, j int) float64 {
	if i == none || j == none {
		return 0
	}
	return t.leg(i, j)
}
