// Package score computes the safety numbers: the weighted score (v1), the
// empirical Bayes score (v2), the penalised Poisson score (v3), risk bands,
// injury rates with exact intervals, and the backtest that picks among the
// three. It is pure: no clock, no database, no state, so the same input gives
// the same output and a stranger can recompute every number.
//
// Units: hours are person- or machine-hours; a rate counts events per 200,000
// hours (100 full-time years, the OSHA base) unless its name says otherwise;
// scores run 0..100, shares, confidences and probabilities 0..1.
//
// Layer: domains. Begin at [Backtest].
package score

import (
	"math"

	"holdfast/internal/fault"
)

// HoursUnit is the exposure base: 200,000 hours = 100 workers x 40 h x 50 weeks
// (OSHA incidence rate).
const HoursUnit = 200_000.0

// Limits beyond which an input is a mistake, not a measurement.
const (
	maxCount = 1e9
	maxHours = 1e10
	maxLoad  = 1e6
)

// Round rounds x half up (towards plus infinity) to the given number of
// decimals. A value within a billionth of a half counts as that half, because
// 2.675 has no exact binary form and a reader sees the decimal.
func Round(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	s := x * p
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return x
	}
	return math.Floor(s+0.5+1e-9+math.Abs(s)*1e-15) / p
}

// inRange refuses NaN, infinities and values outside [lo, hi], naming the input.
func inRange(name string, x, lo, hi float64) error {
	switch {
	case math.IsNaN(x):
		return refuseInput(name, "is not a number")
	case x < lo:
		return refuseInput(name, "must be at least %g", lo)
	case x > hi:
		return refuseInput(name, "must be at most %g", hi)
	}
	return nil
}

func refuseInput(name, format string, args ...any) error {
	f := fault.New(fault.Invalid, "validation_failed", "").At(name, format, args...)
	f.Msg = name + " " + f.Fields[0].Msg
	return f
}

// tooThin says that the data cannot carry the model asked for.
func tooThin(format string, args ...any) error {
	return fault.New(fault.Unprocessable, "too_little_data", format, args...)
}

// firstError returns the first failure of a list of checks.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// rampTo01 places x on the 0..1 ramp from lo to hi.
func rampTo01(x, lo, hi float64) float64 {
	return math.Max(0, math.Min(1, (x-lo)/(hi-lo)))
}

// halvingTerm is 1 - 2^-x: 0 at 0, one half at 1, three quarters at 2.
func halvingTerm(x float64) float64 { return -math.Expm1(-x * math.Ln2) }
