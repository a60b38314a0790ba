package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/testkit"
)

// A shipment that is sent off and delivered by its state is held to what the verbs
// hold it to, and takes its order along as they do.
func TestShipmentsByState(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 4, "")
		order, line := g.order(4)
		_, picks := g.released(order)
		sh := g.consigned(line, 4, nil)
		to := func(status string, want int, text string) {
			t.Helper()
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/shipments/" + sh, As: g.as,
				Body: map[string]any{"status": status}})
			if r.Status != want || !strings.Contains(string(r.Body), text) {
				t.Errorf("%s: %d %s, want %d and %q", status, r.Status, r.Body, want, text)
			}
		}
		to("in_transit", 409, "does not go from")
		to("packed", 409, "0 of 4 are picked")
		g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4, "to_zone_id": g.lane}, 200, nil)
		to("packed", 409, "0 of 4 are packed")
		g.packed1(order, line, 4)
		to("in_transit", 200, "")
		g.is("orders?select=status,stage,qty_shipped&id=eq."+order,
			`[{"status":"completed","stage":"shipped","qty_shipped":4}]`)
		g.is("items?select=on_hand,available&id=eq."+g.item, `[{"on_hand":0,"available":0}]`)
		to("delivered", 200, "")
		g.is("orders?select=stage&id=eq."+order, `[{"stage":"delivered"}]`)
		to("in_transit", 409, "")
		k.Verified(t)
	})
}

// A verb is one of the tenant's writes, whatever it writes: here the picks of
// thirty lines in one list.
func TestVerbsAreOneWrite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 200, "")
		order, _ := g.order(1)
		var more []map[string]any
		for i := range 29 {
			more = append(more, map[string]any{"order_id": order, "line_no": i + 2, "item_id": g.item, "qty_ordered": 1})
		}
		if r := k.Post(g.as, "/v1/order_lines", more); r.Status != 201 {
			t.Fatalf("the lines: %d %s", r.Status, r.Body)
		}
		left := func() int {
			var s struct {
				Window struct{ Remaining int } `json:"database_write"`
			}
			k.Get(g.as, "/v1/rate-limit/status").JSON(t, &s)
			return s.Window.Remaining
		}
		once := func(verb string, in map[string]any) {
			t.Helper()
			had := left()
			g.say(verb, in, 200, nil)
			if n := had - left(); n > 1 { // less, when earlier writes leave the window meanwhile
				t.Errorf("%s of thirty lines used %d of the database writes, want one", verb, n)
			}
		}
		once("confirm_order", map[string]any{"order_id": order})
		once("release_picks", map[string]any{"order_ids": []string{order}})
		if n := k.Counted(t, "pick_lines l WHERE l.item_id = '"+g.item+"'"); n != 30 {
			t.Errorf("%d pick lines, want 30", n)
		}
		k.Verified(t)
	}, testkit.Limited)
}
