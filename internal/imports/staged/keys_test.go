package staged

import (
	"strconv"
	"testing"
)

// A key is known by the line it was first seen on, also when there are more of
// them than the file was said to have rows.
func TestKeys(t *testing.T) {
	k := NewKeys(0)
	const n = 10_000
	for again := range 2 {
		for i := range n {
			line, there := k.Put(strconv.Itoa(i), i+1)
			if there != (again == 1) || there && line != i+1 {
				t.Fatalf("key %d, time %d: line %d, %v", i, again+1, line, there)
			}
		}
	}
}
