package warehouse

import (
	"cmp"
	"context"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/blocks"
	"holdfast/internal/warehouse/routing"
)

// WalkLine is a line of a pick list that is still to be picked.
type WalkLine struct {
	ID, ZoneID, ZoneCode, ItemID string
	Seq                          int64
	Qty                          decimal.Dec
}

// PickWalk is the order in which a pick list is best walked.
type PickWalk struct {
	ListID, Number string
	Lines          []WalkLine // as they should be picked, numbered so
	Metres, Before float64    // walked in that order, and in the one there is
	Unplaced       []string   // codes of zones without coordinates; they come last
}

// walkZone is where lines are picked.
type walkZone struct {
	id, code string
	x, y, z  decimal.Dec
	rank     int64
	aisle    string
}

// hasCoordinates reports a zone with coordinates. Zones begin at (0, 0, 0), so that is
// where those lie that nobody has placed.
func (z *walkZone) hasCoordinates() bool { return z.x != 0 || z.y != 0 || z.z != 0 }

func (z *walkZone) routingPlace() routing.Place {
	return routing.Place{Aisle: z.aisle, X: z.x.Float(), Y: z.y.Float(), Z: z.z.Float()}
}

// walkData is what an order of walking depends on.
type walkData struct {
	status string
	walk   PickWalk
	zones  map[string]*walkZone
	floor  routing.Floor
}

// WalkOf finds the order in which the pending lines of a pick list are best
// walked, from a zone and back to it, or from wherever they begin when start is
// "". It changes nothing. A list or zone that does not exist is
// fault.NotFound; more zones than routing.MaxStops is fault.Invalid.
func WalkOf(ctx context.Context, s *store.Store, a actor.Actor, list, start string) (*PickWalk, error) {
	d := &walkData{walk: PickWalk{ListID: list}, zones: map[string]*walkZone{}, floor: routing.Floor{}}
	if err := s.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error { return d.readWalk(tx, a.TenantID, start) }); err != nil {
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
		return notReady("pick list %s is %s", number, status)
	}
	return nil
}

// readWalk reads the list, its pending lines and the layout around them: three
// statements and their round trips, however long the list.
func (d *walkData) readWalk(tx *db.Tx, tenant, start string) error {
	var zones set
	tx.Queue("SELECT pick_no, status FROM pick_lists WHERE tenant_id = $1 AND id = $2", []any{tenant, d.walk.ListID}, func(r *db.Row) error {
		d.walk.Number, d.status = r.Text(0), r.Text(1)
		return nil
	})
	tx.Queue("SELECT id, zone_id, item_id, seq, qty FROM pick_lines WHERE tenant_id = $1 AND pick_list_id = $2 AND status = 'pending' ORDER BY seq",
		[]any{tenant, d.walk.ListID}, func(r *db.Row) error {
			d.walk.Lines = append(d.walk.Lines, WalkLine{ID: r.Text(0), ZoneID: r.Text(1), ItemID: r.Text(2), Seq: r.Int(3), Qty: r.Dec(4)})
			zones.addID(r.Text(1))
			return nil
		})
	if err := tx.Flush(); err != nil {
		return err
	}
	zones.addID(start)
	if len(zones.list) == 0 {
		return nil
	}
	if err := d.readZones(tx, tenant, zones.list); err != nil {
		return err
	}
	if start != "" && d.zones[start] == nil {
		return fault.New(fault.NotFound, "", "there is no zone %s", start).At("start_zone_id", "unknown")
	}
	return d.readAisles(tx, tenant)
}

// readZones reads zones and the aisle that each lies in: the nearest zone of
// that kind above it.
func (d *walkData) readZones(tx *db.Tx, tenant string, ids []string) error {
	return tx.Query("WITH RECURSIVE up(zone_id, id, parent_id, kind, depth) AS ("+
		"SELECT id, id, parent_id, kind, 1 FROM zones WHERE tenant_id = $1 AND "+tx.DB().InUUID("id", 2)+
		" UNION ALL SELECT up.zone_id, z.id, z.parent_id, z.kind, up.depth + 1 FROM up JOIN zones z ON z.tenant_id = $1 AND z.id = up.parent_id WHERE "+
		"up.depth < 8 AND up.kind <> 'aisle') "+
		"SELECT z.id, z.code, z.x, z.y, z.z, z.pick_sequence, a.id FROM zones z LEFT JOIN up a ON a.zone_id = z.id AND a.kind = 'aisle' WHERE z.tenant_id "+
		"= $1 AND "+tx.DB().InUUID("z.id", 2),
		[]any{tenant, jsonList(ids)}, func(r *db.Row) error {
			d.zones[r.Text(0)] = &walkZone{r.Text(0), r.Text(1), r.Dec(2), r.Dec(3), r.Dec(4), r.Int(5), r.Text(6)}
			return nil
		})
}

