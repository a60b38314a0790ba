package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/job"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
)

// kit is a database with a clock that stands until it is moved.
type kit struct {
	*testing.T
	d  *db.DB
	mu sync.Mutex
	at time.Time
}

func each(t *testing.T, f func(k *kit)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		f(&kit{T: t, d: dbtest.Open(t, o), at: time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)})
	})
}

func (k *kit) now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at
}

func (k *kit) pass(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = k.at.Add(d)
}

func (k *kit) node(kinds ...job.Kind) *job.Runner {
	return job.NewRunner(k.d, k.now, slog.New(slog.DiscardHandler), kinds...)
}

func (k *kit) add(list ...job.Job) {
	k.Helper()
	err := k.d.Write(k.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		for i := range list {
			if list[i].Tenant == "" {
				list[i].Tenant = north
			}
			list[i].Made = k.now()
		}
		return job.Add(tx, list...)
	})
	if err != nil {
		k.Fatal(err)
	}
}

// states are the jobs of a kind by key: status and tries.
func (k *kit) states(kind string) map[string]string {
	k.Helper()
	list, err := job.List(k.Context(), k.d, job.Filter{Kind: kind}, 100)
	if err != nil {
		k.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range list {
		out[s.Key] = fmt.Sprint(s.Status, " ", s.Tries)
	}
	return out
}

func (k *kit) round(r *job.Runner, kind string, want int) {
	k.Helper()
	n, err := r.Round(k.Context(), kind)
	if n != want {
		k.Errorf("%s: %d jobs were done (%v), want %d", kind, n, err, want)
	}
}

// A job is there if its change is, once by its name, and is done by one node.
func TestDoneOnce(t *testing.T) {
	each(t, func(k *kit) {
		var did atomic.Int64
		count := job.Kind{Name: "count", Run: func(context.Context, job.Job) error { did.Add(1); return nil }}
		undone := errors.New("undone")
		err := k.d.Write(k.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			if err := job.Add(tx, job.Job{Tenant: north, Kind: "count", Key: "never", Made: k.now()}); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		for i := range 30 { // more than a page
			k.add(job.Job{Kind: "count", Key: fmt.Sprint(i)}, job.Job{Kind: "count", Key: fmt.Sprint(i)})
		}
		var nodes sync.WaitGroup
		for range 4 {
			nodes.Go(func() {
				if _, err := k.node(count).Round(context.Background(), "count"); err != nil {
					t.Error(err)
				}
			})
		}
		nodes.Wait()
		k.add(job.Job{Kind: "count", Key: "7"})
		k.round(k.node(count), "count", 0)
		if did.Load() != 30 {
			t.Errorf("done %d times, want 30", did.Load())
		}
	})
}

// What fails waits, longer each time, and is given up at once when nothing can
// mend it, or when it is too old.
func TestRetries(t *testing.T) {
	each(t, func(k *kit) {
		var err error
		r := k.node(job.Kind{Name: "call", Retries: []time.Duration{time.Minute, time.Hour}, Life: 3 * time.Hour,
			Run: func(context.Context, job.Job) error { return err }})
		err = errors.New("away")
		k.add(job.Job{Kind: "call", Key: "a"})
		for _, step := range []struct {
			wait time.Duration
			want string
		}{
			{0, "pending 1"}, {59 * time.Second, "pending 1"}, {time.Second, "pending 2"}, {59 * time.Minute, "pending 2"},
			{time.Minute, "pending 3"}, {time.Hour, "pending 4"}, {time.Hour, "failed 5"}, {24 * time.Hour, "failed 5"},
		} {
			k.pass(step.wait)
			k.round(r, "call", 0)
			if got := k.states("call")["a"]; got != step.want {
				t.Fatalf("%s later: %s, want %s", step.wait, got, step.want)
			}
		}
		err = job.Stop(errors.New("no such address"))
		k.add(job.Job{Kind: "call", Key: "b"})
		k.round(r, "call", 0)
		if diff := cmp.Diff(map[string]string{"a": "failed 5", "b": "failed 1"}, k.states("call")); diff != "" {
			t.Error(diff)
		}
		err = nil
		if n, err := job.Hurry(k.Context(), k.d, k.now(), job.Filter{Kind: "call"}); n != 2 || err != nil {
			t.Errorf("%d jobs were asked for again: %v", n, err)
		}
		k.round(r, "call", 2)
	})
}

// A round ends when what is behind a kind is away, and goes round the tenants.
func TestRounds(t *testing.T) {
	each(t, func(k *kit) {
		for i := range 10 {
			k.add(job.Job{Kind: "mail", Key: fmt.Sprint("crowd", i)})
		}
		k.pass(time.Second)
		k.add(job.Job{Tenant: south, Kind: "mail", Key: "few"})
		var order []string
		kind := job.Kind{Name: "mail", Faults: 3, Run: func(_ context.Context, j job.Job) error {
			order = append(order, j.Key)
			return errors.New("away")
		}}
		k.round(k.node(kind), "mail", 0)
		if len(order) != 3 || order[0] != "few" && order[1] != "few" {
			t.Errorf("asked for %v before the round ended", order)
		}
		kind.Idle = func() bool { return true }
		k.pass(time.Hour)
		k.round(k.node(kind), "mail", 0)
		if len(order) != 3 {
			t.Error("a kind that is idle was asked for")
		}
	})
}

// What a mail server says of one mail says nothing of the next, and a mail that
// cannot be written is given up.
func TestMailed(t *testing.T) {
	each(t, func(k *kit) {
		for code, want := range map[string]string{"mail_refused": job.Pending, "mail_address": job.Failed} {
			for i := range 5 {
				k.add(job.Job{Kind: code, Key: fmt.Sprint(i)})
			}
			asked := 0
			k.round(k.node(job.Mails(job.Kind{Name: code, Run: func(context.Context, job.Job) error {
				asked++
				return job.Mailed(fault.New(fault.Invalid, code, "no"))
			}}, nil)), code, 0)
			if asked != 5 {
				t.Errorf("%s: a round ended after %d of 5", code, asked)
			}
			list, err := job.List(t.Context(), k.d, job.Filter{Kind: code}, 10)
			if err != nil || len(list) != 5 {
				t.Fatal(list, err)
			}
			for _, s := range list {
				if s.Status != want {
					t.Errorf("%s: %+v", code, s)
				}
			}
		}
	})
}

// A job whose node is not heard of is another's; what the first notes of it
// afterwards changes nothing. A node that lives keeps its job however long.
func TestDeadNode(t *testing.T) {
	each(t, func(k *kit) {
		begun, end := make(chan bool), make(chan error)
		slow := job.Kind{Name: "slow", Claim: time.Hour, Run: func(context.Context, job.Job) error {
			begun <- true
			return <-end
		}}
		quick := job.Kind{Name: "slow", Run: func(context.Context, job.Job) error { return nil }}
		k.add(job.Job{Kind: "slow", Key: "x"})
		var first sync.WaitGroup
		first.Go(func() { _, _ = k.node(slow).Round(context.Background(), "slow") })
		<-begun
		k.pass(59 * time.Minute)
		k.round(k.node(quick), "slow", 0)
		if n, err := job.Hurry(k.Context(), k.d, k.now(), job.Filter{Kind: "slow"}); n != 0 || err != nil {
			t.Errorf("%d jobs under way were hurried: %v", n, err)
		}
		k.pass(2 * time.Minute)
		k.round(k.node(quick), "slow", 1)
		end <- errors.New("too late")
		first.Wait()
		if got := k.states("slow")["x"]; got != "done 2" {
			t.Errorf("the job is %s", got)
		}

		k.add(job.Job{Kind: "long", Key: "y"})
		lost := job.Kind{Name: "long", Claim: 40 * time.Millisecond, Run: func(ctx context.Context, _ job.Job) error {
			k.pass(time.Minute) // its claim has run out, and another takes it before it is heard of
			k.round(k.node(job.Kind{Name: "long", Run: func(context.Context, job.Job) error { return nil }}), "long", 1)
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		if _, err := k.node(lost).Round(k.Context(), "long"); !errors.Is(err, job.ErrLost) {
			t.Errorf("a job that is another's ends with %v", err)
		}
	})
}

// A schedule has one job for all nodes, due again after each time; one that fails
// is tried sooner.
func TestSchedule(t *testing.T) {
	each(t, func(k *kit) {
		n, err := 0, error(nil)
		kind := job.Kind{Name: "sweep", Every: time.Hour, Run: func(context.Context, job.Job) error { n++; return err }}
		one, two := k.node(kind), k.node(kind)
		for _, step := range []struct {
			wait  time.Duration
			fails error
			want  int
		}{
			{0, nil, 0}, {time.Hour, nil, 1}, {59 * time.Minute, nil, 1}, {time.Minute, errors.New("no"), 2},
			{time.Minute, nil, 3}, {time.Minute, nil, 3}, {time.Hour, nil, 4},
		} {
			k.pass(step.wait)
			err = step.fails
			for _, node := range []*job.Runner{one, two} {
				_, _ = node.Round(k.Context(), "sweep")
			}
			if n != step.want {
				t.Fatalf("%s later it was done %d times, want %d", step.wait, n, step.want)
			}
		}
	})
}

// The first job of a new schedule is done when it is due, and not only when the
// node looks the next time, ten seconds later.
func TestFirst(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{}, 1)
		run := func(context.Context, job.Job) error { done <- struct{}{}; return nil }
		kind := job.Kind{Name: "first", Every: time.Hour, First: 10 * time.Millisecond, Run: run}
		node := job.NewRunner(dbtest.Open(t, dbtest.Options(t, e)), time.Now, slog.New(slog.DiscardHandler), kind)
		var work sync.WaitGroup
		defer work.Wait()
		defer stop()
		begin := time.Now()
		work.Go(func() { node.Work(ctx) })
		<-done
		if took := time.Since(begin); took > 9*time.Second {
			t.Errorf("it was done %s after the start", took)
		}
	})
}

// A server that stops leaves what it has begun to the next, or to its end where
// the kind says so.
func TestStop(t *testing.T) {
	each(t, func(k *kit) {
		ctx, stop := context.WithCancel(k.Context())
		k.add(job.Job{Kind: "cut", Key: "a"})
		cut := job.Kind{Name: "cut", Run: func(ctx context.Context,
			_ job.Job) error {
			stop()
			<-ctx.Done()
			return ctx.Err()
		}}
		if _, err := k.node(cut).Round(ctx, "cut"); err != nil {
			t.Error(err)
		}
		k.round(k.node(job.Kind{Name: "cut", Run: func(context.Context, job.Job) error { return nil }}), "cut", 1)

		ctx, stop = context.WithCancel(k.Context())
		k.add(job.Job{Kind: "whole", Key: "b"})
		whole := job.Kind{Name: "whole", Timeout: time.Minute,
			Run: func(ctx context.Context, _ job.Job) error { stop(); return ctx.Err() }}
		if n, err := k.node(whole).Round(ctx, "whole"); n != 1 || err != nil {
			t.Errorf("%d done, %v", n, err)
		}
	})
}

// A job that panics is a failed try, and the next goes on.
func TestPanic(t *testing.T) {
	each(t, func(k *kit) {
		k.add(job.Job{Kind: "p", Key: "a"}, job.Job{Kind: "p", Key: "b"})
		r := k.node(job.Kind{Name: "p", Run: func(_ context.Context, j job.Job) error {
			if j.Key == "a" {
				panic("oh")
			}
			return nil
		}})
		k.round(r, "p", 1)
		if diff := cmp.Diff(map[string]string{"a": "pending 1", "b": "done 1"}, k.states("p")); diff != "" {
			t.Error(diff)
		}
	})
}

// What is done is forgotten when its time is over; what waits is not.
func TestSweep(t *testing.T) {
	each(t, func(k *kit) {
		r := k.node(job.Kind{Name: "q", Keep: time.Hour, Run: func(_ context.Context, j job.Job) error {
			if j.Key == "waits" {
				return errors.New("no")
			}
			return nil
		}})
		k.add(job.Job{Kind: "q", Key: "waits"}, job.Job{Kind: "q", Key: "done"})
		k.round(r, "q", 1)
		k.pass(2 * time.Hour)
		if err := r.Sweep(k.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"waits": "pending 1"}, k.states("q")); diff != "" {
			t.Error(diff)
		}
		c, err := job.Count(k.Context(), k.d, k.now())
		if err != nil || c["q"].Pending != 1 || c["q"].DueSince == nil {
			t.Errorf("%+v %v", c, err)
		}
	})
}
