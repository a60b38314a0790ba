package warehouse_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// fleet is a driver who signs in, another, and two trucks.
type fleet struct {
	*goods
	driver, other, truck, second string
	as                           string // the driver's account
}

func newFleet(t *testing.T, k *testkit.Kit) *fleet {
	t.Helper()
	f := &fleet{goods: newGoods(t, k, map[string]any{}), as: testkit.As(actor.Driver)}
	f.bin("G-A", 100, "")
	var mine []struct{ ID string }
	k.Get(f.as, "/v1/drivers?select=id").JSON(t, &mine)
	if len(mine) != 1 {
		t.Fatalf("the driver sees %d drivers, want himself", len(mine))
	}
	f.driver = mine[0].ID
	worker := k.Insert(t, f.goods.as, "workers", map[string]any{"employee_no": "R-1", "name": "Other"})
	f.other = k.Insert(t, f.goods.as, "drivers", map[string]any{"worker_id": worker})
	f.truck = k.Insert(t, f.goods.as, "vehicles", map[string]any{"plate": "R-1", "odometer_km": 1000, "payload_kg": 100})
	f.second = k.Insert(t, f.goods.as, "vehicles", map[string]any{"plate": "R-2"})
	return f
}

// ready is a shipment of the own fleet whose goods are packed, to a place on a
// line east of where it begins, so many degrees away; 0 = nobody knows where.
func (f *fleet) ready(east float64) string {
	f.t.Helper()
	order, line := f.order(1)
	_, picks := f.released(order)
	f.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 1, "to_zone_id": f.lane}, 200, nil)
	sh := f.consigned(line, 1, map[string]any{"carrier": ""})
	f.packed(sh, line, 1)
	if east > 0 {
		f.patch("shipments/"+sh, map[string]any{"origin": map[string]any{"lat": 50, "lon": 8},
			"destination": map[string]any{"lat": 50, "lon": 8 + east}}, 200)
	}
	return sh
}

func (f *fleet) patch(path string, set map[string]any, want int) string {
	f.t.Helper()
	return f.patchAs(f.goods.as, path, set, want)
}

func (f *fleet) patchAs(as, path string, set map[string]any, want int) string {
	f.t.Helper()
	r := f.k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + path, As: as, Body: set})
	if r.Status != want {
		f.t.Fatalf("%s %v: %d %s, want %d", path, set, r.Status, r.Body, want)
	}
	return string(r.Body)
}

func (f *fleet) plan(more map[string]any) map[string]any {
	in := map[string]any{"date": time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly), "driver_id": f.driver,
		"vehicle_id": f.truck}
	for name, v := range more {
		in[name] = v
	}
	return in
}

// route plans one and returns its id and its stops.
func (f *fleet) route(more map[string]any) (id string, stops []string) {
	f.t.Helper()
	var out struct {
		Route struct{ ID string }
		Stops []struct{ ID string }
	}
	f.say("plan_route", f.plan(more), 200, &out)
	for _, s := range out.Stops {
		stops = append(stops, s.ID)
	}
	return out.Route.ID, stops
}

