package app_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// Ids in an array are a relation to many: embedded, filtered, ordered, paged and
// counted for each record by itself, and bounded by what the caller may read.
func TestEmbedArray(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		type order struct {
			ID      string `json:"id"`
			OrderNo string `json:"order_no"`
		}
		type shipment struct {
			ID       string   `json:"id"`
			OrderIDs []string `json:"order_ids"`
			Orders   []order  `json:"orders"`
		}
		get := func(as, path string) (list []shipment) {
			t.Helper()
			k.Get(as, path).JSON(t, &list)
			return list
		}
		numbers := func(s shipment) (out []string) {
			for _, o := range s.Orders {
				out = append(out, o.OrderNo)
			}
			return out
		}
		var of []order
		k.Get(manager, "/v1/orders?select=id,order_no&order=order_no&limit=3").JSON(t, &of)
		two := get(manager, "/v1/shipments?select=id&order=id&limit=2")
		set := func(id string, ids ...string) {
			t.Helper()
			text := `["` + ids[0]
			for _, more := range ids[1:] {
				text += `","` + more
			}
			change(t, k, "UPDATE shipments SET order_ids = $2 WHERE id = $1", id, text+`"]`)
		}
		const nobodys = "01900000-0000-7000-8000-00000000dead"
		set(two[0].ID, of[2].ID, of[0].ID, nobodys, foreignOrder(t, k))
		set(two[1].ID, of[0].ID)
		both := "/v1/shipments?id=in.(" + two[0].ID + "," + two[1].ID + ")&order=id&select=id,order_ids,"

		for _, c := range []struct {
			choice string
			first  []string // numbers embedded in the first shipment, nil where it is left out
			second []string
		}{
			{"orders(order_no)&orders.order=order_no", []string{of[0].OrderNo, of[2].OrderNo}, []string{of[0].OrderNo}},
			{"orders:order_ids(order_no)&orders.order=order_no.desc", []string{of[2].OrderNo, of[0].OrderNo},
				[]string{of[0].OrderNo}},
			{"orders(order_no)&orders.order=order_no.desc&orders.limit=1", []string{of[2].OrderNo}, []string{of[0].OrderNo}},
			{"orders(order_no)&orders.order=order_no&orders.limit=1&orders.offset=1", []string{of[2].OrderNo}, []string{}},
			{"orders(order_no)&orders.order_no=eq." + of[2].OrderNo, []string{of[2].OrderNo}, []string{}},
			{"orders!inner(order_no)&orders.order_no=eq." + of[2].OrderNo, []string{of[2].OrderNo}, nil},
			{"o:orders()&o.order_no=eq." + of[2].OrderNo + "&o=is.null", nil, []string{}},
		} {
			got := map[string][]string{}
			for _, s := range get(manager, both+c.choice) {
				got[s.ID] = append([]string{}, numbers(s)...)
			}
			want := map[string][]string{}
			if c.first != nil {
				want[two[0].ID] = c.first
			}
			if c.second != nil {
				want[two[1].ID] = c.second
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", c.choice, d)
			}
		}

		var counted []struct{ Orders []struct{ Count int } }
		k.Get(manager, both+"orders(count())").JSON(t, &counted)
		if len(counted) != 2 || counted[0].Orders[0].Count != 2 || counted[1].Orders[0].Count != 1 {
			t.Errorf("counted: %+v", counted)
		}
		var deep []struct {
			Orders []struct {
				Lines []struct {
					Items struct{ SKU string } `json:"items"`
				} `json:"order_lines"`
			}
		}
		k.Get(manager, both+"orders(order_lines(items(sku)))").JSON(t, &deep)
		if len(deep) != 2 || len(deep[0].Orders) != 2 || deep[0].Orders[0].Lines[0].Items.SKU == "" {
			t.Errorf("deeper: %+v", deep)
		}

		// A key for all tenants joins each tenant's own.
		var all []shipment
		k.Call(testkit.Request{Method: "GET", Path: "/v1/shipments?select=id,order_ids,orders(id)&limit=500",
			Bearer: k.Service()}).JSON(t, &all)
		joined := 0
		for _, s := range all {
			for _, o := range s.Orders {
				if joined++; !slices.Contains(s.OrderIDs, o.ID) {
					t.Errorf("shipment %s has order %s", s.ID, o.ID)
				}
			}
		}
		if joined < 3 {
			t.Errorf("%d orders of %d shipments", joined, len(all))
		}
		for path, code := range map[string]string{
			"/v1/shipments?select=...orders(order_no)":                        "PGRST127",
			"/v1/shipments?select=id,orders(order_no)&order=orders(order_no)": "PGRST118",
			"/v1/orders?select=shipments(id)":                                 "PGRST200",
			"/v1/shipments?select=status,count(),orders(order_no)":            "PGRST127",
			"/v1/shipments?select=id,orders!other(id)":                        "PGRST200",
		} {
			r := k.Get(manager, path)
			var e struct{ Code string }
			r.JSON(t, &e)
			if e.Code != code || r.Status >= http.StatusInternalServerError {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
		}
	})
}

// foreignOrder is the id of an order of the other tenant.
func foreignOrder(t *testing.T, k *testkit.Kit) (id string) {
	t.Helper()
	var list []struct{ ID string }
	k.Call(testkit.Request{Method: "GET", Path: "/v1/orders?select=id&limit=1&tenant_id=eq." + demo.South,
		Bearer: k.Service()}).JSON(t, &list)
	return list[0].ID
}
