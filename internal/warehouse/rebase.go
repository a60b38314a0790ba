package warehouse

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/pricing"
)

// anyUnit is the unit of a line that names none: one of the item's base unit,
// unless the item knows it as another.
const anyUnit = "EA"

// rebaseOrderLines keeps lines of orders in the base units of their items, in which stock is
// promised, picked, shipped and received. What was ordered in another unit stays
// beside. The price follows, where it comes out even; a price with a unit of its own stays
// as it is.
// A file's line in a unit that the item does not know, or at a price that does not come
// out even, is left as it is, and is refused when its order is confirmed; its price, or
// the unit of that, turns it into base units later. A line of goods that come in whose
// price does not come out even is left as well: it is received in whole units of its own.
func rebaseOrderLines(tx *db.Tx, a actor.Actor, changes []store.Change, strict bool) error {
	var items, orders set
	for _, c := range record.Changes[record.OrderLine](changes) {
		if c.Op == store.Insert || pricing.IsUnitSet(c) || c.Alters(record.OrderLine.UnitPriceOrNull) || isInParts(c) {
			items.addID(c.After.ItemID())
			orders.addID(c.After.OrderID())
		}
	}
	outbound := map[string]bool{}
	if len(items.list) == 0 {
		return keepOrdered(changes, nil, outbound, strict)
	}
	u := queueUnits(tx, a.TenantID, items.list)
	err := tx.Query(`
		SELECT id
		FROM orders
		WHERE tenant_id = $1
			AND type IN ('outbound', 'transfer')
			AND id IN {ids $2}`,
		[]any{a.TenantID, jsonList(orders.list)}, func(r *db.Row) error {
			outbound[r.Text(0)] = true
			return nil
		})
	if err != nil {
		return err
	}
	return keepOrdered(changes, u, outbound, strict)
}

func keepOrdered(changes []store.Change, u *units, outbound map[string]bool, strict bool) error {
	for i, c := range record.Changes[record.OrderLine](changes) {
		l := c.After
		sold := l != nil && outbound[l.OrderID()]
		switch {
		case l == nil:
		case c.Op == store.Insert || c.Alters(record.OrderLine.UOMOrNull) || c.Alters(record.OrderLine.ItemIDOrNull):
			if u == nil || u.base[l.ItemID()] == "" {
				continue // no such item: the reference refuses it
			}
			if err := pricing.CheckUnit(c, u.findUnit); err != nil && strict {
				return nameRow(err, i, len(changes))
			}
			if err := u.rebaseLine(c); err != nil && strict && sold {
				return nameRow(err, i, len(changes))
			}
		case sold && (c.Alters(record.OrderLine.UnitPriceOrNull) || c.Alters(record.OrderLine.PriceUOMOrNull)) &&
			pricing.IsLeft(l, u.findUnit):
			if err := u.rebaseLine(c); err != nil && strict {
				return nameRow(err, i, len(changes))
			}
		case c.Alters(record.OrderLine.QtyOrderedOrNull):
			l.ClearOrderedUOM()
			l.ClearOrderedQty()
		}
		if err := u.fineLine(c); err != nil && strict {
			return nameRow(err, i, len(changes))
		}
		if err := pricing.SetUnit(c, u.findUnit); err != nil {
			return nameRow(err, i, len(changes))
		}
	}
	return nil
}

// isInParts reports a line whose quantity was given in parts of a unit.
func isInParts(c record.Change[record.OrderLine]) bool {
	parts := func(f string) bool {
		return (c.Op == store.Insert || isAltered(c.Change, f)) && store.Row(c.After).Decimal(f)%decimal.Scale != 0
	}
	return c.After != nil && (parts("qty_ordered") || parts("qty_cancelled"))
}

// fineLine holds what was given of a line in its base unit to the decimals of that.
func (u *units) fineLine(c record.Change[record.OrderLine]) *fault.Error {
	if u == nil || !isInParts(c) || !strings.EqualFold(c.After.UOM(), u.base[c.After.ItemID()]) {
		return nil
	}
	for _, f := range [...]string{"qty_ordered", "qty_cancelled"} {
		if c.Op == store.Update && !isAltered(c.Change, f) {
			continue
		}
		if err := u.checkUnitDecimals(f, c.After.UOM(), store.Row(c.After).Decimal(f)); err != nil {
			return err
		}
	}
	return nil
}

