package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is flushed on the way is whole at the end.
func TestFlushing(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "part"))
	if err != nil {
		t.Fatal(err)
	}
	w, want := NewFlushing(f), ""
	for _, s := range []string{"one ", "two ", "three"} {
		w.late = flushAfter
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		want += s
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}

// A flush that failed ends the writing at the next one. A pipe cannot be flushed.
func TestFlushingTellsOfTheDisk(t *testing.T) {
	r, f, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w := NewFlushing(f)
	w.late = flushAfter
	if _, err := w.Write([]byte("one")); err != nil {
		t.Fatal(err)
	}
	w.idle <- <-w.idle // it has ended
	w.late = flushAfter
	if _, err := w.Write([]byte("two")); err == nil || !strings.Contains(err.Error(), "sync") {
		t.Errorf("the second write: %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("closed as if it were durable")
	}
}
