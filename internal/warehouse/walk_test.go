package warehouse_test

import (
	"context"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/walking"
)

// A walk is taken whole or not at all: not when a line was picked, added or
// moved since it was found.
func TestStaleWalk(t *testing.T) {
	each(t, func(k *kit) {
		item := k.add("items", store.Row{"sku": "A", "name": "A"})
		list := k.add("pick_lists", store.Row{})
		var lines []string
		for i, y := range []string{"9", "1", "5"} {
			zone := k.add("zones", store.Row{"code": "Z" + y, "name": y, "y": y})
			lines = append(lines, k.add("pick_lines", store.Row{"pick_list_id": list, "seq": int64(i + 1), "zone_id": zone,
				"item_id": item, "qty": "1"}))
		}
		take := func(between func()) error {
			w, err := walking.FindWalk(context.Background(), k.s, k.as, list, "")
			if err != nil {
				t.Fatal(err)
			}
			between()
			return k.tx(func(tx *db.Tx) error { return w.Take(k.s.In(tx, k.as)) })
		}
		if err := take(func() { k.set("pick_lines", lines[0], store.Row{"seq": int64(7)}) }); !fault.Is(err, fault.Conflict) {
			t.Errorf("a line was moved meanwhile: %v", err)
		}
		k.is("pick_lines", lines[1], "seq", "2")
		if err := take(func() {}); err != nil {
			t.Fatal(err)
		}
		// 8 m from 1 over 5 to 9 or back.
		k.is("pick_lists", list, "route_m", "8")
		k.is("pick_lines", lines[2], "seq", "3")
		if err := take(func() { k.set("pick_lists", list, store.Row{"status": "cancelled"}) }); !fault.HasCode(err,
			warehouse.CodeOrder) {
			t.Errorf("the list was cancelled meanwhile: %v", err)
		}
	})
}
