package warehouse_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// transfer makes a draft that brings goods of one line from Hamburg to Berlin.
func (s *twoSites) transfer(q float64, more map[string]any) (order, line string) {
	s.t.Helper()
	row := map[string]any{"type": "transfer", "site_id": s.sites["HH"], "to_site_id": s.sites["B"]}
	for n, v := range more {
		row[n] = v
	}
	order = s.k.Insert(s.t, s.as, "orders", row)
	return order, s.k.Insert(s.t, s.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": s.item,
		"qty_ordered": q})
}

// shippedOff confirms an order, picks, packs and ships all of its line.
func (s *twoSites) shippedOff(order, line string, q float64) (shipment string) {
	s.t.Helper()
	_, picks := s.released(order)
	for _, p := range picks {
		part := testkit.List[struct{ Qty float64 }](s.t, s.k, s.as, "pick_lines?select=qty&id=eq."+p)[0].Qty
		s.say("pick_line", map[string]any{"pick_line_id": p, "quantity": part, "to_zone_id": s.lanes["HH"]}, 200, nil)
	}
	shipment = s.consigned(line, q, nil)
	s.packed(shipment, line, q)
	s.say("dispatch", map[string]any{"shipment_id": shipment}, 200, nil)
	return shipment
}

// arrived receives goods of a transfer at a place; more is said of their line.
func (s *twoSites) arrived(order, place string, q float64, more map[string]any, want int) testkit.Response {
	s.t.Helper()
	line := map[string]any{"item_id": s.item, "quantity": q}
	for n, v := range more {
		line[n] = v
	}
	return s.say("receive", map[string]any{"order_id": order, "zone_id": s.docks[place], "lines": []any{line}}, want, nil)
}

// lastEvent is what partners are told of the newest movement of the item.
func (s *twoSites) lastEvent() happened {
	s.t.Helper()
	newest := testkit.List[struct {
		ID   string
		Made string `json:"created_at"`
	}](s.t, s.k, s.as, "stock_movements?select=id,created_at&order=id.desc&limit=1&item_id=eq."+s.item)[0]

	var doc struct {
		EpcisBody struct{ EventList []happened }
	}
	s.k.Get(s.as, "/v1/epcis/events?perPage=100&GE_recordTime="+newest.Made).JSON(s.t, &doc)
	for _, e := range doc.EpcisBody.EventList {
		if e.EventID == "urn:uuid:"+newest.ID {
			return e
		}
	}
	s.t.Fatalf("partners are told nothing of %s", newest.ID)
	return happened{}
}

// totals is the stock of the item by owner, lot and serial number, wherever it lies.
func (s *twoSites) totals() string {
	s.t.Helper()
	return s.rows("stock_levels?select=owner_id,lot_id,serial,quantity.sum()&quantity=gt.0&item_id=eq." + s.item +
		"&order=owner_id,lot_id,serial")
}

