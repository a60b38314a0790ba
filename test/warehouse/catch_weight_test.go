package warehouse_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// newCheese is goods of an item of catch weight: 4 kg a piece, 10 percent up or down.
func newCheese(t *testing.T, k *testkit.Kit) *goods {
	t.Helper()
	return newGoods(t, k, map[string]any{"catch_weight": true, "weight_kg": 4, "weight_tolerance_pct": 10})
}

// weighings are weights that are said of 10 pieces, and what is answered: "" is taken.
var weighings = []struct {
	weight any
	want   string
}{
	{nil, "say what 10 of it weigh"}, {0, "say what 10 of it weigh"}, {-40, "weight_kg"}, {"heavy", "weight_kg"},
	{35.9999, "they weigh 36 to 44 kg"}, {44.0001, "they weigh 36 to 44 kg"},
	{36, ""}, {44, ""}, {41.25, ""},
}

// tryWeights says a verb with each weight: what is refused names the field and writes nothing.
func (g *goods) tryWeights(name string, body func(weight any) map[string]any) {
	g.t.Helper()
	for _, w := range weighings {
		before := g.rows("stock_movements?select=id&item_id=eq." + g.item)
		r := g.k.Call(testkit.Request{Method: http.MethodPost, Path: "/v1/rpc/" + name, As: g.as, Body: body(w.weight)})
		if (r.Status == http.StatusOK) != (w.want == "") {
			g.t.Errorf("%s with %v: %d %s", name, w.weight, r.Status, r.Body)
		}
		if w.want == "" {
			continue
		}
		refused(g.t, r, "weight_kg", w.want)
		if r.Status/100 != 4 || g.rows("stock_movements?select=id&item_id=eq."+g.item) != before {
			g.t.Errorf("%s with %v: %d, and it wrote", name, w.weight, r.Status)
		}
	}
}

// What comes in of an item of catch weight is weighed, within its tolerance; its movement keeps
// the weight, and parts of two order lines share it exactly.
func TestCatchWeightIsReceived(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newCheese(t, k)
		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		line := func(quantity float64, weight any) map[string]any {
			in := map[string]any{"item_id": g.item, "quantity": quantity}
			if weight != nil {
				in["weight_kg"] = weight
			}
			return in
		}
		g.tryWeights("receive", func(weight any) map[string]any {
			return map[string]any{"zone_id": dock, "lines": []any{line(10, weight)}}
		})
		g.is("stock_movements?select=quantity,weight_kg&order=weight_kg&item_id=eq."+g.item,
			`[{"quantity":10,"weight_kg":36},{"quantity":10,"weight_kg":41.25},{"quantity":10,"weight_kg":44}]`)

		order := k.Insert(t, g.as, "orders", map[string]any{"type": "inbound"})
		for i, quantity := range []int{1, 2} {
			k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": i + 1, "item_id": g.item,
				"qty_ordered": quantity})
		}
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		g.say("receive", map[string]any{"order_id": order, "zone_id": dock, "lines": []any{line(3, 12.5)}}, 200, nil)
		g.is("stock_movements?select=quantity,weight_kg&order=quantity&quantity=lt.10&item_id=eq."+g.item,
			`[{"quantity":1,"weight_kg":4.1667},{"quantity":2,"weight_kg":8.3333}]`)
		k.Verified(t)
	})
}

