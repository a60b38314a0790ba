package event

import (
	"testing"
	"time"
)

// A panic in what the clock raises does not end the process.
func TestClockPanics(t *testing.T) {
	asked := 0
	n := NewNotifier(nil, New(func() time.Time { asked++; panic("no time") }))
	watched(t.Context(), n.clockLooks())
	if asked == 0 {
		t.Error("nothing panicked")
	}
}
