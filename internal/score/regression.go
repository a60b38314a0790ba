package score

import (
	"math"
)

// Least data for the regression: events in all, and events per coefficient
// (Peduzzi et al. 1996, J Clin Epidemiol 49:1373-1379).
const (
	MinRegressionEvents = 50
	MinEventsPerCoef    = 10
)

// Regression is the model v3: a penalised Poisson regression on a panel whose
// prediction is the prior mean of an empirical Bayes step (Hauer et al. 2002).
// Coef are on standardised features, so |Coef| is the effect of one standard
// deviation on the log rate.
type Regression struct {
	Names     []string  `json:"names"`
	Intercept float64   `json:"intercept"` // log rate per 200,000 hours
	Coef      []float64 `json:"coefficients"`
	Scaler    Scaler    `json:"scaler"`
	Season    bool      `json:"season"` // needs a year of periods
	Lambda    float64   `json:"lambda"`
	Theta     Prior     `json:"theta"`     // of an entity's own multiplier, per expected event
	BaseRate  float64   `json:"base_rate"` // scores 50: events per 200,000 hours of all peers
	Deviance  float64   `json:"deviance"`
	Events    int       `json:"events"`
	Rows      int       `json:"rows"`

	own []Exposure // per entity: decayed events over decayed expected events
}

// row of the training sample: one entity in one period with hours.
type row struct {
	x      [features]float32
	y      float32
	logE   float32
	entity int32
	period int32
}

// FitRegression fits v3. It is fault.Unprocessable (code too_little_data) with
// fewer than 10 entities, 50 events or 10 events per coefficient that varies:
// use v2 then. A bad cell is fault.Invalid.
func FitRegression(p *Panel) (*Regression, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	r := &Regression{Season: p.Periods > yearPeriods}
	rows := p.trainingRows(r.Season)
	names := featureNames()
	r.Names, r.Rows = names[:], len(rows)
	s := sampleOf(rows)
	r.Scaler = NewScaler(s)
	if err := r.checkEnoughData(rows); err != nil {
		return nil, err
	}
	s = r.Scaler.Sample(s)
	fit, err := chooseRidge(s, foldsOf(rows))
	if err != nil {
		return nil, err
	}
	r.Intercept, r.Coef, r.Lambda, r.Deviance = fit.Intercept, fit.Coef, fit.Lambda, fit.Deviance
	r.learnOwn(p, rows)
	return r, nil
}

// trainingRows lists the training rows, period by period.
func (p *Panel) trainingRows(season bool) []row {
	n := 0
	for t := 1; t < p.Periods; t++ {
		for e := range p.Entities {
			if p.At(e, t).Hours > 0 {
				n++
			}
		}
	}
	out := make([]row, 0, n)
	var x [features]float64
	for t := 1; t < p.Periods; t++ {
		for e := range p.Entities {
			c := p.At(e, t)
			if c.Hours == 0 {
				continue
			}
			p.fillFeatures(e, t, season, x[:])
			r := row{y: c.Events, logE: float32(math.Log(float64(c.Hours) / HoursUnit)), entity: int32(e), period: int32(t)}
			for j, v := range x {
				r.x[j] = float32(v)
			}
			out = append(out, r)
		}
	}
	return out
}

func sampleOf(rows []row) Sample {
	return Sample{N: len(rows), P: features, Row: func(i int, x []float64) (float64, float64) {
		r := &rows[i]
		for j := range r.x {
			x[j] = float64(r.x[j])
		}
		return float64(r.y), float64(r.logE)
	}}
}

func (r *Regression) checkEnoughData(rows []row) error {
	entities := map[int32]bool{}
	for i := range rows {
		r.Events += int(rows[i].y)
		if len(entities) < MinEntities {
			entities[rows[i].entity] = true
		}
	}
	coefs := features - r.Scaler.Flat
	switch {
	case len(entities) < MinEntities:
		return tooThin("the regression needs %d entities with hours, there are %d", MinEntities, len(entities))
	case r.Events < MinRegressionEvents:
		return tooThin("the regression needs %d events, there are %d", MinRegressionEvents, r.Events)
	case r.Events < MinEventsPerCoef*coefs:
		return tooThin("the regression needs %d events per coefficient, there are %d for %d", MinEventsPerCoef, r.Events, coefs)
	}
	return nil
}

// fold is a block of consecutive periods, rows [lo, hi), held out together.
type fold struct{ lo, hi int }

