package app_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
	"holdfast/internal/warehouse"
)

// misuse is a verb that is said rightly at a stage of work, and how it is said wrongly. Members
// are path=value, a value the name of something of the scene. A wrong site, owner or shipment is
// what the input has instead. Twice is the same call again, without an idempotency key; ended the
// call after what it is about was cancelled or delivered. An answer is refused, or the same: 200,
// and nothing has moved. A cell that makes no sense is "- " and why. No verb takes a version: each
// locks what it changes and reads it then.
type misuse struct{ verb, stage, in, site, owner, shipment, twice, ended string }

const (
	ordersSite  = "- the order says its site"
	ordersGoods = "- the order says whose goods"
	linesSite   = "- the line says where"
	linesGoods  = "- the line says whose goods"
	noShipment  = "- it is of no shipment"
	namesIt     = "- it names the shipment alone"
	noOrder     = "- it is of no order"
	noSite      = "- it is of no site"
	noGoods     = "- it is of no goods"
	asks        = "- it asks, and changes nothing"
)

var misuses = []misuse{
	{"confirm_order", "draft", "order_id=order", ordersSite, ordersGoods, noShipment, "refused", "refused"},
	{"allocate_order", "confirmed", "order_id=order", ordersSite, ordersGoods, noShipment, "same", "refused"},
	{"allocate_open", "confirmed", "site_id=near", "- it takes orders of a site", "- it takes all orders", noShipment,
		"same", "same"},
	{"deallocate_order", "confirmed", "order_id=order order_line_id=line", ordersSite, ordersGoods,
		"order_line_id=other.line", "same", "same"},
	{"hold_order", "confirmed", "order_id=order reason=x", ordersSite, ordersGoods, noShipment, "same", "refused"},
	{"resume_order", "held", "order_id=order", ordersSite, ordersGoods, noShipment, "refused", "refused"},
	{"cancel_order", "confirmed", "order_id=order", ordersSite, ordersGoods, noShipment, "same", "same"},
	{"close_order", "part left", "order_id=order", ordersSite, ordersGoods, noShipment, "refused", "- it is the end"},
	{"plan_wave", "confirmed", "order_ids[]=order", ordersSite, ordersGoods, noShipment, "refused", "refused"},
	{"release_picks", "confirmed", "order_ids[]=order", ordersSite, ordersGoods, noShipment, "refused", "refused"},
	{"claim_pick_list", "released", "pick_list_id=list", linesSite, linesGoods, noShipment, "same", "refused"},
	{"next_task", "released", "", "- it looks for work", "- it looks for work", noShipment, "same", "same"},
	{"pick_line", "released", "pick_line_id=pick quantity=4 to_zone_id=lane", "to_zone_id=far.lane", linesGoods,
		noShipment, "refused", "refused"},
	{"short_pick", "released", "pick_line_id=pick found=3 reason=x to_zone_id=lane", "to_zone_id=far.lane", linesGoods,
		noShipment, "refused", "refused"},
	{"unpick", "picked", "pick_line_id=pick quantity=4 to_zone_id=bin", "to_zone_id=far.bin", linesGoods,
		noShipment, "refused", "refused"},
	{"pack", "on a shipment", "shipment_id=shipment lines[].order_line_id=line lines[].quantity=4",
		"- it stays where it is", linesGoods, "lines[].order_line_id=other.line lines[].quantity=4", "refused",
		"refused"},
	{"unpack", "packed", "package_id=package lines[].order_line_id=line lines[].quantity=4", "- it stays where it is",
		linesGoods, "package_id=other.package lines[].order_line_id=line lines[].quantity=4", "refused", "refused"},
	{"close_package", "packed", "package_id=package", "- it stays where it is", linesGoods,
		"- it names the package alone",
		"refused", "refused"},
	{"create_shipment", "picked", "lines[].order_line_id=line lines[].quantity=4", ordersSite, ordersGoods,
		"lines[].order_line_id=shipped.line lines[].quantity=4", "refused", "refused"},
	{"dispatch", "ready", "shipment_id=shipment", ordersSite, ordersGoods, namesIt, "refused", "refused"},
	{"deliver", "left", "shipment_id=shipment proof.name=Gate", ordersSite, ordersGoods,
		"lines[].order_line_id=other.line lines[].short=1", "refused", "refused"},
	{"report_exception", "left", "shipment_id=shipment code=REFUSED", ordersSite, ordersGoods, namesIt, "same",
		"refused"},
	{"return_shipment", "left", "shipment_id=shipment", ordersSite, ordersGoods, namesIt, "same", "refused"},
	{"plan_route", "fleet", "date=2100-01-01 driver_id=driver vehicle_id=vehicle shipment_ids[]=shipment", ordersSite,
		ordersGoods, namesIt, "refused", "refused"},
	{"start_route", "routed", "route_id=route vehicle_id=vehicle odometer_km=900000", noSite, noGoods, namesIt,
		"refused",
		"refused"},
	{"finish_route", "driven", "route_id=route odometer_km=900001", noSite, noGoods, namesIt, "refused",
		"- its stops are delivered"},
	{"receive", "bought", "order_id=order zone_id=dock lines[].order_line_id=line lines[].quantity=4",
		"zone_id=far.dock", "lines[].item_id=theirs lines[].quantity=4",
		"lines[].order_line_id=other.line lines[].quantity=4",
		"refused", "refused"},
	{"receive_return", "back", "order_id=back lines[].order_line_id=back.line lines[].quantity=4 " +
		"lines[].disposition=restock lines[].zone_id=bin", "lines[].order_line_id=back.line lines[].quantity=4 " +
		"lines[].disposition=restock lines[].zone_id=far.bin", ordersGoods,
		"lines[].order_line_id=other.line lines[].quantity=4 lines[].disposition=restock lines[].zone_id=bin",
		"refused",
		"- it is what ends the order"},
	{"suggest_putaway", "docked", "item_id=item quantity=4 from_zone_id=dock", asks, asks, asks, "same", asks},
	{"put_away", "docked", "task_id=task to_zone_id=bin", "to_zone_id=far.bin", "- the task says whose goods",
		noShipment,
		"refused", "- the order has ended when all came"},
	{"move_stock", "alone", "item_id=item from_zone_id=alone to_zone_id=bin quantity=4",
		"from_zone_id=far.bin",
		"owner_id=two", noShipment, "refused", noOrder},
	{"move_plate", "plate", "lpn=plate to_zone_id=bin", "- a plate goes where it is carried",
		"- the plate says whose goods",
		noShipment, "refused", noOrder},
	{"plan_replenishment", "ruled", "rule_ids[]=rule", "- the rule says its site", "- the rule says its item",
		noShipment,
		"same", noOrder},
	{"replenish", "refill", "task_id=refill", "- the task says where", "- the task says whose goods", noShipment,
		"refused",
		noOrder},
	{"adjust_stock", "alone", "item_id=item zone_id=alone quantity=-4 reason_code=lost", "zone_id=far.bin",
		"owner_id=two",
		noShipment, "refused", noOrder},
	{"approve_adjustment", "doubted", "adjustment_id=doubt reason=x", "- it says where", "- it says whose goods",
		noShipment,
		"refused", noOrder},
	{"reject_adjustment", "doubted", "adjustment_id=doubt reason=x", "- it says where", "- it says whose goods",
		noShipment,
		"refused", noOrder},
	{"start_count", "alone", "zone_id=alone item_id=item", "- any place is counted", "- all that lies there is counted",
		noShipment, "refused", noOrder},
	{"enter_count", "counting", "count_task_id=count lines[].item_id=item lines[].counted=4", "- the task says where",
		"- found is what is found, whose it ever is", noShipment, "refused", noOrder},
	{"approve_count", "counted", "count_task_id=count reason=x", "- the task says where", "- it says whose goods",
		noShipment,
		"refused", noOrder},
	{"recount", "counted", "count_task_id=count reason=x", "- the task says where", "- it says whose goods", noShipment,
		"refused", noOrder},
	{"recall_lot", "lot", "lot_id=lot reason=x", "- a lot is recalled everywhere", "- of all owners", noShipment,
		"same",
		noOrder},
	{"owner_activity", "alone", "owner_id=two from=2026-01-01 to=2026-01-02", asks, asks, asks, "same", asks},
	{"owner_stock", "alone", "owner_id=two", asks, asks, asks, "same", asks},
	{"scan", "alone", "code=M-1", asks, asks, asks, "same", asks},
}

