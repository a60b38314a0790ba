// Package costs keeps with each movement of stock what one base unit of the item cost when
// it was posted, so that a later cost changes nothing of the past.
//
// Layer: domains. Begin at [QueueOfItems].
package costs

import (
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// codeMovement is that of a movement which does not fit what it is about.
const codeMovement = "HF003"

const (
	costColumn     = "unit_cost"
	ownerColumn    = "owner_id"
	reversalColumn = "reversal_of"
)

// itemCostsSQL selects what items cost and whose they are. $1 tenant, $2 item ids.
const itemCostsSQL = `
	SELECT id, unit_cost, owner_id
	FROM items
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// QueueOfItems queues giving new movements the cost of their items, where they state none
// themselves and reverse no other. Goods of a client have the cost of items that are the
// client's too, which the client sees: what the house's items cost is not for clients.
func QueueOfItems(tx *store.Tx, changes []store.Change) {
	open := map[string][]store.Row{}
	var rows []store.Row
	for _, c := range changes {
		if c.Op == store.Insert && c.After[costColumn] == nil && c.After[reversalColumn] == nil {
			rows = append(rows, c.After)
		}
	}
	var items []string
	for n, item := range store.TextColumn(rows, "item_id") {
		if open[item] == nil {
			items = append(items, item)
		}
		open[item] = append(open[item], rows[n])
	}
	if len(items) == 0 {
		return
	}
	tx.Queue(itemCostsSQL, []any{tx.TenantID, query.List(items)}, func(r *db.Row) error {
		for _, movement := range open[r.Text(0)] {
			if owner := movement.Text(ownerColumn); owner == "" || owner == r.Text(2) {
				movement[costColumn] = r.Dec(1)
			}
		}
		return nil
	})
}

// CopyOfReversed gives a movement the cost of the one that it reverses, and refuses
// another.
func CopyOfReversed(movement, reversed store.Row) *fault.Error {
	if given := movement[costColumn]; given != nil && given != reversed[costColumn] {
		const why = "a reversal has the cost of the movement it reverses"
		return fault.New(fault.Invalid, codeMovement, why).At(costColumn, why)
	}
	movement[costColumn] = reversed[costColumn]
	return nil
}
