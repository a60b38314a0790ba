package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var to bytes.Buffer
	p := newProgress(&to, true, "items.csv", 4_000_000)
	if _, err := io.Copy(p, strings.NewReader(strings.Repeat("x", 1_000_000))); err != nil {
		t.Fatal(err)
	}
	if got, want := p.progressLine(), "items.csv  25 %  1.0 of 4.0 MB"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.last = time.Now().Add(time.Hour) // painted no more
	if p.setProgress(9, 4); p.progressLine() != "items.csv  100 %  0.0 of 0.0 MB" {
		t.Errorf("more than there is: %q", p.progressLine())
	}
	if p.setProgress(0, 0); p.progressLine() != "items.csv  100 %  0.0 of 0.0 MB" {
		t.Errorf("nothing to do: %q", p.progressLine())
	}
	if p.clearLine(); to.String() != "\ritems.csv  25 %  1.0 of 4.0 MB\r"+strings.Repeat(" ", 30)+"\r" {
		t.Errorf("%q", to.String())
	}
	p = newProgress(&to, false, "items.csv", 4)
	to.Reset()
	n, err := p.Write([]byte("ab"))
	p.setProgress(4, 4)
	p.clearLine()
	if n != 2 || err != nil || to.Len() > 0 {
		t.Errorf("written where nobody watches: %q, %d, %v", to.String(), n, err)
	}
}
