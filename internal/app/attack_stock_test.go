package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// Totals of a tenant stay right or the movement is refused: each item may be
// within its bounds and their sum past the number range, in the load of a zone
// and in the value of all stock.
func TestAttackTotalsOverflow(t *testing.T) {
	for _, capacity := range []int{0, 100} {
		testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
			m := testkit.As(actor.Manager)
			zone := k.Insert(t, m, "zones", map[string]any{"code": "OVER", "name": "Over"})
			for i := range 25 {
				item := k.Insert(t, m, "items", map[string]any{"sku": fmt.Sprintf("OVER-%d", i), "name": "Over", "unit_cost": 100,
					"capacity_units": capacity})
				r := k.Post(m, "/v1/stock_movements", map[string]any{"type": "receipt", "item_id": item, "to_zone_id": zone,
					"quantity": 999999999999})
				if r.Status != 201 && r.Status != 400 {
					t.Fatalf("receipt %d: %d %s", i, r.Status, r.Body)
				}
			}
			if r := k.Get(m, "/functions/v1/get-dashboard-snapshot-v2?lightweight=true"); r.Status != 200 ||
				strings.Contains(string(r.Body), "922337203685477.5807") {
				t.Errorf("dashboard: %d %.300s", r.Status, r.Body)
			}
			var loads []struct {
				Load float64 `json:"load_units"`
			}
			k.Get(m, "/v1/zones?select=load_units&code=eq.OVER").JSON(t, &loads)
			if len(loads) != 1 || loads[0].Load < 0 {
				t.Errorf("load of the zone: %v", loads)
			}
			k.Verified(t)
		})
	}
}

// Upserts of the same rows in opposite orders wait for one another; none is
// turned away.
func TestAttackUpsertsInOppositeOrders(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		k.Token(m)
		status := make([]int, 60)
		gate := make(chan struct{}, 24)
		var wg sync.WaitGroup
		for n := range status {
			wg.Go(func() {
				gate <- struct{}{}
				defer func() { <-gate }()
				rows := make([]map[string]any, 5)
				for i := range rows {
					at := i
					if n%2 == 1 {
						at = len(rows) - 1 - i
					}
					rows[at] = map[string]any{"sku": fmt.Sprintf("OPP-%d", i), "name": fmt.Sprint(n)}
				}
				status[n] = k.Call(testkit.Request{Method: "POST", Path: "/v1/items?on_conflict=sku", As: m, Body: rows,
					Header: map[string]string{"Prefer": "resolution=merge-duplicates"}}).Status
			})
		}
		wg.Wait()
		bad := map[int]int{}
		for _, s := range status {
			if s != http.StatusOK && s != http.StatusCreated {
				bad[s]++
			}
		}
		if len(bad) > 0 {
			t.Errorf("%s: %v of %d upserts were refused", k.Engine, bad, len(status))
		}
		if k.Engine == db.PostgreSQL {
			k.Verified(t)
		}
	})
}
