package warehouse_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// Who books a kind of movement alone.
const (
	byAll      = "everyone who books movements"
	withinWord = "the same, up to the tenant's limit"
	byManagers = "managers"
)

// booking is a movement that somebody tries to book.
type booking struct {
	name     string
	who      string
	movement map[string]any // without the item and the quantity; values "from", "to" and "held" stand for zones
}

// bookings are all types of movement, and the ways in which goods leave quarantine.
func bookings() []booking {
	into := map[string]any{"to_zone_id": "to"}
	out := map[string]any{"from_zone_id": "from"}
	inside := map[string]any{"from_zone_id": "from", "to_zone_id": "to"}
	status := func(from, to string) map[string]any {
		return map[string]any{"from_zone_id": "from", "to_zone_id": "from", "from_status": from, "to_status": to}
	}
	list := []booking{
		{"status_change", byAll, status("available", "hold")},
		{"status_change from quarantine", byManagers, status("quarantine", "available")},
		{"status_change within quarantine", byAll, status("quarantine", "damaged")},
		{"transfer out of a quarantine zone", byManagers, map[string]any{"from_zone_id": "held", "to_zone_id": "to"}},
		{"transfer of held goods", byAll, map[string]any{"from_zone_id": "from", "to_zone_id": "to",
			"from_status": "quarantine", "to_status": "quarantine"}},
	}
	for _, kind := range []string{"transfer", "putaway", "replenish", "pick", "unpick", "pack"} {
		release := map[string]any{"from_zone_id": "from", "to_zone_id": "to", "from_status": "quarantine",
			"to_status": "available"}
		list = append(list, booking{kind, byAll, inside}, booking{kind + " from quarantine", byManagers, release})
	}
	for _, kind := range []string{"receipt", "return_in"} {
		list = append(list, booking{kind, byAll, into})
	}
	for _, kind := range []string{"adjust_gain", "count_gain"} {
		list = append(list, booking{kind, withinWord, into})
	}
	for _, kind := range []string{"ship", "adjust_loss", "count_loss", "scrap"} {
		list = append(list, booking{kind, withinWord, out})
	}
	for _, kind := range []string{"opening", "import"} {
		list = append(list, booking{kind, byManagers, into})
	}
	return list
}

// movementDoors are the ways in which a client sends movements itself.
var movementDoors = map[string]func(k *testkit.Kit, as caller, m map[string]any) testkit.Response{
	"one row": func(k *testkit.Kit, as caller, m map[string]any) testkit.Response {
		return as.send(k, http.MethodPost, "/v1/stock_movements", nil, m)
	},
	"two rows": func(k *testkit.Kit, as caller, m map[string]any) testkit.Response {
		m["quantity"] = m["quantity"].(int) / 2
		return as.send(k, http.MethodPost, "/v1/stock_movements", nil, []any{m, m})
	},
	"the compatible path": func(k *testkit.Kit, as caller, m map[string]any) testkit.Response {
		return as.send(k, http.MethodPost, "/rest/v1/stock_movements", nil, m)
	},
	"upsert": func(k *testkit.Kit, as caller, m map[string]any) testkit.Response {
		m["idempotency_key"] = uuid.NewString()
		prefer := map[string]string{"Prefer": "resolution=ignore-duplicates"}
		return as.send(k, http.MethodPost, "/v1/stock_movements?on_conflict=idempotency_key", prefer, m)
	},
	"csv": func(k *testkit.Kit, as caller, m map[string]any) testkit.Response {
		var head, row []string
		for name, v := range m {
			head, row = append(head, name), append(row, fmt.Sprint(v))
		}
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		_ = w.WriteAll([][]string{head, row}) // a buffer takes all
		return as.send(k, http.MethodPost, "/v1/stock_movements", map[string]string{"Content-Type": "text/csv"}, b.Bytes())
	},
	"a forged reference": func(k *testkit.Kit, as caller, m map[string]any) testkit.Response {
		m["ref_type"], m["ref_id"] = "shipments", uuid.NewString()
		return as.send(k, http.MethodPost, "/v1/stock_movements", nil, m)
	},
}

