package osha

import (
	"fmt"
	"regexp"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/safety/absence"
	"holdfast/internal/store"
)

// longestDays is the most days that a case may state; more is a typing error. Where
// OSHA stops counting is applied to its figures.
const longestDays = 3660

// outcomeOf is the outcome that each basis of recordability leads to; "" for
// those that make a case not recordable.
var outcomeOf = map[string]string{
	"death": "death", "days_away": "days_away", "restricted": "restricted",
	"medical_treatment": "other", "loss_of_consciousness": "other", "significant_diagnosis": "other",
	"first_aid_only": "", "not_work_related": "", "not_new": "",
}

var clock = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// Days counts calendar days from the first to the last, both included, leaving
// out the day of the injury and what lies before it (29 CFR 1904.7(b)(3)(i), (iv)),
// without an end of counting.
func Days(injury, from, until time.Time) int64 {
	if next := injury.AddDate(0, 0, 1); from.Before(next) {
		from = next
	}
	if until.Before(from) {
		return 0
	}
	return int64(until.Sub(from).Hours()/24) + 1
}

// Facts are what a case is held against: its incident and the day it is looked
// at.
type Facts struct {
	Kind    string    // injury or illness; others have no case
	Injured time.Time // local calendar day, as midnight UTC
	Today   time.Time // likewise
	Counted bool      // absences say which days are counted

	IsUnsupervised bool // of a contractor who is supervised by another

	Expected absence.Days // of absences, with those to come
}

// daysOf are the days that decide about a case: those that its absences lead to, or
// those that it states itself.
func (f Facts) daysOf(c record.OSHACase) absence.Days {
	if f.Counted {
		return f.Expected
	}
	return statedDays(c).Expected
}

// Check holds a case, as the collection osha_cases has it, to the rules of
// recording. The fault is Invalid and names the field and the paragraph.
func Check(c record.OSHACase, f Facts) error {
	if f.Kind != "injury" && f.Kind != "illness" {
		return refuseRule("incident_id", "29 CFR 1904.4(a)", "only an injury or illness can be a case; the incident is a %s", f.Kind)
	}
	for _, rule := range [...]func(record.OSHACase, Facts) *fault.Error{checkDecision, checkOutcome, checkDays,
		checkPrivacy,
		checkKind, checkDates, checkTimes, checkEntry} {
		if err := rule(c, f); err != nil {
			return err
		}
	}
	return nil
}

// checkDecision: a decision has a basis, and the basis decides; of a contractor the employer decides who supervises.
func checkDecision(c record.OSHACase, f Facts) *fault.Error {
	basis, decided := c.Basis(), c.Recordable()
	outcome, known := outcomeOf[basis]
	switch {
	case decided == "yes" && f.IsUnsupervised:
		return refuseRule("recordable", "29 CFR 1904.31(b)(3)",
			"the contractor's own employer records this case; "+
				"mark the worker as supervised if you direct the work day to day")
	case decided == "undecided" && basis != "":
		return refuseRule("recordable", "29 CFR 1904.7(a)", "with the basis %s the case is decided: say yes or no", basis)
	case decided == "undecided":
		return nil
	case !known:
		return refuseRule("basis", "29 CFR 1904.7(b)(1)", "say what makes the case recordable or not")
	case decided == "yes" && outcome == "":
		return refuseRule("recordable", "29 CFR 1904.7(b)(5)(i)", "a case that is %s is not recordable", basis)
	case decided == "no" && outcome != "":
		return refuseRule("recordable", "29 CFR 1904.7(b)(1)", "a case with %s is recordable", basis)
	}
	return nil
}

