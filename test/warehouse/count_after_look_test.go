package warehouse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Goods that are taken before the counter looks and booked after it make the books less than
// nothing: the count is refused in a sentence that says no figure of the books, one that waits
// too, and booked when he counts again.
func TestCountOfGoodsTakenBefore(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 1})
		bin := g.bin("G-A", 5, "")
		order, _ := g.order(4)
		_, picks := g.released(order)
		op := testkit.As(actor.Operator)
		var begun tally
		k.Say(t, op, "start_count", map[string]any{"zone_id": bin, "item_id": g.item}, 200, &begun)
		looked := time.Now().UTC().Format(time.RFC3339Nano)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		refused := func(r testkit.Response) {
			t.Helper()
			text := string(r.Body)
			tells := strings.Contains(text, "available") || strings.Contains(text, "asked for")
			if r.Status != http.StatusConflict || tells || !strings.Contains(text, "count it again") {
				t.Errorf("taken before the look: %d %s", r.Status, text)
			}
		}
		count := map[string]any{"count_task_id": begun.Task.ID, "counted_at": looked,
			"lines": []any{map[string]any{"counted": 1}}}
		refused(k.Post(op, "/v1/rpc/enter_count", count))
		limitAt(t, k, 0)
		refused(k.Post(op, "/v1/rpc/enter_count", count))
		g.is("count_tasks?select=status&id=eq."+begun.Task.ID, `[{"status":"open"}]`)
		g.is("stock_levels?select=quantity&zone_id=eq."+bin, `[{"quantity":1}]`)

		count["counted_at"] = time.Now().UTC().Format(time.RFC3339Nano)
		var done tally
		k.Say(t, op, "enter_count", count, 200, &done)
		if done.Task.Status != "approved" || len(done.Movements) != 0 {
			t.Errorf("counted again: %+v", done)
		}
		k.Verified(t)
	})
}

// What was a client's when the counter looked and is gone when he enters it was the
// client's: none of it comes into stock as the house's own.
func TestCountOfEmptiedPlace(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"unit_cost": 1})
		bin := k.Insert(t, g.as, "zones", map[string]any{"code": "G-E", "name": "Emptied"})
		client := func(code string) string {
			return k.Insert(t, g.as, "goods_owners", map[string]any{"code": code, "name": code, "billing_ref": code})
		}
		acme, bolt := client("ACME"), client("BOLT")
		moved := func(kind, owner string, q float64) {
			t.Helper()
			in := map[string]any{"type": kind, "item_id": g.item, "owner_id": owner, "quantity": q}
			if in["to_zone_id"] = bin; kind == "transfer" {
				in["from_zone_id"], in["to_zone_id"] = bin, g.lane
			}
			k.Insert(t, g.as, "stock_movements", in)
		}
		look := func() map[string]any {
			t.Helper()
			var begun tally
			g.say("start_count", map[string]any{"zone_id": bin, "item_id": g.item}, 200, &begun)
			return map[string]any{"count_task_id": begun.Task.ID, "counted_at": time.Now().UTC().Format(time.RFC3339Nano),
				"lines": []any{map[string]any{"counted": 4}}}
		}

		moved("receipt", acme, 4)
		count := look()
		moved("transfer", acme, 4)
		g.say("enter_count", count, 200, nil)
		g.is("count_lines?select=counted,expected,variance,owner_id&count_task_id=eq."+count["count_task_id"].(string),
			`[{"counted":4,"expected":4,"variance":0,"owner_id":"`+acme+`"}]`)

		moved("receipt", acme, 4)
		moved("receipt", bolt, 4)
		count = look()
		moved("transfer", acme, 4)
		moved("transfer", bolt, 4)
		if r := k.Post(g.as, "/v1/rpc/enter_count", count); r.Status != 400 ||
			!strings.Contains(string(r.Body), "lines[0].owner_id") {
			t.Errorf("of two owners: %d %s", r.Status, r.Body)
		}
		count["lines"] = []any{map[string]any{"counted": 4, "owner_id": bolt}}
		g.say("enter_count", count, 200, nil)
		g.is("stock_movements?select=id&type=in.(count_gain,count_loss)&item_id=eq."+g.item, `[]`)
		k.Verified(t)
	})
}
