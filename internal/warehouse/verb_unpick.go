package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/store"
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
	if _, err := readRecord(c, "zones", "to_zone_id", in.To); err != nil {
		return nil, err
	}
	line, _, err := w.lockPickLine(c, in.LineID)
	if err != nil {
		return nil, err
	}
	if has := line.Decimal("qty_picked"); in.Quantity > has {
		return nil, refuseAbove("quantity", in.Quantity, has, "was picked on the line")
	}
	ol, err := c.One("order_lines", "pick_line_id", line.Text("order_line_id"))
	if err != nil {
		return nil, err
	}
	all, err := packing.ReadLoose(k.Tx, []string{ol.Text("id")})
	if err != nil {
		return nil, err
	}
	if loose := all.Sum(ol.Text("id"), identityOf(line)); in.Quantity > loose {
		return nil, refuseAbove("quantity", in.Quantity, loose, "is picked and not packed")
	}
	said := spoken{item: line.Text("item_id"), member: "quantity", quantity: in.Quantity, all: line.Decimal("qty_picked")}
	if err := checkBaseUnitDecimals(c, said); err != nil {
		return nil, err
	}
	moves, err := k.putBack(line, in)
	if err != nil {
		return nil, err
	}
	set := store.Row{"qty_picked": line.Decimal("qty_picked") - in.Quantity, "qty": line.Decimal("qty") - in.Quantity}
	if err := lowerWeight(set, line); err != nil {
		return nil, err
	}
	if set["qty"] == decimal.Dec(0) || set["qty_picked"] == decimal.Dec(0) && line["status"] != "pending" {
		set = store.Row{"status": "cancelled"}
	}
	if err := k.UpdateRows("pick_lines", []string{in.LineID}, set); err != nil {
		return nil, err
	}
	if err := k.updateOrderLines([]string{ol.Text("id")}, nil); err != nil {
		return nil, err
	}
	out := &UnpickOut{Movements: c.Records("stock_movements", moves)}
	if out.Line, err = c.Again("pick_lines", in.LineID); err != nil {
		return nil, err
	}
	out.OrderLine, err = c.Again("order_lines", ol.Text("id"))
	out.Then("allocate_order", "Look for stock again")
	return out, err
}

// lowerWeight takes the share of what is put back off what was weighed of the line: nobody
// weighs it again.
func lowerWeight(set, line store.Row) error {
	if line["weight_kg"] == nil {
		return nil
	}
	left, err := line.Decimal("weight_kg").MulDiv(set.Decimal("qty_picked"), line.Decimal("qty_picked"))
	set["weight_kg"] = left
	return err
}

// putBack frees picked reservations of the line's goods and moves them.
func (k work) putBack(line store.Row, in *UnpickIn) ([]store.Row, error) {
	rows, err := k.Rows("reservations",
		"order_line_id = $2 AND item_id = $3 AND state = 'active' AND picked ORDER BY id DESC"+k.DB().ForUpdate(),
		line["order_line_id"], line["item_id"])
	if err != nil {
		return nil, err
	}
	left := in.Quantity
	var freed, moves []store.Row
	for _, r := range rows {
		if left == 0 || *identityOf(r) != *identityOf(line) {
			continue
		}
		q := min(left, r.Decimal("quantity"))
		left -= q
		if r, err = k.cutReservation(r, q); err != nil {
			return nil, err
		}
		freed = append(freed, r)
		moves = append(moves, store.Row{"type": "unpick", "item_id": r["item_id"], "lot_id": r["lot_id"],
			"serial": r["serial"], "owner_id": r["owner_id"],
			"lpn": r["lpn"], "from_zone_id": r["zone_id"], "to_zone_id": in.To, "quantity": q, "ref_type": "pick_lines",
			"ref_id": line["id"]})
	}
	if left > 0 {
		return nil, refuseAbove("quantity", in.Quantity, in.Quantity-left, "is still picked for the line")
	}
	if err := k.releaseReservations(freed); err != nil {
		return nil, err
	}
	return k.InsertRows("stock_movements", moves)
}
