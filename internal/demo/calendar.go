package demo

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
)

// history is how many days before today the records reach back.
const history = 90

// calendar places events in the tenant's local days, counted from today = 0.
// Everything before today is fixed by the date alone; today's events are
// squeezed between local midnight and now, so that none lies in the future.
type calendar struct {
	loc  *time.Location
	now  time.Time
	t0   time.Time // local midnight
	rng  *rand.Rand
	made uint64
}

func newCalendar(loc *time.Location, now time.Time, seed uint64) *calendar {
	now = now.UTC().Truncate(time.Microsecond)
	l := now.In(loc)
	t0 := time.Date(l.Year(), l.Month(), l.Day(), 0, 0, 0, 0, loc)
	return &calendar{loc: loc, now: now, t0: t0, rng: rand.New(rand.NewPCG(seed, 20260105))}
}

// momentAt is the moment a day reaches an hour (8.5 = half past eight). Days after
// today are not squeezed: they hold plans.
func (c *calendar) momentAt(day int, hour float64) time.Time {
	if day == 0 {
		return c.t0.Add(time.Duration(float64(c.now.Sub(c.t0)) * min(hour, 23.9) / 24)).UTC().Truncate(time.Microsecond)
	}
	l := c.t0
	ns := time.Duration(hour * float64(time.Hour))
	return time.Date(l.Year(), l.Month(), l.Day()+day, 0, 0, 0, 0, c.loc).Add(ns).UTC().Truncate(time.Millisecond)
}

// clipToNow keeps a moment out of the future.
func (c *calendar) clipToNow(t time.Time) time.Time {
	if t.After(c.now) {
		return c.now
	}
	return t
}

// localDate is a day's local calendar date.
func (c *calendar) localDate(day int) string {
	return localtime.DateOf(c.now, c.loc).AddDays(day).String()
}

// localWeekday is a day's local weekday; today counts as a Wednesday when it falls
// on a weekend, so that a demo on a Sunday shows work going on.
func (c *calendar) localWeekday(day int) time.Weekday {
	w := c.t0.AddDate(0, 0, day).Weekday()
	if day == 0 && (w == time.Saturday || w == time.Sunday) {
		return time.Wednesday
	}
	return w
}

func (c *calendar) isWorkingDay(day int) bool {
	w := c.localWeekday(day)
	return w != time.Sunday && w != time.Saturday
}

// nextWorking is the first working day after day; today is never skipped.
func (c *calendar) nextWorking(day int) int {
	for day++; !c.isWorkingDay(day); {
		day++
	}
	return day
}

// workingBefore is day itself, or the last working day before it.
func (c *calendar) workingBefore(day int) int {
	for !c.isWorkingDay(day) {
		day--
	}
	return day
}

// newID makes a UUIDv7 for something that began on a day at a moment. Today's
// ids count milliseconds from midnight, so that they do not depend on the
// hour the demo is started.
func (c *calendar) newID(day int, t time.Time) string {
	ms := uint64(t.UnixMilli())
	if day == 0 {
		ms = uint64(c.t0.UnixMilli()) + c.made%1000
	}
	c.made++
	var b [16]byte
	a, r := c.rng.Uint64(), c.rng.Uint64()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6], b[7] = 0x70|byte(a>>8)&15, byte(a)
	for i := range 8 {
		b[8+i] = byte(r >> (8 * i))
	}
	b[8] = 0x80 | b[8]&0x3f
	var t36 [36]byte
	hex.Encode(t36[0:8], b[0:4])
	hex.Encode(t36[9:13], b[4:6])
	hex.Encode(t36[14:18], b[6:8])
	hex.Encode(t36[19:23], b[8:10])
	hex.Encode(t36[24:36], b[10:16])
	t36[8], t36[13], t36[18], t36[23] = '-', '-', '-', '-'
	return string(t36[:])
}

// drawBetween draws a whole number from lo to hi, both included.
func (c *calendar) drawBetween(lo, hi int) int { return lo + c.rng.IntN(hi-lo+1) }

// drawHour draws a time of day.
func (c *calendar) drawHour(lo, hi float64) float64 { return lo + (hi-lo)*c.rng.Float64() }

// drawChance is true with probability p.
func (c *calendar) drawChance(p float64) bool { return c.rng.Float64() < p }

// drawPoisson draws a Poisson number with the given mean (Knuth's method; means here
// are small).
func (c *calendar) drawPoisson(mean float64) int {
	n, p, limit := 0, c.rng.Float64(), math.Exp(-mean)
	for p > limit {
		n++
		p *= c.rng.Float64()
	}
	return n
}

func pickOne[T any](c *calendar, list []T) T { return list[c.rng.IntN(len(list))] }

// formatMoment is a moment as records hold it.
func formatMoment(t time.Time) string { return t.UTC().Format(db.TimeLayout) }
