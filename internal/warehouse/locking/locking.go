// Package locking takes the locks of a warehouse in one order, so that two transactions
// never wait for each other in a circle: routes, lots, waves, shipments, orders, pick
// lists, pick lines, packages, drivers, vehicles, reservations, items, stock levels,
// zones; rows of one kind in the order of their ids. Order lines are locked by whoever
// holds their order. Verbs lock rows of several kinds through it, and so do changes of
// rows by clients, by [Firsts]. Rows lock on PostgreSQL alone.
//
// Layer: domains. Begin at [LockWithWork].
package locking

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Firsts are what is locked before rows of a resource that a client changes. Changes that
// end no work take the row alone, or the order before its line.
func Firsts() map[string]store.First {
	return map[string]store.First{
		"orders": func(tx *store.Tx, rows []store.Row, how store.Touch) error {
			if !how.Sets("status") {
				return nil
			}
			return LockWithWork(tx, store.TextColumn(rows, "id"))
		},
		"order_lines": func(tx *store.Tx, rows []store.Row, how store.Touch) error {
			if how.Sets("qty_ordered", "qty_cancelled", "uom", "item_id") {
				return LockWithWork(tx, store.TextColumn(rows, "order_id"))
			}
			_, err := LockRows[record.Order](tx, collectNamed(rows, "order_id"))
			return err
		},
		"pick_lines": func(tx *store.Tx, rows []store.Row, _ store.Touch) error { return LockPicks(tx, rows) },
		"pick_lists": func(tx *store.Tx, rows []store.Row, how store.Touch) error {
			if !how.Sets("status") {
				return nil
			}
			return lockOrdersOfLists(tx, rows)
		},
		"zones": func(tx *store.Tx, rows []store.Row, how store.Touch) error {
			if !how.Sets("status", "kind", "archived_at") {
				return nil
			}
			return lockItemsInZones(tx, rows)
		},
	}
}

// LockRows locks rows of a resource in the order of their ids and returns them.
func LockRows[R record.Kind](tx *store.Tx, ids []string) ([]R, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := record.List[R](tx, tx.DB().InUUID("id", 2)+" ORDER BY id"+tx.DB().ForUpdate(), query.List(ids))
	if err != nil {
		return nil, fmt.Errorf("locking: %s: %w", record.NameOf[R](), err)
	}
	return rows, nil
}

// LockOrdersOf locks the orders of rows that name an order line, and returns the orders.
// Rows that name none are passed over.
func LockOrdersOf(tx *store.Tx, rows []record.PickLine) ([]record.Order, error) {
	return LockOrdersOfLines(tx, collectNamed(record.Rows(rows), "order_line_id"))
}

// LockOrdersOfLines locks the orders of order lines and returns the orders.
func LockOrdersOfLines(tx *store.Tx, lines []string) ([]record.Order, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	found, err := record.List[record.OrderLine](tx, tx.DB().InUUID("id", 2), query.List(lines))
	if err != nil {
		return nil, fmt.Errorf("locking: order lines: %w", err)
	}
	return LockRows[record.Order](tx, collectNamed(record.Rows(found), "order_id"))
}

// LockPicks locks the orders of pick lines, and then their lists.
func LockPicks(tx *store.Tx, lines []store.Row) error {
	if _, err := LockOrdersOf(tx, record.From[record.PickLine](lines)); err != nil {
		return err
	}
	return LockListsOf(tx, record.From[record.PickLine](lines))
}

// LockListsOf locks the lists of pick lines, whose orders the caller holds.
func LockListsOf(tx *store.Tx, lines []record.PickLine) error {
	_, err := LockRows[record.PickList](tx, collectNamed(record.Rows(lines), "pick_list_id"))
	return err
}

// LockListsOfLines locks the lists of pick lines by their ids, whose orders the caller holds.
func LockListsOfLines(tx *store.Tx, lines []string) error {
	found, err := record.List[record.PickLine](tx, tx.DB().InUUID("id", 2), query.List(lines))
	if err != nil {
		return fmt.Errorf("locking: pick lines: %w", err)
	}
	return LockListsOf(tx, found)
}

// lockOrdersOfLists locks the orders that pick lists are for.
func lockOrdersOfLists(tx *store.Tx, lists []store.Row) error {
	lines, err := record.List[record.PickLine](tx, tx.DB().InUUID("pick_list_id", 2),
		query.List(store.TextColumn(lists, "id")))
	if err != nil {
		return fmt.Errorf("locking: lines of pick lists: %w", err)
	}
	_, err = LockOrdersOf(tx, lines)
	return err
}

// itemsSQL selects the items of which there is stock in zones. $1 tenant, $2 ids of zones.
const itemsSQL = `
	SELECT item.id
	FROM items AS item
	WHERE item.tenant_id = $1
		AND item.id IN (
			SELECT level.item_id
			FROM stock_levels AS level
			WHERE level.tenant_id = $1
				AND {zones}
				AND level.quantity > 0
		)
	ORDER BY item.id`

// lockItemsInZones locks the items of which there is stock in zones: what is available of
// them changes with a zone that is blocked or opened.
func lockItemsInZones(tx *store.Tx, zones []store.Row) error {
	text := strings.ReplaceAll(itemsSQL, "{zones}", tx.DB().InUUID("level.zone_id", 2)) + tx.DB().ForUpdate()
	ids := query.List(store.TextColumn(zones, "id"))
	err := tx.Query(text, []any{tx.TenantID, ids}, func(*db.Row) error { return nil })
	if err != nil {
		return fmt.Errorf("locking: items in zones: %w", err)
	}
	return nil
}

// collectNamed returns the ids that rows have in a field, each once.
func collectNamed(rows []store.Row, field string) []string {
	ids := slices.Compact(slices.Sorted(slices.Values(store.TextColumn(rows, field))))
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}
