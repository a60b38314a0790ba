package functions

import (
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/safety/clocks"
	"holdfast/internal/store"
)

// mostClocks is how many clocks an answer names; the counts are of all.
const mostClocks = 50

// ClocksOut are the law's clocks that are not met yet.
type ClocksOut struct {
	Running int64      `json:"running" doc:"Clocks that run and are not over."`
	Overdue int64      `json:"overdue" doc:"Clocks past due_at that nobody has said to be met or not required."`
	Nearest []ClockOut `json:"nearest" doc:"The fifty due first; none for a caller who does not read legal_clocks."`
}

// ClockOut is one clock.
type ClockOut struct {
	ID         string   `json:"id" format:"uuid" doc:"Of the record in legal_clocks."`
	Code       string   `json:"code" doc:"The rule: docs/clocks.md."`
	IncidentID string   `json:"incident_id" format:"uuid" doc:"The accident."`
	IncidentNo string   `json:"incident_no" doc:"Its number."`
	DueAt      string   `json:"due_at" format:"date-time" doc:"The start itself where the law says without delay."`
	IsOverdue  bool     `json:"overdue" doc:"due_at has passed; a right that runs out is never overdue."`
	Recipients []string `json:"recipients" doc:"Who is to be told."`
	Citation   string   `json:"citation" doc:"Where it is written."`
}

// runningClocksSQL selects the clocks that run, those that are due first. $1 tenant.
const runningClocksSQL = `
	SELECT clock.id, clock.code, clock.due_at, incident.id, incident.incident_no
	FROM legal_clocks AS clock
	JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = clock.incident_id
	WHERE clock.tenant_id = $1
		AND clock.state = 'running'
	ORDER BY clock.due_at, clock.id`

// queueClocks asks for the clocks that run: how many for leaders, nil for others. Only
// those who may read them are told which, since a clock tells what an injury was like.
func queueClocks(tx *store.Tx, a actor.Actor, now time.Time) *ClocksOut {
	r := tx.Resource(clocks.Resource)
	if r == nil || !slices.Contains(actor.Leaders, a.Role) {
		return nil
	}
	maySee := query.May(r.Access.Read, a.Role)
	out := &ClocksOut{Nearest: []ClockOut{}}
	tx.Queue(runningClocksSQL, []any{tx.TenantID}, func(row *db.Row) error {
		c := ClockOut{ID: row.Text(0), Code: row.Text(1), DueAt: query.FormatTime(row.Time(2)),
			IncidentID: row.Text(3), IncidentNo: row.Text(4), Recipients: []string{}}
		rule, known := clocks.Find(c.Code)
		if known {
			c.Recipients, c.Citation = rule.Recipients, rule.Citation
		}
		c.IsOverdue = row.Time(2).Before(now) && !(known && rule.IsOption)
		if c.IsOverdue {
			out.Overdue++
		} else {
			out.Running++
		}
		if maySee && len(out.Nearest) < mostClocks {
			out.Nearest = append(out.Nearest, c)
		}
		return nil
	})
	return out
}
