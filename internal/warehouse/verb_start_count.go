package warehouse

import (
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/counting"
)

// StartCountIn says what is to be counted.
type StartCountIn struct {
	ZoneID string `json:"zone_id" required:"true" format:"uuid" names:"zones" doc:"The place."`
	ItemID string `json:"item_id" format:"uuid" names:"items" doc:"The item; everything in the zone when absent."`
	Method string `json:"method" enum:"cycle full zero_check" default:"cycle" doc:"A cycle count, a full one, or a look whether the place is empty."`
	Blind  *bool  `json:"blind" doc:"Whether the counter is not told what the books say; true when absent."`
	DueOn  string `json:"due_on" format:"date" doc:"When it has to be done."`
	Assign string `json:"assigned_worker_id" format:"uuid" names:"workers" doc:"Who counts."`
	Reason string `json:"reason" max:"500" doc:"Why it is counted."`
}

// CountOut is a count as it is afterwards.
type CountOut struct {
	verb.Answer
	CountTask verb.Record         `json:"count_task" record:"count_tasks"`
	Lines     []verb.Record       `json:"lines" record:"count_lines"`
	Expected  []counting.Expected `json:"expected" doc:"What the books say, unless the count is blind."`
	Movements []verb.Record       `json:"movements" record:"stock_movements"`
	Released  []verb.Record       `json:"released" record:"reservations" doc:"Promises of what was not found."`
}

func startCount(c *verb.Call, in *StartCountIn) (*CountOut, error) {
	zone, err := readRecord[record.Zone](c, "zone_id", in.ZoneID)
	if err != nil {
		return nil, err
	}
	if zone.Status() == "archived" {
		return nil, fault.New(fault.Conflict, CodeMovement, "zone %s is archived", zone.Code()).At("zone_id",
			"is archived")
	}
	if err := checkKnown[record.Item](c, "item_id", in.ItemID); err != nil {
		return nil, err
	}
	if err := checkKnown[record.Worker](c, "assigned_worker_id", in.Assign); err != nil {
		return nil, err
	}
	row := store.Row{"zone_id": in.ZoneID, "method": in.Method, "blind": in.Blind == nil || *in.Blind}
	setGiven(row, "item_id", in.ItemID, "due_on", in.DueOn, "assigned_worker_id", in.Assign, "reason", in.Reason)
	task, err := counting.OpenTask(c.Tx, record.CountTask(row))
	if err != nil {
		return nil, err
	}
	out := &CountOut{CountTask: record.Show(c, task), Lines: []verb.Record{}, Movements: []verb.Record{},
		Expected: []counting.Expected{}, Released: []verb.Record{}}
	out.Then("enter_count", "Enter what was found")
	if task.Blind() {
		return out, nil
	}
	levels, err := counting.ReadStock(c.Tx, task)
	if err != nil {
		return nil, err
	}
	out.Expected, err = counting.ListExpected(c.Tx, levels)
	return out, err
}
