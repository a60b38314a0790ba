package warehouse_test

import (
	"fmt"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// onPlate is what a plate holds, place by place.
func (g *goods) onPlate(number string) (out string) {
	g.t.Helper()
	for _, l := range testkit.List[struct {
		Quantity, Reserved float64
		Zones              struct{ Code string }
		Items              struct{ SKU string }
	}](g.t, g.k, g.as, "stock_levels?select=quantity,reserved,zones(code),items(sku)&quantity=gt.0&lpn=eq."+number+
		"&order=quantity.desc") {
		out += fmt.Sprintf("%s %v/%v %s;", l.Zones.Code, l.Quantity, l.Reserved, l.Items.SKU)
	}
	return out
}

// A plate moves with all that is on it: other items, what is barred, and what is promised, whose
// promise and pick line follow. What was picked off it is on it no more.
func TestPlatesMoveWhole(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, op := newGoods(t, k, map[string]any{}), testkit.As(actor.Operator)
		zone := func(code string, more map[string]any) string {
			row := map[string]any{"code": code, "name": code}
			for name, v := range more {
				row[name] = v
			}
			return k.Insert(t, g.as, "zones", row)
		}
		dock, bin := zone("PL-DOCK", map[string]any{"kind": "dock"}), zone("PL-BIN", nil)
		other := k.Insert(t, g.as, "items", map[string]any{"sku": "G-2", "name": "Other goods"})
		k.Say(t, op, "receive", map[string]any{"zone_id": dock, "lines": []any{
			map[string]any{"item_id": g.item, "quantity": 40, "lpn": "P-1"},
			map[string]any{"item_id": other, "quantity": 6, "lpn": "P-1"},
			map[string]any{"item_id": g.item, "quantity": 2, "lpn": "P-1", "discrepancy": "damaged"},
			map[string]any{"item_id": g.item, "quantity": 7, "lpn": "P-2"},
		}}, 200, nil)
		k.Say(t, op, "move_plate", map[string]any{"lpn": "P-1", "to_zone_id": bin}, 200, nil)
		if got := g.onPlate("P-1"); got != "PL-BIN 40/0 G-1;PL-BIN 6/0 G-2;PL-BIN 2/0 G-1;" {
			t.Errorf("put away: %s", got)
		}
		g.is("putaway_tasks?select=lpn,status,quantity_done&item_id=eq."+g.item+"&order=quantity",
			`[{"lpn":"P-2","status":"open","quantity_done":0},{"lpn":"P-1","status":"done","quantity_done":40}]`)

		order, _ := g.order(40)
		_, picks := g.released(order)
		second := zone("PL-SECOND", nil)
		k.Say(t, op, "move_plate", map[string]any{"lpn": "P-1", "to_zone_id": second}, 200, nil)
		if got := g.onPlate("P-1"); got != "PL-SECOND 40/40 G-1;PL-SECOND 6/0 G-2;PL-SECOND 2/0 G-1;" {
			t.Errorf("promised: %s", got)
		}
		g.is("pick_lines?select=zone_id&id=eq."+picks[0], fmt.Sprintf(`[{"zone_id":"%s"}]`, second))
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 15, "to_zone_id": g.lane,
			"zone_scan": "PL-SECOND"}, 200, nil)
		k.Say(t, op, "move_plate", map[string]any{"lpn": "P-1", "to_zone_id": bin}, 200, nil)
		if got := g.onPlate("P-1"); got != "PL-BIN 25/25 G-1;PL-BIN 6/0 G-2;PL-BIN 2/0 G-1;" {
			t.Errorf("picked in part: %s", got)
		}
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 25, "to_zone_id": g.lane,
			"zone_scan": "PL-BIN"}, 200, nil)
		k.Verified(t)
	})
}