// caller is a member of tenant north by role, or its service key.
type caller actor.Role

func (c caller) send(k *testkit.Kit, method, path string, header map[string]string, body any) testkit.Response {
	q := testkit.Request{Method: method, Path: path, Header: header, Body: body}
	if actor.Role(c) == actor.Service {
		q.Bearer = k.Service()
	} else {
		q.As = testkit.As(actor.Role(c))
	}
	return k.Call(q)
}

// expects is the status and the code that a booking is answered with.
func (c caller) expects(b booking, isAbove bool) (status int, code string) {
	switch role := actor.Role(c); role {
	case actor.Owner, actor.Admin, actor.Manager, actor.Service:
	case actor.Operator:
		if b.who == byManagers {
			return 403, "42501"
		}
	default:
		return 403, "42501"
	}
	if b.who == withinWord && isAbove {
		return 409, "HF023"
	}
	return 201, ""
}

// limitAt sets the two limits of tenant north.
func limitAt(t *testing.T, k *testkit.Kit, value any) {
	t.Helper()
	set(t, k, "adjust_limit_value", value)
	set(t, k, "count_auto_approve", value)
}

// Whoever books a movement, by whichever way, is held to the same rule: a role may
// book it, may book it up to the tenant's limit, or may not.
func TestSecondPerson_everyMovement(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		limitAt(t, k, 100)
		manager := testkit.As(actor.Manager)
		zone := func(code, kind string) string {
			return k.Insert(t, manager, "zones", map[string]any{"code": "2P-" + code, "name": code, "kind": kind})
		}
		zones := map[any]string{"from": zone("FROM", "dock"), "to": zone("TO", "dock"), "held": zone("HELD", "quarantine")}
		tries := bookingTries()
		items := newStocks(t, k, zones, len(tries))

		booked := 0
		for i, try := range tries {
			m := map[string]any{"type": strings.Fields(try.name)[0], "item_id": items[i], "quantity": try.quantity,
				"tenant_id": demo.North}
			for name, v := range try.movement {
				m[name] = v
				if id := zones[v]; id != "" {
					m[name] = id
				}
			}
			r := movementDoors[try.door](k, try.as, m)
			status, code := try.as.expects(try.booking, try.quantity > 100)
			if r.Status != status || !strings.Contains(string(r.Body), code) {
				t.Errorf("%s: %s of %d by %s: %d %s, want %d %s", try.door, try.name, try.quantity, try.as, r.Status, r.Body,
					status, code)
			}
			if code == "HF023" && !strings.Contains(string(r.Body), "start_count") &&
				!strings.Contains(string(r.Body), "adjust_stock") {
				t.Errorf("%s: nothing says how to go on: %s", try.name, r.Body)
			}
			if r.Status == 201 {
				booked++
			}
		}
		if booked == 0 {
			t.Error("nothing was booked")
		}
		k.Verified(t)
	})
}

// bookingTry is one booking by somebody in some way.
type bookingTry struct {
	booking
	door     string
	as       caller
	quantity int
}

// bookingTries are all bookings by all roles, within the limit of 100 and above it;
// by ways other than the plain one those above it, by an operator and a manager.
func bookingTries() (list []bookingTry) {
	for door := range movementDoors {
		callers, quantities := []caller{caller(actor.Operator), caller(actor.Manager)}, []int{120}
		if door == "one row" {
			callers, quantities = []caller{caller(actor.Service)}, []int{60, 120}
			for _, role := range actor.Members {
				callers = append(callers, caller(role))
			}
		}
		for _, as := range callers {
			for _, b := range bookings() {
				for _, quantity := range quantities {
					list = append(list, bookingTry{b, door, as, quantity})
				}
			}
		}
	}
	return list
}

