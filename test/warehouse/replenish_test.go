package warehouse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
	"holdfast/internal/warehouse"
)

type refilled struct {
	Tasks []struct {
		ID, Status string
		Lot        string  `json:"lot_id"`
		From       string  `json:"from_zone_id"`
		Quantity   float64 `json:"quantity"`
	}
	Short []struct{ Quantity float64 }
	Next  []struct{ Verb string }
}

// A pick zone below its least is filled up to its most from the reserve, of what
// expires first; what tasks bring counts, and nothing is taken twice.
func TestReplenish(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := testkit.As(actor.Operator)
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true, "min_remaining_days": 10})
		early, late, gone := g.lot("R-1", 40, "released"), g.lot("R-2", 80, "released"), g.lot("R-3", 3, "released")
		zone := func(code string, more map[string]any) string {
			in := map[string]any{"code": code, "name": code}
			for name, v := range more {
				in[name] = v
			}
			g.bins[code] = k.Insert(t, g.as, "zones", in)
			return g.bins[code]
		}
		area := zone("R-AREA", map[string]any{"kind": "area"})
		face := zone("R-FACE", map[string]any{"max_capacity": 30})
		zone("R-A", map[string]any{"parent_id": area})
		zone("R-B", map[string]any{"parent_id": area})
		g.bin("R-A", 50, late)
		g.bin("R-B", 6, early)
		g.bin("R-B", 9, gone)
		g.bin("R-FAR", 100, early)
		g.bin("R-FACE", 4, early)
		rule := k.Insert(t, g.as, "replenish_rules", map[string]any{"item_id": g.item, "pick_zone_id": face,
			"min_qty": 5, "max_qty": 20, "source_zone_id": area})

		plan := func(in map[string]any) (out refilled) {
			t.Helper()
			g.say("plan_replenishment", in, 200, &out)
			return out
		}
		dry := plan(map[string]any{"dry_run": true})
		if len(dry.Tasks) == 0 {
			t.Fatalf("dry: %+v", dry)
		}
		testkit.Must(t, warehouse.Replenish(t.Context(), k.App.Store))
		g.is("replenish_tasks?select=status,lot_id,from_zone_id,quantity&order=quantity&item_id=eq."+g.item,
			`[{"status":"open","lot_id":"`+early+
				`","from_zone_id":"`+g.bins["R-B"]+`","quantity":6},{"status":"open","lot_id":"`+late+`","from_zone_id":"`+g.bins["R-A"]+`","quantity":10}]`)
		if again := plan(map[string]any{}); len(again.Tasks) != 0 {
			t.Errorf("what is under way is planned again: %+v", again.Tasks)
		}
		var tasks []struct{ ID string }
		k.Get(op, "/v1/replenish_tasks?select=id&order=quantity&item_id=eq."+g.item).JSON(t, &tasks)
		var out struct {
			Movement struct {
				Type     string
				Quantity float64
				To       string `json:"to_zone_id"`
			}
			Task struct {
				Status string
				Done   float64 `json:"quantity_done"`
			}
		}
		in := map[string]any{"task_id": tasks[1].ID, "quantity": 4}
		k.Say(t, op, "replenish", in, 200, &out)
		if out.Movement.Type != "replenish" || out.Movement.To != face || out.Movement.Quantity != 4 ||
			out.Task.Status != "in_progress" || out.Task.Done != 4 {
			t.Errorf("%+v", out)
		}
		in["quantity"] = 7
		refusedWith(t, k, op, "replenish", "HF002", 409, in)
		delete(in, "quantity")
		k.Say(t, op, "replenish", in, 200, &out)
		if out.Task.Status != "done" {
			t.Errorf("%+v", out)
		}
		refusedWith(t, k, op, "replenish", "HF001", 409, in)
		g.is("stock_levels?select=quantity&order=quantity&quantity=gt.0&zone_id=eq."+face, `[{"quantity":4},{"quantity":10}]`)

		// By the rule: the task that is open, then up to the most, then nothing.
		k.Say(t, op, "replenish", map[string]any{"rule_id": rule}, 200, &out)
		if out.Movement.Quantity != 6 || out.Task.Status != "done" {
			t.Errorf("by rule: %+v", out)
		}
		refusedWith(t, k, op, "replenish", "HF006", 409, map[string]any{"rule_id": rule})

		k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/replenish_rules/" + rule, As: g.as,
			Body: map[string]any{"max_qty": 100}})
		if more := plan(map[string]any{"rule_ids": []string{rule}}); len(more.Tasks) != 1 || more.Tasks[0].Quantity != 40 ||
			len(more.Short) != 1 ||
			more.Short[0].Quantity != 40 {
			t.Errorf("more than the reserve has: %+v", more)
		}
		// What the zone has no room for is refused, and nothing moves.
		refusedWith(t, k, op, "replenish", "HF021", 409, map[string]any{"rule_id": rule})
		for field, bad := range map[string]map[string]any{"task_id": {},
			"rule_id": {"task_id": tasks[0].ID, "rule_id": rule}} {
			if r := k.Say(t, op, "replenish", bad, 400, nil); !strings.Contains(string(r.Body), field) {
				t.Errorf("%v: %s", bad, r.Body)
			}
		}
		k.Say(t, op, "replenish", map[string]any{"task_id": foreignOf(t, k)}, 404, nil)
		if r := k.Post(g.as, "/v1/replenish_rules", map[string]any{"item_id": g.item, "pick_zone_id": area, "min_qty": 5,
			"max_qty": 4}); r.Status/100 != 4 {
			t.Errorf("a least above the most: %d %s", r.Status, r.Body)
		}
		k.Verified(t)
	})
}

