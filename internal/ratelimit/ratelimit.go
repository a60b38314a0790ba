// Package ratelimit counts requests and statements in rolling windows, one minute
// and a burst of ten seconds, and says when a refused one may come again.
//
// Layer: adapters. Begin at [New].
package ratelimit

import (
	"hash/maphash"
	"sync"
	"time"
)

// Options of New. The zero value is ready for use.
type Options struct {
	Now     func() time.Time // the clock; time.Now when nil
	MaxKeys int              // bound on remembered keys, each of some 600 bytes; 100,000 when 0
}

// A State is what a key has used and may still use, for the X-RateLimit
// headers and the 429 body of the interface.
//
// Limit, Used and Remaining speak of the minute, and of the burst when that is
// what refused (then Remaining is 0). Reset is when all of the limit is free
// again if nothing more is counted, or for a refused call when it would pass.
type State struct {
	Limit     int
	Remaining int
	Used      int
	Reset     time.Time
	OK        bool
	// Ceiling reports that the tenant has no room left, not the caller.
	Ceiling bool
	// RetryAfter is the wait after which the refused call
	// passes if nothing else is counted meanwhile. It is 0 when OK, and when
	// more was asked for than the rule ever allows at once.
	RetryAfter time.Duration
}

const shards = 64

// A Limiter holds the windows of this process. Its methods may be called by
// many goroutines.
type Limiter struct {
	now   func() time.Time
	start time.Time
	seed  maphash.Seed
	limit int // keys in a shard
	shard [shards]shard
}

type shard struct {
	sync.Mutex
	windows map[name]*window
	swept   int64    // slot of the last sweep
	_       [40]byte // a shard's lock is not on its neighbour's cache line
}

type name struct {
	category Category
	key      string
	caller   string // of a tenant; "" = the window of key alone
}

// New returns an empty limiter.
func New(o Options) *Limiter {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxKeys <= 0 {
		o.MaxKeys = 100_000
	}
	l := &Limiter{now: o.Now, start: o.Now(), seed: maphash.MakeSeed(), limit: max(o.MaxKeys/shards, 1)}
	for i := range l.shard {
		l.shard[i].windows = map[name]*window{}
	}
	return l
}

// Take implements Counter.
func (l *Limiter) Take(key string, c Category, p Plan, n int) State {
	m := l.currentMoment()
	s := l.shardOf(key)
	s.Lock()
	defer s.Unlock()
	return s.takeUnits(plainName(c, key), p.Rule(c), n, m, l.limit)
}

// Pass implements Counter.
func (l *Limiter) Pass(who Caller, c, next Category, p Plan) (taken, room State) {
	m := l.currentMoment()
	s := l.shardOf(who.Tenant) // one shard has all of a tenant's windows
	s.Lock()
	defer s.Unlock()
	taken = s.takeOfBoth(who, c, p, m, l.limit)
	if taken.OK {
		room = s.peekBoth(who, next, p, m)
	}
	return taken, room
}

// Spend implements Counter.
func (l *Limiter) Spend(who Caller, c Category, n int) {
	m := l.currentMoment()
	s := l.shardOf(who.Tenant)
	s.Lock()
	defer s.Unlock()
	s.addPast(who.ownWindow(c), n, m, l.limit)
	s.addPast(who.tenantWindow(c), n, m, l.limit)
}

// Room implements Counter.
func (l *Limiter) Room(who Caller, c Category, p Plan) State {
	m := l.currentMoment()
	s := l.shardOf(who.Tenant)
	s.Lock()
	defer s.Unlock()
	return s.peekBoth(who, c, p, m)
}

// Add implements Counter.
func (l *Limiter) Add(key string, c Category, n int) {
	m := l.currentMoment()
	s := l.shardOf(key)
	s.Lock()
	defer s.Unlock()
	s.addPast(plainName(c, key), n, m, l.limit)
}

// Peek implements Counter.
func (l *Limiter) Peek(key string, c Category, p Plan) State {
	m := l.currentMoment()
	s := l.shardOf(key)
	s.Lock()
	defer s.Unlock()
	return s.peekState(plainName(c, key), p.Rule(c), m)
}

