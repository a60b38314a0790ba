package warehouse

import (
	"slices"

	"holdfast/internal/decimal"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/catchweight"
	"holdfast/internal/warehouse/handling"
	"holdfast/internal/warehouse/returns"
	"holdfast/internal/warehouse/selling"
	"holdfast/internal/warehouse/sites"
	"holdfast/internal/warehouse/transfers"
)

// ReceiveIn is what came in at a dock: against an order, against an advance
// shipping notice, or without either.
type ReceiveIn struct {
	OrderID string        `json:"order_id" format:"uuid" names:"orders" doc:"Purchase, transfer or return order the goods belong to."`
	ASN     string        `json:"asn" code:"true" max:"100" doc:"Number or tracking number of an inbound shipment; its orders are received."`
	ZoneID  string        `json:"zone_id" required:"true" format:"uuid" names:"zones" doc:"Dock the goods stand on."`
	Lines   []ReceiveLine `json:"lines" required:"true" doc:"What came in."`
}

// ReceiveLine is goods of one item that came in.
type ReceiveLine struct {
	OrderLineID string      `json:"order_line_id" format:"uuid" names:"order_lines" doc:"Line of the order; found by the item when absent."`
	ItemID      string      `json:"item_id" format:"uuid" names:"items" doc:"The item, where neither a line nor a barcode says it."`
	Barcode     string      `json:"barcode" code:"true" max:"500" doc:"A barcode, GTIN, SKU or GS1 label, of which lot, expiry, serial and SSCC are taken."`
	Quantity    decimal.Dec `json:"quantity" min:"0" doc:"How much, in uom. One for each serial number when absent; 0 only with discrepancy short."`
	UoM         string      `json:"uom" code:"true" max:"64" doc:"Unit of the quantity; the barcode's, else the item's base unit, when absent."`
	LotNo       string      `json:"lot_no" code:"true" max:"64" doc:"Lot number; a new one is made a lot."`
	ExpiresOn   string      `json:"expires_on" format:"date" doc:"Expiry of the lot; required for a new lot of an item that expires."`
	Serials     []string    `json:"serials" code:"true" doc:"Serial numbers, one for each base unit."`
	LPN         string      `json:"lpn" code:"true" max:"64" doc:"License plate of the pallet or carton."`
	StockStatus string      `json:"stock_status" enum:"available quarantine damaged hold" doc:"Status to book it in; by the discrepancy and the zone when absent."`
	Discrepancy string      `json:"discrepancy" enum:"short over damaged wrong_item unannounced quality other" doc:"How it differs from what was announced."`
	AcceptSold  bool        `json:"accept_sold" doc:"Takes its serial numbers in as new though they were sold and did not come back under a return order."`
	Note        string      `json:"note" max:"500" doc:"Anything to remember about the line."`

	Weight       *decimal.Dec `json:"weight_kg" min:"0" unit:"kg" doc:"What it weighs, of an item of catch weight."`
	WeightReason string       `json:"weight_reason" max:"200" doc:"Why a manager takes a weight that is off."`
}

// ReceiveOut is what a receipt brought about.
type ReceiveOut struct {
	verb.Answer
	Receipt      verb.Record     `json:"receipt" record:"receipts"`
	ReceiptLines []verb.Record   `json:"receipt_lines" record:"receipt_lines"`
	Order        *verb.Record    `json:"order" record:"orders"`
	Lines        []verb.Record   `json:"lines" record:"order_lines"`
	Handling     []handling.Load `json:"handling" doc:"What is still to come in of each line, by units."`
	Movements    []verb.Record   `json:"movements" record:"stock_movements"`
	PutawayTasks []verb.Record   `json:"putaway_tasks" record:"putaway_tasks"`
}

func receiveGoods(c *verb.Call, in *ReceiveIn) (*ReceiveOut, error) {
	r := &receiving{c: c, in: in, claimed: map[string]decimal.Dec{}}
	for _, step := range [...]func() error{
		r.findOrders, r.readDock, r.checkSite, r.identifyItems, r.convertQuantities, r.checkWeights, r.matchOrderLines,
		r.checkNew, r.settleLotAndStatus, r.checkReturned,
		r.writeReceipt, r.postReceived, r.updateOrders, r.openPutawayTasks,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r.receiveOut()
}

// checkWeights holds what was weighed to the items. What comes out of transit was weighed when
// it came in, and is not weighed again.
func (r *receiving) checkWeights() error {
	var ids set
	for _, a := range r.goods {
		ids.addID(a.item)
	}
	items, err := catchweight.ReadItems(r.c.Tx, ids.list)
	if err != nil {
		return err
	}
	isTransfer := slices.ContainsFunc(r.orders, transfers.IsOf)
	for _, a := range r.goods {
		it := items[a.item]
		switch weighs := a.Weight != nil; {
		case a.base == 0 && !weighs, isTransfer && !weighs:
			continue
		case isTransfer:
			return refuseMovement(a.at+"weight_kg", "goods of a transfer are not weighed again: leave it out")
		case it.IsCaught() && len(a.Serials) > 1:
			return refuseMovement(a.at+"weight_kg", "each piece is weighed: give a line for each serial number")
		}
		var weight decimal.Dec
		if a.Weight != nil {
			weight = *a.Weight
		}
		except := catchweight.Exception{Reason: a.WeightReason, IsAllowed: isManager(r.c.Role)}
		if err := it.CheckWeight(a.base, weight, except); err != nil {
			return prefixFields(a.at, err)
		}
	}
	return nil
}

// shareWeight gives the parts of what was weighed their share of its weight.
func (a *arrival) shareWeight(parts []*arrival) error {
	if a.Weight == nil {
		return nil
	}
	quantities := make([]decimal.Dec, len(parts))
	for i, p := range parts {
		quantities[i] = p.base
	}
	shares, err := catchweight.ShareWeight(*a.Weight, quantities)
	if err != nil {
		return err
	}
	for i, p := range parts {
		p.Weight = &shares[i]
	}
	return nil
}

// checkSite refuses goods of orders of other sites than the dock's.
func (r *receiving) checkSite() error {
	return sites.CheckEntry(r.c.Tx, r.orders, map[string]string{"zone_id": r.in.ZoneID})
}

// checkReturned holds goods that come in under a return order to those that left.
func (r *receiving) checkReturned() error {
	var list []returns.Arrival
	var items set
	for _, a := range r.goods {
		if !r.isReturn(a) {
			continue
		}
		items.addID(a.item)
		sent := returns.Goods{ItemID: a.item, OwnerID: r.orderOf(a).OwnerID(), LotID: a.line.LotID()}
		list = append(list, returns.Arrival{Goods: sent, LotFound: a.lot, Serials: a.Serials, Quantity: a.base, At: a.at})
	}
	if len(list) == 0 {
		return nil
	}
	lockItems(r.c.Tx.Tx, r.c.TenantID, jsonList(items.list))
	return returns.CheckArrivals(r.c.Tx, list)
}

// checkNew refuses new goods of discontinued items, and asks about serial numbers that
// come in as new though they were sold.
func (r *receiving) checkNew() error {
	fresh := returns.Pieces{}
	for _, a := range r.goods {
		if r.isReturn(a) || r.isTransfer(a) {
			continue
		}
		it := r.items[a.item]
		if it.status == selling.Discontinued && a.base != 0 {
			return selling.RefuseReceipt(it.sku, a.at+"item_id")
		}
		if !a.AcceptSold {
			fresh.Add(a.item, it.sku, a.at, a.Serials)
		}
	}
	return fresh.CheckNew(r.c.Tx)
}
