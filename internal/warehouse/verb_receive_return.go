package warehouse

import (
	"fmt"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/returns"
	"holdfast/internal/warehouse/sites"
)

// ReceiveReturnIn is goods that a customer sent back, judged piece by piece.
type ReceiveReturnIn struct {
	OrderID string       `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"The return order."`
	Lines   []ReturnLine `json:"lines" required:"true" doc:"What came back."`
}

// ReturnLine is goods of one order line with one fate.
type ReturnLine struct {
	OrderLineID string      `json:"order_line_id" required:"true" format:"uuid" names:"order_lines" doc:"Line of the return order."`
	Quantity    decimal.Dec `json:"quantity" required:"true" min:"0.0001" doc:"How much, in uom."`
	UoM         string      `json:"uom" code:"true" max:"64" doc:"Unit of the quantity; the item's base unit when absent."`
	Disposition string      `json:"disposition" required:"true" enum:"restock quarantine scrap refund_only" doc:"What becomes of it."`
	ZoneID      string      `json:"zone_id" format:"uuid" names:"zones" doc:"Where it is put; needed unless refund_only."`
	LotID       string      `json:"lot_id" format:"uuid" names:"lots" doc:"Its lot; the order line's when absent."`
	Serial      string      `json:"serial" code:"true" max:"64" doc:"Its serial number."`
	Reason      string      `json:"reason" max:"64" doc:"Why goods are taken in that never left, or came back already; with disposition quarantine."`
}

// ReceiveReturnOut is what came back and the order as it is afterwards.
type ReceiveReturnOut struct {
	verb.Answer
	Movements []verb.Record `json:"movements" record:"stock_movements"`
	Order     verb.Record   `json:"order" record:"orders"`
	Lines     []verb.Record `json:"lines" record:"order_lines"`
}