// The stops of a route come in a short order, those of unknown places last; it
// takes what the own fleet may still take, within the payload, and its driver and
// vehicle are those of its shipments until it is cancelled.
func TestPlanRoute(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newFleet(t, k)
		far, lost, near, mid := f.ready(0.9), f.ready(0), f.ready(0.1), f.ready(0.5)
		parcel, _ := f.order(1)
		f.say("confirm_order", map[string]any{"order_id": parcel}, 200, nil)
		var made struct{ Shipment struct{ ID string } }
		f.say("create_shipment", map[string]any{"order_ids": []string{parcel}, "carrier": "PARCEL"}, 200, &made)
		all := []string{near, far, lost, mid}
		for name, c := range map[string]struct {
			set    map[string]any
			status int
		}{
			"date":         {map[string]any{"date": "2020-01-01"}, 400},
			"shipment_ids": {map[string]any{"shipment_ids": []string{}}, 400},
			"twice":        {map[string]any{"shipment_ids": []string{near, near}}, 400},
			"PARCEL":       {map[string]any{"shipment_ids": []string{made.Shipment.ID}}, 409},
		} {
			in := f.plan(map[string]any{"shipment_ids": all})
			for n, v := range c.set {
				in[n] = v
			}
			if r := f.say("plan_route", in, c.status, nil); !strings.Contains(string(r.Body), name) {
				t.Errorf("want %s: %s", name, r.Body)
			}
		}
		f.patch("shipments/"+mid, map[string]any{"packages": []any{map[string]any{"weight_kg": 101}}}, 200)
		if r := f.say("plan_route", f.plan(map[string]any{"shipment_ids": all}), 409, nil); !strings.Contains(string(r.Body),
			"vehicle_id carries 100 kg") {
			t.Errorf("too heavy: %s", r.Body)
		}
		f.patch("shipments/"+mid, map[string]any{"packages": []any{map[string]any{"weight_kg": 90}}}, 200)
		id, stops := f.route(map[string]any{"shipment_ids": all})
		there, back := fmt.Sprint([]string{near, mid, far, lost}), fmt.Sprint([]string{far, mid, near, lost})
		if got := fmt.Sprint(stops); got != there && got != back {
			t.Errorf("stops %s, want %s or back", got, there)
		}
		f.is("routes?select=status,planned_km,driver_id,vehicle_id&id=eq."+id,
			`[{"status":"planned","planned_km":128.7,"driver_id":"`+f.driver+`","vehicle_id":"`+f.truck+`"}]`)
		f.is("shipments?select=stop_seq,driver_id,vehicle_id&order=stop_seq.desc&limit=1&route_id=eq."+id,
			`[{"stop_seq":4,"driver_id":"`+f.driver+`","vehicle_id":"`+f.truck+`"}]`)
		if r := f.say("plan_route", f.plan(map[string]any{"shipment_ids": []string{far}}), 409,
			nil); !strings.Contains(string(r.Body), "on a route already") {
			t.Errorf("twice: %s", r.Body)
		}
		if r := f.patch("shipments/"+far, map[string]any{"driver_id": f.other}, 409); !strings.Contains(r,
			"driver_id is that of the route") {
			t.Errorf("another driver: %s", r)
		}
		f.patch("routes/"+id, map[string]any{"status": "started"}, 403)
		f.patch("routes/"+id, map[string]any{"status": "finished"}, 409)
		f.patch("routes/"+id, map[string]any{"status": "cancelled"}, 200)
		f.is("shipments?select=id&route_id=eq."+id, `[]`)
		f.is("shipments?select=stop_seq&id=eq."+far, `[{"stop_seq":null}]`)
		f.patch("shipments/"+far, map[string]any{"driver_id": f.other}, 200)
	})
}

