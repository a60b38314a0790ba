package warehouse

import (
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/locking"
)

// CancelOrderIn names the order and says why it ends.
type CancelOrderIn struct {
	OrderID string `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"The order: a draft, confirmed or on hold, nothing of it shipped."`
	Reason  string `json:"reason" max:"200" doc:"Why; kept as hold_reason."`
}

func cancelOrder(c *verb.Call, in *CancelOrderIn) (*OrderOut, error) {
	set := store.Row{"status": "cancelled"}
	if in.Reason != "" {
		set["hold_reason"] = in.Reason
	}
	if err := locking.LockWithWork(c.Tx, []string{in.OrderID}); err != nil {
		return nil, err
	}
	return turnOrder(c, in.OrderID, record.Order(set))
}
