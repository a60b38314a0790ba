package warehouse_test

import (
	"errors"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/store"
	"holdfast/internal/testkit"
	"holdfast/internal/warehouse"
)

// openAnswer is the answer of allocate_open.
type openAnswer struct {
	Orders []struct{ ID string }
	Looked int64 `json:"looked_at"`
	More   bool
}

// Orders that can be promised nothing do not keep those below them: goods of another site, and
// too few for a whole order or too old, are passed over, and do not count against max_orders.
func TestOrdersThatGetNothingKeepNoOther(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g, admin := newGoods(t, k, map[string]any{}), testkit.As(actor.Admin)
		hamburg := k.Insert(t, admin, "sites", map[string]any{"code": "ARR-HH", "name": "Hamburg"})
		berlin := k.Insert(t, admin, "sites", map[string]any{"code": "ARR-B", "name": "Berlin"})
		bin := k.Insert(t, g.as, "zones", map[string]any{"code": "ARR-BIN", "name": "Bin", "site_id": berlin})
		set(t, k, "allow_partial_allocation", false)
		_, far := g.waitingOrder(map[string]any{"site_id": hamburg, "priority": 1}, 5)
		_, large := g.waitingOrder(map[string]any{"site_id": berlin, "priority": 2}, 50)
		first, fits := g.waitingOrder(map[string]any{"site_id": berlin, "priority": 3}, 5)
		_, also := g.waitingOrder(map[string]any{"site_id": berlin, "priority": 4}, 5)
		k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
			"quantity": 12})

		for _, c := range []struct {
			name   string
			orders int
			looked int64
			more   bool
			has    string
		}{
			{"the large one gets nothing, the next its goods", 1, 2, true, "0 0 5 0"},
			{"the last", 1, 2, false, "0 0 5 5"},
			{"2 are left for the large one, in vain", 0, 1, false, "0 0 5 5"},
		} {
			var out openAnswer
			g.say("allocate_open", map[string]any{"max_orders": 1}, 200, &out)
			if len(out.Orders) != c.orders || out.Looked != c.looked || out.More != c.more {
				t.Errorf("%s: %+v", c.name, out)
			}
			if got := g.has(far, large, fits, also); got != c.has {
				t.Errorf("%s: promised %s, want %s", c.name, got, c.has)
			}
		}

		var out openAnswer
		k.Insert(t, admin, "settings", map[string]any{"section": "picking", "key": "orders_across_sites",
			"value": true})
		g.say("deallocate_order", map[string]any{"order_id": first}, 200, nil)
		g.say("allocate_open", map[string]any{}, 200, &out)
		if got := g.has(far, large, fits, also); got != "5 0 0 5" {
			t.Errorf("orders go across sites: %s, %+v", got, out)
		}
		k.Verified(t)
	})
}

// Of orders that are promised goods together, one that fails keeps no other from its goods.
func TestAnOrderThatFailsKeepsNoOther(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"reorder_point": 10})
		other := k.Insert(t, g.as, "items", map[string]any{"sku": "G-2", "name": "Other goods"})
		_, fails := g.waitingOrder(map[string]any{"priority": 1}, 5)
		order := k.Insert(t, g.as, "orders", map[string]any{"party_name": "Waits", "priority": 2})
		line := k.Insert(t, g.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": other,
			"qty_ordered": 5})
		g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		bin := k.Insert(t, g.as, "zones", map[string]any{"code": "ARR-BIN", "name": "Bin"})
		for _, item := range []string{g.item, other} {
			k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": item, "to_zone_id": bin,
				"quantity": 12})
		}

		broken := errors.New("the one who is told of low stock is away")
		watch := warehouse.Watch{LowStock: func(*store.Tx, []string) error { return broken }}
		err := watch.AllocateArrived(t.Context(), k.App.Store, demo.North)
		if !errors.Is(err, broken) {
			t.Errorf("the error: %v", err)
		}
		if got := g.has(fails, line); got != "0 5" {
			t.Errorf("promised: %s", got)
		}
		doArrivals(t, k)
		if got := g.has(fails, line); got != "5 5" {
			t.Errorf("promised by the next job: %s", got)
		}
		k.Verified(t)
	})
}

// What makes goods free that were there already asks for the allocation of orders, too: they are
// carried out of quarantine, their lot is released, their zone is opened.
func TestGoodsThatAreFreedAreArrivals(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot"})
		zone := func(code, kind string) string {
			return k.Insert(t, g.as, "zones", map[string]any{"code": code, "name": code, "kind": kind})
		}
		barred, bin, shut := zone("ARR-Q", "quarantine"), zone("ARR-BIN", "bin"), zone("ARR-SHUT", "bin")
		good, held := g.lot("L-1", 900, "released"), g.lot("L-2", 900, "quarantine")
		receive := func(zone, lot string) {
			t.Helper()
			k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "lot_id": lot,
				"to_zone_id": zone, "quantity": 3})
		}
		receive(barred, good)
		receive(bin, held)
		receive(shut, good)
		g.patched("zones?id=eq."+shut, map[string]any{"status": "blocked"}, 204)
		_, line := g.waitingOrder(map[string]any{}, 20)
		doArrivals(t, k)
		for _, c := range []struct {
			name string
			does func()
			has  string
		}{
			{"carried out of quarantine", func() {
				g.say("move_stock", map[string]any{"item_id": g.item, "lot_id": good, "from_zone_id": barred,
					"to_zone_id": bin, "quantity": 3}, 200, nil)
			}, "3"},
			{"released", func() { g.patched("lots?id=eq."+held, map[string]any{"status": "released"}, 204) }, "6"},
			{"opened", func() { g.patched("zones?id=eq."+shut, map[string]any{"status": "active"}, 204) }, "9"},
		} {
			c.does()
			if jobs := doArrivals(t, k); jobs != 1 || g.has(line) != c.has {
				t.Errorf("%s: %d jobs, promised %s, want %s", c.name, jobs, g.has(line), c.has)
			}
		}
		k.Verified(t)
	})
}
