// Package driving holds drivers' time on the road to Regulation (EC) 561/2006.
// It is pure: trips in, hours and reasons out. Where a trip does not say when its
// breaks were, what it finds is the least that was driven without one.
//
// Layer: domains. Begin at [Trip].
package driving

import (
	"fmt"
	"slices"
	"time"
)

// What the regulation allows; the text decides.
const (
	Day        = 9 * time.Hour     // daily driving time, art. 6(1)
	LongDay    = 10 * time.Hour    // twice in a week, art. 6(1)
	Week       = 56 * time.Hour    // weekly driving time, art. 6(2)
	Fortnight  = 90 * time.Hour    // of two consecutive weeks, art. 6(3)
	Stint      = 270 * time.Minute // driving period, art. 7
	Break      = 45 * time.Minute  // after a driving period, art. 7; of 15 and 30 minutes too
	ShortRest  = 9 * time.Hour     // reduced daily rest, art. 4(g)
	WeeklyRest = 24 * time.Hour    // reduced weekly rest, art. 4(h)

	longDays   = 2 // in a week, art. 6(1)
	shortRests = 3 // between two weekly rests, art. 8(4)
)

// Trip is time on the road, of which a part was spent at the wheel. Trips of a
// driver are in the order of time and do not overlap.
type Trip struct {
	From, To time.Time
	Wheel    time.Duration
}

// Of is the trip of a route: until now where it is not over (a zero to), and all
// of it at the wheel where minutes is negative.
func Of(from, to, now time.Time, minutes int64) Trip {
	if to.IsZero() {
		to = now
	}
	t := Trip{From: from, To: to, Wheel: to.Sub(from)}
	if minutes >= 0 {
		t.Wheel = min(t.Wheel, time.Duration(minutes)*time.Minute)
	}
	return t
}

// day is the trips between two daily rests, and what was driven (art. 4(k)).
type day struct {
	from, to time.Time
	wheel    time.Duration
}

// splitDays splits trips where the driver rested for at least a reduced daily rest.
func splitDays(trips []Trip) (out []day) {
	for _, t := range trips {
		if n := len(out); n > 0 && t.From.Sub(out[n-1].to) < ShortRest {
			out[n-1].to, out[n-1].wheel = t.To, out[n-1].wheel+t.Wheel
			continue
		}
		out = append(out, day{t.From, t.To, t.Wheel})
	}
	return out
}

// weekStart is the day on which a week begins, as it is counted from the first: art.
// 4(i), from Monday 00:00 to Sunday 24:00 where the driver is.
func weekStart(t time.Time, at *time.Location) int64 {
	y, m, d := t.In(at).Date()
	on := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	return on.Unix()/86400 - int64((on.Weekday()+6)%7)
}

// LongestDay is what art. 6(1) holds to nine hours: of each week the longest daily
// driving time that is not one of its two extensions to ten. A daily driving time
// belongs to the week in which it begins.
func LongestDay(trips []Trip, at *time.Location) (worst time.Duration) {
	for _, list := range byWeek(splitDays(trips), at) {
		slices.SortFunc(list, func(a, b time.Duration) int { return int(b - a) })
		switch {
		case list[0] > LongDay:
			worst = max(worst, list[0])
		case len(list) > longDays:
			worst = max(worst, list[longDays])
		default:
			worst = max(worst, min(list[0], Day))
		}
	}
	return worst
}

func byWeek(list []day, at *time.Location) map[int64][]time.Duration {
	out := map[int64][]time.Duration{}
	for _, d := range list {
		w := weekStart(d.from, at)
		out[w] = append(out[w], d.wheel)
	}
	return out
}

// hoursByWeek are the hours at the wheel by week; a trip belongs to that in which it
// begins.
func hoursByWeek(trips []Trip, at *time.Location) map[int64]time.Duration {
	out := map[int64]time.Duration{}
	for _, t := range trips {
		out[weekStart(t.From, at)] += t.Wheel
	}
	return out
}

// LongestWeek is the longest weekly driving time, which art. 6(2) holds to 56
// hours.
func LongestWeek(trips []Trip, at *time.Location) (worst time.Duration) {
	for _, w := range hoursByWeek(trips, at) {
		worst = max(worst, w)
	}
	return worst
}

// LongestFortnight is the longest driving time of two consecutive weeks, which
// art. 6(3) holds to 90 hours.
func LongestFortnight(trips []Trip, at *time.Location) (worst time.Duration) {
	of := hoursByWeek(trips, at)
	for on, w := range of {
		worst = max(worst, w+of[on-7])
	}
	return worst
}

