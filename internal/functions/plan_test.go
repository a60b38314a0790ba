package functions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"holdfast/internal/fault"
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
			zone[aisle.code] = k.add("zones", store.Row{"code": aisle.code, "name": aisle.code, "kind": "aisle", "parent_id": area, "x": aisle.x})
			for _, y := range []string{"0", "2", "6", "17", "18", "20"} {
				rack := k.add("zones", store.Row{"code": aisle.code + y, "name": y, "kind": "rack", "parent_id": zone[aisle.code], "x": aisle.x, "y": y})
				zone[aisle.code+y] = k.add("zones", store.Row{"code": aisle.code + y + "-1", "name": y, "parent_id": rack, "x": aisle.x, "y": y, "z": "1.6"})
			}
		}
		dock := k.add("zones", store.Row{"code": "DOCK", "name": "Dock", "kind": "dock", "parent_id": area, "x": "10", "y": "-2"})
		nowhere := k.add("zones", store.Row{"code": "NEW", "name": "Not placed yet"})
		item := k.add("items", store.Row{"sku": "A", "name": "A"})
		list := k.add("pick_lists", store.Row{})
		for i, code := range []string{"NEW", "B6", "A2", "B17", "A18", "B6"} {
			at := zone[code]
			if code == "NEW" {
				at = nowhere
			}
			k.add("pick_lines", store.Row{"pick_list_id": list, "seq": int64(10 * (i + 1)), "zone_id": at, "item_id": item, "qty": fmt.Sprint(i + 1)})
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
		k.call("plan-pick-path", "apply=true&pick_list_id="+list+"&start_zone_id="+dock).is("applied", "true", "distance_m", "52")
		k.call("plan-pick-path", "pick_list_id="+list+"&start_zone_id="+dock).is("distance_before_m", "52", "saved_m", "0")

		// A line that is picked keeps its place.
		first := n.at("lines.0.id").(string)
		k.set("pick_lists", list, store.Row{"status": "released"})
		k.set("pick_lines", first, store.Row{"status": "picked"})
		k.call("plan-pick-path", "apply=true&pick_list_id="+list+"&start_zone_id="+zone["B"]).is("lines.#", "5", "lines.0.seq", "20")

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
			row := store.Row{"origin": depot, "destination": place(lat, lon), "packages": raw(`[{"weight_kg":100},{"weight_kg":100.5},{}]`)}
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
		n.is("routes.#", "1", "routes.0.stops.#", "4", "distance_km", km(8*deg), "distance_before_km", km(20*deg), "saved_km", km(20*deg-8*deg),
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
		n.is("applied", "false", "routes.#", "1", "routes.0.stops.1.lat", "1", "routes.0.stops.1.lon", "1", "routes.0.stops.1.stop_seq", "2")
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
