package warehouse

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/returns"
	"holdfast/internal/warehouse/scanning"
	"holdfast/internal/warehouse/transfers"
)

// Codes of the faults of work on the floor.
const (
	CodeLot      = "HF020" // the lot may not leave: expired, recalled, in quarantine, too short
	CodePlace    = "HF021" // the place refuses: class, mix, weight, capacity
	CodeApproval = "HF023" // needs a second person
)

// receiving is one receipt on its way into the books.
type receiving struct {
	c       *verb.Call
	in      *ReceiveIn
	orders  []record.Order
	lines   []record.OrderLine // of the orders
	zone    record.Zone
	goods   []*arrival
	items   map[string]*article
	units   *units
	rules   *rules
	lots    map[lotName]record.Lot
	claimed map[string]decimal.Dec // order line -> base units of this receipt
	receipt record.Receipt
	rows    []record.ReceiptLine // of the receipt
	moves   []record.StockMovement
	tasks   []record.PutawayTask
	away    returns.Away    // what may come back
	transit transfers.Goods // what may come out of transit
}

// arrival is a line of a receipt, or the part of it that goes to one line of the
// order.
type arrival struct {
	ReceiveLine
	at   string // place in the request: "lines[2]."
	item string
	base decimal.Dec
	line record.OrderLine // of the order, nil without one
	lot  string           // id

	isOfPieces bool // the quantity is what a label counts of pieces
}

type lotName struct{ item, no string }

// findOrders finds the orders that the goods belong to and holds them against
// other receipts.
func (r *receiving) findOrders() error {
	var ids []string
	switch {
	case r.in.OrderID != "":
		ids = []string{r.in.OrderID}
	case r.in.ASN != "":
		var err error
		if ids, err = r.ordersOfShipment(); err != nil {
			return err
		}
	default:
		return nil
	}
	orders, err := record.Lock[record.Order](r.c, "order_id", ids...)
	if err != nil {
		return err
	}
	for _, o := range orders {
		if err := checkReceivable(o); err != nil {
			return err
		}
	}
	r.orders = orders
	r.lines, err = record.List[record.OrderLine](r.c.Tx, r.c.DB().InUUID("order_id", 2)+" ORDER BY order_id, line_no"+
		r.c.DB().ForUpdate(), query.List(ids))
	return err
}

