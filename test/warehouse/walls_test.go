package warehouse_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// orderAt makes a draft of one line, of a type and of a site.
func (s *twoSites) orderAt(place, kind string, q float64) (order, line string) {
	s.t.Helper()
	row := map[string]any{"type": kind, "party_name": "Walls"}
	if place != "" {
		row["site_id"] = s.sites[place]
	}
	order = s.k.Insert(s.t, s.as, "orders", row)
	return order, s.k.Insert(s.t, s.as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": s.item,
		"qty_ordered": q})
}

// confirmed confirms an order.
func (s *twoSites) confirmed(order string) string {
	s.t.Helper()
	s.say("confirm_order", map[string]any{"order_id": order}, 200, nil)
	return order
}

// bySite is what lies at each place, and how often something moved.
func (s *twoSites) bySite() string {
	s.t.Helper()
	return s.rows("stock_levels?select=zone_id,quantity,reserved&quantity=gt.0&item_id=eq."+s.item+"&order=zone_id") +
		s.rows("stock_movements?select=count()&item_id=eq."+s.item)
}

// No verb carries goods of Hamburg to Berlin, and none takes goods in at Berlin that an
// order of Hamburg is for. Each is refused in words that name the field, and nothing moves.
func TestVerbsStayAtTheirSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		bins := map[string]string{}
		for _, place := range at {
			bins[place] = s.zone(place, "BIN", nil)
			s.stock(bins[place], 50)
		}
		bought, _ := s.orderAt("HH", "inbound", 5)
		s.confirmed(bought)
		sold, _ := s.orderAt("HH", "outbound", 12)
		_, picks := s.released(sold)
		s.say("pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 4}, 200, nil)
		back, backLine := s.orderAt("HH", "return", 2)
		s.confirmed(back)
		var in struct {
			Tasks []struct{ ID string } `json:"putaway_tasks"`
		}
		s.say("receive", map[string]any{"zone_id": s.docks["HH"],
			"lines": []any{map[string]any{"item_id": s.item, "quantity": 3}}}, 200, &in)
		moved := func(kind string) map[string]any {
			return map[string]any{"type": kind, "item_id": s.item, "from_zone_id": bins["HH"], "to_zone_id": bins["B"],
				"quantity": 1}
		}
		goods := []any{map[string]any{"item_id": s.item, "quantity": 1}}
		for _, c := range []struct {
			path  string
			in    map[string]any
			want  int
			field string
		}{
			{"rpc/receive", map[string]any{"order_id": bought, "zone_id": s.docks["B"], "lines": goods}, 409, "zone_id"},
			{"rpc/receive_return", map[string]any{"order_id": back, "lines": []any{map[string]any{
				"order_line_id": backLine, "quantity": 1, "disposition": "quarantine", "reason": "x", "zone_id": bins["B"]}}}, 409,
				"lines[0].zone_id"},
			{"rpc/put_away", map[string]any{"task_id": in.Tasks[0].ID, "to_zone_id": bins["B"]}, 400, "to_zone_id"},
			{"rpc/put_away", map[string]any{"item_id": s.item, "quantity": 1, "from_zone_id": bins["HH"],
				"to_zone_id": bins["B"]}, 400, "to_zone_id"},
			{"rpc/pick_line", map[string]any{"pick_line_id": picks[0], "quantity": 1, "to_zone_id": s.lanes["B"]}, 400,
				"to_zone_id"},
			{"rpc/short_pick", map[string]any{"pick_line_id": picks[0], "found": 5, "reason": "x", "to_zone_id": s.lanes["B"]},
				400, "to_zone_id"},
			{"rpc/unpick", map[string]any{"pick_line_id": picks[0], "quantity": 1, "to_zone_id": bins["B"]}, 400, "to_zone_id"},
			{"stock_movements", moved("putaway"), 400, "to_zone_id"},
			{"stock_movements", moved("replenish"), 400, "to_zone_id"},
			{"stock_movements", moved("pick"), 400, "to_zone_id"},
			{"stock_movements", moved("unpick"), 400, "to_zone_id"},
			{"stock_movements", moved("pack"), 400, "to_zone_id"},
			{"replenish_rules", map[string]any{"item_id": s.item, "pick_zone_id": bins["HH"], "source_zone_id": bins["B"],
				"min_qty": 1, "max_qty": 5}, 400, "source_zone_id"},
		} {
			before := s.bySite()
			r := k.Post(s.as, "/v1/"+c.path, c.in)
			if body := string(r.Body); r.Status != c.want || !strings.Contains(body, "site") ||
				!strings.Contains(body, c.field) {
				t.Errorf("%s %v: %d %s, want %d and %s", c.path, c.in, r.Status, body, c.want, c.field)
			}
			if after := s.bySite(); after != before {
				t.Errorf("%s was refused and moved goods: %s, was %s", c.path, after, before)
			}
		}
		s.say("receive", map[string]any{"order_id": bought, "zone_id": s.docks["HH"], "lines": goods}, 200, nil)
		k.Verified(t)
	})
}

