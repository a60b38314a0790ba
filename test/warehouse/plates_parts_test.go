package warehouse_test

import (
	"fmt"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A part that is taken elsewhere leaves its plate: it arrives without a number, and the rest
// stays. Only who carries all that is on the plate carries the plate.
func TestPartsLeaveTheirPlate(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, op := newGoods(t, k, map[string]any{}), testkit.As(actor.Operator)
		zone := func(code, kind string) string {
			return k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code, "kind": kind})
		}
		dock, bin, second := zone("PP-DOCK", "dock"), zone("PP-BIN", "bin"), zone("PP-SECOND", "bin")
		face := zone("PP-FACE", "bin")
		other := k.Insert(t, g.as, "items", map[string]any{"sku": "G-2", "name": "Other goods"})
		k.Say(t, op, "receive", map[string]any{"zone_id": dock, "lines": []any{
			map[string]any{"item_id": g.item, "quantity": 40, "lpn": "P-1"},
			map[string]any{"item_id": other, "quantity": 6, "lpn": "P-1"},
			map[string]any{"item_id": g.item, "quantity": 10, "lpn": "P-2"},
		}}, 200, nil)
		is := func(when, plate, want, loose string) {
			t.Helper()
			if got := g.onPlate(plate); got != want {
				t.Errorf("%s: on plate %s are %s, want %s", when, plate, got, want)
			}
			if got := g.withoutPlate(); got != loose {
				t.Errorf("%s: without a plate are %s, want %s", when, got, loose)
			}
			k.Verified(t)
		}
		move := func(item, plate, from, to string, quantity int) string {
			t.Helper()
			var out struct{ Movement struct{ ID string } }
			k.Say(t, op, "move_stock", map[string]any{"item_id": item, "lpn": plate, "from_zone_id": from,
				"to_zone_id": to, "quantity": quantity}, 200, &out)
			return out.Movement.ID
		}
		k.Say(t, op, "move_plate", map[string]any{"lpn": "P-1", "to_zone_id": bin}, 200, nil)
		move(g.item, "P-1", bin, second, 4)
		is("a part moved", "P-1", "PP-BIN 36/0 G-1;PP-BIN 6/0 G-2;", "PP-SECOND 4/0 G-1;")
		move(other, "P-1", bin, second, 6)
		is("all of one item moved", "P-1", "PP-BIN 36/0 G-1;", "PP-SECOND 6/0 G-2;PP-SECOND 4/0 G-1;")
		move(g.item, "P-1", bin, second, 36)
		is("all that is left moved", "P-1", "PP-SECOND 36/0 G-1;", "PP-SECOND 6/0 G-2;PP-SECOND 4/0 G-1;")

		tasks := testkit.List[struct{ ID string }](t, k, g.as, "putaway_tasks?select=id&lpn=eq.P-2")
		k.Say(t, op, "put_away", map[string]any{"task_id": tasks[0].ID, "to_zone_id": bin, "quantity": 3}, 200, nil)
		is("a part put away", "P-2", "PP-DOCK 7/0 G-1;", "PP-SECOND 6/0 G-2;PP-SECOND 4/0 G-1;PP-BIN 3/0 G-1;")
		k.Say(t, op, "put_away", map[string]any{"task_id": tasks[0].ID, "to_zone_id": bin}, 200, nil)
		is("the rest put away", "P-2", "PP-BIN 7/0 G-1;", "PP-SECOND 6/0 G-2;PP-SECOND 4/0 G-1;PP-BIN 3/0 G-1;")

		rule := k.Insert(t, g.as, "replenish_rules", map[string]any{"item_id": g.item, "pick_zone_id": face,
			"source_zone_id": second, "min_qty": 35, "max_qty": 40})
		g.say("replenish", map[string]any{"rule_id": rule, "quantity": 4}, 200, nil)
		for len(testkit.List[struct{ ID string }](t, k, g.as,
			"replenish_tasks?select=id&status=in.(open,in_progress)")) > 0 {
			g.say("replenish", map[string]any{"rule_id": rule}, 200, nil)
		}
		is("the plate broken for a pick zone", "P-1", "", "PP-FACE 40/0 G-1;PP-SECOND 6/0 G-2;PP-BIN 3/0 G-1;")
	})
}