// A driver starts his own route at its vehicle, whose odometer never runs back;
// what may leave does, the rest comes off the route and is told why. The route
// ends when no stop is open, and driver and vehicle are out until then.
func TestDriveRoute(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newFleet(t, k)
		one, two := f.ready(0.2), f.ready(0.1)
		order, _ := f.order(1)
		f.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
		var made struct{ Shipment struct{ ID string } }
		f.say("create_shipment", map[string]any{"order_ids": []string{order}}, 200, &made)
		bare := made.Shipment.ID
		id, _ := f.route(map[string]any{"shipment_ids": []string{one, two, bare}})
		theirs, _ := f.route(map[string]any{"shipment_ids": []string{f.ready(0)}, "driver_id": f.other,
			"vehicle_id": f.second})
		next, _ := f.route(map[string]any{"shipment_ids": []string{f.ready(0)}})
		idle := f.statuses()

		if got := k.Get(f.as, "/v1/routes?select=id&id=in.("+id+","+theirs+")"); string(got.Body) != `[{"id":"`+id+`"}]` {
			t.Errorf("the driver's routes: %s", got.Body)
		}
		start := func(as string, set map[string]any, want int, names string) testkit.Response {
			t.Helper()
			in := map[string]any{"route_id": id, "vehicle_id": f.truck, "odometer_km": 1000}
			for n, v := range set {
				in[n] = v
			}
			r := k.Say(t, as, "start_route", in, want, nil)
			if !strings.Contains(string(r.Body), names) {
				t.Errorf("start %v: %s, want %s", set, r.Body, names)
			}
			return r
		}
		start(f.as, map[string]any{"route_id": theirs}, 404, "route_id")
		start(f.as, map[string]any{"vehicle_id": f.second}, 409, "vehicle_id")
		start(f.as, map[string]any{"odometer_km": 999.9}, 409, "odometer_km")
		f.patch("vehicles/"+f.truck, map[string]any{"status": "maintenance"}, 200)
		start(f.as, nil, 409, "the vehicle is maintenance")
		f.is("routes?select=status,started_at&id=eq."+id, `[{"status":"planned","started_at":null}]`)
		f.patch("vehicles/"+f.truck, map[string]any{"status": "in_service"}, 200)
		f.is("vehicles?select=odometer_km&id=eq."+f.truck, `[{"odometer_km":1000}]`)

		var out struct {
			Route     struct{ Status string }
			Shipments []struct {
				ID      string `json:"shipment_id"`
				OK      bool
				Reasons []string
			}
		}
		start(f.as, map[string]any{"odometer_km": 1010.5}, 200, "").JSON(t, &out)
		for _, s := range out.Shipments {
			if s.OK == (s.ID == bare) || s.OK != (len(s.Reasons) == 0) {
				t.Errorf("started: %+v", s)
			}
		}
		if len(out.Shipments) != 3 || out.Route.Status != "started" {
			t.Errorf("started: %+v", out)
		}
		f.is("shipments?select=status,route_id,stop_seq&id=eq."+bare,
			`[{"status":"planned","route_id":null,"stop_seq":null}]`)
		f.is("routes?select=status,odometer_start_km,distance_km&id=eq."+id,
			`[{"status":"started","odometer_start_km":1010.5,"distance_km":null}]`)
		f.out(true)
		start(f.as, nil, 409, "is started")
		start(f.as, map[string]any{"route_id": next, "odometer_km": 2000}, 409, "is out on route")

		finish := func(as string, odometer any, want int, names string) {
			t.Helper()
			r := k.Say(t, as, "finish_route", map[string]any{"route_id": id, "odometer_km": odometer}, want, nil)
			if !strings.Contains(string(r.Body), names) {
				t.Errorf("finish: %s, want %s", r.Body, names)
			}
		}
		now := time.Now().UTC()
		f.patchAs(f.as, "shipments/"+bare, map[string]any{"arrived_at": now.Format(time.RFC3339)}, 409)
		f.patchAs(f.as, "shipments/"+one, map[string]any{"arrived_at": now.Add(time.Hour).Format(time.RFC3339)}, 400)
		f.patchAs(f.as, "shipments/"+one, map[string]any{"arrived_at": now.Add(-time.Minute).Format(time.RFC3339)}, 200)
		reached := f.rows("shipments?select=arrived_at&id=eq." + one)
		finish(f.as, 1100, 409, "open")
		k.Say(t, f.as, "deliver", map[string]any{"shipment_id": one}, 200, nil)
		f.is("shipments?select=arrived_at&id=eq."+one, reached)
		finish(f.as, 1100, 409, "1 stops of the route are open")
		k.Say(t, f.as, "report_exception", map[string]any{"shipment_id": two, "code": "REFUSED"}, 200, nil)
		f.is("shipments?select=id&arrived_at=not.is.null&id=eq."+two, `[{"id":"`+two+`"}]`)
		f.out(true)
		finish(f.as, 1010, 409, "odometer_km")
		k.Say(t, f.as, "finish_route", map[string]any{"route_id": id, "odometer_km": 1100, "driving_min": 60}, 400, nil)
		finish(testkit.As(actor.Manager), 1100, 200, "finished")
		finish(f.as, 1200, 409, "is finished")
		f.is("routes?select=distance_km&finished_at=not.is.null&id=eq."+id, `[{"distance_km":89.5}]`)
		f.is("vehicles?select=odometer_km,on_trip&id=eq."+f.truck, `[{"odometer_km":1100,"on_trip":false}]`)
		if got := f.statuses(); got != idle {
			t.Errorf("driver and vehicle are %s, were %s", got, idle)
		}
		k.Verified(t)
	})
}

func (f *fleet) statuses() string {
	return f.rows("drivers?select=status&id=eq."+f.driver) + f.rows("vehicles?select=on_trip&id=eq."+f.truck)
}

func (f *fleet) out(is bool) {
	f.t.Helper()
	f.is("vehicles?select=on_trip&id=eq."+f.truck, fmt.Sprintf(`[{"on_trip":%v}]`, is))
	f.is("drivers?select=status&id=eq."+f.driver, `[{"status":"on_trip"}]`)
}

// Two who start a driver's two routes at once: one is out, the other waits.
func TestOneRouteAtATime(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newFleet(t, k)
		first, _ := f.route(map[string]any{"shipment_ids": []string{f.ready(0)}})
		second, _ := f.route(map[string]any{"shipment_ids": []string{f.ready(0)}})
		k.Token(f.goods.as)
		got := make(chan int, 2)
		for _, id := range []string{first, second} {
			go func() {
				got <- k.Post(f.goods.as, "/v1/rpc/start_route",
					map[string]any{"route_id": id, "vehicle_id": f.truck, "odometer_km": 1000}).Status
			}()
		}
		if a, b := <-got, <-got; a+b != 200+409 {
			t.Errorf("%d and %d, want one of them 200 and one 409", a, b)
		}
		f.is("routes?select=status&order=status&id=in.("+first+","+second+")", `[{"status":"planned"},{"status":"started"}]`)
	})
}

