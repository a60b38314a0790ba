package ratelimit

import "time"

// A Counter counts units in rolling windows: a Limiter those of this process,
// a Fleet those of all nodes.
type Counter interface {
	// Take counts n units of category c for key, all or none, before the work
	// is done. A refused call counts nothing, so that a client which waits
	// RetryAfter gets through however often it tried in between.
	Take(key string, c Category, p Plan, n int) State
	// Add counts n units that were already spent, whatever the rule says.
	Add(key string, c Category, n int)
	// Peek is what Take of one unit would answer, without counting it.
	Peek(key string, c Category, p Plan) State

	// Pass takes one unit of c for a caller, from the caller's own window and from the
	// tenant's, of both or of neither, and in the same step looks at the room in next,
	// which is meaningful when the unit was taken.
	Pass(who Caller, c, next Category, p Plan) (taken, room State)
	// Spend is Add in both windows: the statements of a request are known only after it.
	Spend(who Caller, c Category, n int)
	// Room is what Pass would answer for one unit of c, without counting it.
	Room(who Caller, c Category, p Plan) State
}

// A Caller is one person or key of a tenant. Each has the plan's rules for itself; what
// all of a tenant use together ends at the plan's ceilings, so that one careless script
// stops itself and not its colleagues.
type Caller struct {
	Tenant string
	Name   string
}

// ownWindow and tenantWindow name the caller's window and the one of the whole tenant.
func (who Caller) ownWindow(c Category) name    { return name{c, who.Tenant, who.Name} }
func (who Caller) tenantWindow(c Category) name { return name{c, who.Tenant, ""} }

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

// ceilingState describes a tenant's window that had no room for one unit.
func (m moment) ceilingState(w *window, r Rule) State {
	s := m.refusedState(w, r, 1)
	s.Ceiling = true
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
