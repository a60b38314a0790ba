package warehouse_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// sellPieces sends off all of an order of one line.
func (g *goods) sellPieces(q float64) (shipment string) {
	g.t.Helper()
	order, line := g.order(q)
	_, picks := g.released(order)
	for _, p := range picks {
		part := testkit.List[struct{ Qty float64 }](g.t, g.k, g.as, "pick_lines?select=qty&id=eq."+p)[0].Qty
		g.say("pick_line", map[string]any{"pick_line_id": p, "quantity": part, "to_zone_id": g.lane}, 200, nil)
	}
	shipment = g.consigned(line, q, nil)
	g.packed(shipment, line, q)
	g.say("dispatch", map[string]any{"shipment_id": shipment}, 200, nil)
	return shipment
}

// comingBack is a line of receive_return.
func (g *goods) comingBack(line string, q float64, what string, more map[string]any) map[string]any {
	in := map[string]any{"order_line_id": line, "quantity": q, "disposition": what, "zone_id": g.lane}
	for name, v := range more {
		in[name] = v
	}
	return in
}

// Not more comes back or is refunded than left, over all returns; what never left, or comes
// back again, is looked at in quarantine, with a reason.
func TestReturnsReferToWhatLeft(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 20, "")
		g.sellPieces(2)
		take := func(order, line string, q float64, what string, more map[string]any, want int) testkit.Response {
			t.Helper()
			in := map[string]any{"order_id": order, "lines": []any{g.comingBack(line, q, what, more)}}
			return g.say("receive_return", in, want, nil)
		}
		order, line := confirmed(t, k, "return", g.item, 500, nil)
		refused(t, take(order, line, 500, "restock", nil, 409), "only 2 is still away", "quarantine", "lines[0].quantity")
		take(order, line, 500, "quarantine", nil, 409)
		refused(t, take(order, line, 3, "refund_only", map[string]any{"reason": "broken"}, 409), "only 2 is still away")
		take(order, line, 2, "restock", nil, 200)
		again, twice := confirmed(t, k, "return", g.item, 1, nil)
		refused(t, take(again, twice, 1, "restock", nil, 409), "only 0 is still away")
		refused(t, take(again, twice, 1, "restock", map[string]any{"reason": "no papers"}, 409), "HF022")
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":20,"available":20}]`)
		take(again, twice, 1, "quarantine", map[string]any{"reason": "no papers"}, 200)
		g.is("stock_movements?select=quantity,to_status&reason_code=eq.no%20papers",
			`[{"quantity":1,"to_status":"quarantine"}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":21,"available":20}]`)

		// What never left takes nothing from what leaves later.
		g.sellPieces(3)
		later, open := confirmed(t, k, "return", g.item, 3, nil)
		take(later, open, 3, "restock", nil, 200)
		k.Verified(t)
	})
}

// What a reversal says never left does not come back with its shipment, which has no return
// at all where nothing of it left.
func TestReturnedShipmentLeavesOutWhatNeverLeft(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 20, "")
		part, whole := g.sellPieces(5), g.sellPieces(3)
		neverLeft := func(shipment string, q float64) {
			t.Helper()
			filter := "stock_movements?select=id&type=eq.ship&ref_id=eq." + shipment
			of := testkit.List[struct{ ID string }](t, k, g.as, filter)
			way := map[string]any{"type": "adjust_gain", "item_id": g.item, "quantity": q, "reversal_of": of[0].ID,
				"to_zone_id": g.lane}
			if r := k.Post(g.as, "/v1/stock_movements", way); len(of) != 1 || r.Status != 201 {
				t.Fatalf("reversal of one of %d movements: %d %s", len(of), r.Status, r.Body)
			}
		}
		neverLeft(part, 2)
		neverLeft(whole, 3)
		var out struct {
			Order *struct{ ID string } `json:"return_order"`
		}
		g.say("return_shipment", map[string]any{"shipment_id": part}, 200, &out)
		if out.Order == nil {
			t.Fatal("a shipment that left in part has no return")
		}
		g.is("order_lines?select=qty_ordered&order_id=eq."+out.Order.ID, `[{"qty_ordered":3}]`)
		g.say("return_shipment", map[string]any{"shipment_id": whole}, 200, nil)
		g.is("orders?select=id&external_ref=eq."+whole, `[]`)
		k.Verified(t)
	})
}

