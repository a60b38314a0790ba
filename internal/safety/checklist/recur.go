package checklist

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"holdfast/internal/fault"
)

// perDay is the most due times on one day.
const perDay = 24

// Recurrence says when an inspection is due, in local time of the place: an
// RFC 5545 rule by day, week, month or year.
type Recurrence struct {
	rule  *rrule.RRule
	until time.Time // as written; zero = none
	local bool      // until is a local time
	loc   *time.Location
}

// parts are the rule parts that are read; others, and more than 24 times a
// day, are refused.
var parts = map[string]struct{ least, most int }{
	"INTERVAL": {1, 1000}, "COUNT": {1, 10_000}, "BYMONTH": {1, 12}, "BYMONTHDAY": {-31, 31}, "BYHOUR": {0, 23}, "BYMINUTE": {0, 59}, "BYSETPOS": {-366, 366},
	"FREQ": {}, "BYDAY": {}, "WKST": {}, "UNTIL": {},
}

// Recur reads a rule that begins at a local day and time of day. The fault is
// Invalid and stands at "rrule".
func Recur(text string, first time.Time, loc *time.Location) (*Recurrence, error) {
	text = strings.ToUpper(strings.TrimPrefix(strings.TrimSpace(text), "RRULE:"))
	given, err := splitRule(text)
	if err != nil {
		return nil, err
	}
	r := &Recurrence{loc: loc}
	if u := given["UNTIL"]; u != "" {
		if r.until, r.local, err = readUntil(u); err != nil {
			return nil, err
		}
	}
	option, err := rrule.StrToROption(joinRule(given))
	if err != nil {
		return nil, badRule("is not a recurrence rule: %v", err)
	}
	// Reckoned as if the place were at UTC, so that due times keep their local
	// hour when the clocks change; At finds the instants.
	option.Dtstart = time.Date(first.Year(), first.Month(), first.Day(), first.Hour(), first.Minute(), 0, 0, time.UTC)
	if max(len(option.Byhour), 1)*max(len(option.Byminute), 1) > perDay {
		return nil, badRule("is due more than %d times a day", perDay)
	}
	if r.rule, err = rrule.NewRRule(*option); err != nil {
		return nil, badRule("is not a recurrence rule: %v", err)
	}
	if next := r.rule.Iterator(); !hasNextDate(next, option.Dtstart) {
		return nil, badRule("is never due")
	}
	return r, nil
}

// hasNextDate reports whether a rule has a date within twelve years, which any rule
// that means something has: 29 February is at most eight years away.
func hasNextDate(next rrule.Next, from time.Time) bool {
	at, ok := next()
	return ok && at.Before(from.AddDate(12, 0, 0))
}

func badRule(format string, args ...any) error {
	return fault.New(fault.Invalid, Code, "rrule "+format, args...).At("rrule", format, args...)
}

// splitRule reads the parts of a rule and holds them to those that are allowed.
func splitRule(text string) (map[string]string, error) {
	given := map[string]string{}
	for _, p := range strings.Split(text, ";") {
		name, value, ok := strings.Cut(p, "=")
		bounds, known := parts[name]
		switch {
		case !ok || value == "":
			return nil, badRule("is not a recurrence rule: %q is no NAME=VALUE", fault.Clip(p, 40))
		case !known:
			return nil, badRule("may not have %s", fault.Clip(name, 40))
		case name == "BYDAY" && !areWeekdays(value):
			return nil, badRule("BYDAY must be weekdays such as MO or, of a month or year, 1MO to 5MO and -1MO to -5MO")
		case given[name] != "":
			return nil, badRule("has %s twice", name)
		case bounds.most != 0 && !areWithin(value, bounds.least, bounds.most):
			return nil, badRule("%s must be %d to %d", name, bounds.least, bounds.most)
		}
		given[name] = value
	}
	switch given["FREQ"] {
	case "DAILY", "WEEKLY":
		if strings.ContainsAny(given["BYDAY"], "0123456789") {
			return nil, badRule("BYDAY counts weekdays only with FREQ=MONTHLY or YEARLY")
		}
		if given["BYMONTHDAY"] != "" || given["BYSETPOS"] != "" {
			return nil, badRule("BYMONTHDAY and BYSETPOS go with FREQ=MONTHLY or YEARLY")
		}
	case "MONTHLY", "YEARLY":
	default:
		return nil, badRule("FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY")
	}
	if given["COUNT"] != "" && given["UNTIL"] != "" {
		return nil, badRule("has both COUNT and UNTIL")
	}
	return given, nil
}

