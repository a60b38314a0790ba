package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/verb"
)

// ResumeOrderIn names an order on hold.
type ResumeOrderIn struct {
	OrderID string `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"The order on hold."`
	Reason  string `json:"reason" max:"200" doc:"Why it goes on; kept as resume_reason."`
}

func resumeOrder(c *verb.Call, in *ResumeOrderIn) (*OrderOut, error) {
	o, err := record.One[record.Order](c, "order_id", in.OrderID)
	if err != nil {
		return nil, err
	}
	if o.Status() != "on_hold" {
		return nil, fault.New(fault.Conflict, "HF001", "order %s is %s, not on hold", o.OrderNo(),
			o.Status()).At("order_id", "is not on hold")
	}
	to := o.HeldFrom()
	if to == "" { // held before its origin was kept
		to = "confirmed"
	}
	return turnOrder(c, in.OrderID, record.Order{"status": to, "resume_reason": db.Null(in.Reason)})
}
