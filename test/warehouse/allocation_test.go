package warehouse_test

import (
	"fmt"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// shelf is a bin that is walked past at a place of the way, with stock of a lot.
func (g *goods) shelf(code string, sequence int, q float64, lot, plate string) string {
	g.t.Helper()
	g.bins[code] = g.k.Insert(g.t, g.as, "zones", map[string]any{"code": code, "name": code, "pick_sequence": sequence})
	in := map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": g.bins[code], "quantity": q}
	if lot != "" {
		in["lot_id"] = lot
	}
	if plate != "" {
		in["lpn"] = plate
	}
	g.k.Insert(g.t, g.as, "stock_movements", in)
	return g.bins[code]
}

// promised is which bins an order was promised goods of, largest promise first.
func (g *goods) promised(line string) (codes string) {
	g.t.Helper()
	for _, r := range testkit.List[struct {
		Quantity float64
		Zones    struct{ Code string }
	}](g.t, g.k, g.as, "reservations?select=quantity,zones(code)&state=eq.active&order=quantity.desc&order_line_id=eq."+line) {
		codes += fmt.Sprintf("%s %v;", r.Zones.Code, r.Quantity)
	}
	return codes
}

// The strategy says which goods are promised: what expires first, what came first,
// or what is walked past first; an unknown one is refused.
func TestAllocationStrategies(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true})
		g.shelf("S-FIRST", 30, 10, g.lot("A", 90, "released"), "")
		g.shelf("S-EXPIRES", 20, 10, g.lot("B", 40, "released"), "")
		g.shelf("S-NEAR", 10, 10, g.lot("C", 60, "released"), "")
		order, line := g.order(4)
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		for _, c := range []struct{ strategy, want string }{
			{"fefo", "S-EXPIRES 4;"}, {"fifo", "S-FIRST 4;"}, {"pick_sequence", "S-NEAR 4;"}, {"", "S-EXPIRES 4;"},
		} {
			g.say("deallocate_order", map[string]any{"order_id": order}, 200, nil)
			in := map[string]any{"order_id": order}
			if c.strategy != "" {
				in["strategy"] = c.strategy
			}
			g.say("allocate_order", in, 200, nil)
			if got := g.promised(line); got != c.want {
				t.Errorf("by %q: %s, want %s", c.strategy, got, c.want)
			}
		}
		refusedWith(t, k, g.as, "allocate_order", "strategy", 400, map[string]any{"order_id": order, "strategy": "lifo"})
		k.Verified(t)
	})
}

// Of goods that came in together a plate that is needed whole goes before loose
// ones, and one that would have to be broken goes last.
func TestWholePlatesFirst(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		bin := func(code string, sequence int) string {
			return k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code, "pick_sequence": sequence})
		}
		var rows []map[string]any
		for _, r := range []struct {
			zone, plate string
			quantity    int
		}{{bin("P-LOOSE", 1), "", 20}, {bin("P-BIG", 2), "PLATE-40", 40}, {bin("P-FITS", 3), "PLATE-12", 12}} {
			rows = append(rows, map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": r.zone,
				"quantity": r.quantity, "lpn": db.Null(r.plate)})
		}
		made[struct{ ID string }](t, k, g.as, "stock_movements", rows)
		for _, c := range []struct {
			asks float64
			want string
		}{{15, "P-FITS 12;P-LOOSE 3;"}, {5, "P-LOOSE 5;"}, {45, "P-BIG 40;P-FITS 5;"}} {
			order, line := g.order(c.asks)
			g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
			if got := g.promised(line); got != c.want {
				t.Errorf("of %v: %s, want %s", c.asks, got, c.want)
			}
			g.say("cancel_order", map[string]any{"order_id": order, "reason": "done"}, 200, nil)
		}
		k.Verified(t)
	})
}

// Where a tenant wants whole orders or none, one that lacks a single line is
// promised nothing of the others either, and leaves them to the next.
func TestWholeOrders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		short := k.Insert(t, g.as, "items", map[string]any{"sku": "G-NONE", "name": "Nothing of it"})
		set(t, k, "allow_partial_allocation", false)
		order, line := g.order(6)
		k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 2, "item_id": short, "qty_ordered": 1})
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		g.is("orders?select=status,stage,qty_allocated&id=eq."+order,
			`[{"status":"confirmed","stage":"unallocated","qty_allocated":0}]`)
		next, _ := g.order(10)
		g.say("confirm_order", map[string]any{"order_id": next}, 200, nil)
		g.is("orders?select=stage&id=eq."+next, `[{"stage":"allocated"}]`)
		g.say("cancel_order", map[string]any{"order_id": next, "reason": "room"}, 200, nil)
		refusedWith(t, k, g.as, "allocate_order", "HF002", 409, map[string]any{"order_id": order})
		if got := g.promised(line); got != "" {
			t.Errorf("a whole order or none: %s", got)
		}
		g.say("allocate_order", map[string]any{"order_id": order, "partial": true}, 200, nil)
		g.is("orders?select=stage&id=eq."+order, `[{"stage":"part_allocated"}]`)
		k.Verified(t)
	})
}

// set changes a setting that the demonstration has.
func set(t *testing.T, k *testkit.Kit, key string, value any) {
	t.Helper()
	r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/settings?key=eq." + key, As: testkit.As(actor.Admin),
		Body:   map[string]any{"value": value},
		Header: map[string]string{"Prefer": "return=representation"}})
	if r.Status != 200 || string(r.Body) == "[]" {
		t.Fatalf("%s: %d %s", key, r.Status, r.Body)
	}
}