// checkOutcome: one outcome, the most serious. Absences before a death are kept, and
// the log leaves them out.
func checkOutcome(c record.OSHACase, f Facts) *fault.Error {
	outcome, basis := c.Outcome(), c.Basis()
	if c.Recordable() != "yes" {
		if outcome != "" {
			return refuseRule("outcome", "29 CFR 1904.29(b)(1)", "only a recordable case has an outcome on the log")
		}
		return nil
	}
	days := f.daysOf(c)
	away, restricted := days.Away, days.Restricted
	switch {
	case outcome == "":
		return refuseRule("outcome", "29 CFR 1904.29(b)(1)", "a recordable case needs its outcome")
	case outcomeOf[basis] != outcome:
		return refuseRule("outcome", "29 CFR 1904.7(b)(1)", "the basis %s leads to the outcome %s, not %s", basis, outcomeOf[basis], outcome)
	case outcome == "death" && away+restricted > 0 && !f.Counted:
		return refuseRule("days_away", "29 CFR 1904.7(b)(2)", "a death has no counts of days: the most serious outcome stands alone")
	case outcome == "days_away" && away == 0:
		return refuseRule("days_away", "29 CFR 1904.7(b)(3)", "the outcome days_away needs at least one day after the day of the injury")
	case outcome == "death":
		return nil
	case outcome != "days_away" && away > 0:
		return refuseRule("outcome", "29 CFR 1904.7(b)(3)", "with days away the outcome is days_away, the most serious")
	case outcome == "restricted" && restricted == 0:
		return refuseRule("days_restricted", "29 CFR 1904.7(b)(4)", "the outcome restricted needs at least one day of restricted work or transfer")
	case outcome == "other" && restricted > 0:
		return refuseRule("outcome", "29 CFR 1904.7(b)(4)", "with days of restricted work the outcome is restricted, the more serious")
	}
	return nil
}

func checkDays(c record.OSHACase, f Facts) *fault.Error {
	if !f.Counted {
		if err := checkPeriods(c, f); err != nil {
			return err
		}
	}
	days := f.daysOf(c)
	if c.Recordable() == "no" && days.Away+days.Restricted > 0 && c.Basis() == "first_aid_only" {
		return refuseRule("recordable", "29 CFR 1904.7(b)(1)", "with days away or restricted the case is more than first aid")
	}
	return nil
}

// checkPeriods holds the days that a case without absences states itself.
func checkPeriods(c record.OSHACase, f Facts) *fault.Error {
	for _, p := range [...][3]string{{"days_away", "away_from", "away_until"},
		{"days_restricted", "restricted_from", "restricted_until"}} {
		row := store.Row(c)
		from, until := parseDay(row.Text(p[1])), parseDay(row.Text(p[2]))
		switch {
		case intField(row, p[0]) > longestDays:
			return refuseRule(p[0], "29 CFR 1904.7(b)(3)", "more than %d days are a typing error", longestDays)
		case from.IsZero() && !until.IsZero():
			return refuseRule(p[1], "29 CFR 1904.7(b)(3)(i)", "%s needs %s", p[2], p[1])
		case !from.IsZero() && from.Before(f.Injured) && !f.Counted: // absences are checked where they are written
			return refuseRule(p[1], "29 CFR 1904.7(b)(3)(i)", "%s lies before the injury", p[1])
		case !until.IsZero() && until.Before(from):
			return refuseRule(p[2], "29 CFR 1904.7(b)(3)(iv)", "%s lies before %s", p[2], p[1])
		}
	}
	return nil
}

// checkPrivacy: the list of privacy cases is closed, and the last of its
// reasons is for illnesses that the employee asks to be kept private.
func checkPrivacy(c record.OSHACase, _ Facts) *fault.Error {
	private, reason := c.PrivacyCase(), c.PrivacyReason()
	switch {
	case private && reason == "":
		return refuseRule("privacy_reason", "29 CFR 1904.29(b)(8)", "a privacy case needs one of the listed reasons; no other makes one")
	case !private && reason != "":
		return refuseRule("privacy_case", "29 CFR 1904.29(b)(7)", "a case of %s is a privacy case", reason)
	case reason == "employee_request" && c.IllnessType() == "injury":
		return refuseRule("privacy_reason", "29 CFR 1904.29(b)(7)(vi)", "an employee's request makes a privacy case of an illness, not of an injury")
	case !private && c.DiscreetDescription() != "":
		return refuseRule("discreet_description", "29 CFR 1904.29(b)(9)", "only a privacy case is described discreetly")
	}
	return nil
}

