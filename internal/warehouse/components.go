package warehouse

import (
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/kits"
)

// checkComponents holds what a kit is made of to what it may be, in quantities as fine as
// the components' units take: pieces are whole.
func checkComponents(tx *store.Tx, changes []store.Change) error {
	if err := kits.CheckComponents(tx, changes); err != nil {
		return err
	}
	var said []spoken
	for i, c := range record.Changes[record.ItemComponent](changes) {
		if c.After != nil {
			q := c.After.Qty()
			said = append(said, spoken{item: c.After.ItemID(), member: "qty", quantity: q, row: i})
		}
	}
	return fineRows(tx.Tx, tx.TenantID, said, len(changes))
}
