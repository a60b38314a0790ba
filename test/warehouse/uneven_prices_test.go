package warehouse_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/testkit"
)

// kept are the columns of a line that say what it asks for and what it is worth.
const kept = "order_lines?select=uom,qty_ordered,ordered_uom,ordered_qty,qty_cancelled,unit_price,price_uom,amount" +
	"&id=eq."

// givenUneven is an order of a file: 3 cases of 12 at 21.20, which is no price a piece.
func givenUneven(t *testing.T, k *testkit.Kit, more string) (g *goods, order, line string) {
	t.Helper()
	g = newPriced(t, k)
	sku := testkit.List[struct{ SKU string }](t, k, g.as, "items?select=sku&id=eq."+g.item)[0].SKU
	text := "Order no,SKU,Quantity,Unit price,UoM\nRVI-1," + sku + ",3,21.20," + more + "\n"
	if n := takenText(t, k, "uneven.csv", []byte(text), "orders", "", ""); n != 1 {
		t.Fatalf("%d lines came in", n)
	}
	rows := testkit.List[struct {
		ID    string
		Order string `json:"order_id"`
	}](t, k, g.as, "order_lines?select=id,order_id&item_id=eq."+g.item)
	if len(rows) != 1 {
		t.Fatalf("%+v", rows)
	}
	return g, rows[0].Order, rows[0].ID
}

// A file's line in cases whose price is uneven a piece is said so when its order is
// confirmed, and is saved by the unit of its price: no piece and no cent is lost.
func TestUnevenPricesAreSavedByTheirUnit(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenUneven(t, k, "CS")
		g.bin("G-A", 100, "")
		g.is(kept+line, `[{"uom":"CS","qty_ordered":3,"ordered_uom":null,"ordered_qty":null,"qty_cancelled":0,`+
			`"unit_price":21.2,"price_uom":null,"amount":63.6}]`)
		r := g.say("confirm_order", map[string]any{"order_id": order}, http.StatusConflict, nil)
		for _, word := range []string{"line 1 is in CS", "21.2 a CS is no price", "price_uom"} {
			if !strings.Contains(string(r.Body), word) {
				t.Errorf("not said: %s: %s", word, r.Body)
			}
		}
		g.patched("order_lines/"+line, map[string]any{"qty_cancelled": 1}, http.StatusOK)
		g.patched("order_lines/"+line, map[string]any{"price_uom": "CS"}, http.StatusOK)
		g.is(kept+line, `[{"uom":"EA","qty_ordered":36,"ordered_uom":"CS","ordered_qty":3,"qty_cancelled":12,`+
			`"unit_price":21.2,"price_uom":"CS","amount":42.4}]`)
		g.say("confirm_order", map[string]any{"order_id": order}, http.StatusOK, nil)
		g.is("orders?select=qty_ordered,qty_allocated,total_value&id=eq."+order,
			`[{"qty_ordered":36,"qty_allocated":24,"total_value":42.4}]`)
		k.Verified(t)
	})
}

// A price that comes out even a piece saves such a line as well; one that does not is
// refused by its field.
func TestUnevenPricesAreSavedByAnother(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, _, line := givenUneven(t, k, "CS")
		before := g.rows(kept + line)
		r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/order_lines/" + line, As: g.as,
			Body: map[string]any{"unit_price": 21.31}})
		refusedFields(t, r, "unit_price")
		g.is(kept+line, before)
		g.patched("order_lines/"+line, map[string]any{"unit_price": 24}, http.StatusOK)
		g.is(kept+line, `[{"uom":"EA","qty_ordered":36,"ordered_uom":"CS","ordered_qty":3,"qty_cancelled":0,`+
			`"unit_price":2,"price_uom":null,"amount":72}]`)
		k.Verified(t)
	})
}

