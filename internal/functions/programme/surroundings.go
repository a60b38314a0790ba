package programme

import (
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/safety/jurisdiction"
)

// surroundings are what tells a zero that was counted from one that nobody
// looked for.
type surroundings struct {
	reported, worked time.Time // last report, last shift; zero = none on record
	actions          bool      // there are actions
	american         bool      // the tenant may have establishments in the United States
	abroad           bool      // it may have some elsewhere
}

// logInUse is how long a report shows that incidents are reported at all.
const logInUse = 365 * 24 * time.Hour

// surroundingsSQL selects the last report and the last shift, whether there are
// actions, and whether the tenant may have establishments in the United States, and
// elsewhere: a tenant without sites in use is in its own country. $1 tenant, $2 now.
var surroundingsSQL = jurisdiction.FillStatement(`
	SELECT
		(
			SELECT incident.reported_at
			FROM incidents AS incident
			WHERE incident.tenant_id = $1
				AND incident.status <> 'void'
				AND incident.reported_at <= $2
			ORDER BY incident.reported_at DESC
			LIMIT 1
		),
		(
			SELECT shift.ended_at
			FROM shifts AS shift
			WHERE shift.tenant_id = $1
				AND shift.ended_at <= $2
			ORDER BY shift.ended_at DESC
			LIMIT 1
		),
		CASE WHEN EXISTS (SELECT 1 FROM actions AS act WHERE act.tenant_id = $1) THEN 1 ELSE 0 END,
		(
			SELECT MAX(CASE WHEN {may be american} THEN 1 ELSE 0 END)
			FROM tenants AS tenant
			LEFT JOIN sites AS site ON site.tenant_id = tenant.id AND site.archived_at IS NULL
			WHERE tenant.id = $1
		),
		(
			SELECT MAX(CASE WHEN coalesce({is american}, FALSE) THEN 0 ELSE 1 END)
			FROM tenants AS tenant
			LEFT JOIN sites AS site ON site.tenant_id = tenant.id AND site.archived_at IS NULL
			WHERE tenant.id = $1
		)`)

func (s *scan) queueSurroundings(tx *db.Tx) {
	s.known = surroundings{}
	tx.Queue(surroundingsSQL, []any{s.tenant, s.now}, func(row *db.Row) error {
		s.known = surroundings{row.Time(0), row.Time(1), row.Int(2) == 1, row.Int(3) == 1, row.Int(4) == 1}
		return nil
	})
}

// watchesIncidents reports whether a count of no incidents means something:
// people worked in the rule's window, or somebody reported one within a year.
func (s *scan) watchesIncidents(r *safety.Rule) bool {
	return s.known.worked.After(s.windowStart(r.WindowDays)) || s.known.reported.After(s.now.Add(-logInUse))
}

// addValue adds to the value of the ith entity, or with -1 of the tenant.
func (t *table) addValue(i int, v float64, evidence ...uuid.UUID) {
	t.total, t.any = t.total+v, true
	t.addEvidence(i, evidence)
	if i >= 0 {
		t.values[i], t.known[i] = t.values[i]+v, true
	}
}

// raiseValue enters the worst value of the ith entity, or with -1 of the tenant.
func (t *table) raiseValue(i int, v float64, evidence ...uuid.UUID) {
	if i < 0 && (!t.any || v > t.total) || i >= 0 && (!t.known[i] || v > t.values[i]) {
		t.setEvidence(i, evidence)
	}
	t.total, t.any = max(t.total, v), true
	if i >= 0 {
		t.values[i], t.known[i] = max(t.values[i], v), true
	}
}
