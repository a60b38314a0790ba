package plan

import (
	"encoding/json"

	"holdfast/internal/db"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/jobs"
)

// Of reads what was decided about a job's file, and its options as they
// are now.
func Of(tx *db.Tx, job *jobs.Job) (*Plan, Settings, error) {
	settings, err := ParseSettings(job.Options)
	if err != nil {
		return nil, settings, err
	}
	p, err := Read(tx, job)
	return p, settings, err
}

// Fingerprint is what a staged file depends on, as text.
func Fingerprint(s Settings, mapping json.RawMessage) string {
	s.Force, s.DryRun = false, false
	b, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(b) + cell.Line(string(mapping))
}

// Read reads what was decided about a job's file.
func Read(tx *db.Tx, job *jobs.Job) (*Plan, error) {
	p := &Plan{}
	return p, tx.One(`
		SELECT plan
		FROM import_plans
		WHERE tenant_id = $1
			AND job_id = $2`, []any{job.TenantID, job.ID},
		func(r *db.Row) error {
			return json.Unmarshal(r.Bytes(0), p)
		})
}

// Write keeps the plan of a job that has none.
func (p *Plan) Write(tx *db.Tx, job *jobs.Job) error {
	return p.keepPlan(tx, job, `
		INSERT INTO import_plans (tenant_id, job_id, plan)
		VALUES ($1, $2, $3)`)
}

// Rewrite keeps the plan of a job in place of the one it has.
func (p *Plan) Rewrite(tx *db.Tx, job *jobs.Job) error {
	return p.keepPlan(tx, job, `
		UPDATE import_plans
		SET plan = $3
		WHERE tenant_id = $1
			AND job_id = $2`)
}

func (p *Plan) keepPlan(tx *db.Tx, job *jobs.Job, statement string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	tx.Queue(statement, []any{job.TenantID, job.ID, string(text)}, nil)
	return nil
}
