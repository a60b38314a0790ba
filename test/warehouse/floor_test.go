package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// stock books goods that are there before a test begins.
func stock(t *testing.T, k *testkit.Kit, item, zone string, quantity any, more map[string]any) {
	t.Helper()
	m := map[string]any{"type": "opening", "item_id": item, "to_zone_id": zone, "quantity": quantity}
	for name, v := range more {
		m[name] = v
	}
	k.Insert(t, testkit.As(actor.Manager), "stock_movements", m)
}

// refused says a verb that has to be refused with a code.
func refusedWith(t *testing.T, k *testkit.Kit, as, verb, code string, status int, in map[string]any) {
	t.Helper()
	if r := k.Say(t, as, verb, in, status, nil); !strings.Contains(string(r.Body), code) {
		t.Errorf("%s %v: %s, want %s", verb, in, r.Body, code)
	}
}

// A zone refuses goods of another class, of another item, above its capacity or
// its weight, by verb and by plain movement; a manager who says why puts them
// there all the same.
func TestZonesRefuse(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m, op := testkit.As(actor.Manager), testkit.As(actor.Operator)
		y := newYard(t, k, "REFU", map[string]any{"weight_kg": 2})
		other := k.Insert(t, m, "items", map[string]any{"sku": "REFU-2", "name": "Other"})
		stock(t, k, y.item, y.dock, 100, nil)
		stock(t, k, other, y.dock, 10, nil)
		zone := func(code string, more map[string]any) string {
			z := map[string]any{"code": "REFU-" + code, "name": code}
			for name, v := range more {
				z[name] = v
			}
			return k.Insert(t, m, "zones", z)
		}
		full := zone("FULL", map[string]any{"max_capacity": 5})
		single := zone("SINGLE", map[string]any{"mix_policy": "same_item"})
		empty := zone("EMPTY", map[string]any{"mix_policy": "empty_only"})
		light := zone("LIGHT", map[string]any{"max_weight_kg": 9})
		cool := zone("COOL", map[string]any{"storage_class": "cool"})
		blocked := zone("BLOCKED", map[string]any{"status": "blocked"})
		move := func(item, to string, q any) map[string]any {
			return map[string]any{"item_id": item, "from_zone_id": y.dock, "to_zone_id": to, "quantity": q}
		}
		for _, ok := range []map[string]any{move(y.item, full, 5), move(y.item, single, 1), move(y.item, single, 1),
			move(y.item, empty, 1),
			move(y.item, light, 4)} {
			k.Say(t, op, "move_stock", ok, 200, nil)
		}
		for name, in := range map[string]map[string]any{
			"full": move(y.item, full, 1), "another item": move(other, single, 1), "not empty": move(other, empty, 1),
			"heavy": move(y.item, light,
				1), "cool": move(y.item, cool, 1),
		} {
			t.Run(name, func(t *testing.T) {
				refusedWith(t, k, op, "move_stock", "HF021", 409, in)
				plain := map[string]any{"type": "transfer"}
				for member, v := range in {
					plain[member] = v
				}
				if r := k.Post(m, "/v1/stock_movements", plain); r.Status != 409 || !strings.Contains(string(r.Body), "HF021") {
					t.Errorf("plain movement: %d %s", r.Status, r.Body)
				}
				in["override_reason"] = "no other place"
				refusedWith(t, k, op, "move_stock", "42501", 403, in)
				k.Say(t, m, "move_stock", in, 200, nil)
			})
		}
		refusedWith(t, k, op, "move_stock", "HF003", 409, move(y.item, blocked, 1))
		refusedWith(t, k, op, "move_stock", "HF002", 409, move(y.item, single, 1000))
		var out struct {
			Zones []struct{ Zone struct{ ID string } }
		}
		k.Say(t, op, "suggest_putaway", map[string]any{"item_id": y.item, "quantity": 2, "from_zone_id": y.dock}, 200, &out)
		for _, z := range out.Zones {
			if z.Zone.ID == full || z.Zone.ID == cool || z.Zone.ID == light || z.Zone.ID == empty || z.Zone.ID == blocked {
				t.Errorf("%s was suggested, which refuses", z.Zone.ID)
			}
		}
		if len(out.Zones) == 0 || out.Zones[0].Zone.ID != y.bin {
			t.Errorf("the nearest zone is not first: %+v", out.Zones)
		}
		k.Verified(t)
	})
}

