package main

import (
	"bytes"
	"io"
	"sync"
)

// lines writes whole lines, each with the same words before it, so that what
// several print at once can be told apart. All that write to one place share mu.
type lines struct {
	mu    *sync.Mutex
	to    io.Writer
	begin []byte
	open  []byte // of a line that has not ended
}

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
		out = append(append(out, l.begin...), line...)
	}
	_, err := l.to.Write(out)
	return err
}
