package functions

import (
	"context"
	"strconv"

	"holdfast/internal/actor"
	"holdfast/internal/db"
)

// SnapshotIn asks for a dashboard snapshot. The bound of page keeps its offset
// within 64 bits.
type SnapshotIn struct {
	Lightweight bool  `query:"lightweight" default:"false" doc:"Only metrics and counts, no lists."`
	Page        int64 `query:"page" default:"1" min:"1" max:"1000000000000000" doc:"Page of every list."`
	PageSize    int64 `query:"pageSize" default:"50" min:"1" clamp:"200" doc:"Records per list; more than 200 counts as 200."`
}

// recent is how many of the last incidents and jobs an answer shows.
const recent = 10

type snapshot struct {
	totals                                              totals
	zones, items, picks, shipments, drivers, last, jobs *list
	levels                                              []byte // one stock level per item of the page
}

func (d *dashboard) snapshotShared(a actor.Actor) bool {
	return d.shared(a, "zones", "items", "pick_lists", "shipments", "drivers", "incidents", "import_jobs")
}

// snapshot answers get-dashboard-snapshot-v2.
func (d *dashboard) snapshot(ctx context.Context, a actor.Actor, in *SnapshotIn) ([]byte, error) {
	s := snapshot{totals: totals{}}
	now := d.now()
	err := d.read(ctx, a, func(tx *db.Tx) {
		d.store.Counts(tx, a.TenantID, s.totals)
		if !in.Lightweight {
			s.queue(d, tx, a, page{size: int(in.PageSize), offset: (in.Page - 1) * in.PageSize})
		}
	})
	if err != nil {
		return nil, err
	}
	b := append(head(s.buffer(), a, now), headCached...)
	if in.Lightweight {
		return s.light(b, in), nil
	}
	return s.full(b, in), nil
}

func (s *snapshot) queue(d *dashboard, tx *db.Tx, a actor.Actor, p page) {
	s.zones, s.items, s.picks, s.shipments = d.list(a, "zones"), d.list(a, "items"), d.list(a, "pick_lists"), d.list(a, "shipments")
	s.drivers, s.last, s.jobs = d.list(a, "drivers"), d.list(a, "incidents"), d.list(a, "import_jobs")
	s.zones.queue(tx, a, p, " AND r.status <> 'archived'", "lower(r.code)")
	s.items.each = s.level(s.items.shape)
	s.items.queue(tx, a, p, " AND r.status = 'active'", "r.sku")
	s.picks.queueStates(tx, a, p, activePicks)
	s.shipments.queueStates(tx, a, p, activeShipments)
	s.drivers.queueStates(tx, a, p, activeDrivers)
	// reported_at is never null; comparing it lets the index be walked backwards
	// without a word about nulls, which the engines order differently.
	s.last.queue(tx, a, page{size: recent}, " AND r.reported_at IS NOT NULL AND r.status <> 'void'", "r.reported_at DESC")
	s.jobs.queue(tx, a, page{size: recent}, "", "r.id DESC")
}

// level notes an item's stock level: the sum of its levels, which on_hand is.
func (s *snapshot) level(items *shape) func(*db.Row) {
	id, hand := items.column("id"), items.column("on_hand")
	return func(r *db.Row) {
		if len(s.levels) > 0 {
			s.levels = append(s.levels, ',')
		}
		s.levels = append(r.AppendText(append(s.levels, `{"item_id":"`...), id), `","quantity":`...)
		s.levels = append(r.Dec(hand).Append(s.levels), '}')
	}
}

// column is a field's place in the shape's rows.
func (s *shape) column(name string) int {
	for i, c := range s.cells {
		if string(c.prefix[2:len(c.prefix)-2]) == name {
			return i
		}
	}
	return -1
}

// buffer is room for the whole answer.
func (s *snapshot) buffer() []byte {
	size := 1024 + len(s.levels)
	for _, l := range []*list{s.zones, s.items, s.picks, s.shipments, s.drivers, s.last, s.jobs} {
		if l != nil {
			size += len(l.buf)
		}
	}
	return make([]byte, 0, size)
}

func (s *snapshot) zoneCount() int64 { return s.totals.of("zones", "active", "blocked") }

func (s *snapshot) light(b []byte, in *SnapshotIn) []byte {
	t := s.totals
	b = append(appendMember(append(b, `,"zones":{`...), "total", s.zoneCount()), '}')
	b = append(t.inventory().append(append(b, `,"inventory":{"metrics":`...)), '}')
	b = append(appendMember(append(b, `,"pick_lists":{`...), "active", t.of("pick_lists", activePicks...)), '}')
	b = append(appendMember(append(b, `,"shipments":{`...), "active", t.of("shipments", activeShipments...)), '}')
	b = append(appendMember(append(b, `,"drivers":{`...), "active", t.of("drivers", activeDrivers...)), '}')
	b = append(t.incidents().append(append(b, `,"safety":{"metrics":`...), false), '}')
	b = append(t.jobs(append(b, `,"import":{"metrics":`...)), '}')
	return s.pagination(b, in, false)
}

func (s *snapshot) full(b []byte, in *SnapshotIn) []byte {
	t := s.totals
	b = appendMember(append(b, `,"zones":{`...), "total", s.zoneCount())
	b = append(s.zones.appendTo(append(b, `,"items":`...)), '}')
	b = s.items.appendTo(append(b, `,"inventory":{"items":`...))
	b = t.inventory().append(append(b, `,"metrics":`...))
	b = append(append(append(b, `,"stock_levels":[`...), s.levels...), "]}"...)
	for _, l := range []struct {
		open, name string
		active     []string
		list       *list
	}{
		{`,"pick_lists":{`, "pick_lists", activePicks, s.picks},
		{`,"shipments":{`, "shipments", activeShipments, s.shipments},
		{`,"drivers":{`, "drivers", activeDrivers, s.drivers},
	} {
		b = appendMember(append(b, l.open...), "active", t.of(l.name, l.active...))
		b = append(l.list.appendTo(append(b, `,"items":`...)), '}')
	}
	b = t.incidents().append(append(b, `,"safety":{"metrics":`...), true)
	b = append(s.last.appendTo(append(b, `,"recent_incidents":`...)), '}')
	b = t.jobs(append(b, `,"import":{"metrics":`...))
	b = append(s.jobs.appendTo(append(b, `,"recent_jobs":`...)), '}')
	more := s.zones.more || s.items.more || s.picks.more || s.shipments.more || s.drivers.more
	return s.pagination(b, in, more)
}

func (s *snapshot) pagination(b []byte, in *SnapshotIn, more bool) []byte {
	b = appendMember(append(b, `,"pagination":{`...), "page", in.Page)
	b = appendMember(append(b, ','), "pageSize", in.PageSize)
	b = strconv.AppendBool(append(b, `,"hasMore":`...), more)
	return append(b, "}}"...)
}
