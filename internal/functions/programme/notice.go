package programme

import (
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/safety/clocks"
	"holdfast/internal/safety/jurisdiction"
)

// How long after it becomes known OSHA must be told.
const (
	deathNotice     = clocks.DeathNotice
	treatmentNotice = clocks.TreatmentNotice
)

// noticesSQL selects the injuries and illnesses in the United States that OSHA
// must be told of, and those for which no case says yet whether it must. What
// OSHA was not told of counts whatever its age. $1 tenant, $2 type of entity,
// $3 now, $4 start of the window; the words are the column of the entity, its
// join, and the condition on incidents without a case.
var noticesSQL = jurisdiction.FillStatement(`
	SELECT %[1]s, coalesce(i.known_at, i.reported_at), c.osha_due_at, c.osha_told_at, c.death_date, i.id, c.in_patient_at
	FROM incidents AS i
	LEFT JOIN osha_cases AS c ON c.tenant_id = i.tenant_id AND c.incident_id = i.id
	JOIN tenants AS tenant ON tenant.id = i.tenant_id
	LEFT JOIN zones AS z ON z.tenant_id = i.tenant_id AND z.id = i.zone_id
	LEFT JOIN sites AS site ON site.tenant_id = i.tenant_id AND site.id = coalesce(i.site_id, z.site_id)
	%[2]s
	WHERE i.tenant_id = $1
		AND $2 <> ''
		AND i.status <> 'void'
		AND i.occurred_at <= $3
		AND (i.occurred_at > $4 OR c.osha_told_at IS NULL)
		AND {may be american}
		AND (c.osha_due_at IS NOT NULL OR (c.id IS NULL AND %[3]s))`)

// fillNotices enters the hours from when a case became known until OSHA was
// told, or until now, where OSHA has to be told within allowed. An injury that
// the rule's filter names and that has no case counts from its report: nobody
// has decided that OSHA need not be told.
func (s *scan) fillNotices(tx *db.Tx, r *safety.Rule, kind string, t *table, allowed time.Duration) {
	t.zero, t.silent, t.exempt = true, !s.watchesIncidents(r), !s.known.american
	f := &r.Scope.Filter
	undecided := "i.severity IN (" + quoteWords(f.Severities()) + ") AND i.kind IN ('injury', 'illness')"
	if len(f.Kind) > 0 {
		undecided += " AND i.kind IN (" + quoteWords(f.Kind) + ")"
	}
	entity, join := "NULL", ""
	if r.Per != "tenant" {
		entity = "e.entity_id"
		join = "JOIN incident_entities AS e ON e.tenant_id = i.tenant_id AND e.incident_id = i.id AND e.entity_type = $2"
	}

	g := s.groups[kind]
	tx.Queue(fmt.Sprintf(noticesSQL, entity, join, undecided), []any{s.tenant, kind, s.now, s.windowStart(r.WindowDays)}, func(row *db.Row) error {
		n := notice{known: row.Time(1), due: row.Time(2), told: row.Time(3), died: !row.Null(4), admitted: row.Time(6)}
		if !row.Null(2) && n.allowed() != allowed {
			return nil
		}
		i := -1
		if r.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		t.raiseValue(i, n.hours(s.now), row.UUID(5))
		return nil
	})
}

// notice is what OSHA must be told of, or may have to be: then due is zero.
type notice struct {
	known, due, told, admitted time.Time
	died                       bool
}

// allowed is the time from knowing to telling that due was computed with (see
// osha.DueAt): a day after it was known unless there was a death.
func (n *notice) allowed() time.Duration {
	began := n.due.Add(-treatmentNotice)
	if n.died && !began.Equal(n.known) && !began.Equal(n.admitted) && !began.Equal(n.told) {
		return deathNotice
	}
	return treatmentNotice
}

func (n *notice) hours(now time.Time) float64 {
	known := n.known
	if !n.due.IsZero() {
		known = n.due.Add(-n.allowed())
	}
	until := n.told
	if until.Before(known) { // not yet, or of something else
		until = now
	}
	return max(0, until.Sub(known).Hours())
}
