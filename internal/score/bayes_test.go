package score_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"

	"holdfast/internal/fault"
	"holdfast/internal/score"
)

func TestDecay(t *testing.T) {
	for age, want := range map[float64]float64{0: 1, 180: 0.5, 360: 0.25, -5: 1} {
		if got := score.Decay(age, score.HalfLife); math.Abs(got-want) > 1e-12 {
			t.Errorf("Decay(%g) = %g, want %g", age, got, want)
		}
	}
	var x score.Exposure
	x.AddEvents(2, 0.5)
	x.AddHours(400_000, 0.25)
	if d := cmp.Diff(score.Exposure{Events: 1, Units: 0.5, Count: 2, RawUnits: 2}, x); d != "" {
		t.Error(d)
	}
}

// Gamma(2, 1) has mean 2; two events in one unit give Gamma(4, 2).
func TestPosterior(t *testing.T) {
	prior := score.Prior{Alpha: 2, Beta: 1, Mean: 2}
	for _, c := range []struct {
		name              string
		x                 score.Exposure
		rate, score, z, p float64 // p over one unit ahead
	}{
		{"no history: the peer mean", score.Exposure{}, 2, 50, 0, 0.75},
		{"as the peers", score.Exposure{Events: 2, Units: 1}, 2, 50, 0.5, 1 - math.Pow(2.0/3, 4)},
		{"twice the peers", score.Exposure{Events: 6, Units: 1}, 4, 75, 0.5, 1 - math.Pow(2.0/3, 8)},
		{"three times", score.Exposure{Events: 10, Units: 1}, 6, 87.5, 0.5, 1 - math.Pow(2.0/3, 12)},
		{"a long clean record", score.Exposure{Units: 9}, 0.2, 100 * (1 - math.Exp2(-0.1)), 0.9, 1 - math.Pow(10.0/11, 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := prior.Posterior(c.x)
			got := []float64{q.Rate(), q.Score(), q.Z, q.Probability(1)}
			for i, want := range []float64{c.rate, c.score, c.z, c.p} {
				if math.Abs(got[i]-want) > 1e-9 {
					t.Errorf("rate, score, z, p = %v, want %v at %d", got, want, i)
				}
			}
			low, high := q.Interval()
			g := distuv.Gamma{Alpha: q.Alpha, Beta: q.Beta}
			if math.Abs(g.CDF(low)-0.05) > 1e-6 || math.Abs(g.CDF(high)-0.95) > 1e-6 {
				t.Errorf("interval %g..%g covers %g..%g", low, high, g.CDF(low), g.CDF(high))
			}
			var points float64
			for _, term := range prior.Explain(c.x) {
				points += term.Points
			}
			if math.Abs(points-q.Score()) > 1e-9 {
				t.Errorf("explained %g of a score of %g", points, q.Score())
			}
		})
	}
}

