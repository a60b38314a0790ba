// Package lease lets one node of a fleet at a time do a piece of work. No
// clocks are compared: whoever holds a lease beats in its row, and a lease
// whose beat stands still for long enough, by the other's own watch, is taken
// over.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
)

// Lease is one node's end of a named lease. It is safe for concurrent use; one
// call of Do at a time works.
type Lease struct {
	d    *db.DB
	name string
	node string
	beat time.Duration
	dead time.Duration

	work sync.Mutex
	seen int64     // the other's beat as last read
	at   time.Time // when it was first read
}

// New returns a node's end of the lease with a name.
func New(d *db.DB, name string) *Lease {
	return &Lease{d: d, name: name, node: uuid.NewString(), beat: db.BeatEvery, dead: db.DeadAfter}
}

func everywhere() db.Scope { return db.Scope{All: true} }

// ErrLost ends the context of work whose lease another node has taken.
var ErrLost = errors.New("lease: taken by another node")

// Do runs f if this node has the lease or can take it, and gives it back
// afterwards. It returns false at once while another node works. The context
// of f ends when the lease is lost.
func (l *Lease) Do(ctx context.Context, f func(context.Context) error) (held bool, err error) {
	if !l.work.TryLock() {
		return false, nil
	}
	defer l.work.Unlock()
	if held, err = l.take(ctx); err != nil || !held {
		return false, err
	}
	defer l.release(context.WithoutCancel(ctx))
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	wg.Go(func() { l.live(work, cancel) })
	err = f(work)
	cancel(nil)
	wg.Wait()
	return true, err
}

// take makes this node the holder where there is none, or where the holder's
// beat has stood still.
func (l *Lease) take(ctx context.Context) (held bool, err error) {
	err = l.d.Write(ctx, everywhere(), func(tx *db.Tx) error {
		held = false
		tx.Queue("INSERT INTO leases (name, holder, beat) VALUES ($1, NULL, 0) ON CONFLICT (name) DO NOTHING", []any{l.name}, nil)
		free, beat := false, int64(0)
		if err := tx.One("SELECT holder, beat FROM leases WHERE name = $1"+tx.DB().ForUpdate(), []any{l.name}, func(r *db.Row) error {
			free, beat = r.Null(0), r.Int(1)
			return nil
		}); err != nil {
			return err
		}
		if beat != l.seen || l.at.IsZero() {
			l.seen, l.at = beat, time.Now()
		}
		if held = free || time.Since(l.at) > l.dead; held {
			tx.Queue("UPDATE leases SET holder = $2, beat = beat + 1 WHERE name = $1", []any{l.name, l.node}, nil)
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("lease: take %s: %w", l.name, err)
	}
	return held, nil
}

// live beats until the work ends, or ends it when the lease is another's. A
// database that does not answer for as long as others wait counts as lost.
func (l *Lease) live(ctx context.Context, lost context.CancelCauseFunc) {
	t := time.NewTicker(l.beat)
	defer t.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		mine, err := l.mine(ctx)
		switch {
		case err == nil && mine:
			last = time.Now()
		case err == nil || time.Since(last) > l.dead-l.beat:
			lost(ErrLost)
			return
		}
	}
}

func (l *Lease) mine(ctx context.Context) (ok bool, err error) {
	err = l.d.Write(ctx, everywhere(), func(tx *db.Tx) error {
		n, err := tx.Exec("UPDATE leases SET beat = beat + 1 WHERE name = $1 AND holder = $2", l.name, l.node)
		ok = n == 1
		return err
	})
	return ok, err
}

// release gives the lease back; a node that cannot is waited out.
func (l *Lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = l.d.Write(ctx, everywhere(), func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE leases SET holder = NULL, beat = beat + 1 WHERE name = $1 AND holder = $2", l.name, l.node)
		return err
	})
}
