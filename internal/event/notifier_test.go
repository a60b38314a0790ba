package event_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/fault"
)

// An event is told if, and only if, its change was committed.
func TestRolledBackChangeTellsNothing(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		k := start(t, d, &ledger{})
		s := subscribe(t, k.n, north, "")
		veto := errors.New("veto")
		err := d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			if err := k.out.Emit(tx, north, "rate_limit.exceeded", map[string]int{"n": 1}); err != nil {
				return err
			}
			if err := tx.Flush(); err != nil {
				return err
			}
			return veto
		})
		if !errors.Is(err, veto) {
			t.Fatal(err)
		}
		k.emit(t, d, north, 2)
		if e := next(t, s); string(e.Data) != `{"n":2}` {
			t.Errorf("told of %s", e.Data)
		}
	})
}

// Writers of two tenants on two nodes; every subscriber of either node is told
// of his tenant's events, each once, in one order that all see alike.
func TestTwoNodesTellEverythingOnceInOneOrder(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		pub := &ledger{}
		a, b := start(t, d, pub), start(t, d, pub)
		subs := []*event.Subscription{subscribe(t, a.n, north, ""), subscribe(t, b.n, north, ""),
			subscribe(t, b.n, south, "")}
		const writers, each = 6, 20
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				k, tenant := a, north
				if w%2 == 1 {
					k = b
				}
				if w%3 == 2 {
					tenant = south
				}
				for i := range each {
					k.emit(t, d, tenant, w*each+i)
				}
			})
		}
		wg.Wait()
		got := make([][]string, len(subs))
		for i, n := range []int{4 * each, 4 * each, 2 * each} {
			for range n {
				got[i] = append(got[i], number(next(t, subs[i])))
			}
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("two nodes told different orders:\n%v\n%v", got[0], got[1])
		}
		for i, list := range got {
			slices.Sort(list)
			if len(slices.Compact(list)) != len(got[i]) {
				t.Errorf("subscriber %d was told something twice", i)
			}
		}
		until(t, "the last commit's note", func() bool { all, _ := pub.count(); return all >= writers*each })
		if all, distinct := pub.count(); all != writers*each || distinct != all {
			t.Errorf("published %d, of them %d different; want %d", all, distinct, writers*each)
		}
	})
}

// A reader that comes back with the id of its last event, to any node, misses
// nothing and hears nothing twice, however often it is cut off.
func TestResume(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		pub := &ledger{}
		nodes := []*node{start(t, d, pub), start(t, d, pub)}
		first := subscribe(t, nodes[0].n, north, "")
		nodes[0].emit(t, d, north, 0)
		last := next(t, first).ID
		first.End()
		const n = 150
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 1; i <= n; i++ {
				nodes[i%2].emit(t, d, north, i)
				nodes[i%2].emit(t, d, south, i)
			}
		})
		var got []string
		for cut := 0; len(got) < n; cut++ {
			s := subscribe(t, nodes[cut%2].n, north, last)
			take := func(e *event.Event) error {
				got, last = append(got, string(e.Data)), e.ID
				return nil
			}
			if err := s.Missed(context.Background(), take); err != nil {
				t.Fatal(err)
			}
			for range rand.IntN(12) {
				if len(got) == n {
					break
				}
				take(next(t, s))
			}
			s.End()
		}
		wg.Wait()
		distinct := slices.Clone(got)
		slices.Sort(distinct)
		if len(got) != n || len(slices.Compact(distinct)) != n {
			t.Errorf("heard %d events, %d different; want %d", len(got), len(slices.Compact(distinct)), n)
		}
	})
}

// An id that is not kept, or another tenant's, resumes nothing and says so.
func TestResumeAfterUnknown(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		k := start(t, d, &ledger{})
		other := subscribe(t, k.n, south, "")
		k.emit(t, d, south, 1)
		foreign := next(t, other).ID
		for _, id := range []string{uuid.NewString(), foreign} {
			s := subscribe(t, k.n, north, id)
			if !s.Gap {
				t.Errorf("%s: no gap", id)
			}
			if err := s.Missed(context.Background(), func(e *event.Event) error { return errors.New("told of " + e.ID) }); err != nil {
				t.Error(err)
			}
		}
		if _, err := k.n.Subscribe(context.Background(), north, "x"); !fault.Is(err, fault.Invalid) {
			t.Errorf("a malformed id: %v", err)
		}
	})
}

// A reader that does not read is dropped, and holds up nobody.
func TestSlowReaderIsDropped(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		k := start(t, d, &ledger{})
		slow, quick := subscribe(t, k.n, north, ""), subscribe(t, k.n, north, "")
		list := make([]event.Emitted, 150) // twice as many are more than wait for a reader
		for i := range list {
			list[i] = event.Emitted{Tenant: north, Type: "rate_limit.exceeded", Data: map[string]int{"n": i}}
		}
		for range 2 {
			if err := d.Write(context.Background(), db.Scope{Tenant: north},
				func(tx *db.Tx) error { return k.out.EmitAll(tx, list) }); err != nil {
				t.Fatal(err)
			}
			for range list {
				next(t, quick)
			}
		}
		select {
		case <-slow.Done():
		case <-time.After(30 * time.Second):
			t.Error("the slow reader is still subscribed")
		}
	})
}

