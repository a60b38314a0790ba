// Package logstorm keeps a log readable when one thing fails a thousand times: equal warnings
// and errors are a few lines and their number.
//
// Layer: foundations. Begin at [New].
package logstorm

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// What is said of one thing in Window: mostLines lines as they are, and of the rest one
// line with their number. A disk that is full fails each request of a thousand clients.
const (
	Window    = 10 * time.Second
	mostLines = 20
	mostKinds = 1000 // told apart in a window; past them lines are told apart by their message alone
	mostText  = 80   // bytes of an attribute in the line with the number
)

// kindKeys are the attributes by which lines of one message differ; others are of one request.
var kindKeys = []string{"error", "panic", "job", "kind", "route", "work", stackKey}

const stackKey = "stack"

// Handler is a handler that summarises equal warnings and errors.
type Handler struct {
	slog.Handler
	state *state
	attrs []slog.Attr // of kindKeys, those of WithAttrs
}

// state is what handlers of one log share.
type state struct {
	window time.Duration
	mu     sync.Mutex
	kinds  map[lineKind]*lineCount
}

// lineKind is what lines have in common. Without details it is all lines of a message past
// mostKinds, without a message all lines of a level.
type lineKind struct {
	level   slog.Level
	message string
	details uint64 // a hash of kindKeys
}

type lineCount struct {
	lines   int
	attrs   []slog.Attr  // of kindKeys, what the handler does not say itself
	handler slog.Handler // of the first of them
}

// New returns a handler in front of to, which gets the lines. It forgets after each window.
func New(to slog.Handler, window time.Duration) *Handler {
	return &Handler{Handler: to, state: &state{window: window, kinds: map[lineKind]*lineCount{}}}
}

// Handle implements slog.Handler.
func (s *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !s.isAdmitted(r) {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (s *Handler) WithAttrs(a []slog.Attr) slog.Handler {
	return &Handler{s.Handler.WithAttrs(a), s.state, pickAttrs(s.attrs, a...)}
}

// WithGroup implements slog.Handler.
func (s *Handler) WithGroup(name string) slog.Handler {
	return &Handler{s.Handler.WithGroup(name), s.state, s.attrs}
}

func pickAttrs(to []slog.Attr, from ...slog.Attr) []slog.Attr {
	to = slices.Clone(to)
	for _, a := range from {
		if slices.Contains(kindKeys, a.Key) {
			to = append(to, a)
		}
	}
	return to
}

var seed = maphash.MakeSeed()

// hashAttrs is never 0.
func hashAttrs(attrs []slog.Attr) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, a := range attrs {
		text := a.Value.String()
		if a.Key == stackKey {
			text = readPlaces(text)
		}
		h.WriteString(a.Key + "=" + text + "\n")
	}
	return max(h.Sum64(), 1)
}

// readPlaces is the files and lines of a stack, without the goroutine's number and the
// arguments: those differ each time.
func readPlaces(stack string) string {
	var b strings.Builder
	for line := range strings.Lines(stack) {
		if strings.HasPrefix(line, "\t") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// isAdmitted reports whether a line is written as it is; else it is counted.
func (s *Handler) isAdmitted(r slog.Record) bool {
	attrs := s.attrs
	r.Attrs(func(a slog.Attr) bool {
		attrs = pickAttrs(attrs, a)
		return true
	})
	kind := lineKind{r.Level, r.Message, hashAttrs(attrs)}
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	count := s.state.kinds[kind]
	if count == nil {
		isPanic := slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == stackKey })
		if isPanic && len(s.state.kinds) >= mostKinds {
			return true // its stack is told once or more often, and not left out for another's
		}
		count = s.state.openKind(kind, attrs[len(s.attrs):], s.Handler)
	}
	count.lines++
	return count.lines <= mostLines
}

// openKind is the count of a kind that is not known, or of a wider one where too many are.
func (s *state) openKind(kind lineKind, attrs []slog.Attr, to slog.Handler) *lineCount {
	if len(s.kinds) >= mostKinds {
		kind.details, attrs = 0, nil
	}
	if s.kinds[kind] == nil && len(s.kinds) >= 2*mostKinds {
		kind.message = ""
	}
	count := s.kinds[kind]
	if count == nil {
		if len(s.kinds) == 0 {
			time.AfterFunc(s.window, s.endWindow)
		}
		count = &lineCount{handler: to, attrs: shortenAttrs(attrs)}
		s.kinds[kind] = count
	}
	return count
}

// shortenAttrs are what a line with a number says of the lines left out.
func shortenAttrs(attrs []slog.Attr) (out []slog.Attr) {
	for _, a := range attrs {
		if a.Key != stackKey {
			text := a.Value.String()
			out = append(out, slog.String(a.Key, strings.ToValidUTF8(text[:min(len(text), mostText)], "")))
		}
	}
	return out
}

// EndWindow writes what was left out so far.
func (s *Handler) EndWindow() { s.state.endWindow() }

// endWindow writes how many lines were left out of each kind, and begins anew.
func (s *state) endWindow() {
	s.mu.Lock()
	kinds := s.kinds
	s.kinds = map[lineKind]*lineCount{}
	s.mu.Unlock()
	for kind, count := range kinds {
		if count.lines <= mostLines {
			continue
		}
		text := "more lines were as those before: " + kind.message
		if kind.details == 0 {
			text = "more lines were left out that differ in their details: " + kind.message
		}
		if kind.message == "" {
			text = "more lines were left out, of messages that differ"
		}
		r := slog.NewRecord(time.Now(), kind.level, text, 0)
		r.AddAttrs(slog.Int("lines", count.lines-mostLines), slog.String("within", s.window.String()))
		r.AddAttrs(count.attrs...)
		_ = count.handler.Handle(context.Background(), r)
	}
}
