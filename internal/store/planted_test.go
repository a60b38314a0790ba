package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/db"
)

// A tenant that makes rows with another's ids reads, changes, deletes and
// counts its own alone, and an operator who names the tenant writes what he
// means.
func TestPlantedId(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m, v := as(north, actor.Admin), as(south, actor.Admin)
		const victims = "orders?select=*,order_lines(*,items(*))&order=id"
		counts := func() map[string]int64 {
			out := map[string]int64{}
			err := k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
				k.s.Counts(tx, north, out)
				return tx.Flush()
			})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		before, counted := k.get(m, victims), counts()
		k.must(v, "POST", "items", "", `{"id":"`+id(11)+`","sku":"P","name":"planted"}`)
		k.must(v, "POST", "orders", "", `{"id":"`+id(21)+`","order_no":"P-1"}`)
		// with a line of its own: what is embedded is found by tenant and id
		k.must(v, "POST", "order_lines", "", `{"id":"`+id(31)+`","order_id":"`+id(21)+`","line_no":1,"item_id":"`+id(11)+`","qty_ordered":7}`)
		k.want(k.get(v, "orders?select=order_no,order_lines(qty_ordered,items(name))&id=eq."+id(21)),
			`[{"order_no":"P-1","order_lines":[{"qty_ordered":7,"items":{"name":"planted"}}]}]`)
		same := func(what string) {
			t.Helper()
			if diff := cmp.Diff(before, k.get(m, victims)); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
			if diff := cmp.Diff(counted, counts()); diff != "" {
				t.Errorf("%s, counters: %s", what, diff)
			}
		}
		same("planted")
		k.must(v, "PATCH", "orders?id=eq."+id(21), "", `{"priority":3}`)
		k.must(v, "POST", "orders?on_conflict=id", "resolution=merge-duplicates",
			`{"id":"`+id(21)+`","order_no":"P-1","priority":2}`)
		same("written")

		for _, method := range []string{"PATCH", "DELETE"} {
			a := k.do(serviceKey, method, "orders?id=eq."+id(21), "", `{"priority":4}`)
			if a.err == nil || a.err.Code != "21000" || !strings.Contains(a.err.Hint, "tenant_id=eq.") {
				t.Errorf("%s: %+v", method, a.err)
			}
		}
		same("refused")
		k.must(serviceKey, "PATCH", "orders?id=eq."+id(21)+"&tenant_id=eq."+north, "", `{"priority":4}`)
		k.want(k.get(serviceKey, "orders?select=order_no,priority&order=order_no&id=eq."+id(21)),
			`[{"order_no":"O-1","priority":4},{"order_no":"P-1","priority":2}]`)
		before = k.get(m, victims)
		k.must(v, "DELETE", "order_lines?id=eq."+id(31), "", "")
		k.want(k.get(v, "order_lines?select=id&id=eq."+id(31)), `[]`)
		same("deleted")
	})
}
