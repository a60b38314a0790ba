package warehouse

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/handling"
	"holdfast/internal/warehouse/scanning"
	"holdfast/internal/warehouse/swapping"
)

// PickLineIn says what was taken from a bin, and what was scanned there.
type PickLineIn struct {
	LineID   string      `json:"pick_line_id" required:"true" format:"uuid" names:"pick_lines" doc:"The line."`
	Quantity decimal.Dec `json:"quantity" required:"true" min:"0.0001" doc:"What was taken now, in base units; a part leaves the line open."`
	Zone     string      `json:"zone_scan" code:"true" max:"200" doc:"Code read at the bin; 409 when it is another's."`
	Item     string      `json:"item_scan" code:"true" max:"200" doc:"SKU, GTIN or barcode read on the goods; 409 when it is another item's."`
	Lot      string      `json:"lot_no" code:"true" max:"64" doc:"Lot of the goods; another there is taken instead."`
	Serials  []string    `json:"serials" code:"true" max:"500" doc:"Serial numbers; another there is taken instead."`
	To       string      `json:"to_zone_id" format:"uuid" names:"zones" doc:"Where the goods are put; the first staging zone of the site when absent."`

	Weight       *decimal.Dec `json:"weight_kg" min:"0" unit:"kg" doc:"What it weighs, of an item of catch weight."`
	WeightReason string       `json:"weight_reason" max:"200" doc:"Why a manager takes a weight that is off."`
}

// PickLineOut is the line with what moved and where to go next.
type PickLineOut struct {
	verb.Answer
	Line      verb.Record     `json:"pick_line" record:"pick_lines"`
	Movement  verb.Record     `json:"movement" record:"stock_movements"`
	OrderLine verb.Record     `json:"order_line" record:"order_lines"`
	NextLine  verb.Record     `json:"next_line" record:"pick_lines" doc:"Null when the list is done."`
	Handling  []handling.Load `json:"handling" doc:"What is still to be taken of next_line, by units."`
}

func (w Watch) pickLine(c *verb.Call, in *PickLineIn) (*PickLineOut, error) {
	if _, err := readRecord[record.Zone](c, "to_zone_id", in.To); err != nil {
		return nil, err
	}
	scan := swapping.Scan{LotNo: in.Lot, Serials: slices.Compact(slices.Sorted(slices.Values(in.Serials)))}
	swap, err := swapping.Prepare(c.Tx, in.LineID, scan)
	if err != nil {
		return nil, err
	}
	line, _, err := w.lockPickLine(c, in.LineID)
	if err != nil {
		return nil, err
	}
	if err := checkPending(line); err != nil {
		return nil, err
	}
	if err := w.workOf(c).swapGoods(swap, line); err != nil {
		return nil, err
	}
	if err := w.workOf(c).checkScans(line, in); err != nil {
		return nil, err
	}
	has := line.QtyPicked() + in.Quantity
	if has > line.Qty() {
		return nil, refuseAbove("quantity", in.Quantity, line.Qty()-line.QtyPicked(), "the line still asks for")
	}
	said := spoken{item: line.ItemID(), member: "quantity", quantity: in.Quantity,
		all: line.Qty() - line.QtyPicked()}
	if err := checkBaseUnitDecimals(c, said); err != nil {
		return nil, err
	}
	set := record.PickLine{"qty_picked": has}
	addWeight(set, line, in.Weight, in.WeightReason)
	if in.To != "" {
		set.SetToZoneID(in.To)
	}
	if has == line.Qty() {
		set.SetStatus("picked")
	}
	if err := record.Update(w.workOf(c).Tx, []string{in.LineID}, set); err != nil {
		return nil, err
	}
	return pickLineOut(c, in.LineID)
}

// addWeight adds what goods weigh that are taken now to what was weighed of the line, and says
// why they weigh what they should not.
func addWeight(set, line record.PickLine, weight *decimal.Dec, reason string) {
	if weight != nil {
		set.SetWeightKg(line.WeightKg() + *weight)
		set.SetWeightReasonOrNull(db.Null(reason))
	}
}

