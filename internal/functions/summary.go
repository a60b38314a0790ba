package functions

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/safety"
)

// SummaryIn is empty: admin-dashboard-summary takes no parameters.
type SummaryIn struct{}

// Sizes of the summary's lists, which have no pages: the snapshot and the
// collections go further.
const (
	summaryZones     = 500
	summaryItems     = 200
	summaryPicks     = 200
	summaryShipments = 20
)

// summaryFor is how long the summary is kept.
const summaryFor = 30 * time.Second

type summary struct {
	totals                         totals
	zones, items, picks, shipments *list
	settings                       []byte
	section                        string
	place                          string // the tenant's time zone
	today                          int64
	health                         health
}

func (d *dashboard) summaryShared(a actor.Actor) bool {
	return d.shared(a, "zones", "items", "pick_lists", "shipments", "settings")
}

// summary answers admin-dashboard-summary. The bounds of the local day depend
// on the tenant's time zone, which is guessed from last time and read along: a
// wrong guess costs a second round trip.
func (d *dashboard) summary(ctx context.Context, a actor.Actor, _ *SummaryIn) ([]byte, error) {
	now := d.now().UTC()
	guess, _ := d.places.Get(a.TenantID, now)
	kept, known := d.health.Get(a.TenantID, now)
	s := summary{totals: totals{}, zones: d.list(a, "zones"), items: d.list(a, "items"), picks: d.list(a, "pick_lists"), shipments: d.list(a, "shipments"), place: "UTC"}
	var as *assessment
	err := d.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		d.store.Counts(tx, a.TenantID, s.totals)
		s.queue(d, tx, a)
		s.queueToday(d, tx, a, now, guess)
		if !known {
			as = d.queueHealth(tx, a, now)
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		if safety.Location(s.place).String() != safety.Location(guess).String() {
			s.queueToday(d, tx, a, now, s.place)
		}
		return tx.Flush()
	})
	if err != nil {
		return nil, err
	}
	d.places.Put(a.TenantID, s.place, now.Add(24*time.Hour))
	if s.health = kept; !known {
		s.health = as.result(now)
		d.keepHealth(a.TenantID, now, as, s.health)
	}
	return s.append(head(s.buffer(), a, now)), nil
}

func (s *summary) queue(d *dashboard, tx *db.Tx, a actor.Actor) {
	s.zones.queue(tx, a, page{size: summaryZones}, " AND r.status <> 'archived'", "lower(r.code)")
	s.items.queue(tx, a, page{size: summaryItems}, " AND r.status = 'active'", "r.sku")
	s.picks.queueStates(tx, a, page{size: summaryPicks}, activePicks)
	s.shipments.queue(tx, a, page{size: summaryShipments}, "", "r.id DESC")
	tx.Queue("SELECT timezone FROM tenants WHERE id = $1", []any{a.TenantID}, func(r *db.Row) error {
		s.place = r.Text(0)
		return nil
	})
	if !d.list(a, "settings").sees {
		return
	}
	tx.Queue("SELECT section, key, value FROM settings WHERE tenant_id = $1 ORDER BY section, key", []any{a.TenantID}, func(r *db.Row) error {
		s.setting(r.Text(0), r.Text(1), r.Text(2))
		return nil
	})
}

// setting adds one setting to the object {section: {key: value}}; they come
// ordered by section.
func (s *summary) setting(section, key, value string) {
	switch {
	case s.settings == nil:
		s.settings = append(db.AppendString(s.settings, section), ":{"...)
	case section != s.section:
		s.settings = append(db.AppendString(append(s.settings, "},"...), section), ":{"...)
	default:
		s.settings = append(s.settings, ',')
	}
	s.section = section
	s.settings = append(append(db.AppendString(s.settings, key), ':'), value...)
}

// queueToday counts what was completed in the current local day, the bounds of
// which need not be full hours of UTC.
func (s *summary) queueToday(d *dashboard, tx *db.Tx, a actor.Actor, now time.Time, place string) {
	from, to := safety.Day(now, safety.Location(place))
	s.today = 0
	d.completed.Queue(tx, a.TenantID, from.Add(-time.Microsecond), to.Add(-time.Microsecond), func(_ string, n int64) { s.today += n })
}

func (s *summary) buffer() []byte {
	return make([]byte, 0, 2048+len(s.zones.buf)+len(s.items.buf)+len(s.picks.buf)+len(s.shipments.buf)+len(s.settings))
}

func (s *summary) append(b []byte) []byte {
	t := s.totals
	b = s.zones.appendTo(append(b, `","zones":`...))
	b = s.items.appendTo(append(b, `,"inventory":{"items":`...))
	b = appendMember(append(b, ','), "total_items", t.inventory().items)
	b = append(appendHealth(append(b, `,"health":`...), s.health), '}')
	b = s.picks.appendTo(append(b, `,"pick_lists":{"active":`...))
	b = append(appendMember(append(b, ','), "active_count", t.of("pick_lists", activePicks...)), '}')
	b = s.shipments.appendTo(append(b, `,"shipments":{"recent":`...))
	b = appendMember(append(b, `,"stats":{`...), "total", t.all("shipments"))
	b = appendMember(append(b, ','), "active", t.of("shipments", activeShipments...))
	b = appendMember(append(b, ','), "in_transit", t["shipments:in_transit"])
	b = appendMember(append(b, ','), "completed_today", s.today)
	b = append(append(b, `}},"settings":{`...), s.settings...)
	if s.settings != nil {
		b = append(b, '}')
	}
	return append(b, "}}"...)
}
