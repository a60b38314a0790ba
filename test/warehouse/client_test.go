package warehouse_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// clientsSee are the collections of which a client sees what is about its goods, with a
// column that says whose that is.
var clientsSee = map[string]string{
	"goods_owners": "id", "items": "owner_id", "stock_levels": "owner_id", "stock_movements": "owner_id",
	"orders": "owner_id", "shipments": "owner_id",
	"lots": "items(owner_id)", "order_lines": "orders(owner_id)", "shipment_lines": "orders(owner_id)",
}

// consigned gives a goods owner an item with a lot, stock, an order and its
// shipment.
func consigned(t *testing.T, k *testkit.Kit, code string) (owner string, rows map[string]string) {
	t.Helper()
	m := testkit.As(actor.Manager)
	rows = map[string]string{}
	owner = k.Insert(t, m, "goods_owners", map[string]any{"code": code, "name": "Owner " + code})
	rows["goods_owners"] = owner
	rows["items"] = k.Insert(t, m, "items", map[string]any{"sku": "OWN-" + code, "name": code, "tracking": "lot",
		"owner_id": owner})
	rows["lots"] = k.Insert(t, m, "lots", map[string]any{"item_id": rows["items"], "lot_no": "L-" + code})
	bin := k.Insert(t, m, "zones", map[string]any{"code": "OWN-" + code, "name": "Bin"})
	rows["stock_movements"] = k.Insert(t, m, "stock_movements",
		map[string]any{"type": "receipt", "item_id": rows["items"], "lot_id": rows["lots"],
			"to_zone_id": bin, "quantity": 20, "owner_id": owner})
	rows["stock_levels"] = list1(t, k, m, "stock_levels?select=id&item_id=eq."+rows["items"])
	rows["orders"] = k.Insert(t, m, "orders", map[string]any{"party_name": "Receiver " + code, "owner_id": owner})
	rows["order_lines"] = k.Insert(t, m, "order_lines",
		map[string]any{"order_id": rows["orders"], "line_no": 1, "item_id": rows["items"], "qty_ordered": 4})
	k.Say(t, m, "confirm_order", map[string]any{"order_id": rows["orders"]}, 200, nil)
	var out struct{ Shipment struct{ ID string } }
	k.Say(t, m, "create_shipment", map[string]any{"order_ids": []string{rows["orders"]}, "carrier": "PARCEL"}, 200, &out)
	rows["shipments"] = out.Shipment.ID
	rows["shipment_lines"] = list1(t, k, m, "shipment_lines?select=id&shipment_id=eq."+out.Shipment.ID)
	return owner, rows
}

