package costs

import (
	"fmt"

	"holdfast/internal/db"
)

// historySQL selects the movements of a tenant that happened before a moment, each item's
// of one owner together in the order of their posting. $1 tenant, $2 the moment.
const historySQL = `
	SELECT item_id, owner_id, quantity, unit_cost, from_zone_id, to_zone_id, reversal_of
	FROM stock_movements
	WHERE tenant_id = $1
		AND occurred_at < $2
	ORDER BY item_id, owner_id, posting_no`

// allTime is later than whatever happened.
const allTime = "9999-12-31T00:00:00.000000Z"

// ReadAll reckons the standings of all of a tenant's goods from their movements, and calls
// each with an item, an owner, "" for the tenant's own, and what is known of them.
func ReadAll(tx *db.Tx, tenant string, each func(itemID, ownerID string, s Standing)) error {
	return readHistory(tx, tenant, allTime, each)
}

// readHistory is ReadAll of what happened before a moment, as the order of posting has it:
// a movement that was dated back comes after those that were posted before it.
func readHistory(tx *db.Tx, tenant, before string, each func(itemID, ownerID string, s Standing)) error {
	var key goodsKey
	var s Standing
	err := tx.Query(historySQL, []any{tenant, before}, func(r *db.Row) error {
		if next := (goodsKey{r.Text(0), r.Text(1)}); next != key {
			if s.Postings > 0 {
				each(key.item, key.owner, s)
			}
			key, s = next, Standing{}
		}
		return s.Post(Posting{Quantity: r.Dec(2), Cost: r.Dec(3), HasCost: !r.Null(3),
			In: r.Null(4), Out: r.Null(5), IsReverse: !r.Null(6)})
	})
	if err != nil {
		return fmt.Errorf("costs: movements before %s: %w", before, err)
	}
	if s.Postings > 0 {
		each(key.item, key.owner, s)
	}
	return nil
}
