package safety

import "holdfast/internal/decimal"

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

// ChecklistCompliance is the share of runs due in a window (cancelled ones left
// out) that were completed by due_at + grace, in percent (domain, safety KPIs).
func ChecklistCompliance(onTime, due int64) decimal.Dec { return Percent(onTime, due) }
