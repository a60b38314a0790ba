package warehouse

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/kits"
	"holdfast/internal/warehouse/packing"
	"holdfast/internal/warehouse/pricing"
	"holdfast/internal/warehouse/selling"
	"holdfast/internal/warehouse/sites"
	"holdfast/internal/warehouse/transfers"
)

// guardOrders gives a new order its site and stage and holds an order to the conditions
// of its next state. One on hold goes back to the state it came from alone.
func guardOrders(tx *store.Tx, changes []store.Change) error {
	if err := sites.NameOfOrders(tx, changes); err != nil {
		return err
	}
	var confirming set
	for i, c := range record.Changes[record.Order](changes) {
		if err := transfers.CheckOrder(c); err != nil {
			return nameRow(err, i, len(changes))
		}
		if c.Op == store.Insert {
			c.After.SetStageOrNull(firstStage[c.After.Type()])
			continue
		}
		if c.Op != store.Update {
			continue
		}
		if err := checkFrozen(c.Change, "status", "completed", "notes", "tags"); err != nil {
			return err
		}
		if err := checkResume(c); err != nil {
			return err
		}
		if c.Alters(record.Order.OwnerIDOrNull) && c.Before.Status() != "draft" {
			return fault.New(fault.Conflict, CodeInUse, "whose goods an order takes is settled when it is confirmed").At(
				"owner_id", "is kept as it is")
		}
		if c.Alters(record.Order.SiteIDOrNull) && (c.Before.QtyAllocated() != 0 || c.Before.QtyReceived() != 0) {
			return fault.New(fault.Conflict, CodeInUse, "goods of the order's site are promised to it or have come in").
				With("", "give promised goods back with deallocate_order first").At("site_id", "is kept as it is")
		}
		if c.Becomes(record.Order.Status, "confirmed") && c.Before.Status() == "draft" {
			if n := c.After.LineCount(); n == 0 {
				return notReady("order %s has no lines", c.After.OrderNo())
			}
			confirming.addID(c.After.ID())
		} else if c.Becomes(record.Order.Status, "cancelled") {
			if err := checkUnmoved(c.After); err != nil {
				return err
			}
		}
	}
	if err := unitsKnown(tx.Tx, tx.TenantID, confirming.list); err != nil {
		return err
	}
	if err := kits.CheckOrders(tx, confirming.list); err != nil {
		return err
	}
	return selling.CheckOrders(tx.Tx, tx.TenantID, confirming.list)
}

// checkUnmoved refuses to cancel an order of which goods have left or come in.
func checkUnmoved(o record.Order) error {
	for field, moved := range map[string]string{"qty_shipped": "shipped", "qty_received": "received"} {
		if q := store.Row(o).Decimal(field); q != 0 {
			return fault.New(fault.Conflict, CodeInUse, "order %s has %s %s already", o.OrderNo(), moved, q).
				With("", "end its rest with close_order; goods that left come back under a return order").
				At("status", "goods were %s", moved)
		}
	}
	return nil
}

func notReady(format string, args ...any) *fault.Error {
	return fault.New(fault.Conflict, CodeOrder, format, args...)
}

// firstStage is the stage of a new order by its type.
var firstStage = map[string]any{"outbound": "unallocated", "transfer": "unallocated", "inbound": "expected",
	"return": "expected"}

// checkFrozen refuses changes of a record whose field has reached the value final,
// but for the fields named open. What the server keeps may change.
func checkFrozen(c store.Change, field, final string, open ...string) *fault.Error {
	if c.Before[field] != any(final) {
		return nil
	}
	for i := range c.Resource.Fields {
		f := &c.Resource.Fields[i]
		if f.ReadOnly || slices.Contains(open, f.Name) || equalValues(c.Before[f.Name], c.After[f.Name]) {
			continue
		}
		return fault.New(fault.Conflict, CodeInUse, "it is %s: %s no longer changes", final, f.Name).At(f.Name,
			"is kept as it is")
	}
	return nil
}

// equalValues compares stored values, of which JSON comes as bytes.
func equalValues(a, b any) bool {
	x, raw := a.(json.RawMessage)
	y, too := b.(json.RawMessage)
	if raw || too {
		return raw && too && string(x) == string(y)
	}
	return a == b
}

