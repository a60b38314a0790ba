package score

import (
	"fmt"
	"math"
	"slices"
)

// Origins is how many of the last periods a backtest forecasts, at least.
const Origins = 3

// CrownEvents is the least number of events in the origins of a champion: with
// fewer, the model that forecasts least wins, whatever it knows. Ours, after the
// ten events for each parameter of Peduzzi et al. 1996.
const CrownEvents = 10

// Track is the record of one model: its metrics at each origin, those over all
// origins together, and the origins at which its deviance was below both the
// weighted model's and the pooled rate's. Borrowed says that a forecast rested on
// the shipped prior; Refused is why the model is no champion, "" where it could be.
type Track struct {
	Model    string    `json:"model"`
	Origins  []Metrics `json:"origins"`
	Overall  Metrics   `json:"overall"`
	Wins     int       `json:"wins"`
	Borrowed bool      `json:"borrowed_prior,omitempty"`
	Refused  string    `json:"refused,omitempty"`
}

// Report is a rolling-origin backtest: Periods are the panel periods forecast
// (each from the periods before it), Tracks one per model with the pooled rate
// first, Champion the name of the model to use. Newcomers are the entities that
// worked in an origin and had no hours before it, so that nobody could forecast
// them. LateReports are, of the Incidents in the panel, those reported after the
// end of their period: the forecasts knew them earlier than anybody did.
type Report struct {
	Periods     []int   `json:"periods"`
	Tracks      []Track `json:"tracks"`
	Champion    string  `json:"champion"`
	Newcomers   int     `json:"newcomers"`
	Incidents   int     `json:"incidents"`
	LateReports int     `json:"late_reports"`
}

// Why says in words why the weighted model speaks, "" where another one does:
// what kept the statistical model with the least deviance from the crown.
func (r *Report) Why() string {
	if r.Champion != NameWeighted {
		return ""
	}
	best := -1
	for i := range r.Tracks {
		t := &r.Tracks[i]
		if isStatistical(t.Model) && (best < 0 || t.Overall.Deviance < r.Tracks[best].Overall.Deviance) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return r.Tracks[best].Refused
}

func isStatistical(model string) bool { return model == NameBayes || model == NameRegression }

// Backtest forecasts each of the last origins periods of p (>= 3) from the
// periods before it, hours included: those of an entity are taken to be the mean of
// the last three periods, since nobody knows in advance who will work how long.
// Entities without hours in those are not counted. Fewer than origins + 2 periods, or a period without hours, is
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
	rep.Newcomers = runs[0].newcomers
	for i, m := range models {
		rep.Tracks[i] = Track{Model: m.Name(), Origins: runs[i].origins, Borrowed: runs[i].borrowed}
		if rep.Tracks[i].Overall, err = Measure(runs[i].fs, runs[i].events); err != nil {
			return Report{}, err
		}
	}
	rep.Champion = Champion(rep.Tracks)
	return rep, nil
}

// run gathers the forecasts of one model over the origins.
type run struct {
	origins   []Metrics
	fs        []Forecast
	events    []float64
	newcomers int
	borrowed  bool
}

func (r *run) forecastPeriod(p *Panel, t int, m Model) error {
	hours := p.expectedHours(t)
	fs, err := m.Forecast(p.Before(t), hours)
	if err != nil {
		return err
	}
	from := len(r.fs)
	for e, h := range hours {
		if h > 0 {
			r.fs = append(r.fs, fs[e])
			r.events = append(r.events, float64(p.At(e, t).Events))
			r.borrowed = r.borrowed || fs[e].Borrowed
		} else if p.At(e, t).Hours > 0 {
			r.newcomers++
		}
	}
	if len(r.fs) == from {
		return tooThin("nobody had hours before period %d", t)
	}
	got, err := Measure(r.fs[from:], r.events[from:])
	r.origins = append(r.origins, got)
	return err
}

// expectedHours are the hours that one expected of each entity when period t
// began: the mean of the three periods before it.
func (p *Panel) expectedHours(t int) []float64 {
	from := max(0, t-3)
	hours := make([]float64, p.Entities)
	for e := range hours {
		for k := from; k < t; k++ {
			hours[e] += float64(p.At(e, k).Hours) / float64(t-from)
		}
	}
	return hours
}

// Champion sets wins and refusals of every track and names the model with the
// least overall deviance among those that earn it: at least [CrownEvents] events
// in at least three origins, a lower overall deviance than the weighted model and
// the pooled rate, also at two thirds of the origins or more, and a prior of the
// tenant's own. Without such a model the weighted one speaks.
func Champion(tracks []Track) string {
	weighted, pooled := trackOf(tracks, NameWeighted), trackOf(tracks, NamePooled)
	name, least := NameWeighted, math.Inf(1)
	for i := range tracks {
		t := &tracks[i]
		t.Wins = countWins(t.Origins, weighted.Origins, pooled.Origins)
		if !isStatistical(t.Model) {
			continue
		}
		t.Refused = t.explainRefusal(weighted, pooled)
		if t.Refused == "" && t.Overall.Deviance < least {
			name, least = t.Model, t.Overall.Deviance
		}
	}
	return name
}

// trackOf is the record of a model by name, an empty one where there is none.
func trackOf(tracks []Track, name string) Track {
	if i := slices.IndexFunc(tracks, func(t Track) bool { return t.Model == name }); i >= 0 {
		return tracks[i]
	}
	return Track{Overall: Metrics{Deviance: math.Inf(1)}}
}

// explainRefusal says why a model is no champion, "" where it may be.
func (t *Track) explainRefusal(weighted, pooled Track) string {
	own := t.Overall.Deviance
	switch {
	case len(t.Origins) < Origins:
		return fmt.Sprintf("%d periods were forecast; a model needs %d", len(t.Origins), Origins)
	case t.Overall.Observed < CrownEvents:
		return fmt.Sprintf("%.0f incidents happened in the periods that were forecast; a model needs %d to be judged by",
			t.Overall.Observed, CrownEvents)
	case t.Borrowed:
		return fmt.Sprintf("fewer than %d entities with hours or %d incidents came before a period that was forecast: "+
			"the prior is not the tenant's own", MinEntities, MinEvents)
	case own >= weighted.Overall.Deviance:
		return fmt.Sprintf("its deviance %.4f is not below that of the weighted model, %.4f",
			own, weighted.Overall.Deviance)
	case own >= pooled.Overall.Deviance:
		return fmt.Sprintf("its deviance %.4f is not below that of one rate for all, %.4f",
			own, pooled.Overall.Deviance)
	case 3*t.Wins < 2*len(t.Origins):
		return fmt.Sprintf("it was better than the weighted model and one rate for all in %d of %d periods only",
			t.Wins, len(t.Origins))
	}
	return ""
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
