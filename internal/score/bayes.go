package score

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// History of the Bayes models: events and hours up to HistoryDays old, each
// weighing half as much for every HalfLife days of age.
const (
	HistoryDays = 365
	HalfLife    = 180.0
)

// Tails of the 90 % interval.
const (
	lowTail  = 0.05
	highTail = 0.95
)

// Decay returns 2^(-ageDays/halfLife), the weight of something ageDays old.
// A future moment (negative age) weighs 1. Both are in days, halfLife > 0.
func Decay(ageDays, halfLife float64) float64 {
	return math.Exp2(-math.Max(0, ageDays) / halfLife)
}

// Exposure is the history of one entity. Events = sum of the weights of its
// incidents and Units = decayed hours / 200,000 place the entity; Count and
// RawUnits are the same without decay and teach the prior how far peers differ.
type Exposure struct {
	Events   float64 `json:"events"`
	Units    float64 `json:"units"`
	Count    int     `json:"count"`
	RawUnits float64 `json:"raw_units"`
}

// AddEvents adds n incidents of the given weight (see Decay).
func (x *Exposure) AddEvents(n int, weight float64) {
	x.Events += float64(n) * weight
	x.Count += n
}

// AddHours adds hours of the given weight (see Decay).
func (x *Exposure) AddHours(hours, weight float64) {
	x.Units += hours * weight / HoursUnit
	x.RawUnits += hours / HoursUnit
}

func checkExposures(xs []Exposure) error {
	for i := range xs {
		x := &xs[i]
		if x.Events >= 0 && x.Events <= maxCount && x.Units >= 0 && x.Units <= maxHours &&
			x.Count >= 0 && x.Count <= maxCount && x.RawUnits >= 0 && x.RawUnits <= maxHours {
			continue
		}
		at := fmt.Sprintf("exposures[%d].", i)
		return firstError(
			inRange(at+"events", x.Events, 0, maxCount),
			inRange(at+"units", x.Units, 0, maxHours),
			inRange(at+"count", float64(x.Count), 0, maxCount),
			inRange(at+"raw_units", x.RawUnits, 0, maxHours),
		)
	}
	return nil
}

// Posterior is what is believed of one entity's rate (events per unit of
// exposure): Gamma with shape Alpha and rate Beta, beside Peer, the mean rate
// of its peers, and Z, the weight its own history has.
type Posterior struct {
	Alpha, Beta float64
	Peer        float64
	Z           float64
}

// Posterior returns Gamma(alpha + y, beta + E), Clayton & Kaldor 1987, with the
// credibility Z = E/(E + beta) of Buehlmann 1967.
func (p Prior) Posterior(x Exposure) Posterior {
	return Posterior{
		Alpha: p.Alpha + x.Events,
		Beta:  p.Beta + x.Units,
		Peer:  p.Mean,
		Z:     x.Units / (x.Units + p.Beta),
	}
}

// Rate is the posterior mean, events per unit of exposure.
func (q Posterior) Rate() float64 { return q.Alpha / q.Beta }

// Interval is the central 90 % interval of the rate.
func (q Posterior) Interval() (low, high float64) {
	return mathext.GammaIncRegInv(q.Alpha, lowTail) / q.Beta,
		mathext.GammaIncRegInv(q.Alpha, highTail) / q.Beta
}

// Score is 100 x (1 - 2^(-rate/peer)): 50 at the peer mean, 75 at twice it,
// 87.5 at three times.
func (q Posterior) Score() float64 { return 100 * halvingTerm(q.Rate()/q.Peer) }

// Probability of at least one event during next units of exposure (negative
// binomial predictive).
func (q Posterior) Probability(next float64) float64 {
	return -math.Expm1(-q.Alpha * math.Log1p(next/q.Beta))
}

// Estimate is a Bayes score ready to show: Score 1 decimal, Confidence (Z) 2,
// Rate and its 90 % interval Low..High in events per 200,000 hours 2,
// Probability of at least one event over the hours ahead 4.
type Estimate struct {
	Score       float64 `json:"score"`
	Confidence  float64 `json:"confidence"`
	Rate        float64 `json:"rate"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	Probability float64 `json:"probability"`
	// ScoreLow and ScoreHigh are the scores at both ends of the interval.
	ScoreLow  float64 `json:"score_low"`
	ScoreHigh float64 `json:"score_high"`
}

// scoreInterval returns the scores at both ends of the interval of a rate, 1 decimal.
// The mean of a much skewed posterior lies outside its own interval: the score never
// does.
func (q Posterior) scoreInterval(low, high float64) (from, to float64) {
	at := func(rate float64) float64 { return Round(100*halvingTerm(rate/q.Peer), 1) }
	own := Round(q.Score(), 1)
	return min(own, at(low)), max(own, at(high))
}

// Score returns the estimates of all entities; next holds the exposure ahead of
// each in units of 200,000 hours. A NaN, negative or absurd value is
// fault.Invalid naming its place.
func (p Prior) Score(xs []Exposure, next []float64) ([]Estimate, error) {
	if err := firstError(p.checkPrior(), checkExposures(xs), checkNext(next, len(xs))); err != nil {
		return nil, err
	}
	// Most entities have no event: their quantiles differ by scale only.
	quiet := Posterior{Alpha: p.Alpha, Beta: 1}
	qlow, qhigh := quiet.Interval()
	out := make([]Estimate, len(xs))
	for i, x := range xs {
		q := p.Posterior(x)
		low, high := qlow/q.Beta, qhigh/q.Beta
		if x.Events > 0 {
			low, high = q.Interval()
		}
		out[i] = Estimate{
			Score:       Round(q.Score(), 1),
			Confidence:  Round(q.Z, 2),
			Rate:        Round(q.Rate(), 2),
			Low:         Round(low, 2),
			High:        Round(high, 2),
			Probability: Round(q.Probability(next[i]), 4),
		}
		out[i].ScoreLow, out[i].ScoreHigh = q.scoreInterval(low, high)
	}
	return out, nil
}

func checkNext(next []float64, n int) error {
	if len(next) != n {
		return refuseInput("next", "must have one value per entity")
	}
	for i, e := range next {
		if !(e >= 0 && e <= maxHours) {
			return inRange(fmt.Sprintf("next[%d]", i), e, 0, maxHours)
		}
	}
	return nil
}

// Explain splits the score of one entity into what its peers and what its own
// history say. Value is each one's rate per 200,000 hours, Weight its credibility,
// Points its part of the score as it is of the rate: the points add up to the score.
func (p Prior) Explain(x Exposure) [2]Term {
	q := p.Posterior(x)
	own := 0.0
	if x.Units > 0 {
		own = x.Events / x.Units
	}
	perRate := q.Score() / q.Rate()
	return [2]Term{
		{"peers", p.Alpha / p.Beta, 1 - q.Z, perRate * p.Alpha / q.Beta},
		{"own_history", own, q.Z, perRate * x.Events / q.Beta},
	}
}
