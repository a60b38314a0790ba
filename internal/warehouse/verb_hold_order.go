package warehouse

import (
	"holdfast/internal/rpc"
	"holdfast/internal/store"
)

// HoldOrderIn names the order and says why it has to wait.
type HoldOrderIn struct {
	OrderID string `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"The order: confirmed or in progress."`
	Reason  string `json:"reason" required:"true" max:"200" doc:"Why it waits; kept as hold_reason."`
}

// OrderOut is an order as it is afterwards.
type OrderOut struct {
	rpc.Answer
	Order rpc.Record `json:"order" record:"orders"`
}

func holdOrder(c *rpc.Call, in *HoldOrderIn) (*OrderOut, error) {
	if _, err := c.One("orders", "order_id", in.OrderID); err != nil {
		return nil, err
	}
	_, err := c.Store.UpdateTx(c.Tx, c.Actor, c.Resource("orders"), []string{in.OrderID}, store.Row{"status": "on_hold", "hold_reason": in.Reason})
	if err != nil {
		return nil, err
	}
	out := &OrderOut{}
	out.Then("resume_order", "Resume the order")
	out.Then("cancel_order", "Cancel the order")
	out.Order, err = c.Again("orders", in.OrderID)
	return out, err
}
