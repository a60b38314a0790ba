package safety

import "time"

// Day returns the bounds [from, to) of the local day that now lies in, in UTC.
// Days around a change of the clock are 23 or 25 hours long; where local
// midnight does not exist the day begins with its first instant, and a day the
// calendar leaves out is passed over.
func Day(now time.Time, loc *time.Location) (from, to time.Time) {
	y, m, d := now.In(loc).Date()
	from, to = midnight(y, m, d, loc), midnight(y, m, d+1, loc)
	// A clock set back across midnight makes a date come twice; now then lies in
	// what begins at the later midnight.
	if now.Before(from) {
		return midnight(y, m, d-1, loc), from
	}
	return from, to
}

// EndOfDay is the last microsecond of the calendar day of date at a place.
func EndOfDay(date time.Time, loc *time.Location) time.Time {
	y, m, d := date.Date()
	return midnight(y, m, d+1, loc).Add(-time.Microsecond)
}

// midnight is the first instant of a local date, or of the next date there is.
func midnight(y int, m time.Month, d int, loc *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, loc)
	want := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if h, mi, s := t.Clock(); h == 0 && mi == 0 && s == 0 && day(t).Equal(want) {
		return t.UTC()
	}
	// Local midnight is inside a gap. time.Date promises no side of it, so the
	// first second of the date is searched for; no gap is longer than a day.
	lo, hi := t.Add(-26*time.Hour).Unix(), t.Add(26*time.Hour).Unix()
	for lo < hi {
		mid := lo + (hi-lo)/2
		if day(time.Unix(mid, 0).In(loc)).Before(want) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return time.Unix(lo, 0).UTC()
}

// day is a local calendar date as midnight UTC, to compare dates.
func day(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
