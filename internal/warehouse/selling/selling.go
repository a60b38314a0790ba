// Package selling says which items orders may buy and sell: a draft neither, a
// discontinued item only what is left of it.
//
// Layer: domains. Begin at [CheckOrders].
package selling

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// codeOrder is an order that is not ready to be confirmed, or goods that may not come in.
const codeOrder = "HF006"

// Discontinued is the status of items of which no more is bought.
const Discontinued = "discontinued"

// lockSQL locks the discontinued items of order lines: what is left of them is promised to
// one order after the other. $1 tenant, $2 ids; {which} is a condition on line.
const lockSQL = `
	SELECT id
	FROM items
	WHERE tenant_id = $1
		AND status = 'discontinued'
		AND id IN (SELECT line.item_id FROM order_lines AS line WHERE line.tenant_id = $1 AND {which})
	ORDER BY id
	{for update}`

// unreadySQL selects the first item that keeps orders from being confirmed, or lines from
// being added to confirmed ones. What owners keep here is not counted as available. $1
// tenant, $2 ids; {which} is a condition on line.
const unreadySQL = `
	SELECT item.sku, item.status, ordered.type = 'inbound' AS buys, item.available, MIN(ordered.order_no)
	FROM order_lines AS line
	JOIN orders AS ordered ON ordered.tenant_id = $1 AND ordered.id = line.order_id
	JOIN items AS item ON item.tenant_id = $1 AND item.id = line.item_id
	WHERE line.tenant_id = $1
		AND {which}
		AND item.status <> 'active'
		AND (item.status = 'draft' OR ordered.type = 'inbound'
			OR ordered.type IN ('outbound', 'transfer') AND ordered.owner_id IS NULL)
	GROUP BY item.sku, item.status, ordered.type = 'inbound', item.available
	HAVING (
		item.status = 'draft'
		OR ordered.type = 'inbound'
		OR SUM(line.qty_ordered - line.qty_cancelled - line.qty_allocated) > item.available
	)
	ORDER BY item.sku
	LIMIT 1`

// CheckOrders refuses to confirm orders of drafts, and of discontinued items orders that
// buy more or sell more than is left, together.
func CheckOrders(tx *db.Tx, tenant string, orders []string) error {
	return checkLines(tx, tenant, "line.order_id IN {ids $2}", orders)
}

// CheckLines refuses what CheckOrders does, of lines of confirmed orders that were added or
// ask for more.
func CheckLines(tx *db.Tx, tenant string, lines []string) error {
	return checkLines(tx, tenant, "line.id IN {ids $2}", lines)
}

func checkLines(tx *db.Tx, tenant, which string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	args := []any{tenant, query.List(ids)}
	if tx.DB().ForUpdate() != "" {
		tx.Queue(db.FillWords(lockSQL, "{which}", which), args, nil)
	}
	return tx.Query(db.FillWords(unreadySQL, "{which}", which), args, func(r *db.Row) error {
		return refuseItem(r.Text(0), r.Text(1), r.Bool(2), r.Dec(3), r.Text(4))
	})
}

// refuseItem says why an item keeps an order that buys or sells it from being confirmed.
func refuseItem(sku, status string, buys bool, left decimal.Dec, order string) error {
	if status != Discontinued {
		return refuseOrder("item %s of order %s is a draft: activate it first", sku, order).At("order_id", "orders a draft")
	}
	if buys {
		return RefuseReceipt(sku, "order_id")
	}
	return refuseOrder("item %s of order %s is discontinued and only %s of it is left", sku, order, left).
		With("", "order what is left, or activate the item to buy more").
		At("order_id", "sells more than is left of an item that is discontinued")
}

// RefuseReceipt refuses goods of a discontinued item that come in new; field names the
// item in the request.
func RefuseReceipt(sku, field string) *fault.Error {
	return refuseOrder("item %s is discontinued: its rest is sold, and no more of it comes in but what comes back", sku).
		With("", "activate the item to buy more of it").At(field, "is discontinued")
}

func refuseOrder(format string, args ...any) *fault.Error {
	return fault.New(fault.Conflict, codeOrder, format, args...)
}
