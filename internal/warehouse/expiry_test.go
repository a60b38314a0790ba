package warehouse_test

import (
	"context"
	"testing"
	"time"

	"holdfast/internal/store"
	"holdfast/internal/warehouse"
)

// A lot expires when the day after its last one begins where the tenant is, and
// its stock is there and not available from then on.
func TestLotsExpireAtLocalMidnight(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.set("tenants", north, store.Row{"timezone": "America/Sao_Paulo"}) // UTC-3
		lot := k.add("lots", store.Row{"item_id": f.drum, "lot_no": "L1", "expires_on": "2026-03-01"})
		later := k.add("lots", store.Row{"item_id": f.drum, "lot_no": "L2", "expires_on": "2026-03-02"})
		m := in("receipt", f.drum, f.other, "4")
		m["lot_id"] = lot
		k.add("stock_movements", m)
		for _, c := range []struct {
			at, status, available string
		}{{"2026-03-02T02:59:00Z", "released", "4"}, {"2026-03-02T03:00:00Z", "expired", "0"}} {
			k.now, _ = time.Parse(time.RFC3339, c.at)
			if err := warehouse.ExpireLots(context.Background(), k.s); err != nil {
				t.Fatal(err)
			}
			k.is("lots", lot, "status", c.status)
			k.is("items", f.drum, "available", c.available)
		}
		k.is("lots", later, "status", "released")
		k.is("items", f.drum, "on_hand", "4")
		k.agree()
	})
}