// A client of the warehouse sees its own goods' stock, orders and shipments, by
// list, id, count, embed and group, and nothing else of the tenant: no other
// owner's rows, no dashboard, no function, no verb but what it is billed for.
func TestClients(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		mine, own := consigned(t, k, "ALPHA")
		theirs, others := consigned(t, k, "BETA")
		m, client := testkit.As(actor.Manager), testkit.As(actor.Viewer)
		member := list1(t, k, m, "members?select=id&email=eq."+client)
		admin := func(id string, set map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/members/" + id, As: testkit.As(actor.Admin),
				Body: set})
		}
		if r := admin(list1(t, k, m, "members?select=id&email=eq."+m), map[string]any{"owner_id": mine}); r.Status != 400 ||
			!strings.Contains(string(r.Body), "owner_id") {
			t.Errorf("a manager as a client: %d %s", r.Status, r.Body)
		}
		if r := admin(member, map[string]any{"owner_id": mine}); r.Status != 200 {
			t.Fatalf("a viewer as a client: %d %s", r.Status, r.Body)
		}
		var may struct {
			Role        string
			Collections map[string]struct{ Read *struct{ Rows string } }
		}
		k.Get(client, "/v1/permissions").JSON(t, &may)
		if may.Role != "client" {
			t.Errorf("the role is %s", may.Role)
		}
		for _, r := range catalog.Default().All() {
			got := k.Call(testkit.Request{Method: "GET", Path: "/v1/" + r.Name + "?select=id", As: client,
				Header: map[string]string{"Prefer": "count=exact"}})
			column := clientsSee[r.Name]
			if column == "" && r.Name != "members" {
				if got.Status != http.StatusForbidden || may.Collections[r.Name].Read != nil {
					t.Errorf("%s: %d %s", r.Name, got.Status, got.Body)
				}
				continue
			}
			if column == "" {
				continue
			}
			t.Run(r.Name, func(t *testing.T) {
				onlyOf(t, k, client, r.Name, column, mine, own[r.Name], others[r.Name], got)
			})
			if may.Collections[r.Name].Read.Rows != "owner" {
				t.Errorf("%s: rows are said to be %s", r.Name, may.Collections[r.Name].Read.Rows)
			}
		}
		for _, path := range []string{
			"orders?select=id,order_lines(id,items(sku)),shipments:shipment_lines(shipment_id)",
			"shipments?select=id,shipment_lines(orders(owner_id))",
			"stock_levels?select=owner_id,quantity.sum()", "order_lines?select=order_id,qty_ordered.sum(),count()",
			"stock_movements?select=quantity.max()",
		} {
			r := k.Get(client, "/v1/"+path)
			if r.Status != 200 || strings.Contains(string(r.Body), theirs) {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
			for _, id := range others {
				if strings.Contains(string(r.Body), id) {
					t.Errorf("%s shows another's: %s", path, r.Body)
				}
			}
		}
		if got := string(k.Get(client, "/v1/stock_levels?select=quantity.sum()").Body); got != `[{"sum":20}]` {
			t.Errorf("the sum of the stock is %s", got)
		}
		if got := string(k.Get(client, "/v1/goods_owners?select=id,orders!inner(id)&orders.id=eq."+others["orders"]).Body); got != "[]" {
			t.Errorf("by an embed: %s", got)
		}
		if r := k.Post(client, "/v1/orders", map[string]any{"party_name": "x"}); r.Status != http.StatusForbidden {
			t.Errorf("a client writes an order: %d %s", r.Status, r.Body)
		}
		if r := k.Get(client, "/v1/shipments?select=freight_cost"); r.Status == 200 &&
			!strings.Contains(string(r.Body), `"freight_cost":null`) {
			t.Errorf("what the carrier costs: %d %s", r.Status, r.Body)
		}
		for _, f := range k.App.Functions() {
			if r := k.Call(testkit.Request{Method: f.Methods[0], Path: "/functions/v1/" + f.Name, As: client,
				Body: "{}"}); r.Status != http.StatusForbidden {
				t.Errorf("%s: %d %s", f.Name, r.Status, r.Body)
			}
		}
		for _, path := range []string{"audit-chain", "backup-status", "eu/accidents.csv?year=2025", "eu/esaw.csv?year=2025",
			"jobs", "osha/300.pdf?year=2025",
			"osha/ita-cases.csv?year=2025", "rate-limit/refusals",
			"incidents/" + list1(t, k, m, "incidents?select=id&limit=1") + "/photos"} {
			if r := k.Get(client, "/v1/"+path); r.Status != http.StatusForbidden {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		for _, v := range k.App.Verbs() {
			if r := k.Post(client, "/v1/rpc/"+v.Name, map[string]any{}); v.Name != "owner_activity" && v.Name != "owner_stock" &&
				r.Status != http.StatusForbidden {
				t.Errorf("%s: %d %s", v.Name, r.Status, r.Body)
			}
		}
		if r := admin(member, map[string]any{"owner_id": nil}); r.Status != 200 {
			t.Fatalf("a viewer again: %d %s", r.Status, r.Body)
		}
		if r := k.Get(client, "/v1/orders/"+others["orders"]); r.Status != 200 {
			t.Errorf("a viewer reads any order: %d %s", r.Status, r.Body)
		}
	})
}

// onlyOf holds a collection to the rows of one goods owner: column says whose a row
// is, got is the list with its count.
func onlyOf(t *testing.T, k *testkit.Kit, as, name, column, owner, own, other string, got testkit.Response) {
	t.Helper()
	var rows []map[string]any
	got.JSON(t, &rows)
	_, total, _ := strings.Cut(got.Header.Get("Content-Range"), "/")
	if total != fmt.Sprint(len(rows)) || !slices.ContainsFunc(rows,
		func(r map[string]any) bool { return r["id"] == own }) {
		t.Errorf("%s rows counted, own one %s: %s", total, own, got.Body)
	}
	whose := string(k.Get(as, "/v1/"+name+"?select="+column).Body)
	if strings.Count(whose, owner) != len(rows) {
		t.Errorf("%d rows: %s", len(rows), whose)
	}
	for path, want := range map[string]int{own: 200, other: 404} {
		if r := k.Get(as, "/v1/"+name+"/"+path); r.Status != want {
			t.Errorf("by id: %d %s, want %d", r.Status, r.Body, want)
		}
	}
	if r := k.Get(as, "/v1/"+name+"?id=eq."+other); string(r.Body) != "[]" {
		t.Errorf("by a filter: %s", r.Body)
	}
}

