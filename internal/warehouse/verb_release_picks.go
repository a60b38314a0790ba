package warehouse

import (
	"fmt"
	"slices"
	"strconv"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/scanning"
	"holdfast/internal/warehouse/walking"
)

// ReleasePicksIn names the orders whose reserved goods are to be fetched.
type ReleasePicksIn struct {
	OrderIDs []string `json:"order_ids" max:"200" format:"uuid" names:"orders" doc:"Outbound orders, confirmed or in progress."`
	WaveID   string   `json:"wave_id" format:"uuid" names:"waves" doc:"A planned wave, in place of order_ids; its lists have its number."`
	Method   string   `json:"method" enum:"single batch wave" default:"single" doc:"A list for each order, for all together, or a wave of lists."`
	MaxLines int64    `json:"max_lines" min:"1" max:"500" doc:"Lines of a list at most; 60 in a wave when absent."`
}

// ReleasePicksOut is the lists that were made.
type ReleasePicksOut struct {
	verb.Answer
	PickLists []verb.Record `json:"pick_lists" record:"pick_lists"`
	Lines     []verb.Record `json:"lines" record:"pick_lines" doc:"In walking order, list by list."`
}

// waveLines is how many lines a list of a wave has when nobody says.
const waveLines = 60

func (w Watch) releasePicks(c *verb.Call, in *ReleasePicksIn) (*ReleasePicksOut, error) {
	k := w.workOf(c)
	wave, err := plannedWave(c, in)
	if err != nil {
		return nil, err
	}
	ids := slices.Compact(slices.Sorted(slices.Values(in.OrderIDs)))
	orders, err := record.Lock[record.Order](c, "order_ids", ids...)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		if err := checkWorkable(o); err != nil {
			return nil, err
		}
	}
	open, err := k.listUnlisted(ids)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return nil, notReady("nothing that is reserved for these orders waits to be picked").At("order_ids",
			"have no reservation that no list has")
	}
	layout, err := k.orderByWalk(open)
	if err != nil {
		return nil, err
	}
	batches, err := walkBatches(layout, cutBatches(in, open))
	if err != nil {
		return nil, err
	}
	lists, err := k.writePickLists(in, wave.WaveNo(), batches)
	if err != nil {
		return nil, err
	}
	if wave != nil {
		set := record.Wave{"status": "released", "released_at": query.FormatTime(k.Now())}
		if err := record.Update(k.Tx, []string{wave.ID()}, set); err != nil {
			return nil, err
		}
	}
	return pickListsOut(c, lists)
}

// plannedWave locks the wave that is named and takes those of its orders that may be
// picked; nil where orders are named.
func plannedWave(c *verb.Call, in *ReleasePicksIn) (record.Wave, error) {
	switch {
	case in.WaveID == "" && len(in.OrderIDs) == 0:
		return nil, refuseMovement("order_ids", "name the orders, or a planned wave")
	case in.WaveID == "":
		return nil, nil
	case len(in.OrderIDs) > 0:
		return nil, refuseMovement("order_ids", "the wave says which orders: name one or the other")
	}
	wave, err := record.One[record.Wave](c, "wave_id", in.WaveID)
	if err != nil {
		return nil, err
	}
	if s := wave.Status(); s != "planned" {
		return nil, fault.New(fault.Conflict, "HF001", "wave %s is %s", wave.WaveNo(), s).At("wave_id", "is %s", s)
	}
	named := jsonList(store.Texts(wave.OrderIDs()))
	orders, err := record.List[record.Order](c.Tx, "id IN {ids $2} AND status IN ('confirmed', 'in_progress')", named)
	if err != nil {
		return nil, err
	}
	if len(orders) == 0 {
		return nil, notReady("no order of wave %s may be picked: they are on hold or have ended", wave.WaveNo()).
			At("wave_id", "has no order that may be picked")
	}
	in.OrderIDs, in.Method = record.IDs(orders), "wave"
	return wave, nil
}

