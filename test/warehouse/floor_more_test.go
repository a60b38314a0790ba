package warehouse_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/app"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/gs1"
	"holdfast/internal/testkit"
	"holdfast/internal/warehouse"
)

// A promise with an end is given back when that is past: its pick line is
// cancelled, the stock is free. What is picked stays promised.
func TestReservationsEnd(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if app.JobDocs(k.App)["release-reservations"] == "" {
			t.Error("no job gives reservations back")
		}
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, line := g.order(6)
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		end := func(at string) {
			t.Helper()
			testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
				_, err := tx.Exec("UPDATE reservations SET expires_at = $1 WHERE order_line_id = $2", at, line)
				return err
			}))
			testkit.Must(t, warehouse.ReleaseReservations(t.Context(), k.App.Store))
		}
		end("2999-01-01T00:00:00.000000Z")
		g.is("items?select=available&id=eq."+g.item, `[{"available":4}]`)
		end("2020-01-01T00:00:00.000000Z")
		g.is("items?select=available&id=eq."+g.item, `[{"available":8}]`)
		g.is("order_lines?select=qty_allocated,qty_picked&id=eq."+line, `[{"qty_allocated":2,"qty_picked":2}]`)
		g.is("pick_lines?select=status&id=eq."+picks[0], `[{"status":"cancelled"}]`)
		k.Verified(t)
	})
}

// A cancelled list puts back what was picked, where it stays promised to its
// order; packed goods keep it from being cancelled.
func TestCancelledListsPutBack(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		bin := g.bin("G-A", 10, "")
		order, line := g.order(6)
		list, picks := g.released(order)
		cancel := func(list string, want int) {
			t.Helper()
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/pick_lists/" + list, As: g.as,
				Body: map[string]any{"status": "cancelled"}})
			if r.Status != want {
				t.Errorf("cancel: %d %s, want %d", r.Status, r.Body, want)
			}
		}
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		cancel(list, 200)
		g.is("stock_levels?select=zone_id,quantity,reserved&quantity=gt.0&item_id=eq."+g.item,
			`[{"zone_id":"`+bin+`","quantity":10,"reserved":6}]`)
		g.is("orders?select=stage,qty_allocated,qty_picked&id=eq."+order,
			`[{"stage":"allocated","qty_allocated":6,"qty_picked":0}]`)
		var out struct {
			Lists []struct{ ID string } `json:"pick_lists"`
			Lines []struct{ ID string }
		}
		g.say("release_picks", map[string]any{"order_ids": []string{order}, "method": "batch"}, 200, &out)
		for _, l := range out.Lines {
			q := 2.0
			if r := g.rows("pick_lines?select=qty&id=eq." + l.ID); strings.Contains(r, "4") {
				q = 4
			}
			g.say("pick_line", map[string]any{"pick_line_id": l.ID, "quantity": q, "to_zone_id": g.lane}, 200, nil)
		}
		g.is("pick_lists?select=status&id=eq."+out.Lists[0].ID, `[{"status":"completed"}]`)
		more, second := g.order(3)
		list, picks = g.released(more)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		g.packed1(more, second, 1)
		cancel(list, 409)
		g.packed1(order, line, 6)
		k.Verified(t)
	})
}

// packed1 packs some of an order's line into a package of its own and closes it.
func (g *goods) packed1(order, line string, q float64) (sscc, pkg string) {
	g.t.Helper()
	var out struct{ Package struct{ ID, SSCC string } }
	g.say("pack", map[string]any{"order_id": order, "lines": []any{map[string]any{"order_line_id": line, "quantity": q}}},
		200, &out)
	g.say("close_package", map[string]any{"package_id": out.Package.ID}, 200, &out)
	return out.Package.SSCC, out.Package.ID
}

