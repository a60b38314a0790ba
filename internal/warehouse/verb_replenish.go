package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/plates"
)

// PlanReplenishmentIn names the rules that are looked at.
type PlanReplenishmentIn struct {
	RuleIDs []string `json:"rule_ids" max:"200" format:"uuid" names:"replenish_rules" doc:"Rules to fill up to their most; all that are due when absent."`
}

// PlanReplenishmentOut is the tasks that were opened.
type PlanReplenishmentOut struct {
	verb.Answer
	Tasks []verb.Record `json:"tasks" record:"replenish_tasks"`
	Short []Lacking     `json:"short" doc:"What no reserve has."`
}

func (w Watch) planReplenishment(c *verb.Call, in *PlanReplenishmentIn) (*PlanReplenishmentOut, error) {
	for _, id := range in.RuleIDs {
		if _, err := inUse(c, id, "rule_ids"); err != nil {
			return nil, err
		}
	}
	tasks, short, err := w.workOf(c).planReplenishment(in.RuleIDs, len(in.RuleIDs) > 0)
	if err != nil {
		return nil, err
	}
	out := &PlanReplenishmentOut{Tasks: record.ShowList(c, tasks), Short: append([]Lacking{}, short...)}
	if len(tasks) > 0 {
		out.Then("replenish", "Bring the goods")
	}
	return out, nil
}

// inUse reads a rule that is not archived.
func inUse(c *verb.Call, id, field string) (record.ReplenishRule, error) {
	rule, err := readRecord[record.ReplenishRule](c, field, id)
	if err == nil && rule.HasArchivedAt() {
		err = notReady("the rule is archived").At(field, "is archived")
	}
	return rule, err
}

// ReplenishIn is goods that were brought to a pick zone.
type ReplenishIn struct {
	TaskID         string       `json:"task_id" format:"uuid" names:"replenish_tasks" doc:"The task."`
	RuleID         string       `json:"rule_id" format:"uuid" names:"replenish_rules" doc:"Without a task: the rule whose zone is filled up now."`
	Quantity       *decimal.Dec `json:"quantity" min:"0.0001" doc:"How much, in base units; all of the task when absent."`
	OverrideReason string       `json:"override_reason" max:"200" doc:"Why a manager puts it where the zone refuses it."`
}

// ReplenishOut is the movement and the task it worked off.
type ReplenishOut struct {
	verb.Answer
	Movement verb.Record `json:"movement" record:"stock_movements"`
	Task     verb.Record `json:"task" record:"replenish_tasks"`
}

func (w Watch) replenishZone(c *verb.Call, in *ReplenishIn) (*ReplenishOut, error) {
	id, err := w.taskOf(c, in)
	if err != nil {
		return nil, err
	}
	task, err := lockOpenTask(c, "replenish_tasks", id, in.Quantity)
	if err != nil {
		return nil, err
	}
	m := task.taskMovement("replenish", "item_id", "lot_id", "serial", "owner_id", "lpn", "from_zone_id", "to_zone_id")
	setGiven(m, "override_reason", in.OverrideReason)
	if goods := record.StockMovement(m); goods.HasLPN() {
		goods.SetPlateChange(plates.TakenOff) // a pick zone takes goods, not plates
	}
	out := &ReplenishOut{}
	if out.Movement, err = postMovement(c, record.StockMovement(m)); err != nil {
		return nil, err
	}
	out.Task, err = task.recordProgress(c)
	if record.ReplenishTask(out.Task.Row()).Status() != "done" {
		out.Then("replenish", "Bring the rest")
	}
	return out, err
}

// taskOf is the task that is named, or the first of the rule's that is open, which
// is opened where there is none.
func (w Watch) taskOf(c *verb.Call, in *ReplenishIn) (string, error) {
	switch {
	case in.TaskID != "" && in.RuleID != "":
		return "", refuseMovement("rule_id", "name a task or a rule, not both")
	case in.TaskID != "":
		return in.TaskID, nil
	case in.RuleID == "":
		return "", refuseMovement("task_id", "name a task, or a rule")
	}
	if _, err := inUse(c, in.RuleID, "rule_id"); err != nil {
		return "", err
	}
	open, err := record.List[record.ReplenishTask](c.Tx,
		"rule_id = $2 AND status IN ('open', 'in_progress') ORDER BY id LIMIT 1",
		in.RuleID)
	if err != nil {
		return "", err
	}
	if len(open) == 0 {
		if open, _, err = w.workOf(c).planReplenishment([]string{in.RuleID}, true); err != nil {
			return "", err
		}
	}
	if len(open) == 0 {
		return "", notReady("the zone is full, or no reserve has the item").At("rule_id", "has nothing to bring")
	}
	return open[0].ID(), nil
}
