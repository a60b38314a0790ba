package post

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// Bell does one piece of work whenever it is rung, once at a time, off the
// request path. Rung again meanwhile, it does it once more. The work itself has
// to know what is left to do: what a Bell forgets, somebody else remembers.
type Bell struct {
	rung chan struct{}
	work func(context.Context) error
	log  *slog.Logger
	stop context.CancelFunc
	done sync.WaitGroup
}

// NewBell starts waiting for Ring.
func NewBell(log *slog.Logger, work func(context.Context) error) *Bell {
	ctx, stop := context.WithCancel(context.Background())
	b := &Bell{rung: make(chan struct{}, 1), work: work, log: log, stop: stop}
	b.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-b.rung:
				b.one(ctx)
			}
		}
	})
	return b
}

// Ring asks for the work and does not wait for it.
func (b *Bell) Ring() {
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

func (b *Bell) one(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			b.log.Error("mail work panicked", "panic", fmt.Sprint(p))
		}
	}()
	if err := b.work(ctx); err != nil && ctx.Err() == nil {
		b.log.Warn("mails not sent; they will be tried again", "error", err)
	}
}

// Close ends the context of the work and waits for it, until ctx ends.
func (b *Bell) Close(ctx context.Context) error {
	b.stop()
	idle := make(chan struct{})
	go func() { b.done.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("post: a mail is still being sent: %w", ctx.Err())
	}
}