func plainName(c Category, key string) name { return name{category: c, key: key} }

func (l *Limiter) shardOf(key string) *shard {
	return &l.shard[maphash.String(l.seed, key)%shards]
}

// currentMoment is now. Slots count from ring length on, since a window looks back
// one ring, and by the monotonic clock.
func (l *Limiter) currentMoment() moment {
	now := l.now()
	since := now.Sub(l.start)
	s := int64(max(since, 0) / slot)
	return moment{now: now, slot: s + minuteSlots, in: since - time.Duration(s)*slot}
}

func (s *shard) takeUnits(k name, r Rule, n int, m moment, limit int) State {
	w := s.findOrMakeWindow(k, m.slot, limit)
	w.advanceTo(m.slot)
	if !w.countWithin(r, n) {
		return m.refusedState(w, r, n)
	}
	return m.passedState(r, w.minute, w.newestSlot())
}

// takeOfBoth takes one unit from a caller's window and from the tenant's, or from neither.
func (s *shard) takeOfBoth(who Caller, c Category, p Plan, m moment, limit int) State {
	own, all := s.findOrMakeWindow(who.ownWindow(c), m.slot, limit), s.findOrMakeWindow(who.tenantWindow(c), m.slot, limit)
	own.advanceTo(m.slot)
	all.advanceTo(m.slot)

	if !own.hasRoom(p.Rule(c), 1) {
		return m.refusedState(own, p.Rule(c), 1)
	}
	if !all.hasRoom(p.Ceiling(c), 1) {
		return m.ceilingState(all, p.Ceiling(c))
	}

	own.countPast(1)
	all.countPast(1)
	return m.passedState(p.Rule(c), own.minute, own.newestSlot())
}

// peekBoth is what takeOfBoth would answer.
func (s *shard) peekBoth(who Caller, c Category, p Plan, m moment) State {
	state := s.peekState(who.ownWindow(c), p.Rule(c), m)
	if !state.OK {
		return state
	}
	if all := s.peekState(who.tenantWindow(c), p.Ceiling(c), m); !all.OK {
		all.Ceiling = true
		return all
	}
	return state
}

func (s *shard) addPast(k name, n int, m moment, limit int) {
	w := s.findOrMakeWindow(k, m.slot, limit)
	w.advanceTo(m.slot)
	w.countPast(n)
}

func (s *shard) peekState(k name, r Rule, m moment) State {
	w := s.windows[k]
	if w == nil {
		w = &window{last: m.slot} // does not escape into the map
	}
	w.advanceTo(m.slot)
	if w.minute >= r.Minute || w.burst >= r.Burst {
		return m.refusedState(w, r, 1)
	}
	return m.passedState(r, w.minute, w.newestSlot())
}

// findOrMakeWindow finds or makes a key's window. Once a minute the shard forgets the
// keys that were idle for one.
func (s *shard) findOrMakeWindow(k name, now int64, limit int) *window {
	if now-s.swept >= minuteSlots {
		s.sweepIdle(now)
	}
	w := s.windows[k]
	if w != nil {
		return w
	}
	if len(s.windows) >= limit {
		s.evictOne()
	}
	w = &window{last: now}
	s.windows[k] = w
	return w
}

func (s *shard) sweepIdle(now int64) {
	s.swept = now
	for k, w := range s.windows {
		if now-w.last >= minuteSlots {
			delete(s.windows, k)
		}
	}
}

// evictOne forgets, of a few keys that the map's random order offers, the one
// with the least to forget. So a flood of new keys pushes out itself and does
// not clear the count of a key under attack.
func (s *shard) evictOne() {
	var least name
	var lost *window
	seen := 0
	for k, w := range s.windows {
		if lost == nil || w.minute < lost.minute || w.minute == lost.minute && w.last < lost.last {
			least, lost = k, w
		}
		if seen++; seen == 8 {
			break
		}
	}
	delete(s.windows, least)
}
