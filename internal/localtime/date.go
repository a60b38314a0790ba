package localtime

import (
	"fmt"
	"time"
)

// Date is a calendar day, of no place and without a time of day. The zero Date is
// no day. Dates are equal when == says so.
type Date struct{ midnight time.Time } // in UTC

// NewDate returns a date. As in [time.Date], a month or a day outside its range is
// counted on: day 0 is the last day of the month before.
func NewDate(year int, month time.Month, day int) Date {
	return Date{time.Date(year, month, day, 0, 0, 0, 0, time.UTC)}
}

// DateOf returns the date that the calendar of a place shows at a moment.
func DateOf(at time.Time, zone *time.Location) Date {
	return NewDate(at.In(zone).Date())
}

// ParseDate reads a date that is written YYYY-MM-DD.
func ParseDate(text string) (Date, error) {
	midnight, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fmt.Errorf("localtime: read a date: %w", err)
	}
	return Date{midnight}, nil
}

// String writes a date as YYYY-MM-DD, the form in which records hold it. Texts of
// this form compare as the dates do.
func (d Date) String() string { return d.midnight.Format(time.DateOnly) }

// UTC is midnight of the date in UTC: a moment to reckon with, in no place's time.
func (d Date) UTC() time.Time { return d.midnight }

// Year is the date's year.
func (d Date) Year() int { return d.midnight.Year() }

// IsZero reports whether d is no day.
func (d Date) IsZero() bool { return d.midnight.IsZero() }

// Before reports whether d is an earlier date than other.
func (d Date) Before(other Date) bool { return d.midnight.Before(other.midnight) }

// AddDays returns the date some days later, or earlier where days is negative.
func (d Date) AddDays(days int) Date { return Date{d.midnight.AddDate(0, 0, days)} }

// AddMonths returns the same day some months later, or the last day of that month
// where it is shorter: six months after 31 August end with February.
func (d Date) AddMonths(months int) Date {
	year, month, day := d.midnight.Date()
	last := NewDate(year, month+time.Month(months)+1, 0)
	return last.AddDays(min(0, day-last.midnight.Day()))
}

// DaysSince is the number of days from other to d.
func (d Date) DaysSince(other Date) int {
	return int(d.midnight.Sub(other.midnight) / (24 * time.Hour))
}

// Start returns the first moment of the date at a place, in UTC: the one from
// which the calendar there shows no earlier date any more. Where the clock passes
// over midnight that is the moment it is set forward to, and where the calendar
// leaves the date out it is the start of the next one.
func (d Date) Start(zone *time.Location) time.Time {
	at := d.midnight.Add(48 * time.Hour) // every place has passed the date by then
	for {
		// The offset from UTC is the same from setAt until at.
		setAt, _ := at.In(zone).ZoneBounds()
		_, offset := at.In(zone).Zone()
		midnight := d.midnight.Add(-time.Duration(offset) * time.Second)
		if setAt.IsZero() || midnight.After(setAt) {
			return midnight
		}
		before := setAt.Add(-time.Nanosecond)
		if DateOf(before, zone).Before(d) {
			return setAt.UTC()
		}
		at = before
	}
}

// End returns the last microsecond of the date at a place, in UTC.
func (d Date) End(zone *time.Location) time.Time {
	return d.AddDays(1).Start(zone).Add(-time.Microsecond)
}
