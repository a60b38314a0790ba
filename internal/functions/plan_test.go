package functions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// refused calls a function and wants a fault.
func (k *kit) refused(name, params string, kind fault.Kind) {
	k.Helper()
	f := k.function(name)
	in, err := f.Bind(func(p string) []string {
		for _, pair := range strings.Split(params, "&") {
			if n, v, ok := strings.Cut(pair, "="); ok && n == p {
				return []string{v}
			}
		}
		return nil
	}, nil)
	if err == nil {
		_, err = f.Run(context.Background(), k.as, in)
	}
	if !fault.Is(err, kind) {
		k.Errorf("%s %s: %v, want %v", name, params, err, kind)
	}
}

// A pick list over two aisles of racks, in the order somebody typed: planned it
// is shorter, applied its lines have that order, and what was picked stays.
func TestPlanPickPath(t *testing.T) {
	each(t, func(k *kit) {
		area := k.add("zones", store.Row{"code": "AREA", "name": "Area", "kind": "area"})
		zone := map[string]string{}
		for _, aisle := range []struct{ code, x string }{{"A", "10"}, {"B", "14"}} {
			zone[aisle.code] = k.add("zones", store.Row{"code": aisle.code, "name": aisle.code, "kind": "aisle",
				"parent_id": area, "x": aisle.x})
			for _, y := range []string{"0", "2", "6", "17", "18", "20"} {
				rack := k.add("zones", store.Row{"code": aisle.code + y, "name": y, "kind": "rack", "parent_id": zone[aisle.code],
					"x": aisle.x, "y": y})
				zone[aisle.code+y] = k.add("zones", store.Row{"code": aisle.code + y + "-1", "name": y, "parent_id": rack,
					"x": aisle.x, "y": y, "z": "1.6"})
			}
		}
		dock := k.add("zones", store.Row{"code": "DOCK", "name": "Dock", "kind": "dock", "parent_id": area, "x": "10",
			"y": "-2"})
		nowhere := k.add("zones", store.Row{"code": "NEW", "name": "Not placed yet"})
		item := k.add("items", store.Row{"sku": "A", "name": "A"})
		list := k.add("pick_lists", store.Row{})
		for i, code := range []string{"NEW", "B6", "A2", "B17", "A18", "B6"} {
			at := zone[code]
			if code == "NEW" {
				at = nowhere
			}
			k.add("pick_lines", store.Row{"pick_list_id": list, "seq": int64(10 * (i + 1)), "zone_id": at, "item_id": item,
				"qty": fmt.Sprint(i + 1)})
		}
		order := func(n node) (codes string) {
			for i := range n.at("lines.#").(int) {
				codes += fmt.Sprintf("%v:%v ", n.at(fmt.Sprintf("lines.%d.seq", i)), n.at(fmt.Sprintf("lines.%d.zone_code", i)))
			}
			return strings.TrimSpace(codes)
		}
		k.as = manager()
		n := k.call("plan-pick-path", "pick_list_id="+list+"&start_zone_id="+dock)
		// From the dock 4 to A2, 16 up to A18, 2 + 4 + 3 around the back, 11 down to
		// B6, 12 home; as typed 12, 12, 23, 9, then 20 to B6 again and 12 home.
		n.is("applied", "false", "distance_m", "52", "distance_before_m", "88", "saved_m", "36", "unplaced_zones", `["NEW"]`)
		if got, want := order(n), "10:A2-1 20:A18-1 30:B17-1 40:B6-1 50:B6-1 60:NEW"; got != want {
			t.Errorf("order %s, want %s", got, want)
		}
		n.is("lines.3.qty", "2", "lines.4.qty", "6")
		again := k.call("plan-pick-path", "pick_list_id="+list+"&start_zone_id="+dock)
		again.is("distance_before_m", "88") // nothing was changed
		k.call("plan-pick-path", "apply=true&pick_list_id="+list+"&start_zone_id="+dock).is("applied", "true", "distance_m",
			"52")
		k.call("plan-pick-path", "pick_list_id="+list+"&start_zone_id="+dock).is("distance_before_m", "52", "saved_m", "0")

		// A line that is picked keeps its place.
		first := n.at("lines.0.id").(string)
		k.add("zones", store.Row{"code": "STAGE", "name": "Staging", "kind": "staging"})
		k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": zone["A2"], "quantity": "10"})
		k.set("pick_lists", list, store.Row{"status": "released"})
		k.set("pick_lines", first, store.Row{"status": "picked"})
		k.call("plan-pick-path", "apply=true&pick_list_id="+list+"&start_zone_id="+zone["B"]).is("lines.#", "5",
			"lines.0.seq", "20")

		k.refused("plan-pick-path", "pick_list_id="+ada, fault.NotFound)
		k.refused("plan-pick-path", "pick_list_id="+list+"&start_zone_id="+ada, fault.NotFound)
		k.set("pick_lists", list, store.Row{"status": "cancelled"})
		k.refused("plan-pick-path", "pick_list_id="+list, fault.Conflict)
		k.as.TenantID = south
		k.refused("plan-pick-path", "pick_list_id="+list, fault.NotFound)
	})
}

