package app_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// scene is a warehouse of two sites and two owners in which work stands at some stage. What an
// input can name has its name in at.
type scene struct {
	t  *testing.T
	k  *testkit.Kit
	as string
	at map[string]string
	n  int // scenes so far
}

func newScene(t *testing.T, k *testkit.Kit) *scene {
	t.Helper()
	s := &scene{t: t, k: k, as: testkit.As(actor.Manager), at: map[string]string{}}
	for far, code := range map[string]string{"": "MN", "far.": "MF"} {
		s.at[far+"near"] = k.Insert(t, testkit.As(actor.Admin), "sites", map[string]any{"code": code, "name": code})
		for _, kind := range []string{"dock", "bin", "staging"} {
			name := map[string]string{"staging": "lane"}[kind]
			if name == "" {
				name = kind
			}
			s.at[far+name] = s.addZone(code+"-"+kind, kind, far)
		}
	}
	s.at["two"] = k.Insert(t, s.as, "goods_owners", map[string]any{"code": "M-TWO", "name": "Two"})
	s.at["item"] = k.Insert(t, s.as, "items", map[string]any{"sku": "M-1", "name": "Goods", "unit_cost": 1})
	s.at["gold"] = k.Insert(t, s.as, "items", map[string]any{"sku": "M-3", "name": "Gold", "unit_cost": 100000})
	s.at["theirs"] = k.Insert(t, s.as, "items", map[string]any{"sku": "M-2", "name": "Theirs", "owner_id": s.at["two"]})
	s.addStock("item", "bin", 5000)
	s.addStock("theirs", "bin", 100)
	for _, u := range demo.Users() {
		if u.Email == s.as {
			worker := k.Insert(t, s.as, "workers", map[string]any{"employee_no": "M-W", "name": "Who picks"})
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/members?user_id=eq." + u.ID,
				As: testkit.As(actor.Admin), Body: map[string]any{"worker_id": worker}})
			if r.Status/100 != 2 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
	}
	return s
}

func (s *scene) addZone(code, kind, far string) string {
	s.t.Helper()
	return s.k.Insert(s.t, s.as, "zones", map[string]any{"code": code, "name": code, "kind": kind,
		"site_id": s.at[far+"near"]})
}

func (s *scene) addStock(item, zone string, quantity int) {
	s.t.Helper()
	row := map[string]any{"type": "receipt", "item_id": s.at[item], "to_zone_id": s.at[zone], "quantity": quantity}
	if item == "theirs" {
		row["owner_id"] = s.at["two"]
	}
	s.k.Insert(s.t, s.as, "stock_movements", row)
}

// addFleet has a driver and a vehicle for the work.
func (s *scene) addFleet() {
	s.t.Helper()
	no := fmt.Sprint("M-", s.n)
	worker := s.k.Insert(s.t, s.as, "workers", map[string]any{"employee_no": no, "name": "Driver"})
	s.at["driver"] = s.k.Insert(s.t, s.as, "drivers", map[string]any{"worker_id": worker})
	s.at["vehicle"] = s.k.Insert(s.t, s.as, "vehicles", map[string]any{"plate": no})
}

// readInput reads an input: path=value, separated by spaces. Members in brackets are of one element.
func (s *scene) readInput(text string) map[string]any {
	in := map[string]any{}
	for _, member := range strings.Fields(text) {
		path, value, _ := strings.Cut(member, "=")
		var v any = value
		if id := s.at[value]; id != "" {
			v = id
		} else if strings.Trim(value, "-0123456789") == "" && !strings.Contains(value[1:], "-") {
			v = jsonNumber(value)
		}
		list, inner, isList := strings.Cut(path, "[]")
		outer, name, isNested := strings.Cut(path, ".")
		switch {
		case isList && inner == "":
			in[list] = []any{v}
		case isList:
			if in[list] == nil {
				in[list] = []any{map[string]any{}}
			}
			in[list].([]any)[0].(map[string]any)[inner[1:]] = v
		case isNested:
			in[outer] = map[string]any{name: v}
		default:
			in[path] = v
		}
	}
	return in
}

func jsonNumber(text string) (n int) {
	_, _ = fmt.Sscan(text, &n)
	return n
}

// listStrange is an input with another tenant's id in the place of each of its own.
func (s *scene) listStrange(verb string, in map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, v := range s.k.App.Verbs() {
		if v.Name != verb {
			continue
		}
		of := reflect.TypeOf(v.In)
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if in[name] == nil || of.Field(i).Tag.Get("names") == "" {
				continue
			}
			var value any = s.k.Foreign(s.t, of.Field(i).Tag.Get("names"))
			if of.Field(i).Type.Kind() == reflect.Slice {
				value = []any{value}
			}
			out[name] = map[string]any{}
			for n, v := range in {
				out[name][n] = v
			}
			out[name][name] = value
		}
	}
	return out
}