// A transfer is allocated, picked, packed and shipped as other orders are, and its stages
// say so. Until it is received its goods are the tenant's and nobody is promised them.
func TestTransferIsWorkedAsOtherOrders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		s.stock(s.zone("HH", "BIN", nil), 10)
		s.stock(s.zone("B", "BIN", nil), 50)
		order, line := s.transfer(12, nil)
		reached := func(stage string) {
			t.Helper()
			s.is("orders?select=stage&id=eq."+order, `[{"stage":"`+stage+`"}]`)
		}
		reached("unallocated")
		s.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		reached("part_allocated")
		s.is("order_lines?select=qty_allocated&id=eq."+line, `[{"qty_allocated":10}]`)
		s.patched("order_lines/"+line, map[string]any{"qty_cancelled": 2}, 200)
		reached("allocated")

		var wave struct{ Wave struct{ ID string } }
		s.say("plan_wave", map[string]any{}, 200, &wave)
		var out struct{ Lines []struct{ ID string } }
		s.say("release_picks", map[string]any{"wave_id": wave.Wave.ID}, 200, &out)
		pick := func(q float64) {
			t.Helper()
			in := map[string]any{"pick_line_id": out.Lines[0].ID, "quantity": q, "to_zone_id": s.lanes["HH"]}
			s.say("pick_line", in, 200, nil)
		}
		pick(4)
		reached("picking")
		pick(6)
		reached("picked")
		refused(t, s.arrived(order, "B", 1, nil, 409), "HF006", "dispatch")
		shipment := s.consigned(line, 10, nil)
		s.packed(shipment, line, 10)
		reached("packed")

		var overview struct {
			Orders struct {
				Stages map[string]int64 `json:"by_stage"`
			}
		}
		k.Get(s.as, "/functions/v1/get-dashboard-snapshot-v2?lightweight=true").JSON(t, &overview)
		if overview.Orders.Stages["packed"] == 0 {
			t.Errorf("no dashboard shows the transfer: %+v", overview)
		}

		s.say("dispatch", map[string]any{"shipment_id": shipment}, 200, nil)
		reached("shipped")
		if e := s.lastEvent(); e.BizStep != "shipping" || e.Disposition != "in_transit" || e.ReadPoint.ID == "" ||
			e.BizLocation.ID != "" {
			t.Errorf("partners are told of the departure as %+v", e)
		}
		s.is("items?select=on_hand,available&id=eq."+s.item, `[{"on_hand":60,"available":50}]`)
		s.is("stock_levels?select=quantity,reserved,zones(kind)&quantity=eq.10&item_id=eq."+s.item,
			`[{"quantity":10,"reserved":0,"zones":{"kind":"transit"}}]`)
		sold, _ := s.orderAt("", "outbound", 60)
		s.confirmed(sold)
		s.is("orders?select=qty_allocated&id=eq."+sold, `[{"qty_allocated":50}]`)
		k.Verified(t)

		s.arrived(order, "B", 4, nil, 200)
		reached("part_received")
		if e := s.lastEvent(); e.BizStep != "receiving" || e.BizLocation.ID == "" {
			t.Errorf("partners are told of the arrival as %+v", e)
		}
		s.arrived(order, "B", 6, nil, 200)
		s.is("orders?select=status,stage,qty_shipped,qty_received&id=eq."+order,
			`[{"status":"completed","stage":"received","qty_shipped":10,"qty_received":10}]`)
		s.is("putaway_tasks?select=quantity&order=quantity&from_zone_id=eq."+s.docks["B"], `[{"quantity":4},{"quantity":6}]`)
		s.is("items?select=on_hand&id=eq."+s.item, `[{"on_hand":60}]`)
		k.Verified(t)
	})
}

// Stock of each owner, lot and serial number is the same before a transfer, while it is in
// transit and after it, whatever comes in damaged; what never arrives is written off.
func TestTransferKeepsStock(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for n, c := range []struct {
			tracking string
			owned    bool
			pieces   []map[string]any // that come in, in their order
		}{
			{"none", false, []map[string]any{{"quantity": 2}, {"quantity": 1, "discrepancy": "damaged"}}},
			{"none", true, []map[string]any{{"quantity": 2}, {"quantity": 1, "discrepancy": "damaged"}}},
			{"lot", false, []map[string]any{{"quantity": 2, "lot_no": "L1"},
				{"quantity": 1, "lot_no": "L2", "discrepancy": "damaged"}}},
			{"serial", false, []map[string]any{{"quantity": 2, "serials": []string{"P1", "P2"}},
				{"quantity": 1, "serials": []string{"P3"}, "discrepancy": "damaged"}}},
		} {
			s := transferSites(t, k, fmt.Sprint("T", n), c.tracking)
			more, order := map[string]any{}, map[string]any{}
			if c.owned {
				owner := k.Insert(t, s.as, "goods_owners", map[string]any{"code": "TO", "name": "Owner"})
				more["owner_id"], order["owner_id"] = owner, owner
			}
			s.fill(c.tracking, more)
			before := s.totals()
			id, line := s.transfer(4, order)
			s.shippedOff(id, line, 4)
			if now := s.totals(); now != before {
				t.Errorf("%s: stock in transit is %s, was %s", c.tracking, now, before)
			}
			k.Verified(t)
			for _, piece := range c.pieces {
				s.arrived(id, "B", 0, piece, 200)
			}
			if now := s.totals(); now != before {
				t.Errorf("%s: stock after 3 of 4 came in is %s, was %s", c.tracking, now, before)
			}
			s.is("stock_levels?select=quantity&stock_status=eq.damaged&item_id=eq."+s.item, `[{"quantity":1}]`)
			k.Verified(t)

			refused(t, s.say("close_order", map[string]any{"order_id": id}, 400, nil), "reason")
			s.say("close_order", map[string]any{"order_id": id, "reason": "fell off the lorry"}, 200, nil)
			s.is("orders?select=status,hold_reason&id=eq."+id, `[{"status":"completed","hold_reason":"fell off the lorry"}]`)
			s.is("stock_movements?select=type,quantity,reason_code&type=eq.scrap&item_id=eq."+s.item,
				`[{"type":"scrap","quantity":1,"reason_code":"lost_in_transit"}]`)
			s.is("items?select=on_hand&id=eq."+s.item, `[{"on_hand":3}]`)
			s.is("stock_levels?select=quantity,zones!inner(kind)&zones.kind=eq.transit&quantity=gt.0&item_id=eq."+s.item, `[]`)
			s.arrivesNever(id)
			k.Verified(t)
		}
	})
}