// The return order of a shipment has a line for each lot that left with it, and takes no
// other lot.
func TestReturnedShipmentNamesItsLots(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot"})
		l1, l2 := g.lot("L1", 90, "released"), g.lot("L2", 120, "released")
		g.bin("G-A", 3, l1)
		g.bin("G-B", 5, l2)
		ship := g.sellPieces(5)
		var out struct {
			Order struct{ ID string } `json:"return_order"`
		}
		g.say("return_shipment", map[string]any{"shipment_id": ship}, 200, &out)
		lines := testkit.List[struct {
			ID  string
			Lot string  `json:"lot_id"`
			Qty float64 `json:"qty_ordered"`
		}](t, k, g.as, "order_lines?select=id,lot_id,qty_ordered&order=qty_ordered&order_id=eq."+out.Order.ID)
		if len(lines) != 2 || lines[0].Lot != l2 || lines[0].Qty != 2 || lines[1].Lot != l1 || lines[1].Qty != 3 {
			t.Fatalf("the lines of the return: %+v", lines)
		}
		in := map[string]any{"order_id": out.Order.ID, "lines": []any{g.comingBack(lines[0].ID, 1, "restock",
			map[string]any{"lot_id": l1})}}
		refused(t, g.say("receive_return", in, 409, nil), "another lot")
		in["lines"] = []any{g.comingBack(lines[0].ID, 2, "restock", nil), g.comingBack(lines[1].ID, 3, "restock", nil)}
		g.say("receive_return", in, 200, nil)
		k.Verified(t)
	})
}

// A serial number that was sold is not received as new unless that is said; under a
// return order it comes back, once.
func TestSoldSerialIsAQuestion(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "serial"})
		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		receive := func(serial string, more map[string]any, want int) testkit.Response {
			t.Helper()
			line := map[string]any{"item_id": g.item, "serials": []string{serial}}
			for name, v := range more {
				line[name] = v
			}
			return g.say("receive", map[string]any{"zone_id": dock, "lines": []any{line}}, want, nil)
		}
		receive("S-1", nil, 200)
		g.sellPieces(1)
		refused(t, receive("S-1", nil, 409), "S-1 of item G-1 was sold", "return order", "accept_sold", "lines[0].serials")
		receive("S-2", nil, 200)
		order, line := confirmed(t, k, "return", g.item, 2, nil)
		back := func(serial string, want int) {
			t.Helper()
			in := []any{g.comingBack(line, 1, "restock", map[string]any{"serial": serial})}
			g.say("receive_return", map[string]any{"order_id": order, "lines": in}, want, nil)
		}
		back("S-9", 409)
		back("S-1", 200)
		back("S-1", 409)
		g.sellPieces(2)
		receive("S-1", map[string]any{"accept_sold": true}, 200)
		k.Verified(t)
	})
}

// What verb receive takes in under a return order is held to what left, as receive_return
// does: by quantity, lot and serial number, and once.
func TestReceivedReturnsReferToWhatLeft(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot"})
		sold, other := g.lot("L-1", 90, "released"), g.lot("L-2", 90, "released")
		g.bin("G-A", 2, sold)
		g.sellPieces(2)
		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		receive := func(order string, line map[string]any, want int) testkit.Response {
			t.Helper()
			return g.say("receive", map[string]any{"order_id": order, "zone_id": dock, "lines": []any{line}}, want, nil)
		}
		goods := func(q float64, lot string) map[string]any {
			return map[string]any{"item_id": g.item, "quantity": q, "lot_no": lot}
		}
		order, _ := confirmed(t, k, "return", g.item, 500, nil)
		refused(t, receive(order, goods(500, "L-1"), 409), "HF022", "only 2 is still away", "receive_return",
			"lines[0].quantity")
		refused(t, receive(order, goods(1, "L-2"), 409), "HF022", "only 0 is still away")
		pinned, _ := confirmed(t, k, "return", g.item, 2, map[string]any{"lot_id": other})
		refused(t, receive(pinned, goods(1, "L-1"), 409), "HF022", "another lot", "lines[0].lot_no")
		receive(order, goods(2, "L-1"), 200)
		refused(t, receive(order, goods(1, "L-1"), 409), "only 0 is still away")
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":2,"available":0}]`)

		numbered := k.Insert(t, g.as, "items", map[string]any{"sku": "G-2", "name": "Numbered", "tracking": "serial"})
		movements := []map[string]any{{"type": "receipt", "to_zone_id": g.lane}, {"type": "ship", "from_zone_id": g.lane}}
		for _, row := range movements {
			row["item_id"], row["serial"], row["quantity"] = numbered, "S-1", 1
			k.Insert(t, g.as, "stock_movements", row)
		}
		back, _ := confirmed(t, k, "return", numbered, 2, nil)
		piece := func(serial string) map[string]any {
			return map[string]any{"item_id": numbered, "serials": []string{serial}}
		}
		refused(t, receive(back, piece("S-9"), 409), "HF022", "lines[0].serials")
		receive(back, piece("S-1"), 200)
		refused(t, receive(back, piece("S-1"), 409), "HF022")
		k.Verified(t)
	})
}