// Verbs with lists name the element that is wrong; reasons and notes are kept;
// a package is known by its SSCC.
func TestVerbsNameAndKeep(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, line := g.order(4)
		second := k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 2, "item_id": g.item,
			"qty_ordered": 2})
		_, picks := g.released(order)
		part := func(line string, q float64) map[string]any {
			return map[string]any{"order_line_id": line, "quantity": q}
		}
		named := func(verb, place string, want int, in map[string]any) {
			t.Helper()
			if r := g.say(verb, in, want, nil); !strings.Contains(string(r.Body), place) {
				t.Errorf("%s: want %s: %s", verb, place, r.Body)
			}
		}
		nobody := "00000000-0000-7000-8000-000000000000"
		named("create_shipment", "lines[1].order_line_id", 404,
			map[string]any{"lines": []any{part(line, 1), part(nobody, 1)}})
		named("create_shipment", "lines[1].quantity", 409, map[string]any{"lines": []any{part(line, 1), part(second, 3)}})
		named("pack", "lines[1].order_line_id", 404, map[string]any{"order_id": order,
			"lines": []any{part(line, 1), part(nobody, 1)}})
		for i, q := range []float64{4, 2} {
			g.say("pick_line", map[string]any{"pick_line_id": picks[i], "quantity": q, "to_zone_id": g.lane}, 200, nil)
		}
		named("pack", "lines[1].quantity", 409, map[string]any{"order_id": order,
			"lines": []any{part(line, 4), part(second, 3)}})

		g.say("hold_order", map[string]any{"order_id": order, "reason": "credit"}, 200, nil)
		g.say("resume_order", map[string]any{"order_id": order, "reason": "paid"}, 200, nil)
		g.is("orders?select=hold_reason,resume_reason&id=eq."+order, `[{"hold_reason":null,"resume_reason":"paid"}]`)
		sh := g.consigned(line, 4, nil)
		g.packed(sh, line, 4)
		g.say("dispatch", map[string]any{"shipment_id": sh}, 200, nil)
		g.say("report_exception", map[string]any{"shipment_id": sh, "code": "REFUSED", "note": "nobody in"}, 200, nil)
		g.is("shipments?select=exception_code,exception_note&id=eq."+sh,
			`[{"exception_code":"REFUSED","exception_note":"nobody in"}]`)

		sscc, pkg := g.packed1(order, second, 2)
		if !gs1.IsSSCC(sscc) {
			t.Errorf("%q is no SSCC", sscc)
		}
		for _, code := range []string{sscc, "(00)" + sscc} {
			var out struct {
				Kind   string
				Record struct{ ID string }
				Next   []struct{ Verb string }
			}
			g.say("scan", map[string]any{"code": code}, 200, &out)
			if out.Kind != "package" || out.Record.ID != pkg || len(out.Next) == 0 {
				t.Errorf("%s: %+v", code, out)
			}
		}
		k.Verified(t)
	})
}

// A line ordered by the box is promised, picked and shipped in the item's base
// unit; one in a unit that the item does not have is refused.
func TestOrdersInOtherUnits(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"base_uom": "PCE"})
		k.Insert(t, g.as, "item_uoms", map[string]any{"item_id": g.item, "uom": "BX", "factor": 12})
		g.bin("G-A", 30, "")
		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Customer"})
		in := map[string]any{"order_id": order, "line_no": 1, "item_id": g.item, "qty_ordered": 2, "uom": "bx",
			"unit_price": 6}
		line := k.Insert(t, g.as, "order_lines", in)
		g.is("order_lines?select=uom,qty_ordered,ordered_uom,ordered_qty,unit_price&id=eq."+line,
			`[{"uom":"PCE","qty_ordered":24,"ordered_uom":"BX","ordered_qty":2,"unit_price":0.5}]`)
		in["line_no"] = 2
		for unit, place := range map[string]string{"PAL": "no unit PAL", "BX": "no price of four decimals"} {
			in["uom"], in["unit_price"] = unit, 1
			if r := k.Post(g.as, "/v1/order_lines", in); r.Status != 400 || !strings.Contains(string(r.Body), place) {
				t.Errorf("%s: %d %s", unit, r.Status, r.Body)
			}
		}
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		g.is("orders?select=stage,qty_ordered,qty_allocated,total_value&id=eq."+order,
			`[{"stage":"allocated","qty_ordered":24,"qty_allocated":24,"total_value":12}]`)
		g.is("stock_levels?select=reserved&item_id=eq."+g.item, `[{"reserved":24}]`)
		k.Verified(t)
	})
}

