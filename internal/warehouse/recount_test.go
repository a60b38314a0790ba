package warehouse_test

import (
	"context"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/warehouse/verify"
)

// Available is what lies in status available less what is reserved of it; what
// waits, is damaged or on hold is on hand and not available.
func TestAvailable(t *testing.T) {
	each(t, func(k *kit) {
		f := build(k)
		for _, c := range []struct {
			status, quantity, reserved string // of one more level
			want                       string // of the item, after all so far
		}{
			{"available", "8", "0", "8"},
			{"quarantine", "4", "0", "8"},
			{"damaged", "2.5", "0", "8"},
			{"hold", "1", "0", "8"},
			{"available", "2", "3", "7"}, // the same level: 10, of which 3 are reserved
			{"hold", "1", "2", "7"},      // a reservation of what is on hold takes nothing more
			{"available", "0.5", "10.5", "0"},
		} {
			in := in("receipt", f.bolt, f.bin, c.quantity)
			in["to_status"], in["override_reason"] = c.status, "tested"
			k.add("stock_movements", in)
			var diffs []verify.Difference
			err := k.tx(func(tx *db.Tx) error {
				if _, err := tx.Exec("UPDATE stock_levels SET reserved = $2 WHERE tenant_id = $1 AND stock_status = $3", north,
					d(c.reserved), c.status); err != nil {
					return err
				}
				_, err := tx.Exec("UPDATE items SET available = $2 WHERE tenant_id = $1 AND id = $3", north, d(c.want), f.bolt)
				return err
			})
			if err != nil {
				k.Fatal(err)
			}
			err = k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) (err error) {
				diffs, err = verify.RecountTotals(tx, k.s.Catalog(), north)
				return err
			})
			for _, df := range diffs {
				if df.What == "item "+f.bolt+" available" {
					k.Errorf("%+v: %+v", c, df)
				}
			}
			if err != nil {
				k.Fatal(err)
			}
		}
	})
}