// unfit are words of the database, which nobody can do anything about.
var unfit = regexp.MustCompile(`(?i)constraint|violates|out of range for|sqlstate|\b\w+_(key|fkey|check)\b|` +
	`\b(bigint|numeric|varchar|integer)\b|null value|duplicate key`)

// Every verb of the warehouse that is said of another site, owner or shipment, twice, or after
// the end, gets one clear answer, and moves nothing.
func TestVerbsSaidWrongly(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		furnish(t, k)
		stated := map[string]bool{}
		s := newScene(t, k)
		for _, m := range misuses {
			stated[m.verb] = true
			s.leadTo(m.stage)
			right := s.readInput(m.in)
			for what, cell := range map[string]string{"site": m.site, "owner": m.owner, "shipment": m.shipment} {
				if !strings.HasPrefix(cell, "- ") {
					wrong := s.readInput(m.in)
					for name, v := range s.readInput(cell) {
						wrong[name] = v
					}
					s.checkRefusal(m.verb, "of another "+what, wrong, "refused")
				}
			}
			for name, v := range s.listStrange(m.verb, right) {
				s.checkRefusal(m.verb, "of another tenant's "+name, v, "refused")
			}
			if r := k.Post(s.asOf(m.verb), "/v1/rpc/"+m.verb, right); r.Status != 200 {
				t.Errorf("%s %v: %d %s, want 200", m.verb, right, r.Status, r.Body)
			}
			s.checkRefusal(m.verb, "twice", right, m.twice)
			if !strings.HasPrefix(m.ended, "- ") {
				s.leadTo(m.stage)
				s.endWork()
				s.checkRefusal(m.verb, "after the end", s.readInput(m.in), m.ended)
			}
		}
		for _, v := range warehouse.Verbs() {
			if !stated[v.Name] {
				t.Errorf("the table does not say how %s is said wrongly", v.Name)
			}
		}
		k.Verified(t)
	})
}

