package main

import (
	"math"
	"testing"
)

func TestArea(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 1},
		{[]float64{4, 5, 6}, []float64{1, 2, 3}, 1},
		{[]float64{1, 1}, []float64{1, 1}, 0.5},
		{[]float64{1, 3}, []float64{2, 4}, 0.75},
		{[]float64{1, 2}, []float64{2, 3}, 0.875},
	} {
		if got := area(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("area(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
