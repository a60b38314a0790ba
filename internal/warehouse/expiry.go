package warehouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/store"
)

// ExpireLots marks the lots whose last day of use is over where their tenant is:
// from then on their stock is not available. What one tenant's data refuse does
// not keep the others waiting.
func ExpireLots(ctx context.Context, s *store.Store) error {
	over := map[string][]string{}
	now := s.Now()
	err := s.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		clear(over)
		return tx.Query("SELECT l.tenant_id, l.id, l.expires_on, t.timezone FROM lots l JOIN tenants t ON t.id = l.tenant_id "+
			"WHERE l.status IN ('released', 'quarantine') AND l.expires_on < $1 ORDER BY l.tenant_id, l.id",
			[]any{now.AddDate(0, 0, 1).Format(time.DateOnly)}, func(r *db.Row) error {
				if loc, err := time.LoadLocation(r.Text(3)); err != nil || r.Text(2) < now.In(loc).Format(time.DateOnly) {
					over[r.Text(0)] = append(over[r.Text(0)], r.Text(1))
				}
				return nil
			})
	})
	if err != nil {
		return fmt.Errorf("warehouse: find lots that are over: %w", err)
	}
	lots, _ := s.Catalog().Get("lots")
	var failed []error
	for tenant, ids := range over {
		err := s.DB().Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
			_, err := s.UpdateTx(tx, actor.Actor{TenantID: tenant, Role: actor.Service}, lots, ids, store.Row{"status": "expired"})
			return err
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("warehouse: expire lots of %s: %w", tenant, err))
		}
	}
	return errors.Join(failed...)
}
