package safety

import (
	"slices"
	"strings"

	"holdfast/internal/fault"
)

// Statuses of a verdict, from the best to the worst. No data are no verdict: a
// duty of which nothing is on record is not kept, it is unknown, or broken where
// the law asks for the act itself.
const (
	Compliant        = "compliant"
	InsufficientData = "insufficient_data"
	Warning          = "warning"
	Breach           = "breach"
)

// Statuses lists the statuses of a verdict, from the best to the worst.
var Statuses = [...]string{Compliant, InsufficientData, Warning, Breach}

// Evidence says which records decide a rule, and what it means that there are
// none.
type Evidence struct {
	Of      string `json:"of"`      // the collection that the metric is read from
	Absence string `json:"absence"` // insufficient_data, or breach where the law asks for the act
}

// evidenceOf names the collection that decides each metric.
var evidenceOf = map[string]string{
	"predictive_score":            "predictive_scores",
	"incident_count":              "incidents",
	"near_miss_count":             "incidents",
	"near_miss_ratio":             "incidents",
	"open_critical_hazards":       "incidents",
	"report_delay_hours":          "incidents",
	"log_delay_days":              "incidents",
	"osha_death_notice_hours":     "incidents",
	"osha_treatment_notice_hours": "incidents",
	"overdue_actions":             "actions",
	"days_since_checklist":        "checklist_runs",
	"checklist_compliance":        "checklist_runs",
	"zone_utilization":            "stock_levels",
	"training_coverage":           "training_assignments",
	"expired_certifications":      "training_assignments",
	"weekly_hours_max":            "shifts",
	"rest_hours_min":              "shifts",
	"trir":                        "shifts",
	"dart":                        "shifts",
	"driving_day_hours":           "routes",
	"driving_week_hours":          "routes",
	"driving_fortnight_hours":     "routes",
	"driving_stint_hours":         "routes",
	"driving_rest_hours":          "routes",
	"calendar_deadline":           "osha_summaries",
}

// checkEvidence holds the evidence clause of a rule to its metric. A rule without
// one is refused: nobody would know what it means that nothing is on record.
func (r *Rule) checkEvidence() error {
	of, meanings := evidenceOf[r.Metric], []string{InsufficientData, Breach}
	if r.Evidence == nil {
		return badRule(`needs evidence: {"of":"%s","absence":"%s"}, or absence "%s" where the law asks for the act itself`,
			of, InsufficientData, Breach)
	}
	if r.Evidence.Of != of {
		return badRule("has evidence.of %q; %s is decided by %s", fault.Clip(r.Evidence.Of, 60), r.Metric, of)
	}
	if !slices.Contains(meanings, r.Evidence.Absence) {
		return badRule("has evidence.absence %q; it must be %s", fault.Clip(r.Evidence.Absence, 60), strings.Join(meanings, " or "))
	}
	return nil
}

// Reading is a metric's value for one entity; Known is false where nothing is on
// record, Exempt is true where the rule is not about the entity. Hours are the
// exposure in the window.
type Reading struct {
	Value  float64
	Known  bool
	Exempt bool
	Unsure bool // nothing on record says whether the rule applies
	Hours  float64
}

// Verdict is what a rule says of a reading.
type Verdict struct {
	Status    string // one of Statuses
	Value     float64
	Known     bool    // Value is meant
	Threshold float64 // the bound that decided, or the nearest one
	Absent    bool    // nothing is on record
	Exempt    bool    // the rule does not apply
}

// Applies reports whether the rule's conditions hold; known is false while one
// of its facts is missing.
func (r *Rule) Applies(facts map[string]float64) (applies, known bool) {
	for _, c := range r.AppliesIf {
		if isYearly(c.Fact) {
			continue // of each year by itself
		}
		v, ok := facts[c.Fact]
		if !ok {
			return false, false
		}
		if !c.isMet(v) {
			return false, true
		}
	}
	return true, true
}

// Evaluate judges a reading: breach when the breach bound holds, else warning
// when the warn bound holds, else compliant. Without data there is no verdict:
// insufficient_data, or breach where the rule says that absence is one.
func (r *Rule) Evaluate(in Reading, facts map[string]float64) Verdict {
	v := Verdict{Status: Compliant, Value: in.Value, Known: in.Known, Threshold: r.nearestBound()}
	applies, sure := r.Applies(facts)
	if in.Exempt || sure && !applies {
		v.Exempt = true
		return v
	}
	if !sure || in.Unsure || in.Known && r.lacksHours(in) {
		v.Status, v.Known, v.Absent = InsufficientData, false, true
		return v
	}
	if !in.Known {
		return r.judgeAbsence(v)
	}

	switch r.Normalize {
	case "per_200k_hours":
		v.Value = in.Value * 200_000 / in.Hours
	case "per_1m_hours":
		v.Value = in.Value * 1_000_000 / in.Hours
	}
	if r.Breach != nil && r.Breach.isMet(v.Value) {
		v.Status, v.Threshold = Breach, r.Breach.Value
	} else if r.Warn != nil && r.Warn.isMet(v.Value) {
		v.Status = Warning
	}
	return v
}

// judgeAbsence is the verdict where nothing is on record.
func (r *Rule) judgeAbsence(v Verdict) Verdict {
	v.Status, v.Absent = InsufficientData, true
	if r.Evidence.Absence == Breach {
		v.Status = Breach
	}
	if v.Status == Breach && r.Breach != nil {
		v.Threshold = r.Breach.Value
	}
	return v
}

// lacksHours reports a reading with less exposure than the rule needs.
func (r *Rule) lacksHours(in Reading) bool {
	return in.Hours < r.MinExposureHours || r.Normalize != "none" && in.Hours <= 0
}

// nearestBound is the bound that a value meets first.
func (r *Rule) nearestBound() float64 {
	if r.Warn != nil {
		return r.Warn.Value
	}
	if r.Breach != nil {
		return r.Breach.Value
	}
	return 0
}

// Standing is where a regulation stands, from the best to the worst.
type Standing uint8

// Standings of a regulation.
const (
	StandsKept Standing = iota
	StandsWaived
	StandsUnknown
	StandsWarned
	StandsBroken
)

// StandingOf is what one verdict does to its regulation. A waiver takes the
// entity out of the count of what is broken, and never makes it compliant.
func StandingOf(status string, waived bool) Standing {
	switch {
	case status == Compliant:
		return StandsKept
	case waived:
		return StandsWaived
	case status == InsufficientData:
		return StandsUnknown
	case status == Warning:
		return StandsWarned
	}
	return StandsBroken
}