// transferSites is twoSites for one more item of a tracking.
func transferSites(t *testing.T, k *testkit.Kit, code, tracking string) *twoSites {
	s := &twoSites{goods: &goods{t: t, k: k, as: testkit.As(actor.Manager), bins: map[string]string{}},
		sites: map[string]string{}, docks: map[string]string{}, lanes: map[string]string{}}
	s.item = k.Insert(t, s.as, "items", map[string]any{"sku": code, "name": code, "tracking": tracking})
	for _, place := range []string{"HH", "B"} {
		s.sites[place] = k.Insert(t, testkit.As(actor.Admin), "sites", map[string]any{"code": code + place, "name": place})
		s.docks[place] = s.zone(place, code+"DOCK", map[string]any{"kind": "dock"})
		s.lanes[place] = s.zone(place, code+"LANE", map[string]any{"kind": "staging"})
	}
	return s
}

// fill brings 4 of the item to Hamburg, of two lots or with serial numbers where it has them.
func (s *twoSites) fill(tracking string, more map[string]any) {
	s.t.Helper()
	bin := s.zone("HH", "FILL"+s.item[30:], nil)
	put := func(q int, set map[string]any) {
		row := map[string]any{"type": "receipt", "item_id": s.item, "to_zone_id": bin, "quantity": q}
		for _, from := range []map[string]any{more, set} {
			for n, v := range from {
				row[n] = v
			}
		}
		s.k.Insert(s.t, s.as, "stock_movements", row)
	}
	switch tracking {
	case "lot":
		put(2, map[string]any{"lot_id": s.lot("L1", 90, "released")})
		put(2, map[string]any{"lot_id": s.lot("L2", 120, "released")})
	case "serial":
		for i := range 4 {
			put(1, map[string]any{"serial": fmt.Sprint("P", i+1)})
		}
	default:
		put(4, nil)
	}
}

// arrivesNever receives goods of a transfer that has ended.
func (s *twoSites) arrivesNever(order string) {
	s.t.Helper()
	refused(s.t, s.arrived(order, "B", 1, map[string]any{"lot_no": "L2", "serials": nil}, 409), "order_id")
}

