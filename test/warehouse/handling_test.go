package warehouse_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// unitPart is how many of a unit something holds.
type unitPart struct {
	Unit        string
	Qty, Factor float64
}

// loads are what an answer says by units of handling.
type loads struct {
	Handling []struct {
		ID       string
		Quantity float64
		Units    []unitPart
	}
}

// describeLoads is the parts of each load in words, in the order of the answer.
func (l *loads) describeLoads() string {
	var list []string
	for _, h := range l.Handling {
		list = append(list, fmt.Sprint(h.Quantity)+" = "+sayParts(h.Units))
	}
	return strings.Join(list, "; ")
}

func sayParts(parts []unitPart) string {
	var words []string
	for _, p := range parts {
		words = append(words, fmt.Sprintf("%v %s of %v", p.Qty, p.Unit, p.Factor))
	}
	return strings.Join(words, " + ")
}

// onPallets gives the item of goods a case of 12 and a pallet of 96 pieces.
func (g *goods) onPallets() {
	g.t.Helper()
	for unit, factor := range map[string]int{"CS": 12, "PL": 96} {
		g.k.Insert(g.t, g.as, "item_uoms", map[string]any{"item_id": g.item, "uom": unit, "factor": factor})
	}
}

// assertHandled holds what an answer says by units to what is expected.
func assertHandled(t *testing.T, what string, got *loads, want string) {
	t.Helper()
	if got.describeLoads() != want {
		t.Errorf("%s: %q, want %q", what, got.describeLoads(), want)
	}
}

// A picker is told pallets, cases and pieces: at the claim, of the next line at each pick, at a
// scan and on paper, of what is left.
func TestPickersAreToldUnitsOfHandling(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.onPallets()
		g.bin("G-A", 137, "")
		g.bin("G-B", 50, "")
		order, _ := g.order(150)
		list, lines := g.released(order)
		no := list1(t, k, g.as, "orders?select=id:order_no&id=eq."+order)

		paper := g.paper("/v1/pick-lists/" + list + "/pick-list.pdf")
		if said := strings.Join(paper.texts, " "); !strings.Contains(said, "137 EA 1 PL + 3 CS + 5 EA "+no) {
			t.Errorf("the paper says %s", said)
		}
		paper.row(t, "13", "EA", "1 CS + 1 EA", no)

		worker := list1(t, k, g.as, "members?select=id:worker_id&email=eq."+testkit.As(actor.Operator))
		g.patched("pick_lists?id=eq."+list, map[string]any{"assigned_worker_id": worker}, http.StatusNoContent)
		var claim loads
		k.Say(t, testkit.As(actor.Operator), "claim_pick_list", map[string]any{"pick_list_id": list}, 200, &claim)
		assertHandled(t, "claim", &claim,
			"137 = 1 PL of 96 + 3 CS of 12 + 5 EA of 1; 13 = 1 CS of 12 + 1 EA of 1")
		if claim.Handling[0].ID != lines[0] || claim.Handling[1].ID != lines[1] {
			t.Errorf("%+v are not of the lines %v", claim.Handling, lines)
		}

		pick := func(line string, n float64) (out loads) {
			t.Helper()
			g.say("pick_line", map[string]any{"pick_line_id": line, "quantity": n, "to_zone_id": g.lane}, 200, &out)
			return out
		}
		part := pick(lines[0], 100)
		assertHandled(t, "a part is picked", &part, "37 = 3 CS of 12 + 1 EA of 1")
		var scan loads
		g.say("scan", map[string]any{"code": "G-1", "context": map[string]any{"pick_line_id": lines[0]}}, 200, &scan)
		assertHandled(t, "scan", &scan, "37 = 3 CS of 12 + 1 EA of 1")
		next := pick(lines[0], 37)
		assertHandled(t, "the next line", &next, "13 = 1 CS of 12 + 1 EA of 1")
		last := pick(lines[1], 13)
		if last.Handling == nil || len(last.Handling) != 0 {
			t.Errorf("nothing is left: %+v", last)
		}
	})
}

// Another tenant's units are not used, nor what it says of a unit; goods that are weighed are
// left alone.
func TestUnitsOfHandlingAreTheTenantsOwn(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const south = "admin@south.example"
		g := newGoods(t, k, map[string]any{})
		g.onPallets()
		for _, unit := range []string{"CS", "PL", "EA"} {
			r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/uoms?code=eq." + unit, As: south,
				Body: map[string]any{"kind": "mass"}})
			if r.Status != http.StatusNoContent {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
		item := k.Insert(t, south, "items", map[string]any{"sku": "G-1", "name": "Goods of others"})
		k.Insert(t, south, "item_uoms", map[string]any{"item_id": item, "uom": "BX", "factor": 50})
		g.bin("G-A", 200, "")
		order, _ := g.order(137)
		list, _ := g.released(order)
		var claim loads
		claimed := func() string {
			t.Helper()
			k.Say(t, testkit.As(actor.Operator), "claim_pick_list", map[string]any{"pick_list_id": list}, 200, &claim)
			return claim.describeLoads()
		}
		worker := list1(t, k, g.as, "members?select=id:worker_id&email=eq."+testkit.As(actor.Operator))
		g.patched("pick_lists?id=eq."+list, map[string]any{"assigned_worker_id": worker}, http.StatusNoContent)
		if got := claimed(); got != "137 = 1 PL of 96 + 3 CS of 12 + 5 EA of 1" {
			t.Errorf("%q", got)
		}
		g.patched("uoms?code=eq.EA", map[string]any{"kind": "mass"}, http.StatusNoContent)
		if got := claimed(); got != "137 = " {
			t.Errorf("goods that are weighed: %q", got)
		}
	})
}

