package warehouse

import (
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// ConfirmOrderIn names a draft order.
type ConfirmOrderIn struct {
	OrderID string `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"The order: a draft with lines of active items."`
}

// confirmOrder moves the order; the effect of that move allocates.
func (w Watch) confirmOrder(c *verb.Call, in *ConfirmOrderIn) (*OrderLinesOut, error) {
	o, err := record.One[record.Order](c, "order_id", in.OrderID)
	if err != nil {
		return nil, err
	}
	if o.Status() != "draft" {
		return nil, fault.New(fault.Conflict, "HF001", "order %s is %s, not a draft", o.OrderNo(),
			o.Status()).At("order_id", "is no draft")
	}
	if err := w.workOf(c).UpdateRows("orders", []string{in.OrderID}, store.Row{"status": "confirmed"}); err != nil {
		return nil, err
	}
	return orderLinesOut(c, in.OrderID)
}
