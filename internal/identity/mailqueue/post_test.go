package mailqueue

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fault"
)

func TestQueue(t *testing.T) {
	o := New(slog.Default())
	done := make(chan bool, 3)
	for range 3 {
		if err := o.Add(func(context.Context) error { done <- true; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Add(func(context.Context) error { panic("mail") }); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(t.Context()); err != nil || len(done) != 3 {
		t.Error(err, len(done))
	}
	if err := o.Add(func(context.Context) error { return nil }); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
}

// Work starts 50 to 250 ms after it was queued, and at once when the server stops:
// the bounds from below hold on any machine, the one from above by closing.
func TestQueue_delay(t *testing.T) {
	o, begin := New(slog.Default()), time.Now()
	started := make(chan time.Duration, 4)
	work := func(context.Context) error { started <- time.Since(begin); return nil }
	for range 4 {
		if err := o.Add(work); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		if after := <-started; after < leastDelay {
			t.Errorf("started after %v", after)
		}
	}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := randomDelay()
		if seen[d/(20*time.Millisecond)] = true; d < leastDelay || d >= mostDelay {
			t.Fatalf("delay %v", d)
		}
	}
	if len(seen) < 10 {
		t.Errorf("the delay takes %d of eleven steps of 20 ms", len(seen))
	}
	if err := o.Add(work); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(t.Context()); err != nil || len(started) != 1 {
		t.Error(err, len(started))
	}
}

func TestRecent(t *testing.T) {
	r, at := NewRecent(), time.Unix(1000, 0)
	if r.Wait("a", at, time.Minute) != 0 || r.Wait("b", at, time.Minute) != 0 {
		t.Error("the first has to wait")
	}
	if got := r.Wait("a", at.Add(20*time.Second), time.Minute); got != 40*time.Second {
		t.Error(got)
	}
	if r.Wait("a", at.Add(time.Minute), time.Minute) != 0 || r.Wait("a", at.Add(61*time.Second), -1) != 0 {
		t.Error("waits too long")
	}
	// A clock set back must not lock anybody out.
	if r.Wait("a", at.Add(-time.Hour), time.Minute) != 0 {
		t.Error("the clock went back")
	}
	for i := range recentRoom + 10 {
		r.Wait(strings.Repeat("k", 3)+string(rune(i)), at, time.Minute)
	}
	if len(r.seen) > recentRoom {
		t.Errorf("%d keys kept", len(r.seen))
	}
}

// A day's ration outlives a crowd that comes once a minute, and the other way
// round; what is returned may be asked for again.
func TestRation(t *testing.T) {
	r, at := NewRecent(), time.Unix(1000, 0)
	ask := func(key string, after time.Duration) time.Duration {
		return r.Ration(key, at.Add(after), 2, 24*time.Hour)
	}
	if ask("a", 0) != 0 || ask("a", time.Hour) != 0 || ask("a", 2*time.Hour) != 22*time.Hour ||
		ask("b", 2*time.Hour) != 0 {
		t.Error("not two a day")
	}
	for i := range recentRoom + 10 {
		r.Wait(strconv.Itoa(i), at.Add(2*time.Hour), time.Minute)
	}
	if ask("a", 3*time.Hour) != 21*time.Hour {
		t.Error("a crowd's minutes end a day")
	}
	if r.Return("a", at); ask("a", 3*time.Hour) != 0 || ask("a", 3*time.Hour) != 22*time.Hour {
		t.Error("what was returned is lost")
	}
	if ask("a", -time.Hour) != 0 {
		t.Error("the clock went back")
	}
	r.Wait("w", at, time.Minute)
	for i := range recentRoom + 10 {
		ask(strconv.Itoa(i), 4*time.Hour)
	}
	if len(r.rations) > recentRoom || r.Wait("w", at, time.Minute) == 0 {
		t.Errorf("%d rations kept", len(r.rations))
	}
}
