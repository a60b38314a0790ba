package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/packing"
)

// UnpickIn says what was put back.
type UnpickIn struct {
	LineID   string      `json:"pick_line_id" required:"true" format:"uuid" names:"pick_lines" doc:"The line that it was picked for."`
	Quantity decimal.Dec `json:"quantity" required:"true" min:"0.0001" doc:"Base units put back; not yet packed."`
	To       string      `json:"to_zone_id" required:"true" format:"uuid" names:"zones" doc:"Where they are put."`
}

// UnpickOut is the movement and the order line as it is afterwards.
type UnpickOut struct {
	verb.Answer
	Line      verb.Record   `json:"pick_line" record:"pick_lines"`
	Movements []verb.Record `json:"movements" record:"stock_movements"`
	OrderLine verb.Record   `json:"order_line" record:"order_lines"`
}

// unpickGoods takes picked goods back to a bin, where they are free.
func (w Watch) unpickGoods(c *verb.Call, in *UnpickIn) (*UnpickOut, error) {
	k := w.workOf(c)
	if _, err := readRecord[record.Zone](c, "to_zone_id", in.To); err != nil {
		return nil, err
	}
	line, _, err := w.lockPickLine(c, in.LineID)
	if err != nil {
		return nil, err
	}
	if has := line.QtyPicked(); in.Quantity > has {
		return nil, refuseAbove("quantity", in.Quantity, has, "was picked on the line")
	}
	ol, err := record.One[record.OrderLine](c, "pick_line_id", line.OrderLineID())
	if err != nil {
		return nil, err
	}
	all, err := packing.ReadLoose(k.Tx, []string{ol.ID()})
	if err != nil {
		return nil, err
	}
	if loose := all.Sum(ol.ID(), identityOf(line)); in.Quantity > loose {
		return nil, refuseAbove("quantity", in.Quantity, loose, "is picked and not packed")
	}
	said := spoken{item: line.ItemID(), member: "quantity", quantity: in.Quantity, all: line.QtyPicked()}
	if err := checkBaseUnitDecimals(c, said); err != nil {
		return nil, err
	}
	moves, err := k.putBack(line, in)
	if err != nil {
		return nil, err
	}
	set := record.PickLine{"qty_picked": line.QtyPicked() - in.Quantity, "qty": line.Qty() - in.Quantity}
	if err := lowerWeight(set, line); err != nil {
		return nil, err
	}
	if set.QtyOrNull() == decimal.Dec(0) || set.QtyPickedOrNull() == decimal.Dec(0) && line.Status() != "pending" {
		set = record.PickLine{"status": "cancelled"}
	}
	if err := record.Update(k.Tx, []string{in.LineID}, set); err != nil {
		return nil, err
	}
	if err := k.updateOrderLines([]string{ol.ID()}, nil); err != nil {
		return nil, err
	}
	out := &UnpickOut{Movements: record.ShowList(c, moves)}
	if out.Line, err = c.Again("pick_lines", in.LineID); err != nil {
		return nil, err
	}
	out.OrderLine, err = c.Again("order_lines", ol.ID())
	out.Then("allocate_order", "Look for stock again")
	return out, err
}

// lowerWeight takes the share of what is put back off what was weighed of the line: nobody
// weighs it again.
func lowerWeight(set, line record.PickLine) error {
	if !line.HasWeightKg() {
		return nil
	}
	left, err := line.WeightKg().MulDiv(set.QtyPicked(), line.QtyPicked())
	set.SetWeightKg(left)
	return err
}

// putBack frees picked reservations of the line's goods and moves them.
func (k work) putBack(line record.PickLine, in *UnpickIn) ([]record.StockMovement, error) {
	rows, err := record.List[record.Reservation](k.Tx,
		"order_line_id = $2 AND item_id = $3 AND state = 'active' AND picked ORDER BY id DESC"+k.DB().ForUpdate(),
		line.OrderLineIDOrNull(), line.ItemID())
	if err != nil {
		return nil, err
	}
	left := in.Quantity
	var freed []record.Reservation
	var moves []record.StockMovement
	for _, r := range rows {
		if left == 0 || *identityOf(r) != *identityOf(line) {
			continue
		}
		q := min(left, r.Quantity())
		left -= q
		if r, err = k.cutReservation(r, q); err != nil {
			return nil, err
		}
		freed = append(freed, r)
		moves = append(moves, record.StockMovement{"type": "unpick", "item_id": r.ItemID(), "lot_id": r.LotIDOrNull(),
			"serial": r.SerialOrNull(), "owner_id": r.OwnerIDOrNull(), "lpn": r.LPNOrNull(),
			"from_zone_id": r.ZoneID(), "to_zone_id": in.To, "quantity": q, "ref_type": "pick_lines", "ref_id": line.ID()})
	}
	if left > 0 {
		return nil, refuseAbove("quantity", in.Quantity, in.Quantity-left, "is still picked for the line")
	}
	if err := k.releaseReservations(freed); err != nil {
		return nil, err
	}
	return record.Insert(k.Tx, moves)
}
