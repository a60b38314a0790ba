package store_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/actor"
)

// Filters as large as a request may hold: they are answered the same by both
// engines, or refused by name.
func TestHeavyFilters(t *testing.T) {
	many := func(n int, format string) string {
		b := make([]string, n)
		for i := range b {
			b[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(b, ",")
	}
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		const items, orders = "items?select=sku&order=sku&", "orders?select=order_no&order=order_no&"
		for _, c := range []struct{ name, path, want string }{
			{"any of many", items + "sku=eq(any).{" + many(4999, "x#") + ",S-2}", `[{"sku":"S-2"}]`},
			{"none of many", items + "sku=neq(all).{" + many(4998, "x#") + ",S-1,S-3}", `[{"sku":"S-2"}]`},
			{"all of many", items + "unit_cost=gte(all).{" + many(5000, "2.5") + "}", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"some of many", items + "unit_cost=lt(any).{" + many(5000, "2.5") + "}", `[{"sku":"S-2"}]`},
			{"not any of many", items + "sku=not.eq(any).{" + many(3000, "x#") + ",S-2}", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"null is none of them", items + "abc_class=neq(all).{X,B}", `[{"sku":"S-1"}]`},
			{"like any of many", items + "name=like(any).{" + many(2000, "x#*") + ",*nut*}", `[{"sku":"S-3"}]`},
			{"holds many", orders + "tags=cs.{" + many(5000, "eu") + "}", `[{"order_no":"O-1"},{"order_no":"O-3"}]`},
			{"holds nothing", orders + "tags=cs.{}", `[{"order_no":"O-1"},{"order_no":"O-2"},{"order_no":"O-3"}]`},
			{"one of many", orders + "tags=ov.{" + many(4999, "x#") + ",vip}", `[{"order_no":"O-1"}]`},
			{"no other than many", orders + "tags=cd.{" + many(4999, "x#") + ",eu}", `[{"order_no":"O-2"},{"order_no":"O-3"}]`},
			{"path in many", items + "barcodes->0->>value=in.(" + many(4999, "x#") + ",9)", `[{"sku":"S-3"}]`},
			{"times in many", orders + "promised_at=in.(" + many(4000, "2026-03-04T00:00:00Z") + ")", `[{"order_no":"O-3"}]`},
			{"long like", items + "name=like." + strings.Repeat("%25", 1001), "22001"},
			{"long ilike", items + "name=ilike(any).{a," + strings.Repeat("x", 60_000) + "}", "22001"},
			{"values in all", items + strings.Repeat("has_expiry=in.("+many(5000, "t")+")&", 5), "PGRST100"},
			{"values behind quantifiers", items + strings.Repeat("unit_cost=gt(any).{"+many(5000, "1")+"}&", 7), "PGRST100"},
			{"text in all", items + `barcodes->>"` + strings.Repeat("k", 5000) + `"=gt(any).{` + many(5000, "1") + "}",
				"PGRST100"},
			{"embeds of embeds", "zones?select=code,zones(zones(zones(zones(code))))" +
				"&zones.zones.zones.or=(" + many(90, "zones.is.null") + ")&zones.zones.or=(" + many(90, "zones.is.null") + ")" +
				"&zones.or=(" + many(90, "zones.is.null") + ")&or=(" + many(90, "zones.is.null") + ")", "PGRST100"},
			{"large regular expression", items + "name=match..{0,600}", "2201B"},
			{"many regular expressions", items + strings.Repeat("name=match.%5EB&", 21), "PGRST100"},
			{"some regular expressions", items + strings.Repeat("name=match.%5EB&", 20), `[{"sku":"S-1"}]`},
		} {
			if got := k.do(m, "GET", c.path, "count=exact", "").String(); got != c.want {
				t.Errorf("%s: %.200s, want %s", c.name, got, c.want)
			}
		}
		if got := k.do(m, "PATCH", "items?"+strings.Repeat("has_expiry=in.("+many(5000, "t")+")&", 5), "",
			`{"name":"x"}`).String(); got != "PGRST100" {
			t.Errorf("a change: %s", got)
		}
	})
}
