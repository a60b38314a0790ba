package warehouse_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdfast/internal/testkit"
)

// kitShop sells a kit of 2 A and 1 B, and A alone.
type kitShop struct {
	*goods
	b, kit string // a is goods.item
	binB   string
}

func newKitShop(t *testing.T, k *testkit.Kit, a, b float64) *kitShop {
	t.Helper()
	s := &kitShop{goods: newGoods(t, k, map[string]any{"reorder_point": 1})}
	s.b = k.Insert(t, s.as, "items", map[string]any{"sku": "G-B", "name": "B"})
	s.kit = k.Insert(t, s.as, "items", map[string]any{"sku": "G-KIT", "name": "Kit", "reorder_point": 5})
	s.bin("K-A", a, "")
	s.binB = k.Insert(t, s.as, "zones", map[string]any{"code": "K-B", "name": "K-B"})
	stock(t, k, s.b, s.binB, b, nil)
	k.Insert(t, s.as, "item_components", map[string]any{"kit_id": s.kit, "item_id": s.item, "qty": 2})
	k.Insert(t, s.as, "item_components", map[string]any{"kit_id": s.kit, "item_id": s.b})
	return s
}

// sold makes a draft of kits at 10 each, and of loose A at 3 each unless there are none.
func (s *kitShop) sold(kits, loose float64) (order, kitLine, looseLine string) {
	s.t.Helper()
	order = s.k.Insert(s.t, s.as, "orders", map[string]any{"party_name": "Customer"})
	kitLine = s.k.Insert(s.t, s.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": s.kit,
		"qty_ordered": kits, "unit_price": 10})
	if loose > 0 {
		looseLine = s.k.Insert(s.t, s.as, "order_lines", map[string]any{"order_id": order, "line_no": 2, "item_id": s.item,
			"qty_ordered": loose, "unit_price": 3})
	}
	return order, kitLine, looseLine
}

// parts are the lines of a kit's components: of A and of B.
func (s *kitShop) parts(kitLine string) (a, b string) {
	s.t.Helper()
	for _, l := range testkit.List[dayLine](s.t, s.k, s.as, "order_lines?kit_line_id=eq."+kitLine) {
		if l.Item == s.item {
			a = l.ID
		} else {
			b = l.ID
		}
	}
	if a == "" || b == "" {
		s.t.Fatal("the kit has no lines of its components")
	}
	return a, b
}

// stands holds a line to what is allocated, picked, packed, shipped and cancelled of it.
func (s *kitShop) stands(what, line string, want ...float64) {
	s.t.Helper()
	var got []struct {
		Allocated float64 `json:"qty_allocated"`
		Picked    float64 `json:"qty_picked"`
		Packed    float64 `json:"qty_packed"`
		Shipped   float64 `json:"qty_shipped"`
		Cancelled float64 `json:"qty_cancelled"`
	}
	s.k.Get(s.as, "/v1/order_lines?id=eq."+line).JSON(s.t, &got)
	l := got[0]
	if is := []float64{l.Allocated, l.Picked, l.Packed, l.Shipped, l.Cancelled}; fmt.Sprint(is) != fmt.Sprint(want) {
		s.t.Errorf("%s: %v are allocated, picked, packed, shipped and cancelled, want %v", what, is, want)
	}
}

// pickAll picks all that is on pick lists of an order.
func (s *kitShop) pickAll(order string) {
	s.t.Helper()
	var out struct {
		Lines []struct {
			ID  string
			Qty float64
		}
	}
	s.say("release_picks", map[string]any{"order_ids": []string{order}}, 200, &out)
	for _, l := range out.Lines {
		s.say("pick_line", map[string]any{"pick_line_id": l.ID, "quantity": l.Qty, "to_zone_id": s.lane}, 200, nil)
	}
}

