package score_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
	"holdfast/internal/score"
)

func weighted(t testing.TB, entityType string) score.Weighted {
	t.Helper()
	b, err := score.DefaultBounds(entityType)
	if err != nil {
		t.Fatal(err)
	}
	m, err := score.NewWeighted(score.DefaultWeights(), b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// month is 30 days at the given weekly hours.
func month(incidents, nearMisses int, weekly, load float64) score.Inputs {
	return score.Inputs{
		IncidentCount: incidents,
		NearMissCount: nearMisses,
		ShiftHours:    weekly * 30 / 7,
		Workload:      load,
		PeriodDays:    30,
	}
}

func TestWeightedScore(t *testing.T) {
	for _, c := range []struct {
		name   string
		entity string
		in     score.Inputs
		want   float64
	}{
		{"nothing happened, at standard", score.Worker, month(0, 0, 40, 1), 3.8},
		{"one incident", score.Worker, month(1, 0, 40, 1), 26.3},
		{"two of each, 50 h", score.Worker, month(2, 2, 50, 1), 54.9},
		{"four, six, 60 h, overloaded", score.Worker, month(4, 6, 60, 1.6), 92.2},
		{"twenty near misses alone stay Low", score.Driver, month(0, 20, 40, 1), 23.6},
		{"no data at all", score.Worker, score.Inputs{PeriodDays: 30}, 0},
		{"zone: 240 h a week is half of 80..400", score.Zone, month(0, 0, 240, 0), 10},
		{"equipment: 80 h a week is half of 40..120", score.Equipment, month(0, 0, 80, 0), 10},
		{"one incident in 60 days weighs 1 - 2^-0.5", score.Worker, score.Inputs{IncidentCount: 1, PeriodDays: 60}, 13.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := weighted(t, c.entity).Score(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got.Score != c.want {
				t.Errorf("score = %g, want %g", got.Score, c.want)
			}
			var points float64
			for _, term := range got.Terms {
				points += term.Points
			}
			if score.Round(points, 1) != got.Score {
				t.Errorf("points add up to %g, score is %g", points, got.Score)
			}
		})
	}
}

// A stranger recomputes the score from the terms shown.
func TestWeightedTerms(t *testing.T) {
	got, err := weighted(t, score.Worker).Score(month(1, 3, 50, 1.2))
	if err != nil {
		t.Fatal(err)
	}
	want := [4]score.Term{
		{Name: "incidents", Value: 0.5, Weight: 0.45, Points: 22.5},
		{Name: "near_misses", Value: 0.5, Weight: 0.20, Points: 10},
		{Name: "shift_hours", Value: 0.5, Weight: 0.20, Points: 10},
		{Name: "load", Value: 0.5, Weight: 0.15, Points: 7.5},
	}
	approx := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if d := cmp.Diff(want, got.Terms, approx); d != "" {
		t.Error(d)
	}
}

func TestWeightedConfidence(t *testing.T) {
	for _, c := range []struct {
		name   string
		entity string
		in     score.Inputs
		want   float64
	}{
		{"worker at H0", score.Worker, score.Inputs{ShiftHours: 160, PeriodDays: 30}, 0.5},
		{"zone at its H0", score.Zone, score.Inputs{ShiftHours: 800, PeriodDays: 30}, 0.5},
		{"a year of full time", score.Worker, score.Inputs{ShiftHours: 2000, PeriodDays: 365}, 0.93},
		{"no shifts: 0.65 x 30/120", score.Worker, score.Inputs{PeriodDays: 30}, 0.16},
		{"no shifts: 0.65 x 90/180, half up", score.Worker, score.Inputs{PeriodDays: 90}, 0.33},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := weighted(t, c.entity).Score(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got.Confidence != c.want {
				t.Errorf("confidence = %g, want %g", got.Confidence, c.want)
			}
		})
	}
}

func TestOnlyProportionsOfWeightsMatter(t *testing.T) {
	b, _ := score.DefaultBounds(score.Worker)
	double, err := score.NewWeighted(score.Weights{Incident: 90, NearMiss: 40, ShiftHours: 40, Load: 30}, b)
	if err != nil {
		t.Fatal(err)
	}
	in := month(2, 2, 50, 1)
	one, _ := weighted(t, score.Worker).Score(in)
	two, _ := double.Score(in)
	if one.Score != two.Score {
		t.Errorf("scores %g and %g differ", one.Score, two.Score)
	}
}

// refused fails unless err is fault.Invalid naming the input.
func refused(t *testing.T, err error, field string) {
	t.Helper()
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), field) {
		t.Errorf("got %v, want a fault.Invalid naming %s", err, field)
	}
}

func TestWeightedRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		field string
		in    score.Inputs
	}{
		{"period_days", score.Inputs{PeriodDays: 0}},
		{"period_days", score.Inputs{PeriodDays: 366}},
		{"incident_count", score.Inputs{IncidentCount: -1, PeriodDays: 30}},
		{"near_miss_count", score.Inputs{NearMissCount: -1, PeriodDays: 30}},
		{"shift_hours", score.Inputs{ShiftHours: nan, PeriodDays: 30}},
		{"shift_hours", score.Inputs{ShiftHours: -1, PeriodDays: 30}},
		{"shift_hours", score.Inputs{ShiftHours: inf, PeriodDays: 30}},
		{"workload", score.Inputs{Workload: nan, PeriodDays: 30}},
		{"workload", score.Inputs{Workload: 1e9, PeriodDays: 30}},
	} {
		_, err := weighted(t, score.Worker).Score(c.in)
		refused(t, err, c.field)
	}
	good := score.DefaultWeights()
	for _, c := range []struct {
		field string
		edit  func(w *score.Weights, b *score.Bounds)
	}{
		{"weight_incident", func(w *score.Weights, _ *score.Bounds) { w.Incident = -0.1 }},
		{"weight_load", func(w *score.Weights, _ *score.Bounds) { w.Load = nan }},
		{"weights", func(w *score.Weights, _ *score.Bounds) { *w = score.Weights{} }},
		{"hours_high", func(_ *score.Weights, b *score.Bounds) { b.HoursHigh = b.HoursLow }},
		{"load_high", func(_ *score.Weights, b *score.Bounds) { b.LoadHigh = 0 }},
		{"near_miss_half", func(_ *score.Weights, b *score.Bounds) { b.NearMissHalf = 0 }},
	} {
		w := good
		b, _ := score.DefaultBounds(score.Worker)
		c.edit(&w, &b)
		_, err := score.NewWeighted(w, b)
		refused(t, err, c.field)
	}
	_, err := score.DefaultBounds("truck")
	refused(t, err, "entity_type")
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		want     float64
	}{
		{3.75, 1, 3.8}, {2.675, 2, 2.68}, {1.005, 2, 1.01}, {0.325, 2, 0.33}, {-1.25, 1, -1.2}, {74.9499, 1, 74.9},
		{1234567.125, 2, 1234567.13},
	} {
		if got := score.Round(c.x, c.decimals); got != c.want {
			t.Errorf("Round(%g, %d) = %g, want %g", c.x, c.decimals, got, c.want)
		}
	}
}

// Any input is either refused or scored within its range.
func FuzzWeighted(f *testing.F) {
	f.Add(1, 2, 170.0, 1.0, 30)
	f.Add(0, 0, math.Inf(1), math.NaN(), 366)
	m := weighted(f, score.Worker)
	f.Fuzz(func(t *testing.T, i, n int, hours, load float64, days int) {
		r, err := m.Score(score.Inputs{IncidentCount: i, NearMissCount: n, ShiftHours: hours, Workload: load,
			PeriodDays: days})
		if err == nil && !(r.Score >= 0 && r.Score <= 100 && r.Confidence >= 0 && r.Confidence <= 1) {
			t.Errorf("score %g, confidence %g", r.Score, r.Confidence)
		}
	})
}
