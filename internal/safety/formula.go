package safety

import (
	"slices"
	"time"

	"holdfast/internal/decimal"
)

// severity ranks the severities of an incident.
var severity = map[string]int64{"low": 1, "medium": 2, "high": 3, "critical": 4}

// RiskRating is severity (1-4) x likelihood (1-5), a risk matrix in the manner
// of ISO 45001 6.1.2.2; nil while the likelihood (int64) is unknown.
func RiskRating(sev string, likelihood any) any {
	n, ok := likelihood.(int64)
	if !ok || severity[sev] == 0 {
		return nil
	}
	return severity[sev] * n
}

// OpenIncident reports an incident state that counts as open: neither closed
// nor void.
func OpenIncident(status string) bool { return status != "closed" && status != "void" }

// OpenActions are the states in which an action still counts as open: one that
// is done waits for its verification.
var OpenActions = [...]string{"open", "in_progress", "done"}

// Percent is 100 x part / whole, one decimal, half up; a whole of 0 is 100: of
// nothing due, nothing was missed.
func Percent(part, whole int64) decimal.Dec {
	if whole <= 0 {
		return 100 * decimal.One
	}
	return decimal.Dec((part*2000 + whole) / (2 * whole) * 1000)
}

// ChecklistCompliance is the share of runs whose deadline, due_at + grace, lies in a
// window (cancelled ones and those that nobody asked for left out) that were completed
// by then, in percent, one decimal; 100 when none was due. A leading indicator in the sense of ISO 45001 9.1.
func ChecklistCompliance(onTime, due int64) decimal.Dec { return Percent(onTime, due) }

// PassRate is 100 x passed / (passed + failed), the answers of inspections by
// weight, in percent, one decimal; ok is false when nothing was answered.
// Answers that do not apply are left out of both.
func PassRate(passed, failed int64) (percent decimal.Dec, ok bool) {
	if passed+failed <= 0 {
		return 0, false
	}
	return Percent(passed, passed+failed), true
}

// MeanDays is the arithmetic mean of times, in days of 24 hours, one decimal,
// half up; ok is false when there are none. A time below 0, which only a clock
// that was wrong makes, counts as 0.
func MeanDays(times []time.Duration) (days decimal.Dec, ok bool) {
	if len(times) == 0 {
		return 0, false
	}
	var sum float64
	for _, d := range times {
		sum += max(0, d.Hours()/24)
	}
	return roundToTenths(sum / float64(len(times))), true
}

// MedianHours is the middle one of times, or the mean of the two in the middle,
// in hours, one decimal, half up; ok is false when there are none. It says how
// fast people report better than the mean does: one report that came a year
// late leaves it where it is. It sorts times.
func MedianHours(times []time.Duration) (hours decimal.Dec, ok bool) {
	n := len(times)
	if n == 0 {
		return 0, false
	}
	slices.Sort(times)
	return roundToTenths(max(0, (times[(n-1)/2].Hours()+times[n/2].Hours())/2)), true
}

// roundToTenths rounds x >= 0 half up to one decimal.
func roundToTenths(x float64) decimal.Dec { return decimal.Dec(x*10+0.5+1e-9) * (decimal.Scale / 10) }
