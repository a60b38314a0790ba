package db_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// Statements past the limit are told of, by their texts without values; others
// are not.
func TestSlow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		for after, want := range map[time.Duration]bool{time.Nanosecond: true, time.Hour: false} {
			var told []string
			o.Slow = db.Slow{After: after, Tell: func(_ context.Context, _ time.Duration,
				s []string) {
				told = append(told, s...)
			}}
			d := dbtest.Open(t, o)
			err := d.Read(t.Context(), db.Scope{}, func(tx *db.Tx) error {
				return tx.Query("SELECT CAST($1 AS text)", []any{"hunter2"}, func(*db.Row) error { return nil })
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Contains(told, "SELECT CAST($1 AS text)"); got != want ||
				strings.Contains(strings.Join(told, " "), "hunter2") {
				t.Errorf("after %s: told of %q", after, told)
			}
			d.Close()
		}
	})
}