// What is picked of an item of catch weight is weighed, by the verbs and by nothing else; the
// line keeps the sum, of which what is put back takes its share.
func TestCatchWeightIsPicked(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newCheese(t, k)
		bin := g.bin("G-A", 100, "")
		order, _ := g.order(40)
		_, lines := g.released(order)
		pick := lines[0]
		g.tryWeights("pick_line", func(weight any) map[string]any {
			in := map[string]any{"pick_line_id": pick, "quantity": 10, "to_zone_id": g.lane}
			if weight != nil {
				in["weight_kg"] = weight
			}
			return in
		})
		weighed := "pick_lines?select=qty_picked,weight_kg&id=eq." + pick
		g.is(weighed, `[{"qty_picked":30,"weight_kg":121.25}]`)
		r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/pick_lines?id=eq." + pick, As: g.as,
			Body: map[string]any{"qty_picked": 35}})
		if r.Status/100 != 4 {
			t.Errorf("a quantity without a weight: %d", r.Status)
		}
		refused(t, r, "weight_kg", "say what 5 of it weigh")

		g.say("unpick", map[string]any{"pick_line_id": pick, "quantity": 6, "to_zone_id": bin}, 200, nil)
		g.is(weighed, `[{"qty_picked":24,"weight_kg":97}]`)
		short := map[string]any{"pick_line_id": pick, "found": 29, "reason": "empty", "to_zone_id": g.lane}
		refused(t, g.say("short_pick", short, 400, nil), "weight_kg", "say what 5 of it weigh")
		short["weight_kg"] = 20
		g.say("short_pick", short, 200, nil)
		g.is(weighed, `[{"qty_picked":29,"weight_kg":117}]`)
		g.is("stock_movements?select=weight_kg&type=eq.pick&order=id&item_id=eq."+g.item,
			`[{"weight_kg":36},{"weight_kg":44},{"weight_kg":41.25},{"weight_kg":20}]`)
		k.Verified(t)
	})
}

// A manager takes a weight outside of the tolerance and says why: line, movement and audit log
// keep the reason. Nobody else does, and a reason of before stands for nothing.
func TestCatchWeightIsTakenByAManager(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, op := newCheese(t, k), testkit.As(actor.Operator)
		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		receive := map[string]any{"zone_id": dock, "lines": []any{map[string]any{"item_id": g.item, "quantity": 10,
			"weight_kg": 50, "weight_reason": "uncut wheels"}}}
		refused(t, k.Say(t, op, "receive", receive, 400, nil), "lines[0].weight_kg", "36 to 44 kg", "weight_reason")
		g.say("receive", receive, 200, nil)
		g.is("stock_movements?select=weight_kg,weight_reason&item_id=eq."+g.item,
			`[{"weight_kg":50,"weight_reason":"uncut wheels"}]`)

		order, _ := g.order(10)
		list, lines := g.released(order)
		k.Say(t, op, "claim_pick_list", map[string]any{"pick_list_id": list}, 200, nil)
		pick := func(as, reason string, weight float64, want int) testkit.Response {
			t.Helper()
			in := map[string]any{"pick_line_id": lines[0], "quantity": 2, "to_zone_id": g.lane, "weight_kg": weight}
			if reason != "" {
				in["weight_reason"] = reason
			}
			return k.Say(t, as, "pick_line", in, want, nil)
		}
		refused(t, pick(op, "I say so", 12, 400), "7.2 to 8.8 kg", "a manager")
		pick(g.as, "two large ones", 12, 200)
		refused(t, pick(g.as, "", 12, 400), "7.2 to 8.8 kg")
		g.is("pick_lines?select=qty_picked,weight_kg,weight_reason&id=eq."+lines[0],
			`[{"qty_picked":2,"weight_kg":12,"weight_reason":"two large ones"}]`)
		pick(op, "", 8, 200)
		g.is("stock_movements?select=weight_kg,weight_reason&type=eq.pick&order=id&item_id=eq."+g.item,
			`[{"weight_kg":12,"weight_reason":"two large ones"},{"weight_kg":8,"weight_reason":null}]`)
		r := k.Get(testkit.As(actor.Admin), "/v1/audit?select=after&entity_type=eq.pick_lines&entity_id=eq."+lines[0])
		refused(t, r, "two large ones")
		k.Verified(t)
	})
}

