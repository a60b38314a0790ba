package warehouse_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/decimal"
	"holdfast/internal/testkit"
)

// priced are the columns of a line that say what it is worth.
const priced = "order_lines?select=uom,qty_ordered,unit_price,price_uom,price_qty,amount&id=eq."

// newPriced is a warehouse whose item is sold by the piece, by cases of 12 and by
// pallets of 250.
func newPriced(t *testing.T, k *testkit.Kit) *goods {
	t.Helper()
	g := newGoods(t, k, map[string]any{})
	for unit, factor := range map[string]float64{"CS": 12, "PL": 250} {
		k.Insert(t, g.as, "item_uoms", map[string]any{"item_id": g.item, "uom": unit, "factor": factor})
	}
	return g
}

// lineOf is the body of a new line of an order of the item.
func (g *goods) lineOf(order string, number int, more map[string]any) map[string]any {
	line := map[string]any{"order_id": order, "line_no": number, "item_id": g.item}
	for name, v := range more {
		line[name] = v
	}
	return line
}

// totals are what the lines of an order are worth altogether, and what the order says.
func (g *goods) totals(order string) (lines, kept decimal.Dec) {
	g.t.Helper()
	for _, l := range testkit.List[struct{ Amount decimal.Dec }](g.t, g.k, g.as,
		"order_lines?select=amount&order_id=eq."+order) {
		lines += l.Amount
	}
	o := testkit.List[struct {
		Total decimal.Dec `json:"total_value"`
	}](g.t, g.k, g.as, "orders?select=total_value&id=eq."+order)
	return lines, o[0].Total
}

// 21.20 a case of 12 is said as it is: 30 pieces are 53.00, whatever a case holds later,
// and what is cancelled is worth nothing.
func TestPricesOfSalesUnits(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newPriced(t, k)
		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Customer"})
		line := k.Insert(t, g.as, "order_lines", g.lineOf(order, 1,
			map[string]any{"qty_ordered": 30, "unit_price": 21.20, "price_uom": "cs"}))
		g.is(priced+line, `[{"uom":"EA","qty_ordered":30,"unit_price":21.2,"price_uom":"CS","price_qty":12,"amount":53}]`)
		k.Insert(t, g.as, "order_lines", g.lineOf(order, 2, map[string]any{"qty_ordered": 7, "unit_price": 0.5}))
		free := k.Insert(t, g.as, "order_lines", g.lineOf(order, 3, map[string]any{"qty_ordered": 1}))
		g.is(priced+free, `[{"uom":"EA","qty_ordered":1,"unit_price":null,"price_uom":null,"price_qty":1,"amount":null}]`)
		g.is("orders?select=total_value&id=eq."+order, `[{"total_value":56.5}]`)

		g.patched("order_lines/"+line, map[string]any{"qty_cancelled": 5}, http.StatusOK)
		g.is("order_lines?select=amount&id=eq."+line, `[{"amount":44.1667}]`) // 25 x 21.20 / 12 = 44.16666...
		g.is("orders?select=total_value&id=eq."+order, `[{"total_value":47.6667}]`)

		g.patched("item_uoms?uom=eq.CS&item_id=eq."+g.item, map[string]any{"factor": 10}, http.StatusNoContent)
		g.patched("order_lines/"+line, map[string]any{"qty_cancelled": 6, "unit_price": 22}, http.StatusOK)
		g.is(priced+line, `[{"uom":"EA","qty_ordered":30,"unit_price":22,"price_uom":"CS","price_qty":12,"amount":44}]`)

		// Ordered by the case as well, which holds ten by now; and of a case of ten in a
		// price that comes out even a piece, as before there were units of prices.
		line = k.Insert(t, g.as, "order_lines", g.lineOf(order, 4,
			map[string]any{"uom": "CS", "qty_ordered": 3, "unit_price": 21.2001, "price_uom": "CS"}))
		g.is(priced+line, `[{"uom":"EA","qty_ordered":30,"unit_price":21.2001,"price_uom":"CS","price_qty":10,"amount":63.6003}]`)
		g.patched("order_lines/"+line, map[string]any{"price_uom": nil, "unit_price": 2}, http.StatusOK)
		g.is(priced+line, `[{"uom":"EA","qty_ordered":30,"unit_price":2,"price_uom":null,"price_qty":1,"amount":60}]`)
		g.patched("order_lines/"+line, map[string]any{"price_uom": "PL", "unit_price": 100}, http.StatusOK)
		g.is("orders?select=total_value&id=eq."+order, `[{"total_value":59.5}]`) // 44 + 3.50 + 30 x 100 / 250
		line = k.Insert(t, g.as, "order_lines", g.lineOf(order, 5,
			map[string]any{"uom": "CS", "qty_ordered": 3, "unit_price": 5}))
		g.is(priced+line, `[{"uom":"EA","qty_ordered":30,"unit_price":0.5,"price_uom":null,"price_qty":1,"amount":15}]`)

		g.bin("G-A", 20, "")
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		k.Verified(t)
		g.say("cancel_order", map[string]any{"order_id": order, "reason": "Test"}, 200, nil)
		k.Verified(t)
	})
}

