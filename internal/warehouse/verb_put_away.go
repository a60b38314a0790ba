package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// PutAwayIn is goods that were put in their place: those of a task, or others.
type PutAwayIn struct {
	TaskID         string       `json:"task_id" format:"uuid" names:"putaway_tasks" doc:"The task; it says what the goods are."`
	ItemID         string       `json:"item_id" format:"uuid" names:"items" doc:"The item, without a task."`
	LotID          string       `json:"lot_id" format:"uuid" names:"lots" doc:"Its lot, without a task."`
	OwnerID        string       `json:"owner_id" format:"uuid" names:"goods_owners" doc:"Whose goods; the house's own when absent."`
	FromZoneID     string       `json:"from_zone_id" format:"uuid" names:"zones" doc:"Where it was, without a task."`
	Quantity       *decimal.Dec `json:"quantity" min:"0.0001" doc:"How much, in base units; all of the task when absent."`
	ToZoneID       string       `json:"to_zone_id" required:"true" format:"uuid" names:"zones" doc:"Where it is."`
	OverrideReason string       `json:"override_reason" max:"200" doc:"Why a manager puts it where the zone refuses it."`
}

// PutAwayOut is the movement and the task it worked off.
type PutAwayOut struct {
	verb.Answer
	Movement verb.Record  `json:"movement" record:"stock_movements"`
	Task     *verb.Record `json:"task" record:"putaway_tasks"`
}

func putAway(c *verb.Call, in *PutAwayIn) (*PutAwayOut, error) {
	if _, err := readRecord[record.Zone](c, "to_zone_id", in.ToZoneID); err != nil {
		return nil, err
	}
	if in.TaskID == "" {
		return putAwayLoose(c, in)
	}
	task, err := lockOpenTask(c, "putaway_tasks", in.TaskID, in.Quantity)
	if err != nil {
		return nil, err
	}
	m := task.taskMovement("putaway", "item_id", "lot_id", "serial", "owner_id", "lpn", "from_zone_id")
	m["to_zone_id"] = in.ToZoneID
	m["from_status"] = task.row["stock_status"]
	m["to_status"] = task.row["stock_status"]
	setGiven(m, "override_reason", in.OverrideReason)
	out := &PutAwayOut{}
	if out.Movement, err = postMovement(c, record.StockMovement(m)); err != nil {
		return nil, err
	}
	rec, err := task.recordProgress(c)
	out.Task = &rec
	if rec.Row()["status"] != "done" {
		out.Then("put_away", "Put the rest away")
	}
	return out, err
}

// putAwayLoose puts goods away that no task names.
func putAwayLoose(c *verb.Call, in *PutAwayIn) (*PutAwayOut, error) {
	switch {
	case in.ItemID == "":
		return nil, refuseMovement("task_id", "name a task, or the item, where it was and how much")
	case in.FromZoneID == "":
		return nil, refuseMovement("from_zone_id", "say where the goods were")
	case in.Quantity == nil:
		return nil, refuseMovement("quantity", "say how much")
	}
	if _, err := readRecord[record.Zone](c, "from_zone_id", in.FromZoneID); err != nil {
		return nil, err
	}
	if _, err := readRecord[record.Item](c, "item_id", in.ItemID); err != nil {
		return nil, err
	}
	if _, err := readRecord[record.Lot](c, "lot_id", in.LotID); err != nil {
		return nil, err
	}
	if _, err := readRecord[record.GoodsOwner](c, "owner_id", in.OwnerID); err != nil {
		return nil, err
	}
	if err := checkBaseUnitDecimals(c, spoken{item: in.ItemID, member: "quantity", quantity: *in.Quantity}); err != nil {
		return nil, err
	}
	m := store.Row{"type": "putaway", "item_id": in.ItemID, "from_zone_id": in.FromZoneID, "to_zone_id": in.ToZoneID,
		"quantity": *in.Quantity}
	setGiven(m, "lot_id", in.LotID, "owner_id", in.OwnerID, "override_reason", in.OverrideReason)
	out := &PutAwayOut{}
	var err error
	out.Movement, err = postMovement(c, record.StockMovement(m))
	return out, err
}
