package yearly

import (
	"math"
	"slices"
	"time"

	"holdfast/internal/safety"
)

// yearsKept is how long the log and its summaries are kept, from the end of the
// year that they cover (29 CFR 1904.33(a)).
const yearsKept = 5

// Record says for which years an establishment has met a yearly duty.
type Record struct {
	first int
	met   map[int]bool
}

// AddYear notes that there are records of a year, and whether its duty is met.
func (y *Record) AddYear(year int, met bool) {
	if y.first == 0 || year < y.first {
		y.first = year
	}
	if met {
		if y.met == nil {
			y.met = map[int]bool{}
		}
		y.met[year] = true
	}
}

// IsMet reports whether the duty of a year is met.
func (y *Record) IsMet(year int) bool { return y.met[year] }

// forGood are states that are asked for however long ago the deadline was: what is to be
// submitted stays so.
var forGood = []string{"osha_summary.submitted", "osha_summary.cases_submitted"}

// dueOn is when the duty of a year is due, in the next one.
func dueOn(r *safety.Rule, year int) time.Time {
	due, err := time.Parse(time.DateOnly, "2000-"+r.Due)
	if err != nil {
		return time.Time{} // checked when the rule was written
	}
	return time.Date(year+1, due.Month(), due.Day(), 0, 0, 0, 0, time.UTC)
}

// FirstYear is the first year whose duty an establishment is held to. One without records
// is held to the last deadline.
func FirstYear(r *safety.Rule, today time.Time, record *Record) int {
	year := record.first
	if year == 0 {
		year = today.Year() - 1
		if dueOn(r, year).After(today) {
			year--
		}
	}
	if !slices.Contains(forGood, r.State) {
		year = max(year, today.Year()-yearsKept)
	}
	return year
}

// DaysPast is how many days the deadline of the first year whose duty is not met
// lies back, negative before it. A deadline stays missed until the duty is met:
// the annual summary for the years that it is kept, the electronic submission
// for good. An establishment without records has not met the last deadline.
func DaysPast(r *safety.Rule, today time.Time, record *Record) float64 {
	year := FirstYear(r, today, record)
	for record.met[year] {
		year++
	}
	return math.Floor(today.Sub(dueOn(r, year)).Hours() / 24)
}
