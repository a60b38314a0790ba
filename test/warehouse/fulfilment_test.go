package warehouse_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/gs1"
	"holdfast/internal/testkit"
)

// goods is a warehouse of its own inside the demonstration's: one item, bins
// with stock, and a staging lane.
type goods struct {
	t    *testing.T
	k    *testkit.Kit
	as   string // a manager
	item string
	bins map[string]string
	lane string
}

func newGoods(t *testing.T, k *testkit.Kit, item map[string]any) *goods {
	t.Helper()
	g := &goods{t: t, k: k, as: testkit.As(actor.Manager), bins: map[string]string{}}
	item["sku"], item["name"] = "G-1", "Goods"
	g.item = k.Insert(t, g.as, "items", item)
	g.lane = k.Insert(t, g.as, "zones", map[string]any{"code": "G-LANE", "name": "Lane", "kind": "staging"})
	return g
}

// bin makes a bin with stock of the item, of a lot unless it is "".
func (g *goods) bin(code string, q float64, lot string) string {
	g.t.Helper()
	if g.bins[code] == "" {
		g.bins[code] = g.k.Insert(g.t, g.as, "zones", map[string]any{"code": code, "name": code})
	}
	in := map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": g.bins[code], "quantity": q}
	if lot != "" {
		in["lot_id"] = lot
	}
	g.k.Insert(g.t, g.as, "stock_movements", in)
	return g.bins[code]
}

func (g *goods) lot(no string, days int, status string) string {
	g.t.Helper()
	return g.k.Insert(g.t, g.as, "lots", map[string]any{"item_id": g.item, "lot_no": no,
		"expires_on": time.Now().UTC().AddDate(0, 0,
			days).Format(time.DateOnly), "status": status})
}

// order makes a draft of one line.
func (g *goods) order(q float64) (order, line string) {
	g.t.Helper()
	order = g.k.Insert(g.t, g.as, "orders", map[string]any{"party_name": "Customer"})
	return order, g.k.Insert(g.t, g.as, "order_lines",
		map[string]any{"order_id": order, "line_no": 1, "item_id": g.item, "qty_ordered": q})
}

// rows reads rows of a collection in short: their columns as one text.
func (g *goods) rows(path string) string {
	g.t.Helper()
	r := g.k.Get(g.as, "/v1/"+path)
	if r.Status/100 != 2 {
		g.t.Fatalf("%s: %d %s", path, r.Status, r.Body)
	}
	return string(r.Body)
}

func (g *goods) is(path, want string) {
	g.t.Helper()
	if got := g.rows(path); got != want {
		g.t.Errorf("%s is %s, want %s", path, got, want)
	}
}

func (g *goods) say(name string, in map[string]any, want int, out any) testkit.Response {
	g.t.Helper()
	return g.k.Say(g.t, g.as, name, in, want, out)
}

// An order of 120 over a lot of 100, one that ends too soon and one that has
// expired is promised exactly the 100, first expiring first.
func TestAllocationTakesWhatLasts(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true, "min_remaining_days": 30})
		l1, l2, lx := g.lot("L1", 90, "released"), g.lot("L2", 13, "released"), g.lot("LX", -1, "released")
		g.bin("G-A", 100, l1)
		g.bin("G-B", 50, l2)
		g.bin("G-C", 70, lx)
		g.bin("G-D", 5, g.lot("LQ", 90, "quarantine"))
		order, line := g.order(120)
		var out struct {
			Order struct{ Status, Stage string }
			Next  []struct{ Verb string }
		}
		g.say("confirm_order", map[string]any{"order_id": order}, 200, &out)
		if out.Order.Status != "confirmed" || out.Order.Stage != "part_allocated" || len(out.Next) == 0 {
			t.Errorf("confirmed: %+v", out)
		}
		g.is("reservations?select=lot_id,quantity,state&order_line_id=eq."+line,
			`[{"lot_id":"`+l1+`","quantity":100,"state":"active"}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":225,"available":0}]`)
		var again struct{ Short []struct{ Quantity float64 } }
		g.say("allocate_order", map[string]any{"order_id": order}, 200, &again)
		if len(again.Short) != 1 || again.Short[0].Quantity != 20 {
			t.Errorf("short: %+v", again)
		}
		g.say("allocate_order", map[string]any{"order_id": order, "partial": false}, 409, nil)
		g.say("deallocate_order", map[string]any{"order_id": order}, 200, nil)
		g.is("stock_levels?select=reserved&reserved=gt.0&item_id=eq."+g.item, `[]`)
		g.is("orders?select=stage,qty_allocated&id=eq."+order, `[{"stage":"unallocated","qty_allocated":0}]`)
		k.Verified(t)
	})
}