// checkRefusal says a verb wrongly and holds its answer to what a cell says.
func (s *scene) checkRefusal(verb, how string, in map[string]any, cell string) {
	s.t.Helper()
	before := s.sumBooks()
	r := s.k.Post(s.asOf(verb), "/v1/rpc/"+verb, in)
	isRight := r.Status/100 == 4 && strings.HasPrefix(string(r.Body), `{"code":"`)
	if cell == "same" {
		isRight = r.Status == 200
	}
	if after := s.sumBooks(); !isRight || after != before || unfit.Match(r.Body) && r.Status != 200 {
		s.t.Errorf("%s %s %v: %d %s, want %s; before %s, after %s", verb, how, in, r.Status, r.Body, cell, before,
			after)
	}
}

// sumBooks are the totals of what lies in the warehouse and of what has moved.
func (s *scene) sumBooks() (out string) {
	s.t.Helper()
	for _, sum := range []string{
		"SELECT COALESCE(SUM(quantity), 0), COALESCE(SUM(reserved), 0) FROM stock_levels",
		"SELECT COALESCE(SUM(quantity), 0), COUNT(*) FROM stock_movements",
		"SELECT COALESCE(SUM(quantity), 0), COUNT(*) FROM package_lines",
	} {
		testkit.Must(s.t, s.k.App.DB.Read(s.t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.One(sum, nil, func(r *db.Row) error {
				out += fmt.Sprint(r.Text(0), " ", r.Text(1), "; ")
				return nil
			})
		}))
	}
	return out
}

// asOf is who says a verb: a second person lets through what the first has done.
func (s *scene) asOf(verb string) string {
	if verb == "approve_adjustment" || verb == "reject_adjustment" || verb == "approve_count" || verb == "recount" {
		return testkit.As(actor.Admin)
	}
	return s.as
}
