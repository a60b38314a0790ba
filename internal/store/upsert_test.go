package store_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// Upserts of one set of keys in any order lock and write them in one order, so
// that they wait for each other and none is turned away; each is answered in
// the order it asked.
func TestUpsertsInAnyOrder(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		var wg sync.WaitGroup
		for n := range 12 {
			wg.Go(func() {
				rows, want := make([]string, 7), make([]string, 7)
				for i := range rows {
					rows[i] = fmt.Sprintf(`{"sku":"K%d","name":"n%d"}`, i, n)
					want[i] = fmt.Sprintf(`{"sku":"K%d"}`, i)
				}
				if n%2 == 1 {
					slices.Reverse(rows)
					slices.Reverse(want)
				}
				res, err := k.try(m, "POST", "items?on_conflict=sku&select=sku",
					"resolution=merge-duplicates,return=representation", "["+strings.Join(rows, ",")+"]")
				if err != nil {
					t.Errorf("%d: %v", n, err)
				} else if got := string(res.Body); got != "["+strings.Join(want, ",")+"]" {
					t.Errorf("%d: %s", n, got)
				}
			})
		}
		wg.Wait()
		k.want(k.get(m, "items?select=count"), `[{"count":7}]`)
	})
}

// Rows that refer to others of the same upsert stay behind them.
func TestUpsertKeepsParentsFirst(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		rows := []string{fmt.Sprintf(`{"id":%q,"code":"z","name":"top","parent_id":null}`, id(1))}
		for i := range 300 {
			rows = append(rows, fmt.Sprintf(`{"id":%q,"code":"a%d","name":"bin","parent_id":%q}`, id(2+i), i, id(1)))
		}
		k.must(as(north, actor.Manager), "POST", "zones?on_conflict=code", "resolution=merge-duplicates",
			"["+strings.Join(rows, ",")+"]")
	})
}

// A service key writes for tenants there are, and names the one that is not.
func TestServiceKeyNamesTenants(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		const nobody = "0190a000-0000-7000-8000-00000000dead"
		row := func(tenant, code string) string {
			return fmt.Sprintf(`{"tenant_id":%q,"code":%q,"name":"n"}`, tenant, code)
		}
		k.must(serviceKey, "POST", "zones", "", "["+row(north, "N")+","+row(south, "S")+"]")
		for _, path := range []string{"zones", "zones?on_conflict=code"} {
			a := k.do(serviceKey, "POST", path, "resolution=merge-duplicates", "["+row(north, "N2")+","+row(nobody, "L")+"]")
			k.refused(a, "23503")
			if a.err.Kind != fault.Conflict || !strings.Contains(a.err.Details, nobody) {
				t.Errorf("%s: %v, %s", path, a.err, a.err.Details)
			}
		}
		k.want(k.get(as(north, actor.Manager), "zones?select=code"), `[{"code":"N"}]`)
	})
}

// Deltas whose sum no number holds are left alone.
func TestFoldRefusesWhatDoesNotFit(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fold := func(deltas ...int64) error {
			err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
				for i, n := range deltas {
					tx.Queue("INSERT INTO counters (tenant_id, name, slot, delta) VALUES ($1, $2, $3, $4)",
						[]any{north, "n", id(1 + i), n}, nil)
				}
				return tx.Flush()
			})
			if err != nil {
				t.Fatal(err)
			}
			return k.s.FoldCounters(context.Background(), north)
		}
		if err := fold(math.MaxInt64, 1, -2); err != nil {
			t.Error(err)
		}
		if err := fold(math.MaxInt64, 1); !fault.HasCode(err, "22003") {
			t.Errorf("err = %v, want 22003", err)
		}
	})
}
