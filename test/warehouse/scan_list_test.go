package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// The number on a pick list is scanned by those who may claim the list, an operator's and
// one that is nobody's yet; that of a colleague is unknown to an operator.
func TestScansOfPickLists(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := testkit.As(actor.Operator)
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, _ := g.order(4)
		list, _ := g.released(order)
		number := list1(t, k, g.as, "pick_lists?select=id:pick_no&id=eq."+list)
		type found struct {
			Kind   string
			Record struct{ ID string }
			Next   []struct{ Verb string }
		}
		is := func(as, when string, canClaim bool) {
			t.Helper()
			var out found
			k.Say(t, as, "scan", map[string]any{"code": number}, 200, &out)
			claims := len(out.Next) == 1 && out.Next[0].Verb == "claim_pick_list"
			if out.Kind != "pick_list" || out.Record.ID != list || claims != canClaim {
				t.Errorf("%s, %s: %+v", as, when, out)
			}
		}
		unknown := func(when string) {
			t.Helper()
			r := k.Say(t, op, "scan", map[string]any{"code": number}, 404, nil)
			if !strings.Contains(string(r.Body), "nothing here has the code") {
				t.Errorf("%s: %s", when, r.Body)
			}
		}
		is(op, "nobody's", true)
		is(g.as, "nobody's", true)

		assign := func(worker any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/pick_lists/" + list, As: g.as,
				Body: map[string]any{"assigned_worker_id": worker}}); r.Status != 200 {
				t.Fatalf("the picker: %d %s", r.Status, r.Body)
			}
		}
		assign(k.Insert(t, g.as, "workers", map[string]any{"employee_no": "SCL-1", "name": "A colleague"}))
		unknown("a colleague's")
		assign(nil)
		k.Say(t, op, "claim_pick_list", map[string]any{"pick_list_id": list}, 200, nil)
		is(op, "my own", true)

		g.say("cancel_order", map[string]any{"order_id": order, "reason": "changed"}, 200, nil)
		is(op, "my own, ended", false)
		k.Verified(t)
	})
}