// stop is a reservation with its order, site and place on a walk.
type stop struct {
	record.Reservation
	order, site string
	place       int
}

// listUnlisted are the reservations of orders that no open pick line fetches.
func (k work) listUnlisted(orders []string) ([]stop, error) {
	lines, err := record.List[record.OrderLine](k.Tx, k.DB().InUUID("order_id", 2)+" ORDER BY order_id, line_no",
		jsonList(orders))
	if err != nil {
		return nil, err
	}
	of := map[string]string{}
	for _, l := range lines {
		of[l.ID()] = l.OrderID()
	}
	rows, err := record.List[record.Reservation](k.Tx, k.DB().InUUID("order_line_id", 2)+
		" AND state = 'active' AND NOT picked AND NOT EXISTS "+
		"(SELECT 1 FROM pick_lines p JOIN pick_lists g ON g.tenant_id = $1 AND g.id = p.pick_list_id WHERE p.tenant_id = $1 AND p.reservation_id = "+
		"reservations.id "+
		"AND p.status = 'pending' AND g.status <> 'cancelled') ORDER BY id", jsonList(record.IDs(lines)))
	out := make([]stop, len(rows))
	for i, r := range rows {
		out[i] = stop{Reservation: r, order: of[r.OrderLineID()]}
	}
	return out, err
}

// orderByWalk gives stops their place on one walk through the warehouse, and returns the
// layout of that.
func (k work) orderByWalk(list []stop) (*walking.Layout, error) {
	lines := linesToWalk(list)
	var zones []string
	for _, l := range lines {
		zones = append(zones, l.ZoneID)
	}
	layout, err := walking.ReadLayout(k.Tx, zones)
	if err != nil {
		return nil, err
	}
	places, err := layout.OrderStops(lines)
	if err != nil {
		return nil, err
	}
	for i := range list {
		at := places[list[i].ID()]
		list[i].place, list[i].site = at.Index, at.Site
	}
	slices.SortFunc(list, func(a, b stop) int { return a.place - b.place })
	return layout, nil
}

// linesToWalk are stops as a walk knows them.
func linesToWalk(list []stop) []walking.Line {
	lines := make([]walking.Line, len(list))
	for i, s := range list {
		lines[i] = walking.Line{ID: s.ID(), ZoneID: s.ZoneID(), Seq: int64(i + 1)}
	}
	return lines
}

// mostWalked bounds what a release spends on lists one by one: the sum of the squares of their
// stops, as the time of a walk grows. Three lists of seventy stops or a hundred of twelve are
// some 0.1 s. The others keep the order of the walk through all of it.
const mostWalked = 15_000

// batch is the stops of one list, and how long its walk is.
type batch struct {
	stops  []stop
	metres decimal.Dec // 0 = not known
}

// walkBatches orders each batch as it is best walked by itself.
func walkBatches(layout *walking.Layout, groups [][]stop) ([]batch, error) {
	out := make([]batch, len(groups))
	walked := 0
	for i, g := range groups {
		out[i].stops = g
		effort := len(g) * len(g)
		if walked+effort > mostWalked {
			continue
		}
		walked += effort
		walk, err := layout.OrderList(linesToWalk(g))
		if err != nil {
			return nil, err
		}
		at := map[string]int{}
		for place, l := range walk.Lines {
			at[l.ID] = place
		}
		slices.SortFunc(g, func(a, b stop) int { return at[a.ID()] - at[b.ID()] })
		out[i].metres = decimal.FromFloat(walk.Metres)
	}
	return out, nil
}

// cutBatches cuts stops, which are in walking order, into lists. A list is walked at one
// site.
func cutBatches(in *ReleasePicksIn, open []stop) (out [][]stop) {
	most := int(in.MaxLines)
	if most == 0 && in.Method == "wave" {
		most = waveLines
	}
	for _, g := range groupByWalk(in.Method == "single", open) {
		size := most
		if size == 0 {
			size = len(g)
		}
		out = slices.AppendSeq(out, slices.Chunk(g, size))
	}
	return out
}