// A unit that is none of the item's, a price that the server keeps itself, a price of
// an order that has ended, and an amount beyond all bounds are refused by their field;
// nothing is written.
func TestPricesAreRefused(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newPriced(t, k)
		other := k.Insert(t, g.as, "items", map[string]any{"sku": "G-2", "name": "Other"})
		k.Insert(t, g.as, "item_uoms", map[string]any{"item_id": other, "uom": "CRATE", "factor": 6})
		k.Insert(t, g.as, "item_uoms", map[string]any{"item_id": g.item, "uom": "MIL", "factor": 0.0003})
		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Customer"})
		line := k.Insert(t, g.as, "order_lines", g.lineOf(order, 1,
			map[string]any{"qty_ordered": 30, "unit_price": 21.20, "price_uom": "CS"}))
		before := g.rows("order_lines?order_id=eq." + order)
		for _, bad := range []struct {
			set   map[string]any
			field string
		}{
			{map[string]any{"price_uom": "CRATE"}, "price_uom"},
			{map[string]any{"price_uom": "NONE"}, "price_uom"},
			{map[string]any{"price_uom": 12}, "price_uom"},
			{map[string]any{"price_qty": 12}, "price_qty"},
			{map[string]any{"amount": 53}, "amount"},
			{map[string]any{"unit_price": -1}, "unit_price"},
			{map[string]any{"unit_price": 100_000_000_000_000, "price_uom": "CS"}, "unit_price"},
			{map[string]any{"unit_price": 1_000_000_000, "price_uom": "MIL"}, "unit_price"},
			{map[string]any{"item_id": other}, "price_uom"},
		} {
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/order_lines/" + line, As: g.as, Body: bad.set})
			if r.Status/100 != 4 || !strings.Contains(string(r.Body), bad.field) {
				t.Errorf("PATCH %v: %d %s", bad.set, r.Status, r.Body)
			}
			row := g.lineOf(order, 2, map[string]any{"qty_ordered": 30, "unit_price": 1, "price_uom": "CS"})
			for name, v := range bad.set {
				row[name] = v
			}
			if r := k.Post(g.as, "/v1/order_lines", row); r.Status/100 != 4 || !strings.Contains(string(r.Body), bad.field) {
				t.Errorf("POST %v: %d %s", bad.set, r.Status, r.Body)
			}
		}
		missing := g.lineOf(order, 2, map[string]any{"qty_ordered": 30, "unit_price": 1, "price_uom": "CS"})
		missing["item_id"] = "0190a000-0000-7000-8000-00000000dead"
		if r := k.Post(g.as, "/v1/order_lines", missing); r.Status/100 != 4 || !strings.Contains(string(r.Body), "item_id") {
			t.Errorf("an item that is not there: %d %s", r.Status, r.Body)
		}
		if after := g.rows("order_lines?order_id=eq." + order); after != before {
			t.Errorf("the lines are\n%s, before\n%s", after, before)
		}
		g.say("cancel_order", map[string]any{"order_id": order, "reason": "Test"}, 200, nil)
		for _, set := range []map[string]any{{"unit_price": 1}, {"price_uom": "PL"}} {
			g.patched("order_lines/"+line, set, http.StatusConflict)
		}
		k.Verified(t)
	})
}

// The amounts of the lines add up to the order's total, and each is its price to the
// last decimal, whatever the lines are and whatever is done to them.
func TestAmountsAddUp(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newPriced(t, k)
		rnd := rand.New(rand.NewPCG(33, 10))
		units, factors := []string{"EA", "CS", "PL"}, []int64{1, 12, 250}
		order := k.Insert(t, g.as, "orders", map[string]any{"type": "inbound"})
		var lines []string
		for n := range 60 {
			unit, price := rnd.IntN(len(units)), decimal.Dec(rnd.Int64N(5_000_000))
			ordered := 1 + rnd.Int64N(400)
			cancelled := rnd.Int64N(ordered + 1)
			line := lineIn{g, order, n + 1, ordered, price, units[unit]}.insert()
			lines = append(lines, line)
			g.patched("order_lines/"+line, map[string]any{"qty_cancelled": cancelled}, http.StatusOK)
			g.is("order_lines?select=amount&id=eq."+line,
				fmt.Sprintf(`[{"amount":%s}]`, expectedAmount(ordered-cancelled, price, factors[unit])))
			if n%7 == 6 {
				gone := rnd.IntN(len(lines))
				k.Call(testkit.Request{Method: "DELETE", Path: "/v1/order_lines/" + lines[gone], As: g.as})
				lines = append(lines[:gone], lines[gone+1:]...)
			}
			if sum, total := g.totals(order); sum != total {
				t.Fatalf("line %d: the lines are worth %s, the order %s", n+1, sum, total)
			}
		}
		k.Verified(t)
	})
}

// lineIn is a line of an order with a price of a unit.
type lineIn struct {
	g       *goods
	order   string
	number  int
	ordered int64
	price   decimal.Dec
	unit    string
}

func (l lineIn) insert() string {
	l.g.t.Helper()
	return l.g.k.Insert(l.g.t, l.g.as, "order_lines", l.g.lineOf(l.order, l.number, map[string]any{
		"qty_ordered": l.ordered, "unit_price": l.price, "price_uom": l.unit}))
}

// expectedAmount is quantity x price / factor to four decimals, half up, by fractions.
func expectedAmount(quantity int64, price decimal.Dec, factor int64) string {
	exact := new(big.Rat).Mul(new(big.Rat).SetInt64(quantity), big.NewRat(int64(price), decimal.Scale))
	text := exact.Quo(exact, new(big.Rat).SetInt64(factor)).FloatString(decimal.Places)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
