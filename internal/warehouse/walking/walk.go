// Package walking orders the lines of pick lists as they are best walked, at each site
// apart.
//
// Layer: domains. Begin at [FindWalk].
package walking

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/blocks"
	"holdfast/internal/warehouse/routing"
	"holdfast/internal/warehouse/sites"
)

// codeOrder is a list that is not walked any more, or has changed meanwhile.
const codeOrder = "HF006"

// Line is a line of a pick list that is still to be picked.
type Line struct {
	ID, ZoneID, ZoneCode, ItemID string
	Seq                          int64
	Qty                          decimal.Dec
}

// Walk is the order in which a pick list is best walked.
type Walk struct {
	ListID, Number string
	Lines          []Line   // as they should be picked, numbered so
	Metres, Before float64  // walked in that order, and in the one there is
	Unplaced       []string // codes of zones without coordinates; they come last
}

// walkZone is where lines are picked.
type walkZone struct {
	id, code string
	x, y, z  decimal.Dec
	rank     int64
	aisle    string
	site     string // "" = none
}

// hasCoordinates reports a zone with coordinates. Zones begin at (0, 0, 0), so that is
// where those lie that nobody has placed.
func (z *walkZone) hasCoordinates() bool { return z.x != 0 || z.y != 0 || z.z != 0 }

func (z *walkZone) routingPlace() routing.Place {
	return routing.Place{Aisle: z.aisle, X: z.x.Float(), Y: z.y.Float(), Z: z.z.Float()}
}

// Place is where a stop comes in a walk.
type Place struct {
	Index int
	Site  string // "" = none
}

// Layout is where zones lie and how their aisles are walked.
type Layout struct {
	zones map[string]*walkZone
	floor routing.Floor
}

// ReadLayout reads the layout around zones.
func ReadLayout(tx *store.Tx, zones []string) (*Layout, error) {
	l := newLayout()
	slices.Sort(zones)
	if err := l.readZones(tx.Tx, tx.TenantID, slices.Compact(zones)); err != nil {
		return nil, err
	}
	return &l, l.readAisles(tx.Tx, tx.TenantID)
}

func newLayout() Layout {
	return Layout{zones: map[string]*walkZone{}, floor: routing.Floor{}}
}

// OrderStops returns the places of lines on one walk through the layout, by their ids. More
// zones than routing.MaxStops are left in the order that they have, site by site.
func (l *Layout) OrderStops(lines []Line) (map[string]Place, error) {
	if len(l.zones) <= routing.MaxStops {
		walk, err := l.OrderList(lines)
		if err != nil {
			return nil, err
		}
		lines = walk.Lines
	}
	places := map[string]Place{}
	for i, line := range lines {
		places[line.ID] = Place{Index: i, Site: l.zones[line.ZoneID].site}
	}
	return places, nil
}

// OrderList orders lines as a list of its own is best walked.
func (l *Layout) OrderList(lines []Line) (*Walk, error) {
	d := &walkData{Layout: *l, walk: Walk{Lines: slices.Clone(lines)}}
	return &d.walk, d.orderLines("")
}

// walkData is what an order of walking depends on.
type walkData struct {
	status string
	walk   Walk
	Layout
}

// FindWalk finds the order in which the pending lines of a pick list are best
// walked, from a zone and back to it, or from wherever they begin when start is
// "". It changes nothing. A list or zone that does not exist is
// fault.NotFound; more zones than routing.MaxStops is fault.Invalid.
func FindWalk(ctx context.Context, s *store.Store, a actor.Actor, list, start string) (*Walk, error) {
	d := &walkData{walk: Walk{ListID: list}, Layout: newLayout()}
	err := s.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		return d.readWalk(tx, a.TenantID, start)
	})
	if err != nil {
		return nil, err
	}
	if err := checkWalkable(d.walk.Number, d.status); err != nil {
		return nil, err
	}
	return &d.walk, d.orderLines(start)
}

// checkWalkable refuses a list that nobody walks any more.
func checkWalkable(number, status string) error {
	switch status {
	case "":
		return fault.New(fault.NotFound, "", "there is no such pick list").At("pick_list_id", "unknown")
	case "completed", "cancelled":
		return fault.New(fault.Conflict, codeOrder, "pick list %s is %s", number, status)
	}
	return nil
}

// listSQL selects a pick list. $1 tenant, $2 list.
const listSQL = `
	SELECT pick_no, status
	FROM pick_lists
	WHERE tenant_id = $1
		AND id = $2`

// linesSQL selects the lines of a pick list that are still to be picked. $1 tenant, $2
// list.
const linesSQL = `
	SELECT id, zone_id, item_id, seq, qty
	FROM pick_lines
	WHERE tenant_id = $1
		AND pick_list_id = $2
		AND status = 'pending'
	ORDER BY seq`

