package imports

import (
	"context"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// Cancel ends a job nothing of which was applied, and drops its file.
func (m *Importer) Cancel(ctx context.Context, a actor.Actor, jobID string) (*jobs.Job, error) {
	job, err := m.jobs.LoadFor(ctx, a, jobID)
	if err != nil {
		return nil, err
	}
	var done *jobs.Job
	err = m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		old, err := m.jobs.Locked(tx, a, job.ID)
		if err != nil {
			return err
		}
		switch old.Status {
		case jobs.Created, jobs.Uploaded, jobs.Ready, jobs.Failed:
		default:
			return jobs.WrongState(old, "cannot be cancelled")
		}
		if err := old.Untouched(); err != nil {
			return err
		}
		if err := staged.Forget(tx, a.TenantID, job.ID); err != nil {
			return err
		}
		m.jobs.Audit(tx, a, old, "import_jobs.cancel", map[string]any{"target": old.Target, "file": old.FileName,
			"sha256": old.SHA256})
		done, err = m.jobs.Set(tx, a, job.ID, store.Row{"status": jobs.Cancelled, "blob_key": nil})
		if err == nil {
			done.BlobKey = old.BlobKey
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("imports: cancel: %w", err)
	}
	m.shelf.deleteFile(ctx, done.BlobKey)
	return done, nil
}
