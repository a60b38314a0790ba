package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/sites"
)

// ShortPickIn says how much of a line was found.
type ShortPickIn struct {
	LineID string      `json:"pick_line_id" required:"true" format:"uuid" names:"pick_lines" doc:"The line."`
	Found  decimal.Dec `json:"found" required:"true" min:"0" doc:"All that there was, in base units; less than asked for."`
	Reason string      `json:"reason" required:"true" max:"200" doc:"What was the matter with the bin."`
	To     string      `json:"to_zone_id" format:"uuid" names:"zones" doc:"Where the goods are put; the first staging zone of the site when absent."`

	Weight       *decimal.Dec `json:"weight_kg" min:"0" unit:"kg" doc:"What it weighs, of an item of catch weight."`
	WeightReason string       `json:"weight_reason" max:"200" doc:"Why a manager takes a weight that is off."`
}

// ShortPickOut is the line with what was given back and found elsewhere.
type ShortPickOut struct {
	PickLineOut
	Released    decimal.Dec   `json:"released" doc:"Base units that are no longer promised from this bin."`
	CountTask   verb.Record   `json:"count_task" record:"count_tasks" doc:"The bin is to be counted."`
	Reallocated []verb.Record `json:"reallocated" record:"reservations" doc:"What another bin gives; the list has lines for it."`
	Short       []Short       `json:"short" doc:"What no bin has."`
}

// shortPick moves what was found, gives the rest back, and looks for it in other
// bins, for which the list gets lines of its own.
func (w Watch) shortPick(c *verb.Call, in *ShortPickIn) (*ShortPickOut, error) {
	k := w.workOf(c)
	if _, err := readRecord[record.Zone](c, "to_zone_id", in.To); err != nil {
		return nil, err
	}
	line, list, err := w.lockPickLine(c, in.LineID)
	if err != nil {
		return nil, err
	}
	if err := checkPending(line); err != nil {
		return nil, err
	}
	if in.Found >= line.Qty() || in.Found < line.QtyPicked() {
		return nil, refuseAbove("found", in.Found, line.Qty(), "a short line has")
	}
	if err := checkBaseUnitDecimals(c, spoken{item: line.ItemID(), member: "found", quantity: in.Found,
		all: line.QtyPicked()}); err != nil {
		return nil, err
	}
	found := record.PickLine{"qty_picked": in.Found, "to_zone_id": db.Null(in.To)}
	addWeight(found, line, in.Weight, in.WeightReason)
	if err := record.Update(k.Tx, []string{in.LineID}, found); err != nil {
		return nil, err
	}
	out := &ShortPickOut{Reallocated: []verb.Record{}, Short: []Short{}}
	done, err := k.reallocateRest(line, out)
	if err != nil {
		return nil, err
	}
	if err := k.appendPickLines(list.ID(), done.rows); err != nil {
		return nil, err
	}
	if err := k.UpdateRows("pick_lines", []string{in.LineID},
		store.Row{"status": "short", "short_reason": in.Reason}); err != nil {
		return nil, err
	}
	if err := k.openRecount(c, line, in.Reason, out); err != nil {
		return nil, err
	}
	out.Reallocated = record.ShowList(c, done.rows)
	out.Short = append(out.Short, done.short...)
	line2, err := pickLineOut(c, in.LineID)
	if err == nil {
		out.PickLineOut = *line2
	}
	return out, err
}

// reallocateRest gives back what is left of a line's promise and looks for as much in
// other bins.
func (k work) reallocateRest(line record.PickLine, out *ShortPickOut) (*allocated, error) {
	if !line.HasReservationID() {
		return &allocated{}, nil
	}
	rest, err := record.List[record.Reservation](k.Tx, "id = $2 AND state = 'active' AND NOT picked"+k.DB().ForUpdate(),
		line.ReservationIDOrNull())
	if err != nil || len(rest) == 0 {
		return &allocated{}, err
	}
	if err := k.UpdateRows("pick_lines", []string{line.ID()}, store.Row{"reservation_id": nil}); err != nil {
		return nil, err
	}
	out.Released = rest[0].Quantity()
	if err := k.releaseReservations(rest); err != nil {
		return nil, err
	}
	if err := k.updateOrderLines(record.Texts(rest, record.Reservation.OrderLineID), nil); err != nil {
		return nil, err
	}
	lines, err := record.List[record.OrderLine](k.Tx, "id = $2", line.OrderLineIDOrNull())
	if err != nil || len(lines) != 1 {
		return &allocated{}, err
	}
	zones, err := sites.ReadOfZones(k.Tx, []string{line.ZoneID()})
	if err != nil {
		return nil, err
	}
	return k.allocateOrders([]string{lines[0].OrderID()}, plan{
		strategy: "fefo",
		lines:    map[string]bool{lines[0].ID(): true},
		avoid:    map[string]string{line.ItemID(): line.ZoneID()},
		isBound:  true, // the list is walked at one site
		site:     zones[line.ZoneID()].SiteID,
	})
}

// appendPickLines puts reservations at the end of a list.
func (k work) appendPickLines(list string, rows []record.Reservation) error {
	last, err := record.List[record.PickLine](k.Tx, "pick_list_id = $2 ORDER BY seq DESC LIMIT 1", list)
	if err != nil || len(last) == 0 {
		return err
	}
	n := last[0].Seq()
	var lines []record.PickLine
	for _, r := range rows {
		n++
		lines = append(lines, pickLine(list, n, r))
	}
	_, err = record.Insert(k.Tx, lines)
	return err
}

// openRecount opens a blind count of the item at the bin, unless one is open.
func (k work) openRecount(c *verb.Call, line record.PickLine, reason string, out *ShortPickOut) error {
	open, err := record.List[record.CountTask](k.Tx,
		"zone_id = $2 AND item_id = $3 AND status IN ('open', 'counting', 'counted') ORDER BY id LIMIT 1",
		line.ZoneID(), line.ItemID())
	if err != nil {
		return err
	}
	if len(open) == 0 {
		row := record.CountTask{"zone_id": line.ZoneID(), "item_id": line.ItemID(), "method": "cycle", "blind": true,
			"reason": "short pick: " + reason}
		row.SetOpenKey(line.ZoneID() + "|" + line.ItemID())
		if open, err = record.Insert(k.Tx, []record.CountTask{row}); err != nil {
			return err
		}
	}
	out.CountTask = record.Show(c, open[0])
	return nil
}
