package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"holdfast/internal/config"
)

// flushEvery is how late a line may reach the log; backlog is how many bytes
// wait for a reader that does not take them, before lines are dropped.
const (
	flushEvery = 200 * time.Millisecond
	backlog    = 4 << 20
)

// serverLog sends the server's log through a queue and returns the logger of
// request lines. Lines are gathered and written a few times a second: a system
// call per request would be a tenth of a cached answer's cost, and a log pipe
// that nobody empties must not stop the server.
func serverLog(c *config.Config) (requests *slog.Logger, stop func()) {
	w := &gathered{stop: make(chan struct{})}
	w.done.Go(w.flushing)
	h := logHandler(c, w)
	before := slog.Default()
	slog.SetDefault(slog.New(h))
	stop = func() {
		slog.SetDefault(before)
		close(w.stop)
		w.done.Wait()
	}
	if !h.Enabled(context.Background(), slog.LevelInfo) {
		return nil, stop
	}
	return slog.New(h), stop
}

// logHandler writes lines of the configured level and format.
func logHandler(c *config.Config, w io.Writer) slog.Handler {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	opt := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "text" {
		return slog.NewTextHandler(w, opt)
	}
	return slog.NewJSONHandler(w, opt)
}

// SetLog makes the configured log the default, for commands.
func SetLog(c *config.Config) { slog.SetDefault(slog.New(logHandler(c, os.Stderr))) }

type gathered struct {
	mu      sync.Mutex
	lines   []byte
	dropped int
	stop    chan struct{}
	done    sync.WaitGroup
}

func (g *gathered) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.lines)+len(b) > backlog {
		g.dropped++
		return len(b), nil
	}
	g.lines = append(g.lines, b...)
	return len(b), nil
}

func (g *gathered) flushing() {
	t := time.NewTicker(flushEvery)
	defer t.Stop()
	var spare []byte
	for {
		select {
		case <-t.C:
			spare = g.flush(spare)
		case <-g.stop:
			g.last(spare)
			return
		}
	}
}

// last writes what is left, unless the log's reader has gone to sleep.
func (g *gathered) last(spare []byte) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.flush(spare)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// flush writes what has been gathered, outside the lock, and returns the
// buffer for the next round. Lines a full disk refuses are lost.
func (g *gathered) flush(spare []byte) []byte {
	g.mu.Lock()
	lines, dropped := g.lines, g.dropped
	g.lines, g.dropped = spare[:0], 0
	g.mu.Unlock()
	if len(lines) > 0 {
		os.Stderr.Write(lines)
	}
	if dropped > 0 {
		fmt.Fprintf(os.Stderr, "{\"level\":\"WARN\",\"msg\":\"log lines dropped: the log is not read fast enough\",\"lines\":%d}\n", dropped)
	}
	return lines
}
