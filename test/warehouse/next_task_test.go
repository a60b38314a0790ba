package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// nextTask is what next_task answers.
type nextTask struct {
	Kind       string
	Task       *struct{ ID string }
	Mine       bool
	Why        string
	Next       []struct{ Verb string }
	Zone       *struct{ Code string }
	Metres     *float64 `json:"distance_m"`
	PromisedAt string   `json:"promised_at"`
}

// emptyFloor is goods of a tenant in which no other work waits, with the worker of its operator.
type emptyFloor struct {
	*twoSites
	op, worker string
	orders     map[string]string // by their lists
}

// newEmptyFloor closes the work that the demonstration has left open.
func newEmptyFloor(t *testing.T, k *testkit.Kit) *emptyFloor {
	t.Helper()
	f := &emptyFloor{twoSites: newTwoSites(t, k, map[string]any{}), op: testkit.As(actor.Operator),
		orders: map[string]string{}}
	f.worker = list1(t, k, f.as, "members?select=id:worker_id&email=eq."+f.op)
	for _, work := range []string{"pick_lists?status=in.(draft,released,in_progress)",
		"putaway_tasks?status=in.(open,in_progress)",
		"replenish_tasks?status=in.(open,in_progress)", "count_tasks?status=in.(open,counting)"} {
		f.patched(work, map[string]any{"status": "cancelled"}, 204)
	}
	f.moveWorker("")
	return f
}

// move gives the operator's worker a site.
func (f *emptyFloor) moveWorker(site string) {
	f.t.Helper()
	set := map[string]any{"site_id": nil}
	if site != "" {
		set["site_id"] = f.sites[site]
	}
	f.patched("workers/"+f.worker, set, 200)
}

// release makes a released list of goods of a place.
func (f *emptyFloor) release(bin string, order map[string]any) (list string) {
	f.t.Helper()
	f.stock(bin, 5)
	row := map[string]any{"party_name": "Customer"}
	for name, v := range order {
		row[name] = v
	}
	id := f.k.Insert(f.t, f.as, "orders", row)
	f.k.Insert(f.t, f.as, "order_lines", map[string]any{"order_id": id, "line_no": 1, "item_id": f.item, "qty_ordered": 5})
	list, _ = f.released(id)
	f.orders[list] = id
	return list
}

// ask says next_task as the operator.
func (f *emptyFloor) ask(in map[string]any) (out nextTask) {
	f.t.Helper()
	f.k.Say(f.t, f.op, "next_task", in, 200, &out)
	if out.Why == "" {
		f.t.Errorf("%v: no reason: %+v", in, out)
	}
	return out
}

// gets asks for the next task, which has to be this one.
func (f *emptyFloor) gets(in map[string]any, kind, id string) nextTask {
	f.t.Helper()
	out := f.ask(in)
	if out.Kind != kind || out.Task == nil || out.Task.ID != id {
		f.t.Errorf("%v: %+v, want %s %s", in, out, kind, id)
	}
	return out
}

// sees reads a list and its lines as the operator.
func (f *emptyFloor) sees(list string, want bool) {
	f.t.Helper()
	for _, path := range []string{"pick_lists?select=id&id=eq." + list, "pick_lines?select=id&pick_list_id=eq." + list} {
		r := f.k.Get(f.op, "/v1/"+path)
		if r.Status != 200 || (string(r.Body) != "[]") != want {
			f.t.Errorf("%s: %d %s, want any: %v", path, r.Status, r.Body, want)
		}
	}
}

// An operator reads released lists of nobody at the own site, with their lines, and claims
// them; lists of a colleague, drafts and lists of another site are not there.
func TestOperatorsSeeWhatTheyMayClaim(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newEmptyFloor(t, k)
		list := f.release(f.zone("HH", "BIN", nil), map[string]any{"site_id": f.sites["HH"]})
		f.sees(list, false)
		f.moveWorker("HH")
		f.sees(list, true)
		f.moveWorker("B")
		f.sees(list, false)
		k.Say(t, f.op, "claim_pick_list", map[string]any{"pick_list_id": list}, 404, nil)
		line := list1(t, k, f.as, "pick_lines?select=id&pick_list_id=eq."+list)
		k.Say(t, f.op, "pick_line", map[string]any{"pick_line_id": line, "quantity": 5}, 404, nil)
		f.is("pick_lists?select=assigned_worker_id&id=eq."+list, `[{"assigned_worker_id":null}]`)
		f.moveWorker("HH")

		member := list1(t, k, f.as, "members?select=id&email=eq."+f.op)
		other := f.zone("HH", "OTHER", nil)
		scope := func(zones ...string) {
			t.Helper()
			zones = append([]string{}, zones...)
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/members/" + member, As: testkit.As(actor.Admin),
				Body: map[string]any{"zone_ids": zones}}); r.Status != 200 {
				t.Fatalf("zones of the member: %d %s", r.Status, r.Body)
			}
		}
		scope(other)
		f.sees(list, false)
		scope()
		f.sees(list, true)

		colleague := k.Insert(t, f.as, "workers", map[string]any{"employee_no": "NT-1", "name": "A colleague"})
		f.patched("pick_lists/"+list, map[string]any{"assigned_worker_id": colleague}, 200)
		f.sees(list, false)
		f.patched("pick_lists/"+list, map[string]any{"assigned_worker_id": nil}, 200)
		f.sees(list, true)
		k.Call(testkit.Request{Method: "PATCH", Path: "/v1/pick_lists?id=eq." + list, As: f.op,
			Body: map[string]any{"status": "in_progress"}})
		f.is("pick_lists?select=status&id=eq."+list, `[{"status":"released"}]`)

		draft := k.Insert(t, f.as, "pick_lists", map[string]any{})
		k.Insert(t, f.as, "pick_lines", map[string]any{"pick_list_id": draft, "seq": 1, "zone_id": other,
			"item_id": f.item, "qty": 1})
		f.sees(draft, false)

		k.Say(t, f.op, "claim_pick_list", map[string]any{"pick_list_id": list}, 200, nil)
		f.sees(list, true)
		f.moveWorker("B")
		f.sees(list, true)
		f.moveWorker("")
		k.Verified(t)
	})
}

