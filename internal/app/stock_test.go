package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// The demonstration data are what the effects would have made of them.
func TestDemoAgreesWithItsLedger(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) { k.Verified(t) })
}

// A movement moves stock, totals and the dashboard in one transaction; stock
// that is not there cannot be taken.
func TestMovement(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := testkit.As(actor.Manager)
		item := k.Insert(t, op, "items", map[string]any{"sku": "T-1", "name": "Test", "base_uom": "KGM", "unit_cost": 2.5,
			"reorder_point": 5})
		bin := k.Insert(t, op, "zones", map[string]any{"code": "T-BIN", "name": "Bin", "max_capacity": 20})
		value := func() (float64, int) {
			var out struct {
				Inventory struct {
					Metrics struct {
						Value float64 `json:"total_stock_value"`
						Low   int     `json:"low_stock_count"`
					}
				}
			}
			k.Get(op, "/functions/v1/get-dashboard-snapshot-v2?lightweight=true").JSON(t, &out)
			return out.Inventory.Metrics.Value, out.Inventory.Metrics.Low
		}
		v0, low0 := value()
		if r := k.Post(op, "/v1/stock_movements", map[string]any{"type": "receipt", "item_id": item, "to_zone_id": bin,
			"quantity": 12.5}); r.Status != 201 {
			t.Fatalf("receipt: %d %s", r.Status, r.Body)
		}
		v1, low1 := value()
		if v1-v0 < 31.24 || v1-v0 > 31.26 || low1 != low0-1 {
			t.Errorf("value %v -> %v, low stock %d -> %d", v0, v1, low0, low1)
		}
		r := k.Get(op, "/v1/items?select=on_hand,available,stock_value,low_stock&id=eq."+item)
		if got := string(r.Body); got != `[{"on_hand":12.5,"available":12.5,"stock_value":31.25,"low_stock":false}]` {
			t.Errorf("item %s", got)
		}
		r = k.Get(op, "/v1/zones?select=load_units,utilization&id=eq."+bin)
		if got := string(r.Body); got != `[{"load_units":12.5,"utilization":62.5}]` {
			t.Errorf("zone %s", got)
		}
		r = k.Post(op, "/v1/stock_movements", map[string]any{"type": "ship", "item_id": item, "from_zone_id": bin,
			"quantity": 13})
		if r.Status != 409 || !strings.Contains(string(r.Body), "HF002") {
			t.Errorf("more than there is: %d %s", r.Status, r.Body)
		}
		for _, q := range []float64{8, 1} { // 4.5 and 3.5 left: only the first crosses the reorder point
			if r := k.Post(op, "/v1/stock_movements", map[string]any{"type": "ship", "item_id": item, "from_zone_id": bin,
				"quantity": q}); r.Status != 201 {
				t.Errorf("ship: %d %s", r.Status, r.Body)
			}
		}
		if n := k.Told(t, "stock.low"); n != 1 {
			t.Errorf("stock.low was told %d times, want once", n)
		}
		if r := k.Post(op, "/v1/stock_movements",
			map[string]any{"type": "receipt", "item_id": item, "to_zone_id": k.Foreign(t, "zones"),
				"quantity": 1}); r.Status != 409 ||
			!strings.Contains(string(r.Body), "23503") {
			t.Errorf("into another tenant's zone: %d %s", r.Status, r.Body)
		}
		k.Verified(t)
	})
}

// On PostgreSQL counters are folded; the sums stay what they were.
func TestFoldCounters(t *testing.T) {
	k := testkit.New(t, db.PostgreSQL)
	for i := range 5 {
		k.Insert(t, testkit.As(actor.Manager), "zones", map[string]any{"code": "F-" + string(rune('A'+i)), "name": "Fold"})
	}
	if err := k.App.Store.FoldCounters(t.Context(), demo.North); err != nil {
		t.Fatal(err)
	}
	k.Verified(t)
}
