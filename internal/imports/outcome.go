package imports

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// outcome is what applying a row did, and to which record.
type outcome struct {
	did byte // an action's first letter
	id  uuid.UUID
}

const outcomeBytes = 1 + len(uuid.UUID{})

// actions are the words of Difference.
var actions = map[byte]string{'i': "insert", 'u': "update", 's': "unchanged"}

// outcomeOf is that of a change as it was written.
func outcomeOf(c store.Change) outcome {
	out := outcome{did: 'i'}
	if c.Before != nil {
		if out.did = 'u'; c.After["version"] == c.Before["version"] {
			out.did = 's'
		}
	}
	id, _ := c.After["id"].(string)
	out.id, _ = uuid.Parse(id) // the zero one of a record without id
	return out
}

// became takes down what the rows of the batch at hand became, in their order.
func (ap *application) became(changes []store.Change) {
	for _, c := range changes {
		ap.outcomes = append(ap.outcomes, outcomeOf(c))
	}
}

// inserts are new records as changes.
func inserts(rows []store.Row) []store.Change {
	out := make([]store.Change, len(rows))
	for i, row := range rows {
		out[i] = store.Change{After: row}
	}
	return out
}

// span is a chunk of rows that were put together with others.
type span struct{ seq, rows int }

// tellOutcomes keeps what the rows of some chunks became, as long as the rows
// are kept themselves.
func (ap *application) tellOutcomes(chunks []span) {
	if ap.step.Job.BlobKey == "" {
		chunks = nil
	}
	for _, c := range chunks {
		n := min(c.rows, len(ap.outcomes))
		data := make([]byte, 0, n*outcomeBytes)
		for _, o := range ap.outcomes[:n] {
			data = append(append(data, o.did), o.id[:]...)
		}
		ap.outcomes = ap.outcomes[n:]
		ap.tx.Queue("INSERT INTO import_outcomes (tenant_id, job_id, seq, data) VALUES ($1, $2, $3, $4)", []any{ap.actor.TenantID, ap.step.Job.ID, c.seq, data}, nil)
	}
	ap.outcomes = nil
}

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
	if s.target, err = m.target(job.Target); err == nil {
		s.plan, err = plan.Read(tx, job)
	}
	return s, err
}

// sequelOf reads whichever of the two there is.
func (p *RowPage) sequelOf(tx *db.Tx, job *jobs.Job, c portion) (*sequel, error) {
	s := p.sequel
	args := []any{job.TenantID, job.ID, c.seq}
	if c.became.good != "valid" {
		err := tx.Query("SELECT data FROM import_outcomes WHERE tenant_id = $1 AND job_id = $2 AND seq = $3", args, func(r *db.Row) error {
			s.became = slices.Clone(r.Bytes(0))
			return nil
		})
		return &s, err
	}
	err := tx.Query("SELECT rows, data FROM import_chunks WHERE tenant_id = $1 AND job_id = $2 AND seq = $3", args, func(r *db.Row) (err error) {
		s.staged, err = staged.Decode(r.Bytes(1), len(s.plan.Fields), int(r.Int(0)))
		return err
	})
	return &s, err
}

// tell adds to a row, the chunk's valid row of this index.
func (s *sequel) tell(row *StagedRow, at int) {
	if at < len(s.staged) {
		row.Parsed = s.seen(s.staged[at].Fields(s.plan.Fields, 0))
	}
	if from := at * outcomeBytes; from+outcomeBytes <= len(s.became) {
		o := s.became[from : from+outcomeBytes]
		row.Action, row.EntityType = actions[o[0]], s.target.Becomes(s.plan.Lined)
		if id := uuid.UUID(o[1:]); id != uuid.Nil {
			row.EntityID = id.String()
		}
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
	err := tx.Query("SELECT id FROM "+resource+" WHERE tenant_id = $1 AND "+tx.DB().InUUID("id", 2), []any{tenant, query.List(ids)}, func(r *db.Row) error {
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

// seen is a staged row without what the reader may not see.
func (s *sequel) seen(row store.Row) map[string]any {
	out := make(map[string]any, len(row))
	for name, v := range row {
		if slices.Contains(s.plan.Fields, name) && !s.target.Hides(name, s.role) {
			out[name] = v
		}
	}
	return out
}
