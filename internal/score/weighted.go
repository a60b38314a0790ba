package score

import "sync"

// Kinds of entity that carry a score.
const (
	Zone      = "zone"
	Driver    = "driver"
	Worker    = "worker"
	Equipment = "equipment"
)

// Inputs are what the weighted score reads about one entity in one window of
// PeriodDays (1..365). Incidents count every kind but near misses and hazards,
// which NearMissCount counts; void reports count nowhere. Workload is output
// over standard output: 1 = at standard, 0 when there were no hours.
type Inputs struct {
	IncidentCount int     `json:"incident_count"`
	NearMissCount int     `json:"near_miss_count"`
	ShiftHours    float64 `json:"shift_hours"`
	Workload      float64 `json:"workload"`
	PeriodDays    int     `json:"period_days"`

	CriticalCount int `json:"critical_count,omitempty"` // of the incidents; they decide the band, not the score
}

func (in Inputs) checkInputs() error {
	return firstError(
		inRange("incident_count", float64(in.IncidentCount), 0, maxCount),
		inRange("near_miss_count", float64(in.NearMissCount), 0, maxCount),
		inRange("shift_hours", in.ShiftHours, 0, maxHours),
		inRange("workload", in.Workload, 0, maxLoad),
		inRange("period_days", float64(in.PeriodDays), 1, 365),
	)
}

// Weights say how much each term counts; each is >= 0 and their sum > 0. Only
// their proportions matter.
type Weights struct {
	Incident   float64 `json:"weight_incident"`
	NearMiss   float64 `json:"weight_near_miss"`
	ShiftHours float64 `json:"weight_shift_hours"`
	Load       float64 `json:"weight_load"`
}

// DefaultWeights are the weights shipped: 0.45, 0.20, 0.20, 0.15.
func DefaultWeights() Weights { return Weights{0.45, 0.20, 0.20, 0.15} }

func (w Weights) sumWeights() float64 { return w.Incident + w.NearMiss + w.ShiftHours + w.Load }

func (w Weights) checkWeights() error {
	err := firstError(
		inRange("weight_incident", w.Incident, 0, maxCount),
		inRange("weight_near_miss", w.NearMiss, 0, maxCount),
		inRange("weight_shift_hours", w.ShiftHours, 0, maxCount),
		inRange("weight_load", w.Load, 0, maxCount),
	)
	if err == nil && w.sumWeights() <= 0 {
		err = refuseInput("weights", "must have a sum above 0")
	}
	return err
}

// Bounds shape the terms. Weekly hours rise from 0 at HoursLow to 1 at
// HoursHigh (Dembe et al. 2005; Folkard & Tucker 2003), workload likewise;
// IncidentHalf and NearMissHalf are the counts per 30 days that give one half;
// ConfidenceHours is the exposure at which confidence reaches one half.
type Bounds struct {
	HoursLow        float64 `json:"hours_low"`
	HoursHigh       float64 `json:"hours_high"`
	LoadLow         float64 `json:"load_low"`
	LoadHigh        float64 `json:"load_high"`
	IncidentHalf    float64 `json:"incident_half"`
	NearMissHalf    float64 `json:"near_miss_half"`
	ConfidenceHours float64 `json:"confidence_hours"`
}

// DefaultBounds returns the bounds shipped for an entity type: weekly hours
// 40..60 for a worker or driver, 80..400 for a zone, 40..120 for equipment;
// confidence base 800 h for a zone, 160 h otherwise.
func DefaultBounds(entityType string) (Bounds, error) {
	b := Bounds{40, 60, 0.8, 1.6, 1, 3, 160}
	switch entityType {
	case Worker, Driver:
	case Zone:
		b.HoursLow, b.HoursHigh, b.ConfidenceHours = 80, 400, 800
	case Equipment:
		b.HoursHigh = 120
	default:
		return Bounds{}, refuseInput("entity_type", "must be zone, driver, worker or equipment")
	}
	return b, nil
}

func (b Bounds) checkBounds() error {
	const tiny = 1e-9
	err := firstError(
		inRange("hours_low", b.HoursLow, 0, maxHours),
		inRange("hours_high", b.HoursHigh, 0, maxHours),
		inRange("load_low", b.LoadLow, 0, maxLoad),
		inRange("load_high", b.LoadHigh, 0, maxLoad),
		inRange("incident_half", b.IncidentHalf, tiny, maxCount),
		inRange("near_miss_half", b.NearMissHalf, tiny, maxCount),
		inRange("confidence_hours", b.ConfidenceHours, 0, maxHours),
	)
	switch {
	case err != nil:
		return err
	case b.HoursHigh <= b.HoursLow:
		return refuseInput("hours_high", "must be above hours_low")
	case b.LoadHigh <= b.LoadLow:
		return refuseInput("load_high", "must be above load_low")
	}
	return nil
}

// Term is one part of a score. In the weighted score Value is the term (0..1),
// Weight its share of the weights and Points = 100 x Weight x Value, so the
// points add up to the score before rounding. Other uses say their own meaning.
type Term struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Weight float64 `json:"weight"`
	Points float64 `json:"points"`
}

