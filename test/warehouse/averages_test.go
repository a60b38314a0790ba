package warehouse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// What is in stock is worth its quantity times its average cost, in item_costs, in the file and
// in the figures alike. The average has four decimals: after many receipts and issues that is off
// from what the movements add up to by no more than half of its last decimal for each receipt and
// piece that was there.
func TestAveragesAreOffByTheirRoundingAlone(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		k.Insert(t, testkit.As(actor.Admin), "settings", map[string]any{"section": "stock", "key": "costing_method",
			"value": "moving_average"})
		set(t, k, "adjust_limit_value", 1_000_000)
		g := newGoods(t, k, map[string]any{})
		bin := k.Insert(t, g.as, "zones", map[string]any{"code": "AVG", "name": "Bin"})
		r := rand.New(rand.NewPCG(33, 11))
		var bound, quantity float64
		for range 120 {
			move := map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
				"quantity": 1 + r.IntN(300), "unit_cost": float64(1+r.IntN(99_999)) / 10_000}
			if quantity > 300 && r.IntN(3) == 0 {
				move = map[string]any{"type": "ship", "item_id": g.item, "from_zone_id": bin,
					"quantity": 1 + r.IntN(300)}
				quantity -= float64(move["quantity"].(int))
			} else {
				quantity += float64(move["quantity"].(int))
				bound += 0.00005 * quantity
			}
			k.Insert(t, g.as, "stock_movements", move)
		}
		var sum float64
		for _, m := range testkit.List[struct {
			Type           string
			Quantity, Cost float64
		}](t, k, g.as, "stock_movements?select=type,quantity,cost:unit_cost&item_id=eq."+g.item) {
			if m.Type == "ship" {
				sum -= m.Quantity * m.Cost
			} else {
				sum += m.Quantity * m.Cost
			}
		}
		kept := testkit.List[struct {
			Quantity float64
			Average  float64 `json:"average_cost"`
		}](t, k, g.as, "item_costs?select=quantity,average_cost&item_id=eq."+g.item)[0]
		value := math.Round(kept.Quantity*kept.Average*10_000) / 10_000
		if kept.Quantity != quantity || math.Abs(value-sum) > bound+0.0001 {
			t.Errorf("%v are worth %v, the movements add up to %v: off by more than %v", kept.Quantity, value, sum,
				bound)
		}
		row := fmt.Sprintf(",G-1,Goods,,,%v,EA,%v,%v,EUR", kept.Quantity, kept.Average, value)
		if file := string(k.Get(g.as, "/v1/stock-value.csv").Body); !strings.Contains(file, row) {
			t.Errorf("the file has no row %s", row)
		}
		k.Verified(t)
	})
}
