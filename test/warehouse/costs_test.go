package warehouse_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/testkit"
)

// costed are the movements of an item as they were posted.
const costed = "stock_movements?select=type,quantity,unit_cost&order=id&item_id=eq."

// A movement keeps what its item cost when it was posted: another cost holds for what
// moves from then on, and a reversal has the cost of what it reverses.
func TestMovementsKeepTheirCost(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2.5})
		bin := g.bin("G-A", 10, "")
		first := testkit.List[struct{ ID string }](t, k, g.as, "stock_movements?select=id&item_id=eq."+g.item)[0].ID
		g.patched("items/"+g.item, map[string]any{"unit_cost": 4}, http.StatusOK)
		g.is(costed+g.item, `[{"type":"receipt","quantity":10,"unit_cost":2.5}]`)

		leave := func(more map[string]any) map[string]any {
			m := map[string]any{"type": "adjust_loss", "item_id": g.item, "from_zone_id": bin, "quantity": 2}
			for name, v := range more {
				m[name] = v
			}
			return m
		}
		k.Insert(t, g.as, "stock_movements", leave(nil))
		k.Insert(t, g.as, "stock_movements", leave(map[string]any{"reversal_of": first}))
		k.Insert(t, g.as, "stock_movements", leave(map[string]any{"reversal_of": first, "unit_cost": 2.5}))
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
			"quantity": 3, "unit_cost": 3.75})
		want := `[{"type":"receipt","quantity":10,"unit_cost":2.5},{"type":"adjust_loss","quantity":2,"unit_cost":4},` +
			`{"type":"adjust_loss","quantity":2,"unit_cost":2.5},{"type":"adjust_loss","quantity":2,"unit_cost":2.5},` +
			`{"type":"receipt","quantity":3,"unit_cost":3.75}]`
		g.is(costed+g.item, want)

		r := k.Post(g.as, "/v1/stock_movements", leave(map[string]any{"reversal_of": first, "unit_cost": 4}))
		if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "unit_cost") {
			t.Errorf("a reversal at another cost: %d %s", r.Status, r.Body)
		}
		g.patched("items/"+g.item, map[string]any{"unit_cost": 9}, http.StatusOK)
		g.is(costed+g.item, want)
		k.Verified(t)
	})
}

// Whatever moves an order's goods posts what they cost then.
func TestWorkPostsCosts(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2.5})
		g.bin("G-A", 10, "")
		order, _ := g.order(4)
		_, lines := g.released(order)
		g.patched("items/"+g.item, map[string]any{"unit_cost": 4}, http.StatusOK)
		g.say("pick_line", map[string]any{"pick_line_id": lines[0], "quantity": 4}, 200, nil)
		g.is(costed+g.item, `[{"type":"receipt","quantity":10,"unit_cost":2.5},{"type":"pick","quantity":4,"unit_cost":4}]`)
		g.patched("items/"+g.item, map[string]any{"unit_cost": 5}, http.StatusOK)
		g.say("adjust_stock", map[string]any{"item_id": g.item, "zone_id": g.bins["G-A"], "quantity": -1,
			"reason_code": "damage"}, 200, nil)
		g.is("stock_movements?select=type&unit_cost=is.null&item_id=eq."+g.item, `[]`)
		g.is("stock_movements?select=unit_cost&type=eq.adjust_loss&item_id=eq."+g.item, `[{"unit_cost":5}]`)
		k.Verified(t)
	})
}

// What an item of the house costs is not told to the client whose goods of it move; what
// an item of the client's costs, which the client sees, is.
func TestCostsOfClientsGoods(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 2.5})
		bin := g.bin("G-A", 10, "")
		owner := k.Insert(t, g.as, "goods_owners", map[string]any{"code": "COSTS", "name": "Client"})
		own := k.Insert(t, g.as, "items", map[string]any{"sku": "G-OWN", "name": "The client's", "unit_cost": 7,
			"owner_id": owner})
		for _, item := range []string{g.item, own} {
			k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": item, "to_zone_id": bin,
				"quantity": 1,
				"owner_id": owner})
		}
		g.is("stock_movements?select=unit_cost&order=id&owner_id=eq."+owner, `[{"unit_cost":null},{"unit_cost":7}]`)
		k.Verified(t)
	})
}
