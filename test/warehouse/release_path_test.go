package warehouse_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"holdfast/internal/testkit"
)

// nearBest is how much longer than its best walk a list may be.
const nearBest = 1.02

// scatterItems puts items into bins anywhere on a floor, one a bin.
func (g *goods) scatterItems(n int, random *rand.Rand) (items []string) {
	g.t.Helper()
	for i := range n {
		no := fmt.Sprintf("P-%02d", i)
		item := g.k.Insert(g.t, g.as, "items", map[string]any{"sku": no, "name": no})
		bin := g.k.Insert(g.t, g.as, "zones", map[string]any{"code": no, "name": no,
			"x": 1 + random.IntN(100), "y": 1 + random.IntN(60)})
		g.k.Insert(g.t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": item,
			"to_zone_id": bin, "quantity": 10})
		items = append(items, item)
	}
	return items
}

// An order that is released beside others has the best walk of its own, not its part of a walk
// through all of them, and says how long that is; so has each list of a batch.
func TestReleasedListsAreWalkedByThemselves(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		random := rand.New(rand.NewPCG(33, 14))
		items := g.scatterItems(24, random)
		confirmedOrder := func() string {
			order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Customer"})
			for i, at := range random.Perm(len(items))[:9] {
				k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": i + 1,
					"item_id": items[at], "qty_ordered": 1})
			}
			g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
			return order
		}
		for _, how := range []map[string]any{{"method": "single"}, {"method": "batch", "max_lines": 7}} {
			how["order_ids"] = []string{confirmedOrder(), confirmedOrder(), confirmedOrder()}
			var out struct {
				Lists []struct {
					ID     string
					RouteM float64 `json:"route_m"`
				} `json:"pick_lists"`
			}
			g.say("release_picks", how, 200, &out)
			if len(out.Lists) < 3 {
				t.Fatalf("%v makes %d lists", how, len(out.Lists))
			}
			for _, l := range out.Lists {
				var walk struct {
					Metres float64 `json:"distance_m"`
					Before float64 `json:"distance_before_m"`
				}
				r := k.Post(g.as, "/functions/v1/plan-pick-path", map[string]any{"pick_list_id": l.ID})
				if r.JSON(t, &walk); r.Status != 200 || walk.Before > nearBest*walk.Metres || walk.Metres == 0 {
					t.Errorf("%s: a list is %v m long, its best walk %v m: %d", how["method"], walk.Before, walk.Metres, r.Status)
				}
				if d := l.RouteM - walk.Before; d > 0.06 || d < -0.06 {
					t.Errorf("%s: a list says %v m and is %v m", how["method"], l.RouteM, walk.Before)
				}
			}
		}
	})
}
