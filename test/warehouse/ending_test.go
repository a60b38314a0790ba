package warehouse_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A pick list of which nothing is left to pick ends with the order that it was for,
// cancelled or its promise given back; one with lines of another order goes on.
func TestListsWithoutOpenLinesClose(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 20, "")
		for verb, in := range map[string]map[string]any{"cancel_order": {}, "deallocate_order": {}} {
			order, _ := g.order(4)
			list, _ := g.released(order)
			in["order_id"] = order
			g.say(verb, in, 200, nil)
			g.is("pick_lists?select=status&id=eq."+list, `[{"status":"cancelled"}]`)
		}

		first, _ := g.order(3)
		second, _ := g.order(2)
		for _, order := range []string{first, second} {
			g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		}
		var out struct {
			Lists []struct{ ID string } `json:"pick_lists"`
		}
		g.say("release_picks", map[string]any{"order_ids": []string{first, second}, "method": "batch"}, 200, &out)
		g.say("cancel_order", map[string]any{"order_id": first}, 200, nil)
		g.is("pick_lists?select=status&id=eq."+out.Lists[0].ID, `[{"status":"released"}]`)
		g.say("cancel_order", map[string]any{"order_id": second}, 200, nil)
		g.is("pick_lists?select=status&id=eq."+out.Lists[0].ID, `[{"status":"cancelled"}]`)
		k.Verified(t)
	})
}

// A wave is released without the order of it that was cancelled, and ends with the last
// of its orders.
func TestCancelledOrderLeavesItsWave(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 20, "")
		planned := func() (wave, first, second string) {
			first, _ = g.order(3)
			second, _ = g.order(2)
			for _, order := range []string{first, second} {
				g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
			}
			var out struct{ Wave struct{ ID string } }
			g.say("plan_wave", map[string]any{"order_ids": []string{first, second}}, 200, &out)
			return out.Wave.ID, first, second
		}

		wave, first, _ := planned()
		g.say("cancel_order", map[string]any{"order_id": first}, 200, nil)
		var out struct {
			Lines []struct{ Qty float64 }
		}
		g.say("release_picks", map[string]any{"wave_id": wave}, 200, &out)
		if len(out.Lines) != 1 || out.Lines[0].Qty != 2 {
			t.Errorf("the wave without its cancelled order: %+v", out)
		}

		wave, first, second := planned()
		g.say("cancel_order", map[string]any{"order_id": first}, 200, nil)
		g.is("waves?select=status&id=eq."+wave, `[{"status":"planned"}]`)
		g.say("cancel_order", map[string]any{"order_id": second}, 200, nil)
		g.is("waves?select=status&id=eq."+wave, `[{"status":"cancelled"}]`)
		k.Verified(t)
	})
}

// Goods of a cancelled order that lie in the lane get tasks that bring them to a place,
// once, and are brought there.
func TestCancelledGoodsArePutAway(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenPicked(t, k, 6)
		ship := g.consigned(line, 4, nil)
		g.packed(ship, line, 4)
		g.say("hold_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
		g.say("cancel_order", map[string]any{"order_id": order}, 200, nil)
		tasks := testkit.List[struct {
			ID, Status string
			From       string `json:"from_zone_id"`
			To         string `json:"to_zone_id"`
			Quantity   float64
		}](t, k, g.as, "putaway_tasks?select=id,status,from_zone_id,to_zone_id,quantity&item_id=eq."+g.item)
		if len(tasks) != 1 || tasks[0].Status != "open" || tasks[0].From != g.lane || tasks[0].Quantity != 6 {
			t.Fatalf("tasks of the goods in the lane: %+v", tasks)
		}
		g.say("put_away", map[string]any{"task_id": tasks[0].ID, "to_zone_id": g.bins["G-A"]}, 200, nil)
		g.is("stock_levels?select=quantity&quantity=gt.0&zone_id=eq."+g.bins["G-A"], `[{"quantity":6}]`)
		k.Verified(t)
	})
}

