package share

import (
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// The orders of a board are found in an index by status and day: those that were completed
// before today are never read.
func TestBoardReadsOrdersOfTheDay(t *testing.T) {
	d := dbtest.Open(t, dbtest.Options(t, db.SQLite))
	var completed, open int
	err := d.Read(t.Context(), db.Scope{}, func(tx *db.Tx) error {
		return tx.Query("EXPLAIN QUERY PLAN "+boardOrdersSQL, []any{"0", "0", "0", "0", "0"}, func(r *db.Row) error {
			step := r.Text(3)
			switch {
			case strings.HasSuffix(step, "(tenant_id=? AND status=? AND promised_at>? AND promised_at<?)"):
				completed++
			case strings.HasSuffix(step, "(tenant_id=? AND status=? AND promised_at<?)"):
				open++
			case strings.HasPrefix(step, "SEARCH"), strings.HasPrefix(step, "SCAN orders"):
				t.Errorf("a board costs %s", step)
			}
			return nil
		})
	})
	if err != nil || completed != 1 || open != 1 {
		t.Errorf("%d steps of completed and %d of open orders: %v", completed, open, err)
	}
}
