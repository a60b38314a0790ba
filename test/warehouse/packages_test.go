package warehouse_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/testkit"
)

// boxed is what the verbs of packing answer.
type boxed struct {
	Package    struct{ ID, Status, SSCC string }
	Repacked   struct{ ID, Status string }
	Shipment   struct{ ID, Status string }
	OrderLines []struct {
		Packed float64 `json:"qty_packed"`
	} `json:"order_lines"`
}

// givenPicked makes an order of quantity q of one item, all of it picked.
func givenPicked(t *testing.T, k *testkit.Kit, q float64) (g *goods, order, line string) {
	t.Helper()
	g = newGoods(t, k, map[string]any{})
	g.bin("G-A", q, "")
	order, line = g.order(q)
	_, picks := g.released(order)
	g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": q, "to_zone_id": g.lane}, 200, nil)
	return g, order, line
}

// part is a part of an order line, as verbs of packing take it.
func part(line string, q float64) []any {
	return []any{map[string]any{"order_line_id": line, "quantity": q}}
}

// refused holds an answer to a status and to what it has to say.
func refused(t *testing.T, r testkit.Response, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(string(r.Body), w) {
			t.Errorf("%q is not in %s", w, r.Body)
		}
	}
}

// A split order's first shipment does not leave with goods that lie in the second
// one's package; each leaves with its own.
func TestSplitShipmentLeavesWithItsOwnPackages(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, _, line := givenPicked(t, k, 10)
		first, second := g.consigned(line, 5, nil), g.consigned(line, 5, nil)
		g.packed(second, line, 5)
		refused(t, g.say("dispatch", map[string]any{"shipment_id": first}, 409, nil), "HF024", "0 of 5 are packed")
		for _, to := range []string{"packed", "ready"} {
			r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/shipments/" + first, As: g.as,
				Body: map[string]any{"status": to}})
			if r.Status != 409 {
				t.Errorf("an empty shipment becomes %s: %d %s", to, r.Status, r.Body)
			}
		}
		g.say("dispatch", map[string]any{"shipment_id": second}, 200, nil)
		g.is("order_lines?select=qty_picked,qty_packed,qty_shipped&id=eq."+line,
			`[{"qty_picked":10,"qty_packed":5,"qty_shipped":5}]`)
		g.packed(first, line, 5)
		g.say("dispatch", map[string]any{"shipment_id": first}, 200, nil)
		g.is("order_lines?select=qty_packed,qty_shipped&id=eq."+line, `[{"qty_packed":10,"qty_shipped":10}]`)
		k.Verified(t)
	})
}

// More than a shipment's line is not packed for it, nor anything into another
// shipment's package; what is packed for an order goes to the shipment that waits for
// it, and where several do, the caller has to say.
func TestPackingKeepsToTheShipment(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenPicked(t, k, 10)
		first := g.consigned(line, 4, nil)
		refused(t, g.say("pack", map[string]any{"shipment_id": first, "lines": part(line, 5)}, 409, nil), "HF022",
			"lines[0].quantity")
		var box boxed
		g.say("pack", map[string]any{"order_id": order, "lines": part(line, 1)}, 200, &box)
		if box.Shipment.ID != first {
			t.Errorf("packed for the order: %+v, want shipment %s", box, first)
		}
		refused(t, g.say("pack", map[string]any{"order_id": order, "lines": part(line, 5)}, 409, nil), "waits for 3 of it",
			"shipment_id")
		second := g.consigned(line, 6, nil)
		refused(t, g.say("pack", map[string]any{"order_id": order, "lines": part(line, 1)}, 409, nil), "wait for it")
		refused(t, g.say("pack", map[string]any{"shipment_id": second, "package_id": box.Package.ID, "lines": part(line, 1)},
			409, nil),
			"another shipment")
		g.say("pack", map[string]any{"shipment_id": first, "package_id": box.Package.ID, "lines": part(line, 3)}, 200, &box)
		if box.Shipment.Status != "packed" {
			t.Errorf("all is packed: %+v", box)
		}
		g.say("pack", map[string]any{"order_id": order, "lines": part(line, 6)}, 200, &box)
		if box.Shipment.ID != second {
			t.Errorf("the rest is packed for %+v, want shipment %s", box, second)
		}
		k.Verified(t)
	})
}

