package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/handling"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/pricing"
	"holdfast/internal/warehouse/transfers"
)

// settleLotAndStatus settles the lot and the status of what came in.
func (r *receiving) settleLotAndStatus() error {
	if err := r.readLots(); err != nil {
		return err
	}
	for _, a := range r.goods {
		if a.StockStatus == "" {
			a.StockStatus = r.defaultStatus(a)
		}
		if a.LotNo == "" || a.base == 0 {
			continue
		}
		if err := r.lotOf(a); err != nil {
			return err
		}
	}
	return nil
}

// defaultStatus is the status of goods that nobody gave one.
func (r *receiving) defaultStatus(a *arrival) string {
	switch {
	case a.Discrepancy == "damaged":
		return "damaged"
	case a.Discrepancy == "quality", a.Discrepancy == "wrong_item", r.zone.Kind() == "quarantine":
		return "quarantine"
	case r.isReturn(a):
		return "quarantine"
	}
	return "available"
}

func (r *receiving) orderOf(a *arrival) record.Order {
	for _, o := range r.orders {
		if a.line != nil && o.ID() == a.line.OrderID() {
			return o
		}
	}
	return nil
}

// isReturn reports goods that come in under a return order.
func (r *receiving) isReturn(a *arrival) bool {
	return a.line != nil && r.orderOf(a).Type() == "return"
}

// isTransfer reports goods that come out of transit under a transfer.
func (r *receiving) isTransfer(a *arrival) bool {
	return a.line != nil && transfers.IsOf(r.orderOf(a))
}

// readLots reads the lots that are named and known.
func (r *receiving) readLots() error {
	var items, numbers set
	for _, a := range r.goods {
		if a.LotNo != "" {
			items.addID(a.item)
			numbers.addID(a.LotNo)
		}
	}
	r.lots = map[lotName]record.Lot{}
	if len(numbers.list) == 0 {
		return nil
	}
	in := r.c.DB()
	rows, err := record.List[record.Lot](r.c.Tx, in.InUUID("item_id", 2)+" AND "+in.InText("lot_no", 3),
		query.List(items.list),
		query.List(numbers.list))
	for _, l := range rows {
		r.lots[lotName{l.ItemID(), l.LotNo()}] = l
	}
	return err
}

// lotOf finds or makes the lot of a line.
func (r *receiving) lotOf(a *arrival) error {
	it := r.items[a.item]
	lot := r.lots[lotName{a.item, a.LotNo}]
	if lot == nil {
		if it.expires && a.ExpiresOn == "" {
			return refuseMovement(a.at+"expires_on", "lot "+a.LotNo+" of item "+it.sku+" is new: say when it expires")
		}
		row := record.Lot{"item_id": a.item, "lot_no": a.LotNo}
		if a.ExpiresOn != "" {
			row.SetExpiresOn(a.ExpiresOn)
		}
		made, err := record.Insert(r.c.Tx, []record.Lot{row})
		if err != nil {
			return err
		}
		lot = made[0]
		r.lots[lotName{a.item, a.LotNo}] = lot
	}
	a.lot = lot.ID()
	if a.ExpiresOn != "" && lot.HasExpiresOn() && lot.ExpiresOnOrNull() != any(a.ExpiresOn) {
		return fault.New(fault.Conflict, CodeMovement, "lot %s of item %s expires on %s, not %s", a.LotNo, it.sku,
			lot.ExpiresOn(), a.ExpiresOn).
			At(a.at+"expires_on", "the lot expires on %s", lot.ExpiresOn())
	}
	if a.StockStatus != "available" {
		return nil
	}
	why := inventory.LotBarReason(lot.Status(), lot.ExpiresOn(), r.rules.localToday(), 0)
	if why != "" {
		return fault.New(fault.Conflict, CodeLot, "lot %s of item %s %s", a.LotNo, it.sku, why).
			With("", "take it in with stock_status quarantine, hold or damaged").At(a.at+"lot_no", "%s", why)
	}
	return nil
}