// next_task names the caller's own work first, then the most urgent, the first promised, the
// nearest and the oldest; with claim it becomes the caller's, and nobody else is named it.
func TestNextTask(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newEmptyFloor(t, k)
		if out := f.ask(nil); out.Task != nil || out.Kind != "" || !strings.Contains(out.Why, "nothing to do") {
			t.Errorf("an empty floor: %+v", out)
		}
		f.moveWorker("HH")
		near := f.zone("HH", "NEAR", map[string]any{"x": 10, "y": 10})
		far := f.zone("HH", "FAR", map[string]any{"x": 50, "y": 10})
		here := f.zone("HH", "HERE", map[string]any{"x": 12, "y": 10})
		at := map[string]any{"at_zone_id": here}
		hh := f.sites["HH"]
		old := f.release(far, map[string]any{"site_id": hh})
		f.gets(nil, "pick", old)
		young := f.release(near, map[string]any{"site_id": hh})
		f.gets(nil, "pick", old)
		if out := f.gets(at, "pick", young); out.Metres == nil || *out.Metres != 2 || out.Zone == nil ||
			out.Zone.Code != "NEAR-HH." {
			t.Errorf("the nearest: %+v", out)
		}
		promised := f.release(far, map[string]any{"site_id": hh, "promised_at": "2100-01-01T10:00:00Z"})
		if out := f.gets(at, "pick", promised); out.PromisedAt == "" ||
			!strings.Contains(out.Why, "promised for 2100-01-01") {
			t.Errorf("the promised: %+v", out)
		}
		f.patched("pick_lists/"+old, map[string]any{"priority": 1}, 200)
		f.gets(at, "pick", old)

		var count struct {
			Task struct{ ID string } `json:"count_task"`
		}
		f.say("start_count", map[string]any{"zone_id": near}, 200, &count)
		f.gets(map[string]any{"kind": "count"}, "count", count.Task.ID)
		var in struct {
			Tasks []struct{ ID string } `json:"putaway_tasks"`
		}
		f.say("receive", map[string]any{"zone_id": f.docks["HH"],
			"lines": []any{map[string]any{"item_id": f.item, "quantity": 3}}}, 200, &in)
		f.gets(map[string]any{"kind": "put_away"}, "put_away", in.Tasks[0].ID)
		if out := f.ask(map[string]any{"kind": "replenish"}); out.Task != nil {
			t.Errorf("a replenishment: %+v", out)
		}

		claim := map[string]any{"claim": true}
		f.gets(map[string]any{"claim": true, "dry_run": true}, "pick", old)
		f.is("pick_lists?select=id&assigned_worker_id=eq."+f.worker+"&status=eq.released", "[]")
		for range 2 {
			out := f.gets(claim, "pick", old)
			if !out.Mine || len(out.Next) != 1 || out.Next[0].Verb != "claim_pick_list" || !strings.Contains(out.Why, "yours") {
				t.Errorf("claimed: %+v", out)
			}
		}
		f.is("pick_lists?select=id&assigned_worker_id=eq."+f.worker+"&status=eq.released", `[{"id":"`+old+`"}]`)
		f.gets(map[string]any{"claim": true, "kind": "put_away"}, "put_away", in.Tasks[0].ID)
		f.is("putaway_tasks?select=assigned_worker_id&id=eq."+in.Tasks[0].ID, `[{"assigned_worker_id":"`+f.worker+`"}]`)

		colleague := k.Insert(t, f.as, "workers", map[string]any{"employee_no": "NT-2", "name": "A colleague"})
		f.patched("pick_lists/"+old, map[string]any{"assigned_worker_id": colleague}, 200)
		f.gets(map[string]any{"kind": "pick"}, "pick", promised)
		f.say("hold_order", map[string]any{"order_id": f.orders[promised], "reason": "waits"}, 200, nil)
		f.gets(map[string]any{"kind": "pick"}, "pick", young)
		k.Verified(t)
	})
}

