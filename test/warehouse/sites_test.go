package warehouse_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// twoSites is goods at a site in Hamburg, one in Berlin and in zones of no site.
type twoSites struct {
	*goods
	sites, docks, lanes map[string]string // by HH, B and "" for none
}

// at are the places of twoSites.
var at = []string{"HH", "B", ""}

func newTwoSites(t *testing.T, k *testkit.Kit, item map[string]any) *twoSites {
	t.Helper()
	s := &twoSites{goods: newGoods(t, k, item), sites: map[string]string{}, docks: map[string]string{},
		lanes: map[string]string{}}
	for _, code := range at {
		if code != "" {
			s.sites[code] = k.Insert(t, testkit.As(actor.Admin), "sites", map[string]any{"code": "S-" + code, "name": code})
		}
		s.docks[code] = s.zone(code, "DOCK", map[string]any{"kind": "dock"})
		s.lanes[code] = s.zone(code, "LANE", map[string]any{"kind": "staging"})
	}
	return s
}

// zone makes a zone at a place.
func (s *twoSites) zone(place, name string, more map[string]any) string {
	s.t.Helper()
	row := map[string]any{"code": name + "-" + place + ".", "name": name}
	if place != "" {
		row["site_id"] = s.sites[place]
	}
	for n, v := range more {
		row[n] = v
	}
	return s.k.Insert(s.t, s.as, "zones", row)
}

// stock puts goods into a zone.
func (s *twoSites) stock(zone string, q float64) {
	s.t.Helper()
	s.k.Insert(s.t, s.as, "stock_movements", map[string]any{"type": "receipt", "item_id": s.item, "to_zone_id": zone,
		"quantity": q})
}

// What comes in at a site is put away there: in no suggestion, no task and no
// movement does it go to another site. Zones of no site are a place of their own.
func TestPutAwayStaysAtItsSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		bins := map[string]string{}
		for i, place := range at {
			bins[place] = s.zone(place, "BIN", map[string]any{"max_capacity": 100, "x": 10 * i})
		}
		for _, place := range at {
			var suggested struct {
				Zones []struct{ Zone struct{ ID string } }
			}
			s.say("suggest_putaway", map[string]any{"item_id": s.item, "quantity": 3, "from_zone_id": s.docks[place]}, 200,
				&suggested)
			if len(suggested.Zones) != 1 || suggested.Zones[0].Zone.ID != bins[place] {
				t.Errorf("from the dock of %q: %+v, want %s alone", place, suggested.Zones, bins[place])
			}
			var in struct {
				Tasks []struct {
					ID string
					To string `json:"to_zone_id"`
				} `json:"putaway_tasks"`
			}
			s.say("receive", map[string]any{"zone_id": s.docks[place],
				"lines": []any{map[string]any{"item_id": s.item, "quantity": 3}}}, 200, &in)
			if len(in.Tasks) != 1 || in.Tasks[0].To != bins[place] {
				t.Fatalf("received at %q: %+v", place, in.Tasks)
			}
			for _, other := range at {
				loose := map[string]any{"item_id": s.item, "from_zone_id": s.docks[place], "quantity": 1, "to_zone_id": bins[other]}
				task := map[string]any{"task_id": in.Tasks[0].ID, "quantity": 1, "to_zone_id": bins[other]}
				moved := map[string]any{"type": "putaway", "item_id": s.item, "from_zone_id": s.docks[place],
					"to_zone_id": bins[other], "quantity": 1}
				if other == place {
					s.say("put_away", task, 200, nil)
					s.say("put_away", loose, 200, nil)
					continue
				}
				for _, r := range []testkit.Response{s.say("put_away", task, 400, nil), s.say("put_away", loose, 400, nil),
					k.Post(s.as, "/v1/stock_movements", moved)} {
					if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "to_zone_id") ||
						!strings.Contains(string(r.Body), "another site") {
						t.Errorf("from %q to %q: %d %s", place, other, r.Status, r.Body)
					}
				}
			}
		}
		inner := k.Insert(t, s.as, "zones", map[string]any{"code": "INNER", "name": "Inner", "parent_id": bins["HH"]})
		s.is("zones?select=site_id&id=eq."+inner, `[{"site_id":"`+s.sites["HH"]+`"}]`)
		s.say("move_stock", map[string]any{"item_id": s.item, "from_zone_id": bins["B"], "to_zone_id": bins[""],
			"quantity": 1}, 200, nil)
		k.Verified(t)
	})
}