// writeReceipt writes the receipt and its lines.
func (r *receiving) writeReceipt() error {
	head := record.Receipt{"zone_id": r.in.ZoneID, "received_at": query.FormatTime(r.c.Now()),
		"line_count": int64(len(r.goods))}
	if len(r.orders) > 0 {
		head.SetOrderIDOrNull(r.orders[0].ID())
	}
	if r.in.ASN != "" {
		head.SetASN(r.in.ASN)
	}
	odd := int64(0)
	for _, a := range r.goods {
		if a.Discrepancy != "" {
			odd++
		}
	}
	head.SetDiscrepancies(odd)
	made, err := record.Insert(r.c.Tx, []record.Receipt{head})
	if err != nil {
		return err
	}
	r.receipt = made[0]
	rows := make([]record.ReceiptLine, len(r.goods))
	for i, a := range r.goods {
		rows[i] = record.ReceiptLine(a.receiptLine(r.receipt.ID(), i+1))
	}
	r.rows, err = record.Insert(r.c.Tx, rows)
	return err
}

// receiptLine is the receipt's line.
func (a *arrival) receiptLine(receipt string, n int) store.Row {
	row := store.Row{
		"receipt_id":   receipt,
		"line_no":      int64(n),
		"item_id":      a.item,
		"serials":      a.serialNumbers(),
		"stock_status": a.StockStatus,
		"quantity":     a.base,
	}
	if a.line != nil {
		row["order_line_id"] = a.line.ID()
	}
	if a.UoM != "" {
		row["uom_quantity"] = a.Quantity
	}
	setGiven(row, "lot_id", a.lot, "lpn", a.LPN, "uom", a.UoM, "discrepancy", a.Discrepancy, "note", a.Note)
	return row
}

func (a *arrival) serialNumbers() []string {
	if a.Serials == nil {
		return []string{}
	}
	return a.Serials
}

// setGiven sets those of the pairs of name and text that are not empty.
func setGiven(row store.Row, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			row[pairs[i]] = pairs[i+1]
		}
	}
}

// postReceived posts the movements.
func (r *receiving) postReceived() error {
	var err error
	if r.transit, err = transfers.ReadGoods(r.c.Tx, r.lines); err != nil {
		return err
	}
	for _, a := range r.goods {
		if a.base == 0 {
			continue
		}
		if r.isTransfer(a) {
			if err := r.postOutOfTransit(a); err != nil {
				return err
			}
			continue
		}
		if len(a.Serials) == 0 {
			m := r.receiptMovement(a, a.base)
			if a.UoM != "" {
				m["uom"] = a.UoM
				m["uom_quantity"] = a.Quantity
			}
			r.moves = append(r.moves, record.StockMovement(m))
		}
		for _, s := range a.Serials {
			m := r.receiptMovement(a, decimal.One)
			m["serial"] = s
			r.moves = append(r.moves, record.StockMovement(m))
		}
	}
	if len(r.moves) == 0 {
		return nil
	}
	r.moves, err = record.Insert(r.c.Tx, r.moves)
	return err
}

// postOutOfTransit adds the movements that bring goods of a transfer out of transit, as
// they left.
func (r *receiving) postOutOfTransit(a *arrival) error {
	moves, err := r.transit.Take(transfers.Arrival{LineID: a.line.ID(), LotID: a.lot, LPN: a.LPN,
		Serials: a.Serials, Quantity: a.base, At: a.at})
	if err != nil {
		return err
	}
	for _, m := range moves {
		m.SetToZoneID(r.in.ZoneID)
		m.SetToStatus(a.StockStatus)
		m.SetRefType("receipts")
		m.SetRefID(r.receipt.ID())
		setGiven(store.Row(m), "reason_code", a.Discrepancy)
	}
	r.moves = append(r.moves, moves...)
	return nil
}

func (r *receiving) receiptMovement(a *arrival, quantity decimal.Dec) store.Row {
	m := store.Row{"type": "receipt", "item_id": a.item, "to_zone_id": r.in.ZoneID, "to_status": a.StockStatus,
		"quantity": quantity, "ref_type": "receipts", "ref_id": r.receipt.ID()}
	setGiven(m, "lot_id", a.lot, "lpn", a.LPN, "reason_code", a.Discrepancy)
	if a.Weight != nil {
		m["weight_kg"] = *a.Weight
		setGiven(m, "weight_reason", a.WeightReason)
	}
	if r.isReturn(a) {
		m["type"] = "return_in"
	} else if cost, known := r.costOf(a); known {
		m["unit_cost"] = cost
	}
	if o := r.orderOf(a); o != nil && o.HasOwnerID() {
		m["owner_id"] = o.OwnerIDOrNull()
	}
	return m
}