// checkResume notes where an order on hold came from, and lets it go back there
// alone.
func checkResume(c record.Change[record.Order]) *fault.Error {
	from, to := c.Before.Status(), c.After.Status()
	switch {
	case c.Becomes(record.Order.Status, "on_hold"):
		c.After.SetHeldFrom(from)
		c.After.ClearResumeReason()
	case from == "on_hold" && (to == "confirmed" || to == "in_progress"):
		if was := c.Before.HeldFrom(); was != "" && was != to {
			return fault.New(fault.Conflict, "HF001", "orders cannot move to %q", to).With("it was "+was+
				" when it was held, and goes back to that", "move it to "+was)
		}
		c.After.ClearHeldFrom()
		if equalValues(c.Before.HoldReasonOrNull(), c.After.HoldReasonOrNull()) {
			c.After.ClearHoldReason()
		}
	case from == "on_hold" && to == "cancelled":
		c.After.ClearHeldFrom()
	}
	return nil
}

// followOrders allocates stock to orders that ship goods and are confirmed, and ends what
// was made for orders that are cancelled or deleted. Bulk work takes back no order that
// a wave or a shipment names.
func (w Watch) followOrders(tx *store.Tx, changes []store.Change) error {
	var gone, confirmed set
	for _, c := range record.Changes[record.Order](changes) {
		switch {
		case c.Op == store.Insert || c.Op == store.Delete && !tx.Store.Audited():
		case c.Op == store.Delete || c.Becomes(record.Order.Status, "cancelled"):
			gone.addID(c.Current().ID())
		case transfers.CanShip(c.After) && c.Becomes(record.Order.Status, "confirmed") && c.Before.Status() == "draft":
			confirmed.addID(c.After.ID())
		}
	}
	k := work{tx, w}
	if err := k.releaseCancelled(gone.list); err != nil {
		return err
	}
	return k.allocateConfirmed(confirmed.list)
}

// guardLines keeps outbound lines in base units, lines that goods have moved
// for, and values in range.
func guardLines(tx *store.Tx, changes []store.Change) error {
	if err := rebaseOrderLines(tx.Tx, tx.Actor, changes, tx.Store.Audited()); err != nil {
		return err
	}
	if err := kits.CheckLines(tx, changes); err != nil {
		return err
	}
	for _, c := range record.Changes[record.OrderLine](changes) {
		if c.Op == store.Delete {
			if c.Before.QtyAllocated() != 0 || c.Before.QtyReceived() != 0 {
				return fault.New(fault.Conflict, CodeInUse,
					"goods have been allocated or received for this line; cancel its quantity instead")
			}
			continue
		}
		if _, err := addWithin(0, c.After.QtyOrdered(), maxStock, "qty_ordered"); err != nil {
			return err
		}
		if !pricing.SetAmount(c.After, maxValue) {
			return tooMuch("unit_price", maxValue)
		}
		if c.Before.QtyAllocated() != 0 && (c.Alters(record.OrderLine.ItemIDOrNull) ||
			c.Alters(record.OrderLine.LotIDOrNull)) {
			return fault.New(fault.Conflict, CodeInUse, "goods are allocated to this line: take them back first").At("item_id",
				"goods are allocated")
		}
		if c.After.QtyCancelled() > c.After.QtyOrdered()-c.After.QtyAllocated() {
			return fault.New(fault.Invalid, "23514", "more is cancelled than ordered and not yet allocated").At("qty_cancelled",
				"is too large")
		}
	}
	return nil
}

// asked are the fields of a line that say what is wanted; the others follow
// the work.
var asked = [...]string{"item_id", "uom", "qty_ordered", "qty_cancelled", "unit_price", "price_uom", "lot_id"}