// Shipments to four towns: joined to routes within what a vehicle carries, put
// in order for a driver, and those without coordinates named.
func TestPlanRoutes(t *testing.T) {
	each(t, func(k *kit) {
		deg := 6371.0088 * math.Pi / 180
		depot, place := raw(`{"lat":0,"lon":0}`), func(lat, lon any) json.RawMessage {
			return raw(fmt.Sprintf(`{"name":"x","lat":%v,"lon":%v}`, lat, lon))
		}
		truck := k.add("vehicles", store.Row{"plate": "T 1", "payload_kg": "500"})
		driver := k.add("drivers", store.Row{"worker_id": k.add("workers", store.Row{"employee_no": "1", "name": "Bo"})})
		ship := func(lat, lon any, more store.Row) string {
			row := store.Row{"origin": depot, "destination": place(lat, lon),
				"packages": raw(`[{"weight_kg":100},{"weight_kg":100.5},{}]`)}
			for f, v := range more {
				row[f] = v
			}
			return k.add("shipments", row)
		}
		for _, lon := range []float64{1, 4, 2, 3} {
			ship(0, lon, nil)
		}
		lost := ship(0, 181, nil)
		ship(0, 9, store.Row{"direction": "inbound"}) // comes, and is not driven to
		k.as = manager()
		n := k.call("plan-routes", "")
		n.is("routes.#", "1", "routes.0.stops.#", "4", "distance_km", km(8*deg), "distance_before_km", km(20*deg),
			"saved_km", km(20*deg-8*deg),
			"routes.0.load_kg", "802", "unplaced.#", "1", "unplaced.0.shipment_id", `"`+lost+`"`, "depot", `{"lat":0,"lon":0}`)
		// 500 kg carry two stops of 200.5 kg: the two far ones, then the near ones.
		n = k.call("plan-routes", "vehicle_id="+truck)
		n.is("routes.#", "2", "routes.0.distance_km", km(8*deg), "routes.1.distance_km", km(4*deg), "routes.0.load_kg", "401")
		k.call("plan-routes", "vehicle_id="+truck+"&payload_kg=250").is("routes.#", "4")
		k.call("plan-routes", "max_stops=3").is("routes.#", "2", "routes.0.stops.#", "3")
		k.call("plan-routes", "depot_lat=0&depot_lon=2").is("distance_km", km(6*deg))

		// A driver's round crosses a square; its order is written when asked.
		mine := map[string]string{}
		for i, at := range [][2]int{{1, 1}, {0, 1}, {1, 0}} {
			mine[ship(at[0], at[1], store.Row{"driver_id": driver, "stop_seq": int64(i + 1)})] = fmt.Sprint(at)
		}
		round := "driver_id=" + driver
		n = k.call("plan-routes", round)
		n.is("applied", "false", "routes.#", "1", "routes.0.stops.1.lat", "1", "routes.0.stops.1.lon", "1",
			"routes.0.stops.1.stop_seq", "2")
		if n.at("saved_km").(float64) < 80 {
			t.Errorf("saved %v km", n.at("saved_km"))
		}
		k.call("plan-routes", "apply=true&"+round).is("applied", "true")
		k.call("plan-routes", round).is("saved_km", "0")
		for _, s := range k.call("get-dashboard-snapshot-v2", "").at("shipments.items").([]any) {
			if m := s.(map[string]any); mine[m["id"].(string)] == "[1 1]" && m["stop_seq"] != 2.0 {
				t.Errorf("the far corner is stop %v, want 2", m["stop_seq"])
			}
		}

		k.refused("plan-routes", "apply=true", fault.Invalid)
		k.refused("plan-routes", "depot_lat=91", fault.Invalid)
		k.refused("plan-routes", "payload_kg=-1", fault.Invalid)
		k.refused("plan-routes", "depot_lon=NaN", fault.Invalid)
		k.refused("plan-routes", "vehicle_id="+ada, fault.NotFound)
		k.as.TenantID = south
		k.call("plan-routes", "").is("routes", "[]", "unplaced", "[]", "distance_km", "0")
		k.refused("plan-routes", "vehicle_id="+truck, fault.NotFound)
	})
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// km is a distance as answers have it.
func km(x float64) string { return fmt.Sprint(score.Round(x, 1)) }

// What each item's demand asks for, by hand: 90 bolts in 90 days, ten on each
// of nine days, are 1 a day with a deviation of 3.02; four days of lead time
// want 4 + 1.645 x 3.02 x 2 = 13.9.
func TestInventoryPlan(t *testing.T) {
	each(t, func(k *kit) {
		bin := k.add("zones", store.Row{"code": "A", "name": "A"})
		item := func(sku string, more store.Row) string {
			row := store.Row{"sku": sku, "name": sku, "unit_cost": "1"}
			for f, v := range more {
				row[f] = v
			}
			return k.add("items", row)
		}
		in := func(item, qty, at string) {
			k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": qty,
				"occurred_at": at})
		}
		out := func(item, qty, at string) {
			k.add("stock_movements", store.Row{"type": "ship", "item_id": item, "from_zone_id": bin, "quantity": qty,
				"occurred_at": at})
		}
		bolt := item("BOLT", store.Row{"lead_time_days": int64(4), "abc_class": "B"})
		in(bolt, "100", "2025-12-01T08:00:00Z")
		for day := 1; day <= 9; day++ {
			out(bolt, "10", fmt.Sprintf("2026-01-%02dT08:00:00Z", day))
		}
		gold := item("GOLD", store.Row{"unit_cost": "10"})
		in(gold, "100", "2025-06-01T08:00:00Z")
		out(gold, "20", "2025-07-01T08:00:00Z")
		in(item("IDLE", nil), "5", "2025-06-01T08:00:00Z")
		in(item("LATE", nil), "5", "2026-02-20T08:00:00Z")
		item("NONE", store.Row{"reorder_point": "3"})
		item("OLD", store.Row{"status": "discontinued"})
		wanted := item("WANTED", nil)
		order := func(kind, item string) {
			id := k.add("orders", store.Row{"type": kind})
			k.add("order_lines", store.Row{"order_id": id, "line_no": int64(1), "item_id": item, "qty_ordered": "5"})
			k.set("orders", id, store.Row{"status": "confirmed"})
		}
		order("inbound", wanted) // is bought, and nobody waits for it
		k.as = manager()
		k.call("inventory-plan", "item_id="+wanted).is("items.0.critical", "false")
		k.call("admin-dashboard-summary", "").is("inventory.health.critical_items", "1")
		order("outbound", wanted)
		k.call("inventory-plan", "item_id="+wanted).is("items.0.critical", "true")
		k.call("admin-dashboard-summary", "").is("inventory.health.critical_items", "2")
		k.set("items", wanted, store.Row{"status": "discontinued"})
		n := k.call("inventory-plan", "")
		n.is("items.#", "5", "pagination", `{"hasMore":false,"page":1,"pageSize":50}`, "cached", "false",
			"items.0.sku", `"BOLT"`, "items.0.available", "10", "items.0.demand_per_day", "1", "items.0.demand_sd", "3.02",
			"items.0.observed_days", "90",
			"items.0.suggested_reorder_point", "14", "items.0.below_suggestion", "true", "items.0.lead_time_days", "4",
			"items.0.reorder_point", "0",
			"items.0.abc_class", `"B"`,
			// Mean stock: 100 less 10 on each day from 1 to 9 January.
			"items.0.movement", `"normal"`, "items.1.movement", `"dead"`, "items.2.movement", `"dead"`,
			"items.2.suggested_reorder_point", "0",
			"items.2.below_suggestion", "false",
			"items.2.lead_time_days", "7", "items.2.turns", "0", "items.3.movement", `"normal"`, "items.3.observed_days", "10",
			"items.3.suggested_reorder_point",
			"null",
			"items.4.observed_days", "0", "items.4.low_stock", "true", "items.4.critical", "true",
			"items.4.suggested_reorder_point", "null")
		k.call("inventory-plan", "z=0").is("items.0.suggested_reorder_point", "4", "items.0.below_suggestion", "false")
		k.call("inventory-plan", "z=2.326").is("items.0.suggested_reorder_point", "19") // 4 + 14.03
		k.call("inventory-plan", "item_id="+bolt).is("items.#", "1")
		k.call("inventory-plan", "pageSize=2&page=2").is("items.0.sku", `"IDLE"`, "pagination",
			`{"hasMore":true,"page":2,"pageSize":2}`)
		// 200 of gold and 90 of bolts left in a year: 69 % and 100 %.
		k.call("inventory-plan", "abc=true").is("items.1.suggested_abc_class", `"A"`, "items.0.suggested_abc_class", `"C"`,
			"items.2.suggested_abc_class",
			`"C"`, "items.0.abc_class", `"B"`)
		k.call("get-dashboard-snapshot-v2", "").is("inventory.items.0.reorder_point", "0") // nothing was written
		k.refused("inventory-plan", "z=-1", fault.Invalid)
		k.refused("inventory-plan", "lead_time_days=NaN", fault.Invalid)
		k.as.TenantID = south
		k.call("inventory-plan", "abc=true").is("items", "[]")
	})
}

