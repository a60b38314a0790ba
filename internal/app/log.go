package app

import (
	"bufio"
	"log/slog"
	"os"
	"sync"
	"time"

	"holdfast/internal/config"
)

// flushEvery is how late a request line may reach the log.
const flushEvery = 200 * time.Millisecond

// requestLog returns the logger of request lines. They are gathered and
// written a few times a second: a system call per request would be a tenth of
// a cached answer's cost. Errors go to the default logger, unbuffered.
func requestLog(c *config.Config) (*slog.Logger, func()) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil || level > slog.LevelInfo {
		return nil, func() {}
	}
	w := &gathered{out: bufio.NewWriterSize(os.Stderr, 64<<10), stop: make(chan struct{})}
	w.done.Go(w.flushing)
	opt := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewJSONHandler(w, opt)
	if c.LogFormat == "text" {
		h = slog.NewTextHandler(w, opt)
	}
	return slog.New(h), func() {
		close(w.stop)
		w.done.Wait()
	}
}

type gathered struct {
	mu   sync.Mutex
	out  *bufio.Writer
	stop chan struct{}
	done sync.WaitGroup
}

func (g *gathered) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.out.Write(b)
}

func (g *gathered) flushing() {
	t := time.NewTicker(flushEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			g.flush()
		case <-g.stop:
			g.flush()
			return
		}
	}
}

// flush drops what the log's reader cannot take: a full disk must not stop
// requests. bufio remembers its first error for ever, hence Reset.
func (g *gathered) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.out.Flush() != nil {
		g.out.Reset(os.Stderr)
	}
}
