package store_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// The hottest paths of records allocate what is recorded: parsing a request,
// its statements and its answer. On SQLite the engine is in the process.
func TestAllocations(t *testing.T) {
	for engine, recorded := range map[db.Engine]struct{ list, point, insert, change, many float64 }{
		db.SQLite:     {805, 153, 137, 271, 7510},
		db.PostgreSQL: {125, 114, 181, 258, 6300},
	} {
		t.Run(string(engine), func(t *testing.T) {
			o := dbtest.Options(t, engine)
			o.Rehearse, o.PoolSize = false, 1
			k := openKit(t, o)
			m, n := as(north, actor.Manager), 0
			for i := range 60 {
				k.must(m, "POST", "orders", "", fmt.Sprintf(`{"order_no":"B-%d","party_name":"Party %d","carrier":"UPS"}`, i, i))
			}
			k.must(m, "POST", "zones", "", `{"id":"`+id(1)+`","code":"Z","name":"zone"}`)
			dbtest.Allocates(t, "list of 50 by 10", recorded.list, func() { k.must(m, "GET", benchPage, "", "") })
			dbtest.Allocates(t, "point read", recorded.point, func() { k.must(m, "GET", "zones?id=eq."+id(1), "", "") })
			dbtest.Allocates(t, "insert", recorded.insert, func() {
				n++
				k.must(m, "POST", "zones", "", fmt.Sprintf(`{"code":"Z%d","name":"zone"}`, n))
			})
			dbtest.Allocates(t, "change", recorded.change, func() {
				n++
				k.must(m, "PATCH", "zones?id=eq."+id(1), "", fmt.Sprintf(`{"name":"zone %d"}`, n))
			})
			dbtest.Allocates(t, "100 rows in a request", recorded.many, func() {
				var s strings.Builder
				for range 100 {
					n++
					fmt.Fprintf(&s, `,{"sku":"S-%d","name":"Item %d","unit_cost":%d.25,"reorder_point":5}`, n, n, n%9)
				}
				k.must(m, "POST", "items", "", "["+s.String()[1:]+"]")
			})
		})
	}
}
