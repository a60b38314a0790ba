// Package clocks works out by when the law wants an accident to be told, recorded or
// declared: which of its clocks run, from when, until when and what stops them, by the
// country of the site. The rules are data, read by one engine, and which accidents they
// are about is asked of package regimes, which counts them.
//
// Layer: domains. Begin at [Running].
package clocks

import (
	"time"

	"holdfast/internal/localtime"
)

// Unit is what the length of a rule counts.
type Unit int

// Units.
const (
	Hours     Unit = iota
	Days           // until the end of the local day that is so many days later
	ClearDays      // likewise, the first day and the last not counted
	AtOnce         // the law names no length: without delay
	NoPeriod       // what is recorded, and has no end
)

// Calendar says which hours and days of a place count.
type Calendar int

// Calendars.
const (
	AllDays      Calendar = iota
	FrenchWorked          // Sundays and public holidays do not count
)

// Clock is a rule that runs for an accident.
type Clock struct {
	*Rule
	Starts  time.Time
	Due     time.Time        // zero for what has no period
	Skipped []localtime.Date // days that do not count
}

// Running works out the clocks of an accident, in the order of the rules.
func Running(f *Facts) []Clock {
	var out []Clock
	for i := range rules {
		r := &rules[i]
		if r.Country != f.Country || !r.holds(f) {
			continue
		}
		c := Clock{Rule: r, Starts: r.starts(f).UTC()}
		c.Due, c.Skipped = r.endOf(c.Starts, f.Zone)
		out = append(out, c)
	}
	return out
}

// endOf is when a rule's time is over that starts at a moment, and which days did not
// count.
func (r *Rule) endOf(starts time.Time, zone *time.Location) (time.Time, []localtime.Date) {
	switch r.Unit {
	case NoPeriod:
		return time.Time{}, nil
	case AtOnce:
		return starts, nil
	case Days:
		return localtime.DateOf(starts, zone).AddDays(r.Length).End(zone), nil
	case ClearDays:
		return localtime.DateOf(starts, zone).AddDays(r.Length + 1).End(zone), nil
	}
	if r.Calendar == AllDays {
		return starts.Add(time.Duration(r.Length) * time.Hour), nil
	}
	return runHours(starts, time.Duration(r.Length)*time.Hour, zone, isFrenchRest)
}

// runHours lets hours run from a moment, but not on days of rest.
func runHours(at time.Time, left time.Duration, zone *time.Location, isRest func(localtime.Date) bool) (
	due time.Time, skipped []localtime.Date,
) {
	for {
		day := localtime.DateOf(at, zone)
		next := day.AddDays(1).Start(zone)
		switch span := next.Sub(at); {
		case isRest(day):
			skipped = append(skipped, day)
		case left <= span:
			return at.Add(left), skipped
		default:
			left -= span
		}
		at = next
	}
}

// Find returns the rule of a code.
func Find(code string) (*Rule, bool) {
	for i := range rules {
		if rules[i].Code == code {
			return &rules[i], true
		}
	}
	return nil, false
}
