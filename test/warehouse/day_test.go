package warehouse_test

import (
	"fmt"
	"net/http"
	"sort"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// workday is a day's work on the demonstration, said by verbs.
type workday struct {
	t             *testing.T
	k             *testkit.Kit
	manager, op   string
	dock, staging string
	site          string   // of both
	orders        []string // outbound
	cities        map[string][]string
	shipments     []string
}

// made inserts rows and returns them as they are.
func made[T any](t *testing.T, k *testkit.Kit, as, collection string, rows []map[string]any) []T {
	t.Helper()
	r := k.Call(testkit.Request{Method: "POST", Path: "/v1/" + collection, As: as, Body: rows,
		Header: map[string]string{"Prefer": "return=representation"}})
	if r.Status != http.StatusCreated {
		t.Fatalf("%s: %d %s", collection, r.Status, r.Body)
	}
	var out []T
	r.JSON(t, &out)
	return out
}

type dayLine struct {
	ID      string
	Order   string  `json:"order_id"`
	Item    string  `json:"item_id"`
	Ordered float64 `json:"qty_ordered"`
	Picked  float64 `json:"qty_picked"`
	Shipped float64 `json:"qty_shipped"`
}

type dayItem struct {
	ID, SKU, Tracking string
	Class             string  `json:"storage_class"`
	Available         float64 `json:"available"`
	Cost              float64 `json:"unit_cost"`
	MinDays           int     `json:"min_remaining_days"`
}

// A day on the demonstration: forty lines come in and are put away, sixty orders
// are promised what expires first, picked in waves with shorts, packed, shipped by
// route and delivered; two come back, a bin is counted, a lot is recalled. All of
// it agrees with the ledger afterwards, and dashboards with the collections.
func TestScriptedDay(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		d := &workday{t: t, k: k, manager: testkit.As(actor.Manager), op: testkit.As(actor.Operator),
			cities: map[string][]string{}}
		zone := func(filter string) string {
			return testkit.List[struct{ ID string }](t, k, d.manager,
				"zones?select=id&limit=1&order=code&status=eq.active&"+filter)[0].ID
		}
		d.dock, d.staging = zone("code=eq.RCV-L1"), zone("code=eq.SHP-L1")
		d.site = testkit.List[struct {
			Site string `json:"site_id"`
		}](t, k, d.manager, "zones?select=site_id&id=eq."+d.staging)[0].Site
		lot := d.receipts()
		d.sales(lot)
		d.firstExpiring()
		d.walks()
		d.trucks()
		d.comesBack()
		d.count()
		d.recall(lot)
		k.Verified(t)
		d.dashboards()
	})
}

// receipts takes forty lines in against a purchase order and puts all of it away.
// It returns the new lot of an item that expires.
func (d *workday) receipts() (lot string) {
	d.t.Helper()
	items := testkit.List[dayItem](d.t, d.k, d.manager,
		"items?select=id,sku,tracking,storage_class&status=eq.active&tracking=eq.none"+
			"&storage_class=eq.ambient&order=sku&limit=34")
	items = append(items, testkit.List[dayItem](d.t, d.k, d.manager,
		"items?select=id,sku,tracking,storage_class&status=eq.active&tracking=eq.lot&order=sku&limit=6")...)
	order := d.k.Insert(d.t, d.manager, "orders", map[string]any{"type": "inbound", "party_name": "Supplier",
		"site_id": d.site})
	var rows []map[string]any
	for i, it := range items {
		rows = append(rows, map[string]any{"order_id": order, "line_no": i + 1, "item_id": it.ID, "qty_ordered": 60})
	}
	lines := made[dayLine](d.t, d.k, d.manager, "order_lines", rows)
	d.k.Say(d.t, d.manager, "confirm_order", map[string]any{"order_id": order}, 200, nil)
	var in []any
	for i, l := range lines {
		line := map[string]any{"order_line_id": l.ID, "quantity": 60}
		if items[i].Tracking == "lot" {
			line["lot_no"], line["expires_on"] = "DAY-"+items[i].SKU, time.Now().UTC().AddDate(0, 0, 200).Format(time.DateOnly)
		}
		in = append(in, line)
	}
	var out receiptOut
	d.k.Say(d.t, d.op, "receive", map[string]any{"order_id": order, "zone_id": d.dock, "lines": in}, 200, &out)
	if out.Order.Status != "completed" || len(out.Movements) != 40 || len(out.Tasks) != 40 {
		d.t.Fatalf("received: %+v", out.Order)
	}
	bins := testkit.List[struct {
		ID    string
		Class string `json:"storage_class"`
	}](d.t, d.k, d.manager, "zones?select=id,storage_class&kind=eq.bin&status=eq.active&order=code")
	for i, task := range out.Tasks {
		put := map[string]any{"task_id": task.ID, "to_zone_id": task.To}
		if task.To == "" { // every bin of its class is full: the manager says why one takes it all the same
			for _, b := range bins {
				if b.Class == items[i].Class {
					put["to_zone_id"], put["override_reason"] = b.ID, "no other place"
				}
			}
		}
		d.k.Say(d.t, d.manager, "put_away", put, 200, nil)
	}
	return testkit.List[struct{ ID string }](d.t, d.k, d.manager, "lots?select=id&lot_no=eq.DAY-"+items[39].SKU)[0].ID
}

