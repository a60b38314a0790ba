package app

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// What is said of one thing in stormWindow: stormLines lines as they are, and of the rest one
// line with their number. A disk that is full fails each request of a thousand clients.
const (
	stormWindow = 10 * time.Second
	stormLines  = 20
	stormKinds  = 200 // told apart in a window; past them all is one kind
	stormError  = 80  // bytes of an error by which kinds are told apart
)

// storm is a handler that summarises equal warnings and errors.
type storm struct {
	slog.Handler
	state *stormState
}

type stormState struct {
	window time.Duration
	mu     sync.Mutex
	kinds  map[stormKind]*stormCount
}

type stormKind struct {
	level          slog.Level
	message, error string
}

type stormCount struct {
	lines   int
	handler slog.Handler // of the first of them
}

func newStorm(to slog.Handler, window time.Duration) *storm {
	return &storm{to, &stormState{window: window, kinds: map[stormKind]*stormCount{}}}
}

// Handle implements slog.Handler.
func (s *storm) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !s.state.admit(kindOf(r), s.Handler) {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (s *storm) WithAttrs(a []slog.Attr) slog.Handler { return &storm{s.Handler.WithAttrs(a), s.state} }

// WithGroup implements slog.Handler.
func (s *storm) WithGroup(name string) slog.Handler {
	return &storm{s.Handler.WithGroup(name), s.state}
}

func kindOf(r slog.Record) stormKind {
	kind := stormKind{level: r.Level, message: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			text := a.Value.String()
			kind.error = strings.ToValidUTF8(text[:min(len(text), stormError)], "")
		}
		return true
	})
	return kind
}

// admit reports whether a line is written as it is; else it is counted.
func (s *stormState) admit(kind stormKind, to slog.Handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := s.kinds[kind]
	if count == nil && len(s.kinds) >= stormKinds {
		kind = stormKind{level: kind.level}
		count = s.kinds[kind]
	}
	if count == nil {
		if len(s.kinds) == 0 {
			time.AfterFunc(s.window, s.endWindow)
		}
		count = &stormCount{handler: to}
		s.kinds[kind] = count
	}
	count.lines++
	return count.lines <= stormLines
}

// endWindow writes how many lines were left out of each kind, and begins anew.
func (s *stormState) endWindow() {
	s.mu.Lock()
	kinds := s.kinds
	s.kinds = map[stormKind]*stormCount{}
	s.mu.Unlock()
	for kind, count := range kinds {
		if count.lines <= stormLines {
			continue
		}
		r := slog.NewRecord(time.Now(), kind.level, "more lines were as those before: "+kind.message, 0)
		r.AddAttrs(slog.Int("lines", count.lines-stormLines), slog.String("within", s.window.String()))
		if kind.error != "" {
			r.AddAttrs(slog.String("error", kind.error))
		}
		_ = count.handler.Handle(context.Background(), r)
	}
}
