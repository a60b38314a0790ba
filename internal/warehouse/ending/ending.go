// Package ending ends what was made for orders, order lines and pick lines that are
// no longer wanted: pick lists of which nothing is left to pick, planned waves,
// lines of shipments that have not left and those shipments. Whatever ends an order,
// a verb or a change of its row, comes through here by the effects of package
// warehouse. [DeadParentsSQL] finds what outlived what it was made for.
//
// Layer: domains. Begin at [LeaveShipments].
package ending

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// spentListsSQL selects the pick lists at work of which nothing is left to pick. $1
// tenant, $2 ids.
const spentListsSQL = `
	SELECT list.id, list.status
	FROM pick_lists AS list
	WHERE list.tenant_id = $1
		AND {lists}
		AND list.status IN ('released', 'in_progress')
		AND NOT EXISTS (
			SELECT 1
			FROM pick_lines AS line
			WHERE line.tenant_id = $1
				AND line.pick_list_id = list.id
				AND line.status = 'pending'
		)
	ORDER BY list.id`

// FinishLists ends those of the pick lists of which nothing is left to pick: lists in
// progress are completed, those that nothing was picked on are cancelled.
func FinishLists(tx *store.Tx, lists []string) error {
	if len(lists) == 0 {
		return nil
	}
	var untouched, begun []string
	text := strings.ReplaceAll(spentListsSQL, "{lists}", tx.DB().InUUID("list.id", 2))
	err := tx.Query(text, []any{tx.TenantID, query.List(lists)}, func(r *db.Row) error {
		if id := r.Text(0); r.Text(1) == "released" {
			untouched = append(untouched, id)
		} else {
			begun = append(begun, id)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("ending: lists without open lines: %w", err)
	}
	if err := tx.UpdateRows("pick_lists", untouched, store.Row{"status": "cancelled"}); err != nil {
		return err
	}
	return tx.UpdateRows("pick_lists", begun, store.Row{"status": "completed"})
}

// spentWavesSQL selects the planned waves that name some of the given orders, and none
// that may still be picked. $1 tenant, $2 ids of orders.
const spentWavesSQL = `
	SELECT wave.id
	FROM waves AS wave
	WHERE wave.tenant_id = $1
		AND wave.status = 'planned'
		AND EXISTS (
			SELECT 1
			FROM {names}
			WHERE {given}
		)
		AND NOT EXISTS (
			SELECT 1
			FROM {names}
			JOIN orders ON orders.tenant_id = $1 AND orders.id = {id of name}
			WHERE orders.status NOT IN ('cancelled', 'completed')
		)
	ORDER BY wave.id`

// EndWaves cancels the planned waves of orders that have ended, where no other order of
// the wave goes on.
func EndWaves(tx *store.Tx, orders []string) error {
	if len(orders) == 0 {
		return nil
	}
	d := tx.DB()
	text := strings.NewReplacer("{names}", d.Elements("wave.order_ids", "name"), "{id of name}", d.UUID("name.value"),
		"{given}", d.InText("name.value", 2)).Replace(spentWavesSQL)
	var waves []string
	err := tx.Query(text, []any{tx.TenantID, query.List(orders)}, func(r *db.Row) error {
		waves = append(waves, r.Text(0))
		return nil
	})
	if err != nil {
		return fmt.Errorf("ending: waves of ended orders: %w", err)
	}
	return tx.UpdateRows("waves", waves, store.Row{"status": "cancelled"})
}

// carriersSQL selects the shipments that have not left and carry order lines, or name
// orders. $1 tenant, $2 ids of order lines, $3 ids of orders.
const carriersSQL = `
	SELECT shipment.id
	FROM shipments AS shipment
	WHERE shipment.tenant_id = $1
		AND shipment.status IN ('planned', 'packed', 'ready')
		AND (
			EXISTS (
				SELECT 1
				FROM shipment_lines AS load
				WHERE load.tenant_id = $1
					AND load.shipment_id = shipment.id
					AND {lines}
			)
			OR EXISTS (
				SELECT 1
				FROM {names}
				WHERE {orders}
			)
		)`

// LeaveShipments takes order lines, and orders that have ended, off the shipments that
// have not left. A shipment that carries nothing else is cancelled and keeps its lines
// as what it was made for. It returns the others: what they carry has changed.
func LeaveShipments(tx *store.Tx, orderLines, orders []string) (changed []string, err error) {
	d := tx.DB()
	text := strings.NewReplacer("{lines}", d.InUUID("load.order_line_id", 2),
		"{names}", d.Elements("shipment.order_ids", "name"), "{orders}", d.InText("name.value", 3)).Replace(carriersSQL)
	var ids []string
	err = tx.Query(text, []any{tx.TenantID, query.List(orderLines), query.List(orders)}, func(r *db.Row) error {
		ids = append(ids, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ending: shipments of ended orders: %w", err)
	}
	slices.Sort(ids) // not by the statement: in that order SQLite would read those that have left, too
	isGone := func(l load) bool { return slices.Contains(orderLines, l.orderLine) }
	return leaveShipments(tx, ids, isGone, orders)
}

// load is a line of a shipment.
type load struct {
	id, shipment, orderLine, order string
	quantity                       decimal.Dec // base units
}

// loadsSQL selects lines of shipments. $1 tenant, $2 ids of shipments.
const loadsSQL = `
	SELECT load.id, load.shipment_id, load.order_line_id, load.order_id, load.quantity
	FROM shipment_lines AS load
	WHERE load.tenant_id = $1
		AND {shipments}
	ORDER BY load.id`

// readLoads reads the lines of shipments.
func readLoads(tx *store.Tx, shipments []string) (list []load, err error) {
	text := strings.ReplaceAll(loadsSQL, "{shipments}", tx.DB().InUUID("load.shipment_id", 2))
	err = tx.Query(text, []any{tx.TenantID, query.List(shipments)}, func(r *db.Row) error {
		list = append(list, load{r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Dec(4)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ending: lines of shipments: %w", err)
	}
	return list, nil
}

// shipmentsSQL selects and locks those shipments that have still not left, with the
// orders that they name. $1 tenant, $2 ids.
const shipmentsSQL = `
	SELECT shipment.id, shipment.order_ids
	FROM shipments AS shipment
	WHERE shipment.tenant_id = $1
		AND {shipments}
		AND shipment.status IN ('planned', 'packed', 'ready')
	ORDER BY shipment.id`

// leaveShipments takes the lines that are gone, and orders that have ended, off
// shipments. It cancels those that carry nothing else and returns the others.
func leaveShipments(tx *store.Tx, ids []string, isGone func(load) bool, ended []string) (changed []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rest []remainder
	text := strings.ReplaceAll(shipmentsSQL, "{shipments}", tx.DB().InUUID("shipment.id", 2)) + tx.DB().ForUpdate()
	err = tx.Query(text, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		rest = append(rest, remainder{shipment: r.Text(0), orders: store.Texts(json.RawMessage(r.Text(1)))})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ending: shipments: %w", err)
	}
	loads, err := readLoads(tx, ids)
	if err != nil {
		return nil, err
	}
	var over []string
	for _, r := range rest {
		r.divideLoads(loads, isGone, ended)
		if len(r.stay)+len(r.orders) == 0 {
			over = append(over, r.shipment)
			continue
		}
		if err := r.leaveGone(tx); err != nil {
			return nil, err
		}
		changed = append(changed, r.shipment)
	}
	return changed, tx.UpdateRows("shipments", over, store.Row{"status": "cancelled"})
}

// remainder is what a shipment still carries.
type remainder struct {
	shipment   string
	stay, gone []string // its lines
	orders     []string // that it names
}

// divideLoads divides the lines of the shipment into those that stay and those that are
// gone. Of the orders it keeps those of lines that stay, and those without lines in it
// that have not ended.
func (r *remainder) divideLoads(loads []load, isGone func(load) bool, ended []string) {
	var before, after []string // orders with lines in the shipment
	for _, l := range loads {
		if l.shipment != r.shipment {
			continue
		}
		before = append(before, l.order)
		if isGone(l) {
			r.gone = append(r.gone, l.id)
			continue
		}
		r.stay, after = append(r.stay, l.id), append(after, l.order)
	}
	r.orders = slices.DeleteFunc(r.orders, func(order string) bool {
		if slices.Contains(before, order) {
			return !slices.Contains(after, order)
		}
		return slices.Contains(ended, order)
	})
}

// leaveGone deletes the lines that are gone, and brings the orders that the shipment names
// up to date.
func (r *remainder) leaveGone(tx *store.Tx) error {
	if err := tx.DeleteRows("shipment_lines", r.gone); err != nil {
		return err
	}
	return tx.UpdateRows("shipments", []string{r.shipment}, store.Row{"order_ids": r.orders})
}