var weekday = regexp.MustCompile(`^([+-]?[1-5])?(MO|TU|WE|TH|FR|SA|SU)$`)

func areWeekdays(list string) bool {
	for _, s := range strings.Split(list, ",") {
		if !weekday.MatchString(s) {
			return false
		}
	}
	return true
}

// areWithin reports a list of whole numbers between bounds, 0 only where it lies
// between them and a negative bound does not ask for places from the end.
func areWithin(list string, least, most int) bool {
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most || n == 0 && least < 0 {
			return false
		}
	}
	return true
}

// joinRule writes the parts again without UNTIL, which is held against instants.
func joinRule(given map[string]string) string {
	var b strings.Builder
	b.WriteString("FREQ=" + given["FREQ"])
	for name, value := range given {
		if name != "FREQ" && name != "UNTIL" {
			b.WriteString(";" + name + "=" + value)
		}
	}
	return b.String()
}

// readUntil reads the three forms of RFC 5545 3.3.10: a day (to its end), a
// local time, an instant.
func readUntil(s string) (at time.Time, local bool, err error) {
	if at, err = time.Parse("20060102", s); err == nil {
		return at.Add(24*time.Hour - time.Second), true, nil
	}
	if at, err = time.Parse("20060102T150405", s); err == nil {
		return at, true, nil
	}
	if at, err = time.Parse("20060102T150405Z", s); err == nil {
		return at, false, nil
	}
	return at, false, badRule("UNTIL must be YYYYMMDD, YYYYMMDDTHHMMSS or YYYYMMDDTHHMMSSZ")
}

// Between returns the due instants in (after, to], earliest first and none
// twice.
func (r *Recurrence) Between(after, to time.Time) []time.Time {
	var out []time.Time
	r.eachDate(func(at time.Time) bool {
		if at.After(to) {
			return false
		}
		if at.After(after) && (len(out) == 0 || at.After(out[len(out)-1])) {
			out = append(out, at)
		}
		return true
	})
	return out
}

// Next returns the first due instant after a moment, and whether there is one.
func (r *Recurrence) Next(after time.Time) (next time.Time, ok bool) {
	r.eachDate(func(at time.Time) bool {
		next, ok = at, at.After(after)
		return !ok
	})
	return next, ok
}

func (r *Recurrence) eachDate(more func(at time.Time) bool) {
	next := r.rule.Iterator()
	for {
		wall, ok := next()
		if !ok {
			return
		}
		at := At(wall, r.loc)
		if !r.until.IsZero() && (r.local && wall.After(r.until) || !r.local && at.After(r.until)) {
			return
		}
		if !more(at) {
			return
		}
	}
}

// At is the instant at which clocks of a place show a wall time (given as if
// it were UTC). A time that comes twice is the first of the two; one that is
// left out is read with the offset before the gap (RFC 5545 3.3.5), so that no
// inspection falls out when clocks go forward.
func At(wall time.Time, loc *time.Location) time.Time {
	offset := func(t time.Time) time.Duration {
		_, s := t.In(loc).Zone()
		return time.Duration(s) * time.Second
	}
	shows := func(t time.Time) bool { return t.Add(offset(t)).Equal(wall) }
	before, after := offset(wall.Add(-24*time.Hour)), offset(wall.Add(24*time.Hour))
	a, b := wall.Add(-before), wall.Add(-after)
	if shows(a) && shows(b) && b.Before(a) {
		return b
	}
	if shows(a) || !shows(b) {
		return a
	}
	return b
}

// Clock reads a time of day, HH:MM.
func Clock(s string) (hour, minute int, err error) {
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, 0, fmt.Errorf("checklist: %q is no time of day: %w", fault.Clip(s, 40), err)
	}
	return t.Hour(), t.Minute(), nil
}
