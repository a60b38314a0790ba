package backoff

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Work that fails for an hour is tried at growing intervals up to the longest, and
// leaves one line in the log; one more says that it succeeds again.
func TestAttemptsGrowRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		b := New(slog.New(slog.NewTextHandler(&lines, nil)), "count sheep", time.Second, time.Minute)
		attempts, begin := 0, time.Now()
		last := begin
		for time.Since(begin) < time.Hour {
			if !b.IsReady() {
				t.Fatal("not ready after the wait")
			}
			least := min(time.Second<<min(max(attempts-1, 0), 6), time.Minute)
			if gap := time.Since(last); attempts > 0 && (gap < least || gap > least*5/4+1) {
				t.Errorf("attempt %d after %v, want %v and up to a quarter more", attempts, gap, least)
			}
			attempts, last = attempts+1, time.Now()
			b.Note(t.Context(), errors.New(strings.Repeat("long ", 10_000)))
			if b.IsReady() || !b.IsFailing() {
				t.Fatal("ready at once after a failure")
			}
			b.Wait(t.Context())
		}
		if attempts < 50 || attempts > 70 {
			t.Errorf("%d attempts in an hour", attempts)
		}
		b.Note(t.Context(), nil)
		b.Note(t.Context(), nil)
		if n := strings.Count(lines.String(), "\n"); n != 2 || lines.Len() > 2000 ||
			!strings.Contains(lines.String(), "succeeds again") {
			t.Errorf("%d lines, %d bytes", n, lines.Len())
		}
		if !b.IsReady() || b.IsFailing() {
			t.Error("still failing after a success")
		}
	})
}

// What fails because it is ended has not failed, and nobody waits for it.
func TestEndIsNoFailure(t *testing.T) {
	var lines bytes.Buffer
	b := New(slog.New(slog.NewTextHandler(&lines, nil)), "count sheep", time.Hour, time.Hour)
	ended, end := context.WithCancel(t.Context())
	end()
	b.Note(ended, context.Canceled)
	if b.IsFailing() || lines.Len() > 0 {
		t.Errorf("failing %v, log %s", b.IsFailing(), lines.String())
	}
	b.Note(t.Context(), errors.New("away"))
	if b.Wait(ended) {
		t.Error("waited for an hour")
	}
}