// Cuts between classes are figured with every answer, where that is dear for as
// long as an answer is kept at most, and until they are forgotten.
func TestCutsAreKeptUntilForgotten(t *testing.T) {
	each(t, func(k *kit) {
		bin := k.add("zones", store.Row{"code": "A", "name": "A"})
		ship := func(item, qty string) {
			k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": qty})
			k.add("stock_movements", store.Row{"type": "ship", "item_id": item, "from_zone_id": bin, "quantity": qty})
		}
		one, two := k.add("items", store.Row{"sku": "ONE", "name": "One", "unit_cost": "1"}),
			k.add("items", store.Row{"sku": "TWO", "name": "Two", "unit_cost": "1"})
		ship(one, "100")
		class := func(want string) {
			t.Helper()
			k.call("inventory-plan", "abc=true").is("items.0.suggested_abc_class", `"`+want+`"`)
		}
		class("A")
		ship(two, "10000")
		class("C")
		k.table = functions.Table(functions.Deps{Store: k.s, Now: func() time.Time { return k.now }, Dear: 1})
		class("C")
		ship(one, "100000")
		ship(two, "900000")
		k.function("inventory-plan").Forget(south)
		class("A") // by the cuts of before
		k.function("inventory-plan").Forget(north)
		class("C")
		ship(one, "2000000")
		ship(two, "40000000")
		class("A")
		k.now = k.now.Add(time.Minute)
		class("C")
	})
}