// ordersOfShipment lists the orders of an inbound shipment.
func (r *receiving) ordersOfShipment() (ids []string, err error) {
	found := false
	err = r.c.Query(`
		SELECT order_ids
		FROM shipments
		WHERE tenant_id = $1
			AND direction = 'inbound'
			AND status <> 'cancelled'
			AND (shipment_no = $2 OR tracking_no = $2)
		ORDER BY id
		LIMIT 1`,
		[]any{r.c.TenantID, r.in.ASN}, func(row *db.Row) error {
			found = true
			return json.Unmarshal([]byte(row.Text(0)), &ids)
		})
	if err == nil && !found {
		return nil, fault.New(fault.NotFound, "PGRST116", "no inbound shipment has the number %s", r.in.ASN).At("asn",
			"no such shipment")
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// checkReceivable refuses orders that nothing is received for.
func checkReceivable(o record.Order) error {
	no := o.OrderNo()
	switch status := o.Status(); {
	case o.Type() == "outbound":
		return notReady("order %s is outbound: goods do not come in for it", no).At("order_id", "is an outbound order")
	case status == "completed":
		return fault.New(fault.Conflict, CodeOver, "order %s is received in full", no).At("order_id", "is completed")
	case status == "draft":
		return notReady("order %s is a draft: confirm it first", no).At("order_id", "is not confirmed")
	case transfers.IsOf(o) && o.QtyShipped() == 0 && status != "cancelled":
		return transfers.RefuseUnshipped(no)
	case status != "confirmed" && status != "in_progress":
		return notReady("order %s is %s", no, strings.ReplaceAll(status, "_", " ")).At("order_id", "is %s", status)
	}
	return nil
}

// readDock reads the zone. It is not locked: whoever moves stock locks items first
// and zones last.
func (r *receiving) readDock() error {
	rows, err := record.List[record.Zone](r.c.Tx, "id = $2", r.in.ZoneID)
	if err == nil && len(rows) == 0 {
		err = verb.Missing("zones", "zone_id")
	}
	if err != nil {
		return err
	}
	r.zone = rows[0]
	return nil
}

// identifyItems finds out which item each line is.
func (r *receiving) identifyItems() error {
	var scans []string
	for _, l := range r.in.Lines {
		if l.Barcode != "" {
			scans = append(scans, l.Barcode)
		}
	}
	known, err := scanning.ReadCodes(r.c.Tx.Tx, r.c.TenantID, scans, r.c.Now())
	if err != nil {
		return err
	}
	for i, l := range r.in.Lines {
		a := &arrival{ReceiveLine: l, at: fmt.Sprintf("lines[%d].", i), item: l.ItemID}
		if err := r.recogniseLine(a, known[l.Barcode]); err != nil {
			return err
		}
		r.goods = append(r.goods, a)
	}
	return nil
}

// recogniseLine holds the order line, the item and the barcode of a line to one
// item.
func (r *receiving) recogniseLine(a *arrival, scan *scanning.Goods) error {
	if a.OrderLineID != "" {
		at := slices.IndexFunc(r.lines, func(l record.OrderLine) bool { return l.ID() == a.OrderLineID })
		if at < 0 {
			return verb.Missing("order_lines", a.at+"order_line_id")
		}
		a.line = r.lines[at]
		if a.item == "" {
			a.item = a.line.ItemID()
		}
	}
	if scan != nil {
		if scan.ItemID == "" {
			return fault.New(fault.NotFound, "PGRST116", "no item has the barcode %s", a.Barcode).At(a.at+"barcode",
				"is unknown")
		}
		if a.item == "" {
			a.item = scan.ItemID
		}
		if a.item != scan.ItemID {
			return fault.New(fault.Conflict, scanning.CodeScan, "the barcode %s belongs to another item", a.Barcode).
				At(a.at+"barcode", "belongs to another item")
		}
		a.fillFromLabel(scan)
	}
	if a.item == "" {
		return fault.New(fault.Invalid, "23502", "a line names an order line, an item or a barcode").At(a.at+"item_id",
			"is required")
	}
	if a.line != nil && a.item != a.line.ItemID() {
		return fault.New(fault.Conflict, scanning.CodeScan, "the order line is of another item").At(a.at+"item_id",
			"is not the order line's")
	}
	return nil
}

// fillFromLabel takes what a label says where the request is silent.
func (a *arrival) fillFromLabel(scan *scanning.Goods) {
	for _, p := range [...]struct {
		into *string
		from string
	}{{&a.UoM, scan.Unit}, {&a.LotNo, scan.LotNo}, {&a.ExpiresOn, scan.ExpiresOn}, {&a.LPN, scan.LPN}} {
		if *p.into == "" {
			*p.into = p.from
		}
	}
	if len(a.Serials) == 0 && scan.Serial != "" {
		a.Serials = []string{scan.Serial}
	}
	if a.Quantity == 0 && a.Discrepancy != "short" {
		a.Quantity, a.isOfPieces = scan.Count, scan.IsOfPieces
	}
}

// convertQuantities reads items and units and turns quantities into base units.
func (r *receiving) convertQuantities() error {
	var ids set
	for _, a := range r.goods {
		ids.addID(a.item)
	}
	tx, tenant := r.c.Tx.Tx, r.c.TenantID
	r.items, r.units = queueArticles(tx, tenant, ids.list), queueUnits(tx, tenant, ids.list)
	r.rules = queueRules(tx, tenant, r.c.Now())
	if err := tx.Flush(); err != nil {
		return err
	}
	for _, a := range r.goods {
		it := r.items[a.item]
		if it == nil {
			return verb.Missing("items", a.at+"item_id")
		}
		if a.Quantity == 0 && len(a.Serials) > 0 {
			a.Quantity, a.UoM = decimal.FromInt(int64(len(a.Serials))), ""
		}
		if a.isOfPieces && r.units.isDivisible(a.item) {
			return prefixFields(a.at, refuseMovement("quantity", "the label counts "+a.Quantity.String()+
				" pieces, and the item is kept in "+r.units.base[a.item]+": say how much there is"))
		}
		var err *fault.Error
		if a.base, err = r.units.toBase(a.item, a.UoM, a.Quantity); err != nil {
			return prefixFields(a.at, err)
		}
		if err := a.checkComplete(it); err != nil {
			return prefixFields(a.at, err)
		}
	}
	return nil
}

// checkComplete refuses a line that does not say what its item asks for.
func (a *arrival) checkComplete(it *article) *fault.Error {
	switch {
	case it.status == "draft":
		return notReady("item %s is a draft: activate it first", it.sku).At("item_id", "is not active")
	case a.base == 0 && a.Discrepancy != "short":
		return refuseMovement("quantity", "say how much came in; nothing at all is a short")
	case a.base > maxMove:
		return fault.As(tooMuch("quantity", maxMove))
	case a.base == 0:
		return nil
	case it.tracking == "lot" && a.LotNo == "":
		return refuseMovement("lot_no", "item "+it.sku+" is tracked by lot: name the lot")
	case it.tracking != "serial" && len(a.Serials) > 0:
		return refuseMovement("serials", "item "+it.sku+" has no serial numbers")
	case it.tracking == "serial" && decimal.FromInt(int64(len(a.Serials))) != a.base:
		return refuseMovement(
			"serials",
			fmt.Sprintf("item %s is tracked by serial number: %s units need as many numbers, %d are given", it.sku, a.base,
				len(a.Serials)),
		)
	}
	seen := map[string]bool{}
	for _, s := range a.Serials {
		if s == "" || len(s) > 64 || seen[s] {
			return refuseMovement("serials", "serial numbers have 1-64 characters and are given once")
		}
		seen[s] = true
	}
	return nil
}

// matchOrderLines gives each line to the lines of the orders, in their order, and refuses
// what was not ordered.
func (r *receiving) matchOrderLines() error {
	if len(r.orders) == 0 {
		return nil
	}
	var goods []*arrival
	for _, a := range r.goods {
		parts, err := r.splitOverLines(a)
		if err != nil {
			return err
		}
		goods = append(goods, parts...)
	}
	r.goods = goods
	return nil
}

// splitOverLines splits goods over the open lines of their item.
func (r *receiving) splitOverLines(a *arrival) ([]*arrival, error) {
	lines := r.lines
	if a.line != nil {
		lines = []record.OrderLine{a.line}
	}
	var parts []*arrival
	rest, last, open := a.base, record.OrderLine(store.Row(nil)), decimal.Dec(0)
	for _, l := range lines {
		if l.ItemID() != a.item {
			continue
		}
		room, err := r.openQuantity(l)
		if err != nil {
			return nil, err
		}
		last, open = l, open+max(0, room)
		take := min(rest, room)
		if len(a.Serials) > 0 && take < rest {
			continue // numbered pieces stay together
		}
		if take > 0 || a.base == 0 && len(parts) == 0 {
			parts = append(parts, r.shareOfLine(a, l, take))
			rest -= take
		}
	}
	switch {
	case last == nil && !slices.ContainsFunc(r.orders, transfers.IsOf) &&
		(a.Discrepancy == "unannounced" || a.Discrepancy == "wrong_item"):
		return []*arrival{a}, nil
	case last == nil:
		return nil, fault.New(fault.Conflict, CodeOver, "item %s was not ordered", r.items[a.item].sku).
			With("", "take it in with discrepancy unannounced or wrong_item").At(a.at+"item_id", "was not ordered")
	case rest > 0:
		return nil, fault.New(fault.Conflict, CodeOver, "%s of item %s is more than what is open of the order: %s", a.base,
			r.items[a.item].sku, open).
			At(a.at+"quantity", "only %s may still come in", open)
	}
	return parts, a.shareWeight(parts)
}

// shareOfLine is the share of goods that a line of an order takes.
func (r *receiving) shareOfLine(a *arrival, line record.OrderLine, take decimal.Dec) *arrival {
	p := *a
	p.line, p.base = line, take
	if take != a.base {
		p.UoM, p.Quantity = "", take
	}
	r.claimed[line.ID()] += take
	return &p
}

// openQuantity is how much of a line may still come in, in base units, tolerance
// included; of a transfer, what is in transit.
func (r *receiving) openQuantity(l record.OrderLine) (decimal.Dec, error) {
	if r.isTransfer(&arrival{line: l}) { // kept in base units
		return l.QtyShipped() - l.QtyReceived() - r.claimed[l.ID()], nil
	}
	expected := l.QtyOrdered() - l.QtyCancelled()
	wanted, err := MultiplyWithin(expected, decimal.One+r.rules.overReceipt, "quantity")
	if err != nil {
		return 0, err
	}
	f := r.lineUnit(l)
	base, err := MultiplyWithin(wanted-l.QtyReceived(), f, "quantity")
	return base - r.claimed[l.ID()], err
}

// lineUnit is how many base units one unit of an order line holds. A line whose
// unit the item does not know counts in base units.
func (r *receiving) lineUnit(l record.OrderLine) decimal.Dec {
	if f, err := r.units.unitFactor(l.ItemID(), l.UOM()); err == nil {
		return f
	}
	return decimal.One
}
