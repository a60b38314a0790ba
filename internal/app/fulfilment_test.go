package app_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
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
	n    int
}

func newGoods(t *testing.T, k *testkit.Kit, item map[string]any) *goods {
	t.Helper()
	g := &goods{t: t, k: k, as: who(actor.Manager), bins: map[string]string{}}
	item["sku"], item["name"] = "G-1", "Goods"
	g.item = insertID(t, k, g.as, "items", item)
	g.lane = insertID(t, k, g.as, "zones", map[string]any{"code": "G-LANE", "name": "Lane", "kind": "staging"})
	return g
}

// bin makes a bin with stock of the item, of a lot unless it is "".
func (g *goods) bin(code string, q float64, lot string) string {
	g.t.Helper()
	if g.bins[code] == "" {
		g.bins[code] = insertID(g.t, g.k, g.as, "zones", map[string]any{"code": code, "name": code})
	}
	in := map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": g.bins[code], "quantity": q}
	if lot != "" {
		in["lot_id"] = lot
	}
	insertID(g.t, g.k, g.as, "stock_movements", in)
	return g.bins[code]
}

func (g *goods) lot(no string, days int, status string) string {
	g.t.Helper()
	return insertID(g.t, g.k, g.as, "lots", map[string]any{"item_id": g.item, "lot_no": no, "expires_on": time.Now().UTC().AddDate(0, 0,
		days).Format(time.DateOnly), "status": status})
}

// order makes a draft of one line.
func (g *goods) order(q float64) (order, line string) {
	g.t.Helper()
	order = insertID(g.t, g.k, g.as, "orders", map[string]any{"party_name": "Customer"})
	return order, insertID(g.t, g.k, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": g.item, "qty_ordered": q})
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
	return say(g.t, g.k, g.as, name, in, want, out)
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
		g.is("reservations?select=lot_id,quantity,state&order_line_id=eq."+line, `[{"lot_id":"`+l1+`","quantity":100,"state":"active"}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":225,"available":120}]`)
		var again struct{ Short []struct{ Quantity float64 } }
		g.say("allocate_order", map[string]any{"order_id": order}, 200, &again)
		if len(again.Short) != 1 || again.Short[0].Quantity != 20 {
			t.Errorf("short: %+v", again)
		}
		g.say("allocate_order", map[string]any{"order_id": order, "partial": false}, 409, nil)
		g.say("deallocate_order", map[string]any{"order_id": order}, 200, nil)
		g.is("stock_levels?select=reserved&reserved=gt.0&item_id=eq."+g.item, `[]`)
		g.is("orders?select=stage,qty_allocated&id=eq."+order, `[{"stage":"unallocated","qty_allocated":0}]`)
		verified(t, k)
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
				if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/orders/" + order, As: g.as, Body: set}); r.Status != want {
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
			g.is("orders?select=stage,held_from,qty_allocated&id=eq."+order, `[{"stage":"unallocated","held_from":null,"qty_allocated":0}]`)
		}
		verified(t, k)
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
		if n := counted(t, k, "orders WHERE stage = 'allocated' AND id IN (SELECT l.order_id FROM order_lines l WHERE l.item_id = '"+g.item+"')"); n != 10 {
			t.Errorf("%d orders are allocated, want 10", n)
		}
		g.is("stock_levels?select=quantity,reserved&order=quantity&item_id=eq."+g.item, `[{"quantity":3,"reserved":3},{"quantity":7,"reserved":7}]`)
		g.is("items?select=on_hand,available,low_stock&id=eq."+g.item, `[{"on_hand":10,"available":0,"low_stock":false}]`)
		verified(t, k)
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
		dock := insertID(t, k, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		bare := insertID(t, k, g.as, "pick_lists", map[string]any{})
		line := insertID(t, k, g.as, "pick_lines", map[string]any{"pick_list_id": bare, "seq": 1, "zone_id": dock, "item_id": g.item, "qty": 99999,
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
		for name, bad := range map[string]map[string]any{"HF025": {"zone_scan": "G-B"}, "HF022": {"zone_scan": "G-A", "quantity": 7}} {
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
		g.is("orders?select=status,stage,qty_picked&id=eq."+order, `[{"status":"in_progress","stage":"picking","qty_picked":4}]`)
		patch("pick_lines/"+lines[0], map[string]any{"status": "picked", "qty_picked": 6}, 200)
		g.is("orders?select=stage,qty_allocated,qty_picked&id=eq."+order, `[{"stage":"picked","qty_allocated":6,"qty_picked":6}]`)
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"completed"}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":10,"available":4}]`)
		g.say("unpick", map[string]any{"pick_line_id": lines[0], "quantity": 1, "to_zone_id": bin}, 200, nil)
		g.is("orders?select=stage,qty_allocated,qty_picked&id=eq."+order, `[{"stage":"picking","qty_allocated":5,"qty_picked":5}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":10,"available":5}]`)
		verified(t, k)
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
		g.say("short_pick", map[string]any{"pick_line_id": lines[0], "found": 8, "reason": "torn", "to_zone_id": g.lane}, 200, &out)
		if out.Released != 2 || len(out.Reallocated) != 1 || out.Reallocated[0].Zone != second || out.Reallocated[0].Quantity != 2 {
			t.Errorf("short: %+v", out)
		}
		if _, ok := k.App.Store.Catalog().Get("count_tasks"); ok {
			g.is("count_tasks?select=status,blind&zone_id=eq."+first, `[{"status":"open","blind":true}]`)
		}
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"in_progress"}]`)
		g.is("orders?select=stage,qty_allocated,qty_picked&id=eq."+order, `[{"stage":"picking","qty_allocated":10,"qty_picked":8}]`)
		g.say("pick_line", map[string]any{"pick_line_id": out.Next.ID, "quantity": 2, "to_zone_id": g.lane}, 200, nil)
		g.is("order_lines?select=qty_allocated,qty_picked&id=eq."+line, `[{"qty_allocated":10,"qty_picked":10}]`)
		g.is("pick_lists?select=status&id=eq."+list, `[{"status":"completed"}]`)
		verified(t, k)
	})
}

// The picker of the demonstration has a list to work off.
func TestDemoPickList(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op := who(actor.Operator)
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
		say(t, k, op, "claim_pick_list", map[string]any{"pick_list_id": lists[0].ID}, 200, &out)
		for _, l := range out.Lines {
			say(t, k, op, "pick_line", map[string]any{"pick_line_id": l.ID, "quantity": l.Qty}, 200, nil)
		}
		if len(out.Lines) == 0 || counted(t, k, "pick_lists WHERE id = '"+lists[0].ID+"' AND status = 'completed'") != 1 {
			t.Errorf("the list of %d lines is not completed", len(out.Lines))
		}
		verified(t, k)
	})
}
