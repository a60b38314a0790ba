// Package pricing works out what the lines of orders are worth: the one place where a
// quantity and the price of a sales unit, as 21.20 a case of 12, become an amount.
//
// Layer: domains. Begin at [SetAmount].
package pricing

import (
	"holdfast/internal/decimal"
	"holdfast/internal/store"
)

// SetAmount writes the amount of a line of an order, null without a price. It reports
// whether all that was ordered is worth most at most, whatever of it is cancelled.
func SetAmount(line store.Row, most decimal.Dec) (fits bool) {
	if line["unit_price"] == nil {
		line["amount"] = nil
		return true
	}
	ordered, price, per := line.Decimal("qty_ordered"), line.Decimal("unit_price"), line.Decimal("price_qty")
	if all, err := MultiplyPrice(ordered, price, per); err != nil || all > most {
		return false
	}
	amount, err := MultiplyPrice(ordered-line.Decimal("qty_cancelled"), price, per)
	line["amount"] = amount
	return err == nil
}

// MultiplyPrice is what a quantity costs at a price that is for so many of it: quantity x
// price / per, rounded once to four decimals, half up.
func MultiplyPrice(quantity, price, per decimal.Dec) (decimal.Dec, error) {
	return quantity.MulDiv(price, per)
}
