package inventory

import (
	"math"
	"testing"
)

// Mean and sample standard deviation of daily issues, days without one
// included.
func TestDemand(t *testing.T) {
	for _, c := range []struct {
		name     string
		issues   []float64
		days     int
		mean, sd float64
	}{
		{"nothing went out", nil, 30, 0, 0},
		{"the same every day", []float64{5, 5, 5, 5}, 4, 5, 0},
		{"once in four days", []float64{8}, 4, 2, 4},                    // deviations 6, -2, -2, -2: sqrt(48 / 3)
		{"2, 4, 4, 6", []float64{2, 4, 4, 6}, 4, 4, math.Sqrt(8.0 / 3)}, // squares of -2, 0, 0, 2
		{"one day alone has no spread", []float64{7}, 1, 7, 0},
		{"no days", nil, 0, 0, 0},
	} {
		var sum, squares float64
		for _, x := range c.issues {
			sum, squares = sum+x, squares+x*x
		}
		if d := DemandOf(sum, squares, c.days); math.Abs(d.Mean-c.mean) > 1e-12 || math.Abs(d.SD-c.sd) > 1e-12 {
			t.Errorf("%s: %+v, want %v and %v", c.name, d, c.mean, c.sd)
		}
	}
}

// d x L + z x s x sqrt(L), rounded up (Silver, Pyke & Thomas 2017); z = 1.645
// covers 95 % of lead times.
func TestReorderPoint(t *testing.T) {
	const service95 = 1.645
	for _, c := range []struct {
		mean, sd, lead, z, want float64
	}{
		{10, 0, 4, service95, 40},
		{10, 4, 4, service95, 54},   // 40 + 13.16
		{10, 4, 9, service95, 110},  // 90 + 19.74
		{10, 4, 4, 0, 40},           // no safety stock: every other lead time runs short
		{10, 4, 4, 2.326, 59},       // 99 %: 40 + 18.608
		{10, 4, 0, service95, 0},    // there at once
		{0, 0, 30, service95, 0},    // nobody asks for it
		{0.1, 0.3, 7, service95, 3}, // 0.7 + 1.306
		{0.1, 0, 30, 0, 3},          // 3.0000000000000004 is 3
	} {
		if got := (Demand{Mean: c.mean, SD: c.sd, Days: 90}).ReorderPoint(c.lead, c.z); got != c.want {
			t.Errorf("d %v, s %v, L %v, z %v: %v, want %v", c.mean, c.sd, c.lead, c.z, got, c.want)
		}
	}
}

// Cumulative value, greatest first: up to 80 % A, up to 95 % B, the rest C.
func TestABC(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   string
	}{
		{"70, 85, 95, 100 %", []float64{5, 70, 10, 15}, "CABB"},
		{"one item is everything", []float64{100}, "A"},
		{"nothing went out", []float64{0, 0}, "CC"},
		{"exactly 80 %, then the rest", []float64{40, 40, 20}, "AAC"},
		{"the first alone passes 80 %", []float64{90, 4, 6}, "ACC"},
		{"the first alone passes 80 %, the next ends below 95", []float64{85, 9, 6}, "ABC"},
		{"equal values are of one class", []float64{50, 50}, "AA"},
		{"returns only", []float64{-5, 10}, "CA"},
		{"no items", nil, ""},
	} {
		cuts, got := CutABC(c.values), ""
		for _, v := range c.values {
			got += cuts.Class(v)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
