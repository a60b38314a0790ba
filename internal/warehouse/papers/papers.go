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
	"holdfast/internal/record"
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
	return printPaper(ctx, p.store, a, id, (*reading).deliveryNote)
}

// PickList is the paper of a pick list: its lines in walking order, with room to
// tick them off.
func (p *Printer) PickList(ctx context.Context, a actor.Actor, id string) (*label.Paper, error) {
	return printPaper(ctx, p.store, a, id, (*reading).pickList)
}

func printPaper[R record.Kind](
	ctx context.Context,
	s *store.Store,
	a actor.Actor,
	id string,
	make func(*reading, R) (*label.Paper, error),
) (out *label.Paper, err error) {
	err = s.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		k := &reading{s: s, tx: tx, a: a}
		rows, err := readVisible[R](k, "id", []string{id})
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

func (k *reading) deliveryNote(sh record.Shipment) (*label.Paper, error) {
	if sh.Direction() != "outbound" {
		return nil, fault.New(fault.Conflict, warehouse.CodeOrder,
			"shipment %s is inbound: its delivery note is the sender's", sh.ShipmentNo()).At("id", "is inbound")
	}
	id := sh.ID()
	orders, err := readRows[record.Order](k, k.tx.DB().InUUID("id", 2)+" ORDER BY order_no",
		query.List(store.Texts(sh.OrderIDsOrNull())))
	if err != nil {
		return nil, err
	}
	first := record.Order{}
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
	boxes, err := readRows[record.Package](k, "shipment_id = $2 ORDER BY package_no, id", id)
	if err != nil {
		return nil, err
	}
	carriers, err := readReferenced[record.Carrier](k, record.Shipment.CarrierID, []record.Shipment{sh})
	if err != nil {
		return nil, err
	}
	d := &label.Paper{Size: k.size, Title: "Delivery note", No: sh.ShipmentNo(), Code: true,
		Addresses: []label.Line{{Name: "From", Value: from(first)}, {Name: "To", Value: receiverAddress(first, sh)}},
		Tables:    []label.Table{goods}, Signs: []string{"Received by, in block letters", "Date", "Signature"}}
	d.Facts = appendLines(nil, "Date", k.localDay(sh.DispatchedAt(), sh.PlannedAt()), "Orders",
		joinColumn(orders, record.Order.OrderNo),
		"Your references", joinColumn(orders, record.Order.ExternalRef), "Carrier", carrierOf(sh, carriers),
		"Tracking", sh.TrackingNo())
	if len(boxes) > 0 {
		t := label.Table{Title: fmt.Sprintf("Packages: %d", len(boxes)),
			Columns: []label.Column{{Title: "Package", Share: 3}, {Title: "SSCC", Share: 4},
				{Title: "License plate", Share: 4}, {Title: "Weight, kg", Share: 2, Right: true}}}
		for _, b := range boxes {
			t.Rows = append(t.Rows, []string{b.PackageNo(), b.SSCC(), b.LPN(), formatWeight(b, "")})
		}
		d.Tables = append(d.Tables, t)
	}
	return d, nil
}

// lotsByLine are the lots and pieces of a shipment's lines, by line: what its packages
// hold, and before it leaves what is picked and in nobody's package. What is not
// picked yet has no lot.
func (k *reading) lotsByLine(sh record.Shipment, lines []record.ShipmentLine) (map[string][]sent, error) {
	byLine := map[string][]sent{}
	tx := k.s.In(k.tx, k.a)
	contents, err := packing.ReadContentsOfShipments(tx, []string{sh.ID()})
	if err != nil {
		return nil, err
	}
	loose := &packing.Loose{}
	if !sh.HasDispatchedAt() {
		if loose, err = packing.ReadLoose(tx, record.Texts(lines, record.ShipmentLine.OrderLineID)); err != nil {
			return nil, err
		}
	}
	for _, c := range contents {
		byLine[c.OrderLineID] = append(byLine[c.OrderLineID], sent{c.LotID, c.Serial, c.Quantity})
	}
	out := map[string][]sent{}
	for _, l := range lines {
		open := l.Quantity()
		for _, s := range byLine[l.OrderLineID()] {
			s.quantity = min(s.quantity, open)
			if open -= s.quantity; s.quantity > 0 {
				out[l.ID()] = mergeSameLot(out[l.ID()], s)
			}
		}
		for _, g := range loose.Take(l.OrderLineID(), nil, open) {
			open -= g.Quantity
			out[l.ID()] = mergeSameLot(out[l.ID()], sent{g.LotID, g.Serial, g.Quantity})
		}
		if open > 0 {
			out[l.ID()] = append(out[l.ID()], sent{quantity: open})
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
func carrierOf(sh record.Shipment, carriers map[string]record.Carrier) string {
	name := carriers[sh.CarrierID()].Name()
	if name == "" {
		name = sh.Carrier()
	}
	return joinWords(name, sh.Service())
}

func joinColumn(orders []record.Order, column func(record.Order) string) string {
	return strings.Join(slices.DeleteFunc(record.Texts(orders, column), isBlank), ", ")
}

func (k *reading) pickList(l record.PickList) (*label.Paper, error) {
	lines, err := readRows[record.PickLine](k, "pick_list_id = $2 ORDER BY seq, id", l.IDOrNull())
	if err != nil {
		return nil, err
	}
	zones, err := readReferenced[record.Zone](k, record.PickLine.ZoneID, lines)
	if err != nil {
		return nil, err
	}
	items, err := readReferenced[record.Item](k, record.PickLine.ItemID, lines)
	if err != nil {
		return nil, err
	}
	lots, err := readReferenced[record.Lot](k, record.PickLine.LotID, lines)
	if err != nil {
		return nil, err
	}
	ordered, err := readReferenced[record.OrderLine](k, record.PickLine.OrderLineID, lines)
	if err != nil {
		return nil, err
	}
	orders, err := readReferenced[record.Order](k, record.OrderLine.OrderID, slices.Collect(maps.Values(ordered)))
	if err != nil {
		return nil, err
	}
	units, err := handling.ReadUnits(k.s.In(k.tx, k.a), slices.Sorted(maps.Keys(items)))
	if err != nil {
		return nil, err
	}
	t := label.Table{Title: "Lines, in walking order", Columns: []label.Column{{Title: "No.", Share: 2, Right: true},
		{Title: "Place", Share: 5},
		{Title: "SKU", Share: 5}, {Title: "Name", Share: 8}, {Title: "Lot, serial number", Share: 5},
		{Title: "Quantity", Share: 4, Right: true},
		{Title: "Unit", Share: 2}, {Title: "To carry", Share: 6}, {Title: "Order", Share: 7}, {Title: "Picked", Share: 3}}}
	for _, r := range lines {
		id, quantity, done := r.ItemID(), r.Qty(), ""
		it := items[id]
		switch r.Status() {
		case "picked":
			done = r.QtyPicked().String()
		case "short", "cancelled":
			done = r.Status()
		}
		t.Rows = append(
			t.Rows,
			[]string{fmt.Sprint(r.Seq()), zones[r.ZoneID()].Code(), it.SKU(), it.Name(),
				joinWords(lots[r.LotID()].LotNo(), r.Serial()), quantity.String(),
				it.BaseUOM(), units.FormatSplit(id, quantity),
				orders[ordered[r.OrderLineID()].OrderID()].OrderNo(), done},
		)
	}
	d := &label.Paper{Size: k.size, Title: "Pick list", No: l.PickNo(), Tables: []label.Table{t},
		Signs: []string{"Picked by", "Date and time"}}
	d.Facts = appendLines(nil, "Status", titleCase(l.Status()), "Wave", l.WaveNo(), "Released",
		k.localDay(l.ReleasedAt()), "Priority", fmt.Sprint(l.Priority()))
	return d, nil
}