// newStocks makes items of cost 1 with stock: available and in quarantine at
// "from", available at "held".
func newStocks(t *testing.T, k *testkit.Kit, zones map[any]string, n int) (ids []string) {
	t.Helper()
	tag := uuid.NewString()[:8]
	for part := range slices.Chunk(make([]struct{}, n), 500) {
		var items, stock []any
		for range part {
			id := uuid.NewString()
			ids = append(ids, id)
			items = append(items, map[string]any{"id": id, "sku": fmt.Sprintf("%s-%d", tag, len(ids)), "name": "Second person",
				"unit_cost": 1})
			for _, at := range [][2]string{{"from", "available"}, {"from", "quarantine"}, {"held", "available"}} {
				stock = append(stock, map[string]any{"type": "opening", "item_id": id, "to_zone_id": zones[at[0]],
					"to_status": at[1], "quantity": 500})
			}
		}
		if r := k.Post(testkit.As(actor.Manager), "/v1/items", items); r.Status != 201 {
			t.Fatalf("items: %d %s", r.Status, r.Body)
		}
		for some := range slices.Chunk(stock, 500) {
			if r := k.Post(testkit.As(actor.Manager), "/v1/stock_movements", some); r.Status != 201 {
				t.Fatalf("opening: %d %s", r.Status, r.Body)
			}
		}
	}
	return ids
}

// What one person books of one item in one day adds up, whichever way it is
// booked; another person, another item and another day begin anew.
func TestSecondPerson_sums(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		limitAt(t, k, 100)
		op, manager, admin := caller(actor.Operator), testkit.As(actor.Manager), testkit.As(actor.Admin)
		y := newYard(t, k, "2SUM", map[string]any{"unit_cost": 1})
		other := k.Insert(t, manager, "items", map[string]any{"sku": "2SUM-2", "name": "Other", "unit_cost": 1})
		stock(t, k, y.item, y.bin, 500, nil)
		stock(t, k, other, y.dock, 500, nil)
		adjust := func(as caller, item string, q any) (waits bool) {
			t.Helper()
			var out struct {
				Movement *struct{ ID string }
				Approval *struct{ ID, Status string }
			}
			zone := y.bin
			if item == other {
				zone = y.dock
			}
			in := map[string]any{"item_id": item, "zone_id": zone, "quantity": q, "reason_code": "broken"}
			k.Say(t, testkit.As(actor.Role(as)), "adjust_stock", in, 200, &out)
			if (out.Movement == nil) == (out.Approval == nil) {
				t.Fatalf("%+v", out)
			}
			if out.Approval == nil {
				return false
			}
			k.Say(t, admin, "approve_adjustment", map[string]any{"adjustment_id": out.Approval.ID, "reason": "seen it"}, 200,
				nil)
			return true
		}
		scrap := func(as caller, q any, status int) {
			t.Helper()
			m := map[string]any{"type": "scrap", "item_id": y.item, "from_zone_id": y.bin, "quantity": q}
			if r := as.send(k, http.MethodPost, "/v1/stock_movements", nil, m); r.Status != status {
				t.Errorf("scrap of %v by %s: %d %s, want %d", q, as, r.Status, r.Body, status)
			}
		}

		for i := range 9 {
			sign := 1 - 2*(i%2)
			if waits := adjust(op, y.item, 99*sign); waits != (i > 0) {
				t.Errorf("adjustment %d of 99 under a limit of 100: waits %v", i+1, waits)
			}
		}
		scrap(op, 1, 201)
		scrap(op, 1, 409)
		scrap(caller(actor.Manager), 99, 201)
		scrap(caller(actor.Manager), 2, 409)
		if adjust(op, other, -99) {
			t.Error("another item waits")
		}
		testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE stock_movements SET created_at = $3 WHERE tenant_id = $1 AND item_id = $2", demo.North,
				y.item, time.Now().Add(-25*time.Hour))
			return err
		}))
		scrap(op, 99, 201)
		scrap(op, 2, 409)
		k.Verified(t)
	})
}

