package warehouse_test

import (
	"fmt"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// tally is what a count answers.
type tally struct {
	Task     struct{ ID, Status, Method string } `json:"count_task"`
	Expected []struct {
		Item     string `json:"item_id"`
		Owner    string `json:"owner_id"`
		Quantity float64
	}
	Movements []struct {
		Type     string
		Item     string `json:"item_id"`
		Owner    string `json:"owner_id"`
		Quantity float64
	}
}

// A full count tells who may look what the books have of everything in the place,
// and what nobody names is not there; a look whether a place is empty closes itself
// when it is, and books what lies there when it is not.
func TestCountsOfPlaces(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m, op := testkit.As(actor.Manager), testkit.As(actor.Operator)
		y := newYard(t, k, "CPLA", nil)
		other := k.Insert(t, m, "items", map[string]any{"sku": "CPLA-2", "name": "Other"})
		stock(t, k, y.item, y.bin, 5, nil)
		stock(t, k, other, y.bin, 7, nil)
		begin := func(more map[string]any) (out tally) {
			t.Helper()
			in := map[string]any{"zone_id": y.bin}
			for name, v := range more {
				in[name] = v
			}
			k.Say(t, op, "start_count", in, 200, &out)
			return out
		}
		enter := func(c tally, lines ...any) (out tally) {
			t.Helper()
			k.Say(t, op, "enter_count", map[string]any{"count_task_id": c.Task.ID, "lines": append([]any{}, lines...)}, 200,
				&out)
			return out
		}
		full := begin(map[string]any{"method": "full", "blind": false})
		if len(full.Expected) != 2 || full.Task.Method != "full" {
			t.Errorf("a full count: %+v", full)
		}
		done := enter(full, map[string]any{"item_id": y.item, "counted": 6})
		if got := fmt.Sprint(done.Task.Status, len(done.Movements)); got != "approved2" {
			t.Errorf("%s: %+v", got, done)
		}
		is := func(want string) {
			t.Helper()
			r := k.Get(m, "/v1/stock_levels?select=quantity&quantity=gt.0&order=quantity&zone_id=eq."+y.bin)
			if string(r.Body) != want {
				t.Errorf("the bin has %s, want %s", r.Body, want)
			}
		}
		is(`[{"quantity":6}]`)
		zero := begin(map[string]any{"method": "zero_check"})
		if done := enter(zero); done.Task.Status != "approved" || len(done.Movements) != 1 ||
			done.Movements[0].Type != "count_loss" {
			t.Errorf("an empty place: %+v", done)
		}
		is(`[]`)
		if done := enter(begin(map[string]any{"method": "zero_check"})); done.Task.Status != "approved" ||
			len(done.Movements) != 0 {
			t.Errorf("as empty as the books have it: %+v", done)
		}
		if done := enter(begin(map[string]any{"method": "zero_check"}),
			map[string]any{"item_id": other, "counted": 2}); len(done.Movements) != 1 ||
			done.Movements[0].Type != "count_gain" || done.Movements[0].Item != other {
			t.Errorf("not empty: %+v", done)
		}
		is(`[{"quantity":2}]`)
		refusedWith(t, k, op, "start_count", "method", 400, map[string]any{"zone_id": y.bin, "method": "glance"})
		k.Verified(t)
	})
}

// What is counted of an owner's goods stays his: whoever counts need not know whose
// they are while one owner has such goods there, and is asked where several have.
func TestCountsOfOwners(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m, op := testkit.As(actor.Manager), testkit.As(actor.Operator)
		y := newYard(t, k, "COWN", nil)
		acme := k.Insert(t, m, "goods_owners", map[string]any{"code": "COWN-A", "name": "Acme"})
		bolt := k.Insert(t, m, "goods_owners", map[string]any{"code": "COWN-B", "name": "Bolt"})
		stock(t, k, y.item, y.bin, 10, map[string]any{"owner_id": acme})
		count := func(want int, line map[string]any) (out tally) {
			t.Helper()
			var c tally
			k.Say(t, op, "start_count", map[string]any{"zone_id": y.bin, "item_id": y.item, "blind": false}, 200, &c)
			if len(c.Expected) == 0 || c.Expected[0].Owner == "" {
				t.Errorf("whose goods are expected is not told: %+v", c.Expected)
			}
			in := map[string]any{"count_task_id": c.Task.ID, "lines": []any{line}}
			if want != 200 {
				refusedWith(t, k, op, "enter_count", "lines[0].owner_id", want, in)
				k.Call(testkit.Request{Method: "PATCH", Path: "/v1/count_tasks/" + c.Task.ID, As: m,
					Body: map[string]any{"status": "cancelled"}})
				return out
			}
			k.Say(t, op, "enter_count", in, 200, &out)
			return out
		}
		if out := count(200, map[string]any{"counted": 9}); len(out.Movements) != 1 || out.Movements[0].Owner != acme ||
			out.Movements[0].Quantity != 1 {
			t.Errorf("one is missing: %+v", out.Movements)
		}
		stock(t, k, y.item, y.bin, 4, map[string]any{"owner_id": bolt})
		count(400, map[string]any{"counted": 4})
		count(404, map[string]any{"counted": 4, "owner_id": y.item})
		if out := count(200, map[string]any{"counted": 5, "owner_id": bolt}); len(out.Movements) != 2 {
			t.Errorf("one more of Bolt's, none of Acme's: %+v", out.Movements)
		}
		r := k.Get(m, "/v1/stock_levels?select=quantity,goods_owners(code)&quantity=gt.0&zone_id=eq."+y.bin)
		if string(r.Body) != `[{"quantity":5,"goods_owners":{"code":"COWN-B"}}]` {
			t.Errorf("the bin: %s", r.Body)
		}
		k.Verified(t)
	})
}
