package programme

import (
	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/score"
)

// fillRates reads TRIR or DART of zones or of the tenant: recordable cases by
// the day of their injury over hours of shifts that ended in the window.
// No hours is unknown.
func (s *scan) fillRates(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	if r.Per == "tenant" {
		s.fillHours(tx, r, kind, t)
	} else {
		t.hours = make([]float64, len(t.values))
		queueHours(tx, selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}, s.windowStart(r.WindowDays), s.now, func(i int, h, _ float64) {
			t.hours[i], t.known[i] = h, h > 0 // 0 until a case is found
		}, s.groups[kind])
	}
	rate := func(i int, counted score.Recordables) error {
		f := score.TRIR
		if r.Metric == "dart" {
			f = score.DART
		}
		hours := t.work
		if i >= 0 {
			hours = t.hours[i]
		}
		v, err := f(counted, hours)
		if err != nil || v.Value == nil {
			return err
		}
		t.any = true
		if i < 0 {
			t.total = *v.Value
		} else {
			t.values[i], t.known[i] = *v.Value, true
		}
		return nil
	}
	args := []any{s.tenant, s.windowStart(r.WindowDays), s.now}
	by, group := "NULL", ""
	if r.Per != "tenant" {
		by = "i.zone_id"
		group = " AND i.zone_id IS NOT NULL" + selector{id: s.in.EntityID}.entityCondition("i.zone_id", &args) + " GROUP BY i.zone_id"
	}
	g := s.groups[kind]
	tx.Queue(db.FillWords(`
		SELECT {by}, COUNT(*) FILTER (WHERE c.outcome = 'death'),
			COUNT(*) FILTER (WHERE c.outcome = 'days_away'), COUNT(*) FILTER (WHERE c.outcome = 'restricted'),
			COUNT(*) FILTER (WHERE c.outcome = 'other')
		FROM osha_cases c
		JOIN incidents i ON i.tenant_id = c.tenant_id AND i.id = c.incident_id
		WHERE c.tenant_id = $1
			AND c.recordable = 'yes'
			AND i.status <> 'void'
			AND i.occurred_at > $2
			AND i.occurred_at <= $3 {group}`, "{by}", by, "{group}", group), args, func(row *db.Row) error {
		i := -1
		if r.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		return rate(i, score.Recordables{Deaths: int(row.Int(1)), DaysAway: int(row.Int(2)), Restricted: int(row.Int(3)), Other: int(row.Int(4))})
	})
}
