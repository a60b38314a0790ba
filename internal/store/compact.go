package store

import (
	"context"
	"fmt"
	"math/big"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// FoldCounters adds a tenant's counter deltas up into one row per counter.
// Writers append deltas meanwhile; what this transaction does not see stays. A
// sum past 64 bits is refused with 22003 and the deltas stay as they are.
func (s *Store) FoldCounters(ctx context.Context, tenant string) error {
	err := s.db.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		sums := map[string]*big.Int{}
		add := func(key string, n int64) {
			if sums[key] == nil {
				sums[key] = new(big.Int)
			}
			sums[key].Add(sums[key], big.NewInt(n))
		}
		args := []any{tenant, db.NoTenant}
		tx.Queue(`
			DELETE FROM counters
			WHERE tenant_id = $1
				AND slot <> $2
			RETURNING name, delta`, args,
			func(r *db.Row) error {
				add(r.Text(0), r.Int(1))
				return nil
			})
		// The literal is what the index of unfolded rows is about.
		tx.Queue("DELETE FROM timed_counters WHERE tenant_id = $1 AND slot <> '"+db.NoTenant+
			"' RETURNING name, span, start_at, part, delta", args[:1], func(r *db.Row) error {
			add(catalog.TimedKey(catalog.Span(r.Text(1)[0]), r.Text(2), r.Text(0), r.Text(3)), r.Int(4))
			return nil
		})
		if err := tx.Flush(); err != nil {
			return err
		}
		total := make(map[string]int64, len(sums))
		for key, n := range sums {
			if !n.IsInt64() {
				return fault.New(fault.Invalid, "22003", "the sum of counter %q passes the number range", key)
			}
			total[key] = n.Int64()
		}
		queueCounts(tx, tenant, total, db.NoTenant)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store: fold counters: %w", err)
	}
	return nil
}

// UnfoldedTenants returns the tenants with at least n counter deltas to fold in
// one of the tables.
func (s *Store) UnfoldedTenants(ctx context.Context, n int) ([]string, error) {
	var out []string
	err := s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Last().Query("SELECT tenant_id FROM counters WHERE slot <> $1 GROUP BY tenant_id HAVING COUNT(*) >= $2 UNION "+
			"SELECT tenant_id FROM timed_counters WHERE slot <> '"+db.NoTenant+
			"' GROUP BY tenant_id HAVING COUNT(*) >= $2", []any{db.NoTenant, n}, func(r *db.Row) error {
			out = append(out, r.Text(0))
			return nil
		})
	})
	return out, err
}
