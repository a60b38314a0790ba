package warehouse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A movement dated back takes only what was there from then on: an issue before its
// receipt is refused, one of a file of rows by its row, and what fits is booked.
func TestHistoryNeverBelowZero(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		y := newYard(t, k, "HIST", nil)
		day := func(n int) string { return time.Now().UTC().AddDate(0, 0, -n).Format(time.RFC3339) }
		move := func(kind string, ago int, q float64) map[string]any {
			row := map[string]any{"type": kind, "item_id": y.item, "quantity": q, "occurred_at": day(ago),
				"from_zone_id": nil, "to_zone_id": nil}
			if kind == "receipt" {
				row["to_zone_id"] = y.bin
			} else {
				row["from_zone_id"] = y.bin
			}
			if kind == "transfer" {
				row["to_zone_id"] = y.dock
			}
			return row
		}
		post := func(want int, row any) {
			t.Helper()
			r := k.Post(m, "/v1/stock_movements", row)
			if r.Status != want || want == http.StatusConflict && !strings.Contains(string(r.Body), "HF002") {
				t.Errorf("%v: %d %s, want %d", row, r.Status, r.Body, want)
			}
		}
		post(201, move("receipt", 10, 10))
		post(409, move("scrap", 11, 1))
		post(409, move("transfer", 11, 1))
		post(201, move("scrap", 5, 7))
		post(409, move("scrap", 8, 4))
		post(201, move("receipt", 2, 20))
		post(409, move("scrap", 8, 4))
		post(409, move("transfer", 3, 4))
		post(201, move("scrap", 8, 3))
		post(201, move("transfer", 1, 20))
		r := k.Post(m, "/v1/stock_movements", []any{move("receipt", 9, 1), move("scrap", 12, 1)})
		if r.Status != http.StatusConflict || !strings.Contains(string(r.Body), "row 2") {
			t.Errorf("rows: %d %s", r.Status, r.Body)
		}
		post(201, []any{move("scrap", 9, 1), move("receipt", 9, 1)})
		k.Verified(t)
	})
}
