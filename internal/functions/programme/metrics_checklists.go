package programme

import (
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/score"
)

// answeredRun is a condition: an inspection has something to show. One that asks
// questions is completed with answers only (see safety.judgeCompleted).
const answeredRun = "(run.template_id IS NOT NULL OR run.score IS NOT NULL)"

// lastRunsSQL selects the last inspection of each place. $1 tenant, $2 now; the words
// are the column of the place, joins for it, and conditions.
const lastRunsSQL = `
	SELECT looked.place, looked.id, looked.completed_at
	FROM (
		SELECT %[1]s AS place, run.id, run.completed_at,
			ROW_NUMBER() OVER (PARTITION BY %[1]s ORDER BY run.completed_at DESC, run.id DESC) AS nth
		FROM checklist_runs AS run
		%[2]s
		WHERE run.tenant_id = $1
			AND run.status = 'completed'
			AND ` + answeredRun + `
			AND run.completed_at <= $2
			%[3]s
	) AS looked
	WHERE looked.nth = 1`

// dueRunsSQL selects the inspections that were due in a window, place by place, and
// whether each was done in time. $1 tenant, $2 now; the words are those of
// lastRunsSQL and the number of the parameter with the start of the window.
const dueRunsSQL = `
	SELECT %[1]s, run.id, CASE WHEN run.on_time THEN 1 ELSE 0 END
	FROM checklist_runs AS run
	%[2]s
	WHERE run.tenant_id = $1
		AND run.status <> 'cancelled'
		AND run.deadline_at > $%[4]d
		AND run.deadline_at <= $2
		%[3]s
	ORDER BY 1, run.deadline_at DESC, run.id`

// runPlace is where an inspection counts: the column of the place, joins for it, and
// conditions.
type runPlace struct{ column, join, where string }

// runPlaces are the places by what a rule is about. A zone is not inspected by
// looking at a truck that stands in it.
var runPlaces = map[string]runPlace{
	"tenant": {column: "CAST(NULL AS uuid)"},
	"site": {
		column: "coalesce(run.site_id, zone.site_id, stand.site_id)",
		join: `LEFT JOIN zones AS zone ON zone.tenant_id = run.tenant_id AND zone.id = run.zone_id
			LEFT JOIN equipment AS machine ON machine.tenant_id = run.tenant_id AND machine.id = run.equipment_id
			LEFT JOIN zones AS stand ON stand.tenant_id = run.tenant_id AND stand.id = machine.zone_id`,
	},
	score.Zone: {
		column: "run.zone_id",
		where:  "AND run.zone_id IS NOT NULL AND run.equipment_id IS NULL AND run.vehicle_id IS NULL",
	},
	score.Equipment: {column: "run.equipment_id", where: "AND run.equipment_id IS NOT NULL"},
}

// fillChecklists reads inspections of zones, equipment, sites or the tenant: days
// since the last one, however long ago, or the share done in time. One without
// questions and without a score was not done (see answeredRun).
func (s *scan) fillChecklists(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	per := kind
	if r.Per != "entity" {
		per = r.Per
	}
	at, known := runPlaces[per]
	if !known {
		return
	}
	args := []any{s.tenant, s.now}
	if c := r.Scope.Filter.Checklist; c != "" {
		args = append(args, "%"+escapeLike(strings.ToLower(c))+"%")
		at.where += ` AND lower(run.title) LIKE $3 ESCAPE '\'`
	}
	place := func(row *db.Row) int { return s.groups[kind].findPlace(row, 0) }
	switch per {
	case "tenant":
		place = func(*db.Row) int { return everyEntity }
	case "site":
		place = func(row *db.Row) int { return s.sites.findRoot(row.UUID(0)) }
	}
	if r.Metric == "checklist_compliance" {
		args = append(args, s.windowStart(r.WindowDays))
		s.queueDueRuns(tx, fmt.Sprintf(dueRunsSQL, at.column, at.join, at.where, len(args)), args, t, place)
		return
	}
	tx.Queue(fmt.Sprintf(lastRunsSQL, at.column, at.join, at.where), args, func(row *db.Row) error {
		if i := place(row); i >= 0 || per == "tenant" {
			days := math.Floor(s.now.Sub(row.Time(2)).Hours() / 24)
			if i < 0 || !t.known[i] || days < t.values[i] {
				t.putValue(i, days, row.UUID(1))
			}
		}
		return nil
	})
}

// queueDueRuns enters the share of inspections done in time, and the missed ones as
// evidence.
func (s *scan) queueDueRuns(tx *db.Tx, sql string, args []any, t *table, place func(*db.Row) int) {
	type count struct{ inTime, due int64 }
	counts := map[int]*count{}
	tx.Queue(sql, args, func(row *db.Row) error {
		i := place(row)
		n := counts[i]
		if n == nil {
			n = &count{}
			counts[i] = n
		}
		n.due++
		if n.inTime += row.Int(2); row.Int(2) == 0 {
			t.addEvidence(i, []uuid.UUID{row.UUID(1)})
		}
		return nil
	})
	s.finish = append(s.finish, func() {
		for i, n := range counts {
			t.putValue(i, safety.ChecklistCompliance(n.inTime, n.due).Float())
		}
	})
}
