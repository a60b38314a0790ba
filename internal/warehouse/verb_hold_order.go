package warehouse

import (
	"holdfast/internal/record"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/transfers"
)

// HoldOrderIn names the order and says why it has to wait.
type HoldOrderIn struct {
	OrderID string `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"The order: confirmed or in progress."`
	Reason  string `json:"reason" required:"true" max:"200" doc:"Why it waits; kept as hold_reason."`
}

// OrderOut is an order as it is afterwards.
type OrderOut struct {
	verb.Answer
	Order verb.Record `json:"order" record:"orders"`
}

// OrderLinesOut is an order with its lines as they are afterwards.
type OrderLinesOut struct {
	OrderOut
	Lines []verb.Record `json:"lines" record:"order_lines"`
}

func holdOrder(c *verb.Call, in *HoldOrderIn) (*OrderOut, error) {
	return turnOrder(c, in.OrderID, record.Order{"status": "on_hold", "hold_reason": in.Reason})
}

// turnOrder changes an order and answers it.
func turnOrder(c *verb.Call, id string, set record.Order) (*OrderOut, error) {
	if _, err := record.One[record.Order](c, "order_id", id); err != nil {
		return nil, err
	}
	if err := record.Update(c.Tx, []string{id}, set); err != nil {
		return nil, err
	}
	return orderOut(c, id)
}

// orderOut reads an order back, with what can be done with it.
func orderOut(c *verb.Call, id string) (*OrderOut, error) {
	rec, err := c.Again("orders", id)
	if err != nil {
		return nil, err
	}
	out := &OrderOut{Order: rec}
	out.Next = orderSteps(record.Order(rec.Row()))
	return out, nil
}

// orderSteps are the verbs that an order takes in its state and stage.
func orderSteps(o record.Order) (steps []verb.Step) {
	then := func(name, label string) { steps = append(steps, verb.Step{Verb: name, Label: label}) }
	switch o.Status() {
	case "draft":
		then("confirm_order", "Confirm the order")
		then("cancel_order", "Cancel the order")
	case "on_hold":
		then("resume_order", "Resume the order")
		then("cancel_order", "Cancel the order")
	case "confirmed", "in_progress":
		if transfers.CanShip(o) {
			shippingSteps(o, then)
		}
		if !transfers.CanShip(o) || transfers.IsInTransit(o) {
			then("receive", "Receive goods")
		}
		then("hold_order", "Put the order on hold")
		if o.Status() == "confirmed" {
			then("cancel_order", "Cancel the order")
		}
		if checkClosable(o) == nil {
			then("close_order", "Close the rest")
		}
	}
	return steps
}

func shippingSteps(o record.Order, then func(verb, label string)) {
	if o.QtyAllocated() > o.QtyPicked() {
		then("release_picks", "Release its picks")
		then("deallocate_order", "Give its stock back")
	}
	if s := o.Stage(); s == "unallocated" || s == "part_allocated" {
		then("allocate_order", "Look for stock again")
	}
	if o.QtyPicked() > o.QtyPacked() {
		then("pack", "Pack what is picked")
	}
	if o.QtyAllocated() > o.QtyShipped() {
		then("create_shipment", "Make a shipment")
	}
}

// orderLinesOut reads an order and its lines back.
func orderLinesOut(c *verb.Call, id string) (*OrderLinesOut, error) {
	o, err := orderOut(c, id)
	if err != nil {
		return nil, err
	}
	rows, err := record.List[record.OrderLine](c.Tx, "order_id = $2 ORDER BY line_no", id)
	return &OrderLinesOut{OrderOut: *o, Lines: record.ShowList(c, rows)}, err
}