// LongestStint is the longest time at the wheel without a break of 45 minutes,
// which art. 7 holds to four and a half hours. What a trip was not driven is taken
// as breaks where they help most.
func LongestStint(trips []Trip) (worst time.Duration) {
	stint := time.Duration(0)
	for i, t := range trips {
		if i > 0 && t.From.Sub(trips[i-1].To) >= Break {
			stint = 0
		}
		if breaks := (t.To.Sub(t.From) - t.Wheel) / Break; breaks > 0 {
			worst, stint = max(worst, t.Wheel/(breaks+1)), 0
			continue
		}
		stint += t.Wheel
		worst = max(worst, stint)
	}
	return worst
}

// ShortestRest is what art. 8(2) holds to eleven hours: the shortest daily rest of
// those that are none of the three reduced ones which art. 8(4) allows between two
// weekly rests. A day of more than 15 hours leaves the 24 hours from its beginning
// less than nine. ok is false without a rest that counts.
func ShortestRest(trips []Trip) (rest time.Duration, ok bool) {
	var since []time.Duration // the last weekly rest
	count := func() {
		slices.Sort(since)
		at := shortRests
		if len(since) > 0 && since[0] < ShortRest {
			at = 0
		}
		if at < len(since) && (!ok || since[at] < rest) {
			rest, ok = since[at], true
		}
		since = nil
	}
	list := splitDays(trips)
	for i, d := range list {
		within := 24*time.Hour - d.to.Sub(d.from)
		if i+1 < len(list) {
			gap := list[i+1].from.Sub(d.to)
			if gap >= WeeklyRest && within >= ShortRest {
				count()
				continue
			}
			within = min(within, gap)
			since = append(since, within)
		} else if within < ShortRest {
			since = append(since, within)
		}
	}
	count()
	return rest, ok
}

// Against says why a driver with these trips behind him would drive against the
// regulation now; at is where weeks begin.
func Against(trips []Trip, now time.Time, at *time.Location) (why []string) {
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	list := splitDays(trips)
	if len(list) == 0 {
		return nil
	}
	today := list[len(list)-1]
	if now.Sub(today.to) < ShortRest {
		if limit := dayLeft(list[:len(list)-1], today, at); today.wheel >= limit {
			say("the driver has driven %s since the last daily rest, of %s: (EC) 561/2006 art. 6(1)", formatHours(today.wheel),
				formatHours(limit))
		}
		if now.Sub(today.from) >= 24*time.Hour-ShortRest {
			say("no daily rest of 9 h fits into the 24 hours since %s: (EC) 561/2006 art. 8(2)",
				today.from.In(at).Format("2006-01-02 15:04"))
		}
	}
	of, on := hoursByWeek(trips, at), weekStart(now, at)
	if of[on] >= Week {
		say("the driver has driven %s this week, of 56 h: (EC) 561/2006 art. 6(2)", formatHours(of[on]))
	}
	if two := of[on] + of[on-7]; two >= Fortnight {
		say("the driver has driven %s in two weeks, of 90 h: (EC) 561/2006 art. 6(3)", formatHours(two))
	}
	last := trips[len(trips)-1]
	if now.Sub(last.To) < Break {
		if stint := stintAtEnd(trips); stint >= Stint {
			say("the driver has driven %s without a break of 45 minutes: (EC) 561/2006 art. 7", formatHours(stint))
		}
	}
	return why
}

// dayLeft is what a day may have: ten hours unless two others of its week had more
// than nine.
func dayLeft(others []day, today day, at *time.Location) time.Duration {
	long := 0
	for _, d := range others {
		if d.wheel > Day && weekStart(d.from, at) == weekStart(today.from, at) {
			long++
		}
	}
	if long >= longDays {
		return Day
	}
	return LongDay
}

// stintAtEnd is what was driven since the last break.
func stintAtEnd(trips []Trip) (stint time.Duration) {
	for i := len(trips) - 1; i >= 0; i-- {
		t := trips[i]
		if i+1 < len(trips) && trips[i+1].From.Sub(t.To) >= Break || t.To.Sub(t.From)-t.Wheel >= Break {
			return stint
		}
		stint += t.Wheel
	}
	return stint
}

func formatHours(d time.Duration) string { return fmt.Sprintf("%.1f h", d.Hours()) }
