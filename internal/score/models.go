package score

import (
	"math"

	"holdfast/internal/fault"
)

// Names of the models that a backtest compares.
const (
	NamePooled     = "pooled"
	NameWeighted   = "weighted"
	NameBayes      = "empirical_bayes"
	NameRegression = "penalised_poisson"
)

// Model forecasts the period after a panel from that panel alone; hours are
// those each entity will have in it.
type Model interface {
	Name() string
	Forecast(past *Panel, hours []float64) ([]Forecast, error)
}

// Models returns v1, v2 and v3 with the given weights, in that order.
func Models(w Weights) []Model { return []Model{weightedModel{w}, bayesModel{}, regressionModel{}} }

// poissonForecast is the forecast of a known mean.
func poissonForecast(mean float64) Forecast {
	return Forecast{Mean: mean, Probability: -math.Expm1(-mean)}
}

// pooledModel gives every entity the same rate per hour.
type pooledModel struct{}

func (pooledModel) Name() string { return NamePooled }

func (pooledModel) Forecast(past *Panel, hours []float64) ([]Forecast, error) {
	var y, units float64
	for e := range past.Entities {
		for t := range past.Periods {
			c := past.At(e, t)
			y, units = y+float64(c.Events), units+float64(c.Hours)/HoursUnit
		}
	}
	rate := ShippedPrior().Mean
	if units > 0 {
		rate = y / units
	}
	out := make([]Forecast, len(hours))
	for e, h := range hours {
		out[e] = poissonForecast(rate * h / HoursUnit)
	}
	return out, nil
}

// weightedModel is v1. A score of 0..100 is no forecast, so its best case is
// taken: ln rate = b0 + b1 x score, fitted on the past with a ridge of 0.1.
type weightedModel struct{ weights Weights }

func (weightedModel) Name() string { return NameWeighted }

func (m weightedModel) Forecast(past *Panel, hours []float64) ([]Forecast, error) {
	v1, err := NewWeighted(m.weights, past.Bounds)
	if err != nil {
		return nil, err
	}
	s, err := scoreSample(past, v1)
	if err != nil {
		return nil, err
	}
	scale := NewScaler(s)
	fit, err := FitPoisson(scale.Sample(s), 0.1)
	if fault.HasCode(err, "too_little_data") {
		return pooledModel{}.Forecast(past, hours)
	}
	if err != nil {
		return nil, err
	}
	out := make([]Forecast, len(hours))
	x := make([]float64, 1)
	for e, h := range hours {
		r, err := v1.Score(past.inputsBefore(e, past.Periods))
		if err != nil {
			return nil, err
		}
		x[0] = r.Score
		scale.Apply(x)
		out[e] = poissonForecast(fit.Mean(x, 0) * h / HoursUnit)
	}
	return out, nil
}

// scoreSample pairs the v1 score at the start of each period with what the
// period brought.
func scoreSample(past *Panel, v1 Weighted) (Sample, error) {
	type pair struct{ score, y, logE float32 }
	var pairs []pair
	for t := 1; t < past.Periods; t++ {
		for e := range past.Entities {
			c := past.At(e, t)
			if c.Hours == 0 {
				continue
			}
			r, err := v1.Score(past.inputsBefore(e, t))
			if err != nil {
				return Sample{}, err
			}
			pairs = append(pairs, pair{float32(r.Score), c.Events, float32(math.Log(float64(c.Hours) / HoursUnit))})
		}
	}
	return Sample{N: len(pairs), P: 1, Row: func(i int, x []float64) (float64, float64) {
		x[0] = float64(pairs[i].score)
		return float64(pairs[i].y), float64(pairs[i].logE)
	}}, nil
}

// bayesModel is v2.
type bayesModel struct{}

func (bayesModel) Name() string { return NameBayes }

func (bayesModel) Forecast(past *Panel, hours []float64) ([]Forecast, error) {
	xs := past.Exposures()
	prior, err := FitPrior(xs)
	if err != nil {
		return nil, err
	}
	out := make([]Forecast, len(hours))
	for e, h := range hours {
		out[e] = prior.Posterior(xs[e]).forecastHours(h)
		out[e].Borrowed = prior.Source != SourceTenant
	}
	return out, nil
}

func (q Posterior) forecastHours(hours float64) Forecast {
	next := hours / HoursUnit
	return Forecast{Mean: q.Rate() * next, Probability: q.Probability(next)}
}

// regressionModel is v3, or v2 where the panel is too thin for it.
type regressionModel struct{}

func (regressionModel) Name() string { return NameRegression }

func (regressionModel) Forecast(past *Panel, hours []float64) ([]Forecast, error) {
	r, err := FitRegression(past)
	if fault.HasCode(err, "too_little_data") {
		return bayesModel{}.Forecast(past, hours)
	}
	if err != nil {
		return nil, err
	}
	out := make([]Forecast, len(hours))
	for e, h := range hours {
		out[e] = r.entityPosterior(past, e).forecastHours(h)
	}
	return out, nil
}
