package event

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/backoff"
	"holdfast/internal/db"
)

// How often the outbox is looked at, besides when this node's own commits
// wake the notifier: other nodes' commits do not.
const (
	pollBusy  = 200 * time.Millisecond
	pollIdle  = time.Second
	passGap   = 20 * time.Millisecond // between two passes, so that a burst shares one
	mostPause = 10 * time.Second      // between two passes while they fail
	passRows  = 500
	retention = 7 * 24 * time.Hour
)

// Publish is called with events in order, in the transaction that gives them
// their place: once for each event in the whole deployment.
type Publish func(tx *db.Tx, events []*Event) error

// Notifier is a node's reader of the outbox: it publishes what was committed
// and tells this node's subscribers what any node has published.
type Notifier struct {
	db      *db.DB
	outbox  *Outbox
	publish []Publish
	hub     hub
	looked  atomic.Pointer[string] // the day Expiring has done
}

// NewNotifier returns the node's notifier. publish may be empty.
func NewNotifier(d *db.DB, o *Outbox, publish ...Publish) *Notifier {
	return &Notifier{db: d, outbox: o, publish: publish, hub: hub{tenants: map[string]map[*Subscription]bool{}}}
}

// Run publishes and tells until ctx ends; then it ends all subscriptions.
func (n *Notifier) Run(ctx context.Context) {
	defer n.Close()
	var clock sync.WaitGroup
	clock.Go(func() { n.watchClock(ctx) })
	defer clock.Wait()
	wait := pollBusy
	passes := backoff.New(nil, "publish events", pollIdle, mostPause)
	for passes.Wait(ctx) {
		found := false
		err := recoverPanic(func() (err error) { found, err = n.publishNew(ctx); return err })
		passes.Note(ctx, err)
		switch {
		case err != nil:
			continue
		case found:
			wait = pollBusy
		default:
			wait = min(wait*2, pollIdle)
		}
		n.waitForPass(ctx, wait)
	}
}

// waitForPass waits for the next pass: until this node commits an event, or wait is
// over.
func (n *Notifier) waitForPass(ctx context.Context, wait time.Duration) {
	gap := time.NewTimer(passGap)
	defer gap.Stop()
	select {
	case <-ctx.Done():
		return
	case <-gap.C:
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-n.outbox.wake:
	case <-t.C:
	}
}

// recoverPanic makes an error of a panic.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("event: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// publishNew publishes what is new and tells the subscribers. It reports whether it
// found anything.
func (n *Notifier) publishNew(ctx context.Context) (bool, error) {
	found := false
	for {
		head, fresh, err := n.lookForNew(ctx)
		if err != nil {
			return found, err
		}
		if fresh {
			if head, err = n.numberEvents(ctx); err != nil {
				return found, err
			}
		}
		told, err := n.notifySubscribers(ctx, head)
		if err != nil {
			return found, err
		}
		found = found || fresh || told
		if !fresh {
			return found, nil
		}
	}
}

// headText reads the last place given out.
const headText = "SELECT seq FROM outbox_head WHERE one = 1"

// lookForNew reads the last place given out and whether an event has none yet.
func (n *Notifier) lookForNew(ctx context.Context) (head int64, fresh bool, err error) {
	err = n.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		tx.Queue("SELECT id FROM outbox WHERE seq IS NULL LIMIT 1", nil, func(*db.Row) error { fresh = true; return nil })
		return tx.Last().One(headText, nil, func(r *db.Row) error { head = r.Int(0); return nil })
	})
	return head, fresh, err
}

// nextInTurn takes the oldest events, one of each tenant, then the second of
// each, and so on: a tenant's flood does not hold up the others. It looks at
// the oldest 20,000 only, to stay quick when there are millions.
const nextInTurn = "id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY tenant_id ORDER BY id) AS turn FROM " +
	"(SELECT id, tenant_id FROM outbox WHERE seq IS NULL ORDER BY id LIMIT 20000) AS oldest) AS t ORDER BY turn, id LIMIT $1) ORDER BY id"

const numberEventsSQL = `
	UPDATE outbox
	SET seq = x.n + $2
	FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM outbox WHERE id IN {ids $1}) AS x
	WHERE outbox.id = x.id`

// numberEvents gives the next events their places, under the lock of outbox_head:
// places become visible in order, so a reader that has seen one has seen all
// before it.
func (n *Notifier) numberEvents(ctx context.Context) (head int64, err error) {
	err = n.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		if err := tx.One(headText+tx.DB().ForUpdate(), nil, func(r *db.Row) error {
			head = r.Int(0)
			return nil
		}); err != nil {
			return err
		}
		events, err := listEvents(tx, nextInTurn, passRows)
		if err != nil || len(events) == 0 {
			return err
		}
		ids := make([]string, len(events))
		for i, e := range events {
			ids[i], e.Seq = e.ID, head+int64(i)+1
		}
		tx.Queue(numberEventsSQL, []any{jsonList(ids), head}, nil)
		head += int64(len(events))
		tx.Queue("UPDATE outbox_head SET seq = $1 WHERE one = 1", []any{head}, nil)
		for _, p := range n.publish {
			if err := p(tx, events); err != nil {
				return err
			}
		}
		return nil
	})
	return head, err
}

func listEvents(tx *db.Tx, where string, args ...any) ([]*Event, error) {
	var out []*Event
	err := tx.Query(db.FillWords(`
		SELECT {event columns}
		FROM outbox
		WHERE {where}`, "{event columns}", eventColumns, "{where}", where), args, func(r *db.Row) error {
		e, err := readEvent(r)
		out = append(out, e)
		return err
	})
	return out, err
}

// notifySubscribers brings this node's subscribers up to head and reports whether there
// was anything to tell.
func (n *Notifier) notifySubscribers(ctx context.Context, head int64) (told bool, err error) {
	for {
		from, done := n.hub.unsentFrom(head)
		if done {
			return told, nil
		}
		var events []*Event
		err := n.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
			events, err = listEvents(tx, "seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3", from, head, passRows)
			return err
		})
		if err != nil {
			return told, err
		}
		upto := head // fewer rows than asked for: these are all
		if len(events) == passRows {
			upto = events[len(events)-1].Seq
		}
		n.hub.sendEvents(events, upto)
		told = true
	}
}

// Close ends every subscription and refuses new ones.
func (n *Notifier) Close() { n.hub.closeAll() }

// Sweep removes events older than seven days.
func (n *Notifier) Sweep(ctx context.Context) error {
	before := FirstID(n.outbox.now().Add(-retention))
	for {
		var gone int64
		err := n.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
			gone, err = tx.Exec(`
				DELETE FROM outbox
				WHERE id IN (
					SELECT id
					FROM outbox
					WHERE id < $1
						AND seq IS NOT NULL
					ORDER BY id
					LIMIT 1000
				)`, before)
			return err
		})
		if err != nil || gone < 1000 {
			return err
		}
	}
}
