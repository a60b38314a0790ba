// Package arrivals finds the orders that wait for goods which are free, the most urgent first,
// and asks for their allocation when goods arrive.
//
// Layer: domains. Begin at [ListWaiting].
package arrivals

import (
	"fmt"
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/job"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/transfers"
)

// Job is the kind of job that promises goods to the orders that wait for them.
const Job = "allocate-open"

// settingArrivals has orders that wait promised what arrives; true when it is not set.
const settingArrivals = "allocate_arrivals"

// waitingSQL selects the orders of which a line wants more than it was promised, and of whose
// goods something is free that they may take, as far as a row can tell: whether a lot lasts
// long enough is for the allocation. $1 tenant.
const waitingSQL = `
	SELECT orders.id
	FROM orders
	WHERE orders.tenant_id = $1
		AND orders.status IN ('confirmed', 'in_progress')
		AND orders.type IN ('outbound', 'transfer')
		AND {of site}
		AND EXISTS (
			SELECT 1
			FROM order_lines AS line
			WHERE line.tenant_id = $1
				AND line.order_id = orders.id
				AND line.is_kit IS NOT TRUE
				AND line.qty_ordered - line.qty_cancelled > line.qty_allocated
				AND EXISTS (
					SELECT 1
					FROM stock_levels AS level
					JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = level.zone_id
					WHERE level.tenant_id = $1
						AND level.item_id = line.item_id
						AND level.stock_status = 'available'
						AND level.quantity > level.reserved
						AND (level.owner_id = orders.owner_id OR (level.owner_id IS NULL AND orders.owner_id IS NULL))
						AND (line.lot_id IS NULL OR level.lot_id = line.lot_id)
						AND zone.status = 'active'
						AND zone.kind NOT IN ('quarantine', 'transit')
				)
		)
	ORDER BY orders.priority, orders.promised_at IS NULL, orders.promised_at, orders.id`

// ListWaiting returns the ids of the orders that wait for goods which are free: by priority, then
// by when they are promised. site is that of the orders, "" for all.
func ListWaiting(tx *store.Tx, site string) (ids []string, err error) {
	args, ofSite := []any{tx.TenantID}, "TRUE"
	if site != "" {
		args, ofSite = append(args, site), "orders.site_id = $2"
	}
	err = tx.Query(db.FillWords(waitingSQL, "{of site}", ofSite), args, func(r *db.Row) error {
		ids = append(ids, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("arrivals: orders that wait: %w", err)
	}
	return ids, nil
}

// Of what arrives at about the same time orders are promised together: after a moment, and
// asked for once where the job that waits begins late enough to see what is written now.
const (
	gather = 5 * time.Second
	commit = 3 * time.Second
)

// AskForAllocation asks for the allocation of open orders where movements bring goods that
// orders may be promised. Files tell of the past: they ask for nothing.
func AskForAllocation(tx *store.Tx, changes []store.Change) error {
	if !tx.Store.Audited() {
		return nil
	}
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op == store.Insert && isArrival(c.After) {
			now := tx.Now()
			job.AddOnce(tx.Tx, job.Job{Tenant: tx.TenantID, Kind: Job, Key: db.NewID(), Made: now, Due: now.Add(gather)},
				now.Add(commit))
			return nil
		}
	}
	return nil
}

// isArrival reports goods that come in, on a leg of a transfer or out of a status in which they
// were barred. What a correction finds has been here all along.
func isArrival(m record.StockMovement) bool {
	if m.ToStatus() != "available" || m.HasReversalOf() {
		return false
	}
	return transfers.IsLeg(m) || slices.Contains([]string{"receipt", "return_in", "status_change"}, m.Type())
}

// settingSQL selects what a tenant's setting says. $1 tenant, $2 its key.
const settingSQL = `
	SELECT settings.value
	FROM settings
	WHERE settings.tenant_id = $1
		AND lower(settings.key) = $2`

// IsAsked reports that the tenant has orders promised what arrives.
func IsAsked(tx *store.Tx) (isAsked bool, err error) {
	isAsked = true
	err = tx.Query(settingSQL, []any{tx.TenantID, settingArrivals}, func(r *db.Row) error {
		isAsked = r.Text(0) != "false"
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("arrivals: setting: %w", err)
	}
	return isAsked, nil
}
