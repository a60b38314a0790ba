package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/record"
	"holdfast/internal/verb"
)

// ReportExceptionIn says what went wrong on the road.
type ReportExceptionIn struct {
	ShipmentID string `json:"shipment_id" required:"true" format:"uuid" names:"shipments" doc:"The shipment, in transit."`
	Code       string `json:"code" required:"true" code:"true" max:"64" doc:"What happened, such as REFUSED or ADDRESS_UNKNOWN; kept as exception_code."`
	Note       string `json:"note" max:"1000" doc:"In words; kept as exception_note."`
}

func (w Watch) reportException(c *verb.Call, in *ReportExceptionIn) (*ShipmentOut, error) {
	if _, err := lockDrivenShipment(c, in.ShipmentID); err != nil {
		return nil, err
	}
	set := record.Shipment{"status": "exception", "exception_code": in.Code, "exception_note": db.Null(in.Note)}
	if err := record.Update(w.workOf(c).Tx, []string{in.ShipmentID}, set); err != nil {
		return nil, err
	}
	return shipmentOut(c, in.ShipmentID)
}
