package app

import (
	"bytes"
	"testing"
)

// The types fit into a file that an editor opens at once.
func TestTypesAreShort(t *testing.T) {
	module := TypeScript()
	if n := bytes.Count(module, []byte("\n")); n > 6000 {
		t.Errorf("%d lines", n)
	}
}