// What is picked off a plate is on it no more, and goes back to a bin without it.
func TestPicksLeaveTheirPlate(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, op := newGoods(t, k, map[string]any{}), testkit.As(actor.Operator)
		zone := func(code, kind string) string {
			return k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code, "kind": kind})
		}
		bin, second := zone("PP-BIN", "bin"), zone("PP-SECOND", "bin")
		k.Say(t, op, "receive", map[string]any{"zone_id": bin, "lines": []any{
			map[string]any{"item_id": g.item, "quantity": 20, "lpn": "P-1"}}}, 200, nil)
		is := func(when, want, loose string) {
			t.Helper()
			if plate, free := g.onPlate("P-1"), g.withoutPlate(); plate != want || free != loose {
				t.Errorf("%s: on the plate %s, want %s; without one %s, want %s", when, plate, want, free, loose)
			}
			k.Verified(t)
		}
		order, _ := g.order(12)
		_, picks := g.released(order)
		pick := func(quantity int) {
			t.Helper()
			g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": quantity, "to_zone_id": g.lane,
				"zone_scan": "PP-BIN"}, 200, nil)
		}
		pick(5)
		is("a part picked", "PP-BIN 15/7 G-1;", "G-LANE 5/5 G-1;")
		pick(7)
		is("all picked", "PP-BIN 8/0 G-1;", "G-LANE 12/12 G-1;")
		g.say("unpick", map[string]any{"pick_line_id": picks[0], "quantity": 2, "to_zone_id": second}, 200, nil)
		is("put back", "PP-BIN 8/0 G-1;", "G-LANE 10/10 G-1;PP-SECOND 2/0 G-1;")

		var moved struct{ Movement struct{ ID string } }
		k.Say(t, op, "move_stock", map[string]any{"item_id": g.item, "lpn": "P-1", "from_zone_id": bin,
			"to_zone_id": second, "quantity": 3}, 200, &moved)
		reversal := map[string]any{"type": "transfer", "item_id": g.item, "lpn": "P-1", "from_zone_id": second,
			"to_zone_id": bin, "quantity": 3, "reversal_of": moved.Movement.ID}
		k.Say(t, op, "move_plate", map[string]any{"lpn": "P-1", "to_zone_id": second}, 200, nil)
		refused(t, k.Post(g.as, "/v1/stock_movements", reversal), "P-1", "PP-SECOND")
		k.Say(t, op, "move_plate", map[string]any{"lpn": "P-1", "to_zone_id": bin}, 200, nil)
		if r := k.Post(g.as, "/v1/stock_movements", reversal); r.Status != 201 {
			t.Errorf("a part put back on its plate: %d %s", r.Status, r.Body)
		}
		is("reversed", "PP-BIN 8/0 G-1;", "G-LANE 10/10 G-1;PP-SECOND 2/0 G-1;")
	})
}

// withoutPlate is what lies without a plate, place by place.
func (g *goods) withoutPlate() (out string) {
	g.t.Helper()
	for _, l := range testkit.List[struct {
		Quantity, Reserved float64
		Zones              struct{ Code string }
		Items              struct{ SKU string }
	}](g.t, g.k, g.as, "stock_levels?select=quantity,reserved,zones!inner(code),items!inner(sku)&quantity=gt.0"+
		"&lpn=is.null&items.sku=like.G-*&order=quantity.desc") {
		out += fmt.Sprintf("%s %v/%v %s;", l.Zones.Code, l.Quantity, l.Reserved, l.Items.SKU)
	}
	return out
}

// Of two who bring different goods in on one plate at two docks at once, one is refused.
func TestPlatesComeInAtOneDock(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		items := []string{g.item, k.Insert(t, g.as, "items", map[string]any{"sku": "G-2", "name": "Other goods"})}
		var docks []string
		for _, code := range []string{"PP-D1", "PP-D2"} {
			docks = append(docks, k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code,
				"kind": "dock"}))
		}
		for round := range 20 {
			answers := make(chan testkit.Response, len(docks))
			for i, dock := range docks {
				in := map[string]any{"type": "adjust_gain", "reason_code": "found", "item_id": items[i],
					"to_zone_id": dock,
					"quantity":   5, "lpn": fmt.Sprint("P-", round)}
				go func() { answers <- k.Post(g.as, "/v1/stock_movements", in) }()
			}
			statuses := [2]int{(<-answers).Status, (<-answers).Status}
			if statuses != [2]int{201, 409} && statuses != [2]int{409, 201} {
				t.Errorf("round %d: %v, want one taken and one refused", round, statuses)
			}
		}
		k.Verified(t)
	})
}
