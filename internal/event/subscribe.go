package event

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// Bounds of subscriptions.
const (
	buffered  = 256   // events a subscriber may lag behind before it is dropped
	perTenant = 500   // subscriptions of one tenant on one node
	perNode   = 20000 // subscriptions on one node
)

// Subscription receives a tenant's events as they are published.
type Subscription struct {
	hub    *hub
	db     *db.DB
	tenant string
	from   int64 // place of the last event the reader has, when it said so
	upto   int64 // place at which live events begin
	live   chan *Event
	done   chan struct{}
	once   sync.Once

	// Gap says that the event the reader named is not kept any more: it has
	// missed some and should read its records afresh.
	Gap bool
}

// Subscribe follows a tenant's events: those after the event with id after,
// or, when it is "", those to come. End must be called. It fails with
// fault.Limited over 500 subscriptions of a tenant and fault.Unavailable while
// the node stops.
func (n *Notifier) Subscribe(ctx context.Context, tenant, after string) (*Subscription, error) {
	s := &Subscription{hub: &n.hub, db: n.db, tenant: tenant, live: make(chan *Event, buffered), done: make(chan struct{})}
	if after != "" {
		if err := s.findPlace(ctx, after); err != nil {
			return nil, err
		}
	}
	if err := n.hub.addSubscription(ctx, n, s); err != nil {
		return nil, err
	}
	return s, nil
}

// findPlace finds the place of the last event the reader has.
func (s *Subscription) findPlace(ctx context.Context, id string) error {
	if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return fault.New(fault.Invalid, "22P02", "Last-Event-ID must be the id of an event, not %q",
			fault.Clip(id, 60)).At("Last-Event-ID", "not an event's id")
	}
	s.Gap = true
	return s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT seq
			FROM outbox
			WHERE id = $1
				AND tenant_id = $2
				AND seq IS NOT NULL`, []any{id, s.tenant},
			func(r *db.Row) error {
				s.from, s.Gap = r.Int(0), false
				return nil
			})
	})
}

// Missed calls each with the events between the one the reader has and the
// live ones, in order. It is called once, before Live.
func (s *Subscription) Missed(ctx context.Context, each func(*Event) error) error {
	if s.Gap {
		return nil
	}
	for from := s.from; from > 0 && from < s.upto; {
		var page []*Event
		err := s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
			page, err = listEvents(tx, "tenant_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4", s.tenant, from, s.upto,
				passRows)
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := each(e); err != nil {
				return err
			}
			from = e.Seq
		}
		if len(page) < passRows {
			return nil
		}
	}
	return nil
}

// Live carries the events published since the subscription began.
func (s *Subscription) Live() <-chan *Event { return s.live }

// Done is closed when the subscription has ended: by End, because the reader
// fell too far behind, or because the node stops.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// End ends the subscription.
func (s *Subscription) End() {
	s.hub.removeSubscription(s)
	s.endOnce()
}

func (s *Subscription) endOnce() { s.once.Do(func() { close(s.done) }) }

// hub is this node's subscriptions and the place they have been told up to.
type hub struct {
	mu      sync.Mutex
	tenants map[string]map[*Subscription]bool
	count   int
	cursor  int64
	primed  bool
	closed  bool
}

// addSubscription registers a subscription. From here on it gets every event beyond upto.
func (h *hub) addSubscription(ctx context.Context, n *Notifier, s *Subscription) error {
	if err := h.primeCursor(ctx, n); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		f := fault.New(fault.Unavailable, "57P01", "the server is stopping")
		f.RetryAfter = time.Second
		return f
	}
	if len(h.tenants[s.tenant]) >= perTenant || h.count >= perNode {
		f := fault.New(fault.Limited, "53300", "too many event streams are open: close some first")
		f.RetryAfter = 10 * time.Second
		return f
	}
	if h.tenants[s.tenant] == nil {
		h.tenants[s.tenant] = map[*Subscription]bool{}
	}
	h.tenants[s.tenant][s] = true
	h.count++
	s.upto = h.cursor
	return nil
}

// primeCursor sets the cursor of a node that has not looked yet, or its first
// subscriber would be told the whole outbox.
func (h *hub) primeCursor(ctx context.Context, n *Notifier) error {
	h.mu.Lock()
	ready := h.primed
	h.mu.Unlock()
	if ready {
		return nil
	}
	head, _, err := n.lookForNew(ctx)
	if err != nil {
		return err
	}
	h.unsentFrom(head)
	return nil
}

// unsentFrom returns where telling goes on, or that nothing is to be told. With
// nobody listening there is nothing to read.
func (h *hub) unsentFrom(head int64) (from int64, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == 0 || !h.primed {
		h.cursor, h.primed = max(h.cursor, head), true
	}
	return h.cursor, h.cursor >= head
}

// sendEvents hands events to their tenants' subscribers and moves the cursor. A
// subscriber whose buffer is full is dropped: it comes back with the id of
// the last event it has.
func (h *hub) sendEvents(events []*Event, upto int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		for s := range h.tenants[e.Tenant] {
			if e.Seq <= s.from || e.Seq <= s.upto {
				continue
			}
			select {
			case s.live <- e:
			default:
				h.dropSubscription(s)
			}
		}
	}
	h.cursor = max(h.cursor, upto)
}

func (h *hub) dropSubscription(s *Subscription) {
	if h.tenants[s.tenant][s] {
		delete(h.tenants[s.tenant], s)
		if len(h.tenants[s.tenant]) == 0 {
			delete(h.tenants, s.tenant)
		}
		h.count--
	}
	s.endOnce()
}

func (h *hub) removeSubscription(s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropSubscription(s)
}

func (h *hub) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, subs := range h.tenants {
		for s := range subs {
			h.dropSubscription(s)
		}
	}
}

func jsonList(ids []string) string { return query.List(ids) }