func receiveReturn(c *verb.Call, in *ReceiveReturnIn) (*ReceiveReturnOut, error) {
	r := &receiving{c: c, in: &ReceiveIn{OrderID: in.OrderID}, claimed: map[string]decimal.Dec{}}
	if err := r.findOrders(); err != nil {
		return nil, err
	}
	if r.orders[0].Type() != "return" {
		return nil, notReady("order %s is no return order", r.orders[0].OrderNo()).At("order_id", "is no return order")
	}
	if err := r.judgeReturns(in.Lines); err != nil {
		return nil, err
	}
	var err error
	if len(r.moves) > 0 {
		r.moves, err = record.Insert(c.Tx, r.moves)
		if fault.HasCode(err, CodeApproval) {
			fault.As(err).Hint = "take the goods in with disposition quarantine: adjust_stock then waits for a second person"
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.updateOrders(); err != nil {
		return nil, err
	}
	out := &ReceiveReturnOut{Movements: record.ShowList(c, r.moves)}
	if out.Order, err = c.Again("orders", in.OrderID); err != nil {
		return nil, err
	}
	lines, err := record.List[record.OrderLine](c.Tx, "order_id = $2 ORDER BY line_no", in.OrderID)
	out.Lines = record.ShowList(c, lines)
	if record.Order(out.Order.Row()).Status() == "in_progress" {
		out.Then("receive_return", "Receive more of the return")
	}
	return out, err
}

// judgeReturns turns what came back into movements: restocked goods are available, the
// others wait or are scrapped at once.
func (r *receiving) judgeReturns(lines []ReturnLine) error {
	if err := r.knowReturns(lines); err != nil {
		return err
	}
	for i, l := range lines {
		at := fmt.Sprintf("lines[%d].", i)
		line := r.lineOf(l.OrderLineID)
		if line == nil {
			return verb.Missing("order_lines", at+"order_line_id")
		}
		base, bad := r.units.toBase(line.ItemID(), l.UoM, l.Quantity)
		if bad != nil {
			return prefixFields(at, bad)
		}
		open, err := r.openQuantity(line)
		if err != nil {
			return err
		}
		if base > open {
			return fault.New(fault.Conflict, CodeOver, "more comes back than the return order says: %s is open", open).At(at+
				"quantity", "only %s is open", open)
		}
		r.claimed[l.OrderLineID] += base
		staysAway := l.Disposition == "refund_only"
		if l.ZoneID == "" && !staysAway {
			return refuseMovement(at+"zone_id", "say where the goods are put")
		}
		unexpected, err := r.takeAway(line, &l, base)
		if err != nil {
			return prefixFields(at, fault.As(err))
		}
		if staysAway {
			continue
		}
		r.moves = append(r.moves, record.From[record.StockMovement](r.returnMovements(line, &l, base, unexpected))...)
	}
	return nil
}

// knowReturns reads the units and places that the lines name.
func (r *receiving) knowReturns(lines []ReturnLine) error {
	var items, zones, lots set
	for _, l := range r.lines {
		items.addID(l.ItemID())
	}
	for _, l := range lines {
		zones.addID(l.ZoneID)
		lots.addID(l.LotID)
	}
	lockItems(r.c.Tx.Tx, r.c.TenantID, jsonList(items.list))
	var err error
	if r.away, err = returns.ReadAway(r.c.Tx, items.list); err != nil {
		return err
	}
	r.units = queueUnits(r.c.Tx.Tx, r.c.TenantID, items.list)
	r.rules = queueRules(r.c.Tx.Tx, r.c.TenantID, r.c.Now())
	if err := r.c.Flush(); err != nil {
		return err
	}
	if err := checkAllKnown[record.Zone](r.c, "lines.zone_id", zones.list); err != nil {
		return err
	}
	if err := checkAllKnown[record.Lot](r.c, "lines.lot_id", lots.list); err != nil {
		return err
	}
	places := map[string]string{}
	for i, l := range lines {
		if l.ZoneID != "" {
			places[lineField(i, "zone_id")] = l.ZoneID
		}
	}
	return sites.CheckEntry(r.c.Tx, r.orders, places)
}

func (r *receiving) lineOf(id string) record.OrderLine {
	for _, l := range r.lines {
		if l.ID() == id {
			return l
		}
	}
	return nil
}

// takeAway holds goods to those that left and have not come back. Others are refused
// unless they go to quarantine with a reason, which it returns.
func (r *receiving) takeAway(line record.OrderLine, l *ReturnLine, base decimal.Dec) (unexpected string, err error) {
	sent := spotOf(store.Row(line))
	goods := returns.Goods{ItemID: sent.item, OwnerID: r.orders[0].OwnerID(), LotID: sent.lot, Serial: l.Serial}
	if err = r.away.Take(goods, l.LotID, base); err != nil && l.Disposition == "quarantine" && l.Reason != "" {
		return l.Reason, nil
	}
	return "", err
}

// returnMovements is the movements of goods that came back.
func (r *receiving) returnMovements(line record.OrderLine, l *ReturnLine, base decimal.Dec,
	unexpected string) []store.Row {
	status := map[string]string{"restock": "available", "quarantine": "quarantine", "scrap": "damaged"}[l.Disposition]
	m := store.Row{"type": "return_in", "item_id": line.ItemID(), "to_zone_id": l.ZoneID, "to_status": status,
		"quantity":    base,
		"reason_code": l.Disposition, "ref_type": "order_lines", "ref_id": line.ID(),
		"occurred_at": query.FormatTime(r.c.Now())}
	if line.HasLotID() {
		m["lot_id"] = line.LotIDOrNull()
	}
	if owner := r.orders[0].OwnerIDOrNull(); owner != nil {
		m["owner_id"] = owner
	}
	setGiven(m, "lot_id", l.LotID, "serial", l.Serial, "reason_code", unexpected)
	if l.Disposition != "scrap" {
		return []store.Row{m}
	}
	gone := store.Row{}
	for name, v := range m {
		gone[name] = v
	}
	delete(gone, "to_zone_id")
	gone["type"] = "scrap"
	gone["from_zone_id"] = l.ZoneID
	gone["from_status"] = status
	gone["to_status"] = status
	return []store.Row{m, gone}
}
