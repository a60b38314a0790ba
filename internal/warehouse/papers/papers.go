package papers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/handling"
	"holdfast/internal/warehouse/label"
	"holdfast/internal/warehouse/packing"
)

// DeliveryNote is the paper that travels with an outbound shipment: to whom, what
// with its lots, in which packages, and who took it. A shipment that is not there
// for the caller is fault.NotFound, an inbound one fault.Conflict.
func (p *Printer) DeliveryNote(ctx context.Context, a actor.Actor, id string) (*label.Paper, error) {
	return p.printPaper(ctx, a, "shipments", id, (*reading).deliveryNote)
}

// PickList is the paper of a pick list: its lines in walking order, with room to
// tick them off.
func (p *Printer) PickList(ctx context.Context, a actor.Actor, id string) (*label.Paper, error) {
	return p.printPaper(ctx, a, "pick_lists", id, (*reading).pickList)
}

func (p *Printer) printPaper(
	ctx context.Context,
	a actor.Actor,
	of, id string,
	make func(*reading, store.Row) (*label.Paper, error),
) (out *label.Paper, err error) {
	err = p.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		k := &reading{s: p.store, tx: tx, a: a}
		rows, err := k.readVisible(of, "id", []string{id})
		if err != nil {
			return err
		}
		if err := k.readTenant(); err != nil {
			return err
		}
		out, err = make(k, rows[0])
		return err
	})
	return out, err
}

// sent is goods of an order line in a shipment: one lot or piece of them.
type sent struct {
	lot, serial string
	quantity    decimal.Dec
}

func (k *reading) deliveryNote(sh store.Row) (*label.Paper, error) {
	if sh["direction"] != "outbound" {
		return nil, fault.New(fault.Conflict, warehouse.CodeOrder,
			"shipment %s is inbound: its delivery note is the sender's", sh.Text("shipment_no")).At("id", "is inbound")
	}
	id := sh.Text("id")
	orders, err := k.readRows("orders", k.tx.DB().InUUID("id", 2)+" ORDER BY order_no",
		query.List(store.Texts(sh["order_ids"])))
	if err != nil {
		return nil, err
	}
	first := store.Row{}
	if len(orders) > 0 {
		first = orders[0]
	}
	from, err := k.senderAddresses(byIDs(orders))
	if err != nil {
		return nil, err
	}
	goods, err := k.goodsOf(sh, byIDs(orders))
	if err != nil {
		return nil, err
	}
	boxes, err := k.readRows("packages", "shipment_id = $2 ORDER BY package_no, id", id)
	if err != nil {
		return nil, err
	}
	carriers, err := k.readReferenced("carriers", "carrier_id", []store.Row{sh})
	if err != nil {
		return nil, err
	}
	d := &label.Paper{Size: k.size, Title: "Delivery note", No: sh.Text("shipment_no"), Code: true,
		Addresses: []label.Line{{Name: "From", Value: from(first)}, {Name: "To", Value: receiverAddress(first, sh)}},
		Tables:    []label.Table{goods}, Signs: []string{"Received by, in block letters", "Date", "Signature"}}
	d.Facts = appendLines(nil, "Date", k.localDay(sh.Text("dispatched_at"), sh.Text("planned_at")), "Orders",
		joinColumn(orders, "order_no"),
		"Your references", joinColumn(orders, "external_ref"), "Carrier", carrierOf(sh, carriers),
		"Tracking", sh.Text("tracking_no"))
	if len(boxes) > 0 {
		t := label.Table{Title: fmt.Sprintf("Packages: %d", len(boxes)),
			Columns: []label.Column{{Title: "Package", Share: 3}, {Title: "SSCC", Share: 4},
				{Title: "License plate", Share: 4}, {Title: "Weight, kg", Share: 2, Right: true}}}
		for _, b := range boxes {
			t.Rows = append(t.Rows, []string{b.Text("package_no"), b.Text("sscc"), b.Text("lpn"),
				formatWithUnit(b, "weight_kg", "")})
		}
		d.Tables = append(d.Tables, t)
	}
	return d, nil
}

func wholeNumber(r store.Row, name string) int64 {
	n, _ := r[name].(int64)
	return n
}

