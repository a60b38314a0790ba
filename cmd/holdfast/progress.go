package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// repaint is how often a line of progress is written anew.
const repaint = 100 * time.Millisecond

// progress is a line on a terminal that says how far a long piece of work is. A
// nil one says nothing. It is an io.Writer that counts what passes.
type progress struct {
	to          io.Writer
	name        string
	done, total int64 // bytes
	last        time.Time
	width       int // of what stands on the line
}

// newProgress is for work of so many bytes; nil where nobody watches.
func newProgress(to io.Writer, watched bool, name string, total int64) *progress {
	if !watched {
		return nil
	}
	return &progress{to: to, name: name, total: total}
}

// Write counts what was read.
func (p *progress) Write(b []byte) (int, error) {
	if p != nil {
		p.setProgress(p.done+int64(len(b)), p.total)
	}
	return len(b), nil
}

// setProgress says how much is done of what is known so far.
func (p *progress) setProgress(done, total int64) {
	if p == nil {
		return
	}
	p.done, p.total = min(done, total), total
	if now := time.Now(); now.Sub(p.last) >= repaint {
		p.last = now
		p.paintLine(p.progressLine())
	}
}

func (p *progress) progressLine() string {
	const mega = 1e6
	percent := int64(100)
	if p.total > 0 {
		percent = 100 * p.done / p.total
	}
	return fmt.Sprintf("%s  %d %%  %.1f of %.1f MB", p.name, percent, float64(p.done)/mega, float64(p.total)/mega)
}

func (p *progress) paintLine(line string) {
	width := len([]rune(line))
	fmt.Fprint(p.to, "\r", line, strings.Repeat(" ", max(p.width-width, 0)))
	p.width = width
}

// clearLine leaves an empty line to what is written next.
func (p *progress) clearLine() {
	if p != nil && p.width > 0 {
		p.paintLine("")
		fmt.Fprint(p.to, "\r")
	}
}
