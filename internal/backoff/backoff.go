// Package backoff spaces out the attempts of background work that keeps failing,
// and keeps the log short meanwhile: one line when the work begins to fail, one
// when it succeeds again.
//
// Layer: foundations. Begin at [New].
package backoff

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Backoff is the pace of one piece of background work. It is safe for concurrent
// use.
type Backoff struct {
	log         *slog.Logger
	work        string
	least, most time.Duration

	mu       sync.Mutex
	failures int       // in a row
	since    time.Time // when the first of them was
	next     time.Time // no attempt before it
}

// New returns the pace of work, named as the log names it ("seal the audit log").
// After the first failure in a row there is no attempt for least, after each
// further one for twice as long as before, at most for most, and for up to a
// quarter longer at random, so that nodes do not try together. Without a logger
// the default one is used.
func New(log *slog.Logger, work string, least, most time.Duration) *Backoff {
	if log == nil {
		log = slog.Default()
	}
	return &Backoff{log: log, work: work, least: least, most: max(least, most)}
}

// Note records how an attempt ended. One that failed while ctx ended counts for
// nothing.
func (b *Backoff) Note(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()

	now := time.Now()
	if err == nil {
		if b.failures > 0 {
			b.log.Info("background work succeeds again", "work", b.work,
				"failures", b.failures, "failing_for", now.Sub(b.since).Round(time.Millisecond).String())
		}
		b.failures, b.next = 0, time.Time{}
		return
	}
	if b.failures == 0 {
		b.since = now
		b.log.Warn("background work fails; it is tried again at growing intervals", "work", b.work, "error",
			shorten(err.Error()))
	}
	b.failures++
	b.next = now.Add(b.pause())
}

// pause returns how long the next attempt waits.
func (b *Backoff) pause() time.Duration {
	doublings := min(b.failures-1, 30)
	wait := b.most
	if b.least < b.most>>doublings {
		wait = b.least << doublings
	}
	return wait + rand.N(wait/4+1)
}

// IsReady reports whether the next attempt may be made now.
func (b *Backoff) IsReady() bool { return b.remaining() <= 0 }

// IsFailing reports whether the last attempt failed.
func (b *Backoff) IsFailing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures > 0
}

// Wait waits until the next attempt may be made. It returns false when ctx ended
// before.
func (b *Backoff) Wait(ctx context.Context) bool {
	timer := time.NewTimer(b.remaining())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

func (b *Backoff) remaining() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.next)
}

// longestError is the most bytes of an error that the log shows.
const longestError = 1000

func shorten(text string) string {
	if len(text) <= longestError {
		return text
	}
	return text[:longestError] + "..."
}
