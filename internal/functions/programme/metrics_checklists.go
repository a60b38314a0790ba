package programme

import (
	"math"
	"strconv"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/score"
)

// answeredRun is a condition: an inspection has something to show. One that asks
// questions is completed with answers only (see safety.judgeCompleted).
const answeredRun = "(template_id IS NOT NULL OR score IS NOT NULL)"

// fillChecklists reads inspections of zones or equipment: days since the last
// one, however long ago, or the share done in time. A zone is not inspected by
// looking at a truck that stands in it, and one without questions and without a
// score was not done (see answeredRun).
func (s *scan) fillChecklists(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	by, group := "zone_id", " AND zone_id IS NOT NULL AND equipment_id IS NULL AND vehicle_id IS NULL GROUP BY zone_id"
	switch {
	case r.Per == "tenant":
		by, group = "NULL", ""
	case kind == score.Equipment:
		by, group = "equipment_id", " AND equipment_id IS NOT NULL GROUP BY equipment_id"
	case kind != score.Zone:
		return
	}
	args := []any{s.tenant, s.now}
	title := ""
	if c := r.Scope.Filter.Checklist; c != "" {
		args = append(args, "%"+escapeLike(strings.ToLower(c))+"%")
		title = ` AND lower(title) LIKE $3 ESCAPE '\'`
	}
	sql := "SELECT " + by + ", MAX(completed_at), 0, COUNT(*) FROM checklist_runs WHERE tenant_id = $1 AND status = 'completed' AND " +
		answeredRun + " AND completed_at <= $2" + title + group
	share := r.Metric == "checklist_compliance"
	if share {
		args = append(args, s.windowStart(r.WindowDays))
		sql = "SELECT " + by + ", NULL, COUNT(*) FILTER (WHERE on_time), COUNT(*) FROM checklist_runs WHERE tenant_id = $1 AND status <> 'cancelled' AND " +
			"deadline_at > $" + strconv.Itoa(len(args)) + " AND deadline_at <= $2" + title + group
	}
	g := s.groups[kind]
	tx.Queue(sql, args, func(row *db.Row) error {
		i := -1
		if r.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		switch {
		case row.Int(3) == 0: // nothing on record
		case share:
			t.putValue(i, safety.ChecklistCompliance(row.Int(2), row.Int(3)).Float())
		default:
			t.putValue(i, math.Floor(s.now.Sub(row.Time(1)).Hours()/24))
		}
		return nil
	})
}