// A task is worked off in parts, and no further.
func TestPutAway(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := testkit.As(actor.Operator)
		y := newYard(t, k, "PUTA", nil)
		var got receiptOut
		k.Say(t, op, "receive", map[string]any{"zone_id": y.dock,
			"lines": []any{map[string]any{"item_id": y.item, "quantity": 10}}}, 200, &got)
		in := map[string]any{"task_id": got.Tasks[0].ID, "to_zone_id": y.bin, "quantity": 4}
		var out struct {
			Movement struct {
				Type     string
				Quantity float64
			}
			Task struct {
				Status string
				Done   float64 `json:"quantity_done"`
			}
		}
		k.Say(t, op, "put_away", in, 200, &out)
		if out.Movement.Type != "putaway" || out.Movement.Quantity != 4 || out.Task.Status != "in_progress" ||
			out.Task.Done != 4 {
			t.Errorf("%+v", out)
		}
		in["quantity"] = 7
		refusedWith(t, k, op, "put_away", "HF002", 409, in)
		delete(in, "quantity")
		k.Say(t, op, "put_away", in, 200, &out)
		if out.Task.Status != "done" || out.Task.Done != 10 {
			t.Errorf("%+v", out)
		}
		refusedWith(t, k, op, "put_away", "HF001", 409, in)
	})
}

// An adjustment within the limit is booked at once; one above it waits for a
// second person, and a plain movement is no way around.
func TestAdjustStock(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op, m := testkit.As(actor.Operator), testkit.As(actor.Manager)
		y := newYard(t, k, "ADJU", map[string]any{"unit_cost": 100})
		stock(t, k, y.item, y.bin, 50, nil)
		in := func(q any) map[string]any {
			return map[string]any{"item_id": y.item, "zone_id": y.bin, "quantity": q, "reason_code": "found"}
		}
		var out struct {
			Movement *struct{ Type string }
			Approval *struct{ ID, Status string }
		}
		k.Say(t, op, "adjust_stock", in(-2), 200, &out)
		if out.Movement == nil || out.Movement.Type != "adjust_loss" || out.Approval != nil {
			t.Errorf("within the limit: %+v", out)
		}
		out.Movement = nil
		k.Say(t, m, "adjust_stock", in(-10), 200, &out)
		if out.Movement != nil || out.Approval == nil || out.Approval.Status != "waiting" {
			t.Fatalf("above the limit: %+v", out)
		}
		decide := map[string]any{"adjustment_id": out.Approval.ID, "reason": "seen it"}
		refusedWith(t, k, m, "approve_adjustment", "HF023", 409, decide)
		k.Say(t, testkit.As(actor.Admin), "approve_adjustment", decide, 200, &out)
		if out.Movement == nil || out.Approval.Status != "approved" {
			t.Errorf("approved: %+v", out)
		}
		refusedWith(t, k, testkit.As(actor.Admin), "approve_adjustment", "HF001", 409, decide)
		r := k.Post(m, "/v1/stock_movements", map[string]any{"type": "adjust_loss", "item_id": y.item, "from_zone_id": y.bin,
			"quantity": 10})
		if r.Status != 409 || !strings.Contains(string(r.Body), "HF023") {
			t.Errorf("plain movement: %d %s", r.Status, r.Body)
		}
		if r := k.Get(m, "/v1/items?select=on_hand&id=eq."+y.item); string(r.Body) != `[{"on_hand":38}]` {
			t.Errorf("stock: %s", r.Body)
		}
		k.Verified(t)
	})
}