// Weighted is the weighted model v1, checked once and used for many entities.
type Weighted struct {
	weights Weights
	bounds  Bounds
}

// NewWeighted returns the weighted model, or fault.Invalid naming the weight or
// bound that cannot be used.
func NewWeighted(w Weights, b Bounds) (Weighted, error) {
	if err := firstError(w.checkWeights(), b.checkBounds()); err != nil {
		return Weighted{}, err
	}
	return Weighted{w, b}, nil
}

// WeightedResult is the v1 score (1 decimal), its confidence (2 decimals) and
// the terms it is made of: incidents, near_misses, shift_hours, load. Low..High are
// the scores at both ends of what the counts may stand for, see [Weighted.Score].
type WeightedResult struct {
	Score      float64 `json:"score"`
	Low        float64 `json:"score_low"`
	High       float64 `json:"score_high"`
	Confidence float64 `json:"confidence"`
	Terms      [4]Term `json:"terms"`
}

// Score returns the weighted score of one entity, or fault.Invalid naming the
// input refused. Incidents and near misses saturate: n at their half per 30
// days give 1 - 2^-n, so reporting many near misses is never punished beyond
// their weight (Probst & Estrada 2010 on under-reporting). The interval takes both
// counts at the ends of their exact 90 % Poisson interval (Garwood 1936); without
// any hours, the terms of hours and load may be anything, so that its upper end
// holds them whole.
func (m Weighted) Score(in Inputs) (WeightedResult, error) {
	if err := in.checkInputs(); err != nil {
		return WeightedResult{}, err
	}
	r := WeightedResult{Terms: m.scoreTerms(in), Confidence: Round(m.confidenceOf(in), 2)}
	var sum float64
	for i := range r.Terms {
		sum += r.Terms[i].Points
	}
	r.Score = Round(sum, 1)
	r.Low, r.High = m.boundScore(in, &r.Terms)
	return r, nil
}

// boundScore returns the scores at both ends of the counts' intervals.
func (m Weighted) boundScore(in Inputs, terms *[4]Term) (low, high float64) {
	per30 := 30 / float64(in.PeriodDays)
	at := func(half, count float64) float64 { return halvingTerm(count * per30 / half) }
	fewest, most := countInterval(in.IncidentCount)
	fewestNear, mostNear := countInterval(in.NearMissCount)
	rest := terms[2].Points + terms[3].Points
	incidents, near := 100*terms[0].Weight, 100*terms[1].Weight
	low = rest + incidents*at(m.bounds.IncidentHalf, fewest) + near*at(m.bounds.NearMissHalf, fewestNear)
	if in.ShiftHours == 0 {
		rest = 100 * (terms[2].Weight + terms[3].Weight)
	}
	high = rest + incidents*at(m.bounds.IncidentHalf, most) + near*at(m.bounds.NearMissHalf, mostNear)
	return Round(low, 1), Round(high, 1)
}

// smallCounts are the intervals of counts that most entities have: a night scores
// many thousands of them.
var smallCounts = sync.OnceValue(func() *[64][2]float64 {
	table := &[64][2]float64{}
	for n := range table {
		table[n][0], table[n][1] = Garwood(n)
	}
	return table
})

// countInterval is Garwood of a count, from a table where it is small.
func countInterval(n int) (low, high float64) {
	if table := smallCounts(); n < len(table) {
		return table[n][0], table[n][1]
	}
	return Garwood(n)
}

func (m Weighted) scoreTerms(in Inputs) [4]Term {
	per30, b, sum := 30/float64(in.PeriodDays), m.bounds, m.weights.sumWeights()
	term := func(name string, value, weight float64) Term {
		share := weight / sum
		return Term{name, value, share, 100 * share * value}
	}
	weekly := 7 * in.ShiftHours / float64(in.PeriodDays)
	return [4]Term{
		term("incidents", halvingTerm(float64(in.IncidentCount)*per30/b.IncidentHalf), m.weights.Incident),
		term("near_misses", halvingTerm(float64(in.NearMissCount)*per30/b.NearMissHalf), m.weights.NearMiss),
		term("shift_hours", rampTo01(weekly, b.HoursLow, b.HoursHigh), m.weights.ShiftHours),
		term("load", rampTo01(in.Workload, b.LoadLow, b.LoadHigh), m.weights.Load),
	}
}

// confidenceOf is A x H/(H + H0), A the share of the weights whose input is
// known. Without any shift, hours and load are unknown and the length of the
// window stands in: A x P/(P + 90).
func (m Weighted) confidenceOf(in Inputs) float64 {
	if in.ShiftHours > 0 {
		return in.ShiftHours / (in.ShiftHours + m.bounds.ConfidenceHours)
	}
	known := (m.weights.Incident + m.weights.NearMiss) / m.weights.sumWeights()
	days := float64(in.PeriodDays)
	return known * days / (days + 90)
}