// groupByWalk groups stops by their site and, where each order has its own list, by
// order.
func groupByWalk(byOrder bool, open []stop) (groups [][]stop) {
	at := map[[2]string]int{}
	for _, s := range open {
		key := [2]string{s.site}
		if byOrder {
			key[1] = s.order
		}
		if _, known := at[key]; !known {
			at[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], s)
	}
	return groups
}

// writePickLists writes released pick lists.
func (k work) writePickLists(in *ReleasePicksIn, wave string, batches []batch) ([]record.PickList, error) {
	rows := make([]record.PickList, len(batches))
	if wave == "" && in.Method == "wave" {
		zone, err := readZone(k.Tx)
		if err != nil {
			return nil, fmt.Errorf("warehouse: read the time zone of a wave's number: %w", err)
		}
		wave = "W-" + k.Now().In(zone).Format("20060102-150405")
	}
	for i, b := range batches {
		rows[i] = record.PickList{"id": db.NewID(), "strategy": in.Method}
		setGiven(store.Row(rows[i]), "wave_no", wave)
		if b.metres > 0 {
			rows[i].SetRouteM(b.metres)
		}
	}
	lists, err := record.Insert(k.Tx, rows)
	if err != nil {
		return nil, err
	}
	var lines []record.PickLine
	for i, b := range batches {
		for n, s := range b.stops {
			lines = append(lines, pickLine(rows[i].ID(), int64(n+1), s.Reservation))
		}
	}
	if _, err := record.Insert(k.Tx, lines); err != nil {
		return nil, err
	}
	return lists, k.UpdateRows("pick_lists", record.IDs(lists), store.Row{"status": "released"})
}

// pickLine is a line that fetches a reservation.
func pickLine(list string, seq int64, r record.Reservation) record.PickLine {
	return record.PickLine{"pick_list_id": list, "seq": seq, "order_line_id": r.OrderLineIDOrNull(),
		"reservation_id": r.IDOrNull(),
		"zone_id":        r.ZoneIDOrNull(), "item_id": r.ItemIDOrNull(),
		"lot_id": r.LotIDOrNull(), "serial": r.SerialOrNull(), "lpn": r.LPNOrNull(), "qty": r.QuantityOrNull()}
}

// pickListsOut reads lists and their lines back.
func pickListsOut(c *verb.Call, lists []record.PickList) (*ReleasePicksOut, error) {
	in := c.DB().InUUID
	ids := jsonList(record.IDs(lists))
	rows, err := record.List[record.PickList](c.Tx, in("id", 2)+" ORDER BY pick_no", ids)
	if err != nil {
		return nil, err
	}
	lines, err := record.List[record.PickLine](c.Tx, in("pick_list_id", 2)+" ORDER BY pick_list_id, seq", ids)
	if err != nil {
		return nil, err
	}
	out := &ReleasePicksOut{PickLists: record.ShowList(c, rows), Lines: record.ShowList(c, lines)}
	out.Then("claim_pick_list", "Take a list")
	return out, nil
}

// checkScan refuses a scan that is none of the codes expected.
func checkScan(field, scan string, codes ...string) error {
	if scan == "" || slices.Contains(codes, scan) {
		return nil
	}
	return fault.New(fault.Conflict, scanning.CodeScan, "%s is not what is to be picked here", strconv.Quote(scan)).
		At(field, "does not match")
}

// refuseAbove refuses a quantity that is more than it may be, with HF022.
func refuseAbove(field string, q, most decimal.Dec, what string) error {
	return fault.New(fault.Conflict, CodeOver, "%s is more than %s: %s", q, what, most).At(field, "is more than %s", most)
}
