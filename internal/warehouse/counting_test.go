package warehouse_test

import (
	"context"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
)

// A count notes what the books said and makes them agree with what was found:
// by a movement, or by the date alone. Two counts of one place at once, or one
// that takes what is reserved, change nothing.
func TestStockCounts(t *testing.T) {
	each(t, func(k *kit) {
		bin := k.add("zones", store.Row{"code": "A", "name": "A"})
		item := k.add("items", store.Row{"sku": "A", "name": "A"})
		k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": "10"})
		count := func(counted string) store.Row { return store.Row{"zone_id": bin, "item_id": item, "counted": counted} }
		for _, c := range []struct{ counted, expected, variance, exact, onHand string }{
			{"7.5", "10", "-2.5", "false", "7.5"},
			{"7.5", "7.5", "0", "true", "7.5"},
			{"9", "7.5", "1.5", "false", "9"},
			{"0", "9", "-9", "false", "0"},
			{"0", "0", "0", "true", "0"},
		} {
			id := k.add("stock_counts", count(c.counted))
			for f, want := range map[string]string{"expected": c.expected, "variance": c.variance, "exact": c.exact,
				"counted_at": "2026-03-01T12:00:00.000000Z"} {
				k.is("stock_counts", id, f, want)
			}
			k.is("items", item, "on_hand", c.onHand)
		}
		empty := k.add("zones", store.Row{"code": "B", "name": "B"})
		found := k.add("stock_counts", store.Row{"zone_id": empty, "item_id": item, "counted": "4", "reason_code": "found"})
		k.is("stock_counts", found, "expected", "0")
		k.is("items", item, "on_hand", "4")

		_, err := k.try("stock_counts", count("1"), count("2"))
		k.refused(err, warehouse.CodeMovement)
		k.is("items", item, "on_hand", "4")
		serial := k.add("items", store.Row{"sku": "S", "name": "S", "tracking": "serial"})
		_, err = k.try("stock_counts", store.Row{"zone_id": bin, "item_id": serial, "counted": "1"})
		k.refused(err, warehouse.CodeMovement)
		k.as.TenantID = south
		if _, err = k.try("stock_counts", count("3")); err == nil {
			t.Error("another tenant's place was counted")
		}
	})
}

// rowsOf are all rows of a collection.
func (k *kit) rowsOf(name string) (rows []store.Row) {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) (err error) {
		rows, err = k.s.In(tx, k.as).Rows(k.resource(name).Name, "1 = 1")
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return rows
}

// A count that was right dates its level and moves nothing.
func TestRightCountDatesLevel(t *testing.T) {
	each(t, func(k *kit) {
		bin := k.add("zones", store.Row{"code": "A", "name": "A"})
		item := k.add("items", store.Row{"sku": "A", "name": "A"})
		k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": "10"})
		level, moves := k.rowsOf("stock_levels")[0], len(k.rowsOf("stock_movements"))
		if level["last_counted_at"] != nil {
			t.Fatal("counted before anybody did")
		}
		k.add("stock_counts", store.Row{"zone_id": bin, "item_id": item, "counted": "10"})
		if got := k.rowsOf("stock_levels")[0]["last_counted_at"]; got != "2026-03-01T12:00:00.000000Z" {
			t.Errorf("the level was last counted at %v", got)
		}
		if n := len(k.rowsOf("stock_movements")); n != moves {
			t.Errorf("%d movements, there were %d", n, moves)
		}
	})
}
