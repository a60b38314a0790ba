package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"holdfast/internal/config"
)

// A log that nobody reads stops nobody. What does not fit
// the queue is dropped and counted, the reader is told how much, and closing
// does not wait for him.
func TestLogNobodyReads(t *testing.T) {
	r, w := io.Pipe()
	c := &config.Config{LogLevel: "info", LogFormat: "json"}
	l, restore := openLog(c, w)
	line := strings.Repeat("x", 1000)
	sent := 0
	for l.queue.lost.Load() == 0 { // every call returns, or the test never ends
		slog.Info(line)
		sent++
		if sent > 10*backlog/len(line) {
			t.Fatal("nothing is dropped, so the queue has no end")
		}
	}
	lost := int(l.queue.lost.Load())
	lines := make(chan string)
	go func() {
		defer close(lines)
		for sc := bufio.NewScanner(r); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	read, told := 0, 0
	for told == 0 {
		select {
		case text := <-lines:
			var entry struct {
				Msg   string
				Lines int
			}
			if err := json.Unmarshal([]byte(text), &entry); err != nil {
				t.Fatalf("%.80q: %v", text, err)
			}
			if entry.Lines > 0 {
				told = entry.Lines
				continue
			}
			read++
		case <-time.After(30 * time.Second):
			t.Fatalf("%d lines read of %d, %d dropped, and nobody was told", read, sent, lost)
		}
	}
	if told != lost || read+lost != sent {
		t.Errorf("%d sent, %d read, %d dropped, told of %d", sent, read, lost, told)
	}
	slog.Info("the last") // blocks the writer: nobody reads any more
	closed := make(chan struct{})
	go func() { defer close(closed); restore() }()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Error("closing waits for a reader who has gone")
	}
}

// Level and format of a reloaded configuration hold for loggers made before.
func TestLogFollowsReload(t *testing.T) {
	var b bytes.Buffer
	l, restore := openLog(&config.Config{LogLevel: "warn", LogFormat: "json"}, &b)
	old := slog.Default()
	old.Info("silent")
	l.to.setHandler(logHandler(&config.Config{LogLevel: "debug", LogFormat: "text"}, l.queue))
	old.Debug("heard")
	restore()
	if got := b.String(); strings.Contains(got, "silent") || !strings.Contains(got, "level=DEBUG msg=heard") {
		t.Errorf("logged %q", got)
	}
}