type transferProposal struct {
	From, To string
	Quantity float64
	Promised bool
}

// allocate says what of an order is promised and what a transfer would bring.
func (s *twoSites) allocate(order string) (reserved float64, why string, proposals []transferProposal) {
	s.t.Helper()
	var out struct {
		Order struct {
			Qty float64 `json:"qty_allocated"`
		}
		Short     []struct{ Why string }
		Transfers []struct {
			From     string `json:"from_site_id"`
			To       string `json:"to_site_id"`
			Quantity float64
			Promised bool
		}
	}
	s.say("allocate_order", map[string]any{"order_id": order}, 200, &out)
	names := map[string]string{}
	for name, id := range s.sites {
		names[id] = name
	}
	for _, p := range out.Transfers {
		proposals = append(proposals, transferProposal{names[p.From], names[p.To], p.Quantity, p.Promised})
	}
	for _, short := range out.Short {
		why += short.Why
	}
	return out.Order.Qty, why, proposals
}

// What an order of a site lacks and another site has is proposed for a transfer. Where the
// tenant lets orders go across sites it is promised there, after what its own site has; an
// order of no site takes goods of all. Lists are walked at one site each.
func TestOrdersAcrossSites(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		s.stock(s.zone("HH", "BIN", nil), 10)
		s.stock(s.zone("B", "BIN", nil), 6)
		order, _ := s.orderAt("HH", "outbound", 14)
		s.confirmed(order)
		got, why, proposals := s.allocate(order)
		if want := "[{B HH 4 false}]"; got != 10 || fmt.Sprint(proposals) != want ||
			!strings.Contains(why, "6 lie elsewhere") {
			t.Errorf("an order of Hamburg: %v, %q, %v, want %s", got, why, proposals, want)
		}
		k.Insert(t, testkit.As(actor.Admin), "settings", map[string]any{"section": "picking", "key": "orders_across_sites",
			"value": true})
		if r := k.Post(s.as, "/v1/rpc/deallocate_order", map[string]any{"order_id": order}); r.Status != http.StatusOK {
			t.Fatalf("deallocate: %d %s", r.Status, r.Body)
		}
		got, _, proposals = s.allocate(order)
		if want := "[{B HH 4 true}]"; got != 14 || fmt.Sprint(proposals) != want {
			t.Errorf("across sites: %v, %v, want %s", got, proposals, want)
		}
		other, _ := s.orderAt("", "outbound", 2)
		s.confirmed(other)
		var out struct {
			Lines []struct {
				List string `json:"pick_list_id"`
				Zone string `json:"zone_id"`
			}
		}
		s.say("release_picks", map[string]any{"order_ids": []string{order, other}, "method": "batch"}, 200, &out)
		s.oneSiteEach()
		if len(out.Lines) != 3 {
			t.Errorf("lines: %+v", out.Lines)
		}
		k.Verified(t)
	})
}

// Two lines of an order that lack the same goods are proposed what another site has once.
func TestTransfersAreProposedOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		s.stock(s.zone("B", "BIN", nil), 6)
		order, _ := s.orderAt("HH", "outbound", 4)
		k.Insert(t, s.as, "order_lines", map[string]any{
			"order_id": order, "line_no": 2, "item_id": s.item, "qty_ordered": 4})
		s.confirmed(order)

		if _, _, proposals := s.allocate(order); fmt.Sprint(proposals) != "[{B HH 4 false} {B HH 2 false}]" {
			t.Errorf("8 are lacking and Berlin has 6: %v", proposals)
		}
	})
}

