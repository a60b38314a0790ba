package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A quantity that is finer than its unit takes is refused wherever it is said, at
// its place, and nothing moves.
func TestWholePieces(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		k.Insert(t, as, "uoms", map[string]any{"code": "WP", "name": "Piece", "decimals": 0})
		k.Insert(t, as, "uoms", map[string]any{"code": "WC", "name": "Case", "decimals": 1})
		g := newGoods(t, k, map[string]any{"base_uom": "WP"})
		k.Insert(t, as, "item_uoms", map[string]any{"item_id": g.item, "uom": "WC", "factor": 12})
		bin := g.bin("G-A", 20, "")
		order, line := g.order(6)
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		var count struct {
			Task struct{ ID string } `json:"count_task"`
		}
		g.say("start_count", map[string]any{"zone_id": bin, "item_id": g.item}, 200, &count)
		g.bin("G-R", 30, "")
		face := k.Insert(t, as, "zones", map[string]any{"code": "G-F", "name": "G-F"})
		rule := k.Insert(t, as, "replenish_rules", map[string]any{"item_id": g.item, "pick_zone_id": face, "min_qty": 4.5,
			"max_qty": 10.5})
		var planned struct {
			Tasks []struct {
				ID       string
				Quantity float64
			}
		}
		g.say("plan_replenishment", map[string]any{"rule_ids": []string{rule}}, 200, &planned)
		if len(planned.Tasks) != 1 || planned.Tasks[0].Quantity != 10 {
			t.Fatalf("half a piece is to be brought: %+v", planned)
		}
		before := books(t, k)
		refused := func(method, path, place string, in map[string]any) {
			t.Helper()
			r := k.Call(testkit.Request{Method: method, Path: "/v1/" + path, As: as, Body: in})
			if r.Status != 400 || !strings.Contains(string(r.Body), "HF003") || !strings.Contains(string(r.Body), place) {
				t.Errorf("%s %s: %d %.300s, want 400 and %s", method, path, r.Status, r.Body, place)
			}
		}
		of := func(q float64) []any { return []any{map[string]any{"order_line_id": line, "quantity": q}} }
		new := map[string]any{"order_id": order, "line_no": 9, "item_id": g.item, "qty_ordered": 1.5}
		refused("POST", "order_lines", "qty_ordered", new)
		new["uom"], new["qty_ordered"] = "WC", 0.55
		refused("POST", "order_lines", "qty_ordered", new)
		refused("PATCH", "order_lines?id=eq."+line, "qty_ordered", map[string]any{"qty_ordered": 6.5})
		refused("PATCH", "order_lines?id=eq."+line, "qty_cancelled", map[string]any{"qty_cancelled": 0.5})
		refused("POST", "stock_movements", "quantity", map[string]any{"type": "adjust_gain", "item_id": g.item,
			"to_zone_id": bin, "quantity": 0.5})
		refused("POST", "stock_movements", "quantity",
			map[string]any{"type": "transfer", "item_id": g.item, "from_zone_id": bin, "to_zone_id": g.lane, "quantity": 0.5})
		refused("POST", "stock_counts", "counted", map[string]any{"item_id": g.item, "zone_id": bin, "counted": 15.5})
		refused("POST", "rpc/pick_line", "quantity", map[string]any{"pick_line_id": picks[0], "quantity": 1.5,
			"to_zone_id": g.lane})
		refused("POST", "rpc/unpick", "quantity", map[string]any{"pick_line_id": picks[0], "quantity": 0.5,
			"to_zone_id": bin})
		refused("POST", "rpc/short_pick", "found", map[string]any{"pick_line_id": picks[0], "found": 4.5,
			"to_zone_id": g.lane, "reason": "empty"})
		refused("POST", "rpc/pack", "lines[0].quantity", map[string]any{"order_id": order, "lines": of(1.5)})
		refused("POST", "rpc/create_shipment", "lines[0].quantity", map[string]any{"lines": of(1.5)})
		refused("POST", "rpc/put_away", "quantity", map[string]any{"item_id": g.item, "from_zone_id": bin,
			"to_zone_id": g.lane, "quantity": 0.5})
		refused("POST", "rpc/replenish", "quantity", map[string]any{"task_id": planned.Tasks[0].ID, "quantity": 0.5})
		refused("POST", "rpc/move_stock", "quantity", map[string]any{"item_id": g.item, "from_zone_id": bin,
			"to_zone_id": g.lane, "quantity": 0.5})
		refused("POST", "rpc/adjust_stock", "quantity", map[string]any{"item_id": g.item, "zone_id": bin, "quantity": 0.5,
			"reason_code": "found"})
		refused("POST", "rpc/enter_count", "lines[0].counted",
			map[string]any{"count_task_id": count.Task.ID, "lines": []any{map[string]any{"counted": 15.5}}})
		if after := books(t, k); after != before {
			t.Errorf("something moved:\n%s\nbefore:\n%s", after, before)
		}
		g.packed1(order, line, 4)
		sh := g.consigned(line, 4, nil)
		g.say("dispatch", map[string]any{"shipment_id": sh}, 200, nil)
		refused("POST", "rpc/deliver", "lines[0].damaged",
			map[string]any{"shipment_id": sh, "lines": []any{map[string]any{"order_line_id": line, "damaged": 0.5}}})
		k.Verified(t)
	})
}

// A line that came before its unit was bounded, or in a file, is refused when its
// order is confirmed.
func TestLinesFinerThanTheirUnit(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		unit := k.Insert(t, as, "uoms", map[string]any{"code": "WL", "name": "Length", "decimals": 1})
		g := newGoods(t, k, map[string]any{"base_uom": "WL"})
		g.bin("G-A", 20, "")
		order, _ := g.order(1.5)
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/uoms/" + unit, As: as,
			Body: map[string]any{"decimals": 0}}); r.Status != 200 {
			t.Fatalf("the unit: %d %s", r.Status, r.Body)
		}
		if r := g.say("confirm_order", map[string]any{"order_id": order}, 409, nil); !strings.Contains(string(r.Body),
			"asks for 1.5, finer than unit WL takes") {
			t.Errorf("confirmed: %s", r.Body)
		}
		whole, _ := g.order(2)
		g.say("confirm_order", map[string]any{"order_id": whole}, 200, nil)
		k.Verified(t)
	})
}