// rebaseLine turns one line into base units.
func (u *units) rebaseLine(c record.Change[record.OrderLine]) *fault.Error {
	l := c.After
	item, unit := l.ItemID(), l.UOM()
	base := u.base[item]
	f, err := u.unitFactor(item, unit)
	if err != nil && strings.EqualFold(unit, anyUnit) || err == nil && strings.EqualFold(unit, base) {
		l.SetUOM(base)
		l.ClearOrderedUOM()
		l.ClearOrderedQty()
		return nil
	}
	if err != nil {
		return err
	}
	ordered, err := u.toBase(item, unit, l.QtyOrdered())
	if err != nil {
		return refuseMovement("qty_ordered", err.Msg)
	}
	cancelled, err := u.toBase(item, unit, l.QtyCancelled())
	if err != nil {
		return refuseMovement("qty_cancelled", err.Msg)
	}
	if price := l.UnitPrice(); price != 0 && !pricing.HasUnit(l) {
		each, exact := price.DivExact(f)
		if !exact {
			return refuseMovement("unit_price", price.String()+" a "+unit+" is no price of four decimals a "+base+
				": say that it is of a "+unit+" (price_uom), or give the line in "+base)
		}
		l.SetUnitPrice(each)
	}
	l.SetOrderedUOM(strings.ToUpper(unit))
	l.SetOrderedQtyOrNull(l.QtyOrderedOrNull())
	l.SetUOM(base)
	l.SetQtyOrdered(ordered)
	l.SetQtyCancelled(cancelled)
	return nil
}

// findUnit returns the base unit of an item, and how many of it another unit holds; 0
// means that the item has no such unit.
func (u *units) findUnit(item, unit string) (base string, factor decimal.Dec) {
	factor, _ = u.unitFactor(item, unit)
	return u.base[item], factor
}

// unitsKnown refuses orders whose lines are in units their items do not have or that their
// prices keep them in, or finer than these take: those that came in a file.
func unitsKnown(tx *db.Tx, tenant string, orders []string) error {
	if len(orders) == 0 {
		return nil
	}
	var left store.Row
	var item string
	var refused *fault.Error
	known := "(lower(l.uom) = lower(i.base_uom) OR l.uom = '" + anyUnit + "')"
	err := tx.Query(db.FillWords(`
		SELECT l.line_no, l.uom, i.sku, i.base_uom, {known}, l.qty_ordered,
			l.item_id, l.qty_cancelled, l.unit_price, l.price_uom
		FROM order_lines l
		JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id
		JOIN items i ON i.tenant_id = $1 AND i.id = l.item_id
		LEFT JOIN uoms m ON m.tenant_id = $1 AND lower(m.code) = lower(i.base_uom)
		WHERE l.tenant_id = $1
			AND l.order_id IN {ids $2}
			AND o.type IN ('outbound', 'transfer')
			AND (
				NOT {known}
				OR l.qty_ordered % CASE m.decimals
					WHEN 0 THEN 10000
					WHEN 1 THEN 1000
					WHEN 2 THEN 100
					WHEN 3 THEN 10
					ELSE 1
				END <> 0
			)
		ORDER BY l.order_id, l.line_no
		LIMIT 1`, "{known}", known),
		[]any{tenant, jsonList(orders)}, func(r *db.Row) error {
			if r.Bool(4) {
				return notReady("line %d asks for %s, finer than unit %s takes", r.Int(0), r.Dec(5), r.Text(3)).
					With("", "change the line's quantity").At("order_id", "has a line that is finer than its unit takes")
			}
			item = r.Text(6)
			left = store.Row{"item_id": item, "uom": r.Text(1), "qty_ordered": r.Dec(5), "qty_cancelled": r.Dec(7),
				"unit_price": r.Dec(8), "price_uom": r.Text(9)}
			refused = notReady("line %d is in %s, item %s is kept in %s", r.Int(0), r.Text(1), r.Text(2), r.Text(3))
			return nil
		})
	if err != nil || left == nil {
		return err
	}
	u := queueUnits(tx, tenant, []string{item})
	if err := tx.Flush(); err != nil {
		return err
	}
	return u.explainLeft(refused, left)
}

// explainLeft says at a refusal why a line was left in another unit than its item's, and
// what can be done about it.
func (u *units) explainLeft(refused *fault.Error, l store.Row) *fault.Error {
	if !pricing.IsLeft(record.OrderLine(l), u.findUnit) {
		return refused.With("", "change the line's unit to one of the item's").At("order_id",
			"has a line in a unit that its item does not know")
	}
	words := "has a line in a unit that its item came to know later"
	if why := u.rebaseLine(record.ChangeOf[record.OrderLine](store.Change{Op: store.Update, After: l})); why != nil {
		words = why.Msg
	}
	return refused.With("", "set the line's price_uom where its price is of that unit, or give its uom with qty_ordered "+
		"and unit_price in the base unit").At("order_id", "%s", words)
}