// Goods that came back cannot be said never to have left, a return that is taken back is away
// again, and verify finds more that came back than left.
func TestReturnsAgreeWithWhatLeft(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 20, "")
		g.sellPieces(3)
		take := func(q float64, what string, more map[string]any, want int) testkit.Response {
			t.Helper()
			order, line := confirmed(t, k, "return", g.item, q, nil)
			in := map[string]any{"order_id": order, "lines": []any{g.comingBack(line, q, what, more)}}
			return g.say("receive_return", in, want, nil)
		}
		reverse := func(filter, as string, q float64, way map[string]any) testkit.Response {
			t.Helper()
			of := testkit.List[struct{ ID string }](t, k, g.as, "stock_movements?select=id&item_id=eq."+g.item+"&"+filter)
			if len(of) != 1 {
				t.Fatalf("%d movements of %s", len(of), filter)
			}
			way["type"], way["item_id"], way["quantity"], way["reversal_of"] = as, g.item, q, of[0].ID
			return k.Post(g.as, "/v1/stock_movements", way)
		}
		into := func() map[string]any { return map[string]any{"to_zone_id": g.lane} }

		take(2, "restock", nil, 200)
		refused(t, reverse("type=eq.ship", "adjust_gain", 3, into()), "HF022", "only 1 is still away", "reverse the return first")
		if r := reverse("type=eq.ship", "adjust_gain", 1, into()); r.Status != 201 {
			t.Fatalf("reversal of what is still away: %d %s", r.Status, r.Body)
		}
		refused(t, take(1, "restock", nil, 409), "only 0 is still away")

		back := map[string]any{"from_zone_id": g.lane}
		if r := reverse("type=eq.return_in&quantity=eq.2", "adjust_loss", 1, back); r.Status != 201 {
			t.Fatalf("reversal of a return: %d %s", r.Status, r.Body)
		}
		take(1, "restock", nil, 200)

		take(1, "quarantine", map[string]any{"reason": "no papers"}, 200)
		unexpected := map[string]any{"from_zone_id": g.lane, "from_status": "quarantine"}
		if r := reverse("reason_code=eq.no%20papers", "adjust_loss", 1, unexpected); r.Status != 201 {
			t.Fatalf("reversal of an unexpected return: %d %s", r.Status, r.Body)
		}
		refused(t, take(1, "restock", nil, 409), "only 0 is still away")
		k.Verified(t)

		testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			_, err := tx.Exec(`
				UPDATE stock_movements
				SET quantity = 4 * quantity
				WHERE tenant_id = $1
					AND item_id = $2
					AND type = 'return_in'
					AND reversal_of IS NULL`, demo.North, g.item)
			return err
		}))
		found, err := k.App.Verify(t.Context())
		testkit.Must(t, err)
		isFound := slices.ContainsFunc(found, func(d string) bool {
			return strings.Contains(d, "item "+g.item+" came back, of what left is ")
		})
		if !isFound {
			t.Errorf("verify finds no return of what never left: %s", found)
		}
	})
}

// What came back without a lot may have been of any: no more comes back of a lot afterwards than
// is away of all, neither by a return nor by a reversal. What somebody writes by hand as come
// back left before the ledger began: verify does not count it, and it bars no reversal.
func TestReturnsWithoutLots(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		lot := g.lot("L-1", 90, "released")
		g.bin("G-A", 10, lot)
		g.sellPieces(5)
		take := func(q float64, more map[string]any, want int) testkit.Response {
			t.Helper()
			order, line := confirmed(t, k, "return", g.item, q, nil)
			in := map[string]any{"order_id": order, "lines": []any{g.comingBack(line, q, "restock", more)}}
			return g.say("receive_return", in, want, nil)
		}
		sent := testkit.List[struct{ ID string }](t, k, g.as, "stock_movements?select=id&type=eq.ship&item_id=eq."+g.item)[0].ID
		undone := func(q float64) testkit.Response {
			return k.Post(g.as, "/v1/stock_movements", map[string]any{"type": "adjust_gain", "item_id": g.item, "lot_id": lot,
				"quantity": q, "to_zone_id": g.lane, "reversal_of": sent})
		}
		take(4, nil, 200)
		refused(t, take(2, map[string]any{"lot_id": lot}, 409), "only 1 is still away")
		refused(t, undone(2), "HF022", "only 1 is still away")
		take(1, map[string]any{"lot_id": lot}, 200)
		g.is("items?select=on_hand&id=eq."+g.item, `[{"on_hand":10}]`)

		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "return_in", "item_id": g.item, "lot_id": lot,
			"quantity": 20, "to_zone_id": g.lane, "ref_type": "order_lines", "ref_id": db.NewID()})
		mistake := k.Insert(t, g.as, "stock_movements", map[string]any{"type": "ship", "item_id": g.item, "lot_id": lot,
			"quantity": 3, "from_zone_id": g.lane})
		sent = mistake
		if r := undone(3); r.Status != 201 {
			t.Errorf("reversal of a shipment by mistake: %d %s", r.Status, r.Body)
		}
		k.Verified(t)
	})
}