// Counts of one item by one person add up over the places of a day.
func TestSecondPerson_counts(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		limitAt(t, k, 100)
		op, manager := testkit.As(actor.Operator), testkit.As(actor.Manager)
		y := newYard(t, k, "2CNT", map[string]any{"unit_cost": 1})
		stock(t, k, y.item, y.bin, 200, nil)
		stock(t, k, y.item, y.dock, 200, nil)
		count := func(zone string, found any) (task, status string) {
			t.Helper()
			var out struct {
				Task struct{ ID, Status string } `json:"count_task"`
			}
			k.Say(t, op, "start_count", map[string]any{"zone_id": zone, "item_id": y.item}, 200, &out)
			in := map[string]any{"count_task_id": out.Task.ID, "lines": []any{map[string]any{"counted": found}}}
			k.Say(t, op, "enter_count", in, 200, &out)
			return out.Task.ID, out.Task.Status
		}
		if _, status := count(y.bin, 110); status != "approved" {
			t.Errorf("the first count: %s", status)
		}
		task, status := count(y.dock, 110)
		if status != "counted" {
			t.Errorf("the second count: %s", status)
		}
		row := map[string]any{"zone_id": y.dock, "item_id": y.item, "counted": 180}
		if r := k.Post(op, "/v1/stock_counts", row); r.Status != 409 || !strings.Contains(string(r.Body), "HF023") {
			t.Errorf("a plain count: %d %s", r.Status, r.Body)
		}
		k.Say(t, manager, "approve_count", map[string]any{"count_task_id": task, "reason": "seen it"}, 200, nil)
		if r := k.Get(manager, "/v1/items?select=on_hand&id=eq."+y.item); string(r.Body) != `[{"on_hand":220}]` {
			t.Errorf("stock: %s", r.Body)
		}
		k.Verified(t)
	})
}

// Of requests at once only those that stay within the limit together are booked.
func TestSecondPerson_atOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		limitAt(t, k, 100)
		op := testkit.As(actor.Operator)
		y := newYard(t, k, "2ONC", map[string]any{"unit_cost": 1})
		stock(t, k, y.item, y.bin, 900, nil)
		k.Get(op, "/v1/items?limit=1") // signs in
		const requests = 8
		var wg sync.WaitGroup
		var mu sync.Mutex
		statuses := map[int]int{}
		for i := range requests {
			wg.Go(func() {
				var r testkit.Response
				if i%2 == 0 {
					r = k.Post(op, "/v1/stock_movements", map[string]any{"type": "scrap", "item_id": y.item, "from_zone_id": y.bin,
						"quantity": 60})
				} else {
					in := map[string]any{"item_id": y.item, "zone_id": y.bin, "quantity": -60, "reason_code": "broken"}
					r = k.Post(op, "/v1/rpc/adjust_stock", in)
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[r.Status]++
			})
		}
		wg.Wait()
		if statuses[200]+statuses[201]+statuses[409] != requests {
			t.Errorf("answers by status: %v", statuses)
		}
		if r := k.Get(op, "/v1/items?select=on_hand&id=eq."+y.item); string(r.Body) != `[{"on_hand":840}]` {
			t.Errorf("one of them is booked: %s", r.Body)
		}
		k.Verified(t)
	})
}

