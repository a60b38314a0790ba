package limit

import (
	"context"
	"time"

	"holdfast/internal/db"
)

// ScoresText reads in one statement what the weighted scores of a tenant's
// workers are made of: two grouped index scans joined to the people.
const ScoresText = "SELECT w.id, i.n, i.m, s.h, s.u FROM workers w " +
	"LEFT JOIN (SELECT entity_id, COUNT(*) FILTER (WHERE kind NOT IN ('near_miss', 'hazard')) AS n, COUNT(*) FILTER (WHERE kind IN ('near_miss', " +
	"'hazard')) AS m " +
	"FROM incident_entities WHERE tenant_id = $1 AND entity_type = 'worker' AND at > $2 AND at <= $3 GROUP BY entity_id) i ON i.entity_id = w.id " +
	"LEFT JOIN (SELECT worker_id, SUM(hours) AS h, SUM(units_done) AS u FROM shifts WHERE tenant_id = $1 AND ended_at > $2 AND ended_at <= $3 GROUP BY " +
	"worker_id) s ON s.worker_id = w.id " +
	"WHERE w.tenant_id = $1"

// Scores runs ScoresText over a window of days and returns the rows read.
func Scores(ctx context.Context, d *db.DB, tenant string, days int, now time.Time) (n int, err error) {
	err = d.Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		return tx.Query(ScoresText, []any{tenant, now.AddDate(0, 0, -days), now}, func(r *db.Row) error {
			n++
			_ = r.Text(0)
			return nil
		})
	})
	return n, err
}

// rules are what the shipped regulations read, by hand: one statement for each
// metric and window, the verdicts in force and the entities. $2 is the beginning
// of the window.
var rules = []struct {
	days int
	sql  string
}{
	{0, "SELECT id, user_id, team_id FROM workers WHERE tenant_id = $1 AND status <> 'left' AND created_at >= $2"},
	{0, "SELECT id, kind FROM zones WHERE tenant_id = $1 AND status <> 'archived' AND created_at >= $2"},
	{30,
		"SELECT COUNT(*), MIN(occurred_at), MAX(reported_at) FROM incidents WHERE tenant_id = $1 AND occurred_at > $2 AND kind IN ('injury', 'illness') " +
			"AND severity = 'critical' AND status <> 'void'"},
	{30,
		"SELECT COUNT(*), MIN(occurred_at), MAX(reported_at) FROM incidents WHERE tenant_id = $1 AND occurred_at > $2 AND kind IN ('injury', 'illness') " +
			"AND severity IN ('high', 'critical') AND status <> 'void'"},
	{365, "SELECT COUNT(*), MIN(reported_at) FROM incidents WHERE tenant_id = $1 AND occurred_at > $2 AND kind IN ('injury', 'illness') AND status = 'reported'"},
	{365,
		"SELECT COUNT(*), MIN(reported_at) FROM incidents WHERE tenant_id = $1 AND occurred_at > $2 AND kind = 'injury' AND severity IN ('medium', " +
			"'high', 'critical') AND status = 'reported'"},
	{365, "SELECT zone_id, MAX(completed_at) FROM checklist_runs WHERE tenant_id = $1 AND status = 'completed' AND completed_at > $2 GROUP BY zone_id"},
	{0, "SELECT COUNT(*) FROM actions WHERE tenant_id = $1 AND status IN ('open', 'in_progress') AND due_at < $2"},
	{0,
		"SELECT w.id, COUNT(*) FROM workers w JOIN training_assignments a ON a.tenant_id = $1 AND a.user_id = w.user_id WHERE w.tenant_id = $1 AND " +
			"w.created_at >= $2 GROUP BY w.id"},
	{122, "SELECT worker_id, SUM(hours) FROM shifts WHERE tenant_id = $1 AND ended_at > $2 GROUP BY worker_id"},
	{14,
		"SELECT worker_id, COUNT(*), MAX(rested) FROM (SELECT worker_id, LAG(ended_at) OVER (PARTITION BY worker_id ORDER BY started_at) AS rested FROM " +
			"shifts WHERE tenant_id = $1 AND ended_at > $2) x GROUP BY worker_id"},
	{2,
		"SELECT s.entity_id, s.score FROM predictive_scores s JOIN (SELECT id FROM score_runs WHERE tenant_id = $1 AND entity_type = 'worker' AND " +
			"computed_at > $2 ORDER BY id DESC LIMIT 1) r ON s.run_id = r.id WHERE s.tenant_id = $1"},
	{0, `SELECT regulation_id, entity_id, status, value, evidence
		FROM compliance_states
		WHERE tenant_id = $1 AND CAST($2 AS timestamptz) IS NOT NULL`},
}

// Compliance runs what the shipped regulations read and returns the rows read.
func Compliance(ctx context.Context, d *db.DB, tenant string, now time.Time) (n int, err error) {
	err = d.Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		for _, q := range rules {
			from := now.AddDate(0, 0, -q.days)
			if q.days == 0 {
				from = time.Unix(0, 0)
			}
			err := tx.Query(q.sql, []any{tenant, from}, func(r *db.Row) error {
				n++
				_ = r.Text(0)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