// readWalk reads the list, its pending lines and the layout around them: three
// statements and their round trips, however long the list.
func (d *walkData) readWalk(tx *db.Tx, tenant, start string) error {
	var zones []string
	tx.Queue(listSQL, []any{tenant, d.walk.ListID}, func(r *db.Row) error {
		d.walk.Number, d.status = r.Text(0), r.Text(1)
		return nil
	})
	tx.Queue(linesSQL,
		[]any{tenant, d.walk.ListID}, func(r *db.Row) error {
			l := Line{ID: r.Text(0), ZoneID: r.Text(1), ItemID: r.Text(2), Seq: r.Int(3), Qty: r.Dec(4)}
			d.walk.Lines = append(d.walk.Lines, l)
			zones = append(zones, r.Text(1))
			return nil
		})
	if err := tx.Flush(); err != nil {
		return err
	}
	if start != "" {
		zones = append(zones, start)
	}
	if len(zones) == 0 {
		return nil
	}
	if err := d.readZones(tx, tenant, zones); err != nil {
		return err
	}
	if start != "" && d.zones[start] == nil {
		return fault.New(fault.NotFound, "", "there is no zone %s", start).At("start_zone_id", "unknown")
	}
	return d.readAisles(tx, tenant)
}

// walkZonesSQL selects zones and the aisle that each lies in. $1 tenant, $2 ids of zones.
const walkZonesSQL = `
	WITH RECURSIVE up(zone_id, id, parent_id, kind, depth) AS (
		SELECT zones.id, zones.id, zones.parent_id, zones.kind, 1
		FROM zones
		WHERE zones.tenant_id = $1
			AND zones.id IN {ids $2}
		UNION ALL
		SELECT up.zone_id, above.id, above.parent_id, above.kind, up.depth + 1
		FROM up
		JOIN zones AS above ON above.tenant_id = $1 AND above.id = up.parent_id
		WHERE up.depth < 8
			AND up.kind <> 'aisle'
	)
	SELECT zone.id, zone.code, zone.x, zone.y, zone.z, zone.pick_sequence, up.id, {site}
	FROM zones AS zone
	LEFT JOIN up ON up.zone_id = zone.id AND up.kind = 'aisle'
	WHERE zone.tenant_id = $1
		AND zone.id IN {ids $2}`

// readZones reads zones, the site of each and the aisle that it lies in: the nearest zone
// of that kind above it.
func (l *Layout) readZones(tx *db.Tx, tenant string, ids []string) error {
	return tx.Query(sites.FillStatement(walkZonesSQL), []any{tenant, query.List(ids)}, func(r *db.Row) error {
		l.zones[r.Text(0)] = &walkZone{
			id: r.Text(0), code: r.Text(1), x: r.Dec(2), y: r.Dec(3), z: r.Dec(4),
			rank: r.Int(5), aisle: r.Text(6), site: r.Text(7),
		}
		return nil
	})
}

// aislesSQL selects how far aisles reach. $1 tenant, $2 ids of aisles.
const aislesSQL = `
	WITH RECURSIVE down(aisle, id, y, depth) AS (
		SELECT zones.id, zones.id, zones.y, 1
		FROM zones
		WHERE zones.tenant_id = $1
			AND zones.id IN {ids $2}
		UNION ALL
		SELECT down.aisle, below.id, below.y, down.depth + 1
		FROM down
		JOIN zones AS below ON below.tenant_id = $1 AND below.parent_id = down.id
		WHERE down.depth < 8
			AND below.status <> 'archived'
	)
	SELECT aisle, MIN(y), MAX(y)
	FROM down
	GROUP BY aisle`

// readAisles reads how far the aisles reach: over all that lies in them.
func (l *Layout) readAisles(tx *db.Tx, tenant string) error {
	var aisles []string
	for _, z := range l.zones {
		if z.aisle != "" {
			aisles = append(aisles, z.aisle)
		}
	}
	if len(aisles) == 0 {
		return nil
	}
	return tx.Query(aislesSQL, []any{tenant, query.List(aisles)}, func(r *db.Row) error {
		l.floor[r.Text(0)] = routing.Ends{Front: r.Dec(1).Float(), Back: r.Dec(2).Float()}
		return nil
	})
}

// orderLines sorts the lines, site by site, because no distance leads from one to
// another: that of the start first, then as the lines name them. At each, zones with
// coordinates come as they are best walked, the others behind them by pick_sequence and
// code. The numbers that the lines have are dealt out anew among them.
func (d *walkData) orderLines(start string) error {
	var out []Line
	for _, site := range d.listSites(start) {
		walked, err := d.orderSite(site, start)
		if err != nil {
			return err
		}
		out = append(out, walked...)
	}
	for i := range out {
		out[i].Seq = d.walk.Lines[i].Seq
	}
	d.walk.Lines = out
	return nil
}

// listSites are the sites of the lines in the order in which they are walked.
func (d *walkData) listSites(start string) (list []string) {
	if z := d.zones[start]; z != nil && len(d.walk.Lines) > 0 {
		list = append(list, z.site)
	}
	for _, l := range d.walk.Lines {
		if site := d.zones[l.ZoneID].site; !slices.Contains(list, site) {
			list = append(list, site)
		}
	}
	return list
}

