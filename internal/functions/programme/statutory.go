package programme

import (
	"fmt"
	"maps"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
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

// done says when the annual summary of a year is in a state that a rule's
// deadline asks for.
var done = map[string]string{
	"osha_summary.certified": "status <> 'open'",
	"osha_summary.posted":    "posted_from IS NOT NULL",
	"osha_summary.submitted": "status = 'submitted'",
}

// deadlinesSQL selects the American establishments in use, each with the years
// that its records are about, whether the summary of the year is in the state that
// is asked for, and its people: those of no site may be of each. $1 tenant; the
// word is that state's condition.
const deadlinesSQL = `
	SELECT site.id, record.year, record.met, record.summary_id,
		(
			SELECT COUNT(*)
			FROM workers
			WHERE workers.tenant_id = $1
				AND workers.status = 'active'
				AND (workers.site_id = site.id OR workers.site_id IS NULL)
		)
	FROM sites AS site
	LEFT JOIN (
		SELECT summary.site_id, summary.year, CASE WHEN summary.%s THEN 1 ELSE 0 END AS met,
			summary.id AS summary_id
		FROM osha_summaries AS summary
		WHERE summary.tenant_id = $1
		UNION
		SELECT osha_case.site_id, osha_case.year, 0, CAST(NULL AS uuid)
		FROM osha_cases AS osha_case
		WHERE osha_case.tenant_id = $1
	) AS record ON record.site_id = site.id
	WHERE site.tenant_id = $1
		AND site.country = 'US'
		AND site.archived_at IS NULL
	ORDER BY site.id, record.year`

// fillDeadline reads how many days the deadline of the establishment that is
// worst off lies back, negative before it. It is unknown to a tenant that keeps
// no statutory log, and not about one without American establishments, or whose
// establishments are all too small for the rule: each is held to its own number of
// people, not to that of the largest.
func (s *scan) fillDeadline(tx *db.Tx, r *safety.Rule, t *table) {
	state, ok := done[r.State]
	if !ok || r.Per != "tenant" {
		return
	}
	t.exempt = !s.known.american
	var list []*establishment
	last, anything, large := "", false, false
	tx.Queue(fmt.Sprintf(deadlinesSQL, state), []any{s.tenant}, func(row *db.Row) error {
		if id := row.Text(0); id != last {
			last = id
			if !s.appliesToSite(r, row.Int(4)) {
				list = append(list, nil)
				return nil
			}
			large = true
			list = append(list, &establishment{})
		}
		if list[len(list)-1] == nil {
			return nil
		}
		if !row.Null(1) {
			anything = true
			list[len(list)-1].addYear(row)
		}
		return nil
	})

	today := localtime.DateOf(s.now, localtime.Zone(s.st.place)).UTC()
	s.finish = append(s.finish, func() {
		t.exempt = t.exempt || !large && len(list) > 0
		if !anything {
			return
		}
		for _, at := range list {
			if at == nil {
				continue
			}
			days := r.DaysPast(today, &at.record)
			if !t.any || days > t.total {
				delete(t.evidence, everyEntity) // a summary of an establishment that is less late
			}
			t.putValue(everyEntity, days, at.summaries...)
		}
	})
}

// establishment is what one has done for a yearly duty, and the summaries that
// show it, by year.
type establishment struct {
	record    safety.YearlyRecord
	summaries []uuid.UUID
}

// addYear notes a row of deadlinesSQL.
func (e *establishment) addYear(row *db.Row) {
	met := row.Int(2) == 1
	e.record.AddYear(int(row.Int(1)), met)
	if met {
		e.summaries = append(e.summaries, row.UUID(3))
	}
}

// appliesToSite reports whether a rule is about an establishment with that many
// people. While nobody is on record it may be: that is not a small establishment.
func (s *scan) appliesToSite(r *safety.Rule, people int64) bool {
	facts := maps.Clone(s.facts)
	if len(facts) > 0 {
		facts[safety.SiteEmployees] = float64(people)
	}
	applies, sure := r.Applies(facts)
	return applies || !sure
}
