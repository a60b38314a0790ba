package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/catchweight"
	"holdfast/internal/warehouse/factors"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/kits"
	"holdfast/internal/warehouse/ownstock"
	"holdfast/internal/warehouse/scanning"
)

// deriveItems keeps an item's derived columns in step with its own fields;
// those that follow stock are kept by post.
func deriveItems(tx *store.Tx, changes []store.Change) error {
	if err := scanning.RemoveBarcodes(tx, changes); err != nil {
		return err
	}
	if err := factors.CheckBaseUnits(tx, changes); err != nil {
		return err
	}
	if err := catchweight.CheckItems(changes); err != nil {
		return err
	}
	owners, err := readOwnersOfRevalued(tx, changes)
	if err != nil {
		return err
	}
	var rise decimal.Dec
	for _, c := range record.Changes[record.Item](changes) {
		it := c.After
		if it == nil {
			continue
		}
		if c.Op == store.Insert {
			it.SetOnHand(decimal.Dec(0))
			it.SetAvailable(decimal.Dec(0))
		}
		if c.Alters(record.Item.TrackingOrNull) && it.OnHand() != 0 {
			return fault.New(fault.Conflict, CodeInUse, "the tracking of %s cannot change while there is stock of it",
				it.SKU()).
				At("tracking", "cannot change while there is stock")
		}
		if c.Alters(record.Item.BaseUOMOrNull) && it.OnHand() != 0 {
			return fault.New(fault.Conflict, CodeInUse, "the base unit of %s cannot change while there is stock of it",
				it.SKU()).
				At("base_uom", "cannot change while there is stock")
		}
		// An archived item is none of the active ones that totals count.
		if it.HasArchivedAt() && it.Status() == "active" {
			it.SetStatus("discontinued")
		}
		value := c.Before.StockValue()
		if c.Op == store.Insert || c.Alters(record.Item.UnitCostOrNull) {
			own := it.OnHand() - owners[it.ID()]
			if value, err = MultiplyWithin(own, it.UnitCost(), "unit_cost"); err != nil {
				return err
			}
		}
		it.SetStockValue(value)
		if rise, err = addWithin(rise, value-c.Before.StockValue(), maxTotal, "unit_cost"); err != nil {
			return err
		}
		it.SetLowStock(!kits.IsKit(it) && inventory.LowStock(it.Available(), it.ReorderPoint()))
	}
	if rise <= 0 {
		return nil
	}
	var kept decimal.Dec
	queueWorth(tx.Tx, tx.TenantID, &kept)
	if err := tx.Flush(); err != nil {
		return err
	}
	return checkStockValue(tx.Tx, tx.TenantID, kept, rise, "unit_cost")
}

// readOwnersOfRevalued reads what owners keep here of the items whose cost changes.
func readOwnersOfRevalued(tx *store.Tx, changes []store.Change) (map[string]decimal.Dec, error) {
	owners := map[string]decimal.Dec{}
	var items set
	for _, c := range record.Changes[record.Item](changes) {
		if c.Alters(record.Item.UnitCostOrNull) && c.After.OnHand() != 0 {
			items.addID(c.After.ID())
		}
	}
	if len(items.list) == 0 {
		return owners, nil
	}
	ownstock.QueueOwners(tx.Tx, tx.TenantID, items.list, func(item string, q decimal.Dec) { owners[item] = q })
	return owners, tx.Flush()
}

// updateZoneLoads moves the load of zones when the capacity an item takes changes, and
// keeps the item's barcodes and its lots' dates.
func updateZoneLoads(tx *store.Tx, changes []store.Change) error {
	if err := scanning.LabelItems(tx, changes); err != nil {
		return err
	}
	if err := redateLots(tx, changes); err != nil {
		return err
	}
	units := map[string][2]decimal.Dec{}
	var ids set
	for _, c := range record.Changes[record.Item](changes) {
		if c.Alters(record.Item.CapacityUnitsOrNull) && c.After.OnHand() != 0 {
			id := c.After.ID()
			units[id] = [2]decimal.Dec{c.Before.CapacityUnits(), c.After.CapacityUnits()}
			ids.addID(id)
		}
	}
	if len(ids.list) == 0 {
		return nil
	}
	loads := map[string]decimal.Dec{}
	err := tx.Query(`
		SELECT item_id, zone_id, quantity
		FROM stock_levels
		WHERE tenant_id = $1
			AND item_id IN {ids $2}
			AND quantity > 0`, []any{tx.TenantID, jsonList(ids.list)}, func(r *db.Row) error {
		u := units[r.Text(0)]
		before, err := MultiplyWithin(r.Dec(2), u[0], "capacity_units")
		if err != nil {
			return err
		}
		after, err := MultiplyWithin(r.Dec(2), u[1], "capacity_units")
		if err != nil {
			return err
		}
		loads[r.Text(1)], err = addWithin(loads[r.Text(1)], after-before, maxTotal, "capacity_units")
		return err
	})
	if err != nil {
		return err
	}
	return haul{tx: tx.Tx, tenant: tx.TenantID, now: query.FormatTime(tx.Now()), field: "capacity_units"}.moveLoads(loads)
}
