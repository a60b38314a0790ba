package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/heap"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/targets"
	"holdfast/internal/trace"
)

// shownErrors is how many row errors the answer of Process lists.
const shownErrors = 100

// Process reads a job's file, checks every row and stages the valid ones. A
// ready job is answered with its first result unless its mapping or options
// were changed since. Row errors do not fail the job; a file that cannot be
// understood does, with a question where an option would settle it.
func (m *Importer) Process(ctx context.Context, a actor.Actor, jobID string) (_ *plan.Processed, err error) {
	ctx, span := trace.Begin(ctx, "import", "process")
	defer func() { span.End(err) }()
	var before *plan.Processed
	s, err := m.jobs.Begin(ctx, a, jobID, jobs.Processing, func(tx *db.Tx, job *jobs.Job) error {
		switch job.Status {
		case jobs.Uploaded, jobs.Failed, jobs.Ready:
		case jobs.Created:
			return jobs.WrongState(job, "has no file yet")
		default:
			return jobs.WrongState(job, "cannot be processed")
		}
		if job.BlobKey == "" {
			return jobs.WrongState(job, "has no file")
		}
		if err := job.Untouched(); err != nil {
			return err
		}
		if job.Status == jobs.Ready {
			t, err := m.target(job.Target)
			if err != nil {
				return err
			}
			p, settings, err := planOf(tx, a, job)
			if err == nil && p.Anew(job) == nil && p.MadeFor(t, a.Role) && p.Fingerprint == settingsText(settings, job.Mapping) &&
				settings.DryRun == (p.Result.Preview != nil) {
				before = p.Result
				return errAnswered
			}
		}
		return clearStaged(tx, a.TenantID, job.ID)
	})
	if errors.Is(err, errAnswered) {
		return before, nil
	}
	if err != nil {
		return nil, fmt.Errorf("imports: process: %w", err)
	}
	defer m.jobs.Leave(s)
	ctx, cease := m.jobs.UntilClosed(ctx)
	defer cease()
	var res *plan.Processed
	err = jobs.Guarded(func() (err error) {
		res, err = m.process(ctx, s)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("imports: process: %w", err), m.jobs.End(ctx, s, failedState(err, jobs.Uploaded), sheet.Plain(fault.As(err).Msg)))
	}
	return res, nil
}

// errAnswered ends a transaction that found the answer already there.
var errAnswered = errors.New("imports: answered before")

// failedState is where a step that broke leaves its job: failed when the job
// is at fault, back where it was when the server is, or who asked.
func failedState(err error, rest string) string {
	switch fault.As(err).Kind {
	case fault.Internal, fault.Unavailable, fault.NoSpace, fault.Forbidden:
		return rest
	}
	return jobs.Failed
}

// planOf reads what was decided about a job's file, and its options as they
// are now.
func planOf(tx *db.Tx, a actor.Actor, job *jobs.Job) (*plan.Plan, plan.Settings, error) {
	settings, err := plan.ParseSettings(job.Options)
	if err != nil {
		return nil, settings, err
	}
	p, err := plan.Read(tx, job)
	return p, settings, err
}

// A file of so many rows is checked with a heap that grows by fewer per cent of
// what lives: its keys live until the end, and need no garbage beside them.
const (
	manyRows = 200_000
	leaner   = 110
)

func (m *Importer) process(ctx context.Context, s *jobs.Step) (*plan.Processed, error) {
	t, err := m.target(s.Job.Target)
	if err != nil {
		return nil, err
	}
	settings, err := plan.ParseSettings(s.Job.Options)
	if err != nil {
		return nil, err
	}
	for name := range settings.Defaults {
		if t.Column(name) == nil {
			return nil, plan.UnknownField(t, name)
		}
		if err := t.Sets(name, "options.defaults", s.Actor.Role); err != nil {
			return nil, err
		}
	}
	if err := settings.Unclear(t); err != nil {
		return nil, err
	}
	if err := t.Permit(s.Actor.Role, settings.Mode); err != nil {
		return nil, err
	}
	mapping, err := plan.ParseMapping(t, s.Job.Mapping)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) {
		f, err := m.shelf.files.Open(ctx, s.Job.BlobKey)
		return &heeding{f, ctx}, err
	}
	f := plan.Upload{Open: open, Kind: s.Job.FileType, Role: s.Actor.Role}
	f.Others = func(headers []string) []string { return m.fitting(s.Actor.Role, t, headers) }
	if !settings.Guess {
		f.Known = func(headers []string) (json.RawMessage, string, error) {
			return m.savedMapping(ctx, s.Actor, t.Name, headers)
		}
	}
	found, err := plan.Look(f, t, settings, mapping)
	if err != nil {
		return nil, err
	}
	v := &survey{found}
	if settings.Timezone == "" {
		if settings.Timezone, err = m.zoneOf(ctx, s.Actor); err != nil {
			return nil, err
		}
	}
	if v.Zone, err = time.LoadLocation(settings.Timezone); err != nil {
		v.Zone = time.UTC
	}
	st := m.stager(s, v)
	if mapping == nil && v.Saved == "" {
		if err := st.refs.strangers(ctx, v); err != nil {
			return nil, err
		}
		st.fields, st.defaults = v.Fields(), v.Defaults()
	}
	if st.edits, err = m.edits(ctx, s.Actor, s.Job.ID, v.Format.Type); err != nil {
		return nil, err
	}
	if v.Rows > manyRows {
		defer heap.Thrifty(leaner)()
	}
	if err := st.run(ctx, open); err != nil {
		return nil, err
	}
	return st.finish(ctx)
}

