// Package pricing keeps the prices of order lines: of which unit of the item a price is, as
// 21.20 a case of 12, and the amount that comes of it. No other place works out what a
// line is worth.
//
// Layer: domains. Begin at [SetAmount].
package pricing

import (
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// codeMovement is that of a unit, here as where goods move.
const codeMovement = "HF003"

// The columns of a line that say what it is worth.
const (
	itemColumn      = "item_id"
	unitColumn      = "uom"
	orderedColumn   = "qty_ordered"
	cancelledColumn = "qty_cancelled"
	priceColumn     = "unit_price"
	priceUnitColumn = "price_uom"
)

// HasUnit reports a line whose price has a unit of its own.
func HasUnit(line record.OrderLine) bool { return line.PriceUOM() != "" }

// IsUnitSet reports a change that says anew what the price of a line is of. A change of
// the price alone does not: it is of as much as before.
func IsUnitSet(c record.Change[record.OrderLine]) bool {
	if c.Op != store.Update {
		return c.Op == store.Insert
	}
	for _, name := range [...]string{itemColumn, unitColumn, priceUnitColumn} {
		if c.Before[name] != c.After[name] {
			return true
		}
	}
	return false
}

// FindUnit returns the base unit of an item, and how many of it a unit holds, 0 when the
// item has no such unit.
type FindUnit func(item, unit string) (base string, factor decimal.Dec)

// IsLeft reports a line that was left in a unit that its item knows and is not kept in.
func IsLeft(line record.OrderLine, find FindUnit) bool {
	unit := line.UOM()
	base, factor := find(line.ItemID(), unit)
	return factor != 0 && !strings.EqualFold(unit, base)
}

// CheckUnit refuses another unit alone for a line that was left in cases, as its price or a
// file had it: 3 cases are not 3 pieces, nor is the price of one that of the other. Whoever
// changes the unit says anew what was said in it. A line of another item is a new one.
func CheckUnit(c record.Change[record.OrderLine], find FindUnit) *fault.Error {
	if c.Op != store.Update || c.Before.ItemID() != c.After.ItemID() || !IsLeft(c.Before, find) {
		return nil
	}
	was, unit := c.Before.UOM(), c.After.UOM()
	if strings.EqualFold(was, unit) {
		return nil
	}
	refused := fault.New(fault.Invalid, codeMovement, "the line is in %s: another unit changes what it asks for", was).
		With("", "give what is in "+was+" in "+unit+" as well; price_uom says what unit the price is of")
	for _, name := range [...]string{orderedColumn, cancelledColumn, priceColumn} {
		said := store.Row(c.Before).Decimal(name)
		if said == 0 || c.Before[name] != c.After[name] || name == priceColumn && HasUnit(c.After) {
			continue
		}
		refused.At(name, "%s is in %s, say how much it is in %s", said, was, unit)
	}
	if len(refused.Fields) == 0 {
		return nil
	}
	return refused
}

// SetUnit holds the unit that the price of a line is of to those of its item, and writes
// how much one holds: what it holds later does not change the line. A line that is not
// kept in the base unit has a price of the unit that it is in.
func SetUnit(c record.Change[record.OrderLine], find FindUnit) *fault.Error {
	if !IsUnitSet(c) {
		return nil
	}
	line := c.After
	counted, unit := line.UOM(), line.PriceUOM()
	line.SetPriceQty(decimal.One)
	if unit == "" {
		return nil
	}
	if strings.EqualFold(unit, counted) {
		line.SetPriceUOM(counted)
		return nil
	}
	base, factor := find(line.ItemID(), unit)
	if factor == 0 {
		return refuseUnit("the item has no unit " + unit + "; its base unit is " + base)
	}
	if !strings.EqualFold(counted, base) {
		return refuseUnit("the line is kept in " + counted + ": give the price of one " + counted)
	}
	line.SetPriceUOM(strings.ToUpper(unit))
	line.SetPriceQty(factor)
	return nil
}

func refuseUnit(why string) *fault.Error {
	return fault.New(fault.Invalid, codeMovement, "%s", why).At(priceUnitColumn, "%s", why)
}

// SetAmount writes the amount of a line of an order, null without a price. It reports
// whether all that was ordered is worth most at most, whatever of it is cancelled.
func SetAmount(line record.OrderLine, most decimal.Dec) (fits bool) {
	if !line.HasUnitPrice() {
		line.ClearAmount()
		return true
	}
	ordered, price, per := line.QtyOrdered(), line.UnitPrice(), line.PriceQty()
	if all, err := MultiplyPrice(ordered, price, per); err != nil || all > most {
		return false
	}
	amount, err := MultiplyPrice(ordered-line.QtyCancelled(), price, per)
	line.SetAmount(amount)
	return err == nil
}

// BaseCost is what one base unit of a line's item costs by the line's price, where one of
// the line's own unit holds factor base units. A line without a price has none, nor has one
// whose price no amount of money holds.
func BaseCost(line record.OrderLine, factor decimal.Dec) (cost decimal.Dec, known bool) {
	if line == nil || !line.HasUnitPrice() {
		return 0, false
	}
	// One of both is 1: a price has a unit of its own only where the line is in the base unit.
	per, err := line.PriceQty().Mul(factor)
	if err != nil {
		return 0, false
	}
	cost, err = line.UnitPrice().MulDiv(decimal.One, per)
	return cost, err == nil
}

// MultiplyPrice is what a quantity costs at a price that is for so many of it: quantity x
// price / per, rounded once to four decimals, half up.
func MultiplyPrice(quantity, price, per decimal.Dec) (decimal.Dec, error) {
	return quantity.MulDiv(price, per)
}