// A blind count within the limit books itself; one above it waits for a second
// person, who lets it through or has it counted again; one task per place.
func TestCounts(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op, m := testkit.As(actor.Operator), testkit.As(actor.Manager)
		y := newYard(t, k, "COUN", map[string]any{"unit_cost": 10})
		stock(t, k, y.item, y.bin, 50, nil)
		type countOut struct {
			Task      struct{ ID, Status string } `json:"count_task"`
			Lines     []struct{ Expected *float64 }
			Expected  []any
			Movements []struct {
				Type     string
				Quantity float64
			}
		}
		start := map[string]any{"zone_id": y.bin, "item_id": y.item}
		begin := func() (out countOut) {
			k.Say(t, op, "start_count", start, 200, &out)
			return out
		}
		enter := func(id string, q any) (out countOut) {
			k.Say(t, op, "enter_count", map[string]any{"count_task_id": id, "lines": []any{map[string]any{"counted": q}}}, 200,
				&out)
			return out
		}
		task := begin()
		if len(task.Expected) != 0 || task.Task.Status != "open" {
			t.Errorf("a blind count tells: %+v", task)
		}
		refusedWith(t, k, op, "start_count", "HF004", 409, start)
		if out := enter(task.Task.ID, 48); out.Task.Status != "approved" || len(out.Movements) != 1 ||
			out.Movements[0].Type != "count_loss" ||
			out.Movements[0].Quantity != 2 || out.Lines[0].Expected != nil {
			t.Errorf("within the limit: %+v", out)
		}
		task = begin()
		if out := enter(task.Task.ID, 40); out.Task.Status != "counted" || len(out.Movements) != 0 {
			t.Errorf("above the limit: %+v", out)
		}
		decide := map[string]any{"count_task_id": task.Task.ID, "reason": "shelf was moved"}
		var again countOut
		k.Say(t, m, "recount", decide, 200, &again)
		if again.Task.ID == task.Task.ID || again.Task.Status != "open" {
			t.Errorf("counted again: %+v", again)
		}
		enter(again.Task.ID, 30)
		decide["count_task_id"] = again.Task.ID
		k.Say(t, m, "approve_count", decide, 200, &again)
		if again.Task.Status != "approved" || len(again.Movements) != 1 || again.Movements[0].Quantity != 18 {
			t.Errorf("approved: %+v", again)
		}
		k.Say(t, m, "start_count", start, 200, &again)
		k.Say(t, m, "enter_count", map[string]any{"count_task_id": again.Task.ID, "lines": []any{}}, 200, &again)
		decide["count_task_id"] = again.Task.ID
		refusedWith(t, k, m, "approve_count", "HF023", 409, decide)
		if r := k.Get(m, "/v1/items?select=on_hand&id=eq."+y.item); string(r.Body) != `[{"on_hand":30}]` {
			t.Errorf("stock: %s", r.Body)
		}
		k.Verified(t)
	})
}

// A recalled lot is found, put on hold and told; it may not leave, nor may an
// expired one or one with too few days left.
func TestLotsThatBlock(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		y := newYard(t, k, "LOTS", map[string]any{"tracking": "lot", "has_expiry": true, "min_remaining_days": 30})
		lot := func(no, expires string) string {
			id := k.Insert(t, m, "lots", map[string]any{"item_id": y.item, "lot_no": no, "expires_on": expires})
			stock(t, k, y.item, y.bin, 10, map[string]any{"lot_id": id})
			return id
		}
		good, old := lot("GOOD", "2099-01-01"), lot("OLD", "2020-01-01")
		ship := func(lot string) map[string]any {
			return map[string]any{"type": "ship", "item_id": y.item, "lot_id": lot, "from_zone_id": y.bin, "quantity": 1}
		}
		refuse := func(lot string) {
			t.Helper()
			if r := k.Post(m, "/v1/stock_movements", ship(lot)); r.Status != 409 || !strings.Contains(string(r.Body), "HF020") {
				t.Errorf("ship: %d %s", r.Status, r.Body)
			}
		}
		refuse(old)
		if r := k.Post(m, "/v1/stock_movements", ship(good)); r.Status != 201 {
			t.Errorf("ship: %d %s", r.Status, r.Body)
		}
		events := k.Told(t, "lot.recalled")
		var out struct {
			Lot       struct{ Status string }
			Zones     []struct{ Quantity float64 }
			Movements []struct{ Quantity float64 }
		}
		k.Say(t, testkit.As(actor.Safety), "recall_lot", map[string]any{"lot_id": good, "reason": "glass in it"}, 200, &out)
		if out.Lot.Status != "recalled" || len(out.Zones) != 1 || out.Zones[0].Quantity != 9 || len(out.Movements) != 1 ||
			out.Movements[0].Quantity != 9 {
			t.Errorf("%+v", out)
		}
		if n := k.Told(t, "lot.recalled"); n != events+1 {
			t.Errorf("lot.recalled was told %d times", n-events)
		}
		refuse(good)
		if r := k.Get(m, "/v1/items?select=on_hand,available&id=eq."+y.item); string(r.Body) != `[{"on_hand":19,"available":0}]` {
			t.Errorf("item: %s", r.Body)
		}
		k.Verified(t)
	})
}

