package functions_test

import (
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// Answers that no cache has allocate what is recorded, over the small warehouse
// of the golden files.
func TestAllocations(t *testing.T) {
	for engine, recorded := range map[db.Engine]struct{ snapshot, summary, kpis float64 }{
		db.SQLite:     {1304, 1135, 556},
		db.PostgreSQL: {470, 522, 315},
	} {
		t.Run(string(engine), func(t *testing.T) {
			o := dbtest.Options(t, engine)
			o.PoolSize = 1
			k := open(t, o)
			fill(k)
			k.as = manager()
			dbtest.Allocates(t, "snapshot", recorded.snapshot, func() { k.bytes("get-dashboard-snapshot-v2", "") })
			dbtest.Allocates(t, "summary", recorded.summary, func() { k.bytes("admin-dashboard-summary", "") })
			dbtest.Allocates(t, "safety-kpis", recorded.kpis, func() { k.bytes("safety-kpis", "") })
		})
	}
}
