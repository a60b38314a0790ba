package warehouse_test

import (
	"net/http"
	"testing"

	"holdfast/internal/testkit"
)

// How much a unit of an item holds is kept while an open order has a line in it, bought
// or sold; a change of anything else is none of that, nor is one after the end.
func TestFactorsAreKeptUnderOpenOrders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 100, "")
		box := k.Insert(t, g.as, "item_uoms", map[string]any{"item_id": g.item, "uom": "BX", "factor": 12})
		other := k.Insert(t, g.as, "item_uoms", map[string]any{"item_id": g.item, "uom": "PL", "factor": 40})
		call := func(method, id string, body any) testkit.Response {
			return k.Call(testkit.Request{Method: method, Path: "/v1/item_uoms?id=eq." + id, As: g.as, Body: body})
		}
		taken := func(r testkit.Response) {
			t.Helper()
			if r.Status >= 300 {
				t.Errorf("%d %s", r.Status, r.Body)
			}
		}
		for _, kind := range []string{"outbound", "inbound"} {
			order := k.Insert(t, g.as, "orders", map[string]any{"type": kind})
			k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": g.item, "uom": "bx",
				"qty_ordered": 2})
			refused(t, call(http.MethodPatch, box, map[string]any{"factor": 10}), "HF004", "factor")
			g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
			refused(t, call(http.MethodPatch, box, map[string]any{"factor": 10}), "HF004", "factor")
			refused(t, call(http.MethodDelete, box, nil), "HF004", "factor")
			taken(call(http.MethodPatch, box, map[string]any{"factor": 12, "barcode": kind}))
			taken(call(http.MethodPatch, other, map[string]any{"factor": 41}))
			g.say("cancel_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
		}
		taken(call(http.MethodPatch, box, map[string]any{"factor": 10}))
		taken(call(http.MethodDelete, box, nil))
	})
}

// The base unit of an item, in which lines of open orders are counted, is kept as well, also
// while there is no stock of it.
func TestBaseUnitIsKeptUnderOpenOrders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		order, _ := confirmed(t, k, "inbound", g.item, 24, nil)
		weigh := func() testkit.Response {
			return k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/items?id=eq." + g.item, As: g.as,
				Body: map[string]any{"base_uom": "KG"}})
		}
		refused(t, weigh(), "HF004", "base_uom")
		g.say("cancel_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
		if r := weigh(); r.Status >= 300 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})
}