// sumOrders brings orders up to date with their lines. The order rows are
// locked first: two writers of one order's lines must not both sum without the
// other's. It returns which of the orders are drafts.
func sumOrders(tx *store.Tx, changes []store.Change) (drafts map[string]bool, err error) {
	var orders set
	wanted := map[string]bool{}
	for _, c := range record.Changes[record.OrderLine](changes) {
		id := c.Current().OrderID()
		orders.addID(id)
		change := c.Op != store.Update
		for _, f := range asked {
			change = change || isAltered(c.Change, f)
		}
		wanted[id] = wanted[id] || change
	}
	list := jsonList(orders.list)
	deltas := map[string]int64{}
	standings := `
		SELECT id, order_no, status, stage
		FROM orders
		WHERE tenant_id = $1
			AND id IN {ids $2}`
	tx.Queue(standings+" ORDER BY id"+tx.DB().ForUpdate(),
		[]any{tx.TenantID, list}, func(r *db.Row) error {
			addStageCounters(tx.Store, r, deltas, -1)
			if st := r.Text(2); (st == "completed" || st == "cancelled") && wanted[r.Text(0)] {
				return fault.New(fault.Conflict, CodeInUse, "order %s is %s; its lines no longer change", r.Text(1), st)
			}
			return nil
		})
	queueSumsFit(tx.Tx, tx.TenantID, list)
	if err := tx.Flush(); err != nil {
		return nil, err
	}
	if err := kits.SettleLines(tx, changes); err != nil {
		return nil, err
	}
	drafts = map[string]bool{}
	tx.Queue(packing.SumOrders(tx.DB()), []any{tx.TenantID, list, query.FormatTime(tx.Now())}, nil)
	err = tx.Query(standings, []any{tx.TenantID, list}, func(r *db.Row) error {
		addStageCounters(tx.Store, r, deltas, 1)
		drafts[r.Text(0)] = r.Text(2) == "draft"
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx.Store.Count(tx.Tx, tx.TenantID, deltas)
	return drafts, completeOrders(tx, list)
}

// addStageCounters adds what an order counts for by its state and stage, of a row of id,
// order_no, status and stage: the stage is written beside the store, which counts
// all else.
func addStageCounters(s *store.Store, r *db.Row, deltas map[string]int64, by int64) {
	res, _ := s.Catalog().Get("orders")
	row := store.Row{"status": r.Text(2), "stage": nil}
	if !r.Null(3) {
		row["stage"] = r.Text(3)
	}
	for i := range res.Counters {
		res.Counters[i].Add(deltas, res, row, by)
	}
}

// completeOrders ends the orders in progress whose lines are all shipped,
// received or cancelled.
func completeOrders(tx *store.Tx, orders string) error {
	var done []string
	err := tx.Query(`
		SELECT id
		FROM orders
		WHERE tenant_id = $1
			AND id IN {ids $2}
			AND status = 'in_progress'
			AND (
				type = 'outbound' AND stage IN ('shipped', 'delivered')
				OR type <> 'outbound' AND stage = 'received'
			)
		ORDER BY id`,
		[]any{tx.TenantID, orders},
		func(r *db.Row) error {
			done = append(done, r.Text(0))
			return nil
		})
	if err != nil || len(done) == 0 {
		return err
	}
	return tx.UpdateRows("orders", done, store.Row{"status": "completed"})
}

// queueDelivered queues the last stage of orders that are shipped and of which
// nothing is on the road.
func queueDelivered(tx *db.Tx, tenant, orders string, now time.Time) {
	tx.Queue(`
		UPDATE orders
		SET stage = 'delivered', updated_at = $3
		WHERE tenant_id = $1
			AND id IN {ids $2}
			AND stage = 'shipped'
			AND NOT EXISTS (
				SELECT 1
				FROM shipment_lines l
				JOIN shipments s ON s.tenant_id = $1 AND s.id = l.shipment_id
				WHERE l.tenant_id = $1
					AND l.order_id = orders.id
					AND s.status NOT IN ('delivered', 'cancelled')
			)`, []any{tenant, orders, query.FormatTime(now)}, nil)
}

// part is the unit in which queueSumsFit adds: 100 of a quantity or of money.
const part = 100 * decimal.Scale

// queueSumsFit queues holding the quantities and the value of orders to
// maxValue. It adds in parts so large that no number of lines passes the number
// range.
func queueSumsFit(tx *db.Tx, tenant, orders string) {
	per := strconv.Itoa(part)
	tx.Queue(db.FillWords(`
		SELECT l.order_id, CAST(SUM(l.qty_ordered / {per}) AS bigint), CAST(COALESCE(SUM(l.amount / {per}), 0) AS bigint)
		FROM order_lines l
		WHERE l.tenant_id = $1
			AND l.order_id IN {ids $2}
		GROUP BY l.order_id`, "{per}", per), []any{tenant, orders},
		func(r *db.Row) error {
			if most := int64(maxValue / part); r.Int(1) >= most {
				return tooMuch("qty_ordered", maxValue)
			} else if r.Int(2) >= most {
				return tooMuch("unit_price", maxValue)
			}
			return nil
		})
}
