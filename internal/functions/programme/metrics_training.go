package programme

import (
	"fmt"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/score"
)

// people is where a type's persons stand: entities are e, $1 is the tenant.
type people struct{ from, worker, title string }

func workforceTable(kind string) people {
	if kind == score.Driver {
		return people{"drivers AS e JOIN workers AS w ON w.tenant_id = $1 AND w.id = e.worker_id", "w.id", "w.job_title"}
	}
	return people{"workers AS e", "e.id", "e.job_title"}
}

// localToday is the calendar day where the tenant is.
func (s *scan) localToday() string {
	return localtime.DateOf(s.now, localtime.Zone(s.st.place)).String()
}

// expiredSQL selects the people who have certificates, and how many of their
// courses ran out and were not renewed. $1 tenant, $2 today; the words are the
// source of people and their worker.
const expiredSQL = `
	SELECT e.id,
		COUNT(DISTINCT CASE WHEN a.expires_on < $2 AND NOT EXISTS (
			SELECT 1
			FROM training_assignments AS n
			WHERE n.tenant_id = $1
				AND n.worker_id = a.worker_id
				AND n.course_id = a.course_id
				AND n.status = 'completed'
				AND (n.expires_on IS NULL OR n.expires_on >= $2)
		) THEN a.course_id END)
	FROM %[1]s
	JOIN training_assignments AS a ON a.tenant_id = e.tenant_id AND a.worker_id = %[2]s
	WHERE e.tenant_id = $1
		AND a.tenant_id = $1
		AND a.status IN ('completed', 'expired')
	GROUP BY e.id`

// ranOutSQL selects the certificates that expiredSQL counts, the last to run out
// first. The words are those of expiredSQL.
const ranOutSQL = `
	SELECT e.id, a.id
	FROM %[1]s
	JOIN training_assignments AS a ON a.tenant_id = e.tenant_id AND a.worker_id = %[2]s
	WHERE e.tenant_id = $1
		AND a.tenant_id = $1
		AND a.status IN ('completed', 'expired')
		AND a.expires_on < $2
		AND NOT EXISTS (
			SELECT 1
			FROM training_assignments AS n
			WHERE n.tenant_id = $1
				AND n.worker_id = a.worker_id
				AND n.course_id = a.course_id
				AND n.status = 'completed'
				AND (n.expires_on IS NULL OR n.expires_on >= $2)
		)
	ORDER BY e.id, a.expires_on DESC, a.id`

// licencesSQL selects the drivers whose licence has a last day on record, and
// whether it has passed. $1 tenant, $2 today.
const licencesSQL = `
	SELECT id, CASE WHEN licence_expires_on < $2 THEN 1 ELSE 0 END
	FROM drivers
	WHERE tenant_id = $1
		AND licence_expires_on IS NOT NULL`

// fillExpired counts, for each person with a certificate, those that ran out
// and were not renewed. A driver's licence that ran out counts as one. People
// without any certificate have no value.
func (s *scan) fillExpired(tx *db.Tx, kind string, t *table) {
	t.zero, t.silent = true, true
	p := workforceTable(kind)
	g := s.groups[kind]
	enter := func(row *db.Row) error {
		if i := g.findPlace(row, 0); i >= 0 {
			t.addValue(i, float64(row.Int(1)))
		}
		return nil
	}
	args := []any{s.tenant, s.localToday()}
	tx.Queue(fmt.Sprintf(expiredSQL, p.from, p.worker), args, enter)
	tx.Queue(fmt.Sprintf(ranOutSQL, p.from, p.worker), args, func(row *db.Row) error {
		if i := g.findPlace(row, 0); i >= 0 {
			t.addEvidence(i, []uuid.UUID{row.UUID(1)})
		}
		return nil
	})
	if kind == score.Driver {
		tx.Queue(licencesSQL, args, enter)
	}
}
