package functions_test

import (
	"fmt"
	"testing"

	"holdfast/internal/store"
)

// BenchmarkMiss is a full snapshot of a page of 50, made and written, on SQLite.
func BenchmarkMiss(b *testing.B) {
	k := open(b, sqliteOptions(b))
	for i := range 60 {
		no := fmt.Sprintf("%03d", i)
		k.add("zones", store.Row{"code": no, "name": "Zone " + no})
		k.add("items", store.Row{"sku": no, "name": "Item " + no})
		k.add("shipments", store.Row{"tracking_no": no})
		k.add("incidents", store.Row{"kind": "hazard", "severity": "low", "title": no, "occurred_at": "2026-02-26T12:00:00Z"})
		k.set("pick_lists", k.add("pick_lists", store.Row{}), store.Row{"status": "released"})
	}
	k.as = manager()
	b.SetBytes(int64(len(k.bytes("get-dashboard-snapshot-v2", ""))))
	b.ReportAllocs()
	for b.Loop() {
		k.bytes("get-dashboard-snapshot-v2", "")
	}
}
