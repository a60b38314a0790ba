package verify

import "holdfast/internal/db"

// foreignPromisesSQL selects promises of goods that are not of the order's owner. $1 tenant.
const foreignPromisesSQL = `
	SELECT promise.id, orders.id
	FROM reservations AS promise
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = promise.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE promise.tenant_id = $1
		AND promise.state = 'active'
		AND COALESCE(CAST(promise.owner_id AS text), '') <> COALESCE(CAST(orders.owner_id AS text), '')`

// recountOwners finds orders that were promised another owner's goods.
func (r *recount) recountOwners() {
	r.queueQuery(foreignPromisesSQL, func(row *db.Row) {
		r.addPair("reservation "+row.Text(0)+" of another owner than order "+row.Text(1), 1, 0)
	})
}
