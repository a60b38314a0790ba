package password

import (
	"context"
	"testing"
	"time"
)

func TestShare_crowded(t *testing.T) {
	var answered int64
	s := share{answered: func() int64 { return answered }}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		name     string
		at       time.Duration
		answered int64 // since the step before
		hashing  int64
		want     bool
	}{
		{"nothing yet", 0, 0, 0, false},
		{"sign-ins alone", 100 * time.Millisecond, 10, 10, false},
		{"a probe now and then", 200 * time.Millisecond, 11, 10, false},
		{"two requests beside", 300 * time.Millisecond, 12, 10, true},
		{"not looked again so soon", 350 * time.Millisecond, 0, 0, true},
		{"gone again", 450 * time.Millisecond, 5, 5, false},
		{"as many in a minute are few", time.Minute, 100, 0, false},
		{"hashes whose answers are on their way", time.Minute + time.Second, 0, 5, false},
		{"the answers", time.Minute + 2*time.Second, 5, 0, false},
	} {
		answered += step.answered
		s.hashing.Add(step.hashing)
		if got := s.isCrowded(start.Add(step.at)); got != step.want {
			t.Errorf("%s: %v", step.name, got)
		}
	}
	if alone := (&share{}); alone.isCrowded(start) {
		t.Error("where no requests are answered, others are served")
	}
}

// While others are served half of the hashes run; when they have gone, those who
// wait get the other half.
func TestHasher_shares(t *testing.T) {
	h := &Hasher{slots: make(chan struct{}, 1), spare: make(chan struct{}, 1), queue: 1}
	h.share.answered = func() int64 { return 1 << 40 }
	h.share.looked, h.share.busy = time.Now().Add(time.Hour), true // and not looked at again
	ctx := context.Background()
	first, err := h.acquireSlot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer first()
	got := make(chan error)
	go func() {
		release, err := h.acquireSlot(ctx)
		if err == nil {
			release()
		}
		got <- err
	}()
	for h.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-got:
		t.Fatalf("a second hash beside others: %v", err)
	case <-time.After(3 * lookAgain):
	}
	h.share.mu.Lock()
	h.share.busy = false
	h.share.mu.Unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
}
