package ratelimit

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

// advanceTo moves the window to slot now. A clock that went back stays in the
// newest slot.
func (w *window) advanceTo(now int64) {
	if now-w.last >= minuteSlots {
		*w = window{last: now}
		return
	}
	for w.last < now {
		w.last++
		w.burst -= int(*w.slotAt(w.last - burstSlots))
		entering := w.slotAt(w.last)
		w.minute -= int(*entering)
		*entering = 0
	}
}

func (w *window) slotAt(s int64) *uint16 { return &w.slots[s%minuteSlots] }

// hasRoom reports that neither a rule nor a slot's counter stands against n units.
func (w *window) hasRoom(r Rule, n int) bool {
	return n <= r.Minute-w.minute && n <= r.Burst-w.burst && n <= math.MaxUint16-int(*w.slotAt(w.last))
}

// countWithin counts n units where there is room.
func (w *window) countWithin(r Rule, n int) bool {
	if !w.hasRoom(r, n) {
		return false
	}
	w.countPast(n)
	return true
}

// countPast counts n units past every rule, as far as a slot's counter reaches.
func (w *window) countPast(n int) {
	now := w.slotAt(w.last)
	n = min(n, math.MaxUint16-int(*now))
	*now += uint16(n)
	w.minute += n
	w.burst += n
}

// firstFreeSlot is the first slot at which excess units of the last span slots have
// left the window.
func (w *window) firstFreeSlot(span int64, excess int) int64 {
	for s := w.last - span + 1; excess > 0 && s <= w.last; s++ {
		excess -= int(*w.slotAt(s))
		if excess <= 0 {
			return s + span
		}
	}
	return w.last
}

// opensAt is the first slot at which n units pass, if nothing else is counted.
func (w *window) opensAt(r Rule, n int) int64 {
	return max(w.last+1, // when only the slot's counter is full
		w.firstFreeSlot(minuteSlots, w.minute+n-r.Minute),
		w.firstFreeSlot(burstSlots, w.burst+n-r.Burst))
}

// emptiesAt is the first slot at which nothing is counted any more.
func (w *window) emptiesAt() int64 { return w.firstFreeSlot(minuteSlots, w.minute) }

// newestSlot is the last slot that something was counted in, when anything is.
func (w *window) newestSlot() int64 { return w.emptiesAt() - minuteSlots }
