package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
)

// While a tenant makes many records, their numbers come from blocks reserved
// ahead: each record still has its own, and a number of the block that somebody
// chose himself is stepped over.
func TestNumbers_busy(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		add := func() int {
			a := k.do(m, "POST", "orders?select=order_no", "return=representation", `{}`)
			var n int
			if _, err := fmt.Sscanf(a.String(), `[{"order_no":"SO-2026-%06d"}]`, &n); err != nil {
				t.Errorf("%s: %v", a, err)
			}
			return n
		}
		var mu sync.Mutex
		var given []int
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 50 {
					n := add()
					mu.Lock()
					given = append(given, n)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(given)
		if n := len(slices.Compact(slices.Clone(given))); n != 400 {
			t.Errorf("%d numbers of 400 records", n)
		}
		next := add() + 1
		if reserved := k.reserved("orders"); reserved <= next {
			t.Fatalf("%d is reserved, %d is next: there is no block", reserved, next)
		}
		for i := range 3 {
			k.must(m, "POST", "orders", "", fmt.Sprintf(`{"order_no":"SO-2026-%06d"}`, next+i))
		}
		if got := add(); got <= next+2 {
			t.Errorf("after %d to %d were chosen, %d was given", next, next+2, got)
		}
	})
}

// While it makes few, there are no gaps.
func TestNumbers_calm(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for i := range 30 {
			k.now = k.now.Add(time.Second)
			k.want(k.must(as(north, actor.Manager), "POST", "orders?select=order_no", "return=representation", `{}`).String(),
				fmt.Sprintf(`[{"order_no":"SO-2026-%06d"}]`, i+1))
		}
	})
}

// What begins like a number of the sequence has to be one, or nobody's next
// record would get a number.
func TestNumbers_chosen(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		for _, no := range []string{"SO-2026-9223372036854775807", "SO-2026-99999999999999999999", "SO-2026-9A", "SO-2026-7",
			"SO-2027-1000000", "SO-2026-"} {
			k.refused(k.do(m, "POST", "orders", "", fmt.Sprintf(`{"order_no":%q}`, no)), "22023")
		}
		for _, no := range []string{"SO-2026-999999", "SO-77", "SO/2026/9A", "4711"} {
			k.must(m, "POST", "orders", "", fmt.Sprintf(`{"order_no":%q}`, no))
		}
		k.want(k.must(m, "POST", "orders?select=order_no", "return=representation", `{}`).String(),
			`[{"order_no":"SO-2026-1000000"}]`)
		k.want(k.must(m, "POST", "orders?select=order_no", "return=representation", `{}`).String(),
			`[{"order_no":"SO-2026-1000001"}]`)
	})
}

// Each type of order has its own prefix and sequence, and none takes a number that
// only looks like one of another's.
func TestNumbers_byType(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		made := func(body, want string) {
			t.Helper()
			k.want(k.must(m, "POST", "orders?select=order_no", "return=representation", body).String(), want)
		}
		k.now = k.now.Add(time.Minute)
		made(`{"type":"inbound"}`, `[{"order_no":"PO-2026-000001"}]`)
		made(`{"type":"outbound"}`, `[{"order_no":"SO-2026-000001"}]`)
		made(`{"type":"transfer"}`, `[{"order_no":"TO-2026-000001"}]`)
		k.must(m, "POST", "orders", "", `{"type":"outbound","order_no":"PO-2026-000002"}`)
		made(`[{"type":"inbound"},{"type":"return"},{"type":"inbound"}]`,
			`[{"order_no":"PO-2026-000003"},{"order_no":"RMA-2026-000001"},{"order_no":"PO-2026-000004"}]`)
		k.refused(k.do(m, "POST", "orders", "", `{"order_no":"RMA-2026-7"}`), "22023")
		seen := map[string]bool{}
		for range 30 { // in one second, so that numbers are reserved ahead
			no := k.must(m, "POST", "orders?select=order_no", "return=representation", `{"type":"inbound"}`).String()
			if seen[no] || !strings.HasPrefix(no, `[{"order_no":"PO-2026-0`) {
				t.Errorf("%s", no)
			}
			seen[no] = true
		}
	})
}

// reserved is the greatest number reserved for the north's records.
func (k *kit) reserved(resource string) (n int) {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		return tx.One("SELECT value FROM sequences WHERE tenant_id = $1 AND name = $2", []any{north, resource},
			func(r *db.Row) error {
				n = int(r.Int(0))
				return nil
			})
	})
	if err != nil {
		k.Fatal(err)
	}
	return n
}