// A route keeps its driver and vehicle out though each of its stops is delivered:
// they are back when it is finished.
func TestRouteKeepsItsCrewOut(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newFleet(t, k)
		stop := f.ready(0)
		id, _ := f.route(map[string]any{"shipment_ids": []string{stop}, "driver_id": f.other})
		f.say("start_route", map[string]any{"route_id": id, "vehicle_id": f.truck, "odometer_km": 1000}, 200, nil)
		f.say("deliver", map[string]any{"shipment_id": stop, "proof": map[string]any{"name": "Receiver"}}, 200, nil)
		f.is("shipments?select=status&id=eq."+stop, `[{"status":"delivered"}]`)
		crew := func(driver, truck string) {
			t.Helper()
			f.is("drivers?select=status&id=eq."+f.other, `[{"status":"`+driver+`"}]`)
			f.is("vehicles?select=on_trip&id=eq."+f.truck, `[{"on_trip":`+truck+`}]`)
		}
		crew("on_trip", "true")
		f.say("finish_route", map[string]any{"route_id": id, "odometer_km": 1001}, 200, nil)
		crew("available", "false")
	})
}

// A driver who has driven all day is warned when the next route starts, or refused
// where the tenant wants that, by the regulation and only while it is in force; the
// hours are those at the wheel. The check of rules says the same of the driver.
func TestDriversHours(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := newFleet(t, k)
		day, _ := f.route(map[string]any{"shipment_ids": []string{f.ready(0)}})
		next, _ := f.route(map[string]any{"shipment_ids": []string{f.ready(0)}})
		now := time.Now().UTC()
		drove := func(minutes any) {
			t.Helper()
			testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
				_, err := tx.Exec("UPDATE routes SET status = 'finished', started_at = $3, finished_at = $4, driving_min = $5 WHERE tenant_id = $1 AND id = $2",
					demo.North, day, now.Add(-11*time.Hour), now.Add(-30*time.Minute), minutes)
				return err
			}))
		}
		set := func(value any, want int) {
			t.Helper()
			r := k.Call(testkit.Request{Method: "POST", Path: "/v1/settings?on_conflict=key", As: testkit.As(actor.Admin),
				Header: map[string]string{"Prefer": "resolution=merge-duplicates"},
				Body:   map[string]any{"section": "safety", "key": "drivers_hours", "value": value}})
			if r.Status/100 != want {
				t.Fatalf("drivers_hours %v: %d %s", value, r.Status, r.Body)
			}
		}
		try := map[string]any{"route_id": next, "vehicle_id": f.truck, "odometer_km": 1000, "dry_run": true}
		warned := func(articles ...string) {
			t.Helper()
			var out struct{ Warnings []string }
			k.Say(t, f.as, "start_route", try, 200, &out)
			all := strings.Join(out.Warnings, "; ")
			for _, a := range articles {
				if !strings.Contains(all, a) {
					t.Errorf("warnings %q, want %s", all, a)
				}
			}
			if len(out.Warnings) != len(articles) || out.Warnings == nil {
				t.Errorf("warnings %q, want %d", all, len(articles))
			}
		}
		warned()
		drove(nil)
		warned("10.5 h since the last daily rest, of 10.0 h: (EC) 561/2006 art. 6(1)", "art. 7")
		k.Call(testkit.Request{Method: "POST", Path: "/functions/v1/check-compliance-rules", As: testkit.As(actor.Safety),
			Body: map[string]any{}})
		for code, want := range map[string]string{"EU-561-9H": `"breach","value":10.5`,
			"EU-561-45MIN": `"breach","value":10.5`} {
			got := k.Get(testkit.As(actor.Safety),
				"/v1/compliance_events?select=status,value,regulations!inner(code)&entity_id=eq."+f.driver+"&regulations.code=eq."+code)
			if !strings.Contains(string(got.Body), want) {
				t.Errorf("%s of the driver: %s, want %s", code, got.Body, want)
			}
		}
		set("never", 4)
		set("refuse", 2)
		if r := k.Say(t, f.as, "start_route", try, 409, nil); !strings.Contains(string(r.Body), "HF024") ||
			!strings.Contains(string(r.Body), "art. 6(1)") {
			t.Errorf("refused: %s", r.Body)
		}
		drove(200)
		warned()
		drove(nil)
		set("off", 2)
		warned()
		set("warn", 2)
		warned("art. 6(1)", "art. 7")
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/regulations?code=like.EU-561-*",
			As:   testkit.As(actor.Admin),
			Body: map[string]any{"status": "retired"}}); r.Status/100 != 2 {
			t.Fatalf("retire: %d %s", r.Status, r.Body)
		}
		warned()
	})
}