// costOf is what goods that are bought cost by the price of their order, where goods move
// at their average cost.
func (r *receiving) costOf(a *arrival) (cost decimal.Dec, known bool) {
	if !r.rules.average {
		return 0, false
	}
	return pricing.BaseCost(a.line, r.lineUnit(a.line))
}

// updateOrders brings the orders and their lines up to what has come in. An order
// of which all has come is completed.
func (r *receiving) updateOrders() error {
	var sets []record.OrderLine
	for _, l := range r.lines {
		base := r.claimed[l.ID()]
		if base == 0 {
			continue
		}
		q, exact := base.DivExact(r.lineUnit(l))
		if !exact {
			return refuseMovement("lines", base.String()+" base units are no whole number of the order line's unit "+
				l.UOM())
		}
		l.SetQtyReceived(l.QtyReceived() + q)
		sets = append(sets, record.OrderLine{"id": l.ID(), "qty_received": l.QtyReceived()})
	}
	if len(sets) == 0 {
		return nil
	}
	if err := r.moveOrders("confirmed", "in_progress", func(store.Row) bool { return true }); err != nil {
		return err
	}
	if err := r.c.Tx.UpdateEach("order_lines", record.Rows(sets)); err != nil {
		return err
	}
	return r.moveOrders("in_progress", "completed", r.isFullyReceived)
}

// moveOrders moves the orders that are in one state and ready for the next.
func (r *receiving) moveOrders(from, to string, ready func(store.Row) bool) error {
	var ids []string
	for _, o := range r.orders {
		ids = append(ids, o.ID())
	}
	in := r.c.DB().InUUID("id", 2)
	orders, err := record.List[record.Order](r.c.Tx, in+" ORDER BY id", query.List(ids))
	if err != nil {
		return err
	}
	ids = ids[:0]
	for _, o := range orders {
		if o.Status() == from && ready(store.Row(o)) {
			ids = append(ids, o.ID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	err = r.c.Tx.UpdateRows("orders", ids, store.Row{"status": to})
	return err
}

// isFullyReceived reports an order of which nothing is open.
func (r *receiving) isFullyReceived(o store.Row) bool {
	for _, l := range r.lines {
		if l.OrderID() == o["id"] && l.QtyReceived() < l.QtyOrdered()-l.QtyCancelled() {
			return false
		}
	}
	return true
}

// openPutawayTasks opens tasks for what has to leave the dock.
func (r *receiving) openPutawayTasks() error {
	var goods []record.PutawayTask
	for _, m := range r.moves {
		if m.ToStatus() != "available" {
			continue
		}
		t := newPutAway(store.Row(m), r.in.ZoneID, m.ToStatusOrNull())
		t.SetReceiptID(r.receipt.ID())
		goods = append(goods, t)
	}
	var err error
	r.tasks, err = openPutAways(r.c.Tx, goods)
	return err
}

func (r *receiving) receiveOut() (*ReceiveOut, error) {
	c := r.c
	out := &ReceiveOut{
		Receipt: record.Show(c, r.receipt), ReceiptLines: record.ShowList(c, r.rows),
		Movements:    record.ShowList(c, r.moves),
		PutawayTasks: record.ShowList(c, r.tasks), Lines: []verb.Record{}, Handling: []handling.Load{},
	}
	if len(r.tasks) > 0 {
		out.Then("put_away", "Put the goods away")
	}
	if len(r.orders) == 0 {
		return out, nil
	}
	order, err := c.Again("orders", r.orders[0].ID())
	if err != nil {
		return nil, err
	}
	out.Order = &order
	if record.Order(order.Row()).Status() == "in_progress" {
		out.Then("receive", "Receive more")
	}
	lines, err := record.List[record.OrderLine](c.Tx, "order_id = $2 ORDER BY line_no", r.orders[0].ID())
	if err != nil {
		return nil, err
	}
	out.Lines = record.ShowList(c, lines)
	out.Handling, err = handling.ListExpected(c.Tx, order.Row(), lines)
	return out, err
}
