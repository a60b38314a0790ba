package warehouse_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/app"
	"holdfast/internal/testkit"
	"holdfast/internal/warehouse/arrivals"
)

// waitingOrder makes a confirmed order for which there is nothing yet.
func (g *goods) waitingOrder(order map[string]any, quantity float64) (id, line string) {
	g.t.Helper()
	order["party_name"] = "Waits"
	id = g.k.Insert(g.t, g.as, "orders", order)
	line = g.k.Insert(g.t, g.as, "order_lines", map[string]any{"order_id": id, "line_no": 1, "item_id": g.item,
		"qty_ordered": quantity})
	g.say("confirm_order", map[string]any{"order_id": id}, 200, nil)
	return id, line
}

// has is what lines of orders were promised, in their order.
func (g *goods) has(lines ...string) string {
	g.t.Helper()
	var out []string
	for _, line := range lines {
		rows := testkit.List[struct {
			Allocated float64 `json:"qty_allocated"`
		}](g.t, g.k, g.as, "order_lines?select=qty_allocated&id=eq."+line)
		out = append(out, fmt.Sprint(rows[0].Allocated))
	}
	return strings.Join(out, " ")
}

// doArrivals has the job done that goods which arrived have asked for.
func doArrivals(t *testing.T, k *testkit.Kit) (jobs int) {
	t.Helper()
	jobs, err := app.RunJobs(t.Context(), k.App, arrivals.Job)
	testkit.Must(t, err)
	return jobs
}

// Goods that arrive are promised to the orders that wait: the most urgent first, of these what
// is promised first, whichever was made first; by the job, and by allocate_open.
func TestArrivalsArePromisedByPriority(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		doArrivals(t, k)
		_, late := g.waitingOrder(map[string]any{"priority": 4}, 5)
		_, soon := g.waitingOrder(map[string]any{"priority": 2, "promised_at": "2031-01-02T00:00:00Z"}, 5)
		_, sooner := g.waitingOrder(map[string]any{"priority": 2, "promised_at": "2031-01-01T00:00:00Z"}, 5)
		_, urgent := g.waitingOrder(map[string]any{"priority": 1}, 5)
		held, heldLine := g.waitingOrder(map[string]any{"priority": 1}, 5)
		g.say("hold_order", map[string]any{"order_id": held, "reason": "unpaid"}, 200, nil)

		dock := k.Insert(t, g.as, "zones", map[string]any{"code": "G-DOCK", "name": "Dock", "kind": "dock"})
		receive := func(quantity float64) {
			t.Helper()
			k.Say(t, testkit.As(actor.Operator), "receive", map[string]any{"zone_id": dock,
				"lines": []any{map[string]any{"item_id": g.item, "quantity": quantity}}}, 200, nil)
		}
		receive(12)
		receive(1)
		if got := g.has(urgent, sooner, soon, late, heldLine); got != "0 0 0 0 0" {
			t.Errorf("before the job: %s", got)
		}
		if jobs := doArrivals(t, k); jobs != 1 {
			t.Errorf("two receipts at once asked for %d jobs", jobs)
		}
		if got := g.has(urgent, sooner, soon, late, heldLine); got != "5 5 3 0 0" {
			t.Errorf("of 13: %s", got)
		}
		g.say("adjust_stock", map[string]any{"item_id": g.item, "zone_id": dock, "quantity": 4, "reason_code": "found"},
			200, nil)
		if jobs := doArrivals(t, k); jobs != 0 || g.has(soon, late) != "3 0" {
			t.Errorf("a correction is no arrival: %d jobs, %s", jobs, g.has(soon, late))
		}

		var out struct {
			Orders       []struct{ ID string }
			Reservations []struct {
				Line     string  `json:"order_line_id"`
				Quantity float64 `json:"quantity"`
			}
			Short []struct {
				Line     string `json:"order_line_id"`
				Quantity float64
			}
			More bool
		}
		g.say("allocate_open", map[string]any{"max_orders": 1}, 200, &out)
		if len(out.Orders) != 1 || !out.More || len(out.Reservations) != 1 || out.Reservations[0].Line != soon ||
			out.Reservations[0].Quantity != 2 {
			t.Errorf("one order at most: %+v", out)
		}
		g.say("allocate_open", map[string]any{}, 200, &out)
		if len(out.Orders) != 1 || out.More || out.Reservations[0].Line != late || out.Reservations[0].Quantity != 2 ||
			len(out.Short) != 1 || out.Short[0].Quantity != 3 {
			t.Errorf("the rest: %+v", out)
		}
		g.say("allocate_open", map[string]any{}, 200, &out)
		if len(out.Orders)+len(out.Reservations) > 0 {
			t.Errorf("nothing is free: %+v", out)
		}
		if got := g.has(urgent, sooner, soon, late, heldLine); got != "5 5 5 2 0" {
			t.Errorf("of 17: %s", got)
		}
		k.Verified(t)
	})
}

