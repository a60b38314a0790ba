package papers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/catchweight"
	"holdfast/internal/warehouse/label"
)

// load is what a shipment carries, with what its delivery note says of it.
type load struct {
	orders  map[string]store.Row
	lines   []store.Row          // of the shipment
	ordered map[string]store.Row // order lines, those of kits too
	items   map[string]store.Row
	parts   map[string][]sent // by line of the shipment
	lots    map[string]store.Row
	sent    store.Row // the shipment
	picked  *catchweight.Picked
	whole   map[string]decimal.Dec // whole kits that the shipment has, by the kit's order line
}

// goodsOf is the table of what a shipment carries: a row for each lot or piece of a line, and
// above the components of a kit one that names it. Goods that were weighed say what they weigh.
func (k *reading) goodsOf(sh store.Row, orders map[string]store.Row) (label.Table, error) {
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
		of := g.ordered[l.Text("order_line_id")]
		if id := of.Text("kit_line_id"); id != kit {
			if kit = id; kit != "" {
				t.Rows = append(t.Rows, g.kitRow(l, kit, len(t.Columns)))
			}
		}
		for _, s := range g.parts[l.Text("id")] {
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
func (k *reading) readLoad(sh store.Row, orders map[string]store.Row) (*load, error) {
	g := &load{sent: sh, orders: orders}
	var err error
	if g.lines, err = k.readRows("shipment_lines", "shipment_id = $2 ORDER BY id", sh["id"]); err != nil {
		return nil, err
	}
	if g.ordered, err = k.readReferenced("order_lines", "order_line_id", g.lines); err != nil {
		return nil, err
	}
	if err := k.readKits(g); err != nil {
		return nil, err
	}
	if g.items, err = k.readReferenced("items", "item_id", rowsOf(g.ordered)); err != nil {
		return nil, err
	}
	if g.parts, err = k.lotsByLine(sh, g.lines); err != nil {
		return nil, err
	}
	var named []store.Row
	for _, list := range g.parts {
		for _, s := range list {
			named = append(named, store.Row{"lot_id": db.Null(s.lot)})
		}
	}
	if g.lots, err = k.readReferenced("lots", "lot_id", named); err != nil {
		return nil, err
	}
	g.picked, err = catchweight.ReadPicked(k.s.In(k.tx, k.a), store.TextColumn(g.lines, "order_line_id"))
	slices.SortStableFunc(g.lines, g.compareLines)
	return g, err
}

// readKits reads the order lines of the kits that the shipment has components of, and how many
// of each it has whole: none where another shipment has one of the components.
func (k *reading) readKits(g *load) error {
	kits, err := k.readReferenced("order_lines", "kit_line_id", rowsOf(g.ordered))
	if err != nil || len(kits) == 0 {
		return err
	}
	components, err := k.readRows("order_lines", k.tx.DB().InUUID("kit_line_id", 2)+" ORDER BY id",
		query.List(store.TextColumn(rowsOf(kits), "id")))
	if err != nil {
		return err
	}
	carried := map[string]decimal.Dec{}
	for _, l := range g.lines {
		carried[l.Text("order_line_id")] += l.Decimal("quantity")
	}
	g.whole = map[string]decimal.Dec{}
	for _, c := range components {
		id, each := c.Text("kit_line_id"), c.Decimal("kit_qty")
		if each <= 0 {
			continue
		}
		whole := decimal.FromInt(int64(carried[c.Text("id")] / each))
		if least, ok := g.whole[id]; !ok || whole < least {
			g.whole[id] = whole
		}
	}
	for id, line := range kits {
		g.ordered[id] = line
	}
	return nil
}

func rowsOf(byID map[string]store.Row) []store.Row {
	rows := make([]store.Row, 0, len(byID))
	for _, r := range byID {
		rows = append(rows, r)
	}
	return rows
}

// compareLines orders lines by their orders, and in them by line; the components of a kit stand
// where its own line would.
func (g *load) compareLines(a, b store.Row) int {
	first, second := g.ordered[a.Text("order_line_id")], g.ordered[b.Text("order_line_id")]
	return cmp.Or(
		strings.Compare(g.orderNo(a), g.orderNo(b)),
		cmp.Compare(g.placeOf(first), g.placeOf(second)),
		cmp.Compare(wholeNumber(first, "line_no"), wholeNumber(second, "line_no")),
	)
}

// placeOf is the number of the line of an order that a person gave: a component's is that of its kit.
func (g *load) placeOf(line store.Row) int64 {
	if kit := g.ordered[line.Text("kit_line_id")]; kit != nil {
		return wholeNumber(kit, "line_no")
	}
	return wholeNumber(line, "line_no")
}

func (g *load) orderNo(line store.Row) string {
	return g.orders[line.Text("order_id")].Text("order_no")
}

// kitRow names the kit that the next rows are components of, and how many of it are whole.
func (g *load) kitRow(line store.Row, kit string, columns int) []string {
	of := g.ordered[kit]
	item, quantity := g.items[of.Text("item_id")], ""
	if whole := g.whole[kit]; whole > 0 {
		quantity = whole.String()
	}
	row := []string{g.orderNo(line), fmt.Sprint(wholeNumber(of, "line_no")), item.Text("sku"), item.Text("name"), "", "",
		quantity, item.Text("base_uom")}
	return append(row, make([]string, columns-len(row))...)
}

// goodsRow is the row of one lot or piece of a line.
func (g *load) goodsRow(line store.Row, s sent) ([]string, error) {
	of, item, lot := g.ordered[line.Text("order_line_id")], g.items[line.Text("item_id")], g.lots[s.lot]
	number, name := fmt.Sprint(wholeNumber(of, "line_no")), item.Text("name")
	if of.Text("kit_line_id") != "" {
		number, name = "", "– "+name
	}
	row := []string{g.orderNo(line), number, item.Text("sku"), name, joinWords(lot.Text("lot_no"), s.serial),
		lot.Text("expires_on"), s.quantity.String(), item.Text("base_uom")}
	if g.picked.IsEmpty() {
		return row, nil
	}
	weight, err := g.weighGoods(line.Text("order_line_id"), s)
	if err != nil || weight == 0 {
		return append(row, ""), err
	}
	return append(row, weight.String()), nil
}

// weighGoods is what goods of a line weigh in kg: what left, or their share of what waits.
func (g *load) weighGoods(orderLine string, s sent) (decimal.Dec, error) {
	if g.sent["dispatched_at"] != nil {
		return g.picked.WeighDeparted(g.sent.Text("id"), orderLine, s.lot, s.serial), nil
	}
	return g.picked.TakeWeight(orderLine, s.lot, s.serial, s.quantity)
}
