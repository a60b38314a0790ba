package warehouse

import (
	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/handling"
	"holdfast/internal/warehouse/locking"
)

// ClaimPickListIn names a released list.
type ClaimPickListIn struct {
	PickListID string `json:"pick_list_id" required:"true" format:"uuid" names:"pick_lists" doc:"The list: released, and nobody else's."`
}

// ClaimPickListOut is the list and what is to be fetched.
type ClaimPickListOut struct {
	verb.Answer
	PickList verb.Record     `json:"pick_list" record:"pick_lists"`
	Lines    []verb.Record   `json:"lines" record:"pick_lines" doc:"Those that are still to be picked, in walking order."`
	Handling []handling.Load `json:"handling" doc:"What is still to be taken of each line, by units."`
}

func (w Watch) claimPickList(c *verb.Call, in *ClaimPickListIn) (*ClaimPickListOut, error) {
	l, err := record.One[record.PickList](c, "pick_list_id", in.PickListID)
	if err != nil {
		return nil, err
	}
	switch mine := l.AssignedWorkerID() == c.WorkerID; {
	case c.WorkerID == "":
		return nil, notReady("your account is linked to no worker, and a list is picked by one")
	case l.HasAssignedWorkerID() && !mine:
		return nil, fault.New(fault.Conflict, CodeOrder, "pick list %s is somebody else's",
			l.PickNo()).At("pick_list_id", "is taken")
	case l.Status() != "released" && l.Status() != "in_progress":
		return nil, notReady("pick list %s is %s", l.PickNo(), l.Status()).At("pick_list_id", "is %s", l.Status())
	case !mine:
		if err := checkMayTake(c, in.PickListID, "pick_list_id"); err != nil {
			return nil, err
		}
		if err := w.workOf(c).UpdateRows("pick_lists", []string{in.PickListID},
			store.Row{"assigned_worker_id": c.WorkerID}); err != nil {
			return nil, err
		}
	}
	out := &ClaimPickListOut{}
	if out.PickList, err = c.Again("pick_lists", in.PickListID); err != nil {
		return nil, err
	}
	rows, err := record.List[record.PickLine](c.Tx, "pick_list_id = $2 AND status = 'pending' ORDER BY seq",
		in.PickListID)
	if err != nil {
		return nil, err
	}
	out.Lines = record.ShowList(c, rows)
	out.Handling, err = handling.ListRows(c.Tx, record.Rows(rows), "qty", "qty_picked")
	out.Then("pick_line", "Pick the first line")
	return out, err
}

// lockPickLine locks a pick line and its list for the caller. An operator's own
// lists and those of nobody are his; others are not there for him. The order is
// locked before them, as everybody does who takes promises back.
func (w Watch) lockPickLine(c *verb.Call, id string) (line record.PickLine, list record.PickList, err error) {
	if line, err = readRecord[record.PickLine](c, "pick_line_id", id); err != nil {
		return nil, nil, err
	}
	if _, err := locking.LockOrdersOf(c.Tx, []record.PickLine{line}); err != nil {
		return nil, nil, err
	}
	if list, err = record.One[record.PickList](c, "pick_line_id", line.PickListID()); err != nil {
		return nil, nil, err
	}
	if line, err = record.One[record.PickLine](c, "pick_line_id", id); err != nil {
		return nil, nil, err
	}
	picker := list.AssignedWorkerID()
	if c.Role == actor.Operator && picker != "" && picker != c.WorkerID {
		return nil, nil, verb.Missing("pick_lines", "pick_line_id")
	}
	if picker == "" && c.WorkerID != "" {
		if err := checkMayTake(c, list.ID(), "pick_line_id"); err != nil {
			return nil, nil, err
		}
		err = w.workOf(c).UpdateRows("pick_lists", []string{list.ID()}, store.Row{"assigned_worker_id": c.WorkerID})
	}
	return line, list, err
}

// checkMayTake refuses a list of nobody that the caller may not read: its lines are at another
// site, or outside of the zones of the membership.
func checkMayTake(c *verb.Call, list, field string) error {
	rows, err := c.RowsToRead("pick_lists", "id = $2", list)
	if err == nil && len(rows) == 0 {
		err = verb.Missing("pick_lists", field)
	}
	return err
}

// checkPending refuses a line that is closed.
func checkPending(line record.PickLine) error {
	if st := line.Status(); st != "pending" {
		return notReady("line %v is %s", line.Seq(), st).At("pick_line_id", "is %s", st)
	}
	return nil
}