// ship packs quantities of lines, a line and how much of it each, and dispatches them.
func (s *kitShop) ship(parts ...any) (shipment string) {
	s.t.Helper()
	var lines []any
	for i := 0; i < len(parts); i += 2 {
		lines = append(lines, map[string]any{"order_line_id": parts[i], "quantity": parts[i+1]})
	}
	var made struct{ Shipment struct{ ID string } }
	s.say("create_shipment", map[string]any{"carrier": "PARCEL", "lines": lines}, 200, &made)
	var box struct{ Package struct{ ID string } }
	s.say("pack", map[string]any{"shipment_id": made.Shipment.ID, "lines": lines}, 200, &box)
	s.say("close_package", map[string]any{"package_id": box.Package.ID}, 200, nil)
	s.say("dispatch", map[string]any{"shipment_id": made.Shipment.ID}, 200, nil)
	return made.Shipment.ID
}

// A kit of 2 A and 1 B is sold beside A alone: the components have lines of their own, find
// stock together with the loose ones, and go out; the kit's line counts whole kits and has
// the price.
func TestKitIsSoldAsItsComponents(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newKitShop(t, k, 10, 5)
		s.is("items?select=available,on_hand,is_kit,low_stock,stock_value&id=eq."+s.kit,
			`[{"available":5,"on_hand":0,"is_kit":true,"low_stock":false,"stock_value":0}]`)
		order, kitLine, loose := s.sold(3, 4)
		s.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		a, b := s.parts(kitLine)
		s.is("order_lines?select=line_no,item_id,qty_ordered,uom,kit_qty,unit_price,amount&order=line_no&kit_line_id=eq."+kitLine,
			`[{"line_no":3,"item_id":"`+s.item+`","qty_ordered":6,"uom":"EA","kit_qty":2,"unit_price":null,"amount":null},`+
				`{"line_no":4,"item_id":"`+s.b+`","qty_ordered":3,"uom":"EA","kit_qty":1,"unit_price":null,"amount":null}]`)
		s.stands("kit", kitLine, 3, 0, 0, 0, 0)
		s.stands("loose", loose, 4, 0, 0, 0, 0)
		order1 := "orders?select=line_count,qty_ordered,qty_allocated,total_value,stage,status&id=eq." + order
		s.is(order1, `[{"line_count":2,"qty_ordered":13,"qty_allocated":13,"total_value":42,"stage":"allocated","status":"confirmed"}]`)
		s.is("items?select=available&id=eq."+s.kit, `[{"available":0}]`)
		k.Verified(t)

		s.pickAll(order)
		s.stands("picked kit", kitLine, 3, 3, 0, 0, 0)
		refused(t, s.say("create_shipment", map[string]any{"lines": part(kitLine, 1)}, 409, nil), "kit", "components")
		refused(t, s.say("pack", map[string]any{"order_id": order, "lines": part(kitLine, 1)}, 409, nil), "kit", "components")
		sent := s.ship(a, 5, b, 1, loose, 4)
		s.stands("kit in part", kitLine, 3, 3, 1, 1, 0)
		orderNo := list1(t, k, s.as, "orders?select=id:order_no&id=eq."+order)
		note := s.paper("/v1/shipments/" + sent + "/delivery-note.pdf")
		note.row(t, orderNo, "1", "G-KIT", "Kit", "1", "EA") // one of them is whole
		note.row(t, orderNo, "G-1", "– Goods", "5", "EA")
		note.row(t, orderNo, "G-B", "– B", "1", "EA")
		note.row(t, orderNo, "2", "G-1", "Goods", "4", "EA")
		k.Verified(t)
		s.ship(a, 1, b, 2)
		s.stands("kit that left", kitLine, 3, 3, 3, 3, 0)
		s.is(order1, `[{"line_count":2,"qty_ordered":13,"qty_allocated":13,"total_value":42,"stage":"shipped","status":"completed"}]`)
		k.Verified(t)

		// What comes back are components, under a return order of these.
		var back struct {
			Order struct{ ID string } `json:"return_order"`
		}
		s.say("return_shipment", map[string]any{"shipment_id": sent, "note": "refused"}, 200, &back)
		lines := testkit.List[dayLine](t, k, s.as, "order_lines?order=line_no&order_id=eq."+back.Order.ID)
		var in []any
		for _, l := range lines {
			in = append(in, map[string]any{"order_line_id": l.ID, "quantity": l.Ordered, "disposition": "restock",
				"zone_id": s.lane})
		}
		s.say("receive_return", map[string]any{"order_id": back.Order.ID, "lines": in}, 200, nil)
		s.is("items?select=sku,on_hand&order=sku&id=in.("+s.item+","+s.b+","+s.kit+")",
			`[{"sku":"G-1","on_hand":9},{"sku":"G-B","on_hand":3},{"sku":"G-KIT","on_hand":0}]`)
		k.Verified(t)
	})
}

