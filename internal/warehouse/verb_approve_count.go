package warehouse

import (
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/counting"
)

// DecideCountIn names a count whose variance waits, and says why it is decided
// so.
type DecideCountIn struct {
	CountTaskID string `json:"count_task_id" required:"true" format:"uuid" names:"count_tasks" doc:"The count."`
	Reason      string `json:"reason" required:"true" max:"500" doc:"Why."`
}

// waitingCount holds a count whose variance waits for a decision.
func waitingCount(c *verb.Call, in *DecideCountIn) (record.CountTask, error) {
	task, err := record.One[record.CountTask](c, "count_task_id", in.CountTaskID)
	if err != nil {
		return nil, err
	}
	if s := task.Status(); s != "counted" {
		return nil, fault.New(fault.Conflict, "HF001", "count %s is %s", task.CountNo(), s).At("count_task_id",
			"is %s", s)
	}
	return task, nil
}

// approveCount books a variance. What was moved since the counter looked is reckoned; where
// the books were put right meanwhile it is refused.
func (w Watch) approveCount(c *verb.Call, in *DecideCountIn) (*CountOut, error) {
	task, err := waitingCount(c, in)
	if err != nil {
		return nil, err
	}
	if err := requireSecondPerson(c, task.CountedByOrNull(), "count "+task.CountNo()); err != nil {
		return nil, err
	}
	lines, err := record.List[record.CountLine](c.Tx, "count_task_id = $2 ORDER BY id", in.CountTaskID)
	if err != nil {
		return nil, err
	}
	places := placesOf(record.From[record.StockCount](counting.ListCounts(task, lines)))
	held, err := counting.LockPromised(c.Tx, places, MovementKeys)
	if err != nil {
		return nil, err
	}
	if _, err := counting.LockItems(c.Tx, lines); err != nil {
		return nil, err
	}
	if err := counting.CheckUnchanged(c.Tx, task, lines, places, MovementKeys); err != nil {
		return nil, err
	}
	return w.finishCount(c, task, lines, held, record.CountTask{"status": "approved", "approved_by": c.UserID,
		"reason": in.Reason})
}

// recountStock closes a count without booking it and opens it anew.
func recountStock(c *verb.Call, in *DecideCountIn) (*CountOut, error) {
	task, err := waitingCount(c, in)
	if err != nil {
		return nil, err
	}
	set := record.CountTask{"status": "recount", "reason": in.Reason}
	if err := record.Update(c.Tx, []string{in.CountTaskID}, set); err != nil {
		return nil, err
	}
	row := store.Row{"zone_id": task.ZoneID(), "item_id": task.ItemIDOrNull(), "method": task.Method(), "blind": true,
		"recount_of": in.CountTaskID}
	again, err := counting.OpenTask(c.Tx, record.CountTask(row))
	if err != nil {
		return nil, err
	}
	out := &CountOut{CountTask: record.Show(c, again), Lines: []verb.Record{}, Expected: []counting.Expected{},
		Movements: []verb.Record{}, Released: []verb.Record{}}
	out.Then("enter_count", "Enter what was found")
	return out, nil
}
