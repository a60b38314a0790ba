package staged

import (
	"testing"

	"holdfast/internal/store"
)

// What a row became is found again by its place among the rows of its chunk.
func TestOutcomes(t *testing.T) {
	const id = "0190a000-0000-7000-8000-0000000000a1"
	was, is := store.Row{"id": id, "version": int64(3)}, store.Row{"id": id, "version": int64(4)}
	data := PackOutcomes([]Outcome{
		OutcomeOf(store.Change{After: is}),
		OutcomeOf(store.Change{Before: was, After: is}),
		OutcomeOf(store.Change{Before: was, After: was}),
		OutcomeOf(store.Change{Before: store.Row{}}), // a counted place that was as the file says
	})
	for at, want := range []struct{ action, id string }{{"insert", id}, {"update", id}, {"unchanged", id},
		{"unchanged", ""}} {
		if action, record, ok := OutcomeIn(data, at); !ok || action != want.action || record != want.id {
			t.Errorf("row %d: %s of %q, %v", at, action, record, ok)
		}
	}
	if action, record, ok := OutcomeIn(data, 4); ok {
		t.Errorf("a row that there is not: %s of %q", action, record)
	}
}