// A line whose quantity is cancelled, in part or whole, takes it off the shipments that
// have not left; what is packed travels.
func TestCancelledQuantityLeavesShipments(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		order, line := g.order(10)
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		first, second := g.consigned(line, 4, nil), g.consigned(line, 6, nil)
		g.patched("order_lines/"+line, map[string]any{"qty_cancelled": 3}, 200)
		g.is("shipment_lines?select=quantity&shipment_id=eq."+second, `[{"quantity":3}]`)
		g.patched("order_lines/"+line, map[string]any{"qty_cancelled": 6}, 200)
		g.is("shipments?select=status&id=eq."+second, `[{"status":"cancelled"}]`)
		g.is("shipment_lines?select=quantity&shipment_id=eq."+first, `[{"quantity":4}]`)
		g.patched("order_lines/"+line, map[string]any{"qty_cancelled": 10}, 200)
		g.is("shipments?select=status&id=eq."+first, `[{"status":"cancelled"}]`)
		k.Verified(t)
	})
}

// A shipment that was announced for an order, in or out, ends with it; with another order
// in it, it goes on.
func TestAnnouncedShipmentsFollowTheirOrders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		for kind, way := range map[string]string{"inbound": "inbound", "outbound": "outbound"} {
			for ended, end := range map[string]func(order string) testkit.Response{
				"cancelled": func(order string) testkit.Response {
					return k.Post(g.as, "/v1/rpc/cancel_order", map[string]any{"order_id": order})
				},
				"deleted": func(order string) testkit.Response {
					return k.Call(testkit.Request{Method: http.MethodDelete, Path: "/v1/orders/" + order, As: g.as})
				},
			} {
				order := k.Insert(t, g.as, "orders", map[string]any{"type": kind})
				other := k.Insert(t, g.as, "orders", map[string]any{"type": kind})
				alone := k.Insert(t, g.as, "shipments", map[string]any{"direction": way, "order_ids": []string{order}})
				both := k.Insert(t, g.as, "shipments", map[string]any{"direction": way, "order_ids": []string{order, other}})
				if r := end(order); r.Status/100 != 2 {
					t.Fatalf("%s order %s: %d %s", kind, ended, r.Status, r.Body)
				}
				g.is("shipments?select=status&id=eq."+alone, `[{"status":"cancelled"}]`)
				g.is("shipments?select=status,order_ids&id=eq."+both, `[{"status":"planned","order_ids":["`+other+`"]}]`)
			}
		}
		k.Verified(t)
	})
}

// A pick list closes with the last line that is cancelled or deleted on it.
func TestListsCloseWithTheirLastLine(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 20, "")
		for _, method := range []string{http.MethodPatch, http.MethodDelete} {
			order, _ := g.order(4)
			list, lines := g.released(order)
			in := testkit.Request{Method: method, Path: "/v1/pick_lines/" + lines[0], As: g.as}
			if method == http.MethodPatch {
				in.Body = map[string]any{"status": "cancelled"}
			}
			if r := k.Call(in); r.Status/100 != 2 {
				t.Fatalf("%s of a line: %d %s", method, r.Status, r.Body)
			}
			g.is("pick_lists?select=status&id=eq."+list, `[{"status":"cancelled"}]`)
			g.say("release_picks", map[string]any{"order_ids": []string{order}}, 200, nil)
		}
		k.Verified(t)
	})
}

// A wave goes on without its order on hold; where none may be picked, it says so.
func TestHeldOrderLeavesItsWaveReleasable(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 20, "")
		first, _ := g.order(3)
		second, _ := g.order(2)
		for _, order := range []string{first, second} {
			g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		}
		var out struct{ Wave struct{ ID string } }
		g.say("plan_wave", map[string]any{"order_ids": []string{first, second}}, 200, &out)
		for _, order := range []string{first, second} {
			g.say("hold_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
		}
		refused(t, g.say("release_picks", map[string]any{"wave_id": out.Wave.ID}, 409, nil), "on hold")
		g.say("resume_order", map[string]any{"order_id": second}, 200, nil)
		g.say("release_picks", map[string]any{"wave_id": out.Wave.ID}, 200, nil)
		k.Verified(t)
	})
}

