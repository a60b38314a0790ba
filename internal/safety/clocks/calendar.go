package clocks

import (
	"slices"
	"time"

	"holdfast/internal/localtime"
)

// frenchFixed are the public holidays of France that have a date of their own (Code du
// travail L3133-1). Those of Alsace and Moselle and of the overseas departments are left
// out: there a clock ends a day sooner here than the law wants, never later.
var frenchFixed = []struct {
	month time.Month
	day   int
}{
	{time.January, 1}, {time.May, 1}, {time.May, 8}, {time.July, 14},
	{time.August, 15}, {time.November, 1}, {time.November, 11}, {time.December, 25},
}

// frenchMovable are the others, by how many days they follow Easter Sunday: Easter
// Monday, Ascension and Whit Monday.
var frenchMovable = []int{1, 39, 50}

// isFrenchRest reports a Sunday or a public holiday.
func isFrenchRest(d localtime.Date) bool {
	if d.UTC().Weekday() == time.Sunday {
		return true
	}
	_, month, day := d.UTC().Date()
	for _, h := range frenchFixed {
		if h.month == month && h.day == day {
			return true
		}
	}
	return slices.Contains(frenchMovable, d.DaysSince(easterOf(d.Year())))
}

// easterOf is Easter Sunday of a year of the Gregorian calendar (the algorithm that
// Meeus, Jones and Butcher published; names as theirs).
func easterOf(year int) localtime.Date {
	a, b, c := year%19, year/100, year%100
	d, e := b/4, b%4
	f := (b + 8) / 25
	g := (b - f + 1) / 3
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return localtime.NewDate(year, time.Month(n/31), n%31+1)
}