// Other items take no weight, and an item of catch weight says what a piece weighs and how far
// off it may be.
func TestCatchWeightIsOfItsItemsAlone(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"weight_kg": 4})
		g.bin("G-A", 100, "")
		order, _ := g.order(10)
		_, lines := g.released(order)
		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		refused(t, g.say("receive", map[string]any{"zone_id": dock,
			"lines": []any{map[string]any{"item_id": g.item, "quantity": 10, "weight_kg": 40}}}, 400, nil),
			"lines[0].weight_kg", "not of catch weight")
		refused(t, g.say("pick_line", map[string]any{"pick_line_id": lines[0], "quantity": 10, "weight_kg": 40}, 400, nil),
			"weight_kg", "not of catch weight")
		g.say("pick_line", map[string]any{"pick_line_id": lines[0], "quantity": 10, "to_zone_id": g.lane}, 200, nil)

		patch := func(set map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/items?id=eq." + g.item, As: g.as, Body: set})
		}
		refused(t, patch(map[string]any{"catch_weight": true}), "weight_tolerance_pct")
		refused(t, patch(map[string]any{"catch_weight": true, "weight_tolerance_pct": 5, "weight_kg": 0}), "weight_kg")
		refused(t, patch(map[string]any{"weight_tolerance_pct": 101}), "weight_tolerance_pct")
		g.patched("items?id=eq."+g.item, map[string]any{"catch_weight": true, "weight_tolerance_pct": 0},
			http.StatusNoContent)
	})
}

// What was weighed travels on: in the movement of each shipment, in its event of EPCIS and on its
// delivery note, each its share of what is there, and of the last of it the rest. What has left
// stays what it was, whatever is picked or put back afterwards; a reversal takes its share along.
func TestCatchWeightTravels(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newCheese(t, k)
		since := url.Values{"EQ_bizStep": {"shipping"},
			"GE_recordTime": {list1(t, k, g.as, "items?select=id:created_at&id=eq."+g.item)}}
		bin := g.bin("G-A", 100, "")
		order, line := g.order(15)
		_, picks := g.released(order)
		pick := func(q, weight float64) {
			g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": q, "weight_kg": weight,
				"to_zone_id": g.lane}, 200, nil)
		}
		ship := func(q float64) (shipment, note string) {
			shipment = g.consigned(line, q, nil)
			g.packed(shipment, line, q)
			g.say("dispatch", map[string]any{"shipment_id": shipment}, 200, nil)
			return shipment, "/v1/shipments/" + shipment + "/delivery-note.pdf"
		}

		pick(6, 22)
		waiting := g.consigned(line, 3, nil)
		note := g.paper("/v1/shipments/" + waiting + "/delivery-note.pdf")
		note.row(t, "1", "G-1", "Goods", "", "", "3", "EA", "11")
		g.patched("shipments?id=eq."+waiting, map[string]any{"status": "cancelled"}, http.StatusNoContent)
		_, first := ship(6)
		pick(9, 37.0001)
		_, second := ship(6)
		g.say("unpick", map[string]any{"pick_line_id": picks[0], "quantity": 1, "to_zone_id": bin}, 200, nil)
		ship(2)
		note = g.paper(first)
		note.row(t, "1", "G-1", "Goods", "", "", "6", "EA", "22")
		note = g.paper(second)
		note.row(t, "1", "G-1", "Goods", "", "", "6", "EA", "24.6667")
		if !note.says("Net kg") {
			t.Errorf("no column of weights in %q", note.texts)
		}

		const moves = "stock_movements?select=quantity,weight_kg&type=eq.ship&reversal_of=is.null&order=id&item_id=eq."
		g.is(moves+g.item, `[{"quantity":6,"weight_kg":22},{"quantity":6,"weight_kg":24.6667},`+
			`{"quantity":2,"weight_kg":8.4001}]`)
		events, _ := g.told(g.as, since)
		var weights []string
		for _, e := range events {
			for _, s := range e.SensorElementList {
				r := s.SensorReport[0]
				weights = append(weights, e.QuantityList[0].Quantity.String()+" "+r.Type+" "+r.Value.String()+" "+r.Uom)
			}
		}
		want := []string{"6 Mass 22 KGM", "6 Mass 24.6667 KGM", "2 Mass 8.4001 KGM"}
		if d := cmp.Diff(want, weights); d != "" {
			t.Errorf("weights of shipping events (-want +got):\n%s", d)
		}
		k.Verified(t)
	})
}