// A receiver is told what is expected when the order is scanned, and what is left after a part
// came in, in whatever unit the line was ordered.
func TestReceiversAreToldUnitsOfHandling(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.onPallets()
		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		for unit, quantity := range map[string]float64{"": 137, "CS": 12} {
			row := map[string]any{}
			if unit != "" {
				row["uom"] = unit
			}
			order, line := confirmed(t, k, "inbound", g.item, quantity, row)
			var scan loads
			no := list1(t, k, g.as, "orders?select=id:order_no&id=eq."+order)
			g.say("scan", map[string]any{"code": no}, 200, &scan)
			want := map[string]string{"": "137 = 1 PL of 96 + 3 CS of 12 + 5 EA of 1",
				"CS": "144 = 1 PL of 96 + 4 CS of 12"}[unit]
			assertHandled(t, "scan of an order in "+unit, &scan, want)

			var out loads
			g.say("receive", map[string]any{"order_id": order, "zone_id": dock,
				"lines": []any{map[string]any{"order_line_id": line, "quantity": 8, "uom": "CS"}}}, 200, &out)
			want = map[string]string{"": "41 = 3 CS of 12 + 5 EA of 1", "CS": "48 = 4 CS of 12"}[unit]
			assertHandled(t, "what is left of an order in "+unit, &out, want)
		}
		order, _ := confirmed(t, k, "outbound", g.item, 20, nil)
		var sold loads
		g.say("scan", map[string]any{"code": list1(t, k, g.as, "orders?select=id:order_no&id=eq."+order)}, 200, &sold)
		if len(sold.Handling) != 0 {
			t.Errorf("nothing comes in for an order that is sold: %+v", sold)
		}
	})
}

// A count that is not blind says the books by units as well. A blind one says neither: not at
// its start, not as the next task and not at a scan.
func TestBlindCountsSayNoUnitsOfHandling(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newEmptyFloor(t, k)
		k.Insert(t, f.as, "item_uoms", map[string]any{"item_id": f.item, "uom": "CS", "factor": 12})
		bin := f.zone("", "BIN", nil)
		f.stock(bin, 29)
		type countOut struct {
			Task struct{ ID string } `json:"count_task"`
			Rows []struct {
				Quantity float64
				Handling []unitPart
			} `json:"expected"`
		}
		var open, blind countOut
		in := map[string]any{"zone_id": bin, "blind": false}
		k.Say(t, f.as, "start_count", in, 200, &open)
		if len(open.Rows) != 1 || sayParts(open.Rows[0].Handling) != "2 CS of 12 + 5 EA of 1" {
			t.Errorf("%+v", open)
		}
		f.patched("count_tasks/"+open.Task.ID, map[string]any{"status": "cancelled"}, 200)

		hidden := func(what string, r testkit.Response) {
			t.Helper()
			for _, figure := range []string{`"CS"`, `"qty"`, `"factor"`, `"quantity":29`} {
				if strings.Contains(string(r.Body), figure) {
					t.Errorf("%s says %s: %s", what, figure, r.Body)
				}
			}
		}
		in["blind"] = true
		hidden("start_count", k.Say(t, f.as, "start_count", in, 200, &blind))
		hidden("next_task", k.Say(t, f.op, "next_task", map[string]any{"claim": true}, 200, nil))
		hidden("scan", k.Say(t, f.op, "scan", map[string]any{"code": list1(t, k, f.as, "zones?select=id:code&id=eq."+bin),
			"context": map[string]any{"count_task_id": blind.Task.ID}}, 200, nil))
	})
}

// The next task says its work by units: the open lines of a list, what is left of a put-away.
func TestNextTaskSaysUnitsOfHandling(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newEmptyFloor(t, k)
		k.Insert(t, f.as, "item_uoms", map[string]any{"item_id": f.item, "uom": "CS", "factor": 2})
		var none, pick, put loads
		k.Say(t, f.op, "next_task", map[string]any{}, 200, &none)
		if none.Handling == nil || len(none.Handling) != 0 {
			t.Errorf("there is nothing to do: %+v", none)
		}
		list := f.release(f.zone("", "BIN", nil), nil)
		k.Say(t, f.op, "next_task", map[string]any{"kind": "pick"}, 200, &pick)
		assertHandled(t, "pick", &pick, "5 = 2 CS of 2 + 1 EA of 1")
		if line := list1(t, k, f.as, "pick_lines?select=id&pick_list_id=eq."+list); pick.Handling[0].ID != line {
			t.Errorf("%+v is not of the line %s", pick, line)
		}

		dock := k.Insert(t, f.as, "zones", map[string]any{"code": "H-DOCK", "name": "Dock", "kind": "dock"})
		k.Say(t, f.as, "receive", map[string]any{"zone_id": dock,
			"lines": []any{map[string]any{"item_id": f.item, "quantity": 7}}}, 200, nil)
		k.Say(t, f.op, "next_task", map[string]any{"kind": "put_away"}, 200, &put)
		assertHandled(t, "put away", &put, "7 = 3 CS of 2 + 1 EA of 1")
	})
}
