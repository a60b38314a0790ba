package post

import (
	"context"
	"log/slog"
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
