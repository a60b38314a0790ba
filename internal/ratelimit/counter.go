package ratelimit

import "time"

// A Counter counts units in rolling windows: a Limiter those of this process,
// a Fleet those of all nodes.
type Counter interface {
	// Take counts n units of category c for key, all or none, before the work
	// is done. A refused call counts nothing, so that a client which waits
	// RetryAfter gets through however often it tried in between.
	Take(key string, c Category, p Plan, n int) State
	// Pass is Take of one unit of c, and in the same step Peek at next, which
	// is meaningful when the unit was taken.
	Pass(key string, c, next Category, p Plan) (taken, room State)
	// Add counts n units that were already spent, whatever the rule says: the
	// statements of a request are known only after it.
	Add(key string, c Category, n int)
	// Peek is what Take of one unit would answer, without counting it.
	Peek(key string, c Category, p Plan) State
}

// A moment is one instant by a clock and by the slots of a window.
type moment struct {
	now  time.Time
	slot int64
	in   time.Duration // since the slot began
}

// slotBegin is the time at which slot s begins, not before now.
func (m moment) slotBegin(s int64) time.Time {
	return m.now.Add(max(time.Duration(s-m.slot)*slot-m.in, 0))
}

// passedState describes a window in which a call had room: minute units are counted,
// the newest of them in slot newest.
func (m moment) passedState(r Rule, minute int, newest int64) State {
	s := State{OK: true, Limit: r.Minute, Used: minute, Remaining: max(r.Minute-minute, 0), Reset: m.now}
	if minute > 0 {
		s.Reset = m.slotBegin(newest + minuteSlots)
	}
	return s
}

// refusedState describes a window that had no room for n units.
func (m moment) refusedState(w *window, r Rule, n int) State {
	s := State{Limit: r.Minute, Used: w.minute}
	if w.burst+n > r.Burst && w.minute+n <= r.Minute {
		s.Limit, s.Used = r.Burst, w.burst
	}
	if n > r.Minute || n > r.Burst {
		s.Reset = m.slotBegin(w.emptiesAt())
		return s
	}
	s.Reset = m.slotBegin(w.opensAt(r, n))
	s.RetryAfter = s.Reset.Sub(m.now)
	return s
}
