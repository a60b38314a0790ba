package score_test

import (
	"testing"

	"holdfast/internal/score"
)

// BenchmarkHundredThousand is the nightly run of a large tenant: 100,000
// entities scored by v1 and v2, the prior learned from all of them.
func BenchmarkHundredThousand(b *testing.B) {
	const n = 100_000
	m := weighted(b, score.Worker)
	xs, next := make([]score.Exposure, n), make([]float64, n)
	for i := range xs {
		xs[i].AddHours(float64(500+i%1500), 0.8)
		xs[i].AddEvents((i%7)/5+(i%101)/99, 0.3+float64(i%50)/80)
		next[i] = 0.0008
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range n {
			if _, err := m.Score(month(i%3, i%5, 35+float64(i%20), 1)); err != nil {
				b.Fatal(err)
			}
		}
		prior, err := score.FitPrior(xs)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := prior.Score(xs, next); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRegression is v3 on a year and a period of 10,000 entities.
func BenchmarkRegression(b *testing.B) {
	p := world{entities: 10_000, periods: 14, rate: 30, shape: 2, nearMissSlope: 1}.panel(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := score.FitRegression(p); err != nil {
			b.Fatal(err)
		}
	}
}