// heeding is a file that is read no further when ctx is done.
type heeding struct {
	io.ReadSeekCloser
	ctx context.Context
}

func (h *heeding) Read(p []byte) (int, error) {
	if err := h.ctx.Err(); err != nil {
		return 0, err
	}
	return h.ReadSeekCloser.Read(p)
}

// fitting names the other targets a role may import into that a header fits:
// All that they need is there, and more than one column is known.
func (m *Importer) fitting(r actor.Role, but *targets.Target, headers []string) []string {
	var names []string
	for name, t := range m.targets {
		if t == but || targets.MayImport(m.targets, actor.Actor{Role: r}, name) != nil {
			continue
		}
		l, err := plan.Arrange(t, headers, nil, true)
		if err == nil && len(l.Cols) > 1 && l.Complete(t, plan.Settings{}) == nil {
			names = append(names, targets.Spoken(name))
		}
	}
	slices.Sort(names)
	return names
}

// repeated warns when the same file was applied to the same target before, or
// a part of it, and still stands. It returns nil or the warning.
func (m *Importer) repeated(tx *db.Tx, a actor.Actor, target, sha, except string) any {
	var others []*jobs.Job
	err := tx.Query("SELECT id, job_no, status, imported_count, lease_until, lease_claim FROM import_jobs WHERE tenant_id = $1 AND sha256 = $2 AND "+
		"target = $3 AND id <> $4 AND status <> 'rolled_back' "+
		"AND (status IN ('applying', 'completed') OR imported_count > 0) ORDER BY id DESC LIMIT 20",
		[]any{a.TenantID, sha, target, except}, func(r *db.Row) error {
			others = append(others, &jobs.Job{ID: r.Text(0), JobNo: r.Text(1), Status: r.Text(2), ImportedCount: r.Int(3), Lease: r.Time(4), Claim: r.Int(5)})
			return nil
		})
	if err != nil {
		return nil
	}
	for _, job := range others {
		if w := m.standing(tx, job); w != "" {
			return w
		}
	}
	return nil
}

// standing says what stands of another job's file; "" = nothing: it died before
// it had applied any of it.
func (m *Importer) standing(tx *db.Tx, job *jobs.Job) string {
	switch job.Status {
	case jobs.Completed:
		return fmt.Sprintf("The same file was applied before by %s: to apply it again, it must be forced.", job.JobNo)
	case jobs.RollingBack:
		return fmt.Sprintf("The same file is being rolled back by %s: wait for that; to apply it meanwhile, it must be forced.", job.JobNo)
	case jobs.Applying:
		if m.applies(tx, job) {
			return fmt.Sprintf("The same file is being applied by %s: to apply it again, it must be forced.", job.JobNo)
		}
		if job.ImportedCount == 0 {
			return ""
		}
	}
	return fmt.Sprintf("A part of the same file was applied by %s: go on with that job, or roll it back; to apply all of the file beside it, it must "+
		"be forced.", job.JobNo)
}

// applies reports that a job which is applying may be alive. On the embedded
// engine only this process is asked: there the lease outlives a death by a
// minute, in which the file must be free to be imported again.
func (m *Importer) applies(tx *db.Tx, job *jobs.Job) bool {
	if here := m.jobs.Here(job.ID); here || m.db.Engine() != db.PostgreSQL {
		return here
	}
	orphan, err := m.jobs.Orphaned(tx, job)
	return err == nil && !orphan
}
