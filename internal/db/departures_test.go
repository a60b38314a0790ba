package db

import (
	"testing"
	"time"
)

// A primary that is read-only on purpose has its connections left less and less often; one
// that took writes meanwhile is left at once when it refuses them again.
func TestDeparturesFromReadOnlyServer(t *testing.T) {
	d, begin := departures{}, time.Now()
	countIn := func(from, to time.Duration) (n int) {
		for at := from; at < to; at += time.Second / 2 { // a write is refused
			if d.isDue(begin.Add(at)) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{
		{0, time.Minute, 6}, // after 1, 2, 4, 8, 16 seconds
		{time.Minute, time.Hour, 30},
		{2 * time.Hour, 2*time.Hour + time.Second, 1},
		{2*time.Hour + time.Second, 2*time.Hour + 2*time.Second, 1},
	} {
		if got := countIn(c.from, c.to); got != c.want {
			t.Errorf("from %s to %s connections were left %d times, want %d", c.from, c.to, got, c.want)
		}
	}
}
