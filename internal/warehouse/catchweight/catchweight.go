// Package catchweight holds the weight of goods whose pieces differ, as cheese and meat do, to
// what so many pieces of the item should weigh.
//
// Layer: domains. Begin at [Item].
package catchweight

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// codeMovement is goods that a request does not describe as their item asks for.
const codeMovement = "HF003"

// Item is what an item says of the weight of its pieces.
type Item struct {
	sku       string
	isCaught  bool        // its goods are weighed when they come in and when they are picked
	nominal   decimal.Dec // kg of a base unit
	tolerance decimal.Dec // percent
}

// itemsSQL selects what items say of their weight. $1 tenant, $2 item ids.
const itemsSQL = `
	SELECT id, sku, COALESCE(catch_weight, false), COALESCE(weight_kg, 0), COALESCE(weight_tolerance_pct, 0)
	FROM items
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// ReadItems reads items by their ids.
func ReadItems(tx *store.Tx, ids []string) (map[string]Item, error) {
	items := map[string]Item{}
	if len(ids) == 0 {
		return items, nil
	}
	err := tx.Query(itemsSQL, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		items[r.Text(0)] = Item{r.Text(1), r.Bool(2), r.Dec(3), r.Dec(4)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("catchweight: items: %w", err)
	}
	return items, nil
}

// IsCaught reports an item whose goods are weighed.
func (it Item) IsCaught() bool { return it.isCaught }

// Exception is a weight that is taken although it is further off than the item allows.
type Exception struct {
	Reason    string // "" for none
	IsAllowed bool   // a manager says so
}

// CheckWeight refuses the weight in kg of a quantity in base units: none for an item of catch
// weight, any for another, and one that is further from the item's weight x the quantity than
// its tolerance, which itself is within, unless a manager says why. 0 is none.
func (it Item) CheckWeight(quantity, weight decimal.Dec, except Exception) *fault.Error {
	switch {
	case !it.isCaught && weight == 0:
		return nil
	case !it.isCaught:
		return refuseWeight("item %s is not of catch weight: its goods are not weighed", it.sku).
			With("", "leave weight_kg out, or make it an item of catch weight (items.catch_weight)")
	case weight <= 0:
		return refuseWeight("item %s is of catch weight: say what %s of it weigh, in kg", it.sku, quantity).
			With("", "weigh the goods and give weight_kg")
	}
	low, high, err := it.findLimits(quantity)
	if err != nil {
		return refuseWeight("what %s of item %s weigh cannot be reckoned: it is out of range", quantity, it.sku)
	}
	if isOff := weight < low || weight > high; isOff && (except.Reason == "" || !except.IsAllowed) {
		return refuseWeight("%s kg for %s of item %s: they weigh %s to %s kg (%s kg each, %s percent up or down)",
			weight, quantity, it.sku, low, high, it.nominal, it.tolerance).
			With("", "weigh and count again; where the goods are really so, a manager says why in weight_reason")
	}
	return nil
}

// findLimits are the least and the most that a quantity weighs, in kg.
func (it Item) findLimits(quantity decimal.Dec) (low, high decimal.Dec, err error) {
	nominal, err := it.nominal.Mul(quantity)
	if err != nil {
		return 0, 0, err
	}
	slack, err := nominal.MulDiv(it.tolerance, decimal.FromInt(100))
	return nominal - slack, nominal + slack, err
}

func refuseWeight(format string, args ...any) *fault.Error {
	why := fmt.Sprintf(format, args...)
	return fault.New(fault.Invalid, codeMovement, "%s", why).At("weight_kg", "%s", why)
}

// CheckItems refuses an item of catch weight that does not say what a piece of it weighs, and
// how far it may be from that.
func CheckItems(changes []store.Change) error {
	for _, c := range record.Changes[record.Item](changes) {
		if c.After == nil || !c.After.CatchWeight() {
			continue
		}
		for _, field := range [...]string{"weight_kg", "weight_tolerance_pct"} {
			if value := c.After[field]; value == nil || field == "weight_kg" && value == decimal.Dec(0) {
				return fault.New(fault.Invalid, codeMovement, "an item of catch weight says %s", field).
					With("", "give weight_kg, what a base unit weighs, and weight_tolerance_pct").
					At(field, "is required of an item of catch weight")
			}
		}
	}
	return nil
}

// ShareWeight splits the weight of goods over parts of their quantity; the last gets the rest,
// so that the sum is the whole.
func ShareWeight(weight decimal.Dec, parts []decimal.Dec) ([]decimal.Dec, error) {
	var whole decimal.Dec
	for _, part := range parts {
		whole += part
	}
	shares, rest := make([]decimal.Dec, len(parts)), weight
	for i, part := range parts {
		shares[i] = rest
		if i < len(parts)-1 {
			share, err := weight.MulDiv(part, whole)
			if err != nil {
				return nil, err
			}
			shares[i] = share
		}
		rest -= shares[i]
	}
	return shares, nil
}
