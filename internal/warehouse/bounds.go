package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
)

// Bounds of quantities, values and totals. A Dec holds 9.2 x 10^14 units; each
// sum that is kept is checked against its own bound before it is written, and
// sums made while reading stay in range because their parts are small.
const (
	// maxMove is the most one movement moves: 10^7 of them add up without
	// passing the number range, whatever a report groups them by.
	maxMove = decimal.Dec(50_000_000 * decimal.Scale)
	// maxStock is the most of an item in one place or altogether, and the most
	// one order line asks for: 10^12.
	maxStock = decimal.Dec(1_000_000_000_000 * decimal.Scale)
	// maxValue bounds the value of an item's stock or of an order, the load of a
	// stock level and the quantities of an order: 10^14.
	maxValue = 100 * maxStock
	// maxTotal bounds the value of a tenant's stock and the load of a zone with
	// all in it: 5 x 10^14.
	maxTotal = 5 * maxValue
	// calm is up to which stock value of a tenant no lock is taken: 4,000
	// writers at once, each unseen by the others, take the total from maxTotal
	// to 9 x 10^14 at most.
	calm = maxStock / 10
)

// tooMuch says that field takes a quantity, value or total past its bound.
func tooMuch(field string, most decimal.Dec) error {
	return fault.New(fault.Invalid, "22003",
		"%s would take a quantity, a value or a total past %s, the most that is kept", field, most).
		With("", "give less, or take something away first").At(field, "takes a total past %s", most)
}

// addWithin is total + change. Past most in either direction only a change back
// towards zero is let through, so that what is too large can be put right.
func addWithin(total, change, most decimal.Dec, field string) (decimal.Dec, error) {
	sum := total + change
	wrapped := sum > total != (change > 0)
	if change != 0 && (wrapped || change > 0 && sum > most || change < 0 && sum < -most) {
		return 0, tooMuch(field, most)
	}
	return sum, nil
}

// MultiplyWithin multiplies within maxValue.
func MultiplyWithin(a, b decimal.Dec, field string) (decimal.Dec, error) {
	p, err := a.Mul(b)
	if err != nil || p > maxValue || p < -maxValue {
		return 0, tooMuch(field, maxValue)
	}
	return p, nil
}

// stockValue is the tenant's counter of the catalog's items.
const stockValue = "items.stock_value"

// queueWorth queues reading the value of a tenant's stock.
func queueWorth(tx *db.Tx, tenant string, into *decimal.Dec) {
	tx.Queue(`
		SELECT CAST(COALESCE(SUM(delta), 0) AS bigint)
		FROM counters
		WHERE tenant_id = $1
			AND name = $2`,
		[]any{tenant, stockValue}, func(r *db.Row) error {
			*into = r.Dec(0)
			return nil
		})
}

// checkStockValue refuses a rise of the value of a tenant's stock past maxTotal.
// kept is what queueWorth has read. Writers on PostgreSQL do not see each
// other's rise, so above calm they go one by one; nobody who takes the lock
// takes another item's lock after it in the same effect.
func checkStockValue(tx *db.Tx, tenant string, kept, rise decimal.Dec, field string) error {
	if rise <= 0 {
		return nil
	}
	total, err := addWithin(kept, rise, maxTotal, field)
	lock := tx.DB().ForUpdate()
	if lock == "" || err == nil && total <= calm {
		return err
	}
	tx.Queue(db.FillWords(`
		SELECT id
		FROM tenants
		WHERE id = $1 {lock}`, "{lock}", lock), []any{tenant}, nil)
	queueWorth(tx, tenant, &kept)
	if err := tx.Flush(); err != nil {
		return err
	}
	_, err = addWithin(kept, rise, maxTotal, field)
	return err
}