// Closing ends every subscription and refuses new ones: the server is
// stopping.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		k := start(t, d, &ledger{})
		s := subscribe(t, k.n, north, "")
		k.n.Close()
		<-s.Done()
		if _, err := k.n.Subscribe(context.Background(), north, ""); !fault.Is(err, fault.Unavailable) {
			t.Errorf("subscribed to a stopping node: %v", err)
		}
	})
}

// Events are kept for seven days.
func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		k := start(t, d, &ledger{})
		s := subscribe(t, k.n, north, "")
		k.emit(t, d, north, 1)
		recent := next(t, s).ID
		old := event.FirstID(time.Now().Add(-8 * 24 * time.Hour))
		ctx := context.Background()
		if err := d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec("INSERT INTO outbox (id, tenant_id, type, at, data, seq) VALUES ($1, $2, 'order.completed', $3, '{}', 0)", old, north, time.Now())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := k.n.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		var left []string
		if err := d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query("SELECT id FROM outbox", nil, func(r *db.Row) error { left = append(left, r.Text(0)); return nil })
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(left, []string{recent}) {
			t.Errorf("left %v, want %s", left, recent)
		}
	})
}

// An action whose due time passes is announced once, by whichever node looks.
func TestOverdue(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx, now := context.Background(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		out := event.New(func() time.Time { return now })
		n := event.NewNotifier(d, out)
		for i, due := range []time.Duration{-time.Hour, time.Minute, 2 * time.Hour} {
			status := "open"
			if i == 2 {
				status = "done"
			}
			if err := d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
				if i == 0 {
					tx.Queue("INSERT INTO tenants (id, name, slug, plan, status, timezone, currency, jurisdictions, join_policy, email_domains, created_at, "+
						"updated_at, version) VALUES ($1, 'N', 'n', 'standard', 'active', 'UTC', 'EUR', '[]', 'invite', '[]', $2, $2, 1)", []any{north, now}, nil)
				}
				tx.Queue("INSERT INTO actions (tenant_id, id, action_no, title, type, source, priority, status, due_at, evidence, created_at, updated_at, "+
					"version) VALUES ($1, $2, $3, 'Fix', 'corrective', 'manual', 'high', $4, $5, '[]', $6, $6, 1)",
					[]any{north, uuid.NewString(), uuid.NewString()[:8], status, now.Add(due), now}, nil)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 0}, {30 * time.Second, 0}, {time.Hour, 1}, {0, 1}, {3 * time.Hour, 1}} {
			now = now.Add(step.after)
			for range 2 {
				if err := n.Overdue(ctx); err != nil {
					t.Fatal(err)
				}
			}
			count := 0
			if err := d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.Query("SELECT id FROM outbox WHERE type = 'action.overdue'", nil,
					func(*db.Row) error { count++; return nil })
			}); err != nil {
				t.Fatal(err)
			}
			if count != step.want {
				t.Errorf("after %v: %d announced, want %d", step.after, count, step.want)
			}
		}
	})
}

// A lot whose end comes near is announced once, on the day it does, by
// whichever node looks; one that is recalled, or far off, is not.
func TestExpiring(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx, now := context.Background(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		n, other := event.NewNotifier(d, event.New(clock)), event.NewNotifier(d, event.New(clock))
		day := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
		item, day2 := uuid.NewString(), day(31)
		if err := d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			tx.Queue("INSERT INTO tenants (id, name, slug, plan, status, timezone, currency, jurisdictions, join_policy, email_domains, created_at, "+
				"updated_at, version) VALUES ($1, 'N', 'n', 'standard', 'active', 'UTC', 'EUR', '[]', 'invite', '[]', $2, $2, 1)",
				[]any{north, now}, nil)
			tx.Queue("INSERT INTO items (tenant_id, id, sku, name, base_uom, barcodes, tracking, has_expiry, unit_cost, capacity_units, reorder_point, "+
				"storage_class, status, on_hand, available, stock_value, low_stock, created_at, updated_at, version) "+
				"VALUES ($1, $2, 'A', 'A', 'each', '[]', 'lot', TRUE, 0, 0, 0, 'ambient', 'active', 0, 0, 0, FALSE, $3, $3, 1)",
				[]any{north, item, now}, nil)
			for i, l := range []struct {
				on     int
				status string
			}{{29, "released"}, {31, "quarantine"}, {31, "recalled"}, {90, "released"}} {
				tx.Queue("INSERT INTO lots (tenant_id, id, item_id, lot_no, expires_on, short_dated, status, created_at, updated_at, version) "+
					"VALUES ($1, $2, $3, $4, $5, FALSE, "+
					"$6, $7, $7, 1)",
					[]any{north, uuid.NewString(), item, fmt.Sprint(i), day(l.on), l.status, now}, nil)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 0}, {time.Hour, 0}, {23 * time.Hour, 1}, {time.Minute, 1}, {24 * time.Hour, 1}} {
			now = now.Add(step.after)
			for _, node := range []*event.Notifier{n, other, n} {
				if err := node.Expiring(ctx); err != nil {
					t.Fatal(err)
				}
			}
			count := 0
			if err := d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.Query("SELECT data FROM outbox WHERE type = 'lot.expiring'", nil, func(r *db.Row) error {
					if count++; !strings.Contains(r.Text(0), `"expires_on":"`+day2) {
						t.Errorf("%s", r.Text(0))
					}
					return nil
				})
			}); err != nil {
				t.Fatal(err)
			}
			if count != step.want {
				t.Errorf("on %s: %d, want %d", now, count, step.want)
			}
		}
	})
}