// What has to do with sites, owners and settings holds of goods that arrive, too, and what no
// order may take is promised to none.
func TestArrivalsKeepToTheirOrders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		admin := testkit.As(actor.Admin)
		site := func(code string) string {
			return k.Insert(t, admin, "sites", map[string]any{"code": code, "name": code})
		}
		hamburg, berlin := site("ARR-HH"), site("ARR-B")
		client := k.Insert(t, g.as, "goods_owners", map[string]any{"code": "ARR", "name": "Client"})
		_, north := g.waitingOrder(map[string]any{"site_id": hamburg, "priority": 1}, 5)
		_, south := g.waitingOrder(map[string]any{"site_id": berlin, "priority": 3}, 5)
		_, theirs := g.waitingOrder(map[string]any{"site_id": berlin, "priority": 1, "owner_id": client}, 5)
		bin := k.Insert(t, g.as, "zones", map[string]any{"code": "ARR-BIN", "name": "Bin", "site_id": berlin})
		doArrivals(t, k)

		arrive := func(quantity float64, owner any) {
			t.Helper()
			k.Insert(t, g.as, "stock_movements", map[string]any{"type": "receipt", "item_id": g.item, "to_zone_id": bin,
				"quantity": quantity, "owner_id": owner})
		}
		arrive(3, nil)
		arrive(2, client)
		set(t, k, "allow_partial_allocation", false)
		doArrivals(t, k)
		if got := g.has(north, south, theirs); got != "0 0 0" {
			t.Errorf("whole orders or none: %s", got)
		}
		set(t, k, "allow_partial_allocation", true)
		k.Insert(t, admin, "settings", map[string]any{"section": "picking", "key": "allocate_arrivals", "value": false})
		arrive(1, nil)
		doArrivals(t, k)
		if got := g.has(north, south, theirs); got != "0 0 0" {
			t.Errorf("by hand: %s", got)
		}
		set(t, k, "allocate_arrivals", true)
		arrive(1, client)
		doArrivals(t, k)
		if got := g.has(north, south, theirs); got != "0 4 3" {
			t.Errorf("of 4 in Berlin and 3 of the client's: %s", got)
		}

		arrive(1, nil)
		g.say("allocate_open", map[string]any{"site_id": hamburg}, 200, nil)
		if got := g.has(north, south); got != "0 4" {
			t.Errorf("orders of Hamburg alone: %s", got)
		}
		g.say("allocate_open", map[string]any{"site_id": berlin}, 200, nil)
		if got := g.has(north, south); got != "0 5" {
			t.Errorf("orders of Berlin: %s", got)
		}
		refused(t, g.say("allocate_open", map[string]any{"site_id": k.Foreign(t, "sites")}, 404, nil), "site_id")
		refused(t, g.say("allocate_open", map[string]any{"max_orders": 0}, 400, nil), "max_orders")
		refused(t, k.Say(t, testkit.As(actor.Operator), "allocate_open", map[string]any{}, 403, nil), "42501")
		k.Verified(t)
	})
}
