package score_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"holdfast/internal/fault"
	"holdfast/internal/score"
)

// world is a made-up workplace whose laws are known: each entity has its own
// risk (Gamma of the given shape, mean 1), near misses foretell incidents with
// the given slope, and hours vary.
type world struct {
	entities, periods int
	rate              float64 // events per 200,000 hours
	shape             float64 // of the entities' own risk; 0 = all alike
	nearMissSlope     float64
}

func start() time.Time { return time.Date(2023, 1, 2, 0, 0, 0, 0, time.UTC) }

func newPanel(t testing.TB, entities, periods int) *score.Panel {
	t.Helper()
	b, err := score.DefaultBounds(score.Zone)
	if err != nil {
		t.Fatal(err)
	}
	p, err := score.NewPanel(entities, periods, start(), b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w world) panel(t testing.TB) *score.Panel {
	t.Helper()
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	poisson := func(mean float64) float32 { return float32(distuv.Poisson{Lambda: mean, Src: src}.Rand()) }
	p := newPanel(t, w.entities, w.periods)
	for e := range w.entities {
		own := 1.0
		if w.shape > 0 {
			own = distuv.Gamma{Alpha: w.shape, Beta: w.shape, Src: src}.Rand()
		}
		mood := 0.2 + 2*rng.Float64() // near misses per 1,000 hours
		for k := range w.periods {
			c := p.At(e, k)
			hours := 300 + 1500*rng.Float64()
			var near, before float64
			for j := max(0, k-3); j < k; j++ {
				near, before = near+float64(p.At(e, j).NearMisses), before+float64(p.At(e, j).Hours)
			}
			x := 0.0
			if before > 0 {
				x = math.Log1p(1000 * near / before)
			}
			*c = score.Cell{
				NearMisses: poisson(mood * hours / 1000), Hours: float32(hours), Workload: float32(0.6 + rng.Float64()),
				Overdue: float32(rng.IntN(3)), ChecklistGap: float32(rng.Float64()),
			}
			c.Events = poisson(own * w.rate * math.Exp(w.nearMissSlope*x) * hours / score.HoursUnit)
		}
	}
	return p
}

// v3 finds the law that made the data, and says which term carries it.
func TestRegressionFindsTheLaw(t *testing.T) {
	p := world{entities: 2000, periods: 26, rate: 20, shape: 4, nearMissSlope: 1}.panel(t)
	r, err := score.FitRegression(p)
	if err != nil {
		t.Fatal(err)
	}
	if slope := r.Coef[0] / r.Scaler.SD[0]; math.Abs(slope-1) > 0.15 {
		t.Errorf("near-miss slope %.3f, the law is 1", slope)
	}
	if math.Abs(r.Theta.Alpha/4-1) > 0.4 || math.Abs(r.Theta.Mean-1) > 0.1 {
		t.Errorf("own risk: shape %.2f, mean %.2f, the law is 4 and 1", r.Theta.Alpha, r.Theta.Mean)
	}
	w := r.Weights()
	if sum := w.Incident + w.NearMiss + w.ShiftHours + w.Load; math.Abs(sum-1) > 1e-9 {
		t.Errorf("weights sum to %g", sum)
	}
	if w.NearMiss < w.ShiftHours || w.NearMiss < w.Load || w.Incident < w.Load {
		t.Errorf("weights %+v: near misses and own history carry the law", w)
	}
}

// The terms add up to the score of the estimate.
func TestRegressionExplains(t *testing.T) {
	p := world{entities: 200, periods: 14, rate: 40, shape: 2, nearMissSlope: 0.5}.panel(t)
	r, err := score.FitRegression(p)
	if err != nil {
		t.Fatal(err)
	}
	hours := make([]float64, 200)
	for e := range hours {
		hours[e] = 1000
	}
	got, err := r.Score(p, hours)
	if err != nil {
		t.Fatal(err)
	}
	for e, est := range got {
		var sum float64
		for _, term := range r.Explain(p, e) {
			sum += term.Points
		}
		if math.Abs(sum-est.Score) > 0.0501 {
			t.Fatalf("entity %d: terms add up to %g, the score is %g", e, sum, est.Score)
		}
		if !(est.Low <= est.Rate && est.Rate <= est.High && est.Probability > 0 && est.Probability < 1) {
			t.Fatalf("entity %d: %+v", e, est)
		}
		if want := 100 * (1 - math.Exp2(-est.Rate/r.BaseRate)); math.Abs(want-est.Score) > 0.1 {
			t.Fatalf("entity %d: score %g, rate says %g", e, est.Score, want)
		}
	}
}

func TestRegressionNeedsData(t *testing.T) {
	for _, c := range []struct {
		name string
		w    world
	}{
		{"under 50 events", world{entities: 30, periods: 6, rate: 5}},
		{"over 50, under 10 per coefficient", world{entities: 100, periods: 18, rate: 6.3}},
		{"under 10 entities", world{entities: 9, periods: 20, rate: 500}},
	} {
		r, err := score.FitRegression(c.w.panel(t))
		if !fault.HasCode(err, "too_little_data") {
			t.Errorf("%s: fit %+v, error %v, want too_little_data", c.name, r, err)
		}
	}
}

// Where the panel is too thin for v3 it forecasts as v2.
func TestThinRegressionIsBayes(t *testing.T) {
	p := world{entities: 30, periods: 6, rate: 5}.panel(t)
	rep, err := score.Backtest(p, score.Models(score.DefaultWeights()), 3)
	if err != nil {
		t.Fatal(err)
	}
	if v2, v3 := rep.Tracks[2].Overall.Deviance, rep.Tracks[3].Overall.Deviance; v2 != v3 {
		t.Errorf("deviances %g and %g differ", v2, v3)
	}
}

func TestBacktestChoosesTheLaw(t *testing.T) {
	for _, c := range []struct {
		name string
		w    world
		want string
	}{
		{"own risk and near misses matter", world{entities: 1500, periods: 16, rate: 60, shape: 2, nearMissSlope: 1.5},
			score.NameRegression},
		{"nothing to learn", world{entities: 12, periods: 6, rate: 1e-9}, score.NameWeighted},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, err := score.Backtest(c.w.panel(t), score.Models(score.DefaultWeights()), 3)
			if err != nil {
				t.Fatal(err)
			}
			if rep.Champion != c.want {
				t.Errorf("champion %s, want %s: %s", rep.Champion, c.want, asJSON(t, rep))
			}
			if len(rep.Periods) != 3 || len(rep.Tracks) != 4 || rep.Tracks[0].Model != score.NamePooled {
				t.Errorf("periods %v, %d tracks", rep.Periods, len(rep.Tracks))
			}
		})
	}
}

