package functions

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
)

// Importer runs import jobs; *imports.Importer is one.
type Importer interface {
	Process(ctx context.Context, a actor.Actor, jobID string) (*imports.Processed, error)
	Apply(ctx context.Context, a actor.Actor, jobID string) (*imports.Applied, error)
	Rollback(ctx context.Context, a actor.Actor, jobID string) (*imports.RolledBackResult, error)
	RollbackRest(ctx context.Context, a actor.Actor, jobID string) (*imports.RolledBackResult, error)
}

// JobIn names an import job.
type JobIn struct {
	JobID string `query:"job_id" required:"true" format:"uuid" doc:"The import job."`
}

// RollbackIn names an import job and says what to do about conflicts.
type RollbackIn struct {
	JobID   string `query:"job_id" required:"true" format:"uuid" doc:"The import job."`
	Partial bool   `query:"partial" doc:"Leave records in conflict as they are and roll the others back; without it nothing changes."`
}

func (d Deps) processJob(ctx context.Context, a actor.Actor, in *JobIn) ([]byte, error) {
	return job(d.Imports.Process(ctx, a, in.JobID))
}

func (d Deps) applyJob(ctx context.Context, a actor.Actor, in *JobIn) ([]byte, error) {
	return job(d.Imports.Apply(ctx, a, in.JobID))
}

func (d Deps) rollbackJob(ctx context.Context, a actor.Actor, in *RollbackIn) ([]byte, error) {
	if in.Partial {
		return job(d.Imports.RollbackRest(ctx, a, in.JobID))
	}
	return job(d.Imports.Rollback(ctx, a, in.JobID))
}

// job writes an import's answer; records that stand in the way of a rollback
// are listed beside the error.
func job[Out any](out *Out, err error) ([]byte, error) {
	if err != nil {
		if f := fault.As(err); f.Kind != fault.Internal {
			if list, ok := f.Data.([]imports.Conflict); ok {
				f.Data = Extra{"conflicts": list}
			}
			return nil, f
		}
		return nil, err
	}
	return encode(out)
}