// leadTo makes new work and leads it to a stage.
func (s *scene) leadTo(stage string) {
	s.t.Helper()
	s.n++
	for _, other := range []string{"shipped.", "other.", ""} {
		until := stage
		if other == "shipped." {
			until = "on a shipment"
		}
		s.leadOrder(other, until)
	}
	if add := s.listMakers()[stage]; add != nil {
		add()
	}
}

// outward are the stages of an order that leaves.
var outward = []string{"draft", "confirmed", "released", "picked", "on a shipment", "packed", "ready", "left"}

// until is how far an order is led for stages that go on from one of those.
var until = map[string]string{"held": "confirmed", "back": "left", "fleet": "ready",
	"routed": "ready", "driven": "ready"}

// leadOrder leads an order of 4 through the stages up to one of them.
func (s *scene) leadOrder(other, stage string) {
	s.t.Helper()
	if stage == "bought" {
		s.addOrder(other, map[string]any{"type": "inbound"}, 4)
		s.sayRightly("confirm_order", "order_id="+other+"order", nil)
		return
	}
	carrier := "carrier=PARCEL "
	if until[stage] == "ready" {
		carrier = "" // the own fleet goes on a route
	}
	if end := until[stage]; end != "" {
		stage = end
	}
	for _, step := range outward {
		var out struct {
			Shipment, Package struct{ ID string }
			Lists             []struct{ ID string } `json:"pick_lists"`
			Lines             []struct{ ID string }
		}
		switch step {
		case "draft":
			s.addOrder(other, map[string]any{}, 4)
		case "confirmed":
			s.sayRightly("confirm_order", "order_id="+other+"order", nil)
		case "released":
			s.sayRightly("release_picks", "order_ids[]="+other+"order", &out)
			s.at[other+"list"], s.at[other+"pick"] = out.Lists[0].ID, out.Lines[0].ID
		case "picked":
			s.sayRightly("pick_line", "pick_line_id="+other+"pick quantity=4 to_zone_id=lane", nil)
		case "on a shipment":
			s.sayRightly("create_shipment", carrier+"lines[].order_line_id="+other+"line lines[].quantity=4", &out)
			s.at[other+"shipment"] = out.Shipment.ID
		case "packed":
			s.sayRightly("pack",
				"shipment_id="+other+"shipment lines[].order_line_id="+other+"line lines[].quantity=4", &out)
			s.at[other+"package"] = out.Package.ID
		case "ready":
			s.sayRightly("close_package", "package_id="+other+"package", nil)
		case "left":
			s.sayRightly("dispatch", "shipment_id="+other+"shipment", nil)
		}
		if step == stage || !isOutward(stage) {
			break
		}
	}
}

func isOutward(stage string) bool {
	for _, s := range outward {
		if s == stage {
			return true
		}
	}
	return false
}

// addOrder makes an order of the near site of one line of the house's goods.
func (s *scene) addOrder(other string, row map[string]any, quantity int) {
	s.t.Helper()
	row["party_name"], row["site_id"] = "Misused", s.at["near"]
	s.at[other+"order"] = s.k.Insert(s.t, s.as, "orders", row)
	s.at[other+"line"] = s.k.Insert(s.t, s.as, "order_lines", map[string]any{"order_id": s.at[other+"order"],
		"line_no": 1, "item_id": s.at["item"], "qty_ordered": quantity})
}

// sayRightly says a verb rightly.
func (s *scene) sayRightly(verb, in string, out any) {
	s.t.Helper()
	s.k.Say(s.t, s.as, verb, s.readInput(in), 200, out)
}