// strays are statements that find work that leads from one site to another.
var strays = map[string]string{
	"goods carried to another site": "SELECT m.id FROM stock_movements m JOIN zones a ON a.tenant_id = $1 AND a.id = m.from_zone_id " +
		"JOIN zones b ON b.tenant_id = $1 AND b.id = m.to_zone_id WHERE m.tenant_id = $1 AND m.type <> 'transfer' AND a.site_id <> b.site_id",
	"a list of two sites": "SELECT p.pick_list_id FROM pick_lines p JOIN zones z ON z.tenant_id = $1 AND z.id = p.zone_id " +
		"JOIN pick_lines q ON q.tenant_id = $1 AND q.pick_list_id = p.pick_list_id JOIN zones y ON y.tenant_id = $1 AND y.id = q.zone_id " +
		"WHERE p.tenant_id = $1 AND z.site_id <> y.site_id",
	"an order that is promised another site's goods": "SELECT o.id FROM orders o JOIN order_lines l ON l.tenant_id = $1 AND l.order_id = o.id " +
		"JOIN reservations r ON r.tenant_id = $1 AND r.order_line_id = l.id JOIN zones z ON z.tenant_id = $1 AND z.id = r.zone_id " +
		"WHERE o.tenant_id = $1 AND o.party_name = 'Walls' AND z.site_id <> o.site_id",
	"a task to another site": "SELECT t.id FROM putaway_tasks t JOIN zones a ON a.tenant_id = $1 AND a.id = t.from_zone_id " +
		"JOIN zones b ON b.tenant_id = $1 AND b.id = t.to_zone_id WHERE t.tenant_id = $1 AND a.site_id <> b.site_id",
	"a refill from another site": "SELECT t.id FROM replenish_tasks t JOIN zones a ON a.tenant_id = $1 AND a.id = t.from_zone_id " +
		"JOIN zones b ON b.tenant_id = $1 AND b.id = t.to_zone_id WHERE t.tenant_id = $1 AND a.site_id <> b.site_id",
}

// found is the first row that a statement finds, "" for none.
func (s *twoSites) found(text string) (id string) {
	s.t.Helper()
	if ids := s.all(text + " LIMIT 1"); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// all are the rows that a statement finds.
func (s *twoSites) all(text string) (ids []string) {
	s.t.Helper()
	testkit.Must(s.t, s.k.App.DB.Read(s.t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
		return tx.Query(text, []any{demo.North}, func(r *db.Row) error { ids = append(ids, r.Text(0)); return nil })
	}))
	return ids
}

// oneSiteEach holds lists to one site each.
func (s *twoSites) oneSiteEach() {
	s.t.Helper()
	if id := s.found(strays["a list of two sites"]); id != "" {
		s.t.Errorf("list %s is of two sites", id)
	}
}