// An order that came in or left in part is not cancelled, by the verb or by its state;
// close_order ends its rest, which completes it.
func TestCloseOrder(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		order, line := confirmed(t, k, "inbound", g.item, 10, nil)
		refused(t, g.say("close_order", map[string]any{"order_id": order}, 409, nil), "cancel it instead")
		g.say("receive", map[string]any{"order_id": order, "zone_id": dock,
			"lines": []any{map[string]any{"item_id": g.item, "quantity": 4}}}, 200, nil)
		g.say("hold_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
		refused(t, g.say("cancel_order", map[string]any{"order_id": order}, 409, nil), "has received 4", "close_order")
		g.patched("orders/"+order, map[string]any{"status": "cancelled"}, 409)
		refused(t, g.say("close_order", map[string]any{"order_id": order}, 409, nil), "resume it first")
		g.say("resume_order", map[string]any{"order_id": order}, 200, nil)
		g.say("close_order", map[string]any{"order_id": order, "reason": "sold out"}, 200, nil)
		g.is("orders?select=status,stage,hold_reason&id=eq."+order,
			`[{"status":"completed","stage":"received","hold_reason":"sold out"}]`)
		g.is("order_lines?select=qty_received,qty_cancelled&id=eq."+line, `[{"qty_received":4,"qty_cancelled":6}]`)
		refused(t, g.say("close_order", map[string]any{"order_id": order}, 409, nil), "completed")
		if r := k.Post(testkit.As(actor.Manager), "/v1/rpc/close_order",
			map[string]any{"order_id": k.Foreign(t, "orders")}); r.Status != 404 {
			t.Errorf("another tenant's order: %d %s", r.Status, r.Body)
		}
		k.Verified(t)
	})
}

