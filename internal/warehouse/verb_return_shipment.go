package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/returns"
	"holdfast/internal/warehouse/transfers"
)

// ReturnShipmentIn names a shipment that comes back.
type ReturnShipmentIn struct {
	ShipmentID string `json:"shipment_id" required:"true" format:"uuid" names:"shipments" doc:"The shipment, in transit or with an exception."`
	Code       string `json:"code" code:"true" max:"64" doc:"Why; kept as exception_code."`
	Note       string `json:"note" max:"1000" doc:"In words; kept as notes of the return order."`
}

// ReturnShipmentOut is the shipment with the order under which its goods come
// back.
type ReturnShipmentOut struct {
	ShipmentOut
	ReturnOrder verb.Record `json:"return_order" record:"orders" doc:"Null when nothing had left."`
}

func (w Watch) returnShipment(c *verb.Call, in *ReturnShipmentIn) (*ReturnShipmentOut, error) {
	k := w.workOf(c)
	sh, err := lockDrivenShipment(c, in.ShipmentID)
	if err != nil {
		return nil, err
	}
	set := record.Shipment{"status": "exception"}
	if in.Code != "" {
		set.SetExceptionCode(in.Code)
	}
	if sh.Status() == "in_transit" {
		if err := record.Update(k.Tx, []string{in.ShipmentID}, set); err != nil {
			return nil, err
		}
		delete(set, "exception_code")
	}
	set.SetStatus("returned")
	if err := record.Update(k.Tx, []string{in.ShipmentID}, set); err != nil {
		return nil, err
	}
	s, err := shipmentOut(c, in.ShipmentID)
	if err != nil {
		return nil, err
	}
	out := &ReturnShipmentOut{ShipmentOut: *s}
	made, err := record.List[record.Order](k.Tx, "source = $2 AND external_ref = $3", returnSource, in.ShipmentID)
	if err != nil || len(made) == 0 {
		return out, err
	}
	id := made[0].ID()
	if in.Note != "" {
		if err := k.UpdateRows("orders", []string{id}, store.Row{"notes": in.Note}); err != nil {
			return nil, err
		}
	}
	out.ReturnOrder, err = c.Again("orders", id)
	out.Then("receive_return", "Take the goods back in")
	return out, err
}

// returnSource is the source of return orders over shipments that came back; their
// external_ref is the shipment's id.
const returnSource = "shipments"

// openReturn opens a confirmed return order over what had left with a shipment, but for
// goods of transfers, which the transfer takes in.
func (k work) openReturn(shipment string) error {
	gone := "shipment_id = $2 AND qty_shipped > 0 AND " + transfers.NotOfTransfers + " ORDER BY id"
	sent, err := record.List[record.ShipmentLine](k.Tx, gone, shipment)
	if err != nil || len(sent) == 0 {
		return err
	}
	from, err := record.List[record.Order](k.Tx, "id = $2", sent[0].OrderID())
	if err != nil || len(from) != 1 {
		return err
	}
	lines, err := k.listReturned(shipment, sent)
	if err != nil || len(lines) == 0 {
		return err
	}
	row := record.Order{"type": "return", "source": returnSource, "external_ref": shipment}
	for _, f := range [...]string{"party_name", "party_code", "party_gln", "owner_id", "site_id"} {
		row[f] = from[0][f]
	}
	made, err := record.Insert(k.Tx, []record.Order{row})
	if err != nil {
		return err
	}
	id := made[0].ID()
	for _, l := range lines {
		record.OrderLine(l).SetOrderID(id)
	}
	if _, err := record.Insert(k.Tx, lines); err != nil {
		return err
	}
	return k.UpdateRows("orders", []string{id}, store.Row{"status": "confirmed"})
}

// listReturned are the lines of the return order of a shipment: one for each lot of what left
// by its lines, but for the order.
func (k work) listReturned(shipment string, sent []record.ShipmentLine) (lines []record.OrderLine, err error) {
	left, err := returns.ReadSent(k.Tx, record.Texts(sent, record.ShipmentLine.ItemID), shipment)
	if err != nil {
		return nil, err
	}
	for _, l := range sent {
		for _, part := range returns.Divide(left, l.ItemID(), l.QtyShipped()) {
			lines = append(lines, record.OrderLine{"line_no": int64(len(lines) + 1), "item_id": l.ItemID(),
				"lot_id": db.Null(part.LotID), "qty_ordered": part.Quantity})
		}
	}
	return lines, nil
}
