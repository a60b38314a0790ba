package warehouse_test

import (
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A plate with goods that are promised stays where orders may take them; without, it goes to any
// place.
func TestPromisedPlatesStayOutOfQuarantine(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, op := newGoods(t, k, map[string]any{}), testkit.As(actor.Operator)
		zone := func(code, kind string) string {
			return k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code, "kind": kind})
		}
		bin, barred := zone("PL-BIN", "bin"), zone("PL-Q", "quarantine")
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
			"quantity": 9, "lpn": "P-1"})
		order, line := g.waitingOrder(map[string]any{}, 5)
		if got := g.has(line); got != "5" {
			t.Fatalf("promised: %s", got)
		}

		carry := map[string]any{"lpn": "P-1", "to_zone_id": barred}
		refused(t, k.Say(t, op, "move_plate", carry, 409, nil), "HF004", "5 on plate P-1", "PL-Q", "quarantine",
			"deallocate_order", "to_zone_id")
		if got := g.onPlate("P-1"); got != "PL-BIN 9/5 G-1;" {
			t.Errorf("refused: %s", got)
		}
		g.say("deallocate_order", map[string]any{"order_id": order}, 200, nil)
		k.Say(t, op, "move_plate", carry, 200, nil)
		if got := g.onPlate("P-1"); got != "PL-Q 9/0 G-1;" {
			t.Errorf("without promises: %s", got)
		}
		k.Verified(t)
	})
}

// A count says what somebody saw: goods of a plate are counted in another zone than booked.
func TestPlatesAreCountedWhereTheyAreFound(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		zone := func(code, kind string) string {
			return k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code, "kind": kind})
		}
		dock, bin := zone("PL-DOCK", "dock"), zone("PL-BIN", "bin")
		g.say("receive", map[string]any{"zone_id": dock,
			"lines": []any{map[string]any{"item_id": g.item, "quantity": 9, "lpn": "P-1"}}}, 200, nil)
		count := func(zone string, counted float64) {
			t.Helper()
			k.Insert(t, g.as, "stock_counts", map[string]any{"zone_id": zone, "item_id": g.item, "lpn": "P-1",
				"counted": counted})
		}
		count(bin, 8)
		count(dock, 0)
		if got := g.onPlate("P-1"); got != "PL-BIN 8/0 G-1;" {
			t.Errorf("counted: %s", got)
		}
		k.Verified(t)
	})
}

// What a shipment is told to do next is of its direction.
func TestShipmentsAreToldTheirWay(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		for _, c := range []struct{ direction, status, says string }{
			{"inbound", "packed", "arrived"},
			{"outbound", "in_transit", "dispatch"},
		} {
			id := k.Insert(t, as, "shipments", map[string]any{"direction": c.direction})
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/shipments?id=eq." + id, As: as,
				Body: map[string]any{"status": c.status}})
			if r.Status != 409 {
				t.Errorf("%s to %s: %d", c.direction, c.status, r.Status)
			}
			refused(t, r, "HF001", c.direction, c.says)
		}
	})
}
