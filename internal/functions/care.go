package functions

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/safety"
)

// care is how well a tenant looks after what it is told, over a window: it is
// read from records, so only who asks for it pays for it.
type care struct {
	passed, failed int64 // answers of inspections by weight
	delays         []time.Duration
	closings       []time.Duration
}

// careMost bounds the records looked at, the newest first: more change neither
// a median nor a mean that anybody acts on, and the answer's cost has an end.
const careMost = "10000"

// queueCare asks for inspections due, reports that came and reports that were
// closed in (from, to]; void ones are left out.
func queueCare(tx *db.Tx, tenant string, from, to time.Time) *care {
	c := &care{}
	args := []any{tenant, from, to}
	tx.Queue(db.FillWords(`
		SELECT CAST(COALESCE(SUM(passed), 0) AS bigint), CAST(COALESCE(SUM(failed), 0) AS bigint)
		FROM (
			SELECT COALESCE(passed_weight, passed) AS passed, COALESCE(failed_weight, failed) AS failed
			FROM checklist_runs
			WHERE tenant_id = $1
				AND due_at > $2
				AND due_at <= $3
				AND status = 'completed'
			ORDER BY due_at DESC
			LIMIT {care most}
		) r`, "{care most}", careMost), args, func(r *db.Row) error {
		c.passed, c.failed = r.Int(0), r.Int(1)
		return nil
	})
	times := func(into *[]time.Duration) func(*db.Row) error {
		return func(r *db.Row) error {
			*into = append(*into, r.Time(1).Sub(r.Time(0)))
			return nil
		}
	}
	tx.Queue(db.FillWords(`
		SELECT occurred_at, reported_at
		FROM incidents
		WHERE tenant_id = $1
			AND reported_at > $2
			AND reported_at <= $3
			AND status <> 'void'
		ORDER BY reported_at DESC
		LIMIT {care most}`, "{care most}", careMost), args, times(&c.delays))
	tx.Queue(db.FillWords(`
		SELECT reported_at, closed_at
		FROM incidents
		WHERE tenant_id = $1
			AND closed_at > $2
			AND closed_at <= $3
			AND status <> 'void'
		ORDER BY closed_at DESC
		LIMIT {care most}`, "{care most}", careMost), args, times(&c.closings))
	return c
}

// CareOut is how well a tenant looks after what it is told, over a window; null
// where there is nothing to measure.
type CareOut struct {
	PassRate *decimal.Dec `json:"pass_rate" unit:"percent" doc:"Answers of inspections that passed, by weight."`
	Close    *decimal.Dec `json:"mean_close_days" unit:"days" doc:"Mean time from report to closing."`
	Delay    *decimal.Dec `json:"median_report_delay_hours" unit:"hours" doc:"Median time from an incident to its report."`
	Clocks   *ClocksOut   `json:"legal_clocks" doc:"The law's clocks that run now; null for roles that do not lead."`
}

func (c *care) careOut() *CareOut {
	measured := func(d decimal.Dec, ok bool) *decimal.Dec {
		if !ok {
			return nil
		}
		return &d
	}
	return &CareOut{
		PassRate: measured(safety.PassRate(c.passed, c.failed)),
		Close:    measured(safety.MeanDays(c.closings)),
		Delay:    measured(safety.MedianHours(c.delays)),
	}
}
