package logstorm

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
)

// Messages of ever other words make no memory of the log.
func TestIsBounded(t *testing.T) {
	var b bytes.Buffer
	s := New(slog.NewJSONHandler(&b, nil), Window)
	log := slog.New(s)
	for i := range 10 * mostKinds {
		log.Warn(fmt.Sprintf("message %d", i))
	}
	if n := len(s.state.kinds); n > 2*mostKinds+1 {
		t.Errorf("%d kinds are kept", n)
	}
	s.EndWindow()
	want := fmt.Sprintf(`"msg":"more lines were left out, of messages that differ","lines":%d`, 8*mostKinds-mostLines)
	if !strings.Contains(b.String(), want) {
		t.Errorf("the others are not counted: %s", b.String()[max(0, b.Len()-300):])
	}
}

// A line that is not as those before it is written, however many those are.
func TestKeepsOthers(t *testing.T) {
	const same = "x"
	long := strings.Repeat("a statement that is long, ", 10)
	stack := func(line int) string {
		return fmt.Sprintf("goroutine %d [running]:\nmain.f(0x%d)\n\t/src/f.go:%d +0x1\n", rand.Int(), rand.Int(), line)
	}
	flood := func(log *slog.Logger) {
		for range 5 * mostLines {
			log.Error("failed", "error", long+"1", "job", "a", "kind", "a", "route", "GET /a", "work", "a")
			log.Error("panicked", "request_id", rand.Int(), "panic", same, "stack", stack(1))
		}
	}
	strain := func(log *slog.Logger) {
		for i := range 2*mostKinds + mostLines {
			log.Error("failed", "error", fmt.Sprint("text of a client ", i))
		}
	}
	for name, c := range map[string]struct {
		before func(*slog.Logger)
		line   func(*slog.Logger)
		want   string
	}{
		"another end of a long error": {flood, func(l *slog.Logger) {
			l.Error("failed", "error", long+"2", "job", "a", "kind", "a", "route", "GET /a", "work", "a")
		}, long + "2"},
		"another job": {flood, func(l *slog.Logger) {
			l.Error("failed", "error", long+"1", "job", "b", "kind", "a", "route", "GET /a", "work", "a")
		}, `"job":"b"`},
		"another kind": {flood, func(l *slog.Logger) {
			l.Error("failed", "error", long+"1", "job", "a", "kind", "b", "route", "GET /a", "work", "a")
		}, `"kind":"b"`},
		"another route": {flood, func(l *slog.Logger) {
			l.Error("failed", "error", long+"1", "job", "a", "kind", "a", "route", "GET /b", "work", "a")
		}, `"route":"GET /b"`},
		"another panic": {flood, func(l *slog.Logger) {
			l.Error("panicked", "panic", "y", "stack", stack(1))
		}, `"panic":"y"`},
		"another place": {flood, func(l *slog.Logger) {
			l.Error("panicked", "panic", same, "stack", stack(2))
		}, "f.go:2"},
		"a logger's own": {flood, func(l *slog.Logger) {
			l.With("kind", "c").Error("failed", "error", long+"1")
		}, `"kind":"c"`},
		"a message, at last": {strain, func(l *slog.Logger) {
			l.Error("the key does not open it")
		}, "the key does not open"},
		"a panic, at last": {strain, func(l *slog.Logger) {
			l.Error("failed", "panic", "z", "stack", stack(3))
		}, "f.go:3"},
		"the rest in words": {strain, func(*slog.Logger) {},
			`left out that differ in their details: failed","lines":1000,`},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			s := New(slog.NewJSONHandler(&b, nil), Window)
			log := slog.New(s)
			c.before(log)
			c.line(log)
			s.EndWindow()
			if !strings.Contains(b.String(), c.want) {
				t.Errorf("the log has no %s", c.want)
			}
			if n := strings.Count(b.String(), `"panicked"`); n > mostLines+1 {
				t.Errorf("%d lines of one panic", n)
			}
		})
	}
}