// listMakers make what work other than an order's needs, by its stage.
func (s *scene) listMakers() map[string]func() {
	var out struct {
		Route, Approval struct{ ID string }
		Return          struct{ ID string }   `json:"return_order"`
		Count           struct{ ID string }   `json:"count_task"`
		Tasks           []struct{ ID string } `json:"putaway_tasks"`
		Refills         []struct{ ID string } `json:"tasks"`
	}
	alone := func() {
		s.at["alone"] = s.addZone(fmt.Sprint("M-ALONE-", s.n), "bin", "")
		s.addStock("item", "alone", 4)
	}
	counting := func() {
		alone()
		s.addStock("gold", "alone", 4)
		s.sayRightly("start_count", "zone_id=alone", &out)
		s.at["count"] = out.Count.ID
	}
	ruled := func() {
		s.at["face"] = s.addZone(fmt.Sprint("M-FACE-", s.n), "bin", "")
		s.at["rule"] = s.k.Insert(s.t, s.as, "replenish_rules", map[string]any{"item_id": s.at["item"],
			"pick_zone_id": s.at["face"], "source_zone_id": s.at["bin"], "min_qty": 1, "max_qty": 4})
	}
	routed := func() {
		s.addFleet()
		day := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
		s.sayRightly("plan_route", "date="+day+" driver_id=driver vehicle_id=vehicle shipment_ids[]=shipment", &out)
		s.at["route"] = out.Route.ID
	}
	return map[string]func(){
		"held":     func() { s.sayRightly("hold_order", "order_id=order reason=x", nil) },
		"alone":    alone,
		"counting": counting,
		"ruled":    ruled,
		"routed":   routed,
		"fleet":    s.addFleet,
		"plate": func() {
			s.at["plate"] = fmt.Sprint("M-PLATE-", s.n)
			s.sayRightly("receive", "zone_id=dock lines[].item_id=item lines[].quantity=4 lines[].lpn=plate", nil)
		},
		"docked": func() {
			s.sayRightly("receive", "zone_id=dock lines[].item_id=item lines[].quantity=4", &out)
			s.at["task"] = out.Tasks[0].ID
		},
		"refill": func() {
			ruled()
			s.sayRightly("plan_replenishment", "rule_ids[]=rule", &out)
			s.at["refill"] = out.Refills[0].ID
		},
		"doubted": func() {
			s.sayRightly("adjust_stock", "item_id=gold zone_id=bin quantity=4 reason_code=found", &out)
			s.at["doubt"] = out.Approval.ID
		},
		"counted": func() {
			counting()
			s.sayRightly("enter_count", "count_task_id=count lines[].item_id=item lines[].counted=4", nil)
		},
		"lot": func() {
			s.at["lot"] = s.k.Insert(s.t, s.as, "lots", map[string]any{"item_id": s.at["item"],
				"lot_no": fmt.Sprint("M-", s.n)})
		},
		"driven": func() {
			routed()
			s.sayRightly("start_route", "route_id=route vehicle_id=vehicle odometer_km=900000", nil)
			s.sayRightly("deliver", "shipment_id=shipment proof.name=Gate", nil)
		},
		"back": func() {
			s.sayRightly("return_shipment", "shipment_id=shipment", &out)
			s.at["back"] = out.Return.ID
			s.at["back.line"] = testkit.List[struct{ ID string }](s.t, s.k, s.as,
				"order_lines?select=id&order_id=eq."+out.Return.ID)[0].ID
		},
		"part left": func() {
			s.addOrder("", map[string]any{}, 8)
			s.sayRightly("confirm_order", "order_id=order", nil)
			var made struct {
				Lines             []struct{ ID string }
				Shipment, Package struct{ ID string }
			}
			s.sayRightly("release_picks", "order_ids[]=order", &made)
			s.at["pick"] = made.Lines[0].ID
			s.sayRightly("pick_line", "pick_line_id=pick quantity=4 to_zone_id=lane", nil)
			s.sayRightly("create_shipment", "carrier=PARCEL lines[].order_line_id=line lines[].quantity=4", &made)
			s.at["shipment"] = made.Shipment.ID
			s.sayRightly("pack", "shipment_id=shipment lines[].order_line_id=line lines[].quantity=4", &made)
			s.at["package"] = made.Package.ID
			s.sayRightly("close_package", "package_id=package", nil)
			s.sayRightly("dispatch", "shipment_id=shipment", nil)
		},
	}
}

// endWork ends what the work is about: what has left is delivered, the rest cancelled.
func (s *scene) endWork() {
	s.t.Helper()
	status := testkit.List[struct{ Status, Stage string }](s.t, s.k, s.as,
		"orders?select=status,stage&id=eq."+s.at["order"])
	switch {
	case len(status) == 0:
	case status[0].Stage == "shipped":
		s.sayRightly("deliver", "shipment_id=shipment proof.name=Gate", nil)
	case status[0].Status == "in_progress":
		s.sayRightly("hold_order", "order_id=order reason=x", nil)
		s.sayRightly("cancel_order", "order_id=order", nil)
	default:
		s.sayRightly("cancel_order", "order_id=order", nil)
	}
}
