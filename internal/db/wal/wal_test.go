package wal_test

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/db/wal"
)

// Whatever a file holds, reading it ends, and what it says was committed lies within
// it.
func FuzzRead(f *testing.F) {
	f.Add([]byte{})
	head := []byte{0x37, 0x7f, 0x06, 0x82, 0, 0x2d, 0xe2, 0x18, 0, 0, 2, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	f.Add(append(head, make([]byte, 8)...))
	f.Add(append(head, make([]byte, 3000)...))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "x"+wal.Suffix)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := wal.Read(path, wal.Position{})
		if err != nil {
			return
		}
		defer c.Close()
		if c.End.Offset > int64(len(text)) {
			t.Fatalf("it ends at %d of %d bytes", c.End.Offset, len(text))
		}
		if err := c.Each(func(uint32, []byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
}
