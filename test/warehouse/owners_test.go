package warehouse_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Goods of a client are records of their own: an order is promised its owner's
// stock and nobody else's, whose it takes is settled when it is confirmed, and an
// owner stays while goods of his are here.
func TestGoodsOwners(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		g := newGoods(t, k, map[string]any{})
		client := func(code string) string {
			return k.Insert(t, m, "goods_owners", map[string]any{"code": code, "name": code, "billing_ref": "B-" + code})
		}
		acme, bolt := client("ACME"), client("BOLT")
		bin := k.Insert(t, m, "zones", map[string]any{"code": "G-OWN", "name": "Bin"})
		for owner, q := range map[string]float64{acme: 10, bolt: 4, "": 50} {
			more := map[string]any{"type": "receipt"}
			if owner != "" {
				more["owner_id"] = owner
			}
			stock(t, k, g.item, bin, q, more)
		}
		order := func(owner string, q float64) (id, line string) {
			in := map[string]any{"party_name": "Customer"}
			if owner != "" {
				in["owner_id"] = owner
			}
			id = k.Insert(t, m, "orders", in)
			return id, k.Insert(t, m, "order_lines", map[string]any{"order_id": id, "line_no": 1, "item_id": g.item,
				"qty_ordered": q})
		}
		for _, c := range []struct {
			owner     string
			asks      float64
			gets, has string
		}{{bolt, 6, "4", `"` + bolt + `"`}, {acme, 7, "7", `"` + acme + `"`}, {"", 20, "20", "null"}} {
			id, line := order(c.owner, c.asks)
			g.say("confirm_order", map[string]any{"order_id": id}, 200, nil)
			g.is("reservations?select=owner_id,quantity&state=eq.active&order_line_id=eq."+line,
				`[{"owner_id":`+c.has+`,"quantity":`+c.gets+`}]`)
		}
		take := map[string]any{"item_id": g.item, "from_zone_id": bin, "to_zone_id": g.lane, "quantity": 1}
		single := k.Insert(t, m, "zones", map[string]any{"code": "G-ACME", "name": "Bin of one owner"})
		stock(t, k, g.item, single, 5, map[string]any{"owner_id": acme})
		for _, other := range []string{"", bolt} {
			in := map[string]any{"item_id": g.item, "from_zone_id": single, "to_zone_id": g.lane, "quantity": 1}
			cut := map[string]any{"item_id": g.item, "zone_id": single, "quantity": -1, "reason_code": "damage"}
			away := map[string]any{"item_id": g.item, "from_zone_id": single, "to_zone_id": bin, "quantity": 1}
			if other != "" {
				in["owner_id"], cut["owner_id"], away["owner_id"] = other, other, other
			}
			refusedWith(t, k, m, "move_stock", "HF026", 409, in)
			refusedWith(t, k, m, "adjust_stock", "HF026", 409, cut)
			refusedWith(t, k, m, "put_away", "HF026", 409, away)
			in["owner_id"], cut["owner_id"], away["owner_id"] = acme, acme, acme
			if other == bolt {
				g.say("move_stock", in, 200, nil)
				g.say("adjust_stock", cut, 200, nil)
				g.say("put_away", away, 200, nil)
			}
		}
		take["owner_id"] = foreignOf(t, k)
		refusedWith(t, k, m, "move_stock", "owner_id", 404, take)
		g.is("stock_levels?select=quantity,goods_owners(code)&zone_id=eq."+single,
			`[{"quantity":2,"goods_owners":{"code":"ACME"}}]`)
		g.say("move_stock", map[string]any{"item_id": g.item, "owner_id": acme, "from_zone_id": g.lane, "to_zone_id": single,
			"quantity": 1}, 200, nil)
		id, _ := order(acme, 3)
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/orders/" + id, As: m,
			Body: []byte(`{"owner_id":"` + bolt + `"}`)}); r.Status != 200 {
			t.Errorf("the owner of a draft: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/orders/" + id, As: m,
			Body: []byte(`{"owner_id":"` + acme + `"}`)}); r.Status != 200 {
			t.Errorf("the owner of a draft: %d %s", r.Status, r.Body)
		}
		list, lines := g.released(id)
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/orders/" + id, As: m,
			Body: []byte(`{"owner_id":"` + bolt + `"}`)}); r.Status != 409 ||
			!strings.Contains(string(r.Body), "HF004") {
			t.Errorf("the owner of a confirmed order: %d %s", r.Status, r.Body)
		}
		if list == "" || len(lines) != 1 {
			t.Fatalf("released: %v", lines)
		}
		g.say("pick_line", map[string]any{"pick_line_id": lines[0], "quantity": 3, "to_zone_id": g.lane}, 200, nil)
		g.is("stock_levels?select=quantity,goods_owners(code)&zone_id=eq."+g.lane,
			`[{"quantity":3,"goods_owners":{"code":"ACME"}}]`)
		k.Verified(t)
		if r := k.Post(m, "/v1/orders", map[string]any{"owner_id": g.item}); r.Status/100 != 4 ||
			!strings.Contains(string(r.Body), "owner_id") {
			t.Errorf("an order of nobody's: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/goods_owners/" + acme, As: m}); r.Status != 409 {
			t.Errorf("an owner whose goods are here is deleted: %d %s", r.Status, r.Body)
		}
	})
}
