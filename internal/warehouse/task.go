package warehouse

import (
	"slices"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/putaway"
)

// A task is goods that somebody carries from one zone to another, and how much of
// them he has carried now.
type task struct {
	resource string // putaway_tasks or replenish_tasks
	row      store.Row
	quantity decimal.Dec // in base units
}

// lockOpenTask reads an open task; quantity nil = all that is left of it. HF001 when it is
// not open, HF002 when less is left, HF003 when quantity is finer than the unit.
func lockOpenTask(c *verb.Call, resource, id string, quantity *decimal.Dec) (task, error) {
	row, err := c.One(resource, "task_id", id)
	if err != nil {
		return task{}, err
	}
	if s := row.Text("status"); s != "open" && s != "in_progress" {
		return task{}, fault.New(fault.Conflict, "HF001", "task %s is %s", row.Text("task_no"), s).At("task_id", "is %s", s)
	}
	left := row.Decimal("quantity") - row.Decimal("quantity_done")
	t := task{resource: resource, row: row, quantity: left}
	if quantity != nil {
		t.quantity = *quantity
	}
	if t.quantity > left {
		return task{}, fault.New(fault.Conflict, CodeStock, "task %s has %s left to bring", row.Text("task_no"),
			left).At("quantity", "only %s are left", left)
	}
	return t, checkBaseUnitDecimals(c, spoken{item: row.Text("item_id"), member: "quantity", quantity: t.quantity,
		all: left})
}

// taskMovement is the task's goods on their way, with the fields that the task says.
func (t task) taskMovement(kind string, fields ...string) store.Row {
	m := store.Row{"type": kind, "quantity": t.quantity, "ref_type": t.resource, "ref_id": t.row["id"]}
	for _, f := range fields {
		if t.row[f] != nil {
			m[f] = t.row[f]
		}
	}
	return m
}

// recordProgress notes on the task what has been carried of it.
func (t task) recordProgress(c *verb.Call) (verb.Record, error) {
	done := t.row.Decimal("quantity_done") + t.quantity
	set := store.Row{"quantity_done": done, "status": "in_progress"}
	if done >= t.row.Decimal("quantity") {
		set["status"] = "done"
		set["completed_at"] = query.FormatTime(c.Now())
	}
	id := t.row.Text("id")
	if err := c.Tx.UpdateRows(t.resource, []string{id}, set); err != nil {
		return verb.Record{}, err
	}
	return c.Again(t.resource, id)
}

// newPutAway is the values of a task for goods of a row that lie in a zone.
func newPutAway(goods store.Row, zone, status any) record.PutawayTask {
	t := record.PutawayTask{"from_zone_id": zone, "stock_status": status}
	for _, f := range [...]string{"item_id", "lot_id", "serial", "owner_id", "lpn", "quantity"} {
		t[f] = goods[f]
	}
	return t
}

// openPutAways opens those of the tasks whose goods lie at a dock or in a lane, each
// with the place that suits the goods best.
func openPutAways(tx *store.Tx, tasks []record.PutawayTask) ([]record.PutawayTask, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	lanes, err := record.List[record.Zone](tx, tx.DB().InUUID("id", 2)+" AND kind IN ('dock', 'staging')",
		jsonList(record.Texts(tasks, record.PutawayTask.FromZoneID)))
	if err != nil || len(lanes) == 0 {
		return nil, err
	}
	items := queueArticles(tx.Tx, tx.TenantID, record.Texts(tasks, record.PutawayTask.ItemID))
	if err := tx.Flush(); err != nil {
		return nil, err
	}
	ids := record.IDs(lanes)
	var open []record.PutawayTask
	var goods []*putaway.Goods
	for _, t := range tasks {
		at := slices.Index(ids, t.FromZoneID())
		if at < 0 {
			continue
		}
		g, err := items[t.ItemID()].seekPlace(t.Quantity(), lanes[at])
		if err != nil {
			return nil, err
		}
		g.LotID = t.LotID()
		open, goods = append(open, t), append(goods, g)
	}
	if err := putaway.SuggestPlaces(tx, goods); err != nil {
		return nil, err
	}
	for i, g := range goods {
		if len(g.Found) > 0 {
			open[i].SetToZoneID(g.Found[0].ZoneID)
		}
	}
	return record.Insert(tx, open)
}
