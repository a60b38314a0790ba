package warehouse_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A shipment names its carrier by its code or its record, and has both; it asks
// for no service that the carrier does not have, and for no carrier that is gone.
func TestCarriers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		order, line := g.order(7)
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		fast := k.Insert(t, g.as, "carriers", map[string]any{"code": "FAST", "name": "Fast", "services": []string{"night"}})
		gone := k.Insert(t, g.as, "carriers", map[string]any{"code": "GONE", "name": "Gone"})
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/carriers/" + gone, As: g.as,
			Body: map[string]any{"archived_at": time.Now().UTC().Format(time.RFC3339)}}); r.Status/100 != 2 {
			t.Fatalf("archive: %d %s", r.Status, r.Body)
		}
		if r := k.Post(testkit.As(actor.Operator), "/v1/carriers",
			map[string]any{"code": "X", "name": "X"}); r.Status != 403 {
			t.Errorf("an operator makes a carrier: %d %s", r.Status, r.Body)
		}
		is := func(id, carrier, service string) {
			t.Helper()
			g.is("shipments?select=carrier,carrier_id,service&id=eq."+id, `[{"carrier":`+carrier+`,"service":`+service+`}]`)
		}
		one := g.consigned(line, 2, map[string]any{"carrier": "", "carrier_id": fast, "service": "night"})
		is(one, `"FAST","carrier_id":"`+fast+`"`, `"night"`)
		other := g.consigned(line, 2, map[string]any{"carrier": "FAST"})
		is(other, `"FAST","carrier_id":"`+fast+`"`, "null")
		is(g.consigned(line, 2, map[string]any{"carrier": "PARCEL", "service": "any"}), `"PARCEL","carrier_id":null`, `"any"`)
		for _, c := range []struct {
			set    map[string]any
			status int
			names  string
		}{
			{map[string]any{"service": "day"}, 400, "service"},
			{map[string]any{"carrier_id": gone}, 409, "carrier_id"},
			{map[string]any{"carrier": "GONE"}, 409, "carrier"},
			{map[string]any{"carrier_id": k.Foreign(t, "carriers")}, 409, "carrier_id"},
		} {
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/shipments/" + other, As: g.as, Body: c.set})
			if r.Status != c.status || !strings.Contains(string(r.Body), c.names) {
				t.Errorf("%v: %d %s, want %d and %s", c.set, r.Status, r.Body, c.status, c.names)
			}
		}
		both := map[string]any{"carrier": "PARCEL", "carrier_id": fast,
			"lines": []any{map[string]any{"order_line_id": line, "quantity": 1}}}
		if r := g.say("create_shipment", both, 400, nil); !strings.Contains(string(r.Body), "carrier_id") {
			t.Errorf("two carriers: %s", r.Body)
		}
		is(other, `"FAST","carrier_id":"`+fast+`"`, "null")
		for _, c := range []struct {
			set  map[string]any
			want string
		}{
			{map[string]any{"carrier": "PARCEL"}, `"PARCEL","carrier_id":null`},
			{map[string]any{"carrier_id": fast}, `"FAST","carrier_id":"` + fast + `"`},
			{map[string]any{"carrier": nil}, `null,"carrier_id":null`},
		} {
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/shipments/" + other, As: g.as,
				Body: c.set}); r.Status != 200 {
				t.Errorf("%v: %d %s", c.set, r.Status, r.Body)
			}
			is(other, c.want, "null")
		}
	})
}