// What a transfer's goods cannot do is refused in words, each time with one 4xx, and
// nothing moves.
func TestTransferRefuses(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{"tracking": "lot"})
		lot, other := s.lot("L1", 90, "released"), s.lot("L2", 90, "released")
		bin := s.zone("HH", "BIN", nil)
		for _, l := range []string{lot, other} {
			k.Insert(t, s.as, "stock_movements", map[string]any{"type": "receipt", "item_id": s.item, "to_zone_id": bin,
				"quantity": 5, "lot_id": l})
		}
		third := k.Insert(t, testkit.As(actor.Admin), "sites", map[string]any{"code": "S-3", "name": "3"})
		away := k.Insert(t, s.as, "zones", map[string]any{"code": "AWAY", "name": "Away", "kind": "dock", "site_id": third})
		order, line := s.transfer(4, nil)
		s.patched("order_lines/"+line, map[string]any{"lot_id": lot}, 200)
		draft, _ := s.transfer(4, nil)
		bare, _ := s.transfer(4, map[string]any{"to_site_id": nil})
		s.say("confirm_order", map[string]any{"order_id": bare}, 409, nil)
		k.Insert(t, testkit.As(actor.Admin), "settings", map[string]any{"section": "picking", "key": "orders_across_sites",
			"value": true})
		shipment := s.shippedOff(order, line, 4)
		transit := testkit.List[struct{ ID string }](t, k, s.as, "zones?select=id&kind=eq.transit")[0].ID
		goods := func(q float64, lot string) []any {
			return []any{map[string]any{"item_id": s.item, "quantity": q, "lot_no": lot}}
		}
		in := func(order, zone string, lines []any) map[string]any {
			return map[string]any{"order_id": order, "zone_id": zone, "lines": lines}
		}
		to := func(kind, site string) map[string]any { return map[string]any{"type": kind, "to_site_id": site} }
		moved := func(kind, from, to string) map[string]any {
			row := map[string]any{"type": kind, "item_id": s.item, "lot_id": lot, "quantity": 1}
			for n, v := range map[string]string{"from_zone_id": from, "to_zone_id": to} {
				if v != "" {
					row[n] = v
				}
			}
			return row
		}
		second := k.Insert(t, s.as, "items", map[string]any{"sku": "OTHER", "name": "Other"})
		for name, c := range map[string]struct {
			path  string
			in    map[string]any
			want  int
			words string
		}{
			"no site to go to":      {"PATCH orders/" + bare, map[string]any{"status": "confirmed"}, 409, "to_site_id"},
			"to where it is":        {"PATCH orders/" + draft, map[string]any{"to_site_id": s.sites["HH"]}, 400, "to_site_id"},
			"no transfer":           {"orders", to("inbound", s.sites["HH"]), 400, "to_site_id"},
			"another tenant's site": {"orders", to("transfer", k.Foreign(t, "sites")), 409, "to_site_id"},
			"led to a third site":   {"PATCH orders/" + order, map[string]any{"to_site_id": third}, 409, "have left"},
			"a draft":               {"rpc/receive", in(draft, s.docks["B"], goods(1, "L1")), 409, "order_id"},
			"a third site":          {"rpc/receive", in(order, away, goods(1, "L1")), 409, "zone_id"},
			"more than left":        {"rpc/receive", in(order, s.docks["B"], goods(5, "L1")), 409, "only 4"},
			"another lot":           {"rpc/receive", in(order, s.docks["B"], goods(1, "L2")), 409, "lot_no"},
			"another plate": {"rpc/receive", in(order, s.docks["B"], []any{map[string]any{"item_id": s.item, "quantity": 1,
				"lot_no": "L1", "lpn": "NONE"}}), 409, "lpn"},
			"what nobody sent": {"rpc/receive", in(order, s.docks["B"], []any{map[string]any{"item_id": second, "quantity": 1,
				"discrepancy": "unannounced"}}), 409, "item_id"},
			"another tenant's order": {"rpc/receive", in(k.Foreign(t, "orders"), s.docks["B"], goods(1, "L1")), 404, "order_id"},
			"taken by hand":          {"rpc/move_stock", moved("", transit, s.docks["B"]), 409, "transit"},
			"taken by a movement":    {"stock_movements", moved("transfer", transit, s.docks["B"]), 409, "transit"},
			"written off by hand":    {"stock_movements", moved("scrap", transit, ""), 409, "transit"},
			"put in by hand":         {"stock_movements", moved("transfer", bin, transit), 409, "transit"},
			"made in transit":        {"stock_movements", moved("receipt", "", transit), 409, "transit"},
			"a zone made open":       {"PATCH zones/" + transit, map[string]any{"kind": "bin"}, 409, "kind"},
			"a bin made transit":     {"PATCH zones/" + bin, map[string]any{"kind": "transit"}, 409, "kind"},
			"cancelled":              {"rpc/cancel_order", map[string]any{"order_id": order}, 409, "in_progress"},
		} {
			if c.path == "rpc/move_stock" {
				delete(c.in, "type")
			}
			before := s.bySite() + s.rows("orders?select=status,qty_received,to_site_id&order=id")
			method := http.MethodPost
			path, isPatch := strings.CutPrefix(c.path, "PATCH ")
			if isPatch {
				method = http.MethodPatch
			}
			r := k.Call(testkit.Request{Method: method, Path: "/v1/" + path, As: s.as, Body: c.in})
			if r.Status != c.want || !strings.Contains(string(r.Body), c.words) {
				t.Errorf("%s: %d %s, want %d and %s", name, r.Status, r.Body, c.want, c.words)
			}
			if after := s.bySite() + s.rows("orders?select=status,qty_received,to_site_id&order=id"); after != before {
				t.Errorf("%s was refused and changed %s to %s", name, before, after)
			}
		}

		s.say("report_exception", map[string]any{"shipment_id": shipment, "code": "REFUSED"}, 200, nil)
		refused(t, s.say("return_shipment", map[string]any{"shipment_id": shipment}, 409, nil), "S-HH", "S-B")
		s.patched("shipments/"+shipment, map[string]any{"status": "returned"}, 409)
		s.arrived(order, "HH", 4, map[string]any{"lot_no": "L1"}, 200)
		s.say("return_shipment", map[string]any{"shipment_id": shipment}, 200, nil)
		s.is("orders?select=id&external_ref=eq."+shipment, `[]`)
		s.is("orders?select=status&id=eq."+order, `[{"status":"completed"}]`)
		k.Verified(t)
	})
}