// Another unit alone never turns 3 cases into 3 pieces, nor a price of a case into one of
// a piece: what was said in cases is said anew, field by field.
func TestAnotherUnitIsSaidWithItsQuantity(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenUneven(t, k, "CS")
		g.patched("order_lines/"+line, map[string]any{"qty_cancelled": 1}, http.StatusOK)
		before := g.rows(kept + line)
		for _, bad := range []struct {
			set    map[string]any
			fields string
		}{
			{map[string]any{"uom": "EA"}, "qty_ordered qty_cancelled unit_price"},
			{map[string]any{"uom": "PL"}, "qty_ordered qty_cancelled unit_price"},
			{map[string]any{"uom": "EA", "price_uom": "CS"}, "qty_ordered qty_cancelled"},
			{map[string]any{"uom": "EA", "qty_ordered": 36}, "qty_cancelled unit_price"},
			{map[string]any{"uom": "EA", "qty_ordered": 36, "qty_cancelled": 12}, "unit_price"},
		} {
			r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/order_lines/" + line, As: g.as, Body: bad.set})
			refusedFields(t, r, bad.fields)
			g.is(kept+line, before)
		}
		g.patched("order_lines/"+line, map[string]any{"uom": "EA", "qty_ordered": 36, "qty_cancelled": 12,
			"price_uom": "CS"}, http.StatusOK)
		g.is(kept+line, `[{"uom":"EA","qty_ordered":36,"ordered_uom":null,"ordered_qty":null,"qty_cancelled":12,`+
			`"unit_price":21.2,"price_uom":"CS","amount":42.4}]`)
		g.say("confirm_order", map[string]any{"order_id": order}, http.StatusOK, nil)
		k.Verified(t)
	})
}

// Goods that come in in cases of an uneven price stay in them, and are not turned into
// pieces by another unit either.
func TestAnotherUnitOfGoodsThatComeIn(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newPriced(t, k)
		order := k.Insert(t, g.as, "orders", map[string]any{"type": "inbound"})
		line := k.Insert(t, g.as, "order_lines", g.lineOf(order, 1,
			map[string]any{"uom": "CS", "qty_ordered": 3, "unit_price": 21.20}))
		r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/order_lines/" + line, As: g.as,
			Body: map[string]any{"uom": "EA"}})
		refusedFields(t, r, "qty_ordered unit_price")
		g.is(kept+line, `[{"uom":"CS","qty_ordered":3,"ordered_uom":null,"ordered_qty":null,"qty_cancelled":0,`+
			`"unit_price":21.2,"price_uom":null,"amount":63.6}]`)
		k.Verified(t)
	})
}

// A unit that the item does not know is put right by its name alone; one that it came to
// know later is not.
func TestUnknownUnitsArePutRight(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenUneven(t, k, "TRAY")
		r := g.say("confirm_order", map[string]any{"order_id": order}, http.StatusConflict, nil)
		if !strings.Contains(string(r.Body), "does not know") || !strings.Contains(string(r.Body), "unit to one of") {
			t.Errorf("%s", r.Body)
		}
		g.patched("order_lines/"+line, map[string]any{"uom": "CS", "price_uom": "CS"}, http.StatusOK)
		g.is(kept+line, `[{"uom":"EA","qty_ordered":36,"ordered_uom":"CS","ordered_qty":3,"qty_cancelled":0,`+
			`"unit_price":21.2,"price_uom":"CS","amount":63.6}]`)
	})
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, order, line := givenUneven(t, k, "TRAY")
		g.patched("order_lines/"+line, map[string]any{"unit_price": 24}, http.StatusOK)
		k.Insert(t, g.as, "item_uoms", map[string]any{"item_id": g.item, "uom": "TRAY", "factor": 6})
		r := g.say("confirm_order", map[string]any{"order_id": order}, http.StatusConflict, nil)
		if !strings.Contains(string(r.Body), "qty_ordered") {
			t.Errorf("%s", r.Body)
		}
		g.patched("order_lines/"+line, map[string]any{"uom": "EA", "qty_ordered": 18, "unit_price": 4}, http.StatusOK)
		g.bin("G-A", 100, "")
		g.say("confirm_order", map[string]any{"order_id": order}, http.StatusOK, nil)
		k.Verified(t)
	})
}

// refusedFields holds a refusal to 400 HF003 and to the fields that it names, in order.
func refusedFields(t *testing.T, r testkit.Response, want string) {
	t.Helper()
	var out struct{ Code, Details string }
	r.JSON(t, &out)
	var got []string
	for _, said := range strings.Split(out.Details, "; ") {
		field, _, _ := strings.Cut(said, ":")
		got = append(got, field)
	}
	if r.Status != http.StatusBadRequest || out.Code != "HF003" || strings.Join(got, " ") != want {
		t.Errorf("%d %s, want 400 HF003 at %s", r.Status, r.Body, want)
	}
}
