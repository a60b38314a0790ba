package identity

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
)

// outbox runs mail work off the request path, so that an answer takes the same
// time whether or not an address is known, and a slow mail server holds up
// nobody.
type outbox struct {
	work chan func(context.Context) error
	log  *slog.Logger
	done sync.WaitGroup
	mu   sync.RWMutex
	shut bool
	stop context.CancelFunc
}

const (
	outboxWorkers = 2
	outboxRoom    = 512
	mailTimeout   = 30 * time.Second
)

func newOutbox(log *slog.Logger) *outbox {
	ctx, stop := context.WithCancel(context.Background())
	o := &outbox{work: make(chan func(context.Context) error, outboxRoom), log: log, stop: stop}
	for range outboxWorkers {
		o.done.Go(func() { o.run(ctx) })
	}
	return o
}

func (o *outbox) run(ctx context.Context) {
	for f := range o.work {
		o.one(ctx, f)
	}
}

func (o *outbox) one(ctx context.Context, f func(context.Context) error) {
	defer func() {
		if p := recover(); p != nil {
			o.log.Error("mail work panicked", "panic", fmt.Sprint(p))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	if err := f(ctx); err != nil {
		o.log.Error("mail not sent", "error", err)
	}
}

// add queues f; a full queue is fault.Unavailable.
func (o *outbox) add(f func(context.Context) error) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if !o.shut {
		select {
		case o.work <- f:
			return nil
		default:
		}
	}
	e := fault.New(fault.Unavailable, "unexpected_failure", "Mail cannot be sent right now; try again")
	e.RetryAfter = 5 * time.Second
	return e
}

// close waits for what is queued, until ctx ends.
func (o *outbox) close(ctx context.Context) error {
	o.mu.Lock()
	if !o.shut {
		o.shut = true
		close(o.work)
	}
	o.mu.Unlock()
	defer o.stop()
	idle := make(chan struct{})
	go func() { o.done.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("identity: mails still waiting: %w", ctx.Err())
	}
}

// send queues one letter.
func (s *Service) send(l letter.Letter) error {
	l.Site = s.cfg.SiteURL
	return s.outbox.add(func(ctx context.Context) error { return s.deliver(ctx, l) })
}

func (s *Service) deliver(ctx context.Context, l letter.Letter) error {
	l.Site = s.cfg.SiteURL
	m, err := l.Message()
	if err != nil {
		return err
	}
	if err := s.mailer.Send(ctx, m); err != nil {
		return fmt.Errorf("identity: send %s: %w", l.Kind, err)
	}
	return nil
}

// recent remembers when something was last asked for, whoever it concerns: a
// known and an unknown address are told to wait alike.
type recent struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

const recentRoom = 20000

func newRecent() *recent { return &recent{seen: map[string]time.Time{}} }

// wait returns how long the caller must wait, 0 when it may go ahead (which is
// then noted).
func (r *recent) wait(key string, now time.Time, interval time.Duration) time.Duration {
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

// throttle refuses a second mail of one purpose to one address within the
// mail interval.
func (s *Service) throttle(purpose, email string) error {
	left := s.recent.wait(purpose+"|"+email, s.now(), s.cfg.MailInterval)
	if left <= 0 {
		return nil
	}
	secs := int((left + time.Second - 1) / time.Second)
	f := fault.New(fault.Limited, "over_email_send_rate_limit", "For security purposes, you can only request this after %d seconds.", secs)
	f.RetryAfter = time.Duration(secs) * time.Second
	return f
}
