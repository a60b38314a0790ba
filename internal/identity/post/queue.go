// Package post takes mail work off the request path and spaces it out.
package post

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"holdfast/internal/fault"
)

// Queue runs mail work off the request path, so that an answer takes the same
// time whether or not an address is known, and a slow mail server holds up
// nobody.
type Queue struct {
	work chan func(context.Context) error
	log  *slog.Logger
	done sync.WaitGroup
	mu   sync.RWMutex
	shut bool
	stop context.CancelFunc
}

const (
	workers = 2
	room    = 512
	timeout = 30 * time.Second
)

// New starts the workers.
func New(log *slog.Logger) *Queue {
	ctx, stop := context.WithCancel(context.Background())
	q := &Queue{work: make(chan func(context.Context) error, room), log: log, stop: stop}
	for range workers {
		q.done.Go(func() { q.run(ctx) })
	}
	return q
}

func (q *Queue) run(ctx context.Context) {
	for f := range q.work {
		q.one(ctx, f)
	}
}

func (q *Queue) one(ctx context.Context, f func(context.Context) error) {
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
	q.mu.RLock()
	defer q.mu.RUnlock()
	if !q.shut {
		select {
		case q.work <- f:
			return nil
		default:
		}
	}
	e := fault.New(fault.Unavailable, "unexpected_failure", "Mail cannot be sent right now; try again")
	e.RetryAfter = 5 * time.Second
	return e
}

// Close waits for what is queued, until ctx ends.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	if !q.shut {
		q.shut = true
		close(q.work)
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
