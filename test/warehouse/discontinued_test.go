package warehouse_test

import (
	"net/http"
	"testing"

	"holdfast/internal/testkit"
)

// What is left of a discontinued item is sold and comes back; more of it is neither
// bought nor received, by order, without one or by hand.
func TestRestOfDiscontinuedItem(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		bin := g.bin("G-A", 5, "")
		bought, _ := confirmed(t, k, "inbound", g.item, 10, nil)
		planned := k.Insert(t, g.as, "orders", map[string]any{"type": "inbound"})
		k.Insert(t, g.as, "order_lines",
			map[string]any{"order_id": planned, "line_no": 1, "item_id": g.item, "qty_ordered": 1})
		tooMany := k.Insert(t, g.as, "orders", map[string]any{"type": "outbound"})
		for no := range 2 { // each line has enough, both have not
			k.Insert(t, g.as, "order_lines", map[string]any{"order_id": tooMany, "line_no": no + 1, "item_id": g.item,
				"qty_ordered": 3})
		}
		patch := func(status string) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/items?id=eq." + g.item, As: g.as,
				Body: map[string]any{"status": status}}); r.Status >= 300 {
				t.Fatalf("%s: %d %s", status, r.Status, r.Body)
			}
		}
		sold, soldLine := confirmed(t, k, "outbound", g.item, 1, nil)
		g.say("deallocate_order", map[string]any{"order_id": sold}, 200, nil)
		var first, second string
		for _, id := range []*string{&first, &second} {
			*id = k.Insert(t, g.as, "orders", map[string]any{"type": "outbound"})
			k.Insert(t, g.as, "order_lines", map[string]any{"order_id": *id, "line_no": 1, "item_id": g.item, "qty_ordered": 3})
		}
		patch("discontinued")

		refused(t, g.say("confirm_order", map[string]any{"order_id": tooMany}, 409, nil), "HF006", "only 5 of it is left")
		refused(t, g.say("confirm_order", map[string]any{"order_id": planned}, 409, nil), "HF006", "discontinued", "order_id")
		both := "/v1/orders?id=in.(" + first + "," + second + ")"
		if r := k.Call(testkit.Request{Method: http.MethodPatch, Path: both, As: g.as,
			Body: map[string]any{"status": "confirmed"}}); r.Status != 409 {
			t.Errorf("two orders of 3 are confirmed together where 5 are left: %d %s", r.Status, r.Body)
		}
		more := map[string]any{"order_id": bought, "line_no": 9, "item_id": g.item, "qty_ordered": 1}
		refused(t, k.Post(g.as, "/v1/order_lines", more), "HF006", "discontinued")
		refused(t, k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/order_lines?id=eq." + soldLine, As: g.as,
			Body: map[string]any{"qty_ordered": 7}}), "HF006", "only 5 of it is left")

		line := map[string]any{"item_id": g.item, "quantity": 1}
		for _, in := range []map[string]any{
			{"zone_id": g.lane, "order_id": bought, "lines": []any{line}},
			{"zone_id": g.lane, "lines": []any{line}},
		} {
			refused(t, g.say("receive", in, 409, nil), "HF006", "discontinued", "lines[0].item_id")
		}
		byHand := map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin, "quantity": 1}
		if r := k.Post(g.as, "/v1/stock_movements", byHand); r.Status != 409 {
			t.Errorf("a receipt by hand: %d %s", r.Status, r.Body)
		}

		g.sellPieces(5)
		back, open := confirmed(t, k, "return", g.item, 2, nil)
		restocked := []any{g.comingBack(open, 1, "restock", nil)}
		g.say("receive_return", map[string]any{"order_id": back, "lines": restocked}, 200, nil)
		g.say("receive", map[string]any{"zone_id": g.lane, "order_id": back, "lines": []any{line}}, 200, nil)
		g.is("items?select=on_hand&id=eq."+g.item, `[{"on_hand":2}]`)

		patch("active")
		g.say("receive", map[string]any{"zone_id": g.lane, "order_id": bought, "lines": []any{line}}, 200, nil)
		k.Verified(t)
	})
}

// Of orders that are confirmed at once for what is left of a discontinued item, no more are
// taken than there is for.
func TestRestIsPromisedOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 5, "")
		orders := make([]string, 6)
		for i := range orders {
			orders[i] = k.Insert(t, g.as, "orders", map[string]any{"type": "outbound"})
			k.Insert(t, g.as, "order_lines",
				map[string]any{"order_id": orders[i], "line_no": 1, "item_id": g.item, "qty_ordered": 3})
		}
		if r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/items?id=eq." + g.item, As: g.as,
			Body: map[string]any{"status": "discontinued"}}); r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}

		k.Token(g.as)
		statuses := make(chan int, len(orders))
		for _, id := range orders {
			go func() {
				q := testkit.Request{Method: http.MethodPost, Path: "/v1/rpc/confirm_order", As: g.as,
					Body: map[string]any{"order_id": id}}
				statuses <- k.Call(q).Status
			}()
		}
		answered := map[int]int{}
		for range orders {
			answered[<-statuses]++
		}
		if answered[200] != 1 || answered[409] != len(orders)-1 {
			t.Errorf("answers by status: %v", answered)
		}
		k.Verified(t)
	})
}