// sales takes sixty orders of what is free, three of them of the lot's item.
func (d *workday) sales(lot string) {
	d.t.Helper()
	of := testkit.List[struct {
		Item string `json:"item_id"`
	}](d.t, d.k, d.manager, "lots?select=item_id&id=eq."+lot)[0].Item
	items := d.lasting()
	if len(items) < 30 {
		d.t.Fatalf("only %d items have stock", len(items))
	}
	for i := range 60 {
		city := []string{"Kiel", "Bremen", "Berlin"}[i%3]
		order := d.k.Insert(d.t, d.manager, "orders", map[string]any{"party_name": "Customer " + city, "site_id": d.site,
			"promised_at": time.Now().UTC().AddDate(0, 0, 2),
			"ship_to":     map[string]any{"name": "Customer", "city": city, "country": "DE"}})
		rows := []map[string]any{{"order_id": order, "line_no": 1, "item_id": items[i%len(items)].ID, "qty_ordered": 3},
			{"order_id": order, "line_no": 2, "item_id": items[(i+11)%len(items)].ID, "qty_ordered": 2}}
		if i < 3 {
			rows = append(rows, map[string]any{"order_id": order, "line_no": 3, "item_id": of, "qty_ordered": 5})
		}
		made[dayLine](d.t, d.k, d.manager, "order_lines", rows)
		d.k.Say(d.t, d.manager, "confirm_order", map[string]any{"order_id": order}, 200, nil)
		d.orders = append(d.orders, order)
		d.cities[city] = append(d.cities[city], order)
	}
}

// lasting are items of which much is free, all of it good for long enough after
// the orders are due, whatever day it is.
func (d *workday) lasting() (out []dayItem) {
	d.t.Helper()
	type lasts struct {
		dayItem
		Lots []struct {
			Expires string `json:"expires_on"`
			Status  string
		}
	}
	for _, it := range testkit.List[lasts](d.t, d.k, d.manager,
		"items?select=id,sku,available,min_remaining_days,lots(expires_on,status)&status=eq.active&available=gte.30&order=sku&limit=200") {
		until, fit := time.Now().UTC().AddDate(0, 0, it.MinDays+4).Format(time.DateOnly), len(out) < 60
		for _, l := range it.Lots {
			fit = fit && (l.Status != "released" || l.Expires == "" || l.Expires > until)
		}
		if fit {
			out = append(out, it.dayItem)
		}
	}
	return out
}

// firstExpiring holds each promise of the day to the rule: no lot that is free and
// lasts long enough ends before the one that was promised.
func (d *workday) firstExpiring() {
	d.t.Helper()
	type promise struct {
		Item string `json:"item_id"`
		Lots *struct {
			Expires string `json:"expires_on"`
		}
	}
	lines := testkit.List[struct{ ID string }](d.t, d.k, d.manager,
		"order_lines?select=id&order_id=in.("+strings.Join(d.orders, ",")+")&limit=200")
	var ids []string
	for _, l := range lines {
		ids = append(ids, l.ID)
	}
	seen := 0
	for _, p := range testkit.List[promise](d.t, d.k, d.manager,
		"reservations?select=item_id,lots(expires_on)&limit=400&state=eq.active&order_line_id=in.("+strings.Join(ids,
			",")+")") {
		if p.Lots == nil {
			continue
		}
		seen++
		min := testkit.List[dayItem](d.t, d.k, d.manager, "items?select=id,min_remaining_days&id=eq."+p.Item)[0].MinDays
		lasts := time.Now().UTC().AddDate(0, 0, min+2).Format(time.DateOnly)
		for _, l := range testkit.List[struct {
			Quantity, Reserved float64
			Lots               struct {
				Expires string `json:"expires_on"`
				Status  string
			}
			Zones struct {
				Kind, Status string
				Site         string `json:"site_id"`
			}
		}](d.t, d.k, d.manager, "stock_levels?stock_status=eq.available&item_id=eq."+p.Item+
			"&select=quantity,reserved,lots!inner(expires_on,status),zones!inner(kind,status,site_id)") {
			isFree := l.Quantity > l.Reserved && l.Lots.Status == "released" && l.Zones.Status == "active" &&
				l.Zones.Kind == "bin"
			if isFree && l.Zones.Site == d.site && l.Lots.Expires > lasts && l.Lots.Expires < p.Lots.Expires {
				d.t.Errorf("promised a lot that ends on %s, while one of %s is free", p.Lots.Expires, l.Lots.Expires)
			}
		}
	}
	if seen == 0 {
		d.t.Error("nothing with a lot was promised")
	}
}

