package trial

import (
	"testing"
	"time"

	"holdfast/internal/localtime"
)

// Days before today are those of the tenant: in Tokyo the next has begun while it is
// afternoon in UTC, in the Azores the last goes on past midnight.
func TestDaysBefore(t *testing.T) {
	const tokyo, azores = "Asia/Tokyo", "Atlantic/Azores"
	for _, c := range []struct {
		zone, now, at string
		want          int
	}{
		{"UTC", "2026-03-20T12:00:00Z", "2026-03-19T23:59:59Z", 1},
		{"UTC", "2026-03-20T12:00:00Z", "2026-03-20T00:00:00Z", 0},
		{tokyo, "2026-03-20T12:00:00Z", "2026-03-19T14:59:59Z", 1},
		{tokyo, "2026-03-20T12:00:00Z", "2026-03-19T15:00:00Z", 0}, // midnight there
		{tokyo, "2026-03-20T15:00:00Z", "2026-03-20T14:59:59Z", 1}, // and the next
		{azores, "2026-03-20T12:00:00Z", "2026-03-20T00:59:59Z", 1},
		{azores, "2026-03-20T12:00:00Z", "2026-03-20T01:00:00Z", 0},   // midnight there
		{azores, "2026-03-20T00:30:00Z", "2026-03-19T01:00:00Z", 0},   // still the 19th
		{azores, "2026-07-20T12:00:00Z", "2026-07-20T00:00:00Z", 0},   // in summer as in UTC
		{azores, "2026-07-20T12:00:00Z", "2026-03-20T00:30:00Z", 123}, // across the change of the clock
		{tokyo, "2026-03-20T12:00:00Z", "2026-03-21T12:00:00Z", 0},    // ahead is today
	} {
		moment := func(text string) time.Time {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		if got := DaysBefore(moment(c.now), moment(c.at), localtime.Zone(c.zone)); got != c.want {
			t.Errorf("%s at %s, %s: %d days before, want %d", c.zone, c.now, c.at, got, c.want)
		}
	}
}
