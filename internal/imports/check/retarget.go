package check

import (
	"encoding/json"
	"fmt"
	"maps"

	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
)

// GuardJobs returns the effect that stands before jobs that are made or changed
// as records: it refuses callers who may not import into a job's target, and
// leads a job to another target when a file was sent for the wrong one.
func GuardJobs(c *catalog.Catalog) store.Effect {
	all := targets.Of(c)
	return func(tx *store.Tx, changes []store.Change) error {
		for i := range changes {
			if err := guardJob(tx, all, &changes[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func guardJob(tx *store.Tx, all targets.All, ch *store.Change) error {
	if ch.After == nil {
		return nil
	}
	job := jobs.FromRow(ch.After)
	if err := targets.MayImport(all, tx.Actor, job.Target); err != nil {
		return fault.As(err).At("target", "is not yours to import into")
	}
	if ch.Before == nil || jobs.FromRow(ch.Before).Target == job.Target {
		return nil
	}
	return leadElsewhere(tx, all, ch)
}

// leadElsewhere forgets what a job's file was read as for its former target. What
// was said about the file stays; what was said about the fields of the former
// target, and is not said anew by the same request, goes.
func leadElsewhere(tx *store.Tx, all targets.All, ch *store.Change) error {
	before, job := jobs.FromRow(ch.Before), jobs.FromRow(ch.After)
	if err := targets.MayImport(all, tx.Actor, before.Target); err != nil {
		return fault.As(err).At("target", "is not yours to change: it is %q", before.Target)
	}
	if err := checkRetargetable(before); err != nil {
		return fault.As(err).At("target", "cannot be changed any more")
	}
	set := store.Row{}
	if string(before.Mapping) == string(job.Mapping) {
		set = store.Row{"mapping": nil}
	}
	if string(before.Options) == string(job.Options) {
		options, err := optionsOfFile(job.Options)
		if err != nil {
			return err
		}
		maps.Copy(set, store.Row{"options": options})
	}
	if before.Status != jobs.Created {
		maps.Copy(set, store.Row{"status": jobs.Uploaded, "message": nil, "total_rows": int64(0), "valid_rows": int64(0),
			"invalid_rows": int64(0)})
	}
	maps.Copy(ch.After, set)
	return staged.Clear(tx.Tx, job.TenantID, job.ID)
}

func checkRetargetable(job *jobs.Job) error {
	switch job.Status {
	case jobs.Created, jobs.Uploaded, jobs.Ready, jobs.Failed:
		return job.Untouched()
	}
	return jobs.WrongState(job, "keeps its target")
}

// optionsOfFile are the options that say how a file is read, whatever its rows are.
func optionsOfFile(raw json.RawMessage) (json.RawMessage, error) {
	s, err := plan.ParseSettings(raw)
	if err != nil {
		return nil, err
	}
	s.Mode, s.Defaults, s.Values = "", nil, nil
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("imports: options of a file: %w", err)
	}
	return b, nil
}