// A plate is in one place, and what cannot be moves nothing.
func TestPlatesAreInOnePlace(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, op, admin := newGoods(t, k, map[string]any{}), testkit.As(actor.Operator), testkit.As(actor.Admin)
		hamburg := k.Insert(t, admin, "sites", map[string]any{"code": "PL-HH", "name": "Hamburg"})
		berlin := k.Insert(t, admin, "sites", map[string]any{"code": "PL-B", "name": "Berlin"})
		zone := func(code, kind, site string, more map[string]any) string {
			row := map[string]any{"code": code, "name": code, "kind": kind, "site_id": site}
			for name, v := range more {
				row[name] = v
			}
			return k.Insert(t, g.as, "zones", row)
		}
		dock, bin := zone("PL-DOCK", "dock", hamburg, nil), zone("PL-BIN", "bin", hamburg, nil)
		small := zone("PL-SMALL", "bin", hamburg, map[string]any{"max_capacity": 10})
		blocked := zone("PL-BLOCKED", "bin", hamburg, map[string]any{"status": "blocked"})
		far := zone("PL-FAR", "bin", berlin, nil)
		receive := func(zone string, want int) testkit.Response {
			t.Helper()
			return k.Say(t, op, "receive", map[string]any{"zone_id": zone,
				"lines": []any{map[string]any{"item_id": g.item, "quantity": 20, "lpn": "P-1"}}}, want, nil)
		}
		receive(dock, 200)
		receive(dock, 200)
		k.Say(t, op, "move_plate", map[string]any{"lpn": " P-1 ", "to_zone_id": bin}, 200, nil)
		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "C", "site_id": hamburg})
		k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": g.item,
			"qty_ordered": 5})
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		before := books(t, k)
		for _, c := range []struct {
			lpn, zone string
			status    int
			says      []string
		}{
			{"P-1", bin, 409, []string{"P-1", "PL-BIN", "to_zone_id"}},
			{"P-1", small, 409, []string{"HF021", "PL-SMALL"}},
			{"P-1", blocked, 409, []string{"PL-BLOCKED", "blocked"}},
			{"P-1", far, 409, []string{"5", "P-1", "PL-FAR", "deallocate_order"}},
			{"P-1", k.Foreign(t, "zones"), 404, []string{"to_zone_id"}},
			{"P-9", bin, 404, []string{"lpn"}},
			{"", bin, 400, []string{"lpn"}},
		} {
			in := map[string]any{"lpn": c.lpn, "to_zone_id": c.zone}
			refused(t, k.Say(t, op, "move_plate", in, c.status, nil), c.says...)
		}
		refused(t, receive(dock, 409), "P-1", "PL-BIN", "move_plate")
		refused(t, g.say("adjust_stock", map[string]any{"item_id": g.item, "zone_id": small, "quantity": 1,
			"lpn": "P-1", "reason_code": "found"}, 409, nil), "P-1", "PL-BIN")
		if after := books(t, k); after != before {
			t.Errorf("something moved:\n%s\nbefore:\n%s", after, before)
		}
		g.say("deallocate_order", map[string]any{"order_id": order}, 200, nil)
		k.Say(t, op, "move_plate", map[string]any{"lpn": "P-1", "to_zone_id": far}, 200, nil)
		if got := g.onPlate("P-1"); got != "PL-FAR 40/0 G-1;" {
			t.Errorf("in Berlin: %s", got)
		}
		k.Verified(t)
	})
}

// Of two who bring a plate to two places at once, or bring goods in on its number at two docks,
// one is refused.
func TestPlatesAreMovedOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		zone := func(code, kind string) string {
			return k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code, "kind": kind})
		}
		docks := []string{zone("PL-D1", "dock"), zone("PL-D2", "dock")}
		bins := []string{zone("PL-A", "bin"), zone("PL-B", "bin")}
		atOnce := func(verb string, bodies []map[string]any) (taken int) {
			t.Helper()
			answers := make(chan testkit.Response, len(bodies))
			for _, in := range bodies {
				go func() { answers <- k.Post(g.as, "/v1/rpc/"+verb, in) }()
			}
			for range bodies {
				r := <-answers
				if r.Status == 200 {
					taken++
				} else if r.Status != 409 {
					t.Errorf("%s: %d %s", verb, r.Status, r.Body)
				}
			}
			return taken
		}
		for round := range 6 {
			plate := fmt.Sprint("P-", round)
			var in []map[string]any
			for _, dock := range docks {
				in = append(in, map[string]any{"zone_id": dock,
					"lines": []any{map[string]any{"item_id": g.item, "quantity": 5, "lpn": plate}}})
			}
			if n := atOnce("receive", in); n != 1 {
				t.Errorf("%d of two came in on plate %s", n, plate)
			}
			moves := []map[string]any{{"lpn": plate, "to_zone_id": bins[0]}, {"lpn": plate, "to_zone_id": bins[1]}}
			atOnce("move_plate", moves)
			if got := g.onPlate(plate); got != "PL-A 5/0 G-1;" && got != "PL-B 5/0 G-1;" {
				t.Errorf("plate %s lies in %s", plate, got)
			}
		}
		k.Verified(t)
	})
}