// A recall takes back what is promised and picked of the lot and not packed,
// and names the orders, shipments and customers that have it.
func TestRecallReachesPromises(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot"})
		lot := g.lot("L1", 90, "released")
		g.bin("G-A", 20, lot)
		ready := func(q float64) (order, line string) {
			order, line = g.order(q)
			_, picks := g.released(order)
			g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": q, "to_zone_id": g.lane}, 200, nil)
			return order, line
		}
		gone, goneLine := ready(4)
		sent := g.consigned(goneLine, 4, nil)
		g.packed(sent, goneLine, 4)
		g.say("dispatch", map[string]any{"shipment_id": sent}, 200, nil)
		picked, _ := ready(3)
		packed, packedLine := ready(2)
		waiting := g.consigned(packedLine, 2, nil)
		g.packed(waiting, packedLine, 2)
		promised, _ := g.order(5)
		g.say("confirm_order", map[string]any{"order_id": promised}, 200, nil)
		var out struct {
			Orders, Shipments, Released []struct{ ID string }
			Customers                   []struct {
				Name string `json:"party_name"`
			}
			Zones []struct{ Quantity, Reserved float64 }
		}
		g.say("recall_lot", map[string]any{"lot_id": lot, "reason": "glass"}, 200, &out)
		if len(out.Orders) != 4 || len(out.Shipments) != 2 || len(out.Released) != 2 || len(out.Customers) != 1 {
			t.Errorf("%+v", out)
		}
		g.is("order_lines?select=qty_allocated,qty_picked,qty_packed&order_id=in.("+strings.Join([]string{picked, promised},
			",")+")",
			`[{"qty_allocated":0,"qty_picked":0,"qty_packed":0},{"qty_allocated":0,"qty_picked":0,"qty_packed":0}]`)
		g.is("order_lines?select=qty_allocated,qty_packed&order_id=eq."+packed, `[{"qty_allocated":2,"qty_packed":2}]`)
		g.is("stock_levels?select=stock_status,quantity,reserved&quantity=gt.0&order=quantity&item_id=eq."+g.item,
			`[{"stock_status":"available","quantity":2,"reserved":2},{"stock_status":"hold","quantity":3,"reserved":0},`+
				`{"stock_status":"hold","quantity":11,"reserved":0}]`)
		if r := g.say("dispatch", map[string]any{"shipment_id": waiting}, 409, nil); !strings.Contains(string(r.Body),
			"lot L1 is recalled") {
			t.Errorf("dispatch: %s", r.Body)
		}
		_ = gone
		k.Verified(t)
	})
}

// Stock that does not last as long as its item asks for is not available: from
// the day its lot is known, when the item asks for more, and as days pass.
func TestShortDatedStock(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "min_remaining_days": 30})
		long := g.lot("LONG", 60, "released")
		g.bin("G-A", 10, long)
		g.bin("G-B", 5, g.lot("SHORT", 13, "released"))
		available := func(want string) {
			t.Helper()
			g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":15,"available":`+want+`}]`)
			k.Verified(t)
		}
		set := func(path string, set map[string]any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + path, As: g.as, Body: set}); r.Status != 200 {
				t.Fatalf("%s %v: %d %s", path, set, r.Status, r.Body)
			}
		}
		available("10")
		set("items/"+g.item, map[string]any{"min_remaining_days": 10})
		available("15")
		set("items/"+g.item, map[string]any{"min_remaining_days": 30})
		available("10")
		set("lots/"+long, map[string]any{"expires_on": time.Now().UTC().AddDate(0, 0, 20).Format(time.DateOnly)})
		available("0")
		testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE lots SET short_dated = FALSE WHERE id = $1", long) // as it was before days passed
			if err == nil {
				_, err = tx.Exec("UPDATE items SET available = 100000 WHERE id = $1", g.item)
			}
			return err
		}))
		available("10")
		testkit.Must(t, warehouse.ExpireLots(t.Context(), k.App.Store))
		available("0")
	})
}

