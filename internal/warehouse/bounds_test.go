package warehouse_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/verify"
)

// overflows checks that a write was refused for taking a total too far, naming
// the field.
func (k *kit) overflows(err error, field string) {
	k.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != "22003" || f.Kind != fault.Invalid || len(f.Fields) != 1 ||
		f.Fields[0].Name != field {
		k.Errorf("err = %v, want 22003 of %s", err, field)
	}
}

// Each item stays within its own bound, and the tenant's value within its.
func TestStockValueIsBounded(t *testing.T) {
	each(t, func(k *kit) {
		zone := k.add("zones", store.Row{"code": "Z", "name": "Z"})
		items := make([]string, 6)
		for i := range items {
			items[i] = k.add("items", store.Row{"sku": fmt.Sprint("DEAR", i), "name": "Dear", "unit_cost": "2000000",
				"capacity_units": "0"})
		}
		_, err := k.try("stock_movements", in("receipt", items[0], zone, "50000000.0001"))
		k.overflows(err, "quantity")
		for _, id := range items[:5] {
			k.add("stock_movements", in("receipt", id, zone, "50000000"))
		}
		k.overflows(k.change("items", items[0], store.Row{"unit_cost": "2000000.0001"}), "unit_cost")
		_, err = k.try("stock_movements", in("receipt", items[5], zone, "0.0001"))
		k.overflows(err, "quantity")
		k.set("items", items[5], store.Row{"unit_cost": "3000000"})
		k.set("items", items[0], store.Row{"unit_cost": "1000000"})
		k.add("stock_movements", in("receipt", items[5], zone, "1000"))
		k.overflows(k.change("items", items[0], store.Row{"unit_cost": "2000000"}), "unit_cost")
		k.add("stock_movements", out("ship", items[5], zone, "1000"))
		k.set("items", items[0], store.Row{"unit_cost": "2000000"})
		if n := k.counts()["items.stock_value"]; n != 5_000_000_000_000_000_000 {
			t.Errorf("value of stock %d", n)
		}
		k.agree()
	})
}

// Writers who do not see each other's rise still stop at the bound.
func TestStockValueIsBoundedAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		zone := k.add("zones", store.Row{"code": "Z", "name": "Z"})
		errs := make([]error, 16)
		items := make([]string, len(errs))
		for i := range items {
			items[i] = k.add("items", store.Row{"sku": fmt.Sprint("DEAR", i), "name": "Dear", "unit_cost": "2000000",
				"capacity_units": "0"})
		}
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = k.try("stock_movements", in("receipt", items[i], zone, "50000000")) })
		}
		wg.Wait()
		kept := 0
		for _, err := range errs {
			if err == nil {
				kept++
				continue
			}
			k.overflows(err, "quantity")
		}
		if kept != 5 {
			t.Errorf("%d receipts of a fifth of the bound went in, want 5", kept)
		}
		k.agree()
	})
}

// The load of a zone counts what lies in the zones below it.
func TestLoadIsBounded(t *testing.T) {
	each(t, func(k *kit) {
		top := k.add("zones", store.Row{"code": "TOP", "name": "Top", "max_capacity": "0.0001"})
		bins := make([]string, 6)
		for i := range bins {
			bins[i] = k.add("zones", store.Row{"code": fmt.Sprint("B", i), "name": "Bin", "parent_id": top})
		}
		apart := k.add("zones", store.Row{"code": "APART", "name": "Apart"})
		bulk := k.add("items", store.Row{"sku": "BULK", "name": "Bulk", "capacity_units": "2000000"})
		feather := k.add("items", store.Row{"sku": "FEATHER", "name": "Feather", "capacity_units": "0"})
		for _, id := range bins[:5] {
			k.add("stock_movements", in("receipt", bulk, id, "50000000"))
		}
		k.is("zones", top, "load_units", "500000000000000")
		k.is("zones", top, "utilization", "100000000000")
		_, err := k.try("stock_movements", in("receipt", bulk, bins[5], "0.0001"))
		k.overflows(err, "quantity")
		k.add("stock_movements", in("receipt", feather, bins[5], "100"))
		k.overflows(k.change("items", feather, store.Row{"capacity_units": "0.01"}), "capacity_units")
		k.overflows(k.change("items", bulk, store.Row{"capacity_units": "2000000.0001"}), "capacity_units")
		k.add("stock_movements", in("receipt", bulk, apart, "1"))
		k.overflows(k.change("zones", apart, store.Row{"parent_id": top}), "parent_id")
		k.set("items", bulk, store.Row{"capacity_units": "1"})
		k.set("zones", apart, store.Row{"parent_id": top})
		k.agree()
	})
}

// The quantities and the value of an order stay in range, whatever its lines.
func TestOrderSumsAreBounded(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		order := k.add("orders", store.Row{"type": "outbound"})
		lines := func(n int, qty, price string) []store.Row {
			out := make([]store.Row, n)
			for i := range out {
				out[i] = store.Row{"order_id": order, "line_no": i + 1, "item_id": f.bolt, "qty_ordered": qty, "unit_price": price}
			}
			return out
		}
		_, err := k.try("order_lines", lines(1, "1000000000000.0001", "0")...)
		k.overflows(err, "qty_ordered")
		_, err = k.try("order_lines", lines(1, "1000000000000", "100.0001")...)
		k.overflows(err, "unit_price")
		_, err = k.try("order_lines", lines(1000, "1000000000000", "0")...)
		k.overflows(err, "qty_ordered")
		_, err = k.try("order_lines", lines(20, "1", "90000000000000")...)
		k.overflows(err, "unit_price")
		if _, err = k.try("order_lines", lines(2, "0.1234", "90000000000000.4321")...); err != nil {
			t.Fatal(err)
		}
		k.is("orders", order, "total_value", "22212000000000.1066")
		k.agree()
	})
}

// A recount tells of totals that no number holds and goes on to the others.
func TestRecountOutlivesBrokenTotals(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		k.add("stock_movements", in("receipt", f.bolt, f.bin, "8"))
		var diffs []verify.Difference
		err := k.tx(func(tx *db.Tx) error {
			tx.Queue("UPDATE items SET stock_value = $2 WHERE tenant_id = $1", []any{north, int64(9_000_000_000_000_000_000)},
				nil)
			tx.Queue("UPDATE zones SET load_units = -1 WHERE id = $1", []any{f.area}, nil)
			return tx.Flush()
		})
		if err != nil {
			t.Fatal(err)
		}
		err = k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) (err error) {
			diffs, err = verify.RecountTotals(tx, k.s.Catalog(), north)
			return err
		})
		told := map[string]bool{}
		for _, d := range diffs {
			told[d.What] = true
		}
		for _, want := range []string{"counter items.stock_value passes the number range: it",
			"item " + f.bolt + " stock_value", "zone " + f.area +
				" load_units"} {
			if !told[want] {
				t.Errorf("%q is not among %v, %v", want, diffs, err)
			}
		}
	})
}
