package check

import (
	"context"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/match"
	"holdfast/internal/store"
)

// refuseBelowReserved refuses counts below what orders have reserved.
func (st *stager) refuseBelowReserved(ctx context.Context, batch []*draft.Draft, good []store.Row) error {
	r := st.v.Target.Resource
	if r.Name != "stock_levels" {
		return nil
	}
	reserved := map[string]decimal.Dec{}
	err := st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) error {
		return match.Look(tx, st.step.Actor.TenantID, r, good, []string{"reserved"}, func(key string, row *db.Row) {
			reserved[key] = row.Dec(0)
		})
	})
	if err != nil {
		return fmt.Errorf("imports: read what is reserved: %w", err)
	}
	for i, d := range batch {
		if good[i] == nil || good[i]["quantity"] == nil || len(d.Errs) > 0 {
			continue
		}
		if n := reserved[match.Key(r, good[i])]; match.Dec(good[i], "quantity") < n {
			d.Fail(st.v.Header("quantity"), "reserved", "%s of it are reserved for orders: free them before fewer are counted",
				n)
		}
	}
	return nil
}
