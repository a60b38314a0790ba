package warehouse_test

import (
	"testing"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/warehouse"
)

// What was there then is read for movements dated back alone: one of now, by the server's
// clock or one that differs a little, asks for as many statements as before the rule.
func TestOrdinaryMovementsReadNoHistory(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		statements := 0
		o.Observe = func(_ db.Scope, _ bool, n int) { statements += n }
		k := checkReleased(t, o)
		tick := func() time.Time {
			k.now = k.now.Add(time.Millisecond)
			return k.now
		}
		k.s = store.New(k.d, catalog.Default(), warehouse.Watch{}.Effects(), tick)
		f := build(k)
		ago := func(d time.Duration) string { return k.now.Add(-d).Format(db.TimeLayout) }
		receipt := in("receipt", f.bolt, f.other, "90")
		receipt["occurred_at"] = ago(time.Hour)
		k.add("stock_movements", receipt)
		count := func(at any) int {
			row := out("ship", f.bolt, f.other, "1")
			row["occurred_at"] = at
			statements = 0
			k.add("stock_movements", row)
			return statements
		}

		dated := count(ago(30 * time.Minute))
		ordinary := count(nil)
		if ordinary != dated-2 {
			t.Errorf("an ordinary movement takes %d statements, one dated back %d: want two less", ordinary, dated)
		}
		for _, by := range []time.Duration{time.Minute, -time.Minute} {
			if n := count(ago(by)); n != ordinary {
				t.Errorf("%v ago: %d statements, want %d", by, n, ordinary)
			}
		}
		k.agree()
	})
}