// Returned goods are restocked, kept apart or scrapped, and the return is
// complete when all of it is judged.
func TestReceiveReturn(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := testkit.As(actor.Operator)
		y := newYard(t, k, "RETU", nil)
		stock(t, k, y.item, y.bin, 10, nil)
		k.Insert(t, testkit.As(actor.Manager), "stock_movements",
			map[string]any{"type": "ship", "item_id": y.item, "from_zone_id": y.bin, "quantity": 10})
		order, line := confirmed(t, k, "return", y.item, 10, nil)
		part := func(q any, what string) map[string]any {
			return map[string]any{"order_line_id": line, "quantity": q, "disposition": what, "zone_id": y.dock}
		}
		var out struct {
			Order     struct{ Status string }
			Movements []struct{ Type string }
		}
		in := map[string]any{"order_id": order, "lines": []any{part(4, "restock"), part(3, "quarantine"), part(2, "scrap")}}
		k.Say(t, op, "receive_return", in, 200, &out)
		if out.Order.Status != "in_progress" || len(out.Movements) != 4 {
			t.Errorf("%+v", out)
		}
		refusedWith(t, k, op, "receive_return", "HF022", 409,
			map[string]any{"order_id": order, "lines": []any{part(2, "restock")}})
		k.Say(t, op, "receive_return", map[string]any{"order_id": order,
			"lines": []any{map[string]any{"order_line_id": line, "quantity": 1, "disposition": "refund_only"}}}, 200, &out)
		if out.Order.Status != "completed" {
			t.Errorf("%+v", out)
		}
		if r := k.Get(op, "/v1/items?select=on_hand,available&id=eq."+y.item); string(r.Body) != `[{"on_hand":7,"available":4}]` {
			t.Errorf("item: %s", r.Body)
		}
		k.Verified(t)
	})
}

// A scan says what it is: plain codes first, GS1 only where a code claims to be.
func TestScan(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		y := newYard(t, k, "SCAN", map[string]any{"tracking": "lot", "gtin": "4006381333931",
			"barcodes": []any{map[string]any{"value": "SHELF-7"}}})
		k.Insert(t, m, "item_uoms", map[string]any{"item_id": y.item, "uom": "BX", "factor": 12, "gtin": "14006381333938"})
		lot := k.Insert(t, m, "lots", map[string]any{"item_id": y.item, "lot_no": "10D9T"})
		type scanOut struct {
			Kind   string
			Record struct{ ID string }
			UoM    string
			Parsed *struct {
				LotNo string `json:"lot_no"`
				GTIN  string
			}
			Next []struct{ Verb string }
		}
		for code, want := range map[string][3]string{
			"4006381333931":                       {"item", y.item, "EA"},
			"14006381333938":                      {"item", y.item, "BX"},
			"SHELF-7":                             {"item", y.item, "EA"},
			"SCAN":                                {"item", y.item, ""},
			"10D9T":                               {"lot", lot, ""},
			"scan-bin":                            {"zone", y.bin, ""},
			"(01)04006381333931(10)10D9T":         {"lot", lot, "EA"},
			"]C1010400638133393110" + "10D9T":     {"lot", lot, "EA"},
			"\x1d010400638133393110NEW":           {"item", y.item, "EA"},
			"https://id.gs1.org/01/4006381333931": {"item", y.item, "EA"},
		} {
			var out scanOut
			k.Say(t, testkit.As(actor.Viewer), "scan", map[string]any{"code": code}, 200, &out)
			if got := [3]string{out.Kind, out.Record.ID, out.UoM}; got != want {
				t.Errorf("%q is %v, want %v", code, got, want)
			}
			if gs := strings.ContainsAny(code, "(]\x1d/"); gs != (out.Parsed != nil) {
				t.Errorf("%q: parsed %+v", code, out.Parsed)
			}
		}
		var out scanOut
		k.Say(t, testkit.As(actor.Operator), "scan", map[string]any{"code": "SCAN-DOCK"}, 200, &out)
		if len(out.Next) == 0 {
			t.Error("nothing can be done at a dock")
		}
		refusedWith(t, k, m, "scan", "PGRST116", 404, map[string]any{"code": "(01)09506000134352"})
		refusedWith(t, k, m, "scan", "check digit", 400, map[string]any{"code": "(01)09506000134353"})
		refusedWith(t, k, "admin@south.example", "scan", "PGRST116", 404, map[string]any{"code": "SHELF-7"})
	})
}