// What is packed for an order goes with the shipment that is made afterwards.
func TestShipmentTakesPackagesOfItsOrder(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenPicked(t, k, 6)
		var box boxed
		g.say("pack", map[string]any{"order_id": order, "lines": part(line, 4)}, 200, &box)
		g.say("close_package", map[string]any{"package_id": box.Package.ID}, 200, nil)
		small := g.consigned(line, 2, nil)
		g.is("packages?select=id&shipment_id=eq."+small, `[]`)
		large := g.consigned(line, 4, nil)
		g.is("shipments?select=status&id=eq."+large, `[{"status":"ready"}]`)
		g.is("packages?select=id&shipment_id=eq."+large, `[{"id":"`+box.Package.ID+`"}]`)
		g.say("dispatch", map[string]any{"shipment_id": large}, 200, nil)
		k.Verified(t)
	})
}

// A cancelled shipment lets its packages go, by the verb's way and by a change of its
// row, and another one takes them.
func TestCancelledShipmentFreesItsPackages(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenPicked(t, k, 6)
		first := g.consigned(line, 6, nil)
		g.packed(first, line, 6)
		r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/shipments/" + first, As: g.as,
			Body: map[string]any{"status": "cancelled"}})
		if r.Status != 200 {
			t.Fatalf("cancel: %d %s", r.Status, r.Body)
		}
		g.is("packages?select=shipment_id,order_id,status&lpn=eq.BOX",
			`[{"shipment_id":null,"order_id":"`+order+`","status":"closed"}]`)
		second := g.consigned(line, 6, nil)
		g.is("shipments?select=status&id=eq."+second, `[{"status":"ready"}]`)
		g.say("dispatch", map[string]any{"shipment_id": second}, 200, nil)
		k.Verified(t)
	})
}

// Goods are taken out of packages, a line or all, and lie in the lane again. A closed
// package ends with its SSCC, and what stays together goes on in an open one.
func TestUnpack(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, _, line := givenPicked(t, k, 6)
		ship := g.consigned(line, 6, nil)
		var box, out boxed
		g.say("pack", map[string]any{"shipment_id": ship, "lines": part(line, 6)}, 200, &box)
		g.say("unpack", map[string]any{"package_id": box.Package.ID, "lines": part(line, 7)}, 409, nil)
		g.say("unpack", map[string]any{"package_id": box.Package.ID, "lines": part(line, 2)}, 200, &out)
		if out.Shipment.Status != "planned" || out.Package.Status != "open" || out.OrderLines[0].Packed != 4 {
			t.Errorf("2 of 6 taken out: %+v", out)
		}
		g.say("pack", map[string]any{"shipment_id": ship, "package_id": box.Package.ID, "lines": part(line, 2)}, 200, &box)
		g.say("close_package", map[string]any{"package_id": box.Package.ID}, 200, &box)
		spent := box.Package.SSCC
		g.say("unpack", map[string]any{"package_id": box.Package.ID, "lines": part(line, 1)}, 200, &out)
		if out.Package.Status != "emptied" || out.Repacked.Status != "open" || out.Shipment.Status != "planned" ||
			out.OrderLines[0].Packed != 5 {
			t.Errorf("1 of a closed package's 6 taken out: %+v", out)
		}
		g.is("package_lines?select=quantity.sum()&package_id=eq."+out.Repacked.ID, `[{"sum":5}]`)
		g.is("shipments?select=sscc&id=eq."+ship, `[{"sscc":[]}]`)
		events, _ := g.told(g.as, url.Values{"EQ_bizStep": {"packing"}, "GE_recordTime": {testkit.List[struct {
			At string `json:"created_at"`
		}](t, k, g.as, "items?select=created_at&id=eq."+g.item)[0].At}})
		var told []string
		for _, e := range events {
			told = append(told, strings.Join([]string{e.BizStep, e.Action, e.ParentID}, " "))
		}
		if unit := "https://id.gs1.org/00/" + spent; !slices.Equal(told,
			[]string{"packing ADD " + unit, "unpacking DELETE " + unit}) {
			t.Errorf("the events of a package that was closed and emptied: %v", told)
		}
		g.say("unpack", map[string]any{"package_id": box.Package.ID}, 409, nil)
		g.say("unpack", map[string]any{"package_id": out.Repacked.ID}, 200, &out)
		g.is("order_lines?select=qty_picked,qty_packed&id=eq."+line, `[{"qty_picked":6,"qty_packed":0}]`)
		g.packed(ship, line, 6)
		if strings.Contains(g.rows("shipments?select=sscc&id=eq."+ship), spent) {
			t.Errorf("the spent SSCC %s is used again", spent)
		}
		g.say("dispatch", map[string]any{"shipment_id": ship}, 200, nil)
		left := g.k.Get(g.as, "/v1/packages?select=id&shipment_id=eq."+ship)
		var boxes []struct{ ID string }
		left.JSON(t, &boxes)
		refused(t, g.say("unpack", map[string]any{"package_id": boxes[0].ID}, 409, nil), "in_transit")
		k.Verified(t)
	})
}

