package limit

import (
	"math"
	"time"
)

// A window keeps its counts in slots of a quarter second. A whole second would
// let a client through up to one second early or late, a tenth of the burst's
// span; two bytes a slot keep four times the resolution within half a
// kilobyte.
const (
	slot        = 250 * time.Millisecond
	minuteSlots = int64(time.Minute/slot) + 1
	burstSlots  = int64(10*time.Second/slot) + 1
)

// A window counts one key's units in one category. The slot being filled is
// counted besides the whole ones before it, so that each span is covered in
// full: never more than the rule in any rolling span, at the price of asking
// for up to a quarter second more patience.
type window struct {
	last   int64 // newest slot reached
	minute int   // sum of the last minuteSlots slots
	burst  int   // sum of the last burstSlots slots
	slots  [minuteSlots]uint16
}

// advance moves the window to slot now. A clock that went back stays in the
// newest slot.
func (w *window) advance(now int64) {
	if now-w.last >= minuteSlots {
		*w = window{last: now}
		return
	}
	for w.last < now {
		w.last++
		w.burst -= int(*w.at(w.last - burstSlots))
		entering := w.at(w.last)
		w.minute -= int(*entering)
		*entering = 0
	}
}

func (w *window) at(s int64) *uint16 { return &w.slots[s%minuteSlots] }

// take counts n units unless a rule or a slot's counter stands against it.
func (w *window) take(r Rule, n int) bool {
	now := w.at(w.last)
	if n > r.Minute-w.minute || n > r.Burst-w.burst || n > math.MaxUint16-int(*now) {
		return false
	}
	*now += uint16(n)
	w.minute += n
	w.burst += n
	return true
}

// add counts n units past every rule, as far as a slot's counter reaches.
func (w *window) add(n int) {
	now := w.at(w.last)
	n = min(n, math.MaxUint16-int(*now))
	*now += uint16(n)
	w.minute += n
	w.burst += n
}

// free is the first slot at which excess units of the last span slots have
// left the window.
func (w *window) free(span int64, excess int) int64 {
	for s := w.last - span + 1; excess > 0 && s <= w.last; s++ {
		excess -= int(*w.at(s))
		if excess <= 0 {
			return s + span
		}
	}
	return w.last
}

// opens is the first slot at which n units pass, if nothing else is counted.
func (w *window) opens(r Rule, n int) int64 {
	return max(w.last+1, // when only the slot's counter is full
		w.free(minuteSlots, w.minute+n-r.Minute),
		w.free(burstSlots, w.burst+n-r.Burst))
}

// empties is the first slot at which nothing is counted any more.
func (w *window) empties() int64 { return w.free(minuteSlots, w.minute) }

// newest is the last slot that something was counted in, when anything is.
func (w *window) newest() int64 { return w.empties() - minuteSlots }