// An order goes on hold and back only to where it was; cancelled it gives back
// what it was promised, by a verb or by a change of its state.
func TestHoldAndCancel(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		for _, how := range []string{"verb", "PATCH"} {
			order, _ := g.order(4)
			patch := func(set map[string]any, want int) {
				t.Helper()
				if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/orders/" + order, As: g.as,
					Body: set}); r.Status != want {
					t.Errorf("%v: %d %s, want %d", set, r.Status, r.Body, want)
				}
			}
			if how == "verb" {
				g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
				g.say("confirm_order", map[string]any{"order_id": order}, 409, nil)
				g.say("resume_order", map[string]any{"order_id": order}, 409, nil)
				g.say("hold_order", map[string]any{"order_id": order, "reason": "credit"}, 200, nil)
			} else {
				patch(map[string]any{"status": "confirmed"}, 200)
				patch(map[string]any{"status": "on_hold"}, 200)
			}
			g.is("orders?select=stage,held_from&id=eq."+order, `[{"stage":"allocated","held_from":"confirmed"}]`)
			g.is("items?select=available&id=eq."+g.item, `[{"available":6}]`)
			patch(map[string]any{"status": "in_progress"}, 409)
			if how == "verb" {
				g.say("resume_order", map[string]any{"order_id": order}, 200, nil)
				g.say("cancel_order", map[string]any{"order_id": order, "reason": "double"}, 200, nil)
			} else {
				patch(map[string]any{"status": "confirmed"}, 200)
				patch(map[string]any{"status": "cancelled"}, 200)
			}
			g.is("items?select=available&id=eq."+g.item, `[{"available":10}]`)
			g.is("orders?select=stage,held_from,qty_allocated&id=eq."+order,
				`[{"stage":"unallocated","held_from":null,"qty_allocated":0}]`)
		}
		k.Verified(t)
	})
}

// Fifty orders of one confirmed at once over a stock of ten: ten are promised
// it. A reserved quantity that somebody writes past the server shows.
func TestFiftyConfirmTen(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 7, "")
		g.bin("G-B", 3, "")
		orders := make([]string, 50)
		for i := range orders {
			orders[i], _ = g.order(1)
		}
		k.Token(g.as)
		var wg sync.WaitGroup
		for _, o := range orders {
			wg.Go(func() {
				if r := k.Post(g.as, "/v1/rpc/confirm_order", map[string]any{"order_id": o}); r.Status != http.StatusOK {
					t.Errorf("confirm: %d %s", r.Status, r.Body)
				}
			})
		}
		wg.Wait()
		if n := k.Counted(t, "orders WHERE stage = 'allocated' AND id IN (SELECT l.order_id FROM order_lines l WHERE l.item_id = '"+g.item+"')"); n != 10 {
			t.Errorf("%d orders are allocated, want 10", n)
		}
		g.is("stock_levels?select=quantity,reserved&order=quantity&item_id=eq."+g.item,
			`[{"quantity":3,"reserved":3},{"quantity":7,"reserved":7}]`)
		g.is("items?select=on_hand,available,low_stock&id=eq."+g.item, `[{"on_hand":10,"available":0,"low_stock":false}]`)
		k.Verified(t)
		if err := k.App.DB.Write(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE stock_levels SET reserved = reserved - 10000 WHERE tenant_id = $1 AND item_id = $2 AND reserved = 30000", demo.North, g.item)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		found, err := k.App.Verify(t.Context())
		if err != nil || len(found) == 0 {
			t.Errorf("verify finds nothing where reserved was changed: %v %v", found, err)
		}
	})
}

// released confirms an order and releases its picks as one list.
func (g *goods) released(order string) (list string, lines []string) {
	g.t.Helper()
	g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
	var out struct {
		Lists []struct{ ID string } `json:"pick_lists"`
		Lines []struct{ ID string }
	}
	g.say("release_picks", map[string]any{"order_ids": []string{order}}, 200, &out)
	for _, l := range out.Lines {
		lines = append(lines, l.ID)
	}
	return out.Lists[0].ID, lines
}

