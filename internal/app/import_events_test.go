package app_test

import (
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Each thing that happened to an import is told once: a rollback that is
// refused, or leaves records, does not tell again that the import was applied.
func TestImportEvents(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		admin := testkit.As(actor.Admin)
		upload := func(target, file string) string {
			t.Helper()
			body, kind := form(t, target, "i.csv", file)
			var job struct{ ID string }
			k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: admin, Body: body,
				Header: map[string]string{"Content-Type": kind}}).JSON(t, &job)
			return job.ID
		}
		kinds := []string{"import.completed", "import.failed", "import.rolled_back"}
		want := map[string]int{}
		for _, kind := range kinds {
			want[kind] = k.Told(t, kind)
		}
		step := func(verb, job string, partial bool, status int, tells string) {
			t.Helper()
			in := map[string]any{"job_id": job}
			if partial {
				in["partial"] = true
			}
			if r := k.Post(admin, "/functions/v1/"+verb+"-import-job", in); r.Status != status {
				t.Fatalf("%s: %d %s", verb, r.Status, r.Body)
			}
			if tells != "" {
				want[tells]++
			}
			for _, kind := range kinds {
				if n := k.Told(t, kind); n != want[kind] {
					t.Errorf("%s, %d: %s was told %d times, want %d", verb, status, kind, n, want[kind])
				}
			}
		}
		job := upload("items", "sku,name\nEVT-1,One\nEVT-2,Two\n")
		step("process", job, false, 200, "")
		outbox, was := k.Counted(t, "outbox"), k.Counted(t, "items")
		for _, c := range []struct{ statement, when string }{ // an apply that breaks tells nothing
			{"INSERT ON items", "NEW.sku = 'EVT-2'"},
			{"INSERT ON outbox", "NEW.type = 'import.completed'"},
			{"INSERT ON audit", "NEW.action LIKE 'import%'"},
		} {
			mend := broken(t, k, c.statement, c.when)
			step("apply", job, false, 500, "")
			mend()
			if o, n := k.Counted(t, "outbox"), k.Counted(t, "items"); o != outbox || n != was {
				t.Errorf("an apply that broke at %s left %d events and %d items", c.statement, o-outbox, n-was)
			}
		}
		step("apply", job, false, 200, "import.completed")
		step("apply", job, false, 200, "") // answered with its first result
		var items []struct{ ID string }
		k.Get(admin, "/v1/items?sku=eq.EVT-1&select=id").JSON(t, &items)
		order := k.Insert(t, admin, "orders", map[string]any{"order_no": "EVT-1"})
		line := k.Insert(t, admin, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": items[0].ID,
			"qty_ordered": 1})
		step("rollback", job, false, 409, "")
		step("rollback", job, true, 200, "")
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/order_lines?id=eq." + line, As: admin}); r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		step("rollback", job, false, 200, "import.rolled_back")
		step("process", upload("zones", "nothing,known\na,b\n"), false, 400, "import.failed")
	})
}