// Whatever is said in whatever order at two sites, work leads from none to the other.
func TestRandomWorkStaysAtItsSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		r := rand.New(rand.NewPCG(7, 7))
		var zones []string
		for _, place := range []string{"HH", "B"} {
			zones = append(zones, s.docks[place], s.lanes[place])
			for n := range 3 {
				zones = append(zones, s.zone(place, fmt.Sprint("BIN", n), map[string]any{"max_capacity": 500, "x": n}))
			}
			s.stock(zones[len(zones)-1], 30)
			k.Insert(t, s.as, "replenish_rules", map[string]any{"item_id": s.item, "pick_zone_id": zones[len(zones)-2],
				"min_qty": 20, "max_qty": 40})
		}
		taken := map[string]int{}
		act := func(verb string, in map[string]any) {
			a := k.Post(s.as, "/v1/rpc/"+verb, in)
			if a.Status >= 500 {
				t.Errorf("%s %v: %d %s", verb, in, a.Status, a.Body)
			}
			if a.Status == http.StatusOK {
				taken[verb]++
			}
		}
		of := func(text string) string {
			ids := s.all(text + " ORDER BY id")
			if len(ids) == 0 {
				return ""
			}
			return ids[r.IntN(len(ids))]
		}
		const mine = " AND order_line_id IN (SELECT l.id FROM order_lines l JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id " +
			"WHERE l.tenant_id = $1 AND o.party_name = 'Walls')"
		const orders = "SELECT id FROM orders WHERE tenant_id = $1 AND party_name = 'Walls' AND type = "
		for range 150 {
			place, zone, other := []string{"HH", "B"}[r.IntN(2)], zones[r.IntN(len(zones))], zones[r.IntN(len(zones))]
			switch r.IntN(11) {
			case 0:
				order, _ := s.orderAt(place, "inbound", 9)
				s.confirmed(order)
			case 1:
				act("receive", map[string]any{"order_id": of(orders + "'inbound'"), "zone_id": s.docks[place],
					"lines": []any{map[string]any{"item_id": s.item, "quantity": 1 + r.IntN(5)}}})
			case 2:
				act("put_away", map[string]any{"task_id": of(
					"SELECT id FROM putaway_tasks WHERE tenant_id = $1 AND status = 'open'"), "to_zone_id": other})
			case 3:
				act("put_away", map[string]any{"item_id": s.item, "quantity": 1, "from_zone_id": zone, "to_zone_id": other})
			case 4:
				act("plan_replenishment", map[string]any{})
				act("replenish", map[string]any{"task_id": of(
					"SELECT id FROM replenish_tasks WHERE tenant_id = $1 AND status = 'open'")})
			case 5, 6:
				order, _ := s.orderAt(place, "outbound", float64(1+r.IntN(30)))
				s.confirmed(order)
			case 7:
				act("release_picks", map[string]any{"order_ids": []string{of(orders + "'outbound'"), of(orders + "'outbound'")},
					"method": "batch"})
			case 8:
				act("pick_line", map[string]any{"pick_line_id": of(
					"SELECT id FROM pick_lines WHERE tenant_id = $1 AND status = 'pending'" + mine),
					"quantity": 1, "to_zone_id": zone})
			case 9:
				act("short_pick", map[string]any{"pick_line_id": of(
					"SELECT id FROM pick_lines WHERE tenant_id = $1 AND status = 'pending'" + mine), "found": 1, "reason": "x"})
			case 10:
				act("unpick", map[string]any{"pick_line_id": of(
					"SELECT id FROM pick_lines WHERE tenant_id = $1 AND qty_picked > 0" + mine), "quantity": 1, "to_zone_id": other})
			}
		}
		for what, text := range strays {
			if id := s.found(text); id != "" {
				t.Errorf("%s: %s", what, id)
			}
		}
		for _, verb := range []string{"receive", "put_away", "replenish", "release_picks", "pick_line", "unpick"} {
			if taken[verb] == 0 {
				t.Errorf("%s was never taken: the test says nothing of it", verb)
			}
		}
		k.Verified(t)
	})
}

// The walk of a list with lines at two sites adds the walks at each: no distance leads
// from one to the other, also where their coordinates are far apart. No list is written
// so, but its zones may come to other sites afterwards.
func TestWalksEndAtTheWall(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		list := k.Insert(t, s.as, "pick_lists", map[string]any{})
		var berlin []string
		seq := 0
		for n, x := range []int{1, 11} {
			for _, place := range []string{"HH", "B"} {
				seq++
				zone := s.zone(place, fmt.Sprint("WALK", n), map[string]any{"site_id": s.sites["HH"],
					"x": x + map[string]int{"HH": 0, "B": 5000}[place], "y": 1})
				k.Insert(t, s.as, "pick_lines", map[string]any{"pick_list_id": list, "seq": seq, "zone_id": zone, "item_id": s.item,
					"qty": 1})
				if place == "B" {
					berlin = append(berlin, zone)
				}
			}
		}
		for _, zone := range berlin {
			s.patched("zones/"+zone, map[string]any{"site_id": s.sites["B"]}, 200)
		}
		var walk struct {
			Metres float64 `json:"distance_m"`
			Before float64 `json:"distance_before_m"`
			Lines  []struct {
				Code string `json:"zone_code"`
			}
		}
		r := k.Post(s.as, "/functions/v1/plan-pick-path?pick_list_id="+list, nil)
		r.JSON(t, &walk)
		var codes []string
		for _, l := range walk.Lines {
			codes = append(codes, l.Code)
		}
		if got := strings.Join(codes, " "); r.Status != 200 || got != "WALK0-HH. WALK1-HH. WALK0-B. WALK1-B." {
			t.Errorf("%d %s: %s", r.Status, r.Body, got)
		}
		if walk.Metres > 100 || walk.Before > 100 || walk.Metres < 20 {
			t.Errorf("%v m, before %v m, want 40 at most", walk.Metres, walk.Before)
		}
	})
}

