package store

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The spans that are read make up the stretch: in order, aligned, and with less
// than an hour left to the records on either side.
func TestMarks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	base := time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC)
	at := func() time.Time {
		t := base.Add(time.Duration(rng.Int64N(int64(700 * 24 * time.Hour))))
		switch rng.IntN(4) {
		case 0:
			return t.Truncate(time.Hour)
		case 1:
			return monthOf(t)
		}
		return t.Truncate(time.Microsecond)
	}
	for range 20_000 {
		from, to := at(), at()
		if rng.IntN(3) == 0 {
			to = from.Add(time.Duration(rng.Int64N(int64(3 * time.Hour))))
		}
		if to.Before(from) {
			from, to = to, from
		}
		p := splitPeriod(from, to)
		for i := range 5 {
			if p[i+1].Before(p[i]) {
				t.Fatalf("%s to %s: %v is not in order", from, to, p)
			}
		}
		aligned := func(a, b time.Time, start func(time.Time) time.Time) bool {
			return a.Equal(b) || start(a).Equal(a) && start(b).Equal(b)
		}
		hour := func(t time.Time) time.Time { return t.Truncate(time.Hour) }
		if !aligned(p[0], p[1], hour) || !aligned(p[1], p[2], dayOf) || !aligned(p[2], p[3], monthOf) ||
			!aligned(p[3], p[4], dayOf) || !aligned(p[4], p[5], hour) {
			t.Fatalf("%s to %s: %v is not aligned", from, to, p)
		}
		if !p[0].After(from) || p[5].After(to.Add(time.Microsecond)) || p[0].Sub(from) > time.Hour+time.Microsecond ||
			to.Sub(p[5]) >= time.Hour {
			t.Fatalf("%s to %s: %v leaves too much or covers too much", from, to, p)
		}
	}
}
