// Package attendance measures the weeks that a person worked.
//
// Layer: domains. Begin at [Record].
package attendance

import (
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
)

// Record is what one person worked, and on how many days that person was
// there: the weeks, from Monday to Sunday, with a shift, from the first shift to
// the last day that has passed. A week without a shift is leave, or sickness, and
// neutral (Directive 2003/88/EC art. 16(b)).
type Record struct {
	hours       decimal.Dec
	weeks       int
	monday      localtime.Date // of the last week with a shift
	first, last localtime.Date
}

// AddShift adds a shift by the day it ended and its hours, the earliest first.
func (a *Record) AddShift(ended localtime.Date, hours decimal.Dec) {
	a.hours += hours
	monday := ended.AddDays(-daysSinceMonday(ended))
	if a.weeks == 0 {
		a.first = ended
	}
	if a.weeks == 0 || monday != a.monday {
		a.weeks++
	}
	a.monday, a.last = monday, ended
}

func daysSinceMonday(d localtime.Date) int { return (int(d.UTC().Weekday()) + 6) % 7 }

// MeanWeek is the mean of hours in seven days, over at least seven days: one long
// day is not a long week.
func (a *Record) MeanWeek(today localtime.Date) float64 {
	days := 7*a.weeks - daysSinceMonday(a.first)
	end := today.AddDays(-1)
	if a.last == today {
		end = today
	}
	if left := 6 - end.DaysSince(a.monday); left > 0 {
		days -= left
	}
	return 7 * a.hours.Float() / float64(max(days, 7))
}
