package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/logstorm"
	"holdfast/internal/web"
)

// slowLog names statements that take long, with the request they are of.
func slowLog(c *config.Config, mode Mode) db.Slow {
	if mode != Server || c.SlowStatement == 0 {
		return db.Slow{}
	}
	return db.Slow{After: c.SlowStatement, Tell: func(ctx context.Context, took time.Duration, statements []string) {
		slog.Warn("slow statements", "request_id", web.RequestID(ctx), "milliseconds", took.Milliseconds(),
			"statements", db.ShortenStatements(statements))
	}}
}

// flushEvery is how late a line may reach the log; backlog is how many bytes
// wait for a reader that does not take them, before lines are dropped.
const (
	flushEvery = 200 * time.Millisecond
	backlog    = 4 << 20
)

// logQueue stands between the server and the log. Lines are gathered and
// written a few times a second: a system call per request would be a tenth of a
// cached answer's cost, and a log pipe that nobody empties must not stop the
// server.
type logQueue struct {
	out  io.Writer
	lost atomic.Int64 // lines lost since the start
	torn bool         // the last line that was written lacks its end; of flushing alone

	mu      sync.Mutex
	lines   []byte
	dropped int
	stop    chan struct{}
	ended   chan struct{}
}

func newLogQueue(out io.Writer) *logQueue {
	q := &logQueue{out: out, stop: make(chan struct{}), ended: make(chan struct{})}
	go q.flushLoop()
	return q
}

// Close writes what is left, unless the log's reader has gone to sleep.
func (q *logQueue) Close() {
	close(q.stop)
	select {
	case <-q.ended:
	case <-time.After(time.Second):
	}
}

// logSwitch is a handler whose lines go where it was told last: loggers that
// were made from it follow a reload of the configuration.
type logSwitch struct{ to atomic.Pointer[slog.Handler] }

func (s *logSwitch) setHandler(h slog.Handler) { s.to.Store(&h) }

// Enabled implements slog.Handler.
func (s *logSwitch) Enabled(ctx context.Context, l slog.Level) bool {
	return (*s.to.Load()).Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (s *logSwitch) Handle(ctx context.Context, r slog.Record) error {
	return (*s.to.Load()).Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (s *logSwitch) WithAttrs(a []slog.Attr) slog.Handler { return (*s.to.Load()).WithAttrs(a) }

// WithGroup implements slog.Handler.
func (s *logSwitch) WithGroup(name string) slog.Handler { return (*s.to.Load()).WithGroup(name) }

// serverLog is the log of a running server.
type serverLog struct {
	queue *logQueue
	to    *logSwitch
	storm *atomic.Pointer[logstorm.Handler] // of the handler in effect
}

// handlerOf is the configured handler, which summarises equal lines.
func (l serverLog) handlerOf(c *config.Config) slog.Handler {
	s := logstorm.New(logHandler(c, l.queue), logstorm.Window)
	l.storm.Store(s)
	return s
}

// openLog makes the configured log, through a queue, the default.
func openLog(c *config.Config, out io.Writer) (l serverLog, restore func()) {
	l = serverLog{newLogQueue(out), &logSwitch{}, &atomic.Pointer[logstorm.Handler]{}}
	l.to.setHandler(l.handlerOf(c))
	before := slog.Default()
	slog.SetDefault(slog.New(l.to))
	return l, func() {
		slog.SetDefault(before)
		l.storm.Load().EndWindow()
		l.queue.Close()
	}
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

// Write implements io.Writer. It never waits and never fails.
func (q *logQueue) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines)+len(b) > backlog {
		q.dropped++
		q.lost.Add(1)
		return len(b), nil
	}
	q.lines = append(q.lines, b...)
	return len(b), nil
}

func (q *logQueue) flushLoop() {
	defer close(q.ended)
	t := time.NewTicker(flushEvery)
	defer t.Stop()
	var spare []byte
	for {
		select {
		case <-t.C:
			spare = q.flushLines(spare)
		case <-q.stop:
			q.flushLines(spare)
			return
		}
	}
}

// flushLines writes what has been gathered, outside the lock, and returns the
// buffer for the next round. Lines that a full disk refuses are lost and
// counted, and the log says so when it can be written again.
func (q *logQueue) flushLines(spare []byte) []byte {
	q.mu.Lock()
	lines, dropped := q.lines, q.dropped
	q.lines, q.dropped = spare[:0], 0
	q.mu.Unlock()
	refused := q.putLines(lines)
	q.lost.Add(int64(refused))
	if dropped += refused; dropped > 0 && refused == 0 {
		if q.putLines(fmt.Appendf(nil,
			"{\"level\":\"WARN\",\"msg\":\"log lines lost: not read fast enough, or not writable\",\"lines\":%d}\n",
			dropped)) == 0 {
			dropped = 0
		}
	}
	q.mu.Lock()
	q.dropped += dropped
	q.mu.Unlock()
	return lines
}

// putLines writes whole lines and returns how many of them were refused. What follows
// the piece of one begins on a line of its own.
func (q *logQueue) putLines(lines []byte) int {
	if len(lines) == 0 {
		return 0
	}
	if q.torn {
		if _, err := q.out.Write([]byte("\n")); err != nil {
			return bytes.Count(lines, []byte("\n"))
		}
		q.torn = false
	}
	n, err := q.out.Write(lines)
	if err == nil {
		return 0
	}
	q.torn = n > 0 && lines[n-1] != '\n'
	return bytes.Count(lines[n:], []byte("\n"))
}