// A new order has a site: the tenant's only one, or that of the setting, unless it names
// one. What lies in zones without a site is at the only site of a tenant that has one.
func TestOrdersHaveASite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := "admin@south.example"
		site := testkit.List[struct{ ID string }](t, k, manager, "sites?select=id")[0].ID
		item := k.Insert(t, manager, "items", map[string]any{"sku": "WALL-1", "name": "Goods"})
		bare := k.Insert(t, manager, "zones", map[string]any{"code": "WALL-BARE", "name": "Bare"})
		k.Insert(t, manager, "stock_movements", map[string]any{"type": "receipt", "item_id": item, "to_zone_id": bare,
			"quantity": 5})
		order := k.Insert(t, manager, "orders", map[string]any{"party_name": "Walls"})
		k.Insert(t, manager, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": item,
			"qty_ordered": 5})
		k.Say(t, manager, "confirm_order", map[string]any{"order_id": order}, 200, nil)
		type placed struct {
			Site *string `json:"site_id"`
			Qty  float64 `json:"qty_allocated"`
		}
		read := func(as, id string) placed {
			return testkit.List[placed](t, k, as, "orders?select=site_id,qty_allocated&id=eq."+id)[0]
		}
		if got := read(manager, order); got.Site == nil || *got.Site != site || got.Qty != 5 {
			t.Errorf("at a tenant with one site: %+v, want %s and 5", got, site)
		}

		s := newTwoSites(t, k, map[string]any{})
		several, _ := s.order(1)
		if got := read(s.as, several); got.Site != nil {
			t.Errorf("at a tenant with several: %+v", *got.Site)
		}
		setting := map[string]any{"section": "picking", "key": "default_site", "value": "NOWHERE"}
		if r := k.Post(testkit.As(actor.Admin), "/v1/settings", setting); r.Status != http.StatusUnprocessableEntity {
			t.Errorf("a site that there is not: %d %s", r.Status, r.Body)
		}
		setting["value"] = "s-b"
		k.Insert(t, testkit.As(actor.Admin), "settings", setting)
		usual, _ := s.order(1)
		if got := read(s.as, usual); got.Site == nil || *got.Site != s.sites["B"] {
			t.Errorf("with the setting: %+v, want %s", got, s.sites["B"])
		}
		named, _ := s.orderAt("HH", "outbound", 1)
		if got := read(s.as, named); got.Site == nil || *got.Site != s.sites["HH"] {
			t.Errorf("one that names its site: %+v", got)
		}
	})
}

// Two tasks never fill one place beyond what it holds: goods on their way count.
func TestRoomOnItsWay(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newTwoSites(t, k, map[string]any{})
		first := s.zone("HH", "ROOM1", map[string]any{"max_capacity": 10, "x": 1})
		second := s.zone("HH", "ROOM2", map[string]any{"max_capacity": 10, "x": 2})
		type task struct {
			ID string
			To string `json:"to_zone_id"`
		}
		receive := func(q float64) task {
			var in struct {
				Tasks []task `json:"putaway_tasks"`
			}
			s.say("receive", map[string]any{"zone_id": s.docks["HH"],
				"lines": []any{map[string]any{"item_id": s.item, "quantity": q}}}, 200, &in)
			return in.Tasks[0]
		}
		suggest := func(more map[string]any) string {
			in := map[string]any{"item_id": s.item, "quantity": 6, "from_zone_id": s.docks["HH"]}
			for name, v := range more {
				in[name] = v
			}
			var out struct {
				Zones []struct{ Zone struct{ ID string } }
			}
			s.say("suggest_putaway", in, 200, &out)
			if len(out.Zones) == 0 {
				return ""
			}
			return out.Zones[0].Zone.ID
		}
		one, two, three := receive(6), receive(6), receive(6)
		if one.To != first || two.To != second || three.To != "" {
			t.Fatalf("tasks to %v, want %s, %s and no place", []task{one, two, three}, first, second)
		}
		if got := suggest(nil); got != "" {
			t.Errorf("%s is suggested, which a task fills", got)
		}
		if got := suggest(map[string]any{"task_id": one.ID}); got != first {
			t.Errorf("for the task itself %q, want %s", got, first)
		}
		s.say("put_away", map[string]any{"task_id": one.ID, "to_zone_id": first}, 200, nil)
		s.say("put_away", map[string]any{"task_id": two.ID, "to_zone_id": second}, 200, nil)
		s.is("zones?select=load_units&id=in.("+first+","+second+")", `[{"load_units":6},{"load_units":6}]`)
		k.Verified(t)
	})
}
