package inventory

import (
	"cmp"
	"math"
	"slices"
)

// LeastDemandDays is how long an item has to have been here before its demand
// says anything: four weeks, so that each weekday is seen four times.
const LeastDemandDays = 28

// Demand is what goes out of an item a day, in base units: the mean, and the
// sample standard deviation over days, those without an issue included.
type Demand struct {
	Mean, SD float64
	Days     int // looked at
}

// DemandOf takes the sum of daily issues and of their squares over a number of
// days. Fewer than two days have no deviation.
func DemandOf(sum, squares float64, days int) Demand {
	d := Demand{Days: days}
	if days > 0 {
		d.Mean = sum / float64(days)
	}
	if days > 1 {
		d.SD = math.Sqrt(max(0, squares-sum*d.Mean) / float64(days-1))
	}
	return d
}

// ReorderPoint is d x L + z x s x sqrt(L) in base units, rounded up to a whole
// one: the demand of a lead time of L days and a safety stock for its spread
// (Silver, Pyke & Thomas 2017, Inventory and Production Management in Supply
// Chains, 4th ed.; demand independent from day to day, lead time known). An
// item without demand has 0, which means that none is kept.
func (d Demand) ReorderPoint(leadDays, z float64) float64 {
	return max(0, math.Ceil(d.Mean*leadDays+z*d.SD*math.Sqrt(leadDays)-1e-9))
}

// ABCCuts are the least values that classes A and B begin at.
type ABCCuts struct{ A, B float64 }

// Class is the class of a value.
func (c ABCCuts) Class(value float64) string {
	switch {
	case value <= 0:
		return "C"
	case value >= c.A:
		return "A"
	case value >= c.B:
		return "B"
	}
	return "C"
}

// CutABC finds where the classes of values (yearly issue value per item) begin:
// sorted, greatest first, up to 80 % of the total are A, up to 95 % B, the rest
// C (Dickie, Factory Management and Maintenance, July 1951; Flores &
// Whybark 1987 discuss further criteria). The greatest is always A, also when
// it alone passes 80 %; equal values are of one class, the better.
func CutABC(values []float64) ABCCuts {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	total := 0.0
	for _, v := range sorted {
		total += max(0, v)
	}
	var c ABCCuts
	sum := 0.0
	for n, v := range sorted {
		sum += v
		switch {
		case v <= 0 || sum > 0.95*total*(1+1e-12) && n > 0:
			return c
		case sum <= 0.80*total*(1+1e-12) || n == 0:
			c = ABCCuts{v, v}
		default:
			c.B = v
		}
	}
	return c
}