// What leaves with the own fleet needs a driver and a vehicle that is not out
// with another; both are on the road with it. Of shipments that want the same
// goods the first leaves and the other stays, with the reason.
func TestOwnFleet(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		person := func(no string) string {
			worker := k.Insert(t, g.as, "workers", map[string]any{"employee_no": no, "name": no})
			return k.Insert(t, g.as, "drivers", map[string]any{"worker_id": worker})
		}
		one, other := person("G-1"), person("G-2")
		truck := k.Insert(t, g.as, "vehicles", map[string]any{"plate": "G-1"})
		ready := func(more map[string]any) string {
			order, line := g.order(2)
			_, picks := g.released(order)
			g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 2, "to_zone_id": g.lane}, 200, nil)
			sh := g.consigned(line, 2, more)
			g.packed(sh, line, 2)
			return sh
		}
		stays := func(sh, why string) {
			t.Helper()
			if r := g.say("dispatch", map[string]any{"shipment_id": sh}, 409, nil); !strings.Contains(string(r.Body), why) {
				t.Errorf("want %s: %s", why, r.Body)
			}
		}
		stays(ready(map[string]any{"carrier": ""}), "names no driver")
		stays(ready(map[string]any{"carrier": "", "driver_id": one}), "names no vehicle")
		first := ready(map[string]any{"carrier": "", "driver_id": one, "vehicle_id": truck})
		g.say("dispatch", map[string]any{"shipment_id": first}, 200, nil)
		g.is("vehicles?select=on_trip&id=eq."+truck, `[{"on_trip":true}]`)
		g.is("drivers?select=status,vehicle_id&id=eq."+one, `[{"status":"on_trip","vehicle_id":"`+truck+`"}]`)
		second := ready(map[string]any{"carrier": "", "driver_id": other, "vehicle_id": truck})
		stays(second, "out with another driver")
		g.say("deliver", map[string]any{"shipment_id": first, "proof": map[string]any{"name": "R"}}, 200, nil)
		g.is("vehicles?select=on_trip&id=eq."+truck, `[{"on_trip":false}]`)
		g.say("dispatch", map[string]any{"shipment_id": second}, 200, nil)
		k.Verified(t)
	})
}

// A repeat with its key is answered as before, however long the answer is.
func TestLongAnswersAreRepeated(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 100, "")
		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Customer"})
		var lines []map[string]any
		for n := range 40 {
			lines = append(lines, map[string]any{"order_id": order, "line_no": n + 1, "item_id": g.item, "qty_ordered": 1})
		}
		if r := k.Post(testkit.As(actor.Manager), "/v1/order_lines", lines); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		in := map[string]any{"order_id": order, "idempotency_key": "long"}
		first := g.say("confirm_order", in, 200, nil)
		again := g.say("confirm_order", in, 200, nil)
		if len(first.Body) < 8<<10 || string(first.Body) != string(again.Body) ||
			again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%d bytes, then %d, replayed %q", len(first.Body), len(again.Body), again.Header.Get("Idempotent-Replayed"))
		}
	})
}