// swapGoods moves the promise of a pick line to the goods that were scanned, where these are
// others of its place, or exchanges it with that of another order.
func (k work) swapGoods(swap *swapping.Swap, line record.PickLine) error {
	if swap == nil {
		return nil
	}
	change, err := swap.Decide(k.Tx)
	if err != nil || change == nil {
		return err
	}
	if err := k.UpdateEach("pick_lines", record.Rows(change.PickLines)); err != nil {
		return err
	}
	if err := k.UpdateEach("reservations", record.Rows(change.Reservations)); err != nil {
		return err
	}
	maps.Copy(line, change.Taken)
	if change.IsExchange {
		return nil
	}
	by := change.Quantity // items and stock levels are locked last
	return k.changeReserved([]pledge{{spotOf(store.Row(change.From)), -by}, {spotOf(store.Row(change.To)), by}})
}

// checkScans holds what was scanned to what the line asks for.
func (k work) checkScans(line record.PickLine, in *PickLineIn) error {
	zones, err := record.List[record.Zone](k.Tx, "id = $2", line.ZoneID())
	if err != nil {
		return err
	}
	items, err := record.List[record.Item](k.Tx, "id = $2", line.ItemID())
	if err != nil || len(zones) != 1 || len(items) != 1 {
		return err
	}
	if err := checkScan("zone_scan", in.Zone, zones[0].Code(), zones[0].ID()); err != nil {
		return err
	}
	if err := checkScan("item_scan", in.Item, codesOf(items[0])...); err != nil {
		return err
	}
	for _, s := range in.Serials {
		if line.HasSerial() && s != line.Serial() {
			return fault.New(fault.Conflict, scanning.CodeScan, "serial number %q is not the one reserved", s).
				At("serials", "does not match")
		}
	}
	if in.Lot == "" {
		return nil
	}
	lots, err := record.List[record.Lot](k.Tx, "item_id = $2 AND lower(lot_no) = lower($3)", line.ItemID(), in.Lot)
	if err == nil && (len(lots) != 1 || lots[0].ID() != line.LotID()) {
		err = fault.New(fault.Conflict, scanning.CodeScan, "lot %q is not the one reserved", in.Lot).
			At("lot_no", "does not match")
	}
	return err
}

// codesOf are what may be read on goods of an item.
func codesOf(item record.Item) []string {
	out := []string{item.SKU(), item.GTIN(), item.ID()}
	raw := item.Barcodes()
	var list []struct{ Value string }
	if json.Unmarshal(raw, &list) == nil {
		for _, b := range list {
			out = append(out, b.Value)
		}
	}
	return out
}

// pickLineOut reads back what a pick changed.
func pickLineOut(c *verb.Call, id string) (*PickLineOut, error) {
	out := &PickLineOut{}
	var err error
	if out.Line, err = c.Again("pick_lines", id); err != nil {
		return nil, err
	}
	line := record.PickLine(out.Line.Row())
	for _, f := range []struct {
		resource, where string
		args            []any
		into            *verb.Record
	}{
		{"stock_movements", "ref_type = 'pick_lines' AND ref_id = $2 ORDER BY id DESC LIMIT 1", []any{id}, &out.Movement},
		{"order_lines", "id = $2", []any{line.OrderLineIDOrNull()}, &out.OrderLine},
		{"pick_lines", "pick_list_id = $2 AND status = 'pending' ORDER BY seq LIMIT 1", []any{line.PickListID()},
			&out.NextLine},
	} {
		rows, err := c.Rows(f.resource, f.where, f.args...)
		if err != nil {
			return nil, err
		}
		if len(rows) == 1 {
			*f.into = c.Record(f.resource, rows[0])
		}
	}
	var next []record.PickLine
	if out.NextLine.Row() != nil {
		next = append(next, record.PickLine(out.NextLine.Row()))
	}
	if out.Handling, err = handling.ListRows(c.Tx, record.Rows(next), "qty", "qty_picked"); err != nil {
		return nil, err
	}
	if line.Status() == "pending" || len(next) > 0 {
		out.Then("pick_line", "Pick the next line")
		out.Then("short_pick", "Report a short bin")
	} else {
		out.Then("pack", "Pack the goods")
	}
	return out, nil
}
