package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Of an order on hold nothing more is picked, packed for or sent; its promises stay,
// and it goes on where it stood.
func TestHeldOrdersWait(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 20, "")
		order, line := g.order(6)
		list, picks := g.released(order)
		sh := g.consigned(line, 6, nil)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		waiting, _ := g.order(3)
		g.say("confirm_order", map[string]any{"order_id": waiting}, 200, nil)
		ready, packed := g.order(2)
		_, more := g.released(ready)
		g.say("pick_line", map[string]any{"pick_line_id": more[0], "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		full := g.consigned(packed, 2, nil)
		g.packed(full, packed, 2)
		for _, o := range []string{order, waiting, ready} {
			g.say("hold_order", map[string]any{"order_id": o, "reason": "credit"}, 200, nil)
		}
		before := books(t, k)
		some := []any{map[string]any{"order_line_id": line, "quantity": 2}}
		for verb, in := range map[string]map[string]any{
			"pick_line":      {"pick_line_id": picks[0], "quantity": 1, "to_zone_id": g.lane},
			"short_pick":     {"pick_line_id": picks[0], "found": 3, "reason": "torn"},
			"release_picks":  {"order_ids": []string{waiting}},
			"pack":           {"shipment_id": sh, "lines": some},
			"dispatch":       {"shipment_id": full},
			"allocate_order": {"order_id": waiting},
		} {
			if r := k.Post(g.as, "/v1/rpc/"+verb, in); r.Status != 409 || !strings.Contains(string(r.Body), "hold") {
				t.Errorf("%s of an order on hold: %d %.300s", verb, r.Status, r.Body)
			}
		}
		if after := books(t, k); after != before {
			t.Errorf("something moved:\n%s\nbefore:\n%s", after, before)
		}
		k.Say(t, testkit.As(actor.Manager), "resume_order", map[string]any{"order_id": order}, 200, nil)
		g.is("orders?select=status,stage&id=eq."+order, `[{"status":"in_progress","stage":"picking"}]`)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"completed"}]`)
		k.Verified(t)
	})
}
