package check

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/store"
)

const insertMappingSQL = `
	INSERT INTO import_mappings (tenant_id, target, signature, mapping, job_no, saved_at)
	VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (tenant_id, target, signature) DO UPDATE SET mapping = excluded.mapping,
		job_no = excluded.job_no, saved_at = excluded.saved_at`

// saveMapping remembers a mapping that somebody gave, for files of the same
// columns.
func (m *Checker) saveMapping(tx *db.Tx, a actor.Actor, job *jobs.Job, v *draft.Reader) error {
	if !v.Headed || len(job.Mapping) == 0 || string(job.Mapping) == "null" {
		return nil
	}
	tx.Queue(insertMappingSQL,
		[]any{a.TenantID, v.Target.Name, plan.Signature(v.Layout.Headers), string(job.Mapping), orNull(job.JobNo),
			m.store.Now()}, nil)
	return tx.Flush()
}

// savedMapping returns the mapping that was last given for such columns, nil
// when there is none, and the number of the job it was given to.
func (m *Checker) savedMapping(
	ctx context.Context, a actor.Actor, target string, headers []string,
) (mapping json.RawMessage, job string, err error) {
	err = m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		return tx.Query(`
			SELECT mapping, job_no
			FROM import_mappings
			WHERE tenant_id = $1
				AND target = $2
				AND signature = $3`,
			[]any{a.TenantID, target, plan.Signature(headers)}, func(r *db.Row) error {
				mapping, job = json.RawMessage(r.Text(0)), r.Text(1)
				return nil
			})
	})
	if err != nil {
		return nil, "", fmt.Errorf("imports: saved mapping: %w", err)
	}
	return mapping, job, nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
