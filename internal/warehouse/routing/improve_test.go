package routing

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Walks and rounds of up to sixty stops are within 2 % of the best of twenty starts at
// random, each shortened by the same moves.
func TestToursAreNearTheBestOfTwentyStarts(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	worst := 0.0
	for range 15 {
		n := 8 + random.IntN(kickedStops-8+1)
		places := make([]Place, n)
		for i := range places {
			aisle := random.IntN(8)
			places[i] = Place{Aisle: string(rune('A' + aisle)), X: float64(4 * aisle), Y: 40 * random.Float64()}
		}
		var start *Place
		if random.IntN(2) == 0 {
			start = &Place{X: -5, Y: -5}
		}
		got, err := Pick(places, start, nil)
		if err != nil {
			t.Fatal(err)
		}
		if sorted := slices.Sorted(slices.Values(got.Order)); len(slices.Compact(sorted)) != n {
			t.Fatalf("%d places are visited as %v", n, got.Order)
		}

		w, err := newWalker(places, start, nil)
		if err != nil {
			t.Fatal(err)
		}
		best := got.Metres
		for range 20 {
			best = min(best, w.improveTour(random.Perm(n)).Metres)
		}
		worst = max(worst, got.Metres/best-1)
	}
	t.Logf("at most %.2f %% longer", 100*worst)
	if worst > 0.02 {
		t.Errorf("a walk is %.2f %% longer than the best of twenty starts", 100*worst)
	}
}
