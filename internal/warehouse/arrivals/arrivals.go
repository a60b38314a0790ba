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
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/ownstock"
	"holdfast/internal/warehouse/sites"
	"holdfast/internal/warehouse/transfers"
)

// Job is the kind of job that promises goods to the orders that wait for them.
const Job = "allocate-open"

// settingArrivals has orders that wait promised what arrives; true when it is not set.
const settingArrivals = "allocate_arrivals"

// waitingSQL selects the orders behind a place in the order of urgency of which a line wants more
// than it was promised, and of whose goods something is free that they may take, as far as a row
// can tell: whether a lot lasts long enough, and whether all of an order is there, is for the
// allocation. $1 tenant, $2 to $4 the place, $5 a moment later than any, $6 how many.
const waitingSQL = `
	SELECT orders.id, orders.priority, COALESCE(orders.promised_at, $5)
	FROM orders
	WHERE orders.tenant_id = $1
		AND orders.status IN ('confirmed', 'in_progress')
		AND orders.type IN ('outbound', 'transfer')
		AND (orders.priority, COALESCE(orders.promised_at, $5), orders.id) > ($2, $3, $4)
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
					LEFT JOIN lots AS lot ON lot.tenant_id = $1 AND lot.id = level.lot_id
					WHERE level.tenant_id = $1
						AND level.item_id = line.item_id
						AND level.stock_status = 'available'
						AND level.quantity > level.reserved
						AND (level.owner_id = orders.owner_id OR (level.owner_id IS NULL AND orders.owner_id IS NULL))
						AND (line.lot_id IS NULL OR level.lot_id = line.lot_id)
						AND (level.lot_id IS NULL OR lot.status = 'released')
						AND zone.status = 'active'
						AND zone.kind NOT IN ('quarantine', 'transit')
						AND (
							orders.site_id IS NULL
							OR orders.site_id = {site}
							OR ({across} AND orders.type <> 'transfer')
						)
				)
		)
	ORDER BY orders.priority, COALESCE(orders.promised_at, $5), orders.id
	LIMIT $6`

// never is later than any moment for which an order is promised.
const never = "9999-12-31T00:00:00.000000Z"

// Waiting is an order that waits, and its place in the order of urgency.
type Waiting struct {
	ID       string
	priority int64
	promised string
}

// First is the place before all orders.
func First() Waiting { return Waiting{ID: db.NoTenant, promised: never} }

// ListWaiting returns some of the orders behind a place that wait for goods which are free: by
// priority, then by when they are promised. site is that of the orders, "" for all.
func ListWaiting(tx *store.Tx, site string, after Waiting, most int) (list []Waiting, err error) {
	across, err := sites.ReadAcross(tx)
	if err != nil {
		return nil, err
	}
	args, ofSite, anySite := []any{tx.TenantID, after.priority, after.promised, after.ID, never, most}, "TRUE", "FALSE"
	if site != "" {
		args, ofSite = append(args, site), "orders.site_id = $7"
	}
	if across {
		anySite = "TRUE"
	}
	text := db.FillWords(sites.FillStatement(waitingSQL), "{of site}", ofSite, "{across}", anySite)
	err = tx.Query(text, args, func(r *db.Row) error {
		list = append(list, Waiting{ID: r.Text(0), priority: r.Int(1), promised: query.FormatTime(r.Time(2))})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("arrivals: orders that wait: %w", err)
	}
	return list, nil
}

// tenantsSQL selects the tenants with orders that may wait.
const tenantsSQL = `
	SELECT tenants.id
	FROM tenants
	WHERE EXISTS (
		SELECT 1
		FROM orders
		WHERE orders.tenant_id = tenants.id
			AND orders.status IN ('confirmed', 'in_progress')
			AND orders.type IN ('outbound', 'transfer')
	)
	ORDER BY tenants.id`

// ListTenants returns the tenants with orders that may wait. tx sees those of all.
func ListTenants(tx *db.Tx) (ids []string, err error) {
	err = tx.Query(tenantsSQL, nil, func(r *db.Row) error {
		ids = append(ids, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("arrivals: tenants with orders: %w", err)
	}
	return ids, nil
}

// IDs are those of orders that wait.
func IDs(list []Waiting) (ids []string) {
	for _, w := range list {
		ids = append(ids, w.ID)
	}
	return ids
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
	var left []string // zones that goods were carried out of
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op != store.Insert {
			continue
		}
		if isArrival(c.After) {
			Ask(tx)
			return nil
		}
		if isCarried(c.After) {
			left = append(left, c.After.FromZoneID())
		}
	}
	return askForCarried(tx, left)
}

// Ask asks for the allocation of open orders.
func Ask(tx *store.Tx) {
	now := tx.Now()
	asked := job.Job{Tenant: tx.TenantID, Kind: Job, Key: db.NewID(), Made: now, Due: now.Add(gather)}
	job.AddOnce(tx.Tx, asked, now.Add(commit))
}

// openedSQL selects one of some zones of whose goods none are promised. $1 tenant, $2 the zones.
const openedSQL = `
	SELECT zone.id
	FROM zones AS zone
	WHERE zone.tenant_id = $1
		AND zone.id IN {ids $2}
		AND NOT ({open zone})
	LIMIT 1`

// askForCarried asks for the allocation of open orders where goods are carried out of zones whose
// goods are promised to none, as those for quarantine.
func askForCarried(tx *store.Tx, left []string) error {
	if len(left) == 0 {
		return nil
	}
	text := db.FillWords(openedSQL, "{open zone}", ownstock.OpenZone)
	err := tx.Query(text, []any{tx.TenantID, query.List(left)}, func(*db.Row) error {
		Ask(tx)
		return nil
	})
	if err != nil {
		return fmt.Errorf("arrivals: zones that goods left: %w", err)
	}
	return nil
}

// isCarried reports available goods that are carried from one place to another.
func isCarried(m record.StockMovement) bool {
	isWork := slices.Contains([]string{"transfer", "putaway", "replenish"}, m.Type())
	return isWork && m.ToStatus() == "available" && m.FromZoneID() != m.ToZoneID()
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