// A pick zone is filled up from reserves of its site alone, by plans and by movements.
func TestReplenishmentStaysAtItsSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		reserves := map[string]string{}
		for _, place := range at {
			reserves[place] = s.zone(place, "RESERVE", nil)
			s.stock(reserves[place], 10)
		}
		for _, place := range at {
			face := s.zone(place, "FACE", map[string]any{"max_capacity": 100})
			rule := k.Insert(t, s.as, "replenish_rules", map[string]any{"item_id": s.item, "pick_zone_id": face, "min_qty": 5,
				"max_qty": 25})
			var out struct {
				Tasks []struct{ Quantity float64 }
				Short []struct{ Quantity float64 }
			}
			s.say("plan_replenishment", map[string]any{"rule_ids": []string{rule}}, 200, &out)
			if got := fmt.Sprint(out); got != "{[{10}] [{15}]}" {
				t.Errorf("at %q: %s", place, got)
			}
			for _, other := range at {
				r := k.Post(s.as, "/v1/stock_movements", map[string]any{"type": "replenish", "item_id": s.item,
					"from_zone_id": reserves[other], "to_zone_id": face, "quantity": 1})
				refused := r.Status == http.StatusBadRequest && strings.Contains(string(r.Body), "another site")
				if refused != (other != place) {
					t.Errorf("from a reserve of %q to %q: %d %s", other, place, r.Status, r.Body)
				}
			}
		}
		s.is("replenish_tasks?select=quantity.sum(),count()&item_id=eq."+s.item, `[{"sum":30,"count":3}]`)
	})
}

// An order of a site is promised stock of that site alone, which is picked into a
// staging zone there; one of no site takes what there is.
func TestOrdersTakeStockOfTheirSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		for _, place := range at {
			s.stock(s.zone(place, "BIN", nil), 10)
		}
		for _, c := range []struct {
			site      string
			wants     int
			allocated string
		}{{"HH", 15, "10"}, {"B", 4, "4"}, {"", 30, "16"}} {
			order, _ := s.order(float64(c.wants))
			if c.site != "" {
				r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/orders/" + order, As: s.as,
					Body: map[string]any{"site_id": s.sites[c.site]}})
				if r.Status != http.StatusOK {
					t.Fatalf("the order's site: %d %s", r.Status, r.Body)
				}
			}
			_, picks := s.released(order)
			s.is("orders?select=qty_allocated&id=eq."+order, `[{"qty_allocated":`+c.allocated+`}]`)
			if c.site == "" {
				continue
			}
			s.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 1}, 200, nil)
			s.is("stock_movements?select=to_zone_id&type=eq.pick&item_id=eq."+s.item+"&order=id.desc&limit=1",
				`[{"to_zone_id":"`+s.lanes[c.site]+`"}]`)
		}
		k.Verified(t)
	})
}

// A lot that is recalled is secured, whichever way its status is changed: promises
// of it are given back, and what is there goes on hold.
func TestRecallByAnyWay(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{"tracking": "lot", "has_expiry": true})
		patch := func(path string) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + path, As: g.as,
				Body: map[string]any{"status": "recalled"}})
		}
		for i, way := range []func(lot, no string) testkit.Response{
			func(lot, _ string) testkit.Response { return patch("lots/" + lot) },
			func(_, no string) testkit.Response { return patch("lots?lot_no=eq." + no) },
			func(_, no string) testkit.Response {
				return k.Call(testkit.Request{Method: "POST", Path: "/v1/lots?on_conflict=item_id,lot_no", As: g.as,
					Header: map[string]string{"Prefer": "resolution=merge-duplicates"},
					Body:   []any{map[string]any{"item_id": g.item, "lot_no": no, "status": "recalled"}}})
			},
			func(lot, _ string) testkit.Response {
				return k.Post(g.as, "/v1/rpc/recall_lot", map[string]any{"lot_id": lot, "reason": "glass"})
			},
		} {
			no := fmt.Sprint("WAY-", i)
			lot := g.lot(no, 90, "released")
			g.bin("G-A", 10, lot)
			order, line := g.order(4)
			g.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
			g.is("reservations?select=quantity,state&order_line_id=eq."+line, `[{"quantity":4,"state":"active"}]`)
			told := k.Told(t, "lot.recalled")
			if r := way(lot, no); r.Status/100 != 2 {
				t.Fatalf("way %d: %d %s", i, r.Status, r.Body)
			}
			g.is("reservations?select=quantity,state&order_line_id=eq."+line, `[{"quantity":4,"state":"released"}]`)
			g.is("stock_levels?select=stock_status,quantity,reserved&quantity=gt.0&lot_id=eq."+lot,
				`[{"stock_status":"hold","quantity":10,"reserved":0}]`)
			g.is("orders?select=stage,qty_allocated&id=eq."+order, `[{"stage":"unallocated","qty_allocated":0}]`)
			g.is("items?select=available&id=eq."+g.item, `[{"available":0}]`)
			if n := k.Told(t, "lot.recalled"); n != told+1 {
				t.Errorf("way %d: lot.recalled was told %d times", i, n-told)
			}
		}
		k.Verified(t)
	})
}

