package warehouse

import (
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/verb"
)

// units convert quantities of items between their units. A conversion is exact
// or refused, never rounded: a rounded one would leave a rest nobody can count.
type units struct {
	base   map[string]string                 // item -> base unit
	factor map[string]map[string]decimal.Dec // item -> unit in lower case -> base units in one
	places map[string]int64                  // unit in lower case -> decimals it takes
}

// queueUnits queues reading the units of items.
func queueUnits(tx *db.Tx, tenant string, items []string) *units {
	u := &units{base: map[string]string{}, factor: map[string]map[string]decimal.Dec{}, places: map[string]int64{}}
	tx.Queue(`
		SELECT i.id, i.base_uom, u.uom, u.factor
		FROM items i
		LEFT JOIN item_uoms u ON u.tenant_id = $1 AND u.item_id = i.id
		WHERE i.tenant_id = $1
			AND i.id IN {ids $2}`, []any{tenant, jsonList(items)}, func(r *db.Row) error {
		id := r.Text(0)
		if u.factor[id] == nil {
			u.base[id] = r.Text(1)
			u.factor[id] = map[string]decimal.Dec{}
		}
		if !r.Null(2) {
			u.factor[id][strings.ToLower(r.Text(2))] = r.Dec(3)
		}
		return nil
	})
	tx.Queue("SELECT lower(code), decimals FROM uoms WHERE tenant_id = $1", []any{tenant}, func(r *db.Row) error {
		u.places[r.Text(0)] = r.Int(1)
		return nil
	})
	return u
}

// unitFactor is how many base units one unit of an item holds; "" is the base unit.
func (u *units) unitFactor(item, unit string) (decimal.Dec, *fault.Error) {
	if unit == "" || strings.EqualFold(unit, u.base[item]) {
		return decimal.One, nil
	}
	if f := u.factor[item][strings.ToLower(unit)]; f != 0 {
		return f, nil
	}
	return 0, refuseMovement("uom", "the item has no unit "+unit+"; its base unit is "+u.base[item])
}

// isDivisible reports an item whose base unit takes decimals, as kilograms do: it is no piece.
func (u *units) isDivisible(item string) bool { return u.places[strings.ToLower(u.base[item])] > 0 }

// toBase turns a quantity in a unit into base units.
func (u *units) toBase(item, unit string, quantity decimal.Dec) (decimal.Dec, *fault.Error) {
	f, err := u.unitFactor(item, unit)
	if err != nil {
		return 0, err
	}
	if unit == "" {
		unit = u.base[item]
	}
	if err := u.checkUnitDecimals("quantity", unit, quantity); err != nil {
		return 0, err
	}
	base, exact := quantity.MulExact(f)
	if !exact {
		return 0, refuseMovement("quantity", quantity.String()+" "+unit+" is no quantity of four decimals in "+u.base[item])
	}
	return base, u.checkUnitDecimals("quantity", u.base[item], base)
}

// fromBase turns base units into a unit; ok is false when that does not come out
// even.
func (u *units) fromBase(item, unit string, base decimal.Dec) (quantity decimal.Dec, ok bool) {
	f, err := u.unitFactor(item, unit)
	if err != nil {
		return 0, false
	}
	return base.DivExact(f)
}

// checkUnitDecimals holds the quantity of a field to the decimals of its unit.
func (u *units) checkUnitDecimals(field, unit string, quantity decimal.Dec) *fault.Error {
	if quantity%u.smallestQuantity(unit) != 0 {
		return refuseMovement(field, quantity.String()+" is finer than unit "+unit+" takes").With("",
			"give a multiple of "+u.smallestQuantity(unit).String()+" "+unit+", or let the unit take more decimals (uoms)")
	}
	return nil
}

// smallestQuantity is the least quantity that a unit takes; the finest there is when nothing
// is known of it.
func (u *units) smallestQuantity(unit string) decimal.Dec {
	places, known := u.places[strings.ToLower(unit)]
	if !known {
		return 1
	}
	step := decimal.Dec(decimal.Scale)
	for range places {
		step /= 10
	}
	return max(step, 1)
}

// spoken is a quantity in base units that somebody says of an item, with the member
// that says it. All of what there is may be said, as fine as it is: it came before
// its unit was bounded.
type spoken struct {
	item, member  string
	quantity, all decimal.Dec
	row           int // of a request of several
}

// checkBaseUnitDecimals holds what is said to the decimals of the items' base units.
func checkBaseUnitDecimals(c *verb.Call, list ...spoken) error {
	return fineRows(c.Tx.Tx, c.TenantID, list, 1)
}

// fineRows is fine for a request of n rows.
func fineRows(tx *db.Tx, tenant string, list []spoken, n int) error {
	var items set
	for _, s := range list {
		if s.quantity%decimal.Scale != 0 && s.quantity != s.all {
			items.addID(s.item)
		}
	}
	if len(items.list) == 0 {
		return nil
	}
	u := queueUnits(tx, tenant, items.list)
	if err := tx.Flush(); err != nil {
		return err
	}
	for _, s := range list {
		if s.quantity == s.all {
			continue
		}
		if err := u.checkUnitDecimals(s.member, u.base[s.item], s.quantity); err != nil {
			return nameRow(err, s.row, n)
		}
	}
	return nil
}