// walks releases all orders as waves and picks them; two bins hold one less.
func (d *workday) walks() {
	d.t.Helper()
	var out struct {
		Lists []struct{ ID string } `json:"pick_lists"`
		Lines []struct {
			ID   string
			List string `json:"pick_list_id"`
			Qty  float64
			Zone string `json:"zone_id"`
			Item string `json:"item_id"`
		}
	}
	d.k.Say(d.t, d.manager, "release_picks", map[string]any{"order_ids": d.orders, "method": "wave"}, 200, &out)
	if len(out.Lists) < 2 || len(out.Lines) < 120 {
		d.t.Fatalf("%d lists of %d lines", len(out.Lists), len(out.Lines))
	}
	for _, l := range out.Lists {
		d.k.Say(d.t, d.op, "claim_pick_list", map[string]any{"pick_list_id": l.ID}, 200, nil)
	}
	type short struct {
		Count struct {
			ID string
		} `json:"count_task"`
		Reallocated []struct{ ID string }
	}
	var shorts []short
	for _, l := range out.Lines {
		pick := map[string]any{"pick_line_id": l.ID, "to_zone_id": d.staging}
		if l.Qty == 3 && len(shorts) < 2 && (len(shorts) == 0 || l.List != out.Lines[0].List) {
			var s short
			pick["found"], pick["reason"] = l.Qty-1, "one was torn"
			d.k.Say(d.t, d.op, "short_pick", pick, 200, &s)
			shorts = append(shorts, s)
			continue
		}
		pick["quantity"] = l.Qty
		d.k.Say(d.t, d.op, "pick_line", pick, 200, nil)
	}
	if len(shorts) != 2 {
		d.t.Fatalf("%d shorts", len(shorts))
	}
	for _, s := range shorts {
		if s.Count.ID == "" {
			d.t.Error("a short pick asks for no count")
		}
	}
	ids := make([]string, len(out.Lists))
	for i, l := range out.Lists {
		ids[i] = l.ID
	}
	open := "pick_lines?select=id,qty,qty_picked&status=eq.pending&pick_list_id=in.(" + strings.Join(ids, ",") + ")"
	for _, l := range testkit.List[struct {
		ID  string
		Qty float64
	}](d.t, d.k, d.manager, open) { // what other bins gave for the shorts
		d.k.Say(d.t, d.op, "pick_line", map[string]any{"pick_line_id": l.ID, "quantity": l.Qty, "to_zone_id": d.staging},
			200, nil)
	}
}

// trucks packs the orders of each town into a shipment of the own fleet and drives
// all of them on one route, stop by stop.
func (d *workday) trucks() {
	d.t.Helper()
	for _, city := range []string{"Berlin", "Bremen", "Kiel"} {
		var made struct{ Shipment struct{ ID string } }
		d.k.Say(d.t, d.manager, "create_shipment", map[string]any{"order_ids": d.cities[city]}, 200, &made)
		d.shipments = append(d.shipments, made.Shipment.ID)
		for _, order := range d.cities[city] {
			var lines []any
			for _, l := range testkit.List[dayLine](d.t, d.k, d.manager,
				"order_lines?select=id,qty_picked&qty_picked=gt.0&order_id=eq."+order) {
				lines = append(lines, map[string]any{"order_line_id": l.ID, "quantity": l.Picked})
			}
			var packed struct{ Package struct{ ID string } }
			d.k.Say(d.t, d.op, "pack", map[string]any{"shipment_id": made.Shipment.ID, "lines": lines}, 200, &packed)
			d.k.Say(d.t, d.op, "close_package", map[string]any{"package_id": packed.Package.ID, "weight_kg": 4.2}, 200, nil)
		}
	}
	d.route()
	if n := len(testkit.List[struct{ ID string }](d.t, d.k, d.manager,
		"orders?select=id&status=eq.completed&stage=eq.delivered&id=in.("+strings.Join(d.orders, ",")+")")); n < 58 {
		d.t.Errorf("%d of 60 orders were delivered whole", n)
	}
}

