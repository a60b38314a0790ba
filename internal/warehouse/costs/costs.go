// Package costs keeps with each movement of stock what one base unit of the item cost when
// it was posted, so that a later cost changes nothing of the past, and beside the movements
// the average cost of each item and owner. [ReadValue] says from both what the stock of a
// day was worth.
//
// Layer: domains. Begin at [Reckon].
package costs

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// codeMovement is that of a movement which does not fit what it is about.
const codeMovement = "HF003"

const costColumn = "unit_cost"

// mostValue bounds what an item's goods of one owner are worth: 10^14.
const mostValue = decimal.Dec(100_000_000_000_000 * decimal.Scale)

// MethodSetting is the key of the tenant's setting that says at what cost goods move.
const MethodSetting = "costing_method"

// IsAverage reports a value of the setting by which goods move at their average cost.
func IsAverage(value string) bool {
	var method string
	return json.Unmarshal([]byte(value), &method) == nil && method == "moving_average"
}

// methodSQL selects the tenant's setting. $1 tenant, $2 its key.
const methodSQL = `
	SELECT value
	FROM settings
	WHERE tenant_id = $1
		AND section = 'stock'
		AND lower(key) = $2`

// itemCostsSQL selects what items cost and whose they are, and locks them: movements of an
// item are reckoned one after another, in the order of their posting. $1 tenant, $2 item ids.
const itemCostsSQL = `
	SELECT id, unit_cost, owner_id
	FROM items
	WHERE tenant_id = $1
		AND id IN {ids $2}
	ORDER BY id
	{for update}`

// itemCost is what a base unit of an item costs by the item, and whose the item is.
type itemCost struct {
	cost  decimal.Dec
	owner string
}

// Reckoning is what new movements are reckoned from.
type Reckoning struct {
	changes  []store.Change
	items    map[string]itemCost
	standing standings
	average  bool
}

// Reckon queues reading what new movements cost, and locks their items. What it returns
// sets the costs once the reads have run.
func Reckon(tx *store.Tx, changes []store.Change) *Reckoning {
	r := &Reckoning{changes: changes, items: map[string]itemCost{}}
	ids := movedItems(changes)
	if len(ids) == 0 {
		return r
	}
	tx.Queue(itemCostsSQL, []any{tx.TenantID, query.List(ids)}, func(row *db.Row) error {
		r.items[row.Text(0)] = itemCost{row.Dec(1), row.Text(2)}
		return nil
	})
	tx.Queue(methodSQL, []any{tx.TenantID, MethodSetting}, func(row *db.Row) error {
		r.average = IsAverage(row.Text(0))
		return nil
	})
	r.standing = queueStandings(tx, ids)
	return r
}

// movedItems are the items of new movements.
func movedItems(changes []store.Change) (ids []string) {
	var rows []record.StockMovement
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op == store.Insert {
			rows = append(rows, c.After)
		}
	}
	met := map[string]bool{}
	for _, id := range record.Texts(rows, record.StockMovement.ItemID) {
		if !met[id] {
			met[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// SetCosts gives the movements their costs, where they state none themselves and reverse
// no other, and their numbers in the order in which costs are reckoned.
func (r *Reckoning) SetCosts() error {
	for _, c := range record.Changes[record.StockMovement](r.changes) {
		if c.Op != store.Insert {
			continue
		}
		s := r.standing.standingOf(c.After)
		if !c.After.HasUnitCost() && !c.After.HasReversalOf() {
			if cost, known := r.costOf(c.After, s); known {
				c.After.SetUnitCost(cost)
			}
		}
		c.After.SetPostingNo(s.Postings + 1)
		if err := s.Post(readPosting(c.After)); err != nil {
			return fmt.Errorf("costs: average of item %s: %w", c.After.ItemID(), err)
		}
		if value, err := s.Quantity.Mul(s.Average); err != nil || value > mostValue {
			return fault.New(fault.Invalid, "22003", "the goods would be worth more than %s, the most that is kept", mostValue).
				At(costColumn, "takes the value of the stock past %s", mostValue)
		}
	}
	return nil
}

// costOf is what a base unit of a movement's goods costs. Goods of a client have the cost
// of items that are the client's too, which the client sees: what the house's items cost
// is not for clients. By moving average an item's cost of 0, with which every item begins,
// is no cost: it would halve the average of the next receipt.
func (r *Reckoning) costOf(movement record.StockMovement, s *Standing) (cost decimal.Dec, known bool) {
	if r.average && s.Known {
		return s.Average, true
	}
	item, found := r.items[movement.ItemID()]
	owner := movement.OwnerID()
	return item.cost, found && (owner == "" || owner == item.owner) && (!r.average || item.cost > 0)
}

// CopyOfReversed gives a movement the cost of the one that it reverses, and refuses
// another.
func CopyOfReversed(movement, reversed record.StockMovement) *fault.Error {
	if given := movement.UnitCostOrNull(); given != nil && given != reversed.UnitCostOrNull() {
		const why = "a reversal has the cost of the movement it reverses"
		return fault.New(fault.Invalid, codeMovement, why).At(costColumn, why)
	}
	movement.SetUnitCostOrNull(reversed.UnitCostOrNull())
	return nil
}
