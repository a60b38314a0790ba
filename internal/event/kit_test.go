package event_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
)

// fullCatalog is the product's catalog with the records of webhooks in it.
func fullCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c := catalog.Default()
	if _, ok := c.Get("webhooks"); ok {
		return c
	}
	c, err := catalog.New(append(catalog.Resources(), catalog.EventResources()...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// each runs f on a migrated database of both engines.
func each(t *testing.T, f func(t *testing.T, d *db.DB)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		o.PoolSize = 6
		f(t, dbtest.Open(t, o))
	})
}

// node is one server's share of events.
type node struct {
	out *event.Outbox
	n   *event.Notifier
	pub *ledger
}

// ledger notes what was published, by all nodes that share it.
type ledger struct {
	mu  sync.Mutex
	ids []string
}

func (l *ledger) take(tx *db.Tx, events []*event.Event) error {
	tx.After(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, e := range events {
			l.ids = append(l.ids, e.ID)
		}
	})
	return nil
}

func (l *ledger) count() (all, distinct int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]bool{}
	for _, id := range l.ids {
		seen[id] = true
	}
	return len(l.ids), len(seen)
}

// start runs a node until the test ends.
func start(t testing.TB, d *db.DB, pub *ledger) *node {
	t.Helper()
	out := event.New(time.Now)
	k := &node{out: out, n: event.NewNotifier(d, out, pub.take), pub: pub}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { k.n.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return k
}

// emit writes one event with a number in it.
func (k *node) emit(t testing.TB, d *db.DB, tenant string, i int) {
	t.Helper()
	if err := d.Write(context.Background(), db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		return k.out.Emit(tx, tenant, "rate_limit.exceeded", map[string]int{"n": i})
	}); err != nil {
		t.Error(err)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited 10 s for %s", what)
		}
	}
}

// next is the next live event, or a failure.
func next(t testing.TB, s *event.Subscription) *event.Event {
	t.Helper()
	select {
	case e := <-s.Live():
		return e
	case <-s.Done():
		t.Fatal("the subscription ended")
	case <-time.After(30 * time.Second):
		t.Fatal("no event within 5 s")
	}
	return nil
}

func subscribe(t testing.TB, n *event.Notifier, tenant, after string) *event.Subscription {
	t.Helper()
	s, err := n.Subscribe(context.Background(), tenant, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.End)
	return s
}

func number(e *event.Event) string { return fmt.Sprintf("%s %s", e.Tenant[35:], e.Data) }
