package app_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// keptUnit is a unit as its tenant has it.
type keptUnit struct {
	Code, Name, Kind string
	Decimals         int
}

// A tenant begins with the units of Recommendation 20, so that half a piece is refused from
// the first one on; those of the demonstration do too. They are the tenant's own: it may
// change them.
func TestUnitsOfANewTenant(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const list = "uoms?select=code,name,kind,decimals&order=code"
		shown := testkit.List[keptUnit](t, k, testkit.As(actor.Manager), list)
		if len(shown) != 41 {
			t.Errorf("the demonstration has %d units", len(shown))
		}

		key := k.Service()
		as := func(method, path string, body map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: method, Path: "/v1/" + path, Bearer: key, Body: body,
				Header: map[string]string{"Prefer": "return=representation"}})
		}
		idOf := func(r testkit.Response) string {
			t.Helper()
			var rows []struct{ ID string }
			if r.Status != 201 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			r.JSON(t, &rows)
			return rows[0].ID
		}
		tenant := idOf(as("POST", "tenants", map[string]any{"name": "East", "slug": "east"}))
		var begun []keptUnit
		as("GET", list+"&tenant_id=eq."+tenant, nil).JSON(t, &begun)
		if fmt.Sprint(begun) != fmt.Sprint(shown) {
			t.Errorf("a new tenant has %v\nthe demonstration %v", begun, shown)
		}
		for _, started := range []string{"regulations", "badges"} {
			r := as("GET", started+"?select=code&limit=1&tenant_id=eq."+tenant, nil)
			if !strings.Contains(string(r.Body), "code") {
				t.Errorf("a new tenant has no %s: %s", started, r.Body)
			}
		}
		own := func(row map[string]any) map[string]any {
			row["tenant_id"] = tenant
			return row
		}

		bin := idOf(as("POST", "zones", own(map[string]any{"code": "E-1", "name": "Bin"})))
		receive := func(item string, quantity float64) testkit.Response {
			return as("POST", "stock_movements",
				own(map[string]any{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": quantity}))
		}
		bolt := idOf(as("POST", "items", own(map[string]any{"sku": "E-BOLT", "name": "Bolt"})))
		flour := idOf(as("POST", "items", own(map[string]any{"sku": "E-FLOUR", "name": "Flour", "base_uom": "KGM"})))
		if r := receive(bolt, 4.5); r.Status != 400 || !strings.Contains(string(r.Body), "give a multiple of 1 EA") {
			t.Errorf("half a piece: %d %s", r.Status, r.Body)
		}
		idOf(receive(bolt, 4))
		idOf(receive(flour, 4.5))
		if r := as("PATCH", "uoms?code=eq.EA&tenant_id=eq."+tenant, map[string]any{"decimals": 1}); r.Status != 200 {
			t.Fatalf("the unit's decimals: %d %s", r.Status, r.Body)
		}
		idOf(receive(bolt, 4.5))
	})
}

// The migration gives a tenant that is there the units that new ones begin with, once. A
// unit that the tenant has stays as it is, and one of which it has parts in stock, on an open
// order or in another unit of an item takes them as before.
func TestUnitsOfATenantThatIsThere(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		const list = "uoms?select=code,name,kind,decimals&order=code"
		shipped := testkit.List[keptUnit](t, k, m, list)
		exec := func(sql string, args ...any) {
			t.Helper()
			testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				_, err := tx.Exec(sql, args...)
				return err
			}))
		}
		migrate := func() {
			t.Helper()
			steps, err := db.Migrations()
			testkit.Must(t, err)
			for _, s := range strings.Split(steps[5].SQL, ";\n") {
				if strings.Contains(s, "uoms") {
					exec(s)
				}
			}
		}

		exec("DELETE FROM uoms WHERE tenant_id = $1", demo.North)
		k.Insert(t, m, "uoms", map[string]any{"code": "ea", "name": "Our piece", "decimals": 3})
		bin := k.Insert(t, m, "zones", map[string]any{"code": "U-1", "name": "Bin"})
		item := func(sku, unit string) string {
			return k.Insert(t, m, "items", map[string]any{"sku": sku, "name": sku, "base_uom": unit})
		}
		k.Insert(t, m, "stock_movements", map[string]any{
			"type": "receipt", "item_id": item("U-1", "h87"), "to_zone_id": bin, "quantity": 4.5})
		k.Insert(t, m, "item_uoms", map[string]any{"item_id": item("U-2", "C62"), "uom": "CS", "factor": 12.5})
		order := k.Insert(t, m, "orders", map[string]any{"party_name": "Customer"})
		k.Insert(t, m, "order_lines",
			map[string]any{"order_id": order, "line_no": 1, "item_id": item("U-3", "PR"), "qty_ordered": 1.5})
		boxed := item("U-4", "KT")
		k.Insert(t, m, "item_uoms", map[string]any{"item_id": boxed, "uom": "BX", "factor": 12})
		k.Insert(t, m, "order_lines",
			map[string]any{"order_id": order, "line_no": 2, "item_id": boxed, "uom": "BX", "qty_ordered": 0.5})

		want := map[string]keptUnit{}
		for _, u := range shipped {
			want[u.Code] = u
		}
		want["EA"] = keptUnit{"ea", "Our piece", "count", 3}
		for _, code := range strings.Fields("H87 C62 PR BX") {
			u := want[code]
			u.Decimals = 4
			want[code] = u
		}
		check := func(when string) {
			t.Helper()
			got := testkit.List[keptUnit](t, k, m, list)
			if len(got) != len(want) {
				t.Errorf("%s: %d units", when, len(got))
			}
			for _, u := range got {
				if w := want[strings.ToUpper(u.Code)]; u != w {
					t.Errorf("%s: %+v, want %+v", when, u, w)
				}
			}
		}
		migrate()
		check("migrated")

		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/uoms?code=eq.PK", As: m,
			Body: map[string]any{"decimals": 2, "name": "Packet"}}); r.Status >= 300 {
			t.Fatalf("the unit: %d %s", r.Status, r.Body)
		}
		want["PK"] = keptUnit{"PK", "Packet", "count", 2}
		migrate()
		check("migrated again")
		k.Verified(t)
	})
}
