package imports

import (
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/targets"
)

// fieldMaskOf is the mask over a job's file for whoever reads it; planned says that
// the file was processed.
func fieldMaskOf(tx *db.Tx, all targets.All, a actor.Actor, job *jobs.Job) (v plan.FieldMask, planned bool, err error) {
	t, err := all.Named(job.Target)
	if err != nil {
		return plan.FieldMask{All: true}, false, nil // no file was ever read as what is no target
	}
	p, err := plan.Read(tx, job)
	if fault.Is(err, fault.NotFound) {
		hidden := func(c targets.Column) bool { return !c.Field.Visible(a.Role) }
		return plan.FieldMask{All: slices.ContainsFunc(t.Columns, hidden)}, false, nil
	}
	if err != nil {
		return plan.FieldMask{}, false, err
	}
	return p.FieldMask(t, a.Role), true, nil
}
