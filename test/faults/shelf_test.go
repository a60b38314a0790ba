package faults_test

import (
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// The model of an item's stock that histories are judged by: two lots in three
// places each, of which the first lot expires first, and three orders.
const (
	modelLots   = 2
	modelPlaces = 3
	modelSpots  = modelLots * modelPlaces // lot by lot, each in the order in which its places were first filled
	modelOrders = 3
	modelWant   = 30 // what the one line of each order asks for
)

// perSpot is a quantity of each place of each lot.
type perSpot [modelSpots]int

func (p perSpot) sum() (n int) {
	for _, q := range p {
		n += q
	}
	return n
}

// perLot is a quantity of each lot.
type perLot [modelLots]int

func (p perLot) sum() (n int) {
	for _, q := range p {
		n += q
	}
	return n
}

// shelf is an item's stock: what lies where, what is promised of it to whom, and what was
// picked and has left.
type shelf struct {
	on   perSpot
	of   [modelOrders]perSpot // promised and not picked
	lane [modelOrders]perLot  // picked; it lies in the lane
	gone [modelOrders]int     // shipped
}

// lain is what lies in the lane, whoever has it.
func (s shelf) lain() (sum perLot) {
	for _, o := range s.lane {
		for l, q := range o {
			sum[l] += q
		}
	}
	return sum
}

// held is what is promised, whoever has it.
func (s shelf) held() (sum perSpot) {
	for _, o := range s.of {
		for i, q := range o {
			sum[i] += q
		}
	}
	return sum
}

// deed is what a client asks of an item.
type deed struct {
	kind     string // adjust, move, allocate, deallocate, pick, ship, count; levels, promised, carried, total
	from, to int    // spots
	order    int
	q        int    // of adjust negative where it takes away, of count what was found
	id       string // of the pick line or the shipment
	lots     perLot // of ship
}

// told is what was answered. Silence is no answer: it may have happened at any
// time since, or never.
type told struct {
	silent, refused bool
	on, held        perSpot // of levels; held alone of promised and of allocate
	lane            perLot  // of levels and of carried
	onHand, free    int     // of total
}

// next are the shelves that a deed may leave behind where its answer is this one; none where no
// such answer can be. A deed without an answer that never happened is one that happens last.
func (s shelf) next(d deed, t told) []shelf {
	held, after := s.held(), s
	switch d.kind {
	case "adjust", "move":
		if gone := max(d.q, -d.q); (d.kind == "move" || d.q < 0) && s.on[d.from]-held[d.from] < gone {
			return stay(s, t.silent || t.refused)
		}
		if d.kind == "adjust" {
			after.on[d.from] += d.q
		} else {
			after.on[d.from] -= d.q
			after.on[d.to] += d.q
		}
		return stay(after, t.silent || !t.refused)
	case "allocate":
		need, taken := modelWant-s.of[d.order].sum()-s.lane[d.order].sum()-s.gone[d.order], perSpot{}
		for i := range taken {
			taken[i] = min(need, s.on[i]-held[i])
			need -= taken[i]
			after.of[d.order][i] += taken[i]
		}
		if s.gone[d.order] == modelWant { // the order is completed
			return stay(s, t.silent || t.refused)
		}
		return stay(after, t.silent || !t.refused && t.held == taken)
	case "deallocate":
		after.of[d.order] = perSpot{}
		return stay(after, t.silent || !t.refused)
	case "pick", "ship", "count":
		if t.refused { // the line was cancelled, the package emptied: of these the model knows nothing
			return []shelf{s}
		}
		if list := s.handled(d); len(list) > 0 || !t.silent {
			return list
		}
		return []shelf{s}
	case "levels":
		return stay(s, t.silent || t.on == s.on && t.held == held && t.lane == s.lain())
	case "promised":
		return stay(s, t.silent || t.held == s.of[d.order])
	case "carried":
		return stay(s, t.silent || t.lane == s.lane[d.order])
	case "total":
		free := s.on.sum() - held.sum()
		return stay(s, t.silent || t.onHand == s.on.sum()+s.lain().sum() && t.free == free)
	}
	return nil
}

// stay is the one shelf that there can be, or none.
func stay(s shelf, canBe bool) []shelf {
	if !canBe {
		return nil
	}
	return []shelf{s}
}

// handled are the shelves that a pick, a departure or a count leaves behind that was done.
func (s shelf) handled(d deed) []shelf {
	lot := d.from / modelPlaces
	switch d.kind {
	case "pick":
		s.of[d.order][d.from] -= d.q
		s.on[d.from] -= d.q
		s.lane[d.order][lot] += d.q
		return stay(s, s.of[d.order][d.from] >= 0 && s.on[d.from] >= 0)
	case "ship":
		canBe := true
		for l, q := range d.lots {
			s.lane[d.order][l] -= q
			canBe = canBe && s.lane[d.order][l] >= 0
		}
		s.gone[d.order] += d.lots.sum()
		return stay(s, canBe && s.gone[d.order] <= modelWant)
	}
	s.on[d.from] = d.q
	return s.yields(d.from, s.held()[d.from]-d.q, 0)
}

// yields are the shelves in which orders, from the given one on, have given back some of what
// they were promised of a place: which ones is the server's choice.
func (s shelf) yields(spot, back, order int) (list []shelf) {
	if back <= 0 {
		return []shelf{s}
	}
	if order == modelOrders {
		return nil
	}
	promised := s.of[order][spot]
	for q := range min(promised, back) + 1 {
		s.of[order][spot] = promised - q
		list = append(list, s.yields(spot, back-q, order+1)...)
	}
	return list
}

// judge says whether some order of the deeds, each at one moment between its
// call and its answer, explains all answers.
func judge(t *testing.T, first shelf, history []porcupine.Operation) (porcupine.CheckResult, func(path string) error) {
	t.Helper()
	several := porcupine.NondeterministicModel{
		Init: func() []any { return []any{first} },
		Step: func(state, in, out any) (states []any) {
			for _, s := range state.(shelf).next(in.(deed), out.(told)) {
				states = append(states, s)
			}
			return states
		},
	}
	m := several.ToModel()
	result, info := porcupine.CheckOperationsVerbose(m, history, time.Minute)
	return result, func(path string) error { return porcupine.VisualizePath(m, info, path) }
}

// The judge refuses what a wrong ledger would answer, and lets pass what may
// have happened to a request without an answer.
func TestJudgeOfHistories(t *testing.T) {
	op := func(call, ret int64, d deed, answer told) porcupine.Operation {
		return porcupine.Operation{Input: d, Output: answer, Call: call, Return: ret}
	}
	first := shelf{on: perSpot{4, 4}}
	take := deed{kind: "adjust", from: 0, q: -4}
	look := deed{kind: "levels"}
	for name, x := range map[string]struct {
		want    porcupine.CheckResult
		history []porcupine.Operation
	}{
		"one of two takers": {porcupine.Ok, []porcupine.Operation{op(0, 9, take, told{}),
			op(1, 8, take, told{refused: true})}},
		"taken twice": {porcupine.Illegal, []porcupine.Operation{op(0, 9, take, told{}), op(1, 8, take, told{})}},
		"refused for no reason": {porcupine.Illegal, []porcupine.Operation{
			op(0, 1, take, told{refused: true}), op(2, 3, take, told{})}},
		"read meanwhile": {porcupine.Ok, []porcupine.Operation{op(0, 9, take, told{}),
			op(1, 2, look, told{on: perSpot{4, 4}})}},
		"read from behind": {porcupine.Illegal, []porcupine.Operation{op(0, 1, take, told{}),
			op(2, 3, look, told{on: perSpot{4, 4}})}},
		"seen and gone again": {porcupine.Illegal, []porcupine.Operation{op(0, math.MaxInt64, take, told{silent: true}),
			op(2, 3, look, told{on: perSpot{0, 4}}), op(4, 5, look, told{on: perSpot{4, 4}})}},
		"silent and done": {porcupine.Ok, []porcupine.Operation{op(0, math.MaxInt64, take, told{silent: true}),
			op(2, 3, look, told{on: perSpot{0, 4}})}},
		"silent and not done": {porcupine.Ok, []porcupine.Operation{op(0, math.MaxInt64, take, told{silent: true}),
			op(2, 3, look, told{on: perSpot{4, 4}})}},
		"promised twice": {porcupine.Illegal, []porcupine.Operation{
			op(0, 9, deed{kind: "allocate", order: 0}, told{held: perSpot{4, 4}}),
			op(0, 9, deed{kind: "allocate", order: 1}, told{held: perSpot{4, 4}})}},
		"promised in turn": {porcupine.Ok, []porcupine.Operation{
			op(0, 9, deed{kind: "allocate", order: 0}, told{held: perSpot{0, 0}}),
			op(0, 9, deed{kind: "allocate", order: 1}, told{held: perSpot{4, 4}})}},
		"picked, counted short and shipped": {porcupine.Ok, []porcupine.Operation{
			op(0, 1, deed{kind: "allocate"}, told{held: perSpot{4, 4}}),
			op(2, 3, deed{kind: "pick", from: 1, q: 4}, told{}),
			op(4, 5, deed{kind: "count", from: 0, q: 1}, told{}),
			op(6, 7, look, told{on: perSpot{1}, held: perSpot{1}, lane: perLot{4}}),
			op(8, 9, deed{kind: "ship", lots: perLot{4}}, told{}),
			op(10, 11, look, told{on: perSpot{1}, held: perSpot{1}})}},
		"picked twice": {porcupine.Illegal, []porcupine.Operation{
			op(0, 1, deed{kind: "allocate"}, told{held: perSpot{4, 4}}),
			op(2, 9, deed{kind: "pick", from: 1, q: 4}, told{}), op(2, 9, deed{kind: "pick", from: 1, q: 4}, told{})}},
		"shipped before it was picked": {porcupine.Illegal, []porcupine.Operation{
			op(0, 1, deed{kind: "ship", lots: perLot{4}}, told{}), op(2, 3, deed{kind: "pick", q: 4}, told{})}},
		"a count that keeps its promises": {porcupine.Illegal, []porcupine.Operation{
			op(0, 1, deed{kind: "allocate"}, told{held: perSpot{4, 4}}),
			op(2, 3, deed{kind: "count", from: 0, q: 1}, told{}),
			op(4, 5, look, told{on: perSpot{1, 4}, held: perSpot{4, 4}})}},
		"a count that was passed over": {porcupine.Illegal, []porcupine.Operation{
			op(0, 9, deed{kind: "count", from: 0, q: 1}, told{}), op(10, 11, look, told{on: perSpot{4, 4}})}},
		"the later lot first": {porcupine.Illegal, []porcupine.Operation{
			op(0, 9, deed{kind: "allocate"}, told{held: perSpot{1, 4}})}},
	} {
		if got, _ := judge(t, first, x.history); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}