func TestPriorScore(t *testing.T) {
	prior := score.Prior{Alpha: 2, Beta: 1, Mean: 2}
	got, err := prior.Score([]score.Exposure{{}, {Events: 6, Units: 1, Count: 6}}, []float64{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	want := []score.Estimate{ // quantiles of Gamma(2,1) and Gamma(8,2), chi-square tables with 4 and 16 degrees
		{Score: 50, Confidence: 0, Rate: 2, Low: 0.36, High: 4.74, Probability: 0.75, ScoreLow: 11.6, ScoreHigh: 80.7},
		{Score: 75, Confidence: 0.5, Rate: 4, Low: 1.99, High: 6.57, Probability: 0, ScoreLow: 49.8, ScoreHigh: 89.8},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func peers(n int, events ...int) []score.Exposure {
	xs := make([]score.Exposure, n)
	for i := range xs {
		xs[i].AddHours(100_000, 1)
		if i < len(events) {
			xs[i].AddEvents(events[i], 1)
		}
	}
	return xs
}

func TestPriorSource(t *testing.T) {
	idle := append(peers(9, 5), score.Exposure{})
	for _, c := range []struct {
		name string
		xs   []score.Exposure
		want string
	}{
		{"nobody", nil, score.SourceShipped},
		{"nine entities", peers(9, 5), score.SourceShipped},
		{"a tenth without hours does not count", idle, score.SourceShipped},
		{"four events", peers(10, 4), score.SourceShipped},
		{"ten entities, five events", peers(10, 3, 2), score.SourceTenant},
	} {
		p, err := score.FitPrior(c.xs)
		if err != nil {
			t.Fatal(err)
		}
		if p.Source != c.want {
			t.Errorf("%s: prior from %q, want %q", c.name, p.Source, c.want)
		}
	}
	p, _ := score.FitPrior(nil)
	if p.Alpha != 1.1 || p.Beta != 0.34 || p.Mean != 3.3 {
		t.Errorf("shipped prior %+v", p)
	}
}

// At equal exposure the ML mean is the pooled rate; peers as alike as chance
// allows end at the largest shape, peers very unlike at a small one.
func TestFitPriorEdges(t *testing.T) {
	for _, c := range []struct {
		name      string
		xs        []score.Exposure
		low, high float64
	}{
		{"all alike", peers(20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 9_999, 10_001},
		{"one has them all", peers(50, 40), 1e-3, 0.05},
		{"huge counts", peers(12, 1e8, 1e7, 1e6, 1e5), 0.01, 0.5},
	} {
		p, err := score.FitPrior(c.xs)
		if err != nil {
			t.Fatal(err)
		}
		var y, e float64
		for _, x := range c.xs {
			y, e = y+x.Events, e+x.Units
		}
		if !(p.Alpha >= c.low && p.Alpha <= c.high) || math.Abs(p.Mean/(y/e)-1) > 1e-6 {
			t.Errorf("%s: alpha %g, mean %g; want alpha in %g..%g, mean %g", c.name, p.Alpha, p.Mean, c.low, c.high, y/e)
		}
	}
}

// A prior that could not score anybody is not given out: hours and events that do
// not belong together.
func TestFitPriorRefusesWhatCannotScore(t *testing.T) {
	xs := peers(12, 40, 30, 20)
	for i := range xs {
		xs[i].Units, xs[i].RawUnits = 1e-9, 1e-9
	}
	if p, err := score.FitPrior(xs); !fault.HasCode(err, "prior_not_fitted") || !fault.Is(err, fault.Unprocessable) {
		t.Errorf("%+v %v", p, err)
	}
}

// Peers differ with shape 4 around 20 per unit. Decay makes their counts vary
// less; that must not pass for the peers being alike.
func TestDecayDoesNotHideDifferences(t *testing.T) {
	src := rand.NewPCG(1, 9)
	xs := make([]score.Exposure, 2000)
	for e := range xs {
		rate := distuv.Gamma{Alpha: 4, Beta: 4.0 / 20, Src: src}.Rand()
		for age := 14.0; age < score.HistoryDays; age += score.PanelDays {
			w := score.Decay(age, score.HalfLife)
			xs[e].AddHours(1500, w)
			xs[e].AddEvents(int(distuv.Poisson{Lambda: rate * 1500 / score.HoursUnit, Src: src}.Rand()), w)
		}
	}
	p, err := score.FitPrior(xs)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(p.Alpha-4) > 0.8 || math.Abs(p.Mean-20) > 1 {
		t.Errorf("alpha %.2f, mean %.2f, the law is 4 and 20", p.Alpha, p.Mean)
	}
}

func TestPeerGroup(t *testing.T) {
	p := score.Prior{Alpha: 1, Beta: 0.5, Mean: 2}.WithPeers(score.Exposure{Events: 5, Units: 1})
	if p.Mean != 4 || p.Beta != 0.5 || p.Alpha != 2 {
		t.Errorf("group prior %+v, want mean 4 at the same beta", p)
	}
}

func TestBayesRefusals(t *testing.T) {
	for _, x := range []score.Exposure{{Events: math.NaN()}, {Events: -1}, {Events: math.Inf(1)}} {
		_, err := score.FitPrior([]score.Exposure{{}, x})
		refused(t, err, "exposures[1].events")
	}
	_, err := score.FitPrior([]score.Exposure{{Units: -1}})
	refused(t, err, "exposures[0].units")
	prior := score.ShippedPrior()
	_, err = prior.Score(make([]score.Exposure, 2), []float64{1})
	refused(t, err, "next")
	_, err = prior.Score(make([]score.Exposure, 1), []float64{math.NaN()})
	refused(t, err, "next[0]")
	prior.Beta = 0
	_, err = prior.Score(nil, nil)
	refused(t, err, "beta")
}

// Any prior and history is either refused or gives an ordered estimate.
func FuzzPriorScore(f *testing.F) {
	f.Add(1.1, 0.34, 3.3, 0.0, 0.0, 0.1)
	f.Add(1e-12, 1e9, 1e-12, 1e9, 1e10, 1e10)
	f.Add(1e4, 1e-12, 1.0, 0.5, 1e-9, 0.0)
	f.Fuzz(func(t *testing.T, alpha, beta, mean, events, units, next float64) {
		p := score.Prior{Alpha: alpha, Beta: beta, Mean: mean}
		got, err := p.Score([]score.Exposure{{Events: events, Units: units}}, []float64{next})
		if err != nil {
			return
		}
		e := got[0]
		ordered := e.Low >= 0 && e.Low <= e.High && e.Rate >= 0
		if !(ordered && e.Score >= 0 && e.Score <= 100 && e.Confidence >= 0 && e.Confidence <= 1 && e.Probability >= 0 &&
			e.Probability <= 1) {
			t.Errorf("%+v", e)
		}
	})
}
