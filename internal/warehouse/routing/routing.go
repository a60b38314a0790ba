// Package routing puts stops in the order in which they are best visited: picks
// by walking through aisles, deliveries by driving from a depot. It is pure:
// places in, an order and its length out, the same for the same input. What it
// finds is good, not proved best: both problems are of the travelling salesman.
//
// Layer: domains. Begin at [Pick].
package routing

import (
	"math"

	"holdfast/internal/fault"
)

// MaxStops bounds one call: 2-opt compares all pairs of legs, and sixty passes
// over 500 stops are some fifteen million comparisons, a tenth of a second.
const (
	MaxStops  = 500
	maxPasses = 60
)

// better is by how much a change must shorten a tour to count, in its own
// unit: rounding alone must not keep it turning.
const better = 1e-9

// twoOpt shortens a tour by turning parts of it around while that helps (Croes
// 1958, Operations Research 6:791-812), from the stop at place first on: those
// before it stay. closed says that the last stop leads back to the first, which
// then stays as well. It ends after maxPasses at the latest.
func twoOpt(order []int, first int, closed bool, leg func(i, j int) float64) {
	n := len(order)
	next := func(j int) (int, bool) {
		if j+1 < n {
			return order[j+1], true
		}
		if closed {
			return order[0], true
		}
		return 0, false
	}
	for pass, changed := 0, true; changed && pass < maxPasses; pass++ {
		changed = false
		for i := first; i < n-1; i++ {
			for j := i + 1; j < n; j++ {
				was, would := 0.0, 0.0
				if i > 0 {
					was, would = leg(order[i-1], order[i]), leg(order[i-1], order[j])
				}
				if after, ok := next(j); ok {
					was, would = was+leg(order[j], after), would+leg(order[i], after)
				}
				if would < was-better {
					for a, b := i, j; a < b; a, b = a+1, b-1 {
						order[a], order[b] = order[b], order[a]
					}
					changed = true
				}
			}
		}
	}
}

// tourLength is the sum of a tour's legs.
func tourLength(order []int, closed bool, leg func(i, j int) float64) (sum float64) {
	for i := 1; i < len(order); i++ {
		sum += leg(order[i-1], order[i])
	}
	if closed && len(order) > 1 {
		sum += leg(order[len(order)-1], order[0])
	}
	return sum
}

func areFinite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

func refuseInput(name, format string, args ...any) error {
	f := fault.New(fault.Invalid, "validation_failed", "").At(name, format, args...)
	f.Msg = name + " " + f.Fields[0].Msg
	return f
}
