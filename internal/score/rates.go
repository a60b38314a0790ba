package score

import (
	"gonum.org/v1/gonum/stat/distuv"
)

// Rate is a count per exposure with its exact Poisson 90 % interval, 2
// decimals. All three are nil when there was no exposure (unknown is not 0).
// Low and High are also nil for rates of lost days: days of one injury come
// together, so they are no Poisson count and the interval would be a lie.
type Rate struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// Recordables are OSHA cases by the columns of form 300: deaths (G), days away
// (H), job transfer or restriction (I), other recordable (J).
type Recordables struct{ Deaths, DaysAway, Restricted, Other int }

// TRIR is (G+H+I+J) x 200,000 / hours (OSHA). Some state texts count H+I+J
// only; this one counts deaths.
func TRIR(r Recordables, hours float64) (Rate, error) {
	return r.incidenceRate(r.Deaths+r.DaysAway+r.Restricted+r.Other, hours)
}

// DART is (H+I) x 200,000 / hours (OSHA).
func DART(r Recordables, hours float64) (Rate, error) {
	return r.incidenceRate(r.DaysAway+r.Restricted, hours)
}

func (r Recordables) incidenceRate(n int, hours float64) (Rate, error) {
	err := firstError(
		inRange("deaths", float64(r.Deaths), 0, maxCount),
		inRange("days_away", float64(r.DaysAway), 0, maxCount),
		inRange("restricted", float64(r.Restricted), 0, maxCount),
		inRange("other", float64(r.Other), 0, maxCount),
	)
	if err != nil {
		return Rate{}, err
	}
	return countRate(quantity{"cases", float64(n)}, quantity{"hours", hours}, HoursUnit)
}

// LTIFR is lost-time injuries (at least one full day after the day of the
// accident, deaths included) x 1,000,000 / hours (16th ICLS 1998, GRI 403-9).
func LTIFR(injuries int, hours float64) (Rate, error) {
	return countRate(quantity{"injuries", float64(injuries)}, quantity{"hours", hours}, 1e6)
}

// ESAW is the European incidence: accidents with at least four days lost x
// 100,000 / persons employed (Eurostat, ESAW).
func ESAW(accidents int, employed float64) (Rate, error) {
	return countRate(quantity{"accidents", float64(accidents)}, quantity{"employed", employed}, 1e5)
}

// SeverityRate is lost days x 1,000,000 / hours, without an interval.
func SeverityRate(lostDays, hours float64) (Rate, error) {
	return dayRate(lostDays, hours, 1e6)
}

// RateCount is a count x per / exposure with its interval; unknown without exposure, or
// where either is out of all proportion.
func RateCount(n int64, exposure, per float64) (value, low, high *float64) {
	r, err := countRate(quantity{"count", float64(n)}, quantity{"exposure", exposure}, per)
	if err != nil {
		return nil, nil, nil
	}
	return r.Value, r.Low, r.High
}

// RateDays is days x per / exposure, without an interval.
func RateDays(days int64, exposure, per float64) *float64 {
	r, err := dayRate(float64(days), exposure, per)
	if err != nil {
		return nil
	}
	return r.Value
}

type quantity struct {
	name  string
	value float64
}

func (q quantity) checkQuantity() error { return inRange(q.name, q.value, 0, maxHours) }

func countRate(n, exposure quantity, base float64) (Rate, error) {
	if err := firstError(n.checkQuantity(), exposure.checkQuantity()); err != nil || exposure.value == 0 {
		return Rate{}, err
	}
	k := base / exposure.value
	low, high := Garwood(int(n.value))
	return Rate{roundToHundredths(n.value * k), roundToHundredths(low * k), roundToHundredths(high * k)}, nil
}

func dayRate(days, hours, base float64) (Rate, error) {
	err := firstError(quantity{"lost_days", days}.checkQuantity(), quantity{"hours", hours}.checkQuantity())
	if err != nil || hours == 0 {
		return Rate{}, err
	}
	return Rate{Value: roundToHundredths(days * base / hours)}, nil
}

func roundToHundredths(x float64) *float64 { x = Round(x, 2); return &x }

// Garwood returns the exact 90 % limits of the mean of a Poisson count n >= 0:
// chi2(0.05, 2n)/2 and chi2(0.95, 2n+2)/2 (Garwood 1936, Biometrika
// 28:437-442).
func Garwood(n int) (low, high float64) {
	if n > 0 {
		low = distuv.ChiSquared{K: 2 * float64(n)}.Quantile(lowTail) / 2
	}
	return low, distuv.ChiSquared{K: 2*float64(n) + 2}.Quantile(highTail) / 2
}