// The lot that lies in a shipment's package leaves with it, not the lot that was
// picked first, and the lots of others do not hold it up.
func TestLotLeavesInItsPackage(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot"})
		l1, l2 := g.lot("L1", 90, "released"), g.lot("L2", 120, "released")
		g.bin("G-A", 5, l1)
		g.bin("G-B", 5, l2)
		order, line := g.order(10)
		_, picks := g.released(order)
		for _, p := range picks {
			g.say("pick_line", map[string]any{"pick_line_id": p, "quantity": 5, "to_zone_id": g.lane}, 200, nil)
		}
		first, second := g.consigned(line, 5, nil), g.consigned(line, 5, nil)
		of := func(lot string) []any {
			return []any{map[string]any{"order_line_id": line, "quantity": 5, "lot_id": lot}}
		}
		g.say("pack", map[string]any{"shipment_id": first, "lines": of(l2)}, 200, nil)
		refused(t, g.say("pack", map[string]any{"shipment_id": second, "lines": of(l2)}, 409, nil), "lines[0].quantity")
		g.say("pack", map[string]any{"shipment_id": second, "lines": of(l1)}, 200, nil)
		g.say("recall_lot", map[string]any{"lot_id": l1, "reason": "glass"}, 200, nil)
		g.say("dispatch", map[string]any{"shipment_id": first}, 200, nil)
		g.is("stock_movements?select=lot_id,quantity&type=eq.ship&ref_id=eq."+first, `[{"lot_id":"`+l2+`","quantity":5}]`)
		refused(t, g.say("dispatch", map[string]any{"shipment_id": second}, 409, nil), "L1")
		k.Verified(t)
	})
}

