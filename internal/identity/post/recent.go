package post

import (
	"strconv"
	"sync"
	"time"
)

// Recent remembers when something was last asked for, whoever it concerns: a
// known and an unknown address are told to wait alike.
type Recent struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

const recentRoom = 20000

// NewRecent returns an empty memory.
func NewRecent() *Recent { return &Recent{seen: map[string]time.Time{}} }

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
// interval. It returns the key that Forget takes back.
func (r *Recent) Ration(key string, now time.Time, n int, interval time.Duration) (taken string, wait time.Duration) {
	wait = interval
	for i := range n {
		taken = key + "#" + strconv.Itoa(i)
		left := r.Wait(taken, now, interval)
		if left <= 0 {
			return taken, 0
		}
		wait = min(wait, left)
	}
	return "", wait
}