// Nothing is picked from an empty dock; one's own reserved goods are, and the
// promise moves to the staging lane with them, by a verb or a change of state.
func TestPicksMoveGoods(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		bare := k.Insert(t, g.as, "pick_lists", map[string]any{})
		line := k.Insert(t, g.as, "pick_lines", map[string]any{"pick_list_id": bare, "seq": 1, "zone_id": dock,
			"item_id": g.item, "qty": 99999,
			"to_zone_id": g.lane})
		patch := func(path string, set map[string]any, want int) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + path, As: g.as, Body: set}); r.Status != want {
				t.Errorf("%s %v: %d %s, want %d", path, set, r.Status, r.Body, want)
			}
		}
		patch("pick_lists/"+bare, map[string]any{"status": "released"}, 200)
		g.say("pick_line", map[string]any{"pick_line_id": line, "quantity": 99999}, 409, nil)
		patch("pick_lines/"+line, map[string]any{"status": "picked"}, 409)

		bin := g.bin("G-A", 10, "")
		order, ol := g.order(6)
		list, lines := g.released(order)
		g.is("orders?select=status,stage&id=eq."+order, `[{"status":"confirmed","stage":"allocated"}]`)
		in := map[string]any{"pick_line_id": lines[0], "quantity": 4, "zone_scan": "G-B", "to_zone_id": g.lane}
		for name, bad := range map[string]map[string]any{"HF025": {"zone_scan": "G-B"},
			"HF022": {"zone_scan": "G-A", "quantity": 7}} {
			for m, v := range bad {
				in[m] = v
			}
			if r := g.say("pick_line", in, 409, nil); !strings.Contains(string(r.Body), name) {
				t.Errorf("want %s: %s", name, r.Body)
			}
		}
		in["zone_scan"], in["quantity"], in["item_scan"] = "G-A", 4, "G-1"
		g.say("pick_line", in, 200, nil)
		g.is("reservations?select=zone_id,quantity,picked&state=eq.active&order=quantity&order_line_id=eq."+ol,
			`[{"zone_id":"`+bin+`","quantity":2,"picked":false},{"zone_id":"`+g.lane+`","quantity":4,"picked":true}]`)
		g.is("stock_levels?select=zone_id,quantity,reserved&quantity=gt.0&order=quantity&item_id=eq."+g.item,
			`[{"zone_id":"`+g.lane+`","quantity":4,"reserved":4},{"zone_id":"`+bin+`","quantity":6,"reserved":2}]`)
		g.is("orders?select=status,stage,qty_picked&id=eq."+order,
			`[{"status":"in_progress","stage":"picking","qty_picked":4}]`)
		patch("pick_lines/"+lines[0], map[string]any{"status": "picked", "qty_picked": 6}, 200)
		g.is("orders?select=stage,qty_allocated,qty_picked&id=eq."+order,
			`[{"stage":"picked","qty_allocated":6,"qty_picked":6}]`)
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"completed"}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":10,"available":4}]`)
		g.say("unpick", map[string]any{"pick_line_id": lines[0], "quantity": 1, "to_zone_id": bin}, 200, nil)
		g.is("orders?select=stage,qty_allocated,qty_picked&id=eq."+order,
			`[{"stage":"picking","qty_allocated":5,"qty_picked":5}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":10,"available":5}]`)
		k.Verified(t)
	})
}

// A bin that holds 8 of 10 gives back 2, is to be counted, and another bin is
// promised in its place, with a line on the same list.
func TestShortPick(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		first := g.bin("G-A", 10, "")
		second := g.bin("G-B", 10, "")
		order, line := g.order(10)
		list, lines := g.released(order)
		var out struct {
			Released    float64
			Reallocated []struct {
				Zone     string `json:"zone_id"`
				Quantity float64
			}
			Next struct{ ID string } `json:"next_line"`
		}
		g.say("short_pick", map[string]any{"pick_line_id": lines[0], "found": 10, "reason": "torn"}, 409, nil)
		g.say("short_pick", map[string]any{"pick_line_id": lines[0], "found": 8, "reason": "torn", "to_zone_id": g.lane},
			200, &out)
		if out.Released != 2 || len(out.Reallocated) != 1 || out.Reallocated[0].Zone != second ||
			out.Reallocated[0].Quantity != 2 {
			t.Errorf("short: %+v", out)
		}
		g.is("count_tasks?select=status,blind&zone_id=eq."+first, `[{"status":"open","blind":true}]`)
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"in_progress"}]`)
		g.is("orders?select=stage,qty_allocated,qty_picked&id=eq."+order,
			`[{"stage":"picking","qty_allocated":10,"qty_picked":8}]`)
		g.say("pick_line", map[string]any{"pick_line_id": out.Next.ID, "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		g.is("order_lines?select=qty_allocated,qty_picked&id=eq."+line, `[{"qty_allocated":10,"qty_picked":10}]`)
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"completed"}]`)
		k.Verified(t)
	})
}