// lotsByLine are the lots and pieces of a shipment's lines, by line: what its packages
// hold, and before it leaves what is picked and in nobody's package. What is not
// picked yet has no lot.
func (k *reading) lotsByLine(sh store.Row, lines []store.Row) (map[string][]sent, error) {
	byLine := map[string][]sent{}
	tx := k.s.In(k.tx, k.a)
	contents, err := packing.ReadContentsOfShipments(tx, []string{sh.Text("id")})
	if err != nil {
		return nil, err
	}
	loose := &packing.Loose{}
	if sh["dispatched_at"] == nil {
		if loose, err = packing.ReadLoose(tx, store.TextColumn(lines, "order_line_id")); err != nil {
			return nil, err
		}
	}
	for _, c := range contents {
		byLine[c.OrderLineID] = append(byLine[c.OrderLineID], sent{c.LotID, c.Serial, c.Quantity})
	}
	out := map[string][]sent{}
	for _, l := range lines {
		open := l.Decimal("quantity")
		for _, s := range byLine[l.Text("order_line_id")] {
			s.quantity = min(s.quantity, open)
			if open -= s.quantity; s.quantity > 0 {
				out[l.Text("id")] = mergeSameLot(out[l.Text("id")], s)
			}
		}
		for _, g := range loose.Take(l.Text("order_line_id"), nil, open) {
			open -= g.Quantity
			out[l.Text("id")] = mergeSameLot(out[l.Text("id")], sent{g.LotID, g.Serial, g.Quantity})
		}
		if open > 0 {
			out[l.Text("id")] = append(out[l.Text("id")], sent{quantity: open})
		}
	}
	return out, nil
}

// mergeSameLot adds goods to those of the same lot that came from another place.
func mergeSameLot(list []sent, s sent) []sent {
	for i := range list {
		if list[i].lot == s.lot && list[i].serial == s.serial {
			list[i].quantity += s.quantity
			return list
		}
	}
	return append(list, s)
}

// carrierOf is a shipment's carrier, by name where it has a record, with the
// service asked of it.
func carrierOf(sh store.Row, carriers map[string]store.Row) string {
	name := carriers[sh.Text("carrier_id")].Text("name")
	if name == "" {
		name = sh.Text("carrier")
	}
	return joinWords(name, sh.Text("service"))
}

func joinColumn(rows []store.Row, name string) string {
	return strings.Join(slices.DeleteFunc(store.TextColumn(rows, name), isBlank), ", ")
}

func (k *reading) pickList(l store.Row) (*label.Paper, error) {
	lines, err := k.readRows("pick_lines", "pick_list_id = $2 ORDER BY seq, id", l["id"])
	if err != nil {
		return nil, err
	}
	known := map[string]map[string]store.Row{}
	for _, of := range [...][2]string{{"zones", "zone_id"}, {"items", "item_id"}, {"lots", "lot_id"},
		{"order_lines", "order_line_id"}} {
		if known[of[0]], err = k.readReferenced(of[0], of[1], lines); err != nil {
			return nil, err
		}
	}
	var ordered []store.Row
	for _, ol := range known["order_lines"] {
		ordered = append(ordered, ol)
	}
	orders, err := k.readReferenced("orders", "order_id", ordered)
	if err != nil {
		return nil, err
	}
	units, err := handling.ReadUnits(k.s.In(k.tx, k.a), slices.Sorted(maps.Keys(known["items"])))
	if err != nil {
		return nil, err
	}
	t := label.Table{Title: "Lines, in walking order", Columns: []label.Column{{Title: "No.", Share: 2, Right: true},
		{Title: "Place", Share: 5},
		{Title: "SKU", Share: 5}, {Title: "Name", Share: 8}, {Title: "Lot, serial number", Share: 5},
		{Title: "Quantity", Share: 4, Right: true},
		{Title: "Unit", Share: 2}, {Title: "To carry", Share: 6}, {Title: "Order", Share: 7}, {Title: "Picked", Share: 3}}}
	for _, r := range lines {
		id, quantity, done := r.Text("item_id"), r.Decimal("qty"), ""
		it := known["items"][id]
		switch r["status"] {
		case "picked":
			done = r.Decimal("qty_picked").String()
		case "short", "cancelled":
			done = r.Text("status")
		}
		t.Rows = append(
			t.Rows,
			[]string{fmt.Sprint(wholeNumber(r, "seq")), known["zones"][r.Text("zone_id")].Text("code"), it.Text("sku"),
				it.Text("name"),
				joinWords(known["lots"][r.Text("lot_id")].Text("lot_no"), r.Text("serial")), quantity.String(),
				it.Text("base_uom"), units.FormatSplit(id, quantity),
				orders[known["order_lines"][r.Text("order_line_id")].Text("order_id")].Text("order_no"), done},
		)
	}
	d := &label.Paper{Size: k.size, Title: "Pick list", No: l.Text("pick_no"), Tables: []label.Table{t},
		Signs: []string{"Picked by", "Date and time"}}
	d.Facts = appendLines(nil, "Status", titleCase(l.Text("status")), "Wave", l.Text("wave_no"), "Released",
		k.localDay(l.Text("released_at")), "Priority", fmt.Sprint(wholeNumber(l, "priority")))
	return d, nil
}
