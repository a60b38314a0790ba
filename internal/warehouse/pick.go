package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/catchweight"
	"holdfast/internal/warehouse/ending"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/sites"
)

// guardPickLists stamps the steps of a pick list; it is complete only when
// every line is picked, short or cancelled.
func guardPickLists(tx *store.Tx, changes []store.Change) error {
	now := query.FormatTime(tx.Now())
	var done set
	for _, c := range record.Changes[record.PickList](changes) {
		if c.Op != store.Update {
			continue
		}
		for status, stamp := range map[string]string{"released": "released_at", "in_progress": "started_at",
			"completed": "completed_at"} {
			if c.Becomes(record.PickList.Status, status) {
				c.After[stamp] = now
			}
		}
		if c.Becomes(record.PickList.Status, "completed") {
			done.addID(c.After.ID())
		}
	}
	if len(done.list) == 0 {
		return nil
	}
	return tx.Query(
		`
			SELECT seq
			FROM pick_lines
			WHERE tenant_id = $1
				AND pick_list_id IN {ids $2}
				AND status = 'pending'
			ORDER BY seq
			LIMIT 1`,
		[]any{tx.TenantID, jsonList(done.list)},
		func(r *db.Row) error {
			return notReady("line %d is still to be picked", r.Int(0))
		},
	)
}

// followPickList puts back what was picked on a cancelled list, and hands a list's picker and its cancellation
// down to its lines.
func (w Watch) followPickList(tx *store.Tx, changes []store.Change) error {
	now := query.FormatTime(tx.Now())
	var gone, handed set
	for _, c := range record.Changes[record.PickList](changes) {
		if c.Op != store.Update {
			continue
		}
		if c.Becomes(record.PickList.Status, "cancelled") {
			gone.addID(c.After.ID())
		}
		if c.Alters(record.PickList.AssignedWorkerIDOrNull) {
			handed.addID(c.After.ID())
		}
	}
	if err := (work{tx, w}).callOff(gone.list); err != nil {
		return err
	}
	if len(gone.list) > 0 {
		tx.Queue(`
			UPDATE pick_lines
			SET status = 'cancelled', updated_at = $3, version = version + 1
			WHERE tenant_id = $1
				AND pick_list_id IN {ids $2}
				AND status = 'pending'`,
			[]any{tx.TenantID, jsonList(gone.list), now}, nil)
	}
	if len(handed.list) > 0 {
		tx.Queue(`
			UPDATE pick_lines
			SET assigned_worker_id = (
				SELECT p.assigned_worker_id
				FROM pick_lists p
				WHERE p.tenant_id = $1
					AND p.id = pick_lines.pick_list_id
			), updated_at = $3
			WHERE tenant_id = $1
				AND pick_list_id IN {ids $2}`, []any{tx.TenantID, jsonList(handed.list), now}, nil)
	}
	return nil
}

// pickList is what a line has to know of its list.
type pickList struct{ number, status, worker string }

func pickListsOf(tx *db.Tx, tenant string, changes []store.Change) (map[string]pickList, error) {
	var ids set
	for _, c := range record.Changes[record.PickLine](changes) {
		if c.Op == store.Insert || c.Alters(record.PickLine.StatusOrNull) || c.Alters(record.PickLine.QtyPickedOrNull) {
			ids.addID(c.After.PickListID())
		}
	}
	lists := map[string]pickList{}
	if len(ids.list) == 0 {
		return lists, nil
	}
	err := tx.Query(`
		SELECT id, pick_no, status, assigned_worker_id
		FROM pick_lists
		WHERE tenant_id = $1
			AND id IN {ids $2}`, []any{tenant, jsonList(ids.list)}, func(r *db.Row) error {
		lists[r.Text(0)] = pickList{number: r.Text(1), status: r.Text(2), worker: r.Text(3)}
		return nil
	})
	return lists, err
}

// derivePickLines refuses lines for what has ended, gives new ones their picker and
// stamps what was picked.
func derivePickLines(tx *store.Tx, changes []store.Change) error {
	if err := refuseEndedPicks(tx, changes); err != nil {
		return err
	}
	if at, err := sites.CheckPicks(tx, changes); err != nil {
		bad := fault.As(err)
		if len(changes) > 1 { // the row's number stands where the field did
			bad.Msg = "zone_id: " + bad.Msg
		}
		return nameRow(bad, at, len(changes))
	}
	lists, err := pickListsOf(tx.Tx, tx.TenantID, changes)
	if err != nil {
		return err
	}
	for i, c := range record.Changes[record.PickLine](changes) {
		l := c.After
		switch {
		case c.Op == store.Insert:
			if list := lists[l.PickListID()]; list.status == "completed" || list.status == "cancelled" {
				return nameRow(notReady("pick_list_id: list %s is %s, it takes no more lines", list.number, list.status).
					At("pick_list_id", "is %s", list.status), i, len(changes))
			}
			l.SetAssignedWorkerIDOrNull(db.Null(lists[l.PickListID()].worker))
		case c.Becomes(record.PickLine.Status, "picked") || c.Becomes(record.PickLine.Status, "short"):
			if err := checkPickedQuantity(l, lists[l.PickListID()]); err != nil {
				return err
			}
			l.SetPickedAt(query.FormatTime(tx.Now()))
			l.SetPickedByOrNull(db.Null(tx.UserID))
		case c.Alters(record.PickLine.QtyPickedOrNull):
			if err := checkPartialPick(c, lists[l.PickListID()]); err != nil {
				return err
			}
		}
	}
	return checkPickedWeights(tx, changes)
}

