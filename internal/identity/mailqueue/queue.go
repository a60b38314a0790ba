// Package mailqueue takes mail work off the request path and spaces it out.
//
// Layer: domains. Begin at [Queue].
package mailqueue

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"holdfast/internal/fault"
)

// Queue runs mail work off the request path, so that an answer takes the same
// time whether or not an address is known, and a slow mail server holds up
// nobody. Work starts a while after it was queued, at random: what it takes of the
// processor would else slow down the answer, or the next one, of those alone who
// asked for an address that is known.
type Queue struct {
	work    chan entry
	log     *slog.Logger
	done    sync.WaitGroup
	mu      sync.Mutex
	shut    bool
	last    time.Time // when the work queued last is due
	closing chan struct{}
	stop    context.CancelFunc
}

// entry is work and when it is due.
type entry struct {
	work func(context.Context) error
	due  time.Time
}

const (
	workers = 2
	room    = 512
	timeout = 30 * time.Second
	// Work starts between the least and the most after it was queued.
	leastDelay = 50 * time.Millisecond
	mostDelay  = 250 * time.Millisecond
)

func randomDelay() time.Duration { return leastDelay + rand.N(mostDelay-leastDelay) }

// New starts the workers.
func New(log *slog.Logger) *Queue {
	ctx, stop := context.WithCancel(context.Background())
	q := &Queue{work: make(chan entry, room), log: log, closing: make(chan struct{}), stop: stop}
	for range workers {
		q.done.Go(func() { q.runQueue(ctx) })
	}
	return q
}

func (q *Queue) runQueue(ctx context.Context) {
	for e := range q.work {
		select {
		case <-time.After(time.Until(e.due)):
		case <-q.closing:
		}
		q.runOne(ctx, e.work)
	}
}

func (q *Queue) runOne(ctx context.Context, f func(context.Context) error) {
	defer func() {
		if p := recover(); p != nil {
			q.log.Error("mail work panicked", "panic", fmt.Sprint(p))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := f(ctx); err != nil {
		q.log.Error("mail not sent", "error", err)
	}
}

// Add queues f; a full queue is fault.Unavailable.
func (q *Queue) Add(f func(context.Context) error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.shut {
		due := time.Now().Add(randomDelay())
		if due.Before(q.last) {
			due = q.last // of two mails to one mailbox the later code is the one that holds
		}
		select {
		case q.work <- entry{f, due}:
			q.last = due
			return nil
		default:
		}
	}
	e := fault.New(fault.Unavailable, "unexpected_failure", "Mail cannot be sent right now; try again")
	e.RetryAfter = 5 * time.Second
	return e
}

// Close starts at once what is queued, and waits for it until ctx ends.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	if !q.shut {
		q.shut = true
		close(q.work)
		close(q.closing)
	}
	q.mu.Unlock()
	defer q.stop()
	idle := make(chan struct{})
	go func() { q.done.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("post: mails still waiting: %w", ctx.Err())
	}
}