// A forecast never sees the period it forecasts, nor any later one.
func TestForecastsAreBlindToTheFuture(t *testing.T) {
	p := world{entities: 300, periods: 16, rate: 30, shape: 2, nearMissSlope: 1}.panel(t)
	hours := make([]float64, 300)
	for e := range hours {
		hours[e] = 1000
	}
	for _, m := range score.Models(score.DefaultWeights()) {
		before, err := m.Forecast(p.Before(14), hours)
		if err != nil {
			t.Fatal(err)
		}
		for e := range 300 {
			saved := [2]score.Cell{*p.At(e, 14), *p.At(e, 15)}
			*p.At(e, 14), *p.At(e, 15) = score.Cell{Events: 99, Hours: 1, NearMisses: 9}, score.Cell{Events: 99, Hours: 5}
			defer func() { *p.At(e, 14), *p.At(e, 15) = saved[0], saved[1] }()
		}
		after, err := m.Forecast(p.Before(14), hours)
		if err != nil {
			t.Fatal(err)
		}
		for e := range before {
			if before[e] != after[e] {
				t.Fatalf("%s: entity %d: %+v became %+v", m.Name(), e, before[e], after[e])
			}
		}
	}
}

func TestBacktestIsDeterministic(t *testing.T) {
	p := world{entities: 200, periods: 8, rate: 60, shape: 1}.panel(t)
	var got [2]string
	for i := range got {
		rep, err := score.Backtest(p, score.Models(score.DefaultWeights()), 3)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = asJSON(t, rep)
	}
	if got[0] != got[1] {
		t.Error("two runs differ")
	}
}

func TestPanelRefusals(t *testing.T) {
	b, _ := score.DefaultBounds(score.Zone)
	_, err := score.NewPanel(0, 3, start(), b)
	refused(t, err, "entities")
	_, err = score.NewPanel(1, 0, start(), b)
	refused(t, err, "periods")
	_, err = score.NewPanel(1, 1, start(), score.Bounds{})
	refused(t, err, "half")

	p := newPanel(t, 2, 6)
	_, err = score.Backtest(p, nil, 2)
	refused(t, err, "origins")
	p.At(1, 3).Events = float32(math.NaN())
	_, err = score.Backtest(p, nil, 3)
	refused(t, err, "events")
	_, err = score.FitRegression(p)
	refused(t, err, "entity 1, period 3")
	*p.At(1, 3) = score.Cell{ChecklistGap: 1.5}
	refused(t, p.Check(), "checklist_gap")

	if _, err = score.Backtest(newPanel(t, 2, 4), nil, 3); !fault.HasCode(err, "too_little_data") {
		t.Errorf("four periods: %v", err)
	}
	if _, err = score.Backtest(newPanel(t, 2, 6), nil, 3); !fault.HasCode(err, "too_little_data") {
		t.Errorf("no hours at all: %v", err)
	}
}

func TestRegressionWithoutAnyEvent(t *testing.T) {
	flat := score.Sample{N: 3, P: 1, Row: func(i int, x []float64) (float64, float64) { x[0] = float64(i); return 0, 0 }}
	if _, err := score.FitPoisson(flat, 1); !fault.HasCode(err, "too_little_data") {
		t.Errorf("no event: %v", err)
	}
	twin := score.Sample{N: 4, P: 2, Row: func(i int, x []float64) (float64, float64) {
		x[0], x[1] = float64(i), float64(i)
		return 1, 0
	}}
	if _, err := score.FitPoisson(twin, 0); !fault.HasCode(err, "too_little_data") {
		t.Errorf("twin features at lambda 0: %v", err)
	}
	_, err := score.FitPoisson(twin, math.NaN())
	refused(t, err, "lambda")
}
