package score

import (
	"fmt"
	"math"
	"slices"
)

// Origins is how many of the last periods a backtest forecasts, at least.
const Origins = 3

// Track is the record of one model: its metrics at each origin, those over all
// origins together, and the origins at which its deviance was below both the
// weighted model's and the pooled rate's.
type Track struct {
	Model   string    `json:"model"`
	Origins []Metrics `json:"origins"`
	Overall Metrics   `json:"overall"`
	Wins    int       `json:"wins"`
}

// Report is a rolling-origin backtest: Periods are the panel periods forecast
// (each from the periods before it), Tracks one per model with the pooled rate
// first, Champion the name of the model to use.
type Report struct {
	Periods  []int   `json:"periods"`
	Tracks   []Track `json:"tracks"`
	Champion string  `json:"champion"`
}

// Backtest forecasts each of the last origins periods of p (>= 3) from the
// periods before it. Entities without hours in a period are not counted in it.
// Fewer than origins + 2 periods, or a period without hours, is
// fault.Unprocessable; models must hold the weighted one for a fair champion.
func Backtest(p *Panel, models []Model, origins int) (Report, error) {
	err := firstError(p.Check(), inRange("origins", float64(origins), Origins, 1000))
	if err != nil {
		return Report{}, err
	}
	if p.Periods < origins+2 {
		return Report{}, tooThin("a backtest of %d origins needs %d periods, there are %d", origins, origins+2, p.Periods)
	}
	models = append([]Model{pooledModel{}}, models...)
	runs := make([]run, len(models))
	rep := Report{Tracks: make([]Track, len(models))}
	for t := p.Periods - origins; t < p.Periods; t++ {
		rep.Periods = append(rep.Periods, t)
		for i, m := range models {
			if err := runs[i].forecastPeriod(p, t, m); err != nil {
				return Report{}, fmt.Errorf("score: backtest %s at period %d: %w", m.Name(), t, err)
			}
		}
	}
	for i, m := range models {
		rep.Tracks[i] = Track{Model: m.Name(), Origins: runs[i].origins}
		if rep.Tracks[i].Overall, err = Measure(runs[i].fs, runs[i].events); err != nil {
			return Report{}, err
		}
	}
	rep.Champion = Champion(rep.Tracks)
	return rep, nil
}

// run gathers the forecasts of one model over the origins.
type run struct {
	origins []Metrics
	fs      []Forecast
	events  []float64
}

func (r *run) forecastPeriod(p *Panel, t int, m Model) error {
	hours := make([]float64, p.Entities)
	for e := range hours {
		hours[e] = float64(p.At(e, t).Hours)
	}
	fs, err := m.Forecast(p.Before(t), hours)
	if err != nil {
		return err
	}
	from := len(r.fs)
	for e, h := range hours {
		if h > 0 {
			r.fs = append(r.fs, fs[e])
			r.events = append(r.events, float64(p.At(e, t).Events))
		}
	}
	if len(r.fs) == from {
		return tooThin("nobody had hours in period %d", t)
	}
	got, err := Measure(r.fs[from:], r.events[from:])
	r.origins = append(r.origins, got)
	return err
}

// Champion sets the wins of every track and names the model with the least
// overall deviance among those that beat the weighted model and the pooled rate
// at two thirds of the origins or more. Without such a model, or with fewer
// than three origins, the weighted model stays.
func Champion(tracks []Track) string {
	base := func(name string) []Metrics {
		i := slices.IndexFunc(tracks, func(t Track) bool { return t.Model == name })
		if i < 0 {
			return nil
		}
		return tracks[i].Origins
	}
	weighted, pooled := base(NameWeighted), base(NamePooled)
	name, least := NameWeighted, math.Inf(1)
	for i := range tracks {
		t := &tracks[i]
		t.Wins = countWins(t.Origins, weighted, pooled)
		if len(t.Origins) >= Origins && 3*t.Wins >= 2*len(t.Origins) && t.Overall.Deviance < least {
			name, least = t.Model, t.Overall.Deviance
		}
	}
	return name
}

func countWins(own, weighted, pooled []Metrics) int {
	n := 0
	for k := range own {
		beats := func(other []Metrics) bool { return k < len(other) && own[k].Deviance < other[k].Deviance }
		if beats(weighted) && beats(pooled) {
			n++
		}
	}
	return n
}