// A certificate belongs to a person, with an account or without. A driver who
// was never certified in what the job asks for may not leave, and the rule of
// truck operators counts who was never trained as it counts who is no more.
func TestCertificatesOfWorkers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		admin := testkit.As(actor.Admin)
		course := k.Insert(t, admin, "courses", map[string]any{"code": "G-HAUL", "title": "Hauling",
			"required_for": []string{"Hauler"}})
		worker := k.Insert(t, g.as, "workers", map[string]any{"employee_no": "G-1", "name": "Ada",
			"job_title": "HAULER (m/f/d)"})
		driver := k.Insert(t, g.as, "drivers", map[string]any{"worker_id": worker})
		truck := k.Insert(t, g.as, "vehicles", map[string]any{"plate": "G-1"})
		order, line := g.order(2)
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		sh := g.consigned(line, 2, map[string]any{"driver_id": driver, "vehicle_id": truck})
		g.packed(sh, line, 2)
		if r := g.say("dispatch", map[string]any{"shipment_id": sh}, 409, nil); !strings.Contains(string(r.Body),
			"no certificate of Hauling") {
			t.Errorf("never trained: %s", r.Body)
		}
		done := map[string]any{"course_id": course, "worker_id": worker, "status": "completed"}
		cert := k.Insert(t, admin, "training_assignments", done)
		g.say("dispatch", map[string]any{"shipment_id": sh}, 200, nil)
		if r := k.Post(admin, "/v1/training_assignments", map[string]any{"course_id": course}); r.Status != 409 {
			t.Errorf("nobody's: %d %s", r.Status, r.Body)
		}
		var member []struct {
			User string `json:"user_id"`
		}
		k.Get(admin, "/v1/members?select=user_id&role=eq.viewer").JSON(t, &member)
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/workers/" + worker, As: admin,
			Body: map[string]any{"user_id": member[0].User}}); r.Status != 200 {
			t.Fatalf("link: %d %s", r.Status, r.Body)
		}
		g.is("training_assignments?select=user_id,worker_id&id=eq."+cert,
			`[{"user_id":"`+member[0].User+`","worker_id":"`+worker+`"}]`)
		delete(done, "worker_id")
		done["user_id"] = member[0].User
		g.is("training_assignments?select=worker_id&id=eq."+k.Insert(t, admin, "training_assignments", done),
			`[{"worker_id":"`+worker+`"}]`)

		var out struct {
			Events []struct {
				EntityID string `json:"entity_id"`
				Status   string
			}
		}
		var rule []struct{ ID string }
		k.Get("admin@south.example", "/v1/regulations?select=id&code=eq.US-1910.178-L4").JSON(t, &rule)
		r := k.Post("admin@south.example", "/functions/v1/check-compliance-rules", map[string]any{"entity_type": "worker"})
		r.JSON(t, &out)
		var breaches []struct {
			Entity string `json:"entity_id"`
		}
		k.Get("admin@south.example", "/v1/compliance_events?select=entity_id&status=eq.breach&entity_type=eq.worker&regulation_id=eq."+rule[0].ID).JSON(t, &breaches)
		if len(breaches) != 2 {
			t.Errorf("South has %d operators in breach, want 2: %s", len(breaches), r.Body)
		}
	})
}

// A reversal is the movement it reverses the other way, and no more than is
// left of it.
func TestReversals(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		bin := g.bin("G-A", 10, "")
		move := func(more map[string]any, want int, says string) string {
			t.Helper()
			in := map[string]any{"item_id": g.item, "quantity": 4}
			for n, v := range more {
				in[n] = v
			}
			r := k.Call(testkit.Request{Method: "POST", Path: "/v1/stock_movements", As: g.as, Body: in,
				Header: map[string]string{"Prefer": "return=representation"}})
			if r.Status != want || !strings.Contains(string(r.Body), says) {
				t.Errorf("%v: %d %s, want %d %s", more, r.Status, r.Body, want, says)
			}
			var out []struct{ ID string }
			if r.Status != 201 {
				return ""
			}
			r.JSON(t, &out)
			return out[0].ID
		}
		there := move(map[string]any{"type": "transfer", "from_zone_id": bin, "to_zone_id": g.lane}, 201, "")
		back := map[string]any{"type": "transfer", "from_zone_id": g.lane, "to_zone_id": bin, "reversal_of": there}
		with := func(more map[string]any) map[string]any {
			out := map[string]any{}
			for n, v := range back {
				out[n] = v
			}
			for n, v := range more {
				out[n] = v
			}
			return out
		}
		other := k.Insert(t, g.as, "items", map[string]any{"sku": "G-2", "name": "Other"})
		move(with(map[string]any{"from_zone_id": bin, "to_zone_id": g.lane}), 400, "where it came from")
		move(with(map[string]any{"item_id": other}), 400, "same goods")
		move(with(map[string]any{"quantity": 5}), 409, "only 4 of that movement")
		first := move(with(map[string]any{"quantity": 3}), 201, "")
		move(with(map[string]any{"quantity": 2}), 409, "only 1 of that movement")
		move(map[string]any{"type": "transfer", "from_zone_id": bin, "to_zone_id": g.lane, "quantity": 3,
			"reversal_of": first}, 400, "a reversal itself")
		k.Verified(t)
	})
}
