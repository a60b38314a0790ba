package warehouse

import (
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/ending"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/transfers"
)

// CloseOrderIn names the order and says why no more is waited for.
type CloseOrderIn struct {
	OrderID string `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"The order: in progress, a part of it received or shipped."`
	Reason  string `json:"reason" max:"200" doc:"Why; kept as hold_reason. Required where it writes off goods in transit."`
}

// closeOrder cancels what has not come in or left of an order, which completes it. What of
// a transfer is in transit is written off as lost.
func (w Watch) closeOrder(c *verb.Call, in *CloseOrderIn) (*OrderLinesOut, error) {
	if err := locking.LockWithWork(c.Tx, []string{in.OrderID}); err != nil {
		return nil, err
	}
	o, err := record.One[record.Order](c, "order_id", in.OrderID)
	if err != nil {
		return nil, err
	}
	if err := checkClosable(o); err != nil {
		return nil, err
	}
	k := w.workOf(c)
	if in.Reason != "" {
		if err := k.UpdateRows("orders", []string{in.OrderID}, store.Row{"hold_reason": in.Reason}); err != nil {
			return nil, err
		}
	}
	rest, sets, err := ending.ReadRest(k.Tx, in.OrderID)
	if err != nil {
		return nil, err
	}
	if err := k.endLines(rest, []string{in.OrderID}); err != nil {
		return nil, err
	}
	if err := k.UpdateEach("order_lines", record.Rows(sets)); err != nil {
		return nil, err
	}
	if err := transfers.WriteOffLost(k.Tx, o, in.Reason); err != nil {
		return nil, err
	}
	if err := ending.CompleteOrder(k.Tx, in.OrderID); err != nil {
		return nil, err
	}
	if err := ending.EndWaves(k.Tx, []string{in.OrderID}); err != nil {
		return nil, err
	}
	return orderLinesOut(c, in.OrderID)
}

// checkClosable refuses to close an order that is not under way.
func checkClosable(o record.Order) error {
	no, status := o.OrderNo(), o.Status()
	switch {
	case status == "on_hold":
		return notReady("order %s is on hold: resume it first", no).At("order_id", "is on hold")
	case status != "in_progress" && status != "confirmed" && status != "draft":
		return fault.New(fault.Conflict, "HF001", "order %s is %s", no, status).At("order_id", "is %s", status)
	case o.QtyReceived()+o.QtyShipped() == 0:
		return notReady("nothing of order %s has moved: cancel it instead", no).At("order_id", "has no part that moved")
	}
	return nil
}
