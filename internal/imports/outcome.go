package imports

import (
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
)

// sequel tells of the valid rows of one chunk what they hold, as long as they
// are staged, or what they became.
type sequel struct {
	target *targets.Target
	plan   *plan.Plan
	role   actor.Role
	staged []staged.Row
	became []byte
}

// sequelFor is what all chunks of a job have in common.
func (m *Importer) sequelFor(tx *db.Tx, a actor.Actor, job *jobs.Job) (s sequel, err error) {
	s.role = a.Role
	if s.target, err = m.targets.Named(job.Target); err == nil {
		s.plan, err = plan.Read(tx, job)
	}
	return s, err
}

// sequelOf reads whichever of the two there is.
func (p *RowPage) sequelOf(tx *db.Tx, job *jobs.Job, c portion) (*sequel, error) {
	s := p.sequel
	if c.became.good != "valid" {
		err := tx.Query(`
			SELECT data
			FROM import_outcomes
			WHERE tenant_id = $1
				AND job_id = $2
				AND seq = $3`,
			[]any{job.TenantID, job.ID, c.Seq}, func(r *db.Row) error {
				s.became = slices.Clone(r.Bytes(0))
				return nil
			})
		return &s, err
	}
	var err error
	s.staged, err = staged.FindRows(tx, job.TenantID, job.ID, c.Seq, len(s.plan.Fields))
	return &s, err
}

// addOutcome adds to a row, the chunk's valid row of this index.
func (s *sequel) addOutcome(row *StagedRow, at int) {
	if at < len(s.staged) {
		row.Parsed = s.plan.Seen(s.target, s.role, s.staged[at].Fields(s.plan.Fields, 0))
	}
	if action, id, ok := staged.OutcomeIn(s.became, at); ok {
		row.Action, row.EntityType, row.EntityID = action, s.target.Becomes(s.plan.Lined), id
	}
}

// withoutGone takes from rows what they tell of records that are there no more:
// a rollback that left some, or that is not through, took them back.
func (p *RowPage) withoutGone(tx *db.Tx, tenant string) error {
	var ids []string
	for _, r := range p.Rows {
		if r.EntityID != "" {
			ids = append(ids, r.EntityID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	there := map[string]bool{}
	resource := p.sequel.target.Becomes(p.sequel.plan.Lined)
	err := tx.Query(db.FillWords(`
		SELECT id
		FROM {resource}
		WHERE tenant_id = $1
			AND id IN {ids $2}`, "{resource}", resource),
		[]any{tenant, query.List(ids)}, func(r *db.Row) error {
			there[r.Text(0)] = true
			return nil
		})
	if err != nil {
		return fmt.Errorf("look for %s: %w", resource, err)
	}
	for i := range p.Rows {
		if r := &p.Rows[i]; r.EntityID != "" && !there[r.EntityID] {
			r.Action, r.EntityType, r.EntityID = "", "", ""
		}
	}
	return nil
}
