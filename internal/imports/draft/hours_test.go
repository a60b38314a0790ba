package draft

import (
	"testing"

	"holdfast/internal/store"
)

// Shifts of one worker that overlap are told by the line of the other; those that
// meet at a minute, or are another's, are not.
func TestHours(t *testing.T) {
	at := func(clock string) string { return "2026-03-02T" + clock + ":00.000000Z" }
	b := NewHours()
	for i, c := range []struct {
		worker, from, to string
		with             int
	}{
		{"anna", "08:00", "12:00", 0},
		{"anna", "12:00", "16:00", 0},
		{"bo", "09:00", "10:00", 0},
		{"anna", "11:59", "12:00", 1},
		{"anna", "15:00", "18:00", 2},
		{"anna", "07:00", "20:00", 1},
		{"anna", "18:00", "", 0}, // not ended yet
		{"anna", "22:00", "23:00", 7},
		{"anna", "06:00", "08:00", 0},
	} {
		row := store.Row{"worker_id": c.worker, "started_at": at(c.from)}
		if c.to != "" {
			row["ended_at"] = at(c.to)
		}
		if other, overlaps := b.Enter(row, i+1); other != c.with || overlaps != (c.with > 0) {
			t.Errorf("line %d: overlaps line %d (%v), want %d", i+1, other, overlaps, c.with)
		}
	}
}
