package functions_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/store"
)

// Each figure of the overview is the one that the function for it tells, to
// each role of the site, and its lists show what the caller's collections
// would.
func TestOverviewTellsTheFiguresOfTheOthers(t *testing.T) {
	same := []struct{ member, function, params, of string }{
		{"inventory.metrics", "get-dashboard-snapshot-v2", "lightweight=true", "inventory.metrics"},
		{"inventory.health.score", "admin-dashboard-summary", "", "inventory.health.score"},
		{"inventory.health.items", "admin-dashboard-summary", "", "inventory.health.items"},
		{"orders.open", "get-dashboard-snapshot-v2", "lightweight=true", "orders.open"},
		{"orders.late", "get-dashboard-snapshot-v2", "lightweight=true", "orders.late"},
		{"pick_lists.active", "get-dashboard-snapshot-v2", "lightweight=true", "pick_lists.active"},
		{"shipments", "admin-dashboard-summary", "", "shipments.stats"},
		{"zones.total", "get-dashboard-snapshot-v2", "lightweight=true", "zones.total"},
		{"safety.kpis", "safety-kpis", "days=30", "kpis"},
		{"safety.date_range_days", "safety-kpis", "days=30", "date_range_days"},
		{"safety.by_category", "safety-kpis", "days=30", "distribution.by_category"},
		{"safety.metrics", "get-dashboard-snapshot-v2", "", "safety.metrics"},
	}
	each(t, func(k *kit) {
		fill(k)
		k.add("incidents", store.Row{"kind": "hazard", "title": "mine", "occurred_at": "2026-02-01T00:00:00Z",
			"reported_by": ada})
		for _, role := range []actor.Role{actor.Owner, actor.Manager, actor.Safety, actor.Viewer} {
			k.as = actor.Actor{UserID: bo, TenantID: north, Role: role}
			n := k.call("site-overview", "")
			for _, c := range same {
				want, err := json.Marshal(k.call(c.function, c.params).at(c.of))
				if err != nil {
					k.Fatal(err)
				}
				n.is(c.member, string(want))
			}
			first := n.at("safety.recent_incidents.0").(map[string]any)
			if _, shown := first["reported_by"]; shown == (role == actor.Viewer) {
				k.Errorf("%s sees who reported: %v", role, shown)
			}
			n.is("safety.recent_incidents.0.title", `"mine"`)
		}
	})
}

// The lists of the overview hold what wants somebody: promises that are past,
// the oldest first, and the bins that are filled most.
func TestOverviewListsWhatWaits(t *testing.T) {
	each(t, func(k *kit) {
		fill(k)
		item := k.add("items", store.Row{"sku": "LATE", "name": "Late"})
		confirm := func(kind, number, promised string) {
			id := k.add("orders", store.Row{"type": kind, "order_no": number, "promised_at": promised + "T08:00:00Z"})
			k.add("order_lines", store.Row{"order_id": id, "line_no": int64(1), "item_id": item, "qty_ordered": "5"})
			k.set("orders", id, store.Row{"status": "confirmed"})
		}
		for i, promised := range []string{"2026-02-03", "2026-02-01", "2026-04-01", "2026-02-02"} {
			confirm("outbound", fmt.Sprint("LATE-", i), promised)
		}
		confirm("inbound", "LATE-IN", "2026-01-01")
		k.as = manager()
		n := k.call("site-overview", "")
		var late []string
		for _, o := range n.at("orders.late_orders").([]any) {
			late = append(late, o.(map[string]any)["order_no"].(string))
		}
		if got, want := fmt.Sprint(late), "[LATE-1 LATE-3 LATE-0]"; got != want {
			k.Errorf("late orders are %s, want %s", got, want)
		}
		last := 1e9
		for _, z := range n.at("zones.fullest").([]any) {
			z := z.(map[string]any)
			if full := z["utilization"].(float64); z["kind"] != "bin" || full > last {
				k.Errorf("zone %v of kind %v is filled by %v after %v", z["code"], z["kind"], full, last)
			} else {
				last = full
			}
		}
	})
}
