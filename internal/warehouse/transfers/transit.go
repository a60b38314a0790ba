package transfers

import (
	"errors"
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Transit is where the goods of some order lines go when they leave. It is nil where none
// of the lines is of a transfer; LeadInto then changes no movement.
type Transit struct {
	zone  string
	lines []string // of transfers
}

// linesSQL selects those of some order lines that are of transfers. $1 tenant, $2 ids.
const linesSQL = `
	SELECT line.id
	FROM order_lines AS line
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE line.tenant_id = $1
		AND line.id IN {ids $2}
		AND orders.type = 'transfer'`

// OpenTransit finds the zone for goods of those order lines that are of transfers, and
// makes the tenant's first one. It is nil where none is.
func OpenTransit(tx *store.Tx, lines []string) (*Transit, error) {
	t := &Transit{}
	err := tx.Query(linesSQL, []any{tx.TenantID, query.List(lines)}, func(r *db.Row) error {
		t.lines = append(t.lines, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("transfers: lines: %w", err)
	}
	if len(t.lines) == 0 {
		return nil, nil
	}
	t.zone, err = findZone(tx)
	return t, err
}

// LeadInto turns the shipping of goods of an order line into their way into transit.
func (t *Transit) LeadInto(move record.StockMovement, line string) {
	if t != nil && slices.Contains(t.lines, line) {
		move.SetType("transfer")
		move.SetToZoneID(t.zone)
		move.SetOrderLineID(line)
	}
}

// findZone finds the tenant's transit zone, or makes one.
func findZone(tx *store.Tx) (string, error) {
	found, err := listZones(tx)
	if err != nil || len(found) > 0 {
		return firstID(found), err
	}
	// Of two shipments that leave at once, the second finds the zone of the first.
	if _, err := record.List[record.Site](tx, "archived_at IS NULL ORDER BY id"+tx.DB().ForUpdate()); err != nil {
		return "", err
	}
	if found, err = listZones(tx); err != nil || len(found) > 0 {
		return firstID(found), err
	}
	taken, err := record.List[record.Zone](tx, "code LIKE 'TRANSIT%' ORDER BY id")
	if err != nil {
		return "", err
	}
	code, codes := "TRANSIT", record.Texts(taken, record.Zone.Code)
	for n := 2; slices.Contains(codes, code); n++ {
		code = fmt.Sprintf("TRANSIT-%d", n)
	}
	made, err := record.Insert(tx, []record.Zone{{"code": code, "name": "In transit", "kind": ZoneKind}})
	return firstID(made), err
}

// listZones lists the tenant's transit zones that are in use.
func listZones(tx *store.Tx) ([]record.Zone, error) {
	return record.List[record.Zone](tx, "kind = $2 AND status = 'active' ORDER BY code", ZoneKind)
}

// firstID is the id of the first of some rows, "" for none.
func firstID(rows []record.Zone) string {
	if len(rows) == 0 {
		return ""
	}
	return rows[0].ID()
}

// Goods are goods in transit.
type Goods []*piece

// piece is goods in transit of one line, alike in all that they left with.
type piece struct {
	line, item, lot, serial, owner, plate, zone string
	quantity                                    decimal.Dec
}

// goodsSQL selects what of order lines is in transit: what went there, which took a promise
// along, less what came out. $1 tenant, $2 ids of items, $3 ids of lines.
const goodsSQL = `
	SELECT leg.order_line_id, leg.item_id, leg.lot_id, leg.serial, leg.owner_id, leg.lpn, leg.zone_id,
		CAST(SUM(leg.quantity) AS bigint)
	FROM (
		SELECT movement.order_line_id, movement.item_id, movement.lot_id, movement.serial, movement.owner_id, movement.lpn,
			CASE WHEN movement.reservation_id IS NULL THEN movement.from_zone_id ELSE movement.to_zone_id END AS zone_id,
			CASE WHEN movement.reservation_id IS NULL THEN -movement.quantity ELSE movement.quantity END AS quantity
		FROM stock_movements AS movement
		WHERE movement.tenant_id = $1
			AND movement.item_id IN {ids $2}
			AND movement.order_line_id IN {ids $3}
	) AS leg
	GROUP BY leg.order_line_id, leg.item_id, leg.lot_id, leg.serial, leg.owner_id, leg.lpn, leg.zone_id
	HAVING SUM(leg.quantity) > 0
	ORDER BY leg.order_line_id, leg.lot_id, leg.serial, leg.lpn, leg.zone_id`

// ReadGoods reads what of order lines is in transit. The caller holds their orders.
func ReadGoods(tx *store.Tx, lines []record.OrderLine) (goods Goods, err error) {
	shipped := slices.DeleteFunc(slices.Clone(lines), func(l record.OrderLine) bool { return l.QtyShipped() == 0 })
	if len(shipped) == 0 {
		return nil, nil
	}
	items, ids := query.List(record.Texts(shipped, record.OrderLine.ItemID)), query.List(record.IDs(shipped))
	err = tx.Query(goodsSQL, []any{tx.TenantID, items, ids}, func(r *db.Row) error {
		goods = append(goods, &piece{line: r.Text(0), item: r.Text(1), lot: r.Text(2), serial: r.Text(3),
			owner: r.Text(4), plate: r.Text(5), zone: r.Text(6), quantity: r.Dec(7)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("transfers: goods in transit: %w", err)
	}
	return goods, nil
}

// Arrival is what came in under a line of a transfer.
type Arrival struct {
	LineID, LotID, LPN string
	Serials            []string
	Quantity           decimal.Dec // base units
	At                 string      // its place in a request, as "lines[2]."
}

// Take takes what came in out of transit and returns its movements, as far as they are
// known here. It refuses other goods than those that left.
func (g Goods) Take(a Arrival) (moves []record.StockMovement, err error) {
	if len(a.Serials) == 0 {
		return g.takeAlike(a, "", a.Quantity)
	}
	for _, serial := range a.Serials {
		one, err := g.takeAlike(a, serial, decimal.One)
		if err != nil {
			return nil, err
		}
		moves = append(moves, one...)
	}
	return moves, nil
}

// takeAlike takes goods with a serial number, "" for those without one.
func (g Goods) takeAlike(a Arrival, serial string, rest decimal.Dec) (moves []record.StockMovement, err error) {
	wanted := rest
	for _, p := range g {
		isSame := p.line == a.LineID && p.lot == a.LotID && p.serial == serial && (a.LPN == "" || a.LPN == p.plate)
		if q := min(rest, p.quantity); isSame && q > 0 {
			p.quantity -= q
			rest -= q
			moves = append(moves, p.leaveTransit("transfer", q))
		}
	}
	if rest == 0 {
		return moves, nil
	}
	field := "quantity"
	switch {
	case serial != "":
		field = "serials"
	case a.LPN != "":
		field = "lpn"
	case a.LotID != "":
		field = "lot_no"
	}
	bad := fault.New(fault.Conflict, codeOver,
		"of %s that came in, %s like it are in transit for the order line", wanted, wanted-rest)
	if serial != "" {
		bad = fault.New(fault.Conflict, codeOver,
			"the piece with serial number %s is not in transit for the order line", serial)
	}
	const hint = "receive what left, under its order line, lot and plate; take other goods in without an order"
	return nil, bad.With("", hint).
		At(a.At+field, "is not in transit")
}

// leaveTransit is the movement by which a quantity of goods leaves transit.
func (p *piece) leaveTransit(kind string, quantity decimal.Dec) record.StockMovement {
	return record.StockMovement{"type": kind, "item_id": p.item, "lot_id": db.Null(p.lot), "serial": db.Null(p.serial),
		"owner_id": db.Null(p.owner), "lpn": db.Null(p.plate), "from_zone_id": p.zone, "quantity": quantity,
		"order_line_id": p.line}
}

// lossReason is the reason of movements that write off what never arrived.
const lossReason = "lost_in_transit"

// WriteOffLost writes off what of an order is in transit, as lost, for a reason. The caller
// holds the order.
func WriteOffLost(tx *store.Tx, order record.Order, reason string) error {
	if !IsOf(order) {
		return nil
	}
	lines, err := record.List[record.OrderLine](tx, "order_id = $2 ORDER BY line_no", order.ID())
	if err != nil {
		return err
	}
	goods, err := ReadGoods(tx, lines)
	if err != nil || len(goods) == 0 {
		return err
	}
	if reason == "" {
		return fault.New(fault.Invalid, "23502",
			"reason: goods of transfer %s are in transit and would be written off as lost: say why", order.OrderNo()).
			At("reason", "is required")
	}
	var moves []record.StockMovement
	for _, p := range goods {
		m := p.leaveTransit("scrap", p.quantity)
		m.SetReasonCode(lossReason)
		m.SetRefType("orders")
		m.SetRefID(order.ID())
		moves = append(moves, m)
	}
	_, err = record.Insert(tx, moves)
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Code == codeApproval {
		return f.With("", "receive all of it, and write off what did not come with adjust_stock, "+
			"which waits for a second person")
	}
	return err
}