// A lot of which goods are in transit is recalled as any other, by the verb and by a change
// of its status: what lies in a bin goes on hold, what is on the way stands still, is
// counted, and comes in only under a status that keeps it from being sold.
func TestRecallReachesTransit(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for n, way := range []func(s *twoSites, lot string){
			func(s *twoSites, lot string) {
				var out struct {
					InTransit float64 `json:"in_transit"`
					Movements []struct{ Quantity float64 }
				}
				s.say("recall_lot", map[string]any{"lot_id": lot, "reason": "glass"}, 200, &out)
				if out.InTransit != 4 || len(out.Movements) != 1 || out.Movements[0].Quantity != 6 {
					t.Errorf("the recall finds %+v", out)
				}
			},
			func(s *twoSites, lot string) {
				s.patched("lots/"+lot, map[string]any{"status": "recalled"}, 200)
			},
		} {
			s := transferSites(t, k, fmt.Sprint("R", n), "lot")
			lot := s.lot("L1", 90, "released")
			k.Insert(t, s.as, "stock_movements", map[string]any{"type": "receipt", "item_id": s.item,
				"to_zone_id": s.zone("HH", fmt.Sprint("RECALL", n), nil), "quantity": 10, "lot_id": lot})
			order, line := s.transfer(4, nil)
			s.shippedOff(order, line, 4)

			way(s, lot)
			s.is("stock_levels?select=quantity,stock_status,zones(kind)&quantity=gt.0&order=quantity&item_id=eq."+s.item,
				`[{"quantity":4,"stock_status":"available","zones":{"kind":"transit"}},`+
					`{"quantity":6,"stock_status":"hold","zones":{"kind":"bin"}}]`)
			k.Verified(t)

			refused(t, s.arrived(order, "B", 4, map[string]any{"lot_no": "L1"}, 409), "HF020", "stock_status")
			s.arrived(order, "B", 4, map[string]any{"lot_no": "L1", "stock_status": "hold"}, 200)
			s.is("stock_levels?select=quantity,stock_status&quantity=gt.0&order=quantity&item_id=eq."+s.item,
				`[{"quantity":4,"stock_status":"hold"},{"quantity":6,"stock_status":"hold"}]`)
			s.is("items?select=on_hand,available&id=eq."+s.item, `[{"on_hand":10,"available":0}]`)
			s.is("putaway_tasks?select=id&item_id=eq."+s.item, `[]`)
			s.is("orders?select=status&id=eq."+order, `[{"status":"completed"}]`)
			k.Verified(t)
		}
	})
}

// Verify finds goods in transit that no transfer shipped, and those that are missing.
func TestVerifyLooksIntoTransit(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		s.stock(s.zone("HH", "BIN", nil), 10)
		order, line := s.transfer(10, nil)
		s.shippedOff(order, line, 10)
		k.Verified(t)
		const lost = "UPDATE stock_movements SET order_line_id = NULL WHERE tenant_id = $1 AND order_line_id = $2"
		err := k.App.DB.Write(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			_, err := tx.Exec(lost, demo.North, line)
			return err
		})
		testkit.Must(t, err)
		found, err := k.App.Verify(t.Context())
		if err != nil || !strings.Contains(fmt.Sprint(found), "in transit") {
			t.Errorf("verify finds %v %v", found, err)
		}
	})
}