// sent makes a shipment that has left, of an order of its own.
func (g *goods) sent(q float64) string {
	g.t.Helper()
	order, line := g.order(q)
	_, picks := g.released(order)
	g.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": q, "to_zone_id": g.lane}, 200, nil)
	sh := g.consigned(line, q, nil)
	g.packed(sh, line, q)
	g.say("dispatch", map[string]any{"shipment_id": sh}, 200, nil)
	return sh
}

// A shipment that comes back has one return order over what had left, whichever
// way its status is changed.
func TestReturnByAnyWay(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		g := newGoods(t, k, map[string]any{})
		g.bin("G-A", 10, "")
		for _, way := range []func(sh string) testkit.Response{
			func(sh string) testkit.Response {
				return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/shipments/" + sh, As: g.as,
					Body: map[string]any{"status": "returned"}})
			},
			func(sh string) testkit.Response {
				return k.Post(g.as, "/v1/rpc/return_shipment", map[string]any{"shipment_id": sh, "note": "refused"})
			},
		} {
			sh := g.sent(4)
			g.say("report_exception", map[string]any{"shipment_id": sh, "code": "REFUSED"}, 200, nil)
			if r := way(sh); r.Status/100 != 2 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			g.is("orders?select=type,status,order_lines(qty_ordered)&external_ref=eq."+sh,
				`[{"type":"return","status":"confirmed","order_lines":[{"qty_ordered":4}]}]`)
		}
		k.Verified(t)
	})
}

// Zones that name no site are of the tenant's only one, and stay so when a second one is
// made or comes back into use; those that are made without a site later are of none.
func TestZonesKeepTheirSiteBesideASecondOne(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m, admin := testkit.As(actor.Manager), testkit.As(actor.Admin)
		g := &goods{t: t, k: k, as: m}
		made := func(code string) string {
			t.Helper()
			return k.Insert(t, admin, "sites", map[string]any{"code": code, "name": code})
		}
		zone := func(code string) string {
			t.Helper()
			return k.Insert(t, m, "zones", map[string]any{"code": code, "name": code})
		}
		isOf := func(zone, site string) {
			t.Helper()
			g.is("zones?select=site_id&id=eq."+zone, `[{"site_id":`+site+`}]`)
		}
		for _, s := range testkit.List[struct{ ID string }](t, k, admin, "sites?select=id&archived_at=is.null") {
			r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/sites/" + s.ID, As: admin,
				Body: map[string]any{"archived_at": "2026-01-01T00:00:00Z"}})
			if r.Status/100 != 2 {
				t.Fatalf("archive: %d %s", r.Status, r.Body)
			}
		}
		first := zone("FIRST")
		one := made("ONE")
		isOf(first, "null")
		transit := k.Insert(t, m, "zones", map[string]any{"code": "ROAD", "name": "Road", "kind": "transit"})
		two := made("TWO")
		isOf(first, `"`+one+`"`)
		isOf(transit, "null")
		later := zone("LATER")
		made("THREE")
		isOf(later, "null")

		for _, s := range []string{one, "THREE"} {
			path := "/v1/sites?id=eq." + s
			if s == "THREE" {
				path = "/v1/sites?code=eq.THREE"
			}
			k.Call(testkit.Request{Method: http.MethodPatch, Path: path, As: admin,
				Body: map[string]any{"archived_at": "2026-01-01T00:00:00Z"}})
		}
		k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/sites/" + one, As: admin,
			Body: map[string]any{"archived_at": nil}})
		isOf(later, `"`+two+`"`)
		k.Verified(t)
	})
}