// route plans one of the day's shipments, drives it and delivers at each stop.
func (d *workday) route() {
	d.t.Helper()
	worker := d.k.Insert(d.t, d.manager, "workers", map[string]any{"employee_no": "DAY-1", "name": "Driver of the day"})
	driver := d.k.Insert(d.t, d.manager, "drivers", map[string]any{"worker_id": worker})
	truck := d.k.Insert(d.t, d.manager, "vehicles", map[string]any{"plate": "DAY-1", "odometer_km": 500})
	var planned struct {
		Route struct{ ID string }
		Stops []struct{ ID string }
	}
	d.k.Say(d.t, d.manager, "plan_route", map[string]any{"date": time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly),
		"driver_id":  driver,
		"vehicle_id": truck, "shipment_ids": d.shipments}, 200, &planned)
	if len(planned.Stops) != len(d.shipments) {
		d.t.Fatalf("a route of %d stops for %d shipments", len(planned.Stops), len(d.shipments))
	}
	d.k.Say(d.t, d.manager, "start_route", map[string]any{"route_id": planned.Route.ID, "vehicle_id": truck,
		"odometer_km": 500}, 200, nil)
	for _, stop := range planned.Stops {
		d.k.Say(d.t, d.manager, "deliver", map[string]any{"shipment_id": stop.ID, "proof": map[string]any{"name": "Dock"}},
			200, nil)
	}
	var over struct{ Route struct{ Status string } }
	d.k.Say(d.t, d.manager, "finish_route", map[string]any{"route_id": planned.Route.ID, "odometer_km": 1240}, 200, &over)
	if over.Route.Status != "finished" {
		d.t.Errorf("the route is %s", over.Route.Status)
	}
}

// comesBack takes two returns: one is sold again, one is looked at.
func (d *workday) comesBack() {
	d.t.Helper()
	for i, what := range []string{"restock", "quarantine"} {
		sold := testkit.List[dayLine](d.t, d.k, d.manager,
			"order_lines?select=id,item_id&line_no=eq.1&order_id=eq."+d.orders[20+i])[0]
		order := d.k.Insert(d.t, d.manager, "orders", map[string]any{"type": "return", "party_name": "Customer"})
		line := d.k.Insert(d.t, d.manager, "order_lines",
			map[string]any{"order_id": order, "line_no": 1, "item_id": sold.Item, "qty_ordered": 1})
		d.k.Say(d.t, d.manager, "confirm_order", map[string]any{"order_id": order}, 200, nil)
		in := map[string]any{"order_line_id": line, "quantity": 1, "disposition": what, "zone_id": d.dock}
		if lots := testkit.List[struct {
			Lot *string `json:"lot_id"`
		}](d.t, d.k, d.manager, "stock_movements?select=lot_id&limit=1&type=eq.ship&item_id=eq."+sold.Item); lots[0].Lot != nil {
			in["lot_id"] = *lots[0].Lot
		}
		var out struct{ Order struct{ Status string } }
		d.k.Say(d.t, d.op, "receive_return", map[string]any{"order_id": order, "lines": []any{in}}, 200, &out)
		if out.Order.Status != "completed" {
			d.t.Errorf("return: %+v", out)
		}
	}
}

// count has a bin counted in which one piece is missing; a second person lets the
// difference through where it is worth it.
func (d *workday) count() {
	d.t.Helper()
	l := testkit.List[struct {
		Zone     string `json:"zone_id"`
		Item     string `json:"item_id"`
		Quantity float64
	}](d.t, d.k, d.manager, "stock_levels?select=zone_id,item_id,quantity,zones!inner(kind)&lot_id=is.null&reserved=eq.0&quantity=gt.20&stock_status=eq.available"+
		"&zones.kind=eq.bin&order=quantity.desc&limit=1")[0]
	var task struct {
		Task struct{ ID, Status string } `json:"count_task"`
	}
	d.k.Say(d.t, d.op, "start_count", map[string]any{"zone_id": l.Zone, "item_id": l.Item}, 200, &task)
	d.k.Say(d.t, d.op, "enter_count", map[string]any{"count_task_id": task.Task.ID,
		"lines": []any{map[string]any{"item_id": l.Item, "counted": l.Quantity - 1}}}, 200, &task)
	if task.Task.Status == "counted" {
		d.k.Say(d.t, d.manager, "approve_count", map[string]any{"count_task_id": task.Task.ID, "reason": "seen"}, 200, nil)
	}
	now := testkit.List[struct{ Quantity float64 }](d.t, d.k, d.manager,
		"stock_levels?select=quantity&lot_id=is.null&stock_status=eq.available&zone_id=eq."+l.Zone+"&item_id=eq."+l.Item)
	if now[0].Quantity != l.Quantity-1 {
		d.t.Errorf("counted %v, the books say %v", l.Quantity-1, now[0].Quantity)
	}
}

