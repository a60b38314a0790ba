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

// unreadySQL selects the first item that keeps orders from being confirmed. What owners
// keep here is not counted as available. $1 tenant, $2 order ids.
const unreadySQL = `
	SELECT item.sku, item.status, ordered.type, item.available
	FROM order_lines AS line
	JOIN orders AS ordered ON ordered.tenant_id = $1 AND ordered.id = line.order_id
	JOIN items AS item ON item.tenant_id = $1 AND item.id = line.item_id
	WHERE line.tenant_id = $1
		AND line.order_id IN {ids $2}
		AND item.status <> 'active'
	GROUP BY line.order_id, ordered.type, ordered.owner_id, item.sku, item.status, item.available
	HAVING (item.status = 'draft'
		OR ordered.type = 'inbound'
		OR (ordered.type IN ('outbound', 'transfer')
			AND ordered.owner_id IS NULL
			AND SUM(line.qty_ordered - line.qty_cancelled) > item.available))
	ORDER BY item.sku
	LIMIT 1`

// CheckOrders refuses to confirm orders of drafts, and of discontinued items orders that
// buy more or sell more than is left.
func CheckOrders(tx *db.Tx, tenant string, orders []string) error {
	if len(orders) == 0 {
		return nil
	}
	return tx.Query(unreadySQL, []any{tenant, query.List(orders)}, func(r *db.Row) error {
		return refuseItem(r.Text(0), r.Text(1), r.Text(2), r.Dec(3))
	})
}

// refuseItem says why an item keeps an order of a type from being confirmed.
func refuseItem(sku, status, orderType string, left decimal.Dec) error {
	if status != Discontinued {
		return refuseOrder("item %s is a draft: activate it first", sku).At("order_id", "orders a draft")
	}
	if orderType == "inbound" {
		return RefuseReceipt(sku, "order_id")
	}
	return refuseOrder("item %s is discontinued and only %s of it is left", sku, left).
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
