package programme

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/score"
)

// people is where a type's persons stand: entities are e, $1 is the tenant.
type people struct{ from, worker, title string }

func workforceTable(kind string) people {
	if kind == score.Driver {
		return people{"drivers e JOIN workers w ON w.tenant_id = $1 AND w.id = e.worker_id", "w.id", "w.job_title"}
	}
	return people{"workers e", "e.id", "e.job_title"}
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
	if kind == score.Driver {
		tx.Queue(licencesSQL, args, enter)
	}
}

// wordIn is a condition: an array of texts has a word. The array's text is
// canonical, so the word as JSON is found in it and nothing else is.
func wordIn(array, word string) string {
	quoted := `'"' || replace(replace(` + word + `, '\', '\\'), '"', '\"') || '"'`
	return "replace(" + array + ", " + quoted + ", '') <> " + array
}

// fillCoverage is 100 x valid required certificates / required ones; nothing
// required is unknown. A course is required by job title, and of those who had a
// shift with a piece of equipment in the rule's window by its kind or its own
// course.
func (s *scan) fillCoverage(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	p := workforceTable(kind)
	g := s.groups[kind]
	tx.Queue("WITH x(id, worker_id, word, course_id) AS (SELECT e.id, "+p.worker+", "+p.title+", CAST(NULL AS uuid) FROM "+p.from+
		" WHERE e.tenant_id = $1 UNION SELECT e.id, "+p.worker+", q.kind, q.required_course_id FROM "+p.from+
		" JOIN shifts s ON s.tenant_id = e.tenant_id AND s.worker_id = "+p.worker+" AND s.ended_at > $3 AND s.ended_at <= $4 "+
		"JOIN equipment q ON q.tenant_id = s.tenant_id AND q.id = s.equipment_id WHERE e.tenant_id = $1), "+
		"need AS (SELECT DISTINCT x.id, x.worker_id, c.id AS course_id FROM x JOIN courses c ON c.tenant_id = $1 AND c.status = 'active' AND c.archived_at IS "+
		"NULL AND (c.id = x.course_id OR "+wordIn("c.required_for", "x.word")+")) "+
		"SELECT n.id, COUNT(*), COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM training_assignments a WHERE a.tenant_id = $1 AND a.worker_id = n.worker_id AND "+
		"a.course_id = n.course_id "+
		"AND a.status = 'completed' AND (a.expires_on IS NULL OR a.expires_on >= $2))) FROM need n GROUP BY n.id",
		[]any{s.tenant, s.localToday(), s.windowStart(r.WindowDays), s.now}, func(row *db.Row) error {
			if i := g.findPlace(row, 0); i >= 0 {
				t.putValue(i, safety.Percent(row.Int(2), row.Int(1)).Float())
			}
			return nil
		})
}
