package warehouse

import (
	"maps"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/ownstock"
	"holdfast/internal/warehouse/sites"
	"holdfast/internal/warehouse/transfers"
)

// MaxDepth is how many levels of zones may lie in one another.
const MaxDepth = 6

// maxZone bounds a zone's capacity, so that its utilization can be computed in
// 64 bits.
const maxZone = decimal.Dec(100_000_000_000 * decimal.Scale)

// deriveZones keeps archived_at, status and utilization in step, gives a zone the
// site of the one it lies in, and lets a zone be archived only when it is empty.
func deriveZones(tx *store.Tx, changes []store.Change) error {
	if err := sites.InheritOfParents(tx, changes); err != nil {
		return err
	}
	if err := transfers.CheckZones(tx, changes); err != nil {
		return err
	}
	var leaving set
	for _, c := range record.Changes[record.Zone](changes) {
		z := c.After
		if z == nil {
			continue
		}
		if z.MaxCapacity() > maxZone {
			return fault.New(fault.Invalid, "23514", "a zone holds at most %s capacity units", maxZone).At("max_capacity",
				"is too large")
		}
		if c.Op == store.Insert {
			z.SetLoadUnits(decimal.Dec(0))
		}
		z.ClearUtilization()
		if u, ok := inventory.Utilization(z.LoadUnits(), z.MaxCapacity()); ok {
			z.SetUtilization(u)
		}
		alignStatus(c, query.FormatTime(tx.Now()))
		if c.Op == store.Update && c.Becomes(record.Zone.Status, "archived") {
			leaving.addID(z.ID())
		}
	}
	return refuseNonEmpty(tx.Tx, tx.TenantID, leaving.list)
}

// alignStatus makes status and archived_at say the same, whichever was changed.
func alignStatus(c record.Change[record.Zone], now string) {
	z := c.After
	switch was := c.Before.ArchivedAtOrNull(); {
	case z.ArchivedAtOrNull() != was && z.HasArchivedAt():
		z.SetStatus("archived")
	case z.ArchivedAtOrNull() != was && z.Status() == "archived":
		z.SetStatus("active")
	case z.Status() == "archived" && !z.HasArchivedAt():
		z.SetArchivedAt(now)
	case z.Status() != "archived":
		z.ClearArchivedAt()
	}
}

func refuseNonEmpty(tx *db.Tx, tenant string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return tx.Query(`
		SELECT z.code
		FROM zones z
		WHERE z.tenant_id = $1
			AND z.id IN {ids $2}
			AND (
				EXISTS (
					SELECT 1
					FROM stock_levels l
					WHERE l.tenant_id = $1
						AND l.zone_id = z.id
						AND l.quantity > 0
				)
				OR EXISTS (
					SELECT 1
					FROM zones c
					WHERE c.tenant_id = $1
						AND c.parent_id = z.id
						AND c.status <> 'archived'
						AND NOT (c.id IN {ids $2})
				)
			)
		ORDER BY z.code
		LIMIT 1`,
		[]any{tenant, jsonList(ids)}, func(r *db.Row) error {
			return fault.New(fault.Conflict, CodeInUse, "zone %s is not empty: move its stock and archive the zones in it first",
				r.Text(0)).
				At("status", "the zone is not empty")
		})
}

// followZones keeps the tree in order, and what is available of items in step with zones
// that are blocked or opened, or become a place for quarantine.
func (w Watch) followZones(tx *store.Tx, changes []store.Change) error {
	if err := moveSubtrees(tx, changes); err != nil {
		return err
	}
	isOpen := func(z record.Zone) bool { return ownstock.IsOpen(z.Status(), z.Kind()) }
	sign := map[string]decimal.Dec{}
	for _, c := range record.Changes[record.Zone](changes) {
		if c.Op != store.Update || isOpen(c.Before) == isOpen(c.After) {
			continue
		}
		sign[c.After.ID()] = -1
		if isOpen(c.After) {
			sign[c.After.ID()] = 1
		}
	}
	if len(sign) == 0 {
		return nil
	}
	askForOpened(tx, sign)
	zones := slices.Sorted(maps.Keys(sign))
	free, err := ownstock.ReadOfZones(tx, zones)
	if err != nil {
		return err
	}
	var items set
	for _, f := range free {
		items.addID(f.ItemID)
	}
	return w.addFree(tx, items, sign, func() ([]ownstock.Free, error) { return ownstock.ReadOfZones(tx, zones) })
}

