package warehouse

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/locking"
)

// ExpireLots marks the lots whose last day of use is over where their tenant is,
// and those that have fewer days left than their items ask for: from then on
// their stock is not available. What one tenant's data refuse does not keep the
// others waiting.
func ExpireLots(ctx context.Context, s *store.Store) error {
	over, short := map[string][]string{}, map[string][]string{}
	now := s.Now()
	_, latest := localtime.Dates(now)
	err := s.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		clear(over)
		clear(short)
		keep := 0 // the most days that any item asks for
		// Tenant by tenant, so that an index ends at the greatest.
		err := tx.Query(`
			SELECT COALESCE(MAX(k.days), 0)
			FROM (
				SELECT (
					SELECT i.min_remaining_days
					FROM items i
					WHERE i.tenant_id = t.id
						AND i.min_remaining_days IS NOT NULL
					ORDER BY i.min_remaining_days DESC
					LIMIT 1
				) AS days
				FROM tenants t
			) k`, nil,
			func(r *db.Row) error {
				keep = int(r.Int(0))
				return nil
			})
		if err != nil {
			return err
		}
		return tx.Query(`
			SELECT l.tenant_id, l.id, l.expires_on, t.timezone, l.short_dated,
				COALESCE(i.min_remaining_days, 0)
			FROM lots l
			JOIN tenants t ON t.id = l.tenant_id
			JOIN items i ON i.tenant_id = l.tenant_id AND i.id = l.item_id
			WHERE l.status IN ('released', 'quarantine')
				AND l.expires_on < $1
				AND (NOT l.short_dated OR l.expires_on < $2)
			ORDER BY l.tenant_id, l.id`, []any{latest.AddDays(keep).String(), latest.String()}, func(r *db.Row) error {
			switch today := localtime.DateOf(now, localtime.Zone(r.Text(3))).String(); {
			case r.Text(2) < today:
				over[r.Text(0)] = append(over[r.Text(0)], r.Text(1))
			case !r.Bool(4) && tooShort(r.Text(2), today, r.Int(5)):
				short[r.Text(0)] = append(short[r.Text(0)], r.Text(1))
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("warehouse: find lots that are over: %w", err)
	}
	set := func(row record.Lot) func(work, []string) error {
		return func(k work, ids []string) error { return record.Update(k.Tx, ids, row) }
	}
	return errors.Join(eachTenant(ctx, s, over, "expire lots", set(record.Lot{"status": "expired"})),
		eachTenant(ctx, s, short, "mark short-dated lots", set(record.Lot{"short_dated": true})))
}

// eachTenant does work on the ids of each tenant in a transaction of its own.
func eachTenant(
	ctx context.Context, s *store.Store, ids map[string][]string, what string, f func(k work, ids []string) error,
) error {
	var failed []error
	for tenant, list := range ids {
		err := s.DB().Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
			return f(work{Tx: s.In(tx, actor.Actor{TenantID: tenant, Role: actor.Service})}, list)
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("warehouse: %s of %s: %w", what, tenant, err))
		}
	}
	return errors.Join(failed...)
}

// lapsedSQL are reservations whose time is over: goods that are picked stay
// promised.
const lapsedSQL = "state = 'active' AND NOT picked AND expires_at <= "

// ReleaseReservations gives back what was promised until a time that is past and
// is not picked. Pick lines that waited for it are cancelled.
func ReleaseReservations(ctx context.Context, s *store.Store) error {
	over := map[string][]string{}
	now := query.FormatTime(s.Now())
	err := s.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		clear(over)
		return tx.Query(db.FillWords(`
			SELECT DISTINCT r.tenant_id, l.order_id
			FROM reservations r
			JOIN order_lines l ON l.tenant_id = r.tenant_id AND l.id = r.order_line_id
			WHERE r.{lapsed} $1
			ORDER BY r.tenant_id, l.order_id`, "{lapsed}", lapsedSQL), []any{now}, func(r *db.Row) error {
			over[r.Text(0)] = append(over[r.Text(0)], r.Text(1))
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("warehouse: find reservations that are over: %w", err)
	}
	return eachTenant(ctx, s, over, "release reservations", func(k work, orders []string) error {
		return k.releaseExpired(orders, now)
	})
}

// releaseExpired gives back the reservations of orders that ended by then, with the
// orders' locks held, as everybody who changes reservations does.
func (k work) releaseExpired(orders []string, until string) error {
	lock := k.DB().ForUpdate()
	if _, err := locking.LockRows[record.Order](k.Tx, orders); err != nil {
		return err
	}
	lines, err := k.linesOf(orders)
	if err != nil {
		return err
	}
	rows, err := record.List[record.Reservation](k.Tx,
		k.DB().InUUID("order_line_id", 2)+" AND "+lapsedSQL+"$3 ORDER BY id"+lock,
		jsonList(lines), until)
	if err != nil {
		return err
	}
	if err := k.releaseReservations(rows); err != nil {
		return err
	}
	return k.updateOrderLines(record.Texts(rows, record.Reservation.OrderLineID), nil)
}