// recall stops a lot wherever it lies.
func (d *workday) recall(lot string) {
	d.t.Helper()
	var out struct {
		Lot   struct{ Status string }
		Zones []struct{ Quantity float64 }
	}
	d.k.Say(d.t, d.manager, "recall_lot", map[string]any{"lot_id": lot, "reason": "the maker says so"}, 200, &out)
	if out.Lot.Status != "recalled" || len(out.Zones) == 0 {
		d.t.Errorf("recalled: %+v", out)
	}
	for _, l := range testkit.List[struct {
		Status string `json:"stock_status"`
	}](d.t, d.k, d.manager, "stock_levels?select=stock_status&quantity=gt.0&lot_id=eq."+lot) {
		if l.Status == "available" {
			d.t.Error("a recalled lot can still be sold")
		}
	}
}

// dashboards holds both of them to what the collections say.
func (d *workday) dashboards() {
	d.t.Helper()
	total := func(path string) float64 {
		r := d.k.Call(testkit.Request{Method: "GET", Path: "/v1/" + path + "&limit=1", As: d.manager,
			Header: map[string]string{"Prefer": "count=exact"}})
		_, n, _ := strings.Cut(r.Header.Get("Content-Range"), "/")
		var f float64
		if _, err := fmt.Sscan(n, &f); err != nil {
			d.t.Fatalf("%s: %d %s %q", path, r.Status, r.Body, n)
		}
		return f
	}
	value := 0.0
	for from := 0; ; from += 1000 {
		page := testkit.List[struct {
			Value float64 `json:"stock_value"`
		}](d.t, d.k, d.manager, fmt.Sprintf("items?select=stock_value&status=eq.active&order=id&limit=1000&offset=%d", from))
		for _, it := range page {
			value += it.Value
		}
		if len(page) < 1000 {
			break
		}
	}
	active := total("shipments?select=id&status=in.(planned,packed,ready,in_transit,arrived,exception)")
	lists := total("pick_lists?select=id&status=in.(released,in_progress)")
	var one struct {
		Inventory struct{ Metrics map[string]float64 }
		Lists     struct{ Active float64 } `json:"pick_lists"`
		Shipments struct{ Active float64 }
		Zones     struct{ Total float64 }
	}
	d.k.Get(d.manager, "/functions/v1/get-dashboard-snapshot-v2?lightweight=true").JSON(d.t, &one)
	var two struct {
		Inventory struct {
			Total float64 `json:"total_items"`
		}
		Lists struct {
			Count float64 `json:"active_count"`
		} `json:"pick_lists"`
		Shipments struct{ Stats map[string]float64 }
	}
	d.k.Get(d.manager, "/functions/v1/admin-dashboard-summary").JSON(d.t, &two)
	want := map[string][2]float64{
		"items": {one.Inventory.Metrics["total_items"], total("items?select=id&status=eq.active")},
		"low stock": {one.Inventory.Metrics["low_stock_count"],
			total("items?select=id&status=eq.active&low_stock=is.true")},
		"pick lists":      {one.Lists.Active, lists},
		"shipments":       {one.Shipments.Active, active},
		"zones":           {one.Zones.Total, total("zones?select=id&status=neq.archived")},
		"items, again":    {two.Inventory.Total, total("items?select=id&status=eq.active")},
		"lists, again":    {two.Lists.Count, lists},
		"shipped, active": {two.Shipments.Stats["active"], active},
		"in transit":      {two.Shipments.Stats["in_transit"], total("shipments?select=id&status=eq.in_transit")},
		"shipments, all":  {two.Shipments.Stats["total"], total("shipments?select=id")},
	}
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if w := want[name]; w[0] != w[1] {
			d.t.Errorf("%s: the dashboard says %v, the collections %v", name, w[0], w[1])
		}
	}
	if got := one.Inventory.Metrics["total_stock_value"]; got < value-1 || got > value+1 {
		d.t.Errorf("value: the dashboard says %v, the items %v", got, value)
	}
}