// moveSubtrees checks the tree after zones were hung below others and takes their
// load along.
func moveSubtrees(tx *store.Tx, changes []store.Change) error {
	var hung, parents set
	loads := map[string]decimal.Dec{}
	for _, c := range record.Changes[record.Zone](changes) {
		if c.After == nil || c.Op == store.Insert && !c.After.HasParentID() || c.Op == store.Update &&
			!c.Alters(record.Zone.ParentIDOrNull) {
			continue
		}
		from, to := c.Before.ParentID(), c.After.ParentID()
		hung.addID(c.After.ID())
		parents.addID(to)
		for id, d := range map[string]decimal.Dec{from: -c.After.LoadUnits(), to: c.After.LoadUnits()} {
			var err error
			if loads[id], err = addWithin(loads[id], d, maxTotal, "parent_id"); err != nil {
				return err
			}
		}
	}
	if len(hung.list) == 0 {
		return nil
	}
	// Two moves that would close a circle together wait for each other here, and
	// the second one sees the first.
	lockZones(tx.Tx, tx.TenantID, parents.list, nil)
	if err := checkTree(tx.Tx, tx.TenantID, hung.list); err != nil {
		return err
	}
	return haul{tx: tx.Tx, tenant: tx.TenantID, now: query.FormatTime(tx.Now()), field: "parent_id"}.moveLoads(loads)
}

// checkTree walks from the given zones up and down: at most six levels, and
// never back to where it started.
func checkTree(tx *db.Tx, tenant string, ids []string) error {
	return tx.Query(`
		WITH RECURSIVE up(leaf, id, parent_id, n) AS (
			SELECT id, id, parent_id, 1
			FROM zones
			WHERE tenant_id = $1
				AND id IN {ids $2}
			UNION ALL
			SELECT up.leaf, z.id, z.parent_id, up.n + 1
			FROM up
			JOIN zones z ON z.tenant_id = $1 AND z.id = up.parent_id
			WHERE up.n < 8
		), down(leaf, id, n) AS (
			SELECT id, id, 1
			FROM zones
			WHERE tenant_id = $1
				AND id IN {ids $2}
			UNION ALL
			SELECT down.leaf, z.id, down.n + 1
			FROM down
			JOIN zones z ON z.tenant_id = $1 AND z.parent_id = down.id
			WHERE down.n < 8
		), above(leaf, n, circle) AS (
			SELECT leaf, MAX(n), MAX(CASE WHEN n > 1 AND id = leaf THEN 1 ELSE 0 END)
			FROM up
			GROUP BY leaf
		), below(leaf, n) AS (SELECT leaf, MAX(n) FROM down GROUP BY leaf)
		SELECT z.code, above.circle
		FROM above
		JOIN below ON below.leaf = above.leaf
		JOIN zones z ON z.tenant_id = $1 AND z.id = above.leaf
		WHERE (above.circle = 1 OR above.n + below.n > $3)
		ORDER BY above.circle DESC, z.code
		LIMIT 1`,
		[]any{tenant, jsonList(ids), MaxDepth + 1}, func(r *db.Row) error {
			if r.Int(1) == 1 {
				return fault.New(fault.Conflict, CodeTree, "zone %s would lie inside itself", r.Text(0)).At("parent_id",
					"makes a circle")
			}
			return fault.New(fault.Conflict, CodeTree, "zone %s would lie in a tree of more than %d levels", r.Text(0),
				MaxDepth).
				At("parent_id", "is too deep")
		})
}
