package kits

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// kitLine is a line of an order that asks for a kit.
type kitLine struct {
	id, order, orderNo, kind, sku, lot, minExpiry string
	no                                            int64
	ordered, cancelled                            decimal.Dec
}

// linesSQL selects lines of kits whose components have no lines yet, a row for each
// component. $1 tenant, $2 ids; {which} is a condition on line and ordered.
const linesSQL = `
	SELECT line.id, line.order_id, ordered.order_no, ordered.type, kit.sku, line.lot_id, line.min_expiry, line.line_no,
		line.qty_ordered, line.qty_cancelled, part.item_id, part.qty, component.base_uom,
		component.has_expiry
	FROM order_lines AS line
	JOIN orders AS ordered ON ordered.tenant_id = $1 AND ordered.id = line.order_id
	JOIN item_components AS part ON part.tenant_id = $1 AND part.kit_id = line.item_id
	JOIN items AS kit ON kit.tenant_id = $1 AND kit.id = line.item_id
	JOIN items AS component ON component.tenant_id = $1 AND component.id = part.item_id
	WHERE line.tenant_id = $1
		AND line.is_kit IS NOT TRUE
		AND {which}
	ORDER BY line.order_id, line.line_no, component.sku`

// notDraft is a condition on lines of orders whose kits are to have lines of components.
const notDraft = " AND ordered.type = 'outbound' AND ordered.status NOT IN ('draft', 'completed', 'cancelled')"

func scanLine(r *db.Row) kitLine {
	return kitLine{id: r.Text(0), order: r.Text(1), orderNo: r.Text(2), kind: r.Text(3), sku: r.Text(4), lot: r.Text(5),
		minExpiry: r.Text(6), no: r.Int(7), ordered: r.Dec(8), cancelled: r.Dec(9)}
}

// CheckOrders refuses to confirm orders with kits that they cannot sell.
func CheckOrders(tx *store.Tx, orders []string) error {
	if len(orders) == 0 {
		return nil
	}
	text := db.FillWords(linesSQL, "{which}", "line.order_id IN {ids $2}")
	return tx.Query(text, []any{tx.TenantID, query.List(orders)}, func(r *db.Row) error {
		return scanLine(r).refuseUnsold("order_id")
	})
}

// refuseUnsold refuses a line that asks for parts of a kit, or for one lot of it, or that does
// not sell it. field names it in the request.
func (l kitLine) refuseUnsold(field string) error {
	switch {
	case l.kind != "outbound":
		return refuseKind(l.kind, l.sku)
	case l.ordered%decimal.Scale != 0 || l.cancelled%decimal.Scale != 0:
		return fault.New(fault.Conflict, codeOrder,
			"line %d of order %s asks for %s of kit %s, of which %s are cancelled: kits are whole", l.no, l.orderNo,
			l.ordered, l.sku, l.cancelled).
			With("", "change the line's quantity").At(field, "has a line with a part of a kit")
	case l.lot != "":
		return fault.New(fault.Conflict, codeOrder, "line %d of order %s names a lot of kit %s, which has none", l.no,
			l.orderNo, l.sku).
			With("", "confirm it without, and name lots on the lines of the components").
			At(field, "names a lot of a kit")
	}
	return nil
}

// ExpandOrders gives the kits of confirmed orders lines of their components. The caller
// holds the orders.
func ExpandOrders(tx *store.Tx, orders []string) error {
	return expandKits(tx, "line.order_id IN {ids $2}", orders)
}

// ExpandLines gives those of lines that ask for kits, and are of confirmed orders, lines of
// their components.
func ExpandLines(tx *store.Tx, lines []string) error {
	return expandKits(tx, "line.id IN {ids $2}", lines)
}

// expandKits writes the lines of components. They have no price: the kit's line has it.
func expandKits(tx *store.Tx, which string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var kits, orders []string
	var rows []record.OrderLine
	text := db.FillWords(linesSQL, "{which}", which+notDraft)
	err := tx.Query(text, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		l := scanLine(r)
		if err := l.refuseUnsold("item_id"); err != nil {
			return err
		}
		if !r.Bool(13) {
			l.minExpiry = "" // goods without a date would never last long enough
		}
		row, err := l.componentRow(r.Text(10), r.Text(12), r.Dec(11))
		if err != nil {
			return err
		}
		rows = append(rows, record.OrderLine(row))
		if n := len(kits); n == 0 || kits[n-1] != l.id {
			kits = append(kits, l.id)
		}
		if n := len(orders); n == 0 || orders[n-1] != l.order {
			orders = append(orders, l.order)
		}
		return nil
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	if err := numberLines(tx, orders, rows); err != nil {
		return err
	}
	// The kits go first: until then they count as goods.
	if err := tx.UpdateRows("order_lines", kits, store.Row{"is_kit": true}); err != nil {
		return err
	}
	_, err = record.Insert(tx, rows)
	return err
}

// componentRow is the line of a component.
func (l kitLine) componentRow(item, unit string, each decimal.Dec) (store.Row, error) {
	ordered, err := l.ordered.Mul(each)
	if err != nil {
		return nil, fault.New(fault.Conflict, codeOrder,
			"line %d of order %s asks for more of kit %s than can be counted", l.no, l.orderNo, l.sku).
			At("order_id", "asks for too much")
	}
	cancelled, err := l.cancelled.Mul(each)
	if err != nil {
		return nil, fmt.Errorf("kits: cancelled components: %w", err)
	}
	return store.Row{"order_id": l.order, "item_id": item, "uom": unit,
		"qty_ordered": ordered, "qty_cancelled": cancelled,
		"min_expiry": db.Null(l.minExpiry), "kit_line_id": l.id, "kit_qty": each}, nil
}

// lastLineNo is the highest number of a line, as the catalog has it.
const lastLineNo = 100_000

// numberLines gives new lines of orders the numbers after the last.
func numberLines(tx *store.Tx, orders []string, rows []record.OrderLine) error {
	last := map[string]int64{}
	err := tx.Query(`
		SELECT order_id, MAX(line_no)
		FROM order_lines
		WHERE tenant_id = $1
			AND order_id IN {ids $2}
		GROUP BY order_id`, []any{tx.TenantID, query.List(orders)}, func(r *db.Row) error {
		last[r.Text(0)] = r.Int(1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("kits: numbers of lines: %w", err)
	}
	for _, row := range rows {
		last[row.OrderID()]++
		row.SetLineNo(last[row.OrderID()])
		if last[row.OrderID()] > lastLineNo {
			return fault.New(fault.Conflict, codeOrder,
				"lines of components come after the last line, and would have line numbers above %d", lastLineNo).
				With("", "give the last lines of the order smaller numbers").
				At("order_id", "has no numbers left for components")
		}
	}
	return nil
}
