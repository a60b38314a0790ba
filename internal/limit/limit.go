// Package limit counts requests and statements in rolling windows, one minute
// and a burst of ten seconds, and says when a refused one may come again.
package limit

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
	// RetryAfter is the wait in whole seconds after which the refused call
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

// Take counts n units of category c for key, all or none, before the work is
// done. A refused call counts nothing, so that a client which waits RetryAfter
// gets through however often it tried in between.
func (l *Limiter) Take(key string, c Category, p Plan, n int) State {
	r := p.Rule(c)
	now := l.now()
	s, at := l.locate(key, now)
	s.Lock()
	defer s.Unlock()
	w := s.window(name{c, key}, at, l.limit)
	w.advance(at)
	ok := w.take(r, n)
	return l.state(w, r, n, ok, now)
}

// Add counts n units that were already spent, whatever the rule says: the
// statements of a request are known only after it.
func (l *Limiter) Add(key string, c Category, n int) {
	now := l.now()
	s, at := l.locate(key, now)
	s.Lock()
	defer s.Unlock()
	w := s.window(name{c, key}, at, l.limit)
	w.advance(at)
	w.add(n)
}

// Peek is what Take of one unit would answer, without counting it.
func (l *Limiter) Peek(key string, c Category, p Plan) State {
	r := p.Rule(c)
	now := l.now()
	s, at := l.locate(key, now)
	s.Lock()
	defer s.Unlock()
	w := s.windows[name{c, key}]
	if w == nil {
		w = &window{last: at} // does not escape into the map
	}
	w.advance(at)
	ok := w.minute < r.Minute && w.burst < r.Burst
	return l.state(w, r, 1, ok, now)
}

// locate finds a key's shard and the slot of now. Slots count from ring length
// on, since a window looks back one ring, and by the monotonic clock.
func (l *Limiter) locate(key string, now time.Time) (*shard, int64) {
	since := max(now.Sub(l.start), 0)
	return &l.shard[maphash.String(l.seed, key)%shards], int64(since/slot) + minuteSlots
}

// state describes w after a call for n units.
func (l *Limiter) state(w *window, r Rule, n int, ok bool, now time.Time) State {
	st := State{OK: ok, Limit: r.Minute, Used: w.minute, Remaining: max(r.Minute-w.minute, 0)}
	if ok {
		st.Reset = l.begin(w.empties(), now)
		return st
	}
	if w.burst+n > r.Burst && w.minute+n <= r.Minute {
		st.Limit, st.Used = r.Burst, w.burst
	}
	st.Remaining = 0
	if n > r.Minute || n > r.Burst {
		st.Reset = l.begin(w.empties(), now)
		return st
	}
	st.Reset = l.begin(w.opens(r, n), now)
	st.RetryAfter = (st.Reset.Sub(now) + time.Second - 1).Truncate(time.Second)
	return st
}

// begin is the time at which slot s begins, not before now.
func (l *Limiter) begin(s int64, now time.Time) time.Time {
	since := now.Sub(l.start)
	return now.Add(max(time.Duration(s-minuteSlots)*slot-since, 0))
}

// window finds or makes a key's window. Once a minute the shard forgets the
// keys that were idle for one.
func (s *shard) window(k name, now int64, limit int) *window {
	if now-s.swept >= minuteSlots {
		s.sweep(now)
	}
	w := s.windows[k]
	if w != nil {
		return w
	}
	if len(s.windows) >= limit {
		s.evict()
	}
	w = &window{last: now}
	s.windows[k] = w
	return w
}

func (s *shard) sweep(now int64) {
	s.swept = now
	for k, w := range s.windows {
		if now-w.last >= minuteSlots {
			delete(s.windows, k)
		}
	}
}

// evict forgets, of a few keys that the map's random order offers, the one
// with the least to forget. So a flood of new keys pushes out itself and does
// not clear the count of a key under attack.
func (s *shard) evict() {
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
