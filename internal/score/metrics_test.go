package score_test

import (
	"math"
	"testing"

	"holdfast/internal/score"
)

func TestMeasureByHand(t *testing.T) {
	fs := []score.Forecast{{Mean: 1, Probability: 0.5}, {Mean: 2, Probability: 0.8}, {Mean: 0.5, Probability: 0.4},
		{Mean: 0, Probability: 0}}
	events := []float64{1, 4, 0, 0}
	m, err := score.Measure(fs, events)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"deviance: 0, 2(4 ln 2 - 2), 2 x 0.5, 0", m.Deviance, (8*math.Ln2 - 4 + 1) / 4},
		{"Brier", m.Brier, (0.25 + 0.04 + 0.16) / 4},
		{"log loss", m.LogLoss, -(math.Log(0.5) + math.Log(0.8) + math.Log(0.6)) / 4},
		{"AUC", *m.AUC, 1},
		{"calibration in the large", *m.Calibration, 3.5 / 5},
		{"events of the top tenth (one entity)", *m.CaughtTop10, 0.8},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s = %g, want %g", c.name, c.got, c.want)
		}
	}
}

func TestAUC(t *testing.T) {
	for _, c := range []struct {
		name     string
		scores   []float64
		positive []bool
		want     float64
		ok       bool
	}{
		{"perfect", []float64{1, 2, 3, 4}, []bool{false, false, true, true}, 1, true},
		{"backwards", []float64{4, 3, 2, 1}, []bool{false, false, true, true}, 0, true},
		{"all tied", []float64{1, 1, 1}, []bool{true, false, false}, 0.5, true},
		{"one tie of four pairs", []float64{1, 2, 2, 3}, []bool{false, false, true, true}, 0.875, true},
		{"only one outcome", []float64{1, 2}, []bool{true, true}, 0, false},
	} {
		if got, ok := score.AUC(c.scores, c.positive); got != c.want || ok != c.ok {
			t.Errorf("%s: %g, %t, want %g, %t", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestBins(t *testing.T) {
	fs := make([]score.Forecast, 10)
	events := make([]float64, 10)
	for i := range fs {
		fs[9-i].Probability = float64(i) / 10
		events[9-i] = float64(i % 2)
	}
	got := score.Bins(fs, events)
	for k, b := range got {
		want := score.Bin{Entities: 2, Predicted: (0.4*float64(k) + 0.1) / 2, Observed: 0.5}
		if b.Entities != 2 || math.Abs(b.Predicted-want.Predicted) > 1e-12 || b.Observed != 0.5 {
			t.Errorf("fifth %d: %+v, want %+v", k+1, b, want)
		}
	}
}

// Twenty entities: the top tenth is two. Ties at its edge share their events.
func TestCaught(t *testing.T) {
	fs, events := make([]score.Forecast, 20), make([]float64, 20)
	fs[7].Mean, events[7] = 3, 2
	for _, i := range []int{3, 4, 5, 6} {
		fs[i].Mean = 2
	}
	events[4], events[0] = 4, 4
	if got, want := score.Caught(fs, events, 0.1), (2+4.0/4)/10; math.Abs(got-want) > 1e-12 {
		t.Errorf("caught %g, want %g", got, want)
	}
}

// Undefined is null, never a number.
func TestMeasureNothingHappened(t *testing.T) {
	m, err := score.Measure([]score.Forecast{{Mean: 0.1, Probability: 0.1}}, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	if m.AUC != nil || m.Calibration != nil || m.CaughtTop10 != nil {
		t.Errorf("undefined metrics are set: %+v", m)
	}
	_ = asJSON(t, m)
}

func TestMeasureRefusals(t *testing.T) {
	one := []score.Forecast{{Mean: 1, Probability: 0.5}}
	_, err := score.Measure(one, nil)
	refused(t, err, "forecasts")
	_, err = score.Measure(one, []float64{math.NaN()})
	refused(t, err, "events")
	_, err = score.Measure([]score.Forecast{{Probability: 1.1}}, []float64{0})
	refused(t, err, "probability")
	_, err = score.Measure([]score.Forecast{{Mean: math.Inf(1)}}, []float64{0})
	refused(t, err, "mean")
}

// track is a record by deviance at each origin.
func track(name string, deviances ...float64) score.Track {
	t := score.Track{Model: name}
	for _, d := range deviances {
		t.Origins = append(t.Origins, score.Metrics{Deviance: d})
		t.Overall.Deviance += d / float64(len(deviances))
	}
	t.Overall.Observed = score.CrownEvents
	return t
}

// with changes a record for one case.
func with(t score.Track, change func(*score.Track)) score.Track {
	change(&t)
	return t
}

func TestChampion(t *testing.T) {
	pooled, v1 := track(score.NamePooled, 2, 2, 2), track(score.NameWeighted, 1.8, 1.8, 1.8)
	for _, c := range []struct {
		name   string
		tracks []score.Track
		want   string
	}{
		{"least deviance, three of three", []score.Track{pooled, v1, track(score.NameBayes, 1.5, 1.5, 1.5),
			track(score.NameRegression, 1.4, 1.4, 1.4)},
			score.NameRegression},
		{"two of three is enough", []score.Track{pooled, v1, track(score.NameBayes, 1.5, 1.5, 1.9)}, score.NameBayes},
		{"one of three is luck", []score.Track{pooled, v1, track(score.NameBayes, 0.1, 1.9, 1.9)}, score.NameWeighted},
		{"the lucky one does not bar the steady one",
			[]score.Track{pooled, v1, track(score.NameBayes, 1.5, 1.5, 1.5), track(score.NameRegression, 0.1, 1.9, 1.9)},
			score.NameBayes},
		{"must beat pooled too", []score.Track{track(score.NamePooled, 1, 1, 1), v1, track(score.NameBayes, 1.5, 1.5, 1.5)},
			score.NameWeighted},
		{"two origins are no record", []score.Track{track(score.NamePooled, 2, 2), track(score.NameWeighted, 2, 2),
			track(score.NameBayes, 1, 1)},
			score.NameWeighted},
		{"nine events are too few", []score.Track{pooled, v1,
			with(track(score.NameBayes, 1, 1, 1), func(t *score.Track) { t.Overall.Observed = 9 })},
			score.NameWeighted},
		{"eleven are enough", []score.Track{pooled, v1, with(track(score.NameBayes, 1, 1, 1),
			func(t *score.Track) { t.Overall.Observed = 11 })},
			score.NameBayes},
		{"overall no better than the weighted model", []score.Track{pooled, v1, track(score.NameBayes, 1.7, 1.7, 2)},
			score.NameWeighted},
		{"overall no better than one rate for all",
			[]score.Track{pooled, track(score.NameWeighted, 2.1, 2.1, 2.1), track(score.NameBayes, 1.9, 1.9, 2.2)},
			score.NameWeighted},
		{"a borrowed prior", []score.Track{pooled, v1, with(track(score.NameBayes, 1, 1, 1),
			func(t *score.Track) { t.Borrowed = true })},
			score.NameWeighted},
	} {
		rep := score.Report{Tracks: c.tracks, Champion: score.Champion(c.tracks)}
		if rep.Champion != c.want {
			t.Errorf("%s: %s, want %s", c.name, rep.Champion, c.want)
		}
		if (rep.Why() != "") != (c.want == score.NameWeighted) {
			t.Errorf("%s: %s because %q", c.name, rep.Champion, rep.Why())
		}
	}
}
