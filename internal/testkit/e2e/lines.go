package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

// lines writes whole lines, each with the same words before it, so that what
// several print at once can be told apart. All that write to one place share mu.
type lines struct {
	mu       *sync.Mutex
	to       io.Writer
	begin    []byte
	open     []byte   // of a line that has not ended
	failures []string // tests that failed, each with the first lines of its reason
	summing  bool     // the reporter prints its summary of failed tests
	reasons  int      // lines of the reason of the last failure that are still to be kept
}

// The summary of failed tests that node's reporter prints at its end.
const (
	summaryLine   = "✖ failing tests:"
	failureMark   = "✖ "
	keptFailures  = 10
	keptReasons   = 3
	keptLineWidth = 240
)

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, p...)
	end := bytes.LastIndexByte(l.open, '\n') + 1
	err := l.printPrefixed(l.open[:end])
	l.open = append([]byte(nil), l.open[end:]...)
	return len(p), err
}

// flushRest writes a last line that nobody ended.
func (l *lines) flushRest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return nil
	}
	err := l.printPrefixed(append(l.open, '\n'))
	l.open = nil
	return err
}

func (l *lines) printPrefixed(text []byte) error {
	var out []byte
	for line := range bytes.Lines(text) {
		l.keepFailure(strings.TrimRight(string(line), "\n"))
		out = append(append(out, l.begin...), line...)
	}
	_, err := l.to.Write(out)
	return err
}

// keepFailure keeps a line of the summary that names a failed test or begins its reason.
func (l *lines) keepFailure(line string) {
	switch {
	case line == summaryLine:
		l.summing = true
	case !l.summing || strings.TrimSpace(line) == "":
	case strings.HasPrefix(line, failureMark):
		l.reasons = keptReasons
		l.failures = append(l.failures, string(l.begin)+cutLine(line))
	case l.reasons > 0:
		l.reasons--
		l.failures = append(l.failures, cutLine(line))
	}
}

// listFailures names the tests that failed, the first of them with their reasons.
func (l *lines) listFailures() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := keptFailures * (1 + keptReasons)
	if len(l.failures) <= most {
		return l.failures
	}
	return append(l.failures[:most:most], fmt.Sprintf("%sand more, see above", l.begin))
}

// cutLine shortens a line to what a reader of a test's end needs.
func cutLine(line string) string {
	if letters := []rune(line); len(letters) > keptLineWidth {
		return string(letters[:keptLineWidth]) + " …"
	}
	return line
}