// Work of another site, and of an account without a worker, is not proposed.
func TestNextTaskStaysAtTheSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newEmptyFloor(t, k)
		list := f.release(f.zone("HH", "BIN", nil), map[string]any{"site_id": f.sites["HH"]})
		f.say("start_count", map[string]any{"zone_id": f.docks["HH"]}, 200, nil)
		f.say("receive", map[string]any{"zone_id": f.docks["HH"],
			"lines": []any{map[string]any{"item_id": f.item, "quantity": 3}}}, 200, nil)
		f.moveWorker("B")
		if out := f.ask(map[string]any{"claim": true}); out.Task != nil {
			t.Errorf("work of Hamburg in Berlin: %+v", out)
		}
		r := k.Say(t, f.op, "next_task", map[string]any{"at_zone_id": f.docks["HH"]}, 409, nil)
		if !strings.Contains(string(r.Body), "at_zone_id") || !strings.Contains(string(r.Body), "another site") {
			t.Errorf("from Hamburg: %s", r.Body)
		}
		f.moveWorker("HH")
		f.gets(map[string]any{"at_zone_id": f.docks["HH"], "kind": "pick"}, "pick", list)
		f.moveWorker("")
		if out := f.ask(map[string]any{"at_zone_id": f.docks["B"]}); out.Task != nil {
			t.Errorf("work of Hamburg, seen from Berlin: %+v", out)
		}
		member := list1(t, k, f.as, "members?select=id&email=eq."+f.op)
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/members/" + member, As: testkit.As(actor.Admin),
			Body: map[string]any{"worker_id": nil}}); r.Status != 200 {
			t.Fatalf("a member without a worker: %d %s", r.Status, r.Body)
		}
		if out := f.ask(map[string]any{"claim": true}); out.Task != nil || !strings.Contains(out.Why, "no worker") {
			t.Errorf("without a worker: %+v", out)
		}
		f.sees(list, false)
		f.is("pick_lists?select=assigned_worker_id&id=eq."+list, `[{"assigned_worker_id":null}]`)
	})
}

// A worker without a site reaches places without one alone, one who has left reaches none, and
// a list without lines is nobody's to read. next_task names what is read, and nothing else.
func TestWorkIsReachedFromTheOwnSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newEmptyFloor(t, k)
		hamburg := f.release(f.zone("HH", "BIN", nil), map[string]any{"site_id": f.sites["HH"]})
		check := func(list string, want bool) {
			t.Helper()
			f.sees(list, want)
			if out := f.ask(map[string]any{"kind": "pick"}); (out.Task != nil && out.Task.ID == list) != want {
				t.Errorf("next_task: %+v, want %s: %v", out, list, want)
			}
		}
		check(hamburg, false)
		if out := f.ask(map[string]any{"at_zone_id": f.docks["HH"]}); out.Task != nil {
			t.Errorf("a worker without a site, standing in Hamburg: %+v", out)
		}
		f.moveWorker("HH")
		check(hamburg, true)
		f.patched("workers/"+f.worker, map[string]any{"status": "left"}, 200)
		check(hamburg, false)
		f.patched("workers/"+f.worker, map[string]any{"status": "active"}, 200)
		check(hamburg, true)

		empty := k.Insert(t, f.as, "pick_lists", map[string]any{})
		f.patched("pick_lists/"+empty, map[string]any{"status": "released"}, 200)
		f.sees(empty, false)

		f.patched("pick_lists/"+hamburg, map[string]any{"status": "cancelled"}, 200)
		anywhere := f.release(f.zone("", "BIN", nil), nil)
		for _, site := range []string{"", "HH", "B"} {
			f.moveWorker(site)
			check(anywhere, true)
		}
	})
}

// Two who claim the next task at the same moment are given different work.
func TestNextTaskIsClaimedOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newEmptyFloor(t, k)
		other := k.Insert(t, f.as, "workers", map[string]any{"employee_no": "NT-3", "name": "Picks too"})
		member := list1(t, k, f.as, "members?select=id&email=eq."+f.as)
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/members/" + member, As: testkit.As(actor.Admin),
			Body: map[string]any{"worker_id": other}}); r.Status != 200 {
			t.Fatalf("a worker for the manager: %d %s", r.Status, r.Body)
		}
		bin := f.zone("", "BIN", nil)
		for range 4 {
			for range 2 {
				f.release(bin, nil)
			}
			answers := make(chan testkit.Response, 2)
			for _, as := range []string{f.as, f.op} {
				go func() {
					answers <- k.Call(testkit.Request{Method: "POST", Path: "/v1/rpc/next_task", As: as,
						Body: map[string]any{"claim": true, "kind": "pick"}})
				}()
			}
			var tasks []string
			for range 2 {
				var out nextTask
				r := <-answers
				r.JSON(t, &out)
				if r.Status != 200 || out.Task == nil {
					t.Fatalf("claimed at once: %d %s", r.Status, r.Body)
				}
				tasks = append(tasks, out.Task.ID)
			}
			if tasks[0] == tasks[1] {
				t.Errorf("two were given %s", tasks[0])
			}
			f.patched("pick_lists?id=in.("+strings.Join(tasks, ",")+")", map[string]any{"status": "cancelled"}, 204)
		}
	})
}
