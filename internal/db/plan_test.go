package db

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What an upgrade does is told step by step: the table, what others wait for,
// and a time by the rows that are there. What makes a table reads none.
func TestPlan(t *testing.T) {
	s := SchemaState{Have: 7, Want: 9, Due: []Migration{
		{8, "places", "CREATE TABLE places (id uuid);\n-- of every item; DROP TABLE x\nCREATE INDEX items_by_place ON items (place_id);\n"},
		{9, "names", "ALTER TABLE items ADD COLUMN note text;\nUPDATE items SET note = '';\nINSERT INTO places SELECT id FROM items;\nDROP TABLE zones;\n"},
	}}
	rows := map[string]int64{"items": 1_500_000, "places": 0, "zones": 300}
	count := func(table string) (int64, error) {
		n, ok := rows[table]
		if !ok {
			return 0, errors.New(table)
		}
		return n, nil
	}
	const all = "all writes, until the migration ends"
	want := map[Engine][]Step{}
	for _, step := range []struct {
		Step
		locks string // on PostgreSQL
	}{
		{Step{"0008_places", "create table", "places", 0, all, 0}, "nothing"},
		{Step{"0008_places", "create index", "items", 1_500_000, all, 10 * time.Second}, "writes to the table"},
		{Step{"0009_names", "alter table", "items", 1_500_000, all, 10 * time.Second}, "the table"},
		{Step{"0009_names", "update", "items", 1_500_000, all, 10 * time.Second}, "the rows"},
		{Step{"0009_names", "insert into", "places", 0, all, 0}, "the rows"},
		{Step{"0009_names", "drop table", "zones", 300, all, 2 * time.Millisecond}, "the table"},
	} {
		want[SQLite] = append(want[SQLite], step.Step)
		step.Locks = step.locks
		want[PostgreSQL] = append(want[PostgreSQL], step.Step)
	}
	for e, want := range want {
		got, err := s.Plan(e, count)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got)\n%s", e, err, d)
		}
	}
	delete(rows, "zones")
	if _, err := s.Plan(SQLite, count); err == nil {
		t.Error("a table that cannot be counted counts for nothing")
	}
}
