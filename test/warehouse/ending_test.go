package warehouse_test

import (
	"testing"

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