// The picker of the demonstration has a list to work off.
func TestDemoPickList(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := testkit.As(actor.Operator)
		var lists []struct{ ID string }
		k.Get(op, "/v1/pick_lists?select=id&status=eq.released").JSON(t, &lists)
		if len(lists) == 0 {
			t.Fatal("the operator has no open list")
		}
		var out struct {
			Lines []struct {
				ID  string
				Qty float64
			}
		}
		k.Say(t, op, "claim_pick_list", map[string]any{"pick_list_id": lists[0].ID}, 200, &out)
		for _, l := range out.Lines {
			k.Say(t, op, "pick_line", map[string]any{"pick_line_id": l.ID, "quantity": l.Qty}, 200, nil)
		}
		if len(out.Lines) == 0 || k.Counted(t, "pick_lists WHERE id = '"+lists[0].ID+"' AND status = 'completed'") != 1 {
			t.Errorf("the list of %d lines is not completed", len(out.Lines))
		}
		k.Verified(t)
	})
}

// consigned makes a shipment of some of a line and packs it when it is picked.
func (g *goods) consigned(line string, q float64, more map[string]any) (shipment string) {
	g.t.Helper()
	in := map[string]any{"carrier": "PARCEL", "lines": []any{map[string]any{"order_line_id": line, "quantity": q}}}
	for n, v := range more {
		in[n] = v
	}
	var out struct{ Shipment struct{ ID string } }
	g.say("create_shipment", in, 200, &out)
	return out.Shipment.ID
}

func (g *goods) packed(shipment, line string, q float64) {
	g.t.Helper()
	var out struct {
		Package  struct{ ID, SSCC, Status string }
		Shipment struct{ Status string }
	}
	g.say("pack", map[string]any{"shipment_id": shipment, "package": map[string]any{"lpn": "BOX"},
		"lines": []any{map[string]any{"order_line_id": line, "quantity": q}}}, 200, &out)
	if out.Shipment.Status != "packed" {
		g.t.Errorf("packed: %+v", out)
	}
	g.say("close_package", map[string]any{"package_id": out.Package.ID, "weight_kg": 3.5}, 200, &out)
	if !gs1.IsSSCC(out.Package.SSCC) || out.Shipment.Status != "ready" {
		g.t.Errorf("closed: %+v", out)
	}
	g.say("close_package", map[string]any{"package_id": out.Package.ID}, 409, nil)
}

// An order of 10 goes out in shipments of 6 and 4: it is completed with the
// second, delivered with both, and kept as it is from then on.
func TestOrderInTwoShipments(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, line := g.order(10)
		_, picks := g.released(order)
		first := g.consigned(line, 6, nil)
		g.say("create_shipment", map[string]any{"lines": []any{map[string]any{"order_line_id": line, "quantity": 5}}}, 409,
			nil)
		if r := g.say("dispatch", map[string]any{"shipment_id": first}, 409, nil); !strings.Contains(string(r.Body),
			"HF024") ||
			!strings.Contains(string(r.Body), "0 of 6 are picked") {
			t.Errorf("unpicked: %s", r.Body)
		}
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 10, "to_zone_id": g.lane}, 200, nil)
		if r := g.say("dispatch", map[string]any{"shipment_id": first}, 409, nil); !strings.Contains(string(r.Body),
			"0 of 6 are packed") {
			t.Errorf("unpacked: %s", r.Body)
		}
		g.packed(first, line, 6)
		g.say("dispatch", map[string]any{"shipment_id": first}, 200, nil)
		g.is("orders?select=status,stage,qty_shipped&id=eq."+order,
			`[{"status":"in_progress","stage":"part_shipped","qty_shipped":6}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":4,"available":0}]`)
		second := g.consigned(line, 4, nil)
		g.packed(second, line, 4)
		var out struct{ Shipments []struct{ OK bool } }
		g.say("dispatch", map[string]any{"shipment_ids": []string{second, first}}, 200, &out)
		if len(out.Shipments) != 2 || out.Shipments[0].OK == out.Shipments[1].OK {
			t.Errorf("of two, one has left already: %+v", out)
		}
		g.is("orders?select=status,stage,qty_shipped&id=eq."+order,
			`[{"status":"completed","stage":"shipped","qty_shipped":10}]`)
		if n := k.Told(t, "order.completed"); n != 1 {
			t.Errorf("order.completed was told %d times", n)
		}
		proof := map[string]any{"name": "Receiver", "lat": 52.5, "lon": 13.4}
		bad := map[string]any{"shipment_id": first, "lines": []any{map[string]any{"order_line_id": line},
			map[string]any{"order_line_id": line}}}
		if r := g.say("deliver", bad, 400, nil); !strings.Contains(string(r.Body), "lines[1].order_line_id") {
			t.Errorf("a line twice: %s", r.Body)
		}
		g.say("deliver", map[string]any{"shipment_id": first, "proof": proof}, 200, nil)
		g.is("orders?select=stage&id=eq."+order, `[{"stage":"shipped"}]`)
		g.say("deliver", map[string]any{"shipment_id": second, "proof": proof,
			"lines": []any{map[string]any{"order_line_id": line, "damaged": 1}}}, 200, nil)
		g.is("orders?select=stage&id=eq."+order, `[{"stage":"delivered"}]`)
		for _, path := range []string{"orders/" + order, "shipments/" + first} {
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + path, As: g.as,
				Body: map[string]any{"carrier": "DHL"}}); r.Status != 409 {
				t.Errorf("%s, delivered, changes: %d %s", path, r.Status, r.Body)
			}
		}
		k.Verified(t)
	})
}

