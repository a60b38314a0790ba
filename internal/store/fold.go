package store

import (
	"context"
	"fmt"
	"math/big"

	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// FoldCounters adds a tenant's counter deltas up into one row per counter.
// Writers append deltas meanwhile; what this transaction does not see stays. A
// sum past 64 bits is refused with 22003 and the deltas stay as they are.
func (s *Store) FoldCounters(ctx context.Context, tenant string) error {
	err := s.db.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		sums := map[string]*big.Int{}
		if err := tx.Query("DELETE FROM counters WHERE tenant_id = $1 AND slot <> $2 RETURNING name, delta", []any{tenant, db.NoTenant}, func(r *db.Row) error {
			name := r.Text(0)
			if sums[name] == nil {
				sums[name] = new(big.Int)
			}
			sums[name].Add(sums[name], big.NewInt(r.Int(1)))
			return nil
		}); err != nil {
			return err
		}
		for name, n := range sums {
			if !n.IsInt64() {
				return fault.New(fault.Invalid, "22003", "the sum of counter %q passes the number range", name)
			}
			tx.Queue("INSERT INTO counters (tenant_id, name, slot, delta) VALUES ($1, $2, $3, $4) ON CONFLICT (tenant_id, name, slot) DO UPDATE SET delta = counters.delta + excluded.delta",
				[]any{tenant, name, db.NoTenant, n.Int64()}, nil)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store: fold counters: %w", err)
	}
	return nil
}

// UnfoldedTenants returns the tenants with at least n counter deltas to fold.
func (s *Store) UnfoldedTenants(ctx context.Context, n int) ([]string, error) {
	var out []string
	err := s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT tenant_id FROM counters WHERE slot <> $1 GROUP BY tenant_id HAVING COUNT(*) >= $2", []any{db.NoTenant, n}, func(r *db.Row) error {
			out = append(out, r.Text(0))
			return nil
		})
	})
	return out, err
}
