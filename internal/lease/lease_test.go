package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func do(t *testing.T, l *Lease, f func(context.Context) error) bool {
	t.Helper()
	held, err := l.Do(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func nothing(context.Context) error { return nil }

// While one node works the other does not; afterwards it may.
func TestOneAtATime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d := dbtest.Open(t, o)
		one, two := New(d, "work"), New(d, "work")
		other := New(d, "other work")
		worked := do(t, one, func(context.Context) error {
			for _, l := range []*Lease{two, one} {
				if do(t, l, nothing) {
					t.Error("two work at once")
				}
			}
			if !do(t, other, nothing) {
				t.Error("another piece of work waits for this one")
			}
			return nil
		})
		if !worked || !do(t, two, nothing) || !do(t, one, nothing) {
			t.Error("a lease was not given back")
		}
		if _, err := one.Do(context.Background(), func(context.Context) error { return errors.New("no") }); err == nil || !do(t, two, nothing) {
			t.Errorf("work that fails says so and gives the lease back: %v", err)
		}
	})
}

// A node that beats keeps its lease however long it works. One whose beat
// stands still is followed by another, and takes nothing away from that one
// when it comes back.
func TestDeadHolder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d := dbtest.Open(t, o)
		one, two := New(d, "work"), New(d, "work")
		one.beat = time.Hour // only as told
		watched := func() { two.at = time.Now().Add(-time.Hour) }
		do(t, one, func(ctx context.Context) error {
			for range 3 {
				if do(t, two, nothing) {
					t.Error("the lease of a node that lives was taken")
				}
				watched()
				if ok, err := one.mine(ctx); err != nil || !ok {
					t.Errorf("a beat is lost: %v", err)
				}
			}
			do(t, two, nothing)
			watched()
			taken := do(t, two, func(context.Context) error {
				if ok, err := one.mine(ctx); err != nil || ok {
					t.Errorf("two nodes hold the lease: %v", err)
				}
				one.release(ctx)
				if do(t, New(d, "work"), nothing) {
					t.Error("the node that came back gave away what is another's")
				}
				return nil
			})
			if !taken {
				t.Error("the lease of a dead node was not taken")
			}
			return nil
		})
		if !do(t, one, nothing) {
			t.Error("the lease is lost for good")
		}
	})
}

// Work whose lease another node has taken ends.
func TestLost(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d := dbtest.Open(t, o)
		one, two := New(d, "work"), New(d, "work")
		one.beat, two.dead = 300*time.Millisecond, 0
		var cause atomic.Value
		do(t, one, func(ctx context.Context) error {
			two.seen, two.at = 1, time.Now().Add(-time.Minute)
			if !do(t, two, nothing) {
				t.Error("not taken")
			}
			select {
			case <-ctx.Done():
				cause.Store(context.Cause(ctx))
			case <-time.After(30 * time.Second):
			}
			return nil
		})
		if err, _ := cause.Load().(error); !errors.Is(err, ErrLost) {
			t.Errorf("the work ended with %v", err)
		}
	})
}