// orderSite sorts the lines at one site.
func (d *walkData) orderSite(site, start string) ([]Line, error) {
	var zones []string
	var lines []Line
	for _, l := range d.walk.Lines {
		if d.zones[l.ZoneID].site != site {
			continue
		}
		if !slices.Contains(zones, l.ZoneID) {
			zones = append(zones, l.ZoneID)
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 { // none at the site of the start
		return nil, nil
	}
	var stops, lost []*walkZone
	for _, id := range zones {
		if z := d.zones[id]; z.hasCoordinates() {
			stops = append(stops, z)
		} else {
			lost = append(lost, z)
		}
	}
	var from *routing.Place
	if z := d.zones[start]; z != nil && z.hasCoordinates() && z.site == site {
		p := z.routingPlace()
		from = &p
	}
	if err := d.orderStops(stops, lines, from); err != nil {
		return nil, err
	}
	slices.SortFunc(lost, func(a, b *walkZone) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.code, b.code))
	})
	for _, z := range lost {
		d.walk.Unplaced = append(d.walk.Unplaced, z.code)
	}
	var out []Line
	for _, z := range append(stops, lost...) {
		for _, l := range lines {
			if l.ZoneID == z.id {
				l.ZoneCode = z.code
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// orderStops sorts stops at one site as they are best walked and adds both distances. What
// is walked now follows the lines, also where they come back to a zone.
func (d *walkData) orderStops(stops []*walkZone, lines []Line, from *routing.Place) error {
	places := make([]routing.Place, len(stops))
	for i, z := range stops {
		places[i] = z.routingPlace()
	}
	best, err := routing.Pick(places, from, d.floor)
	if err != nil {
		return err
	}
	var now []routing.Place
	for i, l := range lines {
		if z := d.zones[l.ZoneID]; z.hasCoordinates() && (i == 0 || lines[i-1].ZoneID != l.ZoneID) {
			now = append(now, z.routingPlace())
		}
	}
	length, err := routing.Length(now, from, d.floor)
	if err != nil {
		return err
	}
	d.walk.Before += length
	d.walk.Metres += best.Metres
	sorted := make([]*walkZone, len(stops))
	for i, n := range best.Order {
		sorted[i] = stops[n]
	}
	copy(stops, sorted)
	return nil
}

// pendingSQL selects the lines of a pick list that are still to be picked. $1 tenant, $2
// list.
const pendingSQL = `
	SELECT id, seq
	FROM pick_lines
	WHERE tenant_id = $1
		AND pick_list_id = $2
		AND status = 'pending'
	ORDER BY id`

// Take gives the lines of a pick list the order of a walk, and the list its
// length. What has changed since the walk was found is fault.Conflict, and
// nothing is changed.
func (w *Walk) Take(tx *store.Tx) error {
	rows, err := record.List[record.PickList](tx, "id = $2"+tx.DB().ForUpdate(), w.ListID)
	if err != nil {
		return err
	}
	status := strings.Join(record.Texts(rows, record.PickList.Status), "")
	if err := checkWalkable(w.Number, status); err != nil {
		return err
	}
	there, same := map[string]int64{}, true
	err = tx.Query(pendingSQL+tx.DB().ForUpdate(), []any{tx.TenantID, w.ListID}, func(r *db.Row) error {
		there[r.Text(0)] = r.Int(1)
		return nil
	})
	if err != nil {
		return err
	}
	seqs := map[int64]bool{}
	for _, n := range there {
		seqs[n] = true
	}
	moved := false
	for _, l := range w.Lines {
		n, ok := there[l.ID]
		same = same && ok && seqs[l.Seq]
		moved = moved || n != l.Seq
	}
	if !same || len(there) != len(w.Lines) {
		return fault.New(fault.Conflict, codeOrder,
			"the lines of pick list %s have changed meanwhile; plan its walk again", w.Number)
	}
	if moved {
		w.renumberLines(tx.Tx, tx.TenantID, query.FormatTime(tx.Now()))
	}
	err = tx.UpdateRows("pick_lists", []string{w.ListID}, store.Row{"route_m": decimal.FromFloat(w.Metres)})
	return err
}

// clearSeqSQL takes the numbers of the lines of a pick list that are still to be picked
// out of each other's way. $1 tenant, $2 list.
const clearSeqSQL = `
	UPDATE pick_lines
	SET seq = -seq
	WHERE tenant_id = $1
		AND pick_list_id = $2
		AND status = 'pending'`

// renumberLines writes the lines' numbers. They are unique in a list at any moment,
// so they go out of each other's way first.
func (w *Walk) renumberLines(tx *db.Tx, tenant, now string) {
	tx.Queue(clearSeqSQL, []any{tenant, w.ListID}, nil)
	b := blocks.Block{
		Head: "WITH v(id, seq) AS (VALUES ((SELECT id FROM pick_lines WHERE 1 = 0), CAST(0 AS bigint)), ",
		Tail: ") UPDATE pick_lines SET seq = v.seq, updated_at = $2, version = version + 1 " +
			"FROM v WHERE pick_lines.tenant_id = $1 AND pick_lines.id = v.id",
		Fixed: []any{tenant, now}, Width: 2,
	}
	b.QueueRows(tx, len(w.Lines), func(i int, args []any) []any {
		return append(args, w.Lines[i].ID, w.Lines[i].Seq)
	})
}
