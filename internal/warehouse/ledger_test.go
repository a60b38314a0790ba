package warehouse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/verify"
)

// agree checks every kept total against the rows.
func (k *kit) agree() {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		diffs, err := verify.RecountTotals(tx, k.s.Catalog(), k.as.TenantID)
		for _, df := range diffs {
			k.Error(df)
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
}

// The ledger is the truth: after any history, refused movements included, every
// level is what came in less what went out and none is negative, items are the
// sums of their levels, zones carry what lies in and below them, and counters
// equal a recount. Writers run at once.
func TestLedgerInvariant(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		lots := []string{k.add("lots", store.Row{"item_id": f.drum, "lot_no": "L1"}),
			k.add("lots", store.Row{"item_id": f.drum, "lot_no": "L2"})}
		zones := []string{f.area, f.aisle, f.bin, f.other}
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				history(k, f, lots, zones, rand.New(rand.NewPCG(7, uint64(w))))
			}()
		}
		wg.Wait()
		k.agree()
		n := 0
		err := k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			return tx.Query("SELECT quantity FROM stock_levels WHERE tenant_id = $1", []any{north}, func(r *db.Row) error {
				if n++; r.Dec(0) < 0 {
					t.Errorf("quantity %s", r.Dec(0))
				}
				return nil
			})
		})
		if err != nil || n == 0 {
			t.Errorf("%d levels, %v", n, err)
		}
	})
}

// history makes random changes, some of which are refused.
func history(k *kit, f floor, lots, zones []string, rnd *rand.Rand) {
	any1 := func(list ...string) string { return list[rnd.IntN(len(list))] }
	for range 40 {
		var err error
		switch rnd.IntN(12) {
		case 0:
			err = k.change("zones", any1(f.bin, f.other), store.Row{"parent_id": any1(f.area, f.aisle),
				"max_capacity": decimal.FromInt(rnd.Int64N(20))})
		case 1:
			err = k.change("items", any1(f.bolt, f.drum), store.Row{"capacity_units": decimal.Dec(rnd.Int64N(40000)),
				"unit_cost": decimal.Dec(rnd.Int64N(90000)), "reorder_point": decimal.FromInt(rnd.Int64N(9))})
		default:
			rows := make([]store.Row, 1+rnd.IntN(5))
			for i := range rows {
				rows[i] = move(f, lots, zones, rnd)
			}
			_, err = k.try("stock_movements", rows...)
		}
		if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Unavailable) {
			k.Errorf("%v", err)
		}
		var fe *fault.Error
		if err != nil && !errors.As(err, &fe) {
			k.Errorf("unclassified: %v", err)
		}
	}
}

func move(f floor, lots, zones []string, rnd *rand.Rand) store.Row {
	any1 := func(list ...string) string { return list[rnd.IntN(len(list))] }
	from := rnd.IntN(len(zones))
	to := (from + 1 + rnd.IntN(len(zones)-1)) % len(zones)
	qty := fmt.Sprintf("%d.%04d", rnd.IntN(6), 1+rnd.IntN(9999))
	var m store.Row
	switch rnd.IntN(6) {
	case 0, 1, 2:
		m = in(any1("receipt", "opening", "count_gain"), f.bolt, zones[to], qty)
	case 3:
		m = out(any1("ship", "scrap", "count_loss"), f.bolt, zones[from], qty)
	case 4:
		m = between(any1("putaway", "pick", "transfer", "pack"), f.bolt, zones[from], zones[to], qty)
	case 5:
		m = store.Row{"type": "status_change", "item_id": f.bolt, "from_zone_id": zones[to], "to_zone_id": zones[to],
			"quantity":    qty,
			"from_status": "available", "to_status": any1("damaged", "hold")}
	}
	if rnd.IntN(2) == 0 {
		m["item_id"], m["lot_id"] = f.drum, any1(lots...)
	}
	return m
}