// foreignOf is the id of a record of another tenant.
func foreignOf(t *testing.T, k *testkit.Kit) string { return k.Foreign(t, "zones") }

// Two planners at once open each task once.
func TestReplenishOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		face := k.Insert(t, g.as, "zones", map[string]any{"code": "RO-FACE", "name": "Face"})
		g.bin("RO-A", 50, "")
		k.Insert(t, g.as, "replenish_rules", map[string]any{"item_id": g.item, "pick_zone_id": face, "min_qty": 1,
			"max_qty": 10})
		done := make(chan error, 6)
		for range cap(done) {
			go func() { done <- warehouse.Replenish(t.Context(), k.App.Store) }()
		}
		for range cap(done) {
			testkit.Must(t, <-done)
		}
		g.is("replenish_tasks?select=quantity&item_id=eq."+g.item, `[{"quantity":10}]`)
	})
}

// A wave gathers orders, is released once, and its lists have its number; an
// order is in one planned wave at a time.
func TestWaves(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("W-A", 10, "")
		g.bin("W-B", 10, "")
		order := func(carrier string, q float64) string {
			id := k.Insert(t, g.as, "orders", map[string]any{"party_name": "C", "carrier": carrier,
				"promised_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
			k.Insert(t, g.as, "order_lines", map[string]any{"order_id": id, "line_no": 1, "item_id": g.item, "qty_ordered": q})
			g.say("confirm_order", map[string]any{"order_id": id}, 200, nil)
			return id
		}
		one, two, three := order("WAVE-X", 6), order("WAVE-X", 8), order("WAVE-Y", 2)
		type planned struct {
			Wave struct {
				ID, Status string
				No         string `json:"wave_no"`
			}
			Orders []struct{ ID string }
		}
		var w planned
		g.say("plan_wave", map[string]any{"carrier": "WAVE-X",
			"due_before": time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)}, 200, &w)
		if len(w.Orders) != 2 || w.Wave.Status != "planned" || !strings.HasPrefix(w.Wave.No, "WV-") {
			t.Fatalf("%+v", w)
		}
		refusedWith(t, k, g.as, "plan_wave", "HF004", 409, map[string]any{"order_ids": []string{one, three}})
		refusedWith(t, k, g.as, "plan_wave", "HF006", 409, map[string]any{"carrier": "WAVE-X"})
		refusedWith(t, k, g.as, "release_picks", "order_ids", 400, map[string]any{})
		refusedWith(t, k, g.as, "release_picks", "order_ids", 400,
			map[string]any{"wave_id": w.Wave.ID, "order_ids": []string{two}})
		k.Say(t, g.as, "release_picks", map[string]any{"wave_id": k.Foreign(t, "zones")}, 404, nil)
		var out struct {
			Lists []struct {
				No string `json:"wave_no"`
			} `json:"pick_lists"`
			Lines []struct{ ID string }
		}
		g.say("release_picks", map[string]any{"wave_id": w.Wave.ID, "max_lines": 2}, 200, &out)
		if len(out.Lists) != 2 || out.Lists[0].No != w.Wave.No || out.Lists[1].No != w.Wave.No || len(out.Lines) != 3 {
			t.Errorf("%+v", out)
		}
		g.is("waves?select=status&id=eq."+w.Wave.ID, `[{"status":"released"}]`)
		refusedWith(t, k, g.as, "release_picks", "HF001", 409, map[string]any{"wave_id": w.Wave.ID})

		var other planned
		g.say("plan_wave", map[string]any{"order_ids": []string{three}}, 200, &other)
		off := testkit.Request{Method: http.MethodPatch, Path: "/v1/waves/" + other.Wave.ID, As: g.as,
			Body: map[string]any{"status": "cancelled"}}
		if r := k.Call(off); r.Status != 200 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		refusedWith(t, k, g.as, "release_picks", "HF001", 409, map[string]any{"wave_id": other.Wave.ID})
		g.say("plan_wave", map[string]any{"order_ids": []string{three}}, 200, &other)
		k.Verified(t)
	})
}