// foldsOf cuts the rows into up to four blocks of whole periods.
func foldsOf(rows []row) []fold {
	if len(rows) == 0 {
		return nil
	}
	first, last := rows[0].period, rows[len(rows)-1].period
	blocks := min(4, last-first+1)
	block := func(i int) int32 { return (rows[i].period - first) * blocks / (last - first + 1) }
	var out []fold
	for lo := 0; lo < len(rows); {
		hi := lo
		for hi < len(rows) && block(hi) == block(lo) {
			hi++
		}
		out = append(out, fold{lo, hi})
		lo = hi
	}
	return out
}

// withoutFold leaves the rows of a fold out.
func (s Sample) withoutFold(f fold) Sample {
	row := s.Row
	s.N -= f.hi - f.lo
	s.Row = func(i int, x []float64) (float64, float64) {
		if i >= f.lo {
			i += f.hi - f.lo
		}
		return row(i, x)
	}
	return s
}

// chooseRidge fits at the penalty of {0.1, 1, 10} with the least deviance on
// held-out blocks of time; with a single block at 1. A tie goes to the stronger.
func chooseRidge(s Sample, folds []fold) (Fit, error) {
	full, err := FitPoisson(s, 1)
	if err != nil || len(folds) < 2 {
		return full, err
	}
	best, least := full, math.Inf(1)
	for _, lambda := range []float64{10, 1, 0.1} {
		start := full
		start.Lambda = lambda
		held, err := heldOut(s, folds, start)
		if err != nil {
			return Fit{}, err
		}
		if held < least-1e-9*math.Abs(held) {
			best, least = start, held
		}
	}
	return s.fitFrom(best)
}

func heldOut(s Sample, folds []fold, start Fit) (float64, error) {
	var dev float64
	x := make([]float64, s.P)
	for _, f := range folds {
		fit, err := s.withoutFold(f).fitFrom(start)
		if err != nil {
			return 0, err
		}
		for i := f.lo; i < f.hi; i++ {
			y, logE := s.Row(i, x)
			dev += unitDeviance(y, fit.Mean(x, logE))
		}
	}
	return dev, nil
}

// learnOwn sets each entity's history, the prior of the entities' multipliers
// and the rate of all peers.
func (r *Regression) learnOwn(p *Panel, rows []row) {
	var y, units float64
	for i := range rows {
		y, units = y+float64(rows[i].y), units+math.Exp(float64(rows[i].logE))
	}
	r.ownHistory(p, rows)
	r.BaseRate = y / units
	r.Theta = Prior{Alpha: maxShape, Beta: maxShape, Mean: 1, Source: SourceTenant}
	if hasEvents(rawCounts(r.own)) {
		r.Theta = fitGamma(r.own)
	}
	r.Theta.Entities, r.Theta.Events = p.Entities, r.Events
}

// ownHistory sets each entity's decayed observed and expected events.
func (r *Regression) ownHistory(p *Panel, rows []row) {
	r.own = make([]Exposure, p.Entities)
	fit := Fit{Intercept: r.Intercept, Coef: r.Coef}
	var x [features]float64
	for i := range rows {
		q := &rows[i]
		w := p.recencyWeight(int(q.period))
		if w == 0 {
			continue
		}
		for j := range q.x {
			x[j] = float64(q.x[j])
		}
		r.Scaler.Apply(x[:])
		expected := fit.Mean(x[:], float64(q.logE))
		own := &r.own[q.entity]
		own.AddEvents(int(q.y), w)
		own.Units += w * expected
		own.RawUnits += expected
	}
}

// Observe takes the entities of p, and their history, in place of those the
// model was fitted on: a model that was kept scores whoever is there now. It is
// fault.Invalid for a bad cell, and for a model of other features.
func (r *Regression) Observe(p *Panel) error {
	if err := p.Check(); err != nil {
		return err
	}
	if len(r.Coef) != features || len(r.Scaler.Mean) != features || len(r.Scaler.SD) != features {
		return refuseInput("coefficients", "must be %d, with as many means and standard deviations", features)
	}
	r.ownHistory(p, p.trainingRows(r.Season))
	return nil
}

// History is entity e's decayed events, and in Units those that the regression
// expected of it: what, with Features, its score is made of.
func (r *Regression) History(e int) Exposure { return r.own[e] }