// A place holds what comes in by any movement to its capacity, class, mix and
// weight. What is counted there lies there.
func TestPlacesRefuseEveryMovement(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		limitAt(t, k, 1_000_000)
		y := newYard(t, k, "2PLC", map[string]any{"unit_cost": 1, "weight_kg": 1})
		stock(t, k, y.item, y.dock, 500, nil)
		places := map[string]map[string]any{"FULL": {"max_capacity": 5}, "COOL": {"storage_class": "cool"},
			"LIGHT": {"max_weight_kg": 5}}
		for code, fields := range places {
			fields["code"], fields["name"] = "2PLC-"+code, code
			zone := k.Insert(t, manager, "zones", fields)
			for _, kind := range []string{"receipt", "return_in", "adjust_gain", "opening", "import", "putaway", "transfer",
				"replenish", "pick", "unpick", "pack"} {
				m := map[string]any{"type": kind, "item_id": y.item, "to_zone_id": zone, "quantity": 6}
				if slices.Contains([]string{"putaway", "transfer", "replenish", "pick", "unpick", "pack"}, kind) {
					m["from_zone_id"] = y.dock
				}
				if r := k.Post(manager, "/v1/stock_movements", m); r.Status != 409 || !strings.Contains(string(r.Body), "HF021") {
					t.Errorf("%s into %s: %d %s", kind, code, r.Status, r.Body)
				}
				m["override_reason"] = "no other place"
				if r := k.Post(manager, "/v1/stock_movements", m); r.Status != 201 {
					t.Errorf("%s into %s with a reason: %d %s", kind, code, r.Status, r.Body)
				}
			}
			in := map[string]any{"item_id": y.item, "zone_id": zone, "quantity": 6, "reason_code": "found"}
			refusedWith(t, k, manager, "adjust_stock", "HF021", 409, in)
			in["override_reason"] = "no other place"
			refusedWith(t, k, testkit.As(actor.Operator), "adjust_stock", "42501", 403, in)
			k.Say(t, manager, "adjust_stock", in, 200, nil)
			count := map[string]any{"zone_id": zone, "item_id": y.item, "counted": 900}
			if r := k.Post(testkit.As(actor.Operator), "/v1/stock_counts", count); r.Status != 201 {
				t.Errorf("a count at %s: %d %s", code, r.Status, r.Body)
			}
		}
		k.Verified(t)
	})
}

// A file of movements is a manager's: of any worth, with a way back.
func TestSecondPerson_imports(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		limitAt(t, k, 100)
		y := newYard(t, k, "2IMP", map[string]any{"unit_cost": 1})
		stock(t, k, y.item, y.bin, 500, nil)
		for _, role := range actor.Members {
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			testkit.Must(t, w.WriteField("target", "stock_movements"))
			part, err := w.CreateFormFile("file", "moves.csv")
			testkit.Must(t, err)
			_, err = part.Write([]byte("type,sku,from zone,to zone,qty\nopening,2IMP,,2IMP-BIN,300\nscrap,2IMP,2IMP-BIN,,250\n"))
			testkit.Must(t, err)
			testkit.Must(t, w.Close())
			as := testkit.As(role)
			r := k.Call(testkit.Request{Method: http.MethodPost, Path: "/v1/import-jobs", As: as, Body: b.Bytes(),
				Header: map[string]string{"Content-Type": w.FormDataContentType()}})
			if role != actor.Owner && role != actor.Admin && role != actor.Manager {
				if r.Status != 403 {
					t.Errorf("an upload by %s: %d %s", role, r.Status, r.Body)
				}
				continue
			}
			var job struct{ ID string }
			testkit.Must(t, json.Unmarshal(r.Body, &job))
			for _, step := range []string{"process", "apply", "rollback"} {
				who := as
				if step == "rollback" {
					who = testkit.As(actor.Admin)
				}
				if r := k.Post(who, "/functions/v1/"+step+"-import-job", map[string]any{"job_id": job.ID}); r.Status != 200 {
					t.Errorf("%s by %s: %d %s", step, role, r.Status, r.Body)
				}
				if step != "apply" {
					continue
				}
				if r := k.Get(as, "/v1/items?select=on_hand&id=eq."+y.item); string(r.Body) != `[{"on_hand":550}]` {
					t.Errorf("after the import by %s: %s", role, r.Body)
				}
			}
		}
		m := map[string]any{"type": "scrap", "item_id": y.item, "from_zone_id": y.bin, "quantity": 100}
		if r := k.Post(testkit.As(actor.Manager), "/v1/stock_movements", m); r.Status != 201 {
			t.Errorf("an import took of the manager's limit: %d %s", r.Status, r.Body)
		}
		k.Verified(t)
	})
}