// Two of three counts find what the books say; two people pick six lines each in a shift
// of four hours, a thirteenth is picked by nobody.
func TestWarehouseKPIs(t *testing.T) {
	each(t, func(k *kit) {
		bin := k.add("zones", store.Row{"code": "A", "name": "A"})
		item := k.add("items", store.Row{"sku": "A", "name": "A"})
		k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": "10"})
		k.call("warehouse-kpis", "").is("kpis", `{"count_accuracy":null,"counts":0,"counts_with_variance":0,"lines_per_hour":null,`+
			`"lines_picked":0,"lines_sampled":0,"lines_without_shift":0,"owners_stock_value":0,"pick_hours":0,"stock_value":0,`+
			`"stock_value_as_of":null,"stock_value_basis":"average_cost","suppressed":0}`)
		for _, n := range []string{"10", "9", "9"} {
			k.add("stock_counts", store.Row{"zone_id": bin, "item_id": item, "counted": n})
		}
		k.add("zones", store.Row{"code": "STAGE", "name": "Staging", "kind": "staging"})
		k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": "90"})
		picker := k.add("workers", store.Row{"employee_no": "1", "name": "Ada"})
		k.add("shifts", store.Row{"worker_id": picker, "started_at": "2026-03-01T08:00:00Z",
			"ended_at": "2026-03-01T12:00:00Z"},
			store.Row{"worker_id": picker, "started_at": "2026-02-28T08:00:00Z",
				"ended_at": "2026-02-28T12:00:00Z"}) // without picking
		mate := k.add("workers", store.Row{"employee_no": "2", "name": "Bo"})
		k.add("shifts", store.Row{"worker_id": mate, "started_at": "2026-03-01T08:00:00Z",
			"ended_at": "2026-03-01T12:00:00Z"})
		k.now = moment("2026-03-01T10:00:00Z")
		var list string
		for _, who := range []any{picker, mate, nil} {
			list = k.add("pick_lists", store.Row{"assigned_worker_id": who})
			var lines []string
			for i := range 6 {
				lines = append(lines, k.add("pick_lines", store.Row{"pick_list_id": list, "seq": int64(i + 1), "zone_id": bin,
					"item_id": item, "qty": "2"}))
			}
			k.set("pick_lists", list, store.Row{"status": "released"})
			for i, line := range lines {
				switch {
				case who != nil && i == 5:
					k.set("pick_lines", line, store.Row{"status": "short", "qty_picked": "1"})
				case who != nil || i == 0:
					k.set("pick_lines", line, store.Row{"status": "picked"})
				}
			}
		}
		k.now = moment("2026-03-01T12:00:00Z")
		// A rate of few is theirs, and is shown where the tenant says that two are enough: a
		// tenant that once said that one is has said so.
		k.call("warehouse-kpis", "").is("kpis.lines_per_hour", "null", "kpis.pick_hours", "null", "kpis.suppressed", "1")
		k.add("settings", store.Row{"section": "scoring", "key": "min_group", "value": json.RawMessage("1")})
		n := k.call("warehouse-kpis", "")
		n.is("date_range_days", "30", "kpis", `{"count_accuracy":66.7,"counts":3,"counts_with_variance":1,"lines_per_hour":1.5,`+
			`"lines_picked":13,"lines_sampled":13,"lines_without_shift":1,"owners_stock_value":0,"pick_hours":8,"stock_value":0,`+
			`"stock_value_as_of":null,"stock_value_basis":"average_cost","suppressed":0}`)
		// Older lines than are looked at for the rate are counted all the same.
		k.bulkPicks(list, bin, item, 20_000, moment("2026-03-01T07:00:00Z"))
		k.call("warehouse-kpis", "days=29").is("kpis.lines_picked", "20013", "kpis.lines_sampled", "20000",
			"kpis.lines_without_shift", "19988",
			"kpis.lines_per_hour", "1.5")
		k.now = k.now.AddDate(0, 0, 2)
		k.call("warehouse-kpis", "days=1").is("kpis.counts", "0", "kpis.lines_picked", "0")
		k.as.TenantID = south
		k.call("warehouse-kpis", "").is("kpis.counts", "0", "kpis.lines_picked", "0")
	})
}

// bulkPicks writes n picked lines past the store.
func (k *kit) bulkPicks(list, zone, item string, n int, at time.Time) {
	k.Helper()
	column := func(name, kind string) db.Column { return db.Column{Name: name, Type: kind} }
	err := k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		rows := tx.InsertMany("pick_lines", []db.Column{column("tenant_id", "uuid"), column("id", "uuid"),
			column("pick_list_id", "uuid"), column("zone_id", "uuid"),
			column("item_id", "uuid"), column("seq", "bigint"),
			column("qty", "bigint"), column("qty_picked", "bigint"), column("status", "text"),
			column("picked_at", "timestamptz"),
			column("created_at", "timestamptz"), column("updated_at", "timestamptz"), column("version", "bigint")}, "")
		for i := range n {
			if err := rows.Add(k.as.TenantID, uuid.NewString(), list, zone, item, 1000+i, decimal.One, decimal.One, "picked",
				at, at, at, 1); err != nil {
				return err
			}
		}
		return rows.Send()
	})
	if err != nil {
		k.Fatal(err)
	}
}
