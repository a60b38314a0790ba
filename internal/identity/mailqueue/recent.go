package mailqueue

import (
	"sync"
	"time"
)

// Recent remembers when something was last asked for, whoever it concerns: a
// known and an unknown address are told to wait alike.
type Recent struct {
	mu      sync.Mutex
	seen    map[string]time.Time
	rations map[string][]time.Time // apart: a day's are not forgotten because a minute's are
}

const recentRoom = 20000

// NewRecent returns an empty memory.
func NewRecent() *Recent {
	return &Recent{seen: map[string]time.Time{}, rations: map[string][]time.Time{}}
}

// Wait returns how long the caller must wait, 0 when it may go ahead (which is
// then noted).
func (r *Recent) Wait(key string, now time.Time, interval time.Duration) time.Duration {
	if interval <= 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.seen[key]; ok {
		if left := t.Add(interval).Sub(now); left > 0 && left <= interval {
			return left
		}
	}
	if len(r.seen) >= recentRoom {
		for k, t := range r.seen {
			if now.Sub(t) > interval {
				delete(r.seen, k)
			}
		}
		if len(r.seen) >= recentRoom {
			clear(r.seen)
		}
	}
	r.seen[key] = now
	return 0
}

// Forget takes back what Wait noted: nothing came of it.
func (r *Recent) Forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
}

// Ration is Wait for something that may be asked for n times within an
// interval.
func (r *Recent) Ration(key string, now time.Time, n int, interval time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := withinInterval(r.rations[key], now, interval)
	if len(had) >= n {
		return had[0].Add(interval).Sub(now)
	}
	if len(had) == 0 && len(r.rations) >= recentRoom {
		r.makeRoom(now, interval)
	}
	r.rations[key] = append(had, now)
	return 0
}

// withinInterval leaves out what was asked for before the interval, and by a clock that
// was set back since.
func withinInterval(had []time.Time, now time.Time, interval time.Duration) []time.Time {
	kept := had[:0]
	for _, t := range had {
		if left := t.Add(interval).Sub(now); left > 0 && left <= interval {
			kept = append(kept, t)
		}
	}
	return kept
}

// makeRoom drops what is over, or else one ration.
func (r *Recent) makeRoom(now time.Time, interval time.Duration) {
	for k, had := range r.rations {
		if had = withinInterval(had, now, interval); len(had) == 0 {
			delete(r.rations, k)
		} else {
			r.rations[k] = had
		}
	}
	for k := range r.rations {
		if len(r.rations) < recentRoom {
			return
		}
		delete(r.rations, k)
	}
}

// Return takes back what Ration noted at a time: nothing came of it.
func (r *Recent) Return(key string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.rations[key]
	for i := len(had) - 1; i >= 0; i-- {
		if had[i].Equal(at) {
			r.rations[key] = append(had[:i], had[i+1:]...)
			return
		}
	}
}
