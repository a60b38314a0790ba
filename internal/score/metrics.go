package score

import (
	"math"
	"slices"
)

// Forecast is what a model says of one entity for one period: the expected
// number of events and the probability of at least one. Borrowed says that it rests
// on the shipped prior, not on one learned from the entity's own peers.
type Forecast struct {
	Mean        float64
	Probability float64
	Borrowed    bool
}

// Floors that keep a log finite where a forecast was 0 and something happened,
// or was 1 and nothing did.
const (
	minMean        = 1e-12
	minProbability = 1e-9
)

// Bin is a fifth of the entities by forecast probability: the mean forecast
// beside the share that had an event.
type Bin struct {
	Entities  int     `json:"entities"`
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
}

// Metrics says how good forecasts were. AUC is nil unless both outcomes
// occurred; Calibration and CaughtTop10 are nil when nothing happened.
type Metrics struct {
	Entities    int      `json:"entities"`
	Observed    float64  `json:"observed"`
	Predicted   float64  `json:"predicted"`
	Deviance    float64  `json:"deviance"` // mean Poisson deviance per entity
	Brier       float64  `json:"brier"`
	LogLoss     float64  `json:"log_loss"`
	AUC         *float64 `json:"auc"`
	Calibration *float64 `json:"calibration"` // predicted / observed events
	Bins        [5]Bin   `json:"bins"`
	CaughtTop10 *float64 `json:"caught_top_10"` // share of events in the tenth with the most expected
}

// Measure compares forecasts with the events observed, entity by entity. It is
// fault.Invalid for lists of unequal length or a forecast that is not one.
func Measure(fs []Forecast, events []float64) (Metrics, error) {
	if err := checkForecasts(fs, events); err != nil {
		return Metrics{}, err
	}
	m := Metrics{
		Entities: len(fs),
		Deviance: Deviance(fs, events),
		Brier:    Brier(fs, events),
		LogLoss:  LogLoss(fs, events),
		Bins:     Bins(fs, events),
	}
	for i := range fs {
		m.Predicted += fs[i].Mean
		m.Observed += events[i]
	}
	if auc, ok := AUC(probabilitiesOf(fs), hadEvents(events)); ok {
		m.AUC = &auc
	}
	if m.Observed > 0 {
		ratio, caught := m.Predicted/m.Observed, Caught(fs, events, 0.1)
		m.Calibration, m.CaughtTop10 = &ratio, &caught
	}
	return m, nil
}

func checkForecasts(fs []Forecast, events []float64) error {
	if len(fs) != len(events) || len(fs) == 0 {
		return refuseInput("forecasts", "must be as many as the entities observed, at least one")
	}
	for i := range fs {
		if err := firstError(
			inRange("mean", fs[i].Mean, 0, maxCount),
			inRange("probability", fs[i].Probability, 0, 1),
			inRange("events", events[i], 0, maxCount),
		); err != nil {
			return err
		}
	}
	return nil
}

// unitDeviance is the Poisson deviance of count y at mean mu (McCullagh &
// Nelder 1989).
func unitDeviance(y, mu float64) float64 {
	if y == 0 {
		return 2 * mu
	}
	mu = math.Max(mu, minMean)
	return 2 * (y*math.Log(y/mu) - (y - mu))
}

// Deviance is the mean Poisson deviance per entity, 0 at best.
func Deviance(fs []Forecast, events []float64) float64 {
	var d float64
	for i := range fs {
		d += unitDeviance(events[i], fs[i].Mean)
	}
	return d / float64(len(fs))
}

// Brier is the mean squared error of the probability of at least one event
// (Brier 1950), 0 at best.
func Brier(fs []Forecast, events []float64) float64 {
	var b float64
	for i, hit := range hadEvents(events) {
		d := fs[i].Probability
		if hit {
			d--
		}
		b += d * d
	}
	return b / float64(len(fs))
}

// LogLoss is the mean negative log likelihood of at least one event (Gneiting &
// Raftery 2007); probabilities closer than 1e-9 to 0 or 1 count as 1e-9 away.
func LogLoss(fs []Forecast, events []float64) float64 {
	var l float64
	for i, hit := range hadEvents(events) {
		p := fs[i].Probability
		if !hit {
			p = 1 - p
		}
		l -= math.Log(math.Max(p, minProbability))
	}
	return l / float64(len(fs))
}

// AUC is the chance that a positive ranks above a negative, ties counting one
// half (Mann-Whitney; Hanley & McNeil 1982). It is false without both kinds.
func AUC(scores []float64, positive []bool) (float64, bool) {
	order := ascendingOrder(scores)
	var ranks, pos float64
	for i := 0; i < len(order); {
		j, hits := i, 0.0
		for ; j < len(order) && scores[order[j]] == scores[order[i]]; j++ {
			if positive[order[j]] {
				hits++
			}
		}
		ranks += hits * float64(i+j+1) / 2
		pos, i = pos+hits, j
	}
	neg := float64(len(order)) - pos
	if pos == 0 || neg == 0 {
		return 0, false
	}
	return (ranks - pos*(pos+1)/2) / (pos * neg), true
}

// Bins are the fifths of the entities by rising probability; ties keep the
// order given.
func Bins(fs []Forecast, events []float64) [5]Bin {
	var out [5]Bin
	hit := hadEvents(events)
	order := ascendingOrder(probabilitiesOf(fs))
	for k := range out {
		b := &out[k]
		for _, i := range order[len(order)*k/5 : len(order)*(k+1)/5] {
			b.Entities++
			b.Predicted += fs[i].Probability
			if hit[i] {
				b.Observed++
			}
		}
		if b.Entities > 0 {
			b.Predicted /= float64(b.Entities)
			b.Observed /= float64(b.Entities)
		}
	}
	return out
}

// Caught is the share of the events that fell on the given share of entities
// with the most events expected (rounded up to whole entities). Entities tied
// at the edge count by their average.
func Caught(fs []Forecast, events []float64, share float64) float64 {
	order := ascendingOrder(meansOf(fs))
	slices.Reverse(order)
	var total, caught float64
	for _, y := range events {
		total += y
	}
	left := math.Ceil(share * float64(len(order)))
	for i := 0; i < len(order) && left > 0; {
		j, tied := i, 0.0
		for ; j < len(order) && fs[order[j]].Mean == fs[order[i]].Mean; j++ {
			tied += events[order[j]]
		}
		take := math.Min(left, float64(j-i))
		caught += tied * take / float64(j-i)
		left -= take
		i = j
	}
	return caught / total
}

// ascendingOrder returns the indices of v by rising value, ties by index.
func ascendingOrder(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if v[a] < v[b] {
			return -1
		}
		if v[a] > v[b] {
			return 1
		}
		return 0
	})
	return order
}

func probabilitiesOf(fs []Forecast) []float64 {
	out := make([]float64, len(fs))
	for i := range fs {
		out[i] = fs[i].Probability
	}
	return out
}

func meansOf(fs []Forecast) []float64 {
	out := make([]float64, len(fs))
	for i := range fs {
		out[i] = fs[i].Mean
	}
	return out
}

func hadEvents(events []float64) []bool {
	out := make([]bool, len(events))
	for i, y := range events {
		out[i] = y > 0
	}
	return out
}
