package jobs

import (
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
)

const findRepeatedSQL = `
	SELECT id, job_no, status, imported_count, lease_until, lease_claim
	FROM import_jobs
	WHERE tenant_id = $1
		AND sha256 = $2
		AND target = $3
		AND id <> $4
		AND status <> 'rolled_back'
		AND (status IN ('applying', 'completed') OR imported_count > 0)
	ORDER BY id DESC
	LIMIT 20`

// Repeated warns when the same file was applied to the same target before, or
// a part of it, and still stands; "" = it was not.
func (t *Table) Repeated(tx *db.Tx, a actor.Actor, target, sha, except string) string {
	var others []*Job
	err := tx.Query(findRepeatedSQL, []any{a.TenantID, sha, target, except}, func(r *db.Row) error {
		others = append(others, &Job{ID: r.Text(0), JobNo: r.Text(1), Status: r.Text(2), ImportedCount: r.Int(3),
			Lease: r.Time(4), Claim: r.Int(5)})
		return nil
	})
	if err != nil {
		return ""
	}
	for _, job := range others {
		if w := t.describeStanding(tx, job); w != "" {
			return w
		}
	}
	return ""
}

// describeStanding says what stands of another job's file; "" = nothing: it died before
// it had applied any of it.
func (t *Table) describeStanding(tx *db.Tx, job *Job) string {
	switch job.Status {
	case Completed:
		return fmt.Sprintf("The same file was applied before by %s: to apply it again, it must be forced.", job.JobNo)
	case RollingBack:
		return fmt.Sprintf("The same file is being rolled back by %s: wait for that; to apply it meanwhile, it must be forced.", job.JobNo)
	case Applying:
		if t.isApplying(tx, job) {
			return fmt.Sprintf("The same file is being applied by %s: to apply it again, it must be forced.", job.JobNo)
		}
		if job.ImportedCount == 0 {
			return ""
		}
	}
	return fmt.Sprintf("A part of the same file was applied by %s: go on with that job, or roll it back; to apply all of the file beside it, it must "+
		"be forced.", job.JobNo)
}

// isApplying reports that a job which is applying may be alive. On the embedded
// engine only this process is asked: there the lease outlives a death by a
// minute, in which the file must be free to be imported again.
func (t *Table) isApplying(tx *db.Tx, job *Job) bool {
	if here := t.Here(job.ID); here || t.db.Engine() != db.PostgreSQL {
		return here
	}
	orphan, err := t.Orphaned(tx, job)
	return err == nil && !orphan
}
