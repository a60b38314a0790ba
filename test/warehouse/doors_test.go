package warehouse_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// refused holds a request to a refusal with a status that names a field.
func (s *twoSites) refused(method, path string, in map[string]any, want int, field string) {
	s.t.Helper()
	r := s.k.Call(testkit.Request{Method: method, Path: "/v1/" + path, As: s.as, Body: in})
	if r.Status != want || !strings.Contains(string(r.Body), `"details":"`+field+`: `) {
		s.t.Errorf("%s %s %v: %d %s, want %d and %s", method, path, in, r.Status, r.Body, want, field)
	}
}

// Lines that are written by hand take no goods of another site than their order's and
// make no list of two sites.
func TestPickLinesByHandStayAtTheirSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		bins := map[string]string{}
		for _, place := range at {
			bins[place] = s.zone(place, "BIN", nil)
		}
		order, line := s.orderAt("HH", "outbound", 5)
		s.confirmed(order)
		list, seq := k.Insert(t, s.as, "pick_lists", map[string]any{}), 0
		row := func(place, of string) map[string]any {
			seq++
			out := map[string]any{"pick_list_id": list, "seq": seq, "zone_id": bins[place], "item_id": s.item, "qty": 1}
			if of != "" {
				out["order_line_id"] = of
			}
			return out
		}
		s.refused("POST", "pick_lines", row("B", line), 409, "zone_id")
		mine := k.Insert(t, s.as, "pick_lines", row("HH", line))
		s.refused("PATCH", "pick_lines/"+mine, map[string]any{"zone_id": bins["B"]}, 409, "zone_id")
		s.refused("POST", "pick_lines", row("B", ""), 409, "zone_id")
		bare := k.Insert(t, s.as, "pick_lines", row("", ""))
		s.refused("PATCH", "pick_lines/"+bare, map[string]any{"zone_id": bins["B"]}, 409, "zone_id")
		s.patched("pick_lines/"+bare, map[string]any{"zone_id": bins["HH"]}, 200)
		s.oneSiteEach()

		list = k.Insert(t, s.as, "pick_lists", map[string]any{})
		r := k.Post(s.as, "/v1/pick_lines", []any{row("HH", ""), row("B", "")})
		if r.Status != http.StatusConflict || !strings.Contains(string(r.Body), "zone_id") {
			t.Errorf("two sites in one request: %d %s", r.Status, r.Body)
		}
		k.Insert(t, testkit.As(actor.Admin), "settings",
			map[string]any{"section": "picking", "key": "orders_across_sites", "value": true})
		k.Insert(t, s.as, "pick_lines", row("B", line))
		s.oneSiteEach()
	})
}

// The site of an order is settled once goods are promised to it, and a task of goods at a
// site leads to no other.
func TestSitesOfWorkInHandAreKept(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		bins := map[string]string{}
		for _, place := range at {
			bins[place] = s.zone(place, "BIN", nil)
			s.stock(bins[place], 10)
		}
		other := map[string]any{"site_id": s.sites["B"]}
		sold, _ := s.orderAt("HH", "outbound", 5)
		s.patched("orders/"+sold, other, 200)
		s.confirmed(sold)
		s.refused("PATCH", "orders/"+sold, map[string]any{"site_id": s.sites["HH"]}, 409, "site_id")
		s.say("deallocate_order", map[string]any{"order_id": sold}, 200, nil)
		s.patched("orders/"+sold, map[string]any{"site_id": s.sites["HH"]}, 200)

		bought, _ := s.orderAt("HH", "inbound", 5)
		s.confirmed(bought)
		var in struct {
			Tasks []struct{ ID string } `json:"putaway_tasks"`
		}
		goods := []any{map[string]any{"item_id": s.item, "quantity": 2}}
		s.say("receive", map[string]any{"order_id": bought, "zone_id": s.docks["HH"], "lines": goods}, 200, &in)
		s.refused("PATCH", "orders/"+bought, other, 409, "site_id")

		task := "putaway_tasks/" + in.Tasks[0].ID
		s.refused("PATCH", task, map[string]any{"to_zone_id": bins["B"]}, 400, "to_zone_id")
		s.refused("PATCH", task, map[string]any{"to_zone_id": bins[""]}, 400, "to_zone_id")
		s.patched(task, map[string]any{"to_zone_id": bins["HH"]}, 200)
		foreign := k.Insert(t, s.as, "items", map[string]any{"sku": "WALL-2", "name": "Other goods"})
		s.refused("POST", "rpc/suggest_putaway",
			map[string]any{"item_id": foreign, "quantity": 1, "task_id": in.Tasks[0].ID}, 400, "task_id")
	})
}

// A line that is short of goods in a zone of no site is made up for in zones of no site:
// its list stays where it is walked.
func TestShortPickStaysOutsideSites(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		s.stock(s.zone("", "BIN", nil), 10)
		s.stock(s.zone("HH", "BIN", nil), 20)
		order, _ := s.orderAt("", "outbound", 10)
		_, picks := s.released(order)
		var out struct {
			Reallocated []struct{ ID string }
			Short       []struct {
				Quantity float64
				Why      string
			}
		}
		s.say("short_pick", map[string]any{"pick_line_id": picks[0], "found": 4, "reason": "x",
			"to_zone_id": s.lanes[""]}, 200, &out)
		if len(picks) != 1 || len(out.Reallocated) != 0 || len(out.Short) != 1 || out.Short[0].Quantity != 6 {
			t.Fatalf("%d lines, then %+v", len(picks), out)
		}
		if why := out.Short[0].Why; strings.Contains(why, "order's site") ||
			!strings.Contains(why, "no site: 20 lie elsewhere") {
			t.Errorf("why: %q", why)
		}
		s.say("allocate_order", map[string]any{"order_id": order}, 200, nil)
		s.is("orders?select=qty_allocated&id=eq."+order, `[{"qty_allocated":10}]`)
		k.Verified(t)
	})
}

// What was begun before a zone came to another site is brought to its end: a list is
// cancelled, with its goods back in their bin, and a rule is changed in what else it says.
func TestZonesThatComeToAnotherSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		bin, face := s.zone("HH", "BIN", nil), s.zone("HH", "FACE", map[string]any{"max_capacity": 100})
		s.stock(bin, 10)
		rule := "replenish_rules/" + k.Insert(t, s.as, "replenish_rules", map[string]any{"item_id": s.item,
			"pick_zone_id": face, "source_zone_id": bin, "min_qty": 1, "max_qty": 5})
		order, _ := s.orderAt("HH", "outbound", 5)
		list, picks := s.released(order)
		s.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 3}, 200, nil)
		s.patched("zones/"+bin, map[string]any{"site_id": s.sites["B"]}, 200)

		s.patched(rule, map[string]any{"max_qty": 6}, 200)
		s.refused("PATCH", rule, map[string]any{"source_zone_id": s.lanes["B"]}, 400, "source_zone_id")
		s.patched("pick_lists/"+list, map[string]any{"status": "cancelled"}, 200)
		s.is("stock_levels?select=quantity&quantity=gt.0&zone_id=eq."+bin, `[{"quantity":10}]`)
		if id := s.found(strays["goods carried to another site"] + " AND m.type = 'unpick'"); id != "" {
			t.Errorf("movement %s puts goods back at another site and is no transfer", id)
		}
		k.Verified(t)
	})
}