// A component that is short keeps as many kits from going as it would make; what is allocated
// of the others waits. The rest of the order is closed, and the kit is worth what left.
func TestKitIsShortOfAComponent(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newKitShop(t, k, 10, 2)
		order, kitLine, _ := s.sold(5, 0)
		s.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		a, b := s.parts(kitLine)
		s.stands("kit", kitLine, 2, 0, 0, 0, 0)
		s.stands("A", a, 10, 0, 0, 0, 0)
		refused(t, s.say("allocate_order", map[string]any{"order_id": order, "partial": false}, 409, nil), "G-B", "3 short")

		// Nobody else is promised the A that the kit has.
		other, _, loose := s.sold(1, 1)
		s.say("confirm_order", map[string]any{"order_id": other}, 200, nil)
		s.stands("loose", loose, 0, 0, 0, 0, 0)
		s.say("cancel_order", map[string]any{"order_id": other, "reason": "test"}, 200, nil)
		k.Verified(t)

		// One kit less: what is allocated has to be given back first.
		patch := func(line string, set map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/order_lines?id=eq." + line, As: s.as, Body: set})
		}
		refused(t, patch(kitLine, map[string]any{"qty_cancelled": 1}), "23514", "not yet allocated")
		s.say("deallocate_order", map[string]any{"order_id": order, "order_line_id": kitLine}, 200, nil)
		s.stands("given back", kitLine, 0, 0, 0, 0, 0)
		if r := patch(kitLine, map[string]any{"qty_cancelled": 1}); r.Status >= 300 {
			t.Errorf("cancel one kit: %d %s", r.Status, r.Body)
		}
		s.stands("A of four kits", a, 0, 0, 0, 0, 2)
		s.is("orders?select=total_value&id=eq."+order, `[{"total_value":40}]`)
		refused(t, patch(kitLine, map[string]any{"qty_cancelled": 0}), "HF004", "components")
		for _, cancelled := range []float64{0, 2, 5} {
			refused(t, patch(b, map[string]any{"qty_cancelled": cancelled}), "HF006", "not cancelled alone")
		}
		s.stands("a kit that lacks B", kitLine, 0, 0, 0, 0, 1)
		k.Verified(t)

		s.say("allocate_order", map[string]any{"order_id": order}, 200, nil)
		s.pickAll(order)
		s.say("hold_order", map[string]any{"order_id": order, "reason": "credit"}, 200, nil)
		s.say("resume_order", map[string]any{"order_id": order, "reason": "paid"}, 200, nil)
		s.ship(a, 5, b, 2)
		s.stands("what left", kitLine, 2, 2, 2, 2, 1)
		s.say("close_order", map[string]any{"order_id": order}, 200, nil)
		s.stands("closed", kitLine, 2, 2, 2, 2, 3)
		s.is("orders?select=status,total_value&id=eq."+order, `[{"status":"completed","total_value":20}]`)
		k.Verified(t)
	})
}

