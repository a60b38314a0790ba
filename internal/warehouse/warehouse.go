// Package warehouse holds what changes of stock, zones, orders, picks and
// shipments bring about: the effects that package store runs in the same
// transaction, and the formulas of stock.
//
// Derived columns (an item's on_hand, a zone's load, an order's sums) follow
// their source rows without raising the record's version: nobody edited it, so
// an editor's If-Match stays good.
//
// Layer: domains. Begin at [Verbs].
package warehouse

import (
	"holdfast/internal/actor"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/counting"
	"holdfast/internal/warehouse/factors"
	"holdfast/internal/warehouse/kits"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/scanning"
	"holdfast/internal/warehouse/sites"
)

// Codes of this package's faults.
const (
	CodeStock    = "HF002" // not enough stock, or a serial number twice
	CodeMovement = "HF003" // the movement does not fit its type, item, lot or zone
	CodeInUse    = "HF004" // the record is in use: stock in it, lines on it, goods shipped
	CodeTree     = "HF005" // zones nested too deep or in a circle
	CodeOwner    = "HF026" // the goods that lie there are another owner's
	CodeOrder    = "HF006" // an order, pick or shipment is not ready for this step
)

// Watch is told what a change of stock means for people; a nil function is not
// called.
type Watch struct {
	// LowStock names the items whose available stock has just fallen to their
	// reorder point, inside the transaction that took it there.
	LowStock func(tx *store.Tx, items []string) error
}

// Effects returns the consequences of changes to warehouse and logistics
// records, for store.New. Each runs a number of statements that does not grow
// with the number of rows, apart from values sent in blocks.
func (w Watch) Effects() store.Effects {
	return store.Effects{
		Before: map[string]store.Effect{
			"stock_movements": perTenant(checkMovements),
			"stock_counts":    perTenant(w.expectCounts),
			"count_tasks":     counting.KeepKeys,
			"items":           perTenant(deriveItems),
			"item_uoms":       perTenant(factors.CheckUnits),
			"item_components": perTenant(checkComponents),
			"zones":           perTenant(deriveZones),
			"orders":          perTenant(guardOrders),
			"order_lines":     perTenant(guardLines),
			"lots":            perTenant(dateLots),
			"pick_lists":      perTenant(guardPickLists),
			"pick_lines":      perTenant(derivePickLines),
			"shipments":       perTenant(deriveShipments),
			"drivers":         retireDrivers,
			"putaway_tasks":   perTenant(sites.CheckTasks),
			"replenish_rules": perTenant(sites.CheckRules),
			"settings":        perTenant(sites.CheckSettings),
		},
		After: map[string]store.Effect{
			"stock_movements": perTenant(w.followMovements),
			"stock_counts":    perTenant(bookCounts),
			"items":           perTenant(updateZoneLoads),
			"item_uoms":       perTenant(scanning.LabelUnits),
			"item_components": perTenant(kits.FollowComponents),
			"lots":            perTenant(w.followLots),
			"zones":           perTenant(w.followZones),
			"orders":          perTenant(w.followOrders),
			"order_lines":     perTenant(w.followLines),
			"pick_lists":      perTenant(w.followPickList),
			"pick_lines":      perTenant(w.followPickLines),
			"shipments":       perTenant(w.followShipments),
			"routes":          perTenant(w.followRoutes),
			"sites":           perTenant(sites.SettleZones),
		},
		First:   locking.Firsts(),
		Unmoved: map[string]bool{"items": true, "zones": true, "orders": true, "drivers": true},
	}
}

// perTenant runs an effect once per tenant: a service key without a tenant may
// change rows of several in one statement.
func perTenant(f store.Effect) store.Effect {
	return func(tx *store.Tx, changes []store.Change) error {
		for len(changes) > 0 {
			tenant := tenantOf(changes[0])
			var mine, rest []store.Change
			for i := range changes {
				if tenantOf(changes[i]) != tenant {
					mine, rest = splitByTenant(changes, tenant)
					break
				}
			}
			if mine == nil {
				mine = changes
			}
			if err := f(tx.Of(tenant), mine); err != nil {
				return err
			}
			changes = rest
		}
		return nil
	}
}

func splitByTenant(changes []store.Change, id string) (mine, rest []store.Change) {
	for _, c := range changes {
		if tenantOf(c) == id {
			mine = append(mine, c)
		} else {
			rest = append(rest, c)
		}
	}
	return mine, rest
}

func tenantOf(c store.Change) string { return currentRow(c).Text("tenant_id") }

// currentRow is the row as it is now, or was last.
func currentRow(c store.Change) store.Row {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// isAltered reports whether an update changes field.
func isAltered(c store.Change, field string) bool {
	return c.Op == store.Update && c.Before[field] != c.After[field]
}

// isManager reports a role that may move stock in and out of blocked zones.
func isManager(r actor.Role) bool {
	return r == actor.Owner || r == actor.Admin || r == actor.Manager || r == actor.Service
}

// set collects distinct ids in the order they came.
type set struct {
	seen map[string]bool
	list []string
}

func (s *set) addID(id string) {
	if id == "" || s.seen[id] {
		return
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[id] = true
	s.list = append(s.list, id)
}
