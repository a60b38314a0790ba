package pgtest

import (
	"os"
	"testing"
)

// A limit reads as a number where there is one, and as none where it is "max".
func TestFigure(t *testing.T) {
	path := t.TempDir() + "/memory"
	for text, want := range map[string]struct {
		name string
		n    uint64
		ok   bool
	}{
		"max\n": {"", 0, false}, "1073741824\n": {"", 1 << 30, true}, "": {"", 0, false},
		"MemFree: 5 kB\nMemAvailable:   7 kB\n":    {"MemAvailable:", 7, true},
		"anon 3\ninactive_file 9\nactive_file 2\n": {"inactive_file ", 9, true},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, ok := readFigure(path, want.name); n != want.n || ok != want.ok {
			t.Errorf("%q in %q: %d %v", want.name, text, n, ok)
		}
	}
	if availableMemory() == 0 {
		t.Error("no memory is available")
	}
}