// checkPickedWeights holds what was picked of items of catch weight to what it should weigh.
// The quantity alone, as a change of the record gives it, is refused of them.
func checkPickedWeights(tx *store.Tx, changes []store.Change) error {
	var ids set
	for _, c := range record.Changes[record.PickLine](changes) {
		if isPickedFurther(c) {
			ids.addID(c.After.ItemID())
		}
	}
	items, err := catchweight.ReadItems(tx, ids.list)
	if err != nil {
		return err
	}
	for i, c := range record.Changes[record.PickLine](changes) {
		if !isPickedFurther(c) {
			continue
		}
		more := c.After.QtyPicked() - c.Before.QtyPicked()
		weight := c.After.WeightKg() - c.Before.WeightKg()
		except := catchweight.Exception{Reason: c.After.WeightReason(), IsAllowed: isManager(tx.Role)}
		if err := items[c.After.ItemID()].CheckWeight(more, weight, except); err != nil {
			return nameRow(err, i, len(changes))
		}
	}
	return nil
}

// isPickedFurther reports a line of which more is picked.
func isPickedFurther(c record.Change[record.PickLine]) bool {
	return c.Op == store.Update && c.After.QtyPicked() > c.Before.QtyPicked()
}

// refuseEndedPicks refuses pick lines that are made for order lines that have ended. It
// locks their orders and lists.
func refuseEndedPicks(tx *store.Tx, changes []store.Change) error {
	var made []record.PickLine
	var lines set
	for _, c := range record.Changes[record.PickLine](changes) {
		if c.Op == store.Insert || c.Alters(record.PickLine.OrderLineIDOrNull) {
			made = append(made, c.After)
			lines.addID(c.After.OrderLineID())
		}
	}
	if len(made) == 0 {
		return nil
	}
	if err := locking.LockPicks(tx, record.Rows(made)); err != nil {
		return err
	}
	ended, err := ending.ReadEndedLines(tx, lines.list)
	if err != nil {
		return err
	}
	for i, l := range made {
		if why := ended[l.OrderLineID()]; why != "" {
			bad := notReady("order_line_id: %s, nothing more is picked for it", why).At("order_line_id", "%s", why)
			return nameRow(bad, i, len(made))
		}
	}
	return nil
}

// checkPartialPick holds a change of what was picked, without a change of state, to what
// can be: a part more of an open line.
func checkPartialPick(c record.Change[record.PickLine], list pickList) error {
	had, has, qty := c.Before.QtyPicked(), c.After.QtyPicked(), c.After.Qty()
	switch {
	case has < had && c.Before.Qty()-qty == had-has: // put back
		return nil
	case has < had:
		return fault.New(fault.Conflict, CodeOrder, "goods that were picked are put back with the verb unpick").At(
			"qty_picked", "cannot fall")
	case has > qty:
		return fault.New(fault.Conflict, CodeOver, "line %v asks for %s", c.After.SeqOrNull(), qty).At("qty_picked",
			"is more than the line asks for")
	case c.After.Status() != "pending":
		return notReady("line %v is %s", c.After.SeqOrNull(), c.After.Status()).At("qty_picked", "the line is closed")
	}
	return checkReleased(list)
}

// checkReleased refuses a list that is not released.
func checkReleased(list pickList) error {
	if list.status != "released" && list.status != "in_progress" {
		return notReady("pick list %s is %s; only a released one is picked", list.number, list.status)
	}
	return nil
}

// checkPickedQuantity holds a line's quantity to its state: all of it when picked, less
// when short.
func checkPickedQuantity(l record.PickLine, list pickList) error {
	if err := checkReleased(list); err != nil {
		return err
	}
	if l.Status() == "short" {
		if l.QtyPicked() >= l.Qty() {
			return fault.New(fault.Invalid, "23514", "a short line has less picked than asked for").At("qty_picked",
				"is not short")
		}
		return nil
	}
	if l.QtyPicked() == 0 {
		l.SetQtyPickedOrNull(l.QtyOrNull())
	}
	if l.QtyPickedOrNull() != l.QtyOrNull() {
		return fault.New(fault.Invalid, "23514", "only %s of %s picked: that line is short", l.QtyPicked(),
			l.Qty()).
			At("status", "should be short")
	}
	return nil
}

// startPickLists puts a released list in progress when its first line is
// picked.
func startPickLists(tx *store.Tx, changes []store.Change) error {
	var ids set
	for _, c := range record.Changes[record.PickLine](changes) {
		if c.Op == store.Update && (c.Alters(record.PickLine.QtyPickedOrNull) ||
			c.Becomes(record.PickLine.Status, "picked") ||
			c.Becomes(record.PickLine.Status, "short")) {
			ids.addID(c.After.PickListID())
		}
	}
	if len(ids.list) == 0 {
		return nil
	}
	var waiting []string
	err := tx.Query(`
		SELECT id
		FROM pick_lists
		WHERE tenant_id = $1
			AND id IN {ids $2}
			AND status = 'released'
		ORDER BY id`, []any{tx.TenantID, jsonList(ids.list)}, func(r *db.Row) error {
		waiting = append(waiting, r.Text(0))
		return nil
	})
	if err != nil || len(waiting) == 0 {
		return err
	}
	err = tx.UpdateRows("pick_lists", waiting, store.Row{"status": "in_progress"})
	return err
}