// A shipment does not leave with a suspended driver, a licence or certificate
// that has run out, or a vehicle whose inspection is overdue; its driver's state
// follows it.
func TestDispatchChecks(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, line := g.order(4)
		_, picks := g.released(order)
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		var member []struct {
			User string `json:"user_id"`
		}
		k.Get(testkit.As(actor.Admin), "/v1/members?select=user_id&role=eq.viewer").JSON(t, &member)
		worker := k.Insert(t, g.as, "workers", map[string]any{"employee_no": "G-1", "name": "Ada", "job_title": "Hauler",
			"user_id": member[0].User})
		driver := k.Insert(t, g.as, "drivers", map[string]any{"worker_id": worker})
		vehicle := k.Insert(t, g.as, "vehicles", map[string]any{"plate": "G-1"})
		course := k.Insert(t, testkit.As(actor.Admin), "courses",
			map[string]any{"code": "G-HAUL", "title": "Hauling", "required_for": []string{"Hauler"}})
		sh := g.consigned(line, 4, map[string]any{"driver_id": driver, "vehicle_id": vehicle})
		g.packed(sh, line, 4)
		g.is("drivers?select=status&id=eq."+driver, `[{"status":"assigned"}]`)
		day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
		cert := k.Insert(t, testkit.As(actor.Admin), "training_assignments",
			map[string]any{"course_id": course, "user_id": member[0].User, "status": "completed",
				"completed_at": time.Now().UTC().AddDate(-2, 0, 0).Format(time.RFC3339), "expires_on": day(-1)})
		set := func(path string, set map[string]any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + path, As: testkit.As(actor.Admin),
				Body: set}); r.Status != 200 {
				t.Fatalf("%s %v: %d %s", path, set, r.Status, r.Body)
			}
		}
		for _, c := range []struct {
			why, path string
			bad, good map[string]any
		}{
			{"certificate", "training_assignments/" + cert, nil, map[string]any{"expires_on": day(30)}},
			{"suspended", "drivers/" + driver, map[string]any{"status": "suspended"}, map[string]any{"status": "available"}},
			{"licence", "drivers/" + driver, map[string]any{"licence_expires_on": day(-1)},
				map[string]any{"licence_expires_on": day(1)}},
			{"inspection", "vehicles/" + vehicle, map[string]any{"inspection_due_on": day(-1)},
				map[string]any{"inspection_due_on": day(1)}},
			{"maintenance", "vehicles/" + vehicle, map[string]any{"status": "maintenance"},
				map[string]any{"status": "in_service"}},
		} {
			if c.bad != nil {
				set(c.path, c.bad)
			}
			r := g.say("dispatch", map[string]any{"shipment_id": sh}, 409, nil)
			if !strings.Contains(string(r.Body), "HF024") || !strings.Contains(string(r.Body), c.why) {
				t.Errorf("%s: %s", c.why, r.Body)
			}
			set(c.path, c.good)
		}
		g.say("dispatch", map[string]any{"shipment_id": sh}, 200, nil)
		g.is("drivers?select=status&id=eq."+driver, `[{"status":"on_trip"}]`)
		g.say("report_exception", map[string]any{"shipment_id": sh, "code": "REFUSED"}, 200, nil)
		var back struct {
			Order struct{ ID, Type, Status string } `json:"return_order"`
		}
		g.say("return_shipment", map[string]any{"shipment_id": sh, "note": "refused"}, 200, &back)
		g.is("drivers?select=status&id=eq."+driver, `[{"status":"available"}]`)
		g.is("order_lines?select=qty_ordered,item_id&order_id=eq."+back.Order.ID,
			`[{"qty_ordered":4,"item_id":"`+g.item+`"}]`)
		if back.Order.Type != "return" || back.Order.Status != "confirmed" {
			t.Errorf("return order: %+v", back)
		}
		k.Verified(t)
	})
}