// cancelledBy says how an order that is on hold is cancelled.
var cancelledBy = map[string]func(g *goods, order string){
	"verb": func(g *goods, order string) {
		g.say("cancel_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
	},
	"state": func(g *goods, order string) {
		g.patched("orders/"+order, map[string]any{"status": "cancelled"}, 200)
	},
}

// patched changes a record and holds the answer to a status.
func (g *goods) patched(path string, set map[string]any, want int) {
	g.t.Helper()
	r := g.k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/" + path, As: g.as, Body: set})
	if r.Status != want {
		g.t.Errorf("%s %v: %d %s, want %d", path, set, r.Status, r.Body, want)
	}
}

// An order that is cancelled, by the verb or by its state, leaves no goods in
// packages, and the shipment that carried it alone ends with it.
func TestCancelledOrderEmptiesItsPackages(t *testing.T) {
	for name, cancel := range cancelledBy {
		t.Run(name, func(t *testing.T) {
			testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
				g, order, line := givenPicked(t, k, 6)
				ship := g.consigned(line, 4, nil)
				g.packed(ship, line, 4)
				var box boxed
				g.say("pack", map[string]any{"order_id": order, "lines": part(line, 2)}, 200, &box)

				g.say("hold_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
				cancel(g, order)

				g.is("packages?select=status,shipment_id&status=neq.emptied&id=eq."+box.Package.ID, `[]`)
				g.is("packages?select=status&status=neq.emptied&lpn=eq.BOX", `[]`)
				g.is("shipments?select=status,sscc&id=eq."+ship, `[{"status":"cancelled","sscc":[]}]`)
				g.is("order_lines?select=qty_allocated,qty_picked,qty_packed&id=eq."+line,
					`[{"qty_allocated":0,"qty_picked":0,"qty_packed":0}]`)
				g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":6,"available":6}]`)
				refused(t, g.say("dispatch", map[string]any{"shipment_id": ship}, 409, nil), "cancelled")
				k.Verified(t)
			})
		})
	}
}

// A cancelled order leaves the shipment and the package that it shared with another
// order, which then travels without it.
func TestCancelledOrderLeavesASharedShipment(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenPicked(t, k, 6)
		other, otherLine := g.alsoPicked(4)
		var out struct{ Shipment struct{ ID string } }
		g.say("create_shipment", map[string]any{"carrier": "PARCEL", "order_ids": []string{order, other}}, 200, &out)
		ship := out.Shipment.ID
		var box boxed
		g.say("pack", map[string]any{"shipment_id": ship, "lines": append(part(line, 6), part(otherLine, 4)...)}, 200, &box)
		g.say("close_package", map[string]any{"package_id": box.Package.ID}, 200, nil)

		g.say("hold_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
		g.say("cancel_order", map[string]any{"order_id": order}, 200, nil)

		g.is("shipments?select=status,order_ids&id=eq."+ship, `[{"status":"packed","order_ids":["`+other+`"]}]`)
		g.is("shipment_lines?select=order_line_id,quantity&shipment_id=eq."+ship,
			`[{"order_line_id":"`+otherLine+`","quantity":4}]`)
		open := testkit.List[struct{ ID string }](t, k, g.as, "packages?select=id&status=eq.open&shipment_id=eq."+ship)
		if len(open) != 1 {
			t.Fatalf("the other order's goods lie in %d open packages, want 1", len(open))
		}
		g.say("close_package", map[string]any{"package_id": open[0].ID}, 200, nil)
		g.say("dispatch", map[string]any{"shipment_id": ship}, 200, nil)
		g.is("order_lines?select=qty_shipped&id=eq."+otherLine, `[{"qty_shipped":4}]`)
		k.Verified(t)
	})
}

// alsoPicked makes one more order of the same item, all of it picked.
func (g *goods) alsoPicked(q float64) (order, line string) {
	g.t.Helper()
	g.bin("G-Z", q, "")
	order, line = g.order(q)
	_, picks := g.released(order)
	g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": q, "to_zone_id": g.lane}, 200, nil)
	return order, line
}

// Orders and shipments with goods in packages are not deleted from under them.
func TestPackagesAreNotOrphaned(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenPicked(t, k, 6)
		ship := g.consigned(line, 6, nil)
		g.packed(ship, line, 6)
		for _, path := range []string{"shipments/" + ship, "orders/" + order, "order_lines/" + line} {
			r := k.Call(testkit.Request{Method: http.MethodDelete, Path: "/v1/" + path, As: g.as})
			if r.Status != 409 {
				t.Errorf("delete of %s: %d %s, want 409", path, r.Status, r.Body)
			}
		}
		k.Verified(t)
	})
}