// What was done for a goods owner is told by day: movements by type, and what lay
// there at the end. A client asks for himself.
func TestOwnerActivity(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		mine, own := consigned(t, k, "ALPHA")
		theirs, _ := consigned(t, k, "BETA")
		m, client := testkit.As(actor.Manager), testkit.As(actor.Viewer)
		lot := map[string]any{"item_id": own["items"], "lot_id": own["lots"], "owner_id": mine}
		move := func(days int, more map[string]any) {
			for name, v := range lot {
				more[name] = v
			}
			more["occurred_at"] = time.Now().UTC().AddDate(0, 0, -days)
			k.Insert(t, m, "stock_movements", more)
		}
		bin := testkit.List[struct {
			Zone string `json:"zone_id"`
		}](t, k, m, "stock_levels?select=zone_id&id=eq."+own["stock_levels"])[0].Zone
		move(3, map[string]any{"type": "receipt", "to_zone_id": bin, "quantity": 7})
		move(3, map[string]any{"type": "receipt", "to_zone_id": bin, "quantity": 5})
		move(1, map[string]any{"type": "scrap", "from_zone_id": bin, "quantity": 2})
		zone, err := time.LoadLocation("Europe/Berlin")
		testkit.Must(t, err)
		day := func(n int) string { return time.Now().In(zone).AddDate(0, 0, -n).Format(time.DateOnly) }
		type days []struct {
			On         string
			Closing    float64 `json:"closing_quantity"`
			Activities []struct {
				Type     string
				Lines    int
				Quantity float64
			}
		}
		var out struct{ Days days }
		k.Say(t, m, "owner_activity", map[string]any{"owner_id": mine, "from": day(4), "to": day(0)}, 200, &out)
		want := fmt.Sprintf("[{%s 0 []} {%s 12 [{receipt 2 12}]} {%s 12 []} {%s 10 [{scrap 1 2}]} {%s 30 [{receipt 1 20}]}]",
			day(4), day(3), day(2), day(1), day(0))
		if got := fmt.Sprint(out.Days); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for _, c := range []struct {
			place string
			bad   map[string]any
		}{
			{"owner_id: ", map[string]any{"from": day(1), "to": day(0)}},
			{"to: ", map[string]any{"owner_id": mine, "from": day(0), "to": day(1)}},
			{"to: ", map[string]any{"owner_id": mine, "from": day(95), "to": day(0)}},
			{`\"from\" must be a date`, map[string]any{"owner_id": mine, "from": "yesterday", "to": day(0)}},
		} {
			if r := k.Say(t, m, "owner_activity", c.bad, 400, nil); !strings.Contains(string(r.Body), c.place) {
				t.Errorf("%v: %s", c.bad, r.Body)
			}
		}
		beClient(t, k, client, theirs)
		k.Say(t, client, "owner_activity", map[string]any{"owner_id": mine, "from": day(4), "to": day(0)}, 404, nil)
		k.Say(t, client, "owner_activity", map[string]any{"from": day(4), "to": day(0)}, 200, &out)
		if out.Days[4].Closing != 20 {
			t.Errorf("a client's own: %v", out.Days)
		}
	})
}

