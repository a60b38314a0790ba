package warehouse

import (
	"slices"

	"holdfast/internal/record"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/kits"
)

// DeallocateOrderIn names an order, or one of its lines.
type DeallocateOrderIn struct {
	OrderID string `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"The order."`
	LineID  string `json:"order_line_id" format:"uuid" names:"order_lines" doc:"Only this line of it; of a kit its components."`
}

func (w Watch) deallocateOrder(c *verb.Call, in *DeallocateOrderIn) (*OrderLinesOut, error) {
	k := w.workOf(c)
	if _, err := record.One[record.Order](c, "order_id", in.OrderID); err != nil {
		return nil, err
	}
	lines, err := k.linesOf([]string{in.OrderID})
	if err != nil {
		return nil, err
	}
	if in.LineID != "" {
		if !slices.Contains(lines, in.LineID) {
			return nil, verb.Missing("order_lines", "order_line_id")
		}
		parts, err := kits.ReadComponentLines(k.Tx, in.LineID)
		if err != nil {
			return nil, err
		}
		lines = append(record.IDs(parts), in.LineID)
	}
	rows, err := k.activeReservations(lines)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r record.Reservation) bool { return r.Picked() })
	if err := k.releaseReservations(rows); err != nil {
		return nil, err
	}
	if err := k.updateOrderLines(record.Texts(rows, record.Reservation.OrderLineID), nil); err != nil {
		return nil, err
	}
	return orderLinesOut(c, in.OrderID)
}
