package functions

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/plan"
)

// Importer runs import jobs; *imports.Importer is one.
type Importer interface {
	Process(ctx context.Context, a actor.Actor, jobID string) (*plan.Processed, error)
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

func (d Deps) processJob(ctx context.Context, a actor.Actor, in *JobIn) (*plan.Processed, error) {
	return inTheWay(d.Imports.Process(ctx, a, in.JobID))
}

func (d Deps) applyJob(ctx context.Context, a actor.Actor, in *JobIn) (*imports.Applied, error) {
	return inTheWay(d.Imports.Apply(ctx, a, in.JobID))
}

func (d Deps) rollbackJob(ctx context.Context, a actor.Actor, in *RollbackIn) (*imports.RolledBackResult, error) {
	if in.Partial {
		return inTheWay(d.Imports.RollbackRest(ctx, a, in.JobID))
	}
	return inTheWay(d.Imports.Rollback(ctx, a, in.JobID))
}

// inTheWay lists records that stand in the way of a rollback beside the error.
func inTheWay[Out any](out *Out, err error) (*Out, error) {
	if err == nil {
		return out, nil
	}
	f := fault.As(err)
	if f.Kind == fault.Internal {
		return nil, err
	}
	if list, ok := f.Data.([]imports.Conflict); ok {
		f.Data = Extra{"conflicts": list}
	}
	return nil, f
}