// A client sees what its own stock is, by item and lot, also of an item that is the house's, and
// how much of it is free; the house's and others' goods of the same item are not in it.
func TestOwnerStock(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		mine, own := consigned(t, k, "ALPHA")
		theirs, _ := consigned(t, k, "BETA")
		m, client := testkit.As(actor.Manager), testkit.As(actor.Viewer)
		shared := k.Insert(t, m, "items", map[string]any{"sku": "OWN-SHARED", "name": "Pallet of salt", "base_uom": "KG"})
		bin := k.Insert(t, m, "zones", map[string]any{"code": "OWN-S", "name": "Bin"})
		closed := k.Insert(t, m, "zones", map[string]any{"code": "OWN-Q", "name": "Quarantine", "kind": "quarantine"})
		for _, lies := range []struct {
			owner, zone, status string
			quantity            float64
		}{{mine, bin, "available", 5.5}, {mine, bin, "damaged", 2}, {mine, closed, "available", 3},
			{theirs, bin, "available", 70}, {"", bin, "available", 900}} {
			row := map[string]any{"type": "receipt", "item_id": shared, "to_zone_id": lies.zone, "to_status": lies.status,
				"quantity": lies.quantity}
			if lies.owner != "" {
				row["owner_id"] = lies.owner
			}
			k.Insert(t, m, "stock_movements", row)
		}
		var out struct {
			Items []struct {
				SKU, Name, UoM string
				OnHand         float64 `json:"on_hand"`
				Reserved, Free float64
				Lots           []struct {
					LotNo  string  `json:"lot_no"`
					OnHand float64 `json:"on_hand"`
					Free   float64
				}
			}
			NextSKU string `json:"next_sku"`
		}
		want := "[{OWN-ALPHA ALPHA EA 20 4 16 [{L-ALPHA 20 16}]} {OWN-SHARED Pallet of salt KG 10.5 0 5.5 [{ 10.5 5.5}]}]"
		k.Say(t, m, "owner_stock", map[string]any{"owner_id": mine}, 200, &out)
		if got := fmt.Sprint(out.Items); got != want || out.NextSKU != "" {
			t.Errorf("got %s, want %s", got, want)
		}
		k.Say(t, m, "owner_stock", map[string]any{}, 400, nil)
		k.Say(t, m, "owner_stock", map[string]any{"owner_id": own["items"]}, 404, nil)

		beClient(t, k, client, mine)
		k.Say(t, client, "owner_stock", map[string]any{"owner_id": theirs}, 404, nil)
		k.Say(t, client, "owner_stock", map[string]any{}, 200, &out)
		if got := fmt.Sprint(out.Items); got != want {
			t.Errorf("a client sees %s, want %s", got, want)
		}
	})
}

// Each item is in one page of what lies here, and none is left out.
func TestOwnerStockInPages(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		owner := k.Insert(t, m, "goods_owners", map[string]any{"code": "MANY", "name": "Many"})
		bin := k.Insert(t, m, "zones", map[string]any{"code": "OWN-MANY", "name": "Bin"})
		var items, movements []map[string]any
		for i := range 405 {
			id := db.NewID()
			items = append(items, map[string]any{"id": id, "sku": fmt.Sprintf("MANY-%03d", i), "name": "Many"})
			movements = append(movements, map[string]any{"type": "receipt", "item_id": id, "to_zone_id": bin, "quantity": 1,
				"owner_id": owner})
		}
		if r := k.Post(m, "/v1/items", items); r.Status != 201 {
			t.Fatalf("items: %d %s", r.Status, r.Body)
		}
		if r := k.Post(m, "/v1/stock_movements", movements); r.Status != 201 {
			t.Fatalf("movements: %d %s", r.Status, r.Body)
		}
		var seen []string
		for after := ""; len(seen) == 0 || after != ""; {
			var out struct {
				Items   []struct{ SKU string }
				NextSKU string `json:"next_sku"`
			}
			k.Say(t, m, "owner_stock", map[string]any{"owner_id": owner, "after_sku": after}, 200, &out)
			for _, item := range out.Items {
				seen = append(seen, item.SKU)
			}
			after = out.NextSKU
		}
		if len(seen) != 405 || !slices.IsSorted(seen) || len(slices.Compact(seen)) != 405 {
			t.Errorf("%d items: %v", len(seen), seen)
		}
	})
}

// beClient makes a viewer a client of a goods owner.
func beClient(t *testing.T, k *testkit.Kit, viewer, owner string) {
	t.Helper()
	member := list1(t, k, testkit.As(actor.Manager), "members?select=id&email=eq."+viewer)
	if r := k.Call(testkit.Request{Method: http.MethodPatch, Path: "/v1/members/" + member, As: testkit.As(actor.Admin),
		Body: map[string]any{"owner_id": owner}}); r.Status != 200 {
		t.Fatalf("a client: %d %s", r.Status, r.Body)
	}
}
