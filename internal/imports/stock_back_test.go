package imports_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/db"
	"holdfast/internal/store"
)

// Taking stock back leaves no changed version or updated_at where it changes
// nothing: on what the job did not touch, and on an item that was only moved
// from place to place. What did go up and down again keeps the instant of the
// rollback, because that is what clients fetch changes by.
func TestRollbackOfStockTouchesNothingElse(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("zones", `{"force":true}`, "", "z.csv", []byte("code,name\nA-1,One\nA-2,Two\nA-3,Other\n"))
		k.imported("items", "", "", "i.csv", []byte("sku,name\nBOLT,Bolt\nNUT,Nut\nIDLE,Idle\n"))
		k.imported("stock_movements", "", "", "first.csv", []byte("sku,zone,quantity\nBOLT,A-1,5\nIDLE,A-3,1\n"))
		idle := func() string {
			out := map[string]store.Row{"item": k.find("items", "sku", "IDLE"), "zone": k.find("zones", "code", "A-3")}
			out["level"] = k.find("stock_levels", "zone_id", out["zone"]["id"].(string))
			text, err := json.Marshal(out)
			if err != nil {
				k.Fatal(err)
			}
			return string(text)
		}
		before, counters := idle(), k.counters()
		k.now = k.now.Add(time.Hour)
		job, _, applied := k.imported("stock_movements", "", "", "more.csv",
			[]byte("sku,zone,quantity\nBOLT,A-1,3\nBOLT,A-2,4\nNUT,A-2,7\n"))
		if applied.ImportedCount != 3 {
			k.Fatalf("%+v", applied)
		}
		k.now = k.now.Add(time.Hour)
		if r, err := k.m.Rollback(context.Background(), k.as, job.ID); err != nil || r.RolledBack != 3 {
			k.Fatalf("%v %v", r, err)
		}
		if diff := cmp.Diff(before, idle()); diff != "" {
			k.Errorf("not as it was: %s", diff)
		}
		if diff := cmp.Diff(counters, k.counters()); diff != "" {
			k.Errorf("counters: %s", diff)
		}
		if got := k.find("items", "sku", "BOLT"); got["version"] != int64(1) ||
			got["updated_at"] != "2026-03-01T14:00:00.000000Z" {
			k.Errorf("an item that went up and down again: %v", got)
		}
	})
}

// Goods that only change their place leave their item as it was, and a place
// that one posting fills and empties again is not changed at all.
func TestMovesWithinLeaveTheItem(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("zones", `{"force":true}`, "", "z.csv", []byte("code,name\nA-1,One\nA-2,Two\nA-3,Three\n"))
		k.imported("items", "", "", "i.csv", []byte("sku,name\nBOLT,Bolt\n"))
		k.imported("stock_movements", "", "", "s.csv", []byte("sku,zone,quantity\nBOLT,A-1,5\nBOLT,A-2,1\n"))
		zone := func(code string) any { return k.find("zones", "code", code)["id"] }
		item, there := k.find("items", "sku", "BOLT"), k.find("stock_levels", "zone_id", zone("A-2").(string))
		k.now = k.now.Add(time.Hour)
		move := store.Row{"type": "transfer", "item_id": item["id"], "from_zone_id": zone("A-1"), "to_zone_id": zone("A-2"),
			"quantity": "2"}
		on := maps.Clone(move)
		on["from_zone_id"], on["to_zone_id"] = zone("A-2"), zone("A-3")
		err := k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
			_, err := k.s.In(tx, k.server()).InsertRows(k.resource("stock_movements").Name, []store.Row{move, on})
			return err
		})
		if err != nil {
			k.Fatal(err)
		}
		if diff := cmp.Diff(item, k.find("items", "sku", "BOLT")); diff != "" {
			k.Errorf("the item: %s", diff)
		}
		if diff := cmp.Diff(there, k.find("stock_levels", "zone_id", zone("A-2").(string))); diff != "" {
			k.Errorf("the place between: %s", diff)
		}
		came := k.find("stock_movements", "to_zone_id", zone("A-3").(string))
		if got := k.find("stock_levels", "zone_id", zone("A-3").(string)); got["quantity"] != came["quantity"] {
			k.Errorf("the place they came to: %v", got)
		}
	})
}