func checkKind(c record.OSHACase, f Facts) *fault.Error {
	kind := c.IllnessType()
	if kind == "" && c.Recordable() == "yes" {
		return refuseRule("illness_type", "29 CFR 1904.29(b)(1)", "a recordable case needs column M: injury or the type of illness")
	}
	if kind != "" && (kind == "injury") != (f.Kind == "injury") {
		return refuseRule("illness_type", "29 CFR 1904.46", "the incident is an %s, column M says %s", f.Kind, kind)
	}
	return nil
}

func checkDates(c record.OSHACase, f Facts) *fault.Error {
	isDeath := c.Outcome() == "death"
	born, hired, died := parseDay(c.BirthDate()), parseDay(c.HireDate()), parseDay(c.DeathDate())
	switch {
	case !born.IsZero() && !born.Before(f.Injured):
		return refuseRule("birth_date", "OSHA form 301, item 3", "lies after the injury")
	case !hired.IsZero() && hired.After(f.Injured):
		return refuseRule("hire_date", "OSHA form 301, item 4", "lies after the injury")
	case !born.IsZero() && !hired.IsZero() && !born.Before(hired):
		return refuseRule("hire_date", "OSHA form 301, item 4", "lies before the date of birth")
	case isDeath && died.IsZero(), isListed(c) && !isDeath && !died.IsZero():
		return refuseRule("death_date", "29 CFR 1904.7(b)(2)", "the date of death belongs to the outcome death, and to no other")
	case !died.IsZero() && (died.Before(f.Injured) || died.After(f.Today)):
		return refuseRule("death_date", "29 CFR 1904.7(b)(2)", "must lie between the injury and today")
	}
	return nil
}

// isListed reports a case that stands on the log. A death that OSHA's log does not list,
// or not yet, has its date all the same: it counts elsewhere.
func isListed(c record.OSHACase) bool { return c.Recordable() == "yes" }

func checkTimes(c record.OSHACase, _ Facts) *fault.Error {
	for _, f := range [...]string{"work_began", "event_time"} {
		if v := store.Row(c).Text(f); v != "" && !clock.MatchString(v) {
			return refuseRule(f, "OSHA form 301, items 12 and 13", "%s must be a time such as 14:30", f)
		}
	}
	if c.TimeUnknown() && c.EventTime() != "" {
		return refuseRule("time_unknown", "OSHA form 301, item 13", "the time is given, so it is not unknown")
	}
	return nil
}

// checkEntry: a line of the log is complete.
func checkEntry(c record.OSHACase, _ Facts) *fault.Error {
	if c.Recordable() != "yes" {
		return nil
	}
	for _, x := range [...]struct{ field, column, text string }{{"employee_name", "B", c.EmployeeName()},
		{"job_title", "C", c.JobTitle()}, {"where_occurred", "E", c.WhereOccurred()}, {"description", "F",
			c.Description()}} {
		if x.text == "" {
			return refuseRule(x.field, "29 CFR 1904.29(b)(1)", "a recordable case needs %s for column %s of the log",
				x.field, x.column)
		}
	}
	return nil
}

// Name is what column B of the log shows (29 CFR 1904.29(b)(6)).
func Name(c record.OSHACase) string {
	if c.PrivacyCase() {
		return "Privacy case"
	}
	return c.EmployeeName()
}

// Description is what column F of the log shows (29 CFR 1904.29(b)(9)).
func Description(c record.OSHACase) string {
	if d := c.DiscreetDescription(); d != "" && c.PrivacyCase() {
		return d
	}
	return c.Description()
}

// Number is the case's number as forms and files write it.
func Number(c record.OSHACase) string { return fmt.Sprint(c.CaseNo()) }
