package dbtest

import (
	"math"
	"runtime"
	"testing"
)

// Allocates holds what one run of f allocates to a recorded number, within a
// fifth: a path that grows by more is meant to, or mended. Also one that shrinks
// by more fails, so that the record stays the measure. The engine's own
// allocations count where it runs in the process. Under the race detector,
// which allocates by itself, nothing is compared.
func Allocates(t *testing.T, name string, recorded float64, f func()) {
	t.Helper()
	for range 5 { // fills caches and prepares statements
		f()
	}
	if raced {
		return
	}
	// What goes on beside f in the process counts too, so the least of five counts.
	got := math.Inf(1)
	for range 5 {
		runtime.GC()
		got = min(got, testing.AllocsPerRun(20, f))
	}
	if got > recorded*1.2 || got < recorded*0.8 {
		t.Errorf("%s: %.0f allocations, recorded are %.0f", name, got, recorded)
	}
}
