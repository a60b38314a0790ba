package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A machine's account, whatever its role and scopes, is no second person: it lets
// through no variance, no adjustment and no action, and certifies nothing. What a
// machine began a person decides on.
func TestSecondPerson_noMachine(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op, m, admin := testkit.As(actor.Operator), testkit.As(actor.Manager), testkit.As(actor.Admin)
		key := newMachine(t, k, raised(t, k, testkit.As(actor.Owner)), actor.Admin, "rpc:approve_adjustment",
			"rpc:reject_adjustment", "rpc:approve_count",
			"rpc:adjust_stock", "actions:write", "osha_summaries:write").Key
		refused := func(what string, r testkit.Response, status int, code string) {
			t.Helper()
			if r.Status != status || !strings.Contains(string(r.Body), code) {
				t.Errorf("%s by a machine: %d %s, want %d %s", what, r.Status, r.Body, status, code)
			}
		}
		verb := func(name string, in map[string]any) testkit.Response {
			return with(k, key, "POST", "/v1/rpc/"+name, in)
		}
		patch := func(path string, row map[string]any) testkit.Response { return with(k, key, "PATCH", path, row) }

		bin := k.Insert(t, m, "zones", map[string]any{"code": "SECO-BIN", "name": "Bin", "max_capacity": 1000})
		item := k.Insert(t, m, "items", map[string]any{"sku": "SECO", "name": "SECO", "unit_cost": 100})
		k.Insert(t, m, "stock_movements", map[string]any{"type": "opening", "item_id": item, "to_zone_id": bin,
			"quantity": 50})
		adjust := map[string]any{"item_id": item, "zone_id": bin, "quantity": -10, "reason_code": "found"}
		var waiting struct{ Approval struct{ ID, Status string } }
		k.Say(t, op, "adjust_stock", adjust, 200, &waiting)
		decide := map[string]any{"adjustment_id": waiting.Approval.ID, "reason": "seen it"}
		refused("an adjustment let through", verb("approve_adjustment", decide), 409, "HF023")
		refused("an adjustment refused", verb("reject_adjustment", decide), 409, "HF023")
		k.Say(t, m, "approve_adjustment", decide, 200, nil)
		r := verb("adjust_stock", adjust)
		r.JSON(t, &waiting)
		if r.Status != 200 || waiting.Approval.Status != "waiting" {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		decide["adjustment_id"] = waiting.Approval.ID
		k.Say(t, m, "approve_adjustment", decide, 200, nil)

		var count struct {
			Task struct{ ID string } `json:"count_task"`
		}
		k.Say(t, op, "start_count", map[string]any{"zone_id": bin, "item_id": item}, 200, &count)
		k.Say(t, op, "enter_count", map[string]any{"count_task_id": count.Task.ID,
			"lines": []any{map[string]any{"counted": 3}}}, 200, nil)
		in := map[string]any{"count_task_id": count.Task.ID, "reason": "seen it"}
		refused("a variance", verb("approve_count", in), 409, "HF023")
		k.Say(t, m, "approve_count", in, 200, nil)

		action := k.Insert(t, m, "actions", map[string]any{"title": "Mend the rail"})
		path := "/v1/actions?id=eq." + action
		if r := k.Call(testkit.Request{Method: "PATCH", Path: path, As: m,
			Body: map[string]any{"status": "done"}}); r.Status != 204 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		refused("an action", patch(path, map[string]any{"status": "verified"}), 403, "42501")
		if r := k.Call(testkit.Request{Method: "PATCH", Path: path, As: admin,
			Body: map[string]any{"status": "verified"}}); r.Status != 204 {
			t.Errorf("%d %s", r.Status, r.Body)
		}

		site := k.Insert(t, admin, "sites", map[string]any{"code": "TX", "name": "Texas", "country": "US",
			"timezone": "America/Chicago",
			"address":  "1 Main St", "city": "Austin", "state": "TX", "zip": "78701", "naics": "493110", "establishment_type": 1})
		sum := k.Insert(t, testkit.As(actor.Safety), "osha_summaries",
			map[string]any{"site_id": site, "year": 2025, "avg_employees": 12, "additional_hours": 24000})
		path = "/v1/osha_summaries?id=eq." + sum
		sign := map[string]any{"status": "certified", "certified_name": "C. E. O.", "certified_title": "President"}
		refused("a summary", patch(path, sign), 409, "a person certifies")
		if r := k.Call(testkit.Request{Method: "PATCH", Path: path, As: admin, Body: sign}); r.Status != 204 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})
}
