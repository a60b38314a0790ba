package cell

import (
	"strings"
	"time"
)

// Kinds of seconds that times are written in, counted from 1970.
const (
	Seconds      = "seconds"
	Milliseconds = "milliseconds"
)

// EpochUnit is the unit of a number that may be a time counted from 1970: ten digits are
// seconds, thirteen milliseconds, for times from 2001 to 2286. "" = it is none.
func EpochUnit(s string) string {
	s = strings.TrimSpace(s)
	if strings.Trim(s, "0123456789") != "" || len(s) == 0 || s[0] == '0' {
		return ""
	}
	switch len(s) {
	case 10:
		return Seconds
	case 13:
		return Milliseconds
	}
	return ""
}

// Epoch is the time that a number counts from 1970 in a unit; ok is false of other texts.
func Epoch(s, unit string) (at time.Time, ok bool) {
	if unit == "" || EpochUnit(s) != unit {
		return at, false
	}
	n := int64(0)
	for _, c := range strings.TrimSpace(s) {
		n = 10*n + int64(c-'0')
	}
	if unit == Seconds {
		return time.Unix(n, 0).UTC(), true
	}
	return time.UnixMilli(n).UTC(), true
}

// InTheFuture is the moment with a year of two digits that lies in this century: what
// is good until 03/75 is so until 2075.
func (m Moment) InTheFuture() Moment {
	if m.Short && m.Date.Year() < 2000 {
		m.Date = m.Date.AddDate(100, 0, 0)
	}
	return m
}

// nearYears is how far from now a year of two digits can be taken without asking.
const nearYears = 30

// Nearest is the moment with a year of two digits in the century that is near to now; ok
// is false where neither is.
func (m Moment) Nearest(now time.Time) (near Moment, ok bool) {
	if !m.Short {
		return m, true
	}
	for _, years := range []int{0, -100, 100} {
		near = m
		near.Date = m.Date.AddDate(years, 0, 0)
		if near.Date.After(now.AddDate(-nearYears, 0, 0)) && near.Date.Before(now.AddDate(nearYears, 0, 0)) {
			return near, true
		}
	}
	return m, false
}

// IsFarYear reports a date with a year of two digits, neither century of which is near to
// now.
func IsFarYear(s string, now time.Time) bool {
	d, _, ok := splitDate(s)
	if !ok || !d.short {
		return false
	}
	_, near := Moment{Short: true, Date: time.Date(d.year, 6, 1, 0, 0, 0, 0, time.UTC)}.Nearest(now)
	return !near
}

// IsDateOfCode reports what spreadsheet programs make of a code that reads like a date,
// as they write it into text files: 1-Mar, Mar-05.
func IsDateOfCode(s string) bool {
	first, second, cut := strings.Cut(strings.TrimSpace(s), "-")
	if !cut || strings.Contains(second, "-") {
		return false
	}
	isDay := func(s string) bool { return len(s) > 0 && len(s) < 3 && strings.Trim(s, "0123456789") == "" }
	isMonth := func(s string) bool {
		return len(s) == 3 && strings.Contains("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", s)
	}
	return isDay(first) && isMonth(second) || isMonth(first) && isDay(second)
}