// readAisles reads how far the aisles reach: over all that lies in them.
func (d *walkData) readAisles(tx *db.Tx, tenant string) error {
	var aisles set
	for _, z := range d.zones {
		aisles.addID(z.aisle)
	}
	if len(aisles.list) == 0 {
		return nil
	}
	return tx.Query("WITH RECURSIVE down(aisle, id, y, depth) AS ("+
		"SELECT id, id, y, 1 FROM zones WHERE tenant_id = $1 AND "+tx.DB().InUUID("id", 2)+
		" UNION ALL SELECT d.aisle, z.id, z.y, d.depth + 1 FROM down d JOIN zones z ON z.tenant_id = $1 AND z.parent_id = d.id WHERE d.depth < 8 AND "+
		"z.status <> 'archived') "+
		"SELECT aisle, MIN(y), MAX(y) FROM down GROUP BY aisle", []any{tenant, jsonList(aisles.list)}, func(r *db.Row) error {
		d.floor[r.Text(0)] = routing.Ends{Front: r.Dec(1).Float(), Back: r.Dec(2).Float()}
		return nil
	})
}

// orderLines sorts the lines: zones with coordinates as they are best walked, the
// others behind them by pick_sequence and code. The numbers that the lines have
// are dealt out anew among them.
func (d *walkData) orderLines(start string) error {
	var zones set
	byZone := map[string][]WalkLine{}
	for _, l := range d.walk.Lines {
		zones.addID(l.ZoneID)
		byZone[l.ZoneID] = append(byZone[l.ZoneID], l)
	}
	var stops, lost []*walkZone
	for _, id := range zones.list {
		if z := d.zones[id]; z.hasCoordinates() {
			stops = append(stops, z)
		} else {
			lost = append(lost, z)
		}
	}
	if err := d.orderStops(stops, start); err != nil {
		return err
	}
	slices.SortFunc(lost, func(a, b *walkZone) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.code, b.code)) })
	for _, z := range lost {
		d.walk.Unplaced = append(d.walk.Unplaced, z.code)
	}
	var out []WalkLine
	for _, z := range append(stops, lost...) {
		for _, l := range byZone[z.id] {
			l.ZoneCode, l.Seq = z.code, d.walk.Lines[len(out)].Seq
			out = append(out, l)
		}
	}
	d.walk.Lines = out
	return nil
}

// orderStops sorts stops as they are best walked and notes both distances. What
// is walked now follows the lines, also where they come back to a zone.
func (d *walkData) orderStops(stops []*walkZone, start string) error {
	var from *routing.Place
	if z := d.zones[start]; z != nil && z.hasCoordinates() {
		p := z.routingPlace()
		from = &p
	}
	places := make([]routing.Place, len(stops))
	for i, z := range stops {
		places[i] = z.routingPlace()
	}
	best, err := routing.Pick(places, from, d.floor)
	if err != nil {
		return err
	}
	var now []routing.Place
	for i, l := range d.walk.Lines {
		if z := d.zones[l.ZoneID]; z.hasCoordinates() && (i == 0 || d.walk.Lines[i-1].ZoneID != l.ZoneID) {
			now = append(now, z.routingPlace())
		}
	}
	if d.walk.Before, err = routing.Length(now, from, d.floor); err != nil {
		return err
	}
	d.walk.Metres = best.Metres
	sorted := make([]*walkZone, len(stops))
	for i, n := range best.Order {
		sorted[i] = stops[n]
	}
	copy(stops, sorted)
	return nil
}

// Take gives the lines of a pick list the order of a walk, and the list its
// length. What has changed since the walk was found is fault.Conflict, and
// nothing is changed.
func (w *PickWalk) Take(tx *store.Tx) error {
	rows, err := tx.Rows("pick_lists", "id = $2"+tx.DB().ForUpdate(), w.ListID)
	if err != nil {
		return err
	}
	status := ""
	if len(rows) == 1 {
		status = rows[0].Text("status")
	}
	if err := checkWalkable(w.Number, status); err != nil {
		return err
	}
	there, same := map[string]int64{}, true
	err = tx.Query("SELECT id, seq FROM pick_lines WHERE tenant_id = $1 AND pick_list_id = $2 AND status = 'pending' ORDER BY id"+tx.DB().ForUpdate(),
		[]any{tx.TenantID, w.ListID}, func(r *db.Row) error {
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
		return fault.New(fault.Conflict, CodeOrder, "the lines of pick list %s have changed meanwhile; plan its walk again", w.Number)
	}
	if moved {
		w.renumberLines(tx.Tx, tx.TenantID, query.FormatTime(tx.Now()))
	}
	err = tx.UpdateRows("pick_lists", []string{w.ListID}, store.Row{"route_m": decimal.FromFloat(w.Metres)})
	return err
}

// renumberLines writes the lines' numbers. They are unique in a list at any moment,
// so they go out of each other's way first.
func (w *PickWalk) renumberLines(tx *db.Tx, tenant, now string) {
	tx.Queue("UPDATE pick_lines SET seq = -seq WHERE tenant_id = $1 AND pick_list_id = $2 AND status = 'pending'", []any{tenant, w.ListID}, nil)
	b := blocks.Block{
		Head: "WITH v(id, seq) AS (VALUES ((SELECT id FROM pick_lines WHERE 1 = 0), CAST(0 AS bigint)), ",
		Tail: ") UPDATE pick_lines SET seq = v.seq, updated_at = $2, version = version + 1 " +
			"FROM v WHERE pick_lines.tenant_id = $1 AND pick_lines.id = v.id",
		Fixed: []any{tenant, now}, Width: 2,
	}
	b.QueueRows(tx, len(w.Lines), func(i int, args []any) []any { return append(args, w.Lines[i].ID, w.Lines[i].Seq) })
}