// A confirmed order of a kit is cancelled, and gets another kit; a kit that changes then
// leaves it what was agreed.
func TestKitKeepsWhatWasAgreed(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newKitShop(t, k, 20, 20)
		order, kitLine, _ := s.sold(2, 0)
		s.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		a, _ := s.parts(kitLine)
		of := "/v1/item_components?kit_id=eq." + s.kit + "&item_id=eq." + s.item
		change := func(method, path string, body any, want int, words ...string) {
			t.Helper()
			r := k.Call(testkit.Request{Method: method, Path: path, As: s.as, Body: body})
			if r.Status/100 != want/100 {
				t.Errorf("%s %s %v: %d %s", method, path, body, r.Status, r.Body)
			}
			refused(t, r, words...)
		}
		change(http.MethodPatch, of, map[string]any{"qty": 3}, 204)
		s.is("order_lines?select=qty_ordered,kit_qty&id=eq."+a, `[{"qty_ordered":4,"kit_qty":2}]`)
		second := k.Insert(t, s.as, "order_lines", map[string]any{"order_id": order, "line_no": 9, "item_id": s.kit,
			"qty_ordered": 1})
		another, _ := s.parts(second)
		s.is("order_lines?select=qty_ordered,kit_qty&id=eq."+another, `[{"qty_ordered":3,"kit_qty":3}]`)
		change(http.MethodDelete, of, nil, 204)
		s.is("order_lines?select=qty_ordered&id=eq."+a, `[{"qty_ordered":4}]`)

		line := "/v1/order_lines?id=eq."
		for _, set := range []map[string]any{{"qty_ordered": 9}, {"unit_price": 1}, {"item_id": s.b}} {
			change(http.MethodPatch, line+a, set, 409, "HF004", "component of a kit")
		}
		for _, set := range []map[string]any{{"qty_ordered": 9}, {"item_id": s.b}} {
			change(http.MethodPatch, line+kitLine, set, 409, "HF004", "kit")
		}
		change(http.MethodPatch, line+kitLine, map[string]any{"unit_price": 12}, 204)
		s.is("orders?select=total_value&id=eq."+order, `[{"total_value":24}]`)
		change(http.MethodDelete, line+another, nil, 409, "HF004", "component of a kit")
		change(http.MethodDelete, "/v1/order_lines?or=(id.eq."+second+",kit_line_id.eq."+second+")", nil, 204)
		k.Verified(t)

		s.say("cancel_order", map[string]any{"order_id": order, "reason": "test"}, 200, nil)
		s.stands("cancelled", kitLine, 0, 0, 0, 0, 0)
		s.is("items?select=available&id=eq."+s.item, `[{"available":20}]`)
		k.Verified(t)
	})
}

// What a kit is not: stock, a thing that is bought or counted, a part of another kit, a
// fraction; and what becomes no kit.
func TestKitsAreRefused(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newKitShop(t, k, 10, 5)
		write := func(collection string, row map[string]any, want int, words ...string) {
			t.Helper()
			r := k.Post(s.as, "/v1/"+collection, row)
			if r.Status != want {
				t.Errorf("%s %v: %d %s, want %d", collection, row, r.Status, r.Body, want)
			}
			refused(t, r, words...)
		}
		for _, move := range []map[string]any{
			{"type": "receipt", "to_zone_id": s.binB}, {"type": "adjust_gain", "to_zone_id": s.binB, "reason_code": "found"},
			{"type": "opening", "to_zone_id": s.binB}, {"type": "transfer", "from_zone_id": s.binB, "to_zone_id": s.lane},
		} {
			move["item_id"], move["quantity"] = s.kit, 1
			write("stock_movements", move, 409, "G-KIT is a kit", "2 G-1, 1 G-B")
		}
		refused(t, s.say("receive", map[string]any{"zone_id": s.binB,
			"lines": []any{map[string]any{"item_id": s.kit, "quantity": 1}}}, 409, nil), "G-KIT is a kit")
		refused(t, s.say("move_stock", map[string]any{"item_id": s.kit, "from_zone_id": s.binB, "to_zone_id": s.lane,
			"quantity": 1}, 409, nil), "G-KIT is a kit")
		refused(t, s.say("adjust_stock", map[string]any{"item_id": s.kit, "zone_id": s.binB, "quantity": 1,
			"reason_code": "found"}, 409, nil), "G-KIT is a kit")
		for _, counted := range []int{0, 2} {
			write("stock_counts", map[string]any{"item_id": s.kit, "zone_id": s.binB, "counted": counted}, 409, "G-KIT is a kit")
		}
		for _, kind := range []string{"inbound", "return", "transfer"} {
			row := map[string]any{"type": kind}
			order := k.Insert(t, s.as, "orders", row)
			write("order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": s.kit, "qty_ordered": 1}, 409, "HF006",
				"G-KIT is a kit", "components")
		}

		part := func(kit, item string, qty any, want int, words ...string) {
			t.Helper()
			write("item_components", map[string]any{"kit_id": kit, "item_id": item, "qty": qty}, want, words...)
		}
		other := k.Insert(t, s.as, "items", map[string]any{"sku": "G-C", "name": "C"})
		part(s.kit, s.kit, 1, 400, "itself")
		part(other, s.kit, 1, 409, "G-KIT is a kit", "components of G-KIT")
		part(s.item, other, 1, 409, "component of kit G-KIT")
		part(s.b, other, 1, 409, "component of kit G-KIT")
		part(s.kit, other, 1.5, 400, "finer than unit EA")
		part(s.kit, other, 0, 400, "qty")
		part(s.kit, other, -1, 400, "qty")
		part(s.kit, s.item, 1, 409, "item_components_kit_id_item_id_key")
		stocked := k.Insert(t, s.as, "items", map[string]any{"sku": "G-D", "name": "D"})
		stock(t, k, stocked, s.binB, 7, nil)
		part(stocked, other, 1, 409, "HF004", "stock of G-D: 7 in K-B")
		open, _ := confirmed(t, k, "inbound", other, 3, nil)
		part(other, s.b, 1, 409, "HF004", "open", "G-C")
		s.say("cancel_order", map[string]any{"order_id": open, "reason": "test"}, 200, nil)
		foreign := k.Foreign(t, "items")
		part(s.kit, foreign, 1, 409)
		part(foreign, s.b, 1, 409)
		south := k.Insert(t, s.as, "goods_owners", map[string]any{"code": "GX", "name": "Client"})
		theirs := k.Insert(t, s.as, "items", map[string]any{"sku": "G-E", "name": "E", "owner_id": south})
		part(s.kit, theirs, 1, 409, "another client")

		half, _, _ := s.sold(1, 0)
		write("order_lines", map[string]any{"order_id": half, "line_no": 5, "item_id": s.kit, "qty_ordered": 1.5}, 400,
			"finer than unit EA")
		k.Verified(t)
	})
}

