package warehouse

import (
	"holdfast/internal/rpc"
	"holdfast/internal/store"
)

// Whoever locks rows of several of these kinds takes them in this order, and rows
// of one kind in the order of ids, so that two never wait for each other: lots,
// waves, shipments, orders, pick lists, pick lines, packages, drivers, vehicles,
// reservations, items, stock levels, zones. Order lines are locked by those who
// hold their order.

// lockFirsts are what is locked before rows of a resource that a client changes by
// itself, beside the verbs.
func lockFirsts() map[string]store.First {
	lines := func(tx *store.Tx, rows []store.Row) error {
		return work{Tx: tx}.lockPicks(rows)
	}
	lists := func(tx *store.Tx, rows []store.Row) error {
		k := work{Tx: tx}
		of, err := k.Rows("pick_lines", tx.DB().InUUID("pick_list_id", 2), jsonList(store.TextColumn(rows, "id")))
		if err != nil {
			return err
		}
		return k.lockOrdersOf(of)
	}
	return map[string]store.First{"pick_lines": lines, "pick_lists": lists}
}

// lockRows locks rows of a resource in the order of their ids.
func lockRows(tx *store.Tx, resource string, ids []string) ([]store.Row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return tx.Rows(resource, tx.DB().InUUID("id", 2)+" ORDER BY id"+tx.DB().ForUpdate(), jsonList(ids))
}

// lockPicks locks the orders and then the lists of pick lines.
func (k work) lockPicks(lines []store.Row) error {
	if err := k.lockOrdersOf(lines); err != nil {
		return err
	}
	return k.lockLists(lines)
}

// lockLists locks the lists of pick lines, whose orders the caller holds.
func (k work) lockLists(lines []store.Row) error {
	var lists set
	for _, l := range lines {
		lists.addID(l.Text("pick_list_id"))
	}
	_, err := lockRows(k.Tx, "pick_lists", lists.list)
	return err
}

// lockOrdersOf locks the orders of rows that name an order line.
func (k work) lockOrdersOf(rows []store.Row) error {
	var lines, orders set
	for _, r := range rows {
		lines.addID(r.Text("order_line_id"))
	}
	if len(lines.list) == 0 {
		return nil
	}
	found, err := k.Rows("order_lines", k.DB().InUUID("id", 2), jsonList(lines.list))
	if err != nil {
		return err
	}
	for _, l := range found {
		orders.addID(l.Text("order_id"))
	}
	_, err = lockRows(k.Tx, "orders", orders.list)
	return err
}

// lockOrderLines locks the orders of the order lines that the elements of lines
// name, then the lines.
func lockOrderLines(c *rpc.Call, k work, ids []string) ([]store.Row, error) {
	found, err := k.Rows("order_lines", k.DB().InUUID("id", 2), jsonList(ids))
	if err != nil {
		return nil, err
	}
	var orders set
	for _, l := range found {
		orders.addID(l.Text("order_id"))
	}
	if _, err := lockRows(k.Tx, "orders", orders.list); err != nil {
		return nil, err
	}
	return lockLines(c, ids)
}
