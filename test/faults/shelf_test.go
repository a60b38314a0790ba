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
	modelWant   = 5 // what the one line of each order asks for
)

// perSpot is a quantity of each place of each lot.
type perSpot [modelSpots]int

func (p perSpot) sum() (n int) {
	for _, q := range p {
		n += q
	}
	return n
}

// shelf is an item's stock: what lies where, and what is promised of it to whom.
type shelf struct {
	on perSpot
	of [modelOrders]perSpot
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
	kind     string // adjust, move, allocate, deallocate; levels, promised, total
	from, to int    // spots
	order    int
	q        int // of adjust negative where it takes away
}

// told is what was answered. Silence is no answer: it may have happened at any
// time since, or never.
type told struct {
	silent, refused bool
	on, held        perSpot // of levels; held alone of promised and of allocate
	onHand, free    int     // of total
}

// step does a deed and says whether its answer is the one that the shelf gives.
// A deed without an answer that never happened is one that happens last.
func (s shelf) step(d deed, t told) (bool, shelf) {
	held, after := s.held(), s
	switch d.kind {
	case "adjust", "move":
		if gone := max(d.q, -d.q); (d.kind == "move" || d.q < 0) && s.on[d.from]-held[d.from] < gone {
			return t.silent || t.refused, s
		}
		if d.kind == "adjust" {
			after.on[d.from] += d.q
		} else {
			after.on[d.from] -= d.q
			after.on[d.to] += d.q
		}
		return t.silent || !t.refused, after
	case "allocate":
		need, taken := modelWant-s.of[d.order].sum(), perSpot{}
		for i := range taken {
			taken[i] = min(need, s.on[i]-held[i])
			need -= taken[i]
			after.of[d.order][i] += taken[i]
		}
		return t.silent || !t.refused && t.held == taken, after
	case "deallocate":
		after.of[d.order] = perSpot{}
		return t.silent || !t.refused, after
	case "levels":
		return t.silent || t.on == s.on && t.held == held, s
	case "promised":
		return t.silent || t.held == s.of[d.order], s
	case "total":
		return t.silent || t.onHand == s.on.sum() && t.free == s.on.sum()-held.sum(), s
	}
	return false, s
}

// judge says whether some order of the deeds, each at one moment between its
// call and its answer, explains all answers.
func judge(t *testing.T, first shelf, history []porcupine.Operation) (porcupine.CheckResult, func(path string) error) {
	t.Helper()
	m := porcupine.Model{
		Init: func() any { return first },
		Step: func(state, in, out any) (bool, any) {
			ok, after := state.(shelf).step(in.(deed), out.(told))
			return ok, after
		},
	}
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
			op(0, 9, deed{kind: "allocate", order: 0}, told{held: perSpot{4, 1}}),
			op(0, 9, deed{kind: "allocate", order: 1}, told{held: perSpot{4, 1}})}},
		"promised in turn": {porcupine.Ok, []porcupine.Operation{
			op(0, 9, deed{kind: "allocate", order: 0}, told{held: perSpot{0, 3}}),
			op(0, 9, deed{kind: "allocate", order: 1}, told{held: perSpot{4, 1}})}},
		"the later lot first": {porcupine.Illegal, []porcupine.Operation{
			op(0, 9, deed{kind: "allocate"}, told{held: perSpot{1, 4}})}},
	} {
		if got, _ := judge(t, first, x.history); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}
