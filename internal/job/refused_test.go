package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/job"
	"holdfast/internal/testkit/dbtest"
)

// lineBuffer is a log that several goroutines write.
type lineBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lineBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lineBuffer) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// A database that takes no writes, or does not answer, is asked a few times in
// seconds and not thousands of times, however often new work is announced. The
// log says once that the kind cannot go on, and once that it can; then all jobs
// are done.
func TestDatabaseRefusesWrites(t *testing.T) {
	for name, refuse := range map[string]func(t *testing.T, d *db.DB, o db.Options) (allow func()){
		"read-only": func(t *testing.T, d *db.DB, o db.Options) func() { return dbtest.RefuseWrites(t, d, o) },
		"locked":    func(t *testing.T, d *db.DB, o db.Options) func() { return dbtest.LockWrites(t, d, o, "jobs") },
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, o db.Options) {
				var attempts, did atomic.Int64
				o.Observe = func(_ db.Scope, write bool, _ int) {
					if write {
						attempts.Add(1)
					}
				}
				k := &kit{T: t, d: dbtest.Open(t, o), at: time.Now().Add(-time.Hour)}
				for i := range 50 {
					k.add(job.Job{Kind: "count", Key: fmt.Sprint(i)})
				}
				k.pass(time.Hour)
				allow := refuse(t, k.d, o)

				var log lineBuffer
				run := func(context.Context, job.Job) error { did.Add(1); return nil }
				node := job.NewRunner(k.d, time.Now, slog.New(slog.NewTextHandler(&log, nil)), job.Kind{Name: "count", Run: run})
				ctx, stop := context.WithCancel(t.Context())
				var work sync.WaitGroup
				defer work.Wait()
				defer stop()
				attempts.Store(0)
				work.Go(func() { node.Work(ctx) })
				for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
					node.Ring("count")
				}
				if n := attempts.Load(); n > 30 {
					t.Errorf("%d attempts to write in 3 seconds", n)
				}
				answers := name == "read-only" // and does not wait for the lock
				for end := time.Now().Add(time.Minute); answers && log.count("\n") == 0 && time.Now().Before(end); {
					time.Sleep(10 * time.Millisecond)
				}
				if n := log.count("\n"); n > 1 || answers && n == 0 {
					t.Errorf("%d lines in the log", n)
				}

				if allow == nil {
					return
				}
				allow()
				for end := time.Now().Add(time.Minute); did.Load() < 50 ||
					log.count("failures=") < log.count("growing intervals"); {
					if time.Now().After(end) {
						t.Fatalf("%d jobs were done after the database came back; log: %s", did.Load(), log.text.String())
					}
					time.Sleep(10 * time.Millisecond)
				}
				if fails, ends := log.count("growing intervals"), log.count("succeeds again"); fails > 1 || ends != fails {
					t.Errorf("the log says %d times that the kind fails and %d times that it succeeds again: %s", fails, ends,
						log.text.String())
				}
			})
		})
	}
}

// A kind whose jobs all fail because what they need is away is not tried at the
// speed of its announcements.
func TestAwayIsNotAskedAtEachRing(t *testing.T) {
	each(t, func(k *kit) {
		for i := range 200 {
			k.add(job.Job{Kind: "mail", Key: fmt.Sprint(i)})
		}
		var asked atomic.Int64
		node := k.node(job.Kind{Name: "mail", Faults: 3, Run: func(context.Context, job.Job) error {
			asked.Add(1)
			return errors.New("away")
		}})
		ctx, stop := context.WithCancel(k.Context())
		var work sync.WaitGroup
		work.Go(func() { node.Work(ctx) })
		for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
			node.Ring("mail")
		}
		stop()
		work.Wait()
		if n := asked.Load(); n < 3 || n > 9 {
			k.Errorf("asked %d times in 2.5 seconds", n)
		}
	})
}

// What went wrong is noted and returned in bounded length, also where it is no
// text that a database can hold.
func TestErrorsAreBounded(t *testing.T) {
	each(t, func(k *kit) {
		for i := range 40 {
			k.add(job.Job{Kind: "long", Key: fmt.Sprint(i)})
		}
		node := k.node(job.Kind{Name: "long", Run: func(context.Context, job.Job) error {
			return errors.New("a\x00b\xff" + strings.Repeat("long ", 10_000))
		}})
		if _, err := node.Round(k.Context(), "long"); err == nil || strings.Count(err.Error(), "job: long") != 5 ||
			!strings.HasSuffix(err.Error(), "and 35 more") {
			k.Errorf("the round's error: %.200v", err)
		}
		list, err := job.List(k.Context(), k.d, job.Filter{Kind: "long"}, 100)
		if err != nil {
			k.Fatal(err)
		}
		for _, s := range list {
			if s.Status != job.Pending || len(s.Error) != 4<<10 || !strings.HasPrefix(s.Error, "a?b?long") {
				k.Fatalf("%s: %s, %d bytes, %.20q", s.Key, s.Status, len(s.Error), s.Error)
			}
		}
	})
}