// Features are the regression's features of entity e for the period after p, as
// measured, in the order of Names.
func (r *Regression) Features(p *Panel, e int) []float64 {
	x := make([]float64, features)
	p.fillFeatures(e, p.Periods, r.Season, x)
	return x
}

// entityPosterior of the rate of entity e per 200,000 hours in the period after p.
func (r *Regression) entityPosterior(p *Panel, e int) Posterior {
	var x [features]float64
	p.fillFeatures(e, p.Periods, r.Season, x[:])
	r.Scaler.Apply(x[:])
	rate := Fit{Intercept: r.Intercept, Coef: r.Coef}.Mean(x[:], 0)
	q := r.Theta.Posterior(r.own[e])
	return Posterior{Alpha: q.Alpha, Beta: q.Beta / rate, Peer: r.BaseRate, Z: q.Z}
}

// Score returns the v3 estimates of the period after p, the panel the model was
// fitted on or has observed; hours are those each entity will have in it.
func (r *Regression) Score(p *Panel, hours []float64) ([]Estimate, error) {
	if err := r.checkPanel(p, hours); err != nil {
		return nil, err
	}
	out := make([]Estimate, p.Entities)
	for e := range out {
		q := r.entityPosterior(p, e)
		low, high := q.Interval()
		out[e] = Estimate{
			Score:       Round(q.Score(), 1),
			Confidence:  Round(q.Z, 2),
			Rate:        Round(q.Rate(), 2),
			Low:         Round(low, 2),
			High:        Round(high, 2),
			Probability: Round(q.Probability(hours[e]/HoursUnit), 4),
		}
		out[e].ScoreLow, out[e].ScoreHigh = q.scoreInterval(low, high)
	}
	return out, nil
}

func (r *Regression) checkPanel(p *Panel, hours []float64) error {
	if len(r.own) != p.Entities {
		return refuseInput("panel", "must be the one the model was fitted on or has observed")
	}
	return checkNext(hours, p.Entities)
}

// Explain splits entity e's score. Value is the feature as measured (for own_history
// the multiplier), Weight the coefficient per standard deviation. Points are parts
// of what sets the score apart from the 50 of peers, as they are of
// ln(rate / BaseRate); those of level hold the 50 and what the intercept adds. The
// points add up to the score; those of what lowers the risk are below 0.
func (r *Regression) Explain(p *Panel, e int) []Term {
	var raw, z [features]float64
	p.fillFeatures(e, p.Periods, r.Season, raw[:])
	z = raw
	r.Scaler.Apply(z[:])
	theta := r.Theta.Posterior(r.own[e]).Rate()
	out := []Term{
		{"level", math.Exp(r.Intercept), 1, r.Intercept - math.Log(r.BaseRate)},
		{"own_history", theta, 1, math.Log(theta)},
	}
	for j, name := range r.Names {
		out = append(out, Term{name, raw[j], r.Coef[j], r.Coef[j] * z[j]})
	}
	perLog := pointsPerLog(out)
	for i := range out {
		out[i].Points *= perLog
	}
	out[0].Points += 50
	return out
}

// pointsPerLog is how many points of a score a unit of ln(rate / BaseRate) is worth,
// which the points of terms add up to.
func pointsPerLog(terms []Term) float64 {
	var log float64
	for i := range terms {
		log += terms[i].Points
	}
	if math.Abs(log) < 1e-6 {
		return 50 * math.Ln2 // the slope at 50
	}
	return (100*halvingTerm(math.Exp(log)) - 50) / log
}

// Weights reports the model in the four weights of the interface, as shares
// that sum to 1: the standard deviation of each term's part of the log rate
// (|coefficient| x sd), that of the entities' own history for incidents.
func (r *Regression) Weights() Weights {
	var n, mean, m2 float64
	for i := range r.own {
		if r.own[i].Units == 0 {
			continue
		}
		n++
		v := math.Log(r.Theta.Posterior(r.own[i]).Rate())
		d := v - mean
		mean += d / n
		m2 += d * (v - mean)
	}
	w := Weights{
		Incident:   math.Sqrt(m2 / math.Max(1, n)),
		NearMiss:   math.Abs(r.Coef[featNearMiss]),
		ShiftHours: math.Abs(r.Coef[featHours]),
		Load:       math.Abs(r.Coef[featLoad]),
	}
	sum := w.sumWeights()
	if sum == 0 {
		return Weights{Incident: 1}
	}
	return Weights{w.Incident / sum, w.NearMiss / sum, w.ShiftHours / sum, w.Load / sum}
}
