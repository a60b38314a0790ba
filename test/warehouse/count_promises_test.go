package warehouse_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A count that finds less than is promised is taken by every door, and promises of what
// is missing are given back: the least urgent order's first, a list's line in part.
func TestCountBelowPromised(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		bin := g.bin("G-A", 10, "")
		urgent, _ := g.order(6)
		later, laterLine := g.order(4)
		g.say("confirm_order", map[string]any{"order_id": urgent}, 200, nil)
		list, picks := g.released(later)
		r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/orders?id=eq." + urgent, As: g.as,
			Body: map[string]any{"priority": 1}})
		if r.Status/100 != 2 {
			t.Fatalf("priority: %d %s", r.Status, r.Body)
		}

		var out struct {
			Released []struct {
				Line     string `json:"order_line_id"`
				State    string
				Quantity float64
			}
			Task struct{ Status string } `json:"count_task"`
		}
		enter := func(counted float64) {
			t.Helper()
			var begun tally
			g.say("start_count", map[string]any{"zone_id": bin, "item_id": g.item}, 200, &begun)
			in := map[string]any{"count_task_id": begun.Task.ID, "lines": []any{map[string]any{"counted": counted}}}
			g.say("enter_count", in, 200, &out)
		}
		enter(9)
		want := fmt.Sprintf("[{%s released 1}] {approved}", laterLine)
		if got := fmt.Sprint(out.Released, out.Task); got != want {
			t.Errorf("9 of 10 found: %s, want %s", got, want)
		}
		g.is("pick_lines?select=qty,status&id=eq."+picks[0], `[{"qty":3,"status":"pending"}]`)
		g.is("orders?select=qty_allocated&id=eq."+later, `[{"qty_allocated":3}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":9,"available":0}]`)

		row := map[string]any{"zone_id": bin, "item_id": g.item, "counted": 5}
		if r := k.Post(testkit.As(actor.Operator), "/v1/stock_counts", row); r.Status != http.StatusCreated {
			t.Errorf("a plain count: %d %s", r.Status, r.Body)
		}
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"cancelled"}]`)
		g.is("orders?select=stage,qty_allocated&id=eq."+later, `[{"stage":"unallocated","qty_allocated":0}]`)
		g.is("orders?select=stage,qty_allocated&id=eq."+urgent, `[{"stage":"part_allocated","qty_allocated":5}]`)
		g.is("stock_levels?select=quantity,reserved&zone_id=eq."+bin, `[{"quantity":5,"reserved":5}]`)
		k.Verified(t)
	})
}

// Goods that were picked yield where they lie loose; what is packed does not, and the
// refusal says neither how much is packed nor how much the books have.
func TestCountBelowPacked(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, line := g.order(10)
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 10, "to_zone_id": g.lane}, 200, nil)
		shipment := g.consigned(line, 10, nil)
		g.say("pack", map[string]any{"shipment_id": shipment, "package": map[string]any{"lpn": "BOX"},
			"lines": []any{map[string]any{"order_line_id": line, "quantity": 6}}}, 200, nil)

		op := testkit.As(actor.Operator)
		count := map[string]any{"zone_id": g.lane, "item_id": g.item, "counted": 5}
		r := k.Post(op, "/v1/stock_counts", count)
		said := string(r.Body)
		if r.Status != http.StatusConflict || !strings.Contains(said, "packed") || strings.ContainsAny(said, "16789") {
			t.Errorf("5 found where 6 are packed: %d %s", r.Status, r.Body)
		}
		g.is("order_lines?select=qty_allocated,qty_packed&id=eq."+line, `[{"qty_allocated":10,"qty_packed":6}]`)
		count["counted"] = 7
		if r := k.Post(op, "/v1/stock_counts", count); r.Status != http.StatusCreated {
			t.Errorf("7 found where 6 are packed: %d %s", r.Status, r.Body)
		}
		g.is("order_lines?select=qty_allocated,qty_picked,qty_packed&id=eq."+line,
			`[{"qty_allocated":7,"qty_picked":7,"qty_packed":6}]`)
		k.Verified(t)
	})
}

// Those who count read nowhere what the books had: not in the answer of a count, not in
// the collections, not as the value of a variance that waits for a second person.
func TestCountersReadNoBooks(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		limitAt(t, k, 100)
		op, manager := testkit.As(actor.Operator), testkit.As(actor.Manager)
		y := newYard(t, k, "BLIND", map[string]any{"unit_cost": 1})
		stock(t, k, y.item, y.bin, 777, nil)
		stock(t, k, y.item, y.dock, 5, nil)

		var begun tally
		k.Say(t, op, "start_count", map[string]any{"zone_id": y.bin, "item_id": y.item}, 200, &begun)
		in := map[string]any{"count_task_id": begun.Task.ID, "lines": []any{map[string]any{"counted": 100}}}
		entered := k.Say(t, op, "enter_count", in, 200, nil)
		row := map[string]any{"zone_id": y.dock, "item_id": y.item, "counted": 3}
		made := k.Call(testkit.Request{Method: http.MethodPost, Path: "/v1/stock_counts", As: op, Body: row,
			Header: map[string]string{"Prefer": "return=representation"}})
		counts := "/v1/stock_counts?zone_id=eq." + y.dock
		task := "/v1/count_tasks?id=eq." + begun.Task.ID
		for of, r := range map[string]testkit.Response{
			"enter_count": entered, "POST": made, "counts": k.Get(op, counts), "task": k.Get(op, task),
		} {
			for _, book := range []string{":677", ":777", `"expected":5`, `"variance":-2`} {
				if r.Status/100 != 2 || strings.Contains(string(r.Body), book) {
					t.Errorf("%s: %d %s tells what the books had", of, r.Status, r.Body)
				}
			}
		}
		for path, want := range map[string]string{counts: `"variance":-2`, task: `"variance_value":677`} {
			if r := k.Get(manager, path); !strings.Contains(string(r.Body), want) {
				t.Errorf("a manager reads %s, want %s", r.Body, want)
			}
		}
		for _, path := range []string{counts + "&variance=gt.-3", task + "&variance_value=gt.600",
			counts + "&order=variance"} {
			if r := k.Get(op, path); r.Status != http.StatusForbidden {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
		}
	})
}