// What has been goods becomes no kit: it could not come back. The last day that a kit asks for
// holds for those of its components that have one, and its components need numbers of lines.
func TestKitsOfOddItems(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newKitShop(t, k, 10, 2)
		day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
		once := k.Insert(t, s.as, "items", map[string]any{"sku": "G-ONCE", "name": "Once goods"})
		for _, move := range []map[string]any{
			{"type": "receipt", "to_zone_id": s.binB}, {"type": "scrap", "from_zone_id": s.binB},
		} {
			move["item_id"], move["quantity"] = once, 1
			k.Insert(t, s.as, "stock_movements", move)
		}
		made := k.Post(s.as, "/v1/item_components", map[string]any{"kit_id": once, "item_id": s.b})
		refused(t, made, "HF004", "have moved")

		milk := k.Insert(t, s.as, "items",
			map[string]any{"sku": "G-MILK", "name": "Milk", "tracking": "lot", "has_expiry": true})
		lot := k.Insert(t, s.as, "lots", map[string]any{"item_id": milk, "lot_no": "M1", "expires_on": day(90)})
		stock(t, k, milk, s.binB, 2, map[string]any{"lot_id": lot})
		crate := k.Insert(t, s.as, "items", map[string]any{"sku": "G-CRATE", "name": "Crate"})
		k.Insert(t, s.as, "item_components", map[string]any{"kit_id": crate, "item_id": milk})
		k.Insert(t, s.as, "item_components", map[string]any{"kit_id": crate, "item_id": s.b})
		order := k.Insert(t, s.as, "orders", map[string]any{"party_name": "Customer"})
		line := k.Insert(t, s.as, "order_lines", map[string]any{"order_id": order, "line_no": 100_000, "item_id": crate,
			"qty_ordered": 2, "min_expiry": day(30)})
		said := s.say("confirm_order", map[string]any{"order_id": order}, 409, nil)
		refused(t, said, "HF006", "line numbers above 100000")
		if r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/order_lines?id=eq." + line, As: s.as,
			Body: map[string]any{"line_no": 1}}); r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		s.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		s.stands("crates", line, 2, 0, 0, 0, 0)
		s.is("order_lines?select=min_expiry&item_id=eq."+milk, `[{"min_expiry":"`+day(30)+`"}]`)
		k.Verified(t)
	})
}
