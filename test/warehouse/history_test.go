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

// Goods whose receipt a clock dated four minutes ahead are there at once, and one dated
// earlier meets them from when they were booked.
func TestReceiptsDatedAhead(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m, op := testkit.As(actor.Manager), testkit.As(actor.Operator)
		y := newYard(t, k, "AHEAD", nil)
		post := func(want int, kind, from, to string, q float64, at time.Duration) {
			t.Helper()
			row := map[string]any{"type": kind, "item_id": y.item, "quantity": q}
			if from != "" {
				row["from_zone_id"] = from
			}
			if to != "" {
				row["to_zone_id"] = to
			}
			if at != 0 {
				row["occurred_at"] = time.Now().UTC().Add(at).Format(time.RFC3339Nano)
			}
			const details = `"details":"occurred_at: is before the goods came"`
			r := k.Post(m, "/v1/stock_movements", row)
			if r.Status != want || want == http.StatusConflict && !strings.Contains(string(r.Body), details) {
				t.Errorf("%v: %d %s, want %d", row, r.Status, r.Body, want)
			}
		}
		post(201, "receipt", "", y.dock, 20, 4*time.Minute)
		k.Say(t, op, "move_stock", map[string]any{"item_id": y.item, "from_zone_id": y.dock, "to_zone_id": y.bin,
			"quantity": 15}, 200, nil)
		post(201, "transfer", y.dock, y.bin, 5, 0)
		post(201, "pick", y.bin, y.dock, 3, 0)
		post(201, "scrap", y.bin, "", 2, -time.Minute)
		post(409, "scrap", y.bin, "", 1, -time.Hour)

		post(201, "receipt", "", y.bin, 5, -3*time.Hour)
		post(201, "receipt", "", y.bin, 10, 4*time.Minute)
		post(201, "scrap", y.bin, "", 27, 0)
		post(201, "scrap", y.bin, "", 2, -2*time.Hour)
		post(409, "scrap", y.bin, "", 1, -4*time.Hour)
		k.Verified(t)
	})
}