// The rest of an order that left in part: its promises, packages, shipments and picks
// end, and its goods in the lane are put away.
func TestCloseOrderThatLeftInPart(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, line := g.order(10)
		list, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 7, "to_zone_id": g.lane}, 200, nil)
		first, second := g.consigned(line, 4, nil), g.consigned(line, 6, nil)
		g.packed(first, line, 4)
		g.say("pack", map[string]any{"shipment_id": second, "lines": part(line, 2)}, 200, nil)
		g.say("dispatch", map[string]any{"shipment_id": first}, 200, nil)
		g.say("close_order", map[string]any{"order_id": order}, 200, nil)
		g.is("orders?select=status,stage&id=eq."+order, `[{"status":"completed","stage":"shipped"}]`)
		g.is("order_lines?select=qty_shipped,qty_allocated,qty_cancelled&id=eq."+line,
			`[{"qty_shipped":4,"qty_allocated":4,"qty_cancelled":6}]`)
		g.is("shipments?select=status&id=eq."+second, `[{"status":"cancelled"}]`)
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"completed"}]`)
		g.is("putaway_tasks?select=quantity.sum()&item_id=eq."+g.item, `[{"sum":3}]`)
		if boxes := g.rows("packages?select=id&status=neq.emptied&shipment_id=eq." + second); strings.Contains(boxes, "id") {
			t.Errorf("packages of the cancelled shipment: %s", boxes)
		}
		k.Verified(t)
	})
}

// A wave that was planned for the rest of an order ends with the rest.
func TestCloseOrderEndsItsWave(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 4, "")
		order, line := g.order(10)
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		first := g.consigned(line, 4, nil)
		g.packed(first, line, 4)
		g.say("dispatch", map[string]any{"shipment_id": first}, 200, nil)

		g.bin("G-B", 6, "")
		g.say("allocate_order", map[string]any{"order_id": order}, 200, nil)
		var planned struct{ Wave struct{ ID string } }
		g.say("plan_wave", map[string]any{"order_ids": []string{order}}, 200, &planned)
		g.say("close_order", map[string]any{"order_id": order}, 200, nil)
		g.is("waves?select=status&id=eq."+planned.Wave.ID, `[{"status":"cancelled"}]`)
		k.Verified(t)
	})
}

// Nothing is made by hand for what has ended: no pick line, alone or among others, and no
// shipment, new or by a change of one.
func TestNothingIsMadeForWhatEnded(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		bin := g.bin("G-A", 30, "")
		live, liveLine := g.order(3)
		list, _ := g.released(live)
		cancelled, cancelledLine := g.order(3)
		g.say("cancel_order", map[string]any{"order_id": cancelled}, 200, nil)
		closed, closedLine := g.order(4)
		_, picks := g.released(closed)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		left := g.consigned(closedLine, 2, nil)
		g.packed(left, closedLine, 2)
		g.say("dispatch", map[string]any{"shipment_id": left}, 200, nil)
		g.say("close_order", map[string]any{"order_id": closed}, 200, nil)
		partly, noneLeft := g.order(5)
		g.patched("order_lines/"+noneLeft, map[string]any{"qty_cancelled": 5}, 200)
		seq := 10
		pick := func(line string) map[string]any {
			seq++
			return map[string]any{"pick_list_id": list, "seq": seq, "order_line_id": line, "zone_id": bin,
				"item_id": g.item, "qty": 1}
		}
		is409 := func(r testkit.Response, words ...string) {
			t.Helper()
			if r.Status != http.StatusConflict {
				t.Errorf("%d %s, want 409", r.Status, r.Body)
			}
			refused(t, r, words...)
		}
		for line, is := range map[string]string{cancelledLine: "is cancelled", closedLine: "is completed",
			noneLeft: "is cancelled in this line"} {
			is409(k.Post(g.as, "/v1/pick_lines", pick(line)), is, "order_line_id")
			is409(k.Post(g.as, "/v1/pick_lines", []any{pick(liveLine), pick(line)}), is, "order_line_id", "row 2")
		}
		made := k.Insert(t, g.as, "pick_lines", pick(liveLine))
		is409(k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/pick_lines/" + made, As: g.as,
			Body: map[string]any{"order_line_id": cancelledLine}}), "is cancelled", "order_line_id")
		over := k.Insert(t, g.as, "pick_lists", map[string]any{})
		g.patched("pick_lists/"+over, map[string]any{"status": "cancelled"}, 200)
		row := pick(liveLine)
		row["pick_list_id"] = over
		is409(k.Post(g.as, "/v1/pick_lines", row), "is cancelled", "pick_list_id")

		for order, is := range map[string]string{cancelled: "is cancelled", closed: "is completed"} {
			of := map[string]any{"order_ids": []string{live, order}}
			is409(k.Post(g.as, "/v1/shipments", of), is, "order_ids")
			two := []any{map[string]any{"order_ids": []string{live}}, of}
			is409(k.Post(g.as, "/v1/shipments", two), is, "order_ids", "row 2")
			ship := k.Insert(t, g.as, "shipments", map[string]any{"order_ids": []string{partly}})
			change := testkit.Request{Method: http.MethodPatch, Path: "/v1/shipments/" + ship, As: g.as, Body: of}
			is409(k.Call(change), is, "order_ids")
		}
		k.Verified(t)
	})
}

// A list whose goods were picked is cancelled also where their bin was filled meanwhile: they lay
// there, and go back.
func TestCancelledPicksGoBackToAFullBin(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		bin, other := g.bin("G-A", 5, ""), g.bin("G-B", 5, "")
		order, _ := g.order(10)
		list, picks := g.released(order)
		first := list1(t, k, g.as, "pick_lines?select=id:zone_id&id=eq."+picks[0])
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 5, "to_zone_id": g.lane}, 200, nil)
		g.bin(map[string]string{bin: "G-A", other: "G-B"}[first], 5, "")
		g.patched("zones/"+first, map[string]any{"max_capacity": 5}, 200)
		g.patched("pick_lists/"+list, map[string]any{"status": "cancelled"}, 200)
		g.is("stock_levels?select=quantity&zone_id=eq."+first, `[{"quantity":10}]`)
		k.Verified(t)
	})
}
