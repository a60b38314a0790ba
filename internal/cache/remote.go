package cache

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Remote remembers one value that somebody else has to be asked for. It is
// asked for once, however many want it: no lock is held meanwhile, and each of
// them waits no longer than his context lasts. A failure is remembered too, for
// five seconds, so that not everyone in turn waits for who does not answer. Set
// Life before its first use.
type Remote[T any] struct {
	Life time.Duration // of a value

	mu     sync.Mutex
	last   *reply[T]
	asking *reply[T]
}

type reply[T any] struct {
	done  chan struct{}
	value T
	err   error
	until time.Time
}

// askFor bounds one asking, which outlives the caller who began it; tryAgain is
// how soon who did not answer is asked again.
const askFor, tryAgain = 15 * time.Second, 5 * time.Second

// Get returns the value, asking for it when none is remembered. It fails as ask
// did, or with the context's error.
func (r *Remote[T]) Get(ctx context.Context, now func() time.Time, ask func(context.Context) (T, error)) (T, error) {
	r.mu.Lock()
	a := r.asking
	switch {
	case a != nil:
	case r.last != nil && now().Before(r.last.until):
		a = r.last
	default:
		a = &reply[T]{done: make(chan struct{})}
		r.asking = a
		go r.runRemote(context.WithoutCancel(ctx), a, now, ask)
	}
	r.mu.Unlock()
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("cache: waiting for an answer: %w", ctx.Err())
	}
}

func (r *Remote[T]) runRemote(
	ctx context.Context, a *reply[T], now func() time.Time, ask func(context.Context) (T, error),
) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	defer func() {
		// What came from outside made it panic; it must not end the process.
		if p := recover(); p != nil {
			a.err = fmt.Errorf("cache: asking panicked: %v", p)
		}
		life := r.Life
		if a.err != nil {
			life = tryAgain
		}
		a.until = now().Add(life)
		r.mu.Lock()
		r.last, r.asking = a, nil
		r.mu.Unlock()
		close(a.done)
	}()
	a.value, a.err = ask(ctx)
}
