// Package factors keeps the units that goods are counted in: those that a tenant begins
// with, and what one unit of an item holds while open orders count in it.
//
// Layer: domains. Begin at [CheckUnits].
package factors

import (
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// codeInUse is a record that others rest on.
const codeInUse = "HF004"

// openUnitsSQL selects the units that lines of open orders are in, or were ordered in, with
// one of these orders. $1 tenant, $2 item ids.
const openUnitsSQL = `
	SELECT line.item_id, lower(line.uom), lower(COALESCE(line.ordered_uom, line.uom)), MIN(ordered.order_no)
	FROM order_lines AS line
	JOIN orders AS ordered ON ordered.tenant_id = $1 AND ordered.id = line.order_id
	WHERE line.tenant_id = $1
		AND line.item_id IN {ids $2}
		AND ordered.status NOT IN ('completed', 'cancelled')
	GROUP BY line.item_id, line.uom, line.ordered_uom`

// unit is a unit of an item, its code in lower case.
type unit struct{ itemID, code string }

// CheckUnits refuses to change how much a unit of an item holds, and to remove the unit,
// while an open order has a line in it: what was ordered would become another quantity.
func CheckUnits(tx *store.Tx, changes []store.Change) error {
	var items []string
	for _, c := range record.Changes[record.ItemUOM](changes) {
		if isUnsettling(c) {
			items = append(items, unitOf(c).itemID)
		}
	}
	if len(items) == 0 {
		return nil
	}

	orders := map[unit]string{}
	err := tx.Query(openUnitsSQL, []any{tx.TenantID, query.List(items)}, func(r *db.Row) error {
		orders[unit{r.Text(0), r.Text(1)}] = r.Text(3)
		orders[unit{r.Text(0), r.Text(2)}] = r.Text(3)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.ItemUOM](changes) {
		if !isUnsettling(c) {
			continue
		}
		if order := orders[unitOf(c)]; order != "" {
			code := strings.ToUpper(unitOf(c).code)
			return fault.New(fault.Conflict, codeInUse, "order %s is open and has a line in %s: what one %s holds is kept",
				order, code, code).
				With("", "complete, close or cancel the open orders in this unit first, or add another unit").
				At("factor", "is kept while order %s is open", order)
		}
	}
	return nil
}

// CheckBaseUnits refuses another base unit of an item while an open order has a line of it:
// its quantities are in base units.
func CheckBaseUnits(tx *store.Tx, changes []store.Change) error {
	var items []string
	for _, c := range record.Changes[record.Item](changes) {
		if c.Op == store.Update && c.Before.BaseUOMOrNull() != c.After.BaseUOMOrNull() {
			items = append(items, c.After.ID())
		}
	}
	if len(items) == 0 {
		return nil
	}
	return tx.Query(openUnitsSQL, []any{tx.TenantID, query.List(items)}, func(r *db.Row) error {
		return fault.New(fault.Conflict, codeInUse, "order %s is open and counts the item in its base unit", r.Text(3)).
			With("", "complete, close or cancel the open orders of the item first").
			At("base_uom", "is kept while order %s is open", r.Text(3))
	})
}

// unitOf is the unit that a change is about, its code in lower case.
func unitOf(c record.Change[record.ItemUOM]) unit {
	return unit{c.Before.ItemID(), strings.ToLower(c.Before.UOM())}
}

// isUnsettling reports a unit that goes or gets to hold another quantity.
func isUnsettling(c record.Change[record.ItemUOM]) bool {
	if c.Op == store.Delete {
		return true
	}
	return c.Op == store.Update && c.Before.Factor() != c.After.Factor()
}
