package papers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/warehouse/catchweight"
	"holdfast/internal/warehouse/label"
)

// load is what a shipment carries, with what its delivery note says of it.
type load struct {
	orders  map[string]record.Order
	lines   []record.ShipmentLine       // of the shipment
	ordered map[string]record.OrderLine // order lines, those of kits too
	items   map[string]record.Item
	parts   map[string][]sent // by line of the shipment
	lots    map[string]record.Lot
	sent    record.Shipment // the shipment
	picked  *catchweight.Picked
	whole   map[string]decimal.Dec // whole kits that the shipment has, by the kit's order line
}

// goodsOf is the table of what a shipment carries: a row for each lot or piece of a line, and
// above the components of a kit one that names it. Goods that were weighed say what they weigh.
func (k *reading) goodsOf(sh record.Shipment, orders map[string]record.Order) (label.Table, error) {
	g, err := k.readLoad(sh, orders)
	if err != nil {
		return label.Table{}, err
	}
	t := label.Table{Title: "Goods", Columns: []label.Column{{Title: "Order", Share: 6},
		{Title: "Line", Share: 2, Right: true}, {Title: "SKU", Share: 5},
		{Title: "Name", Share: 9}, {Title: "Lot, serial number", Share: 6}, {Title: "Expires", Share: 4},
		{Title: "Quantity", Share: 3, Right: true},
		{Title: "Unit", Share: 2}}}
	if !g.picked.IsEmpty() {
		t.Columns = append(t.Columns, label.Column{Title: "Net kg", Share: 3, Right: true})
	}

	kit := ""
	for _, l := range g.lines {
		of := g.ordered[l.OrderLineID()]
		if id := of.KitLineID(); id != kit {
			if kit = id; kit != "" {
				t.Rows = append(t.Rows, g.kitRow(l, kit, len(t.Columns)))
			}
		}
		for _, s := range g.parts[l.ID()] {
			row, err := g.goodsRow(l, s)
			if err != nil {
				return t, err
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t, nil
}

// readLoad reads what a shipment carries, in the order of its delivery note.
func (k *reading) readLoad(sh record.Shipment, orders map[string]record.Order) (*load, error) {
	g := &load{sent: sh, orders: orders}
	var err error
	if g.lines, err = readRows[record.ShipmentLine](k, "shipment_id = $2 ORDER BY id", sh.IDOrNull()); err != nil {
		return nil, err
	}
	if g.ordered, err = readReferenced[record.OrderLine](k, record.ShipmentLine.OrderLineID, g.lines); err != nil {
		return nil, err
	}
	if err := k.readKits(g); err != nil {
		return nil, err
	}
	if g.items, err = readReferenced[record.Item](k, record.OrderLine.ItemID, rowsOf(g.ordered)); err != nil {
		return nil, err
	}
	if g.parts, err = k.lotsByLine(sh, g.lines); err != nil {
		return nil, err
	}
	var named []record.Lot
	for _, list := range g.parts {
		for _, s := range list {
			named = append(named, record.Lot{"id": db.Null(s.lot)})
		}
	}
	if g.lots, err = readReferenced[record.Lot](k, record.Lot.ID, named); err != nil {
		return nil, err
	}
	g.picked, err = catchweight.ReadPicked(k.s.In(k.tx, k.a), record.Texts(g.lines, record.ShipmentLine.OrderLineID))
	slices.SortStableFunc(g.lines, g.compareLines)
	return g, err
}

// readKits reads the order lines of the kits that the shipment has components of, and how many
// of each it has whole: none where another shipment has one of the components.
func (k *reading) readKits(g *load) error {
	kits, err := readReferenced[record.OrderLine](k, record.OrderLine.KitLineID, rowsOf(g.ordered))
	if err != nil || len(kits) == 0 {
		return err
	}
	components, err := readRows[record.OrderLine](k, k.tx.DB().InUUID("kit_line_id", 2)+" ORDER BY id",
		query.List(record.IDs(rowsOf(kits))))
	if err != nil {
		return err
	}
	carried := map[string]decimal.Dec{}
	for _, l := range g.lines {
		carried[l.OrderLineID()] += l.Quantity()
	}
	g.whole = map[string]decimal.Dec{}
	for _, c := range components {
		id, each := c.KitLineID(), c.KitQty()
		if each <= 0 {
			continue
		}
		whole := decimal.FromInt(int64(carried[c.ID()] / each))
		if least, ok := g.whole[id]; !ok || whole < least {
			g.whole[id] = whole
		}
	}
	for id, line := range kits {
		g.ordered[id] = line
	}
	return nil
}

func rowsOf(byID map[string]record.OrderLine) []record.OrderLine {
	rows := make([]record.OrderLine, 0, len(byID))
	for _, r := range byID {
		rows = append(rows, r)
	}
	return rows
}

// compareLines orders lines by their orders, and in them by line; the components of a kit stand
// where its own line would.
func (g *load) compareLines(a, b record.ShipmentLine) int {
	first, second := g.ordered[a.OrderLineID()], g.ordered[b.OrderLineID()]
	return cmp.Or(
		strings.Compare(g.orderNo(a), g.orderNo(b)),
		cmp.Compare(g.placeOf(first), g.placeOf(second)),
		cmp.Compare(first.LineNo(), second.LineNo()),
	)
}

// placeOf is the number of the line of an order that a person gave: a component's is that of its kit.
func (g *load) placeOf(line record.OrderLine) int64 {
	if kit := g.ordered[line.KitLineID()]; kit != nil {
		return kit.LineNo()
	}
	return line.LineNo()
}

func (g *load) orderNo(line record.ShipmentLine) string {
	return g.orders[line.OrderID()].OrderNo()
}

// kitRow names the kit that the next rows are components of, and how many of it are whole.
func (g *load) kitRow(line record.ShipmentLine, kit string, columns int) []string {
	of := g.ordered[kit]
	item, quantity := g.items[of.ItemID()], ""
	if whole := g.whole[kit]; whole > 0 {
		quantity = whole.String()
	}
	row := []string{g.orderNo(line), fmt.Sprint(of.LineNo()), item.SKU(), item.Name(), "", "",
		quantity, item.BaseUOM()}
	return append(row, make([]string, columns-len(row))...)
}

// goodsRow is the row of one lot or piece of a line.
func (g *load) goodsRow(line record.ShipmentLine, s sent) ([]string, error) {
	of, item, lot := g.ordered[line.OrderLineID()], g.items[line.ItemID()], g.lots[s.lot]
	number, name := fmt.Sprint(of.LineNo()), item.Name()
	if of.KitLineID() != "" {
		number, name = "", "– "+name
	}
	row := []string{g.orderNo(line), number, item.SKU(), name, joinWords(lot.LotNo(), s.serial),
		lot.ExpiresOn(), s.quantity.String(), item.BaseUOM()}
	if g.picked.IsEmpty() {
		return row, nil
	}
	weight, err := g.weighGoods(line.OrderLineID(), s)
	if err != nil || weight == 0 {
		return append(row, ""), err
	}
	return append(row, weight.String()), nil
}

// weighGoods is what goods of a line weigh in kg: what left, or their share of what waits.
func (g *load) weighGoods(orderLine string, s sent) (decimal.Dec, error) {
	if g.sent.HasDispatchedAt() {
		return g.picked.WeighDeparted(g.sent.ID(), orderLine, s.lot, s.serial), nil
	}
	return g.picked.TakeWeight(orderLine, s.lot, s.serial, s.quantity)
}
