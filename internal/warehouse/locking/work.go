package locking

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// wavesSQL selects the planned waves that name orders. $1 tenant, $2 ids of orders.
const wavesSQL = `
	SELECT wave.id
	FROM waves AS wave
	WHERE wave.tenant_id = $1
		AND wave.status = 'planned'
		AND EXISTS (
			SELECT 1
			FROM {wave names}
			WHERE {named}
		)
	ORDER BY wave.id`

// shipmentsSQL selects the shipments that have not left and name orders, carry lines of
// them, or have packages with goods of them. $1 tenant, $2 ids of orders.
const shipmentsSQL = `
	SELECT shipment.id
	FROM shipments AS shipment
	WHERE shipment.tenant_id = $1
		AND shipment.status IN ('planned', 'packed', 'ready')
		AND (
			shipment.id IN (
				SELECT load.shipment_id
				FROM order_lines AS line
				JOIN shipment_lines AS load ON load.tenant_id = $1 AND load.order_line_id = line.id
				WHERE line.tenant_id = $1
					AND {line orders}
			)
			OR shipment.id IN (
				SELECT package.shipment_id
				FROM order_lines AS line
				JOIN package_lines AS content ON content.tenant_id = $1 AND content.order_line_id = line.id
				JOIN packages AS package ON package.tenant_id = $1 AND package.id = content.package_id
				WHERE line.tenant_id = $1
					AND {line orders}
			)
			OR EXISTS (
				SELECT 1
				FROM {shipment names}
				WHERE {named}
			)
		)
	ORDER BY shipment.id`

// openListsSQL selects the pick lists with lines of orders that are still to be picked.
// $1 tenant, $2 ids of orders.
const openListsSQL = `
	SELECT list.id
	FROM pick_lists AS list
	WHERE list.tenant_id = $1
		AND list.id IN (
			SELECT pick.pick_list_id
			FROM order_lines AS line
			JOIN pick_lines AS pick ON pick.tenant_id = $1 AND pick.order_line_id = line.id
			WHERE line.tenant_id = $1
				AND {line orders}
				AND pick.status = 'pending'
		)
	ORDER BY list.id`

// LockWithWork locks orders that may end, in whole or in part, with the work that ends
// with them: planned waves and shipments that have not left before the orders, pick
// lists after them. Work that was begun for the orders before they were locked has the
// transaction start over.
func LockWithWork(tx *store.Tx, orders []string) error {
	lock := tx.DB().ForUpdate()
	if lock == "" || len(orders) == 0 {
		return nil
	}
	held, err := readWork(tx, orders, lock)
	if err != nil {
		return err
	}
	if _, err := LockRows[record.Order](tx, orders); err != nil {
		return err
	}
	work, err := readWork(tx, orders, "")
	if err != nil {
		return err
	}
	if slices.ContainsFunc(work, func(id string) bool { return !slices.Contains(held, id) }) {
		return fault.New(fault.Unavailable, "40001", "a shipment or a wave of the order was made meanwhile; try again")
	}
	return LockOpenLists(tx, orders)
}

// readWork reads the waves and shipments that end with orders, and locks them in that
// order with a clause that does.
func readWork(tx *store.Tx, orders []string, lock string) (ids []string, err error) {
	for _, text := range [...]string{wavesSQL, shipmentsSQL} {
		found, err := readIDs(tx, text+lock, orders)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	return ids, nil
}

// LockOpenLists locks the pick lists with lines that are still to be picked for orders,
// which the caller holds.
func LockOpenLists(tx *store.Tx, orders []string) error {
	if len(orders) == 0 {
		return nil
	}
	_, err := readIDs(tx, openListsSQL+tx.DB().ForUpdate(), orders)
	return err
}

// readIDs reads the ids that a statement selects for orders.
func readIDs(tx *store.Tx, text string, orders []string) (ids []string, err error) {
	d := tx.DB()
	text = strings.NewReplacer(
		"{wave names}", d.Elements("wave.order_ids", "name"),
		"{shipment names}", d.Elements("shipment.order_ids", "name"),
		"{named}", d.InText("name.value", 2),
		"{line orders}", d.InUUID("line.order_id", 2),
	).Replace(text)
	err = tx.Query(text, []any{tx.TenantID, query.List(orders)}, func(r *db.Row) error {
		ids = append(ids, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("locking: work of orders: %w", err)
	}
	return ids, nil
}
