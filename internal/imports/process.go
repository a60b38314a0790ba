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
	"holdfast/internal/imports/sheet"
)

// shownErrors is how many row errors the answer of Process lists.
const shownErrors = 100

// Process reads a job's file, checks every row and stages the valid ones. A
// ready job is answered with its first result unless its mapping or options
// were changed since. Row errors do not fail the job; a file that cannot be
// understood does, with a question where an option would settle it.
func (m *Importer) Process(ctx context.Context, a actor.Actor, jobID string) (*Processed, error) {
	var before *Processed
	s, err := m.begin(ctx, a, jobID, Processing, func(tx *db.Tx, job *Job) error {
		switch job.Status {
		case Uploaded, Failed, Ready:
		case Created:
			return wrongState(job, "has no file yet")
		default:
			return wrongState(job, "cannot be processed")
		}
		if job.blobKey == "" {
			return wrongState(job, "has no file")
		}
		if err := job.untouched(); err != nil {
			return err
		}
		if job.Status == Ready {
			t, err := m.target(job.Target)
			if err != nil {
				return err
			}
			p, settings, err := m.planOf(tx, a, job)
			if err == nil && p.anew(job) == nil && p.madeFor(t, a.Role) && p.Fingerprint == settingsText(settings, job.Mapping) &&
				settings.DryRun == (p.Result.Preview != nil) {
				before = p.Result
				return errAnswered
			}
		}
		return m.clear(tx, a.TenantID, job.ID)
	})
	if errors.Is(err, errAnswered) {
		return before, nil
	}
	if err != nil {
		return nil, fmt.Errorf("imports: process: %w", err)
	}
	defer m.leave(s)
	ctx, cease := m.untilClosed(ctx)
	defer cease()
	var res *Processed
	err = guarded(func() (err error) {
		res, err = m.process(ctx, s)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("imports: process: %w", err), m.end(ctx, s, failedState(err, Uploaded), sheet.Plain(fault.As(err).Msg)))
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
	return Failed
}

// planOf reads what was decided about a job's file, and its options as they
// are now.
func (m *Importer) planOf(tx *db.Tx, a actor.Actor, job *Job) (*plan, Settings, error) {
	settings, err := parseSettings(job.Options)
	if err != nil {
		return nil, settings, err
	}
	p, err := readPlan(tx, job)
	return p, settings, err
}

func readPlan(tx *db.Tx, job *Job) (*plan, error) {
	p := &plan{}
	return p, tx.One("SELECT plan FROM import_plans WHERE tenant_id = $1 AND job_id = $2", []any{job.TenantID, job.ID}, func(r *db.Row) error {
		return json.Unmarshal(r.Bytes(0), p)
	})
}

// A file of so many rows is checked with a heap that grows by fewer per cent of
// what lives: its keys live until the end, and need no garbage beside them.
const (
	manyRows = 200_000
	leaner   = 110
)

func (m *Importer) process(ctx context.Context, s *step) (*Processed, error) {
	t, err := m.target(s.job.Target)
	if err != nil {
		return nil, err
	}
	settings, err := parseSettings(s.job.Options)
	if err != nil {
		return nil, err
	}
	for name := range settings.Defaults {
		if t.column(name) == nil {
			return nil, unknownField(t, name)
		}
		if err := t.sets(name, "options.defaults", s.actor.Role); err != nil {
			return nil, err
		}
	}
	if err := t.unclear(settings); err != nil {
		return nil, err
	}
	if err := t.permit(s.actor.Role, settings.Mode); err != nil {
		return nil, err
	}
	mapping, err := parseMapping(t, s.job.Mapping)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) {
		f, err := m.files.Open(ctx, s.job.blobKey)
		return &heeding{f, ctx}, err
	}
	f := upload{open: open, kind: s.job.FileType, role: s.actor.Role}
	f.others = func(headers []string) []string { return m.fitting(s.actor.Role, t, headers) }
	if !settings.Guess {
		f.known = func(headers []string) (json.RawMessage, string, error) {
			return m.savedMapping(ctx, s.actor, t.name, headers)
		}
	}
	v, err := look(f, t, settings, mapping)
	if err != nil {
		return nil, err
	}
	if settings.Timezone == "" {
		if settings.Timezone, err = m.zoneOf(ctx, s.actor); err != nil {
			return nil, err
		}
	}
	if v.zone, err = time.LoadLocation(settings.Timezone); err != nil {
		v.zone = time.UTC
	}
	st := m.stager(s, v)
	if mapping == nil && v.saved == "" {
		if err := st.refs.strangers(ctx, v); err != nil {
			return nil, err
		}
		st.fields, st.defaults = v.fields(), v.defaults()
	}
	if st.edits, err = m.edits(ctx, s.actor, s.job.ID, v.format.Type); err != nil {
		return nil, err
	}
	if v.rows > manyRows {
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

// say puts the numbers into a sentence, with the warnings after it.
func (p *Processed) say() {
	n := p.Stats
	switch {
	case n.TotalRows == 0:
		p.Message = "The file has no rows below its header."
	case n.InvalidRows == 0:
		p.Message = fmt.Sprintf("All %d rows are ready to be applied.", n.TotalRows)
	default:
		p.Message = fmt.Sprintf("%d of %d rows are ready to be applied; %d have errors and will be left out.", n.ValidRows, n.TotalRows, n.InvalidRows)
	}
	if c := p.Preview; c != nil {
		p.Message += fmt.Sprintf(" They would make %d records, change %d and leave %d as they are.", c.Inserts, c.Updates, c.Unchanged)
	}
	for _, w := range p.Warnings {
		p.Message += " " + w
	}
}

// fitting names the other targets a role may import into that a header fits:
// all that they need is there, and more than one column is known.
func (m *Importer) fitting(r actor.Role, but *target, headers []string) []string {
	var names []string
	for name, t := range m.targets {
		if t == but || mayImport(m.targets, r, name) != nil {
			continue
		}
		l, err := arrange(t, headers, nil, true)
		if err == nil && len(l.cols) > 1 && l.complete(t, Settings{}) == nil {
			names = append(names, spoken(name))
		}
	}
	slices.Sort(names)
	return names
}

// repeated warns when the same file was applied to the same target before, or
// a part of it, and still stands. It returns nil or the warning.
func (m *Importer) repeated(tx *db.Tx, a actor.Actor, target, sha, except string) any {
	var others []*Job
	err := tx.Query("SELECT id, job_no, status, imported_count, lease_until, lease_claim FROM import_jobs WHERE tenant_id = $1 AND sha256 = $2 AND "+
		"target = $3 AND id <> $4 AND status <> 'rolled_back' "+
		"AND (status IN ('applying', 'completed') OR imported_count > 0) ORDER BY id DESC LIMIT 20",
		[]any{a.TenantID, sha, target, except}, func(r *db.Row) error {
			others = append(others, &Job{ID: r.Text(0), JobNo: r.Text(1), Status: r.Text(2), ImportedCount: r.Int(3), lease: r.Time(4), claim: r.Int(5)})
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
func (m *Importer) standing(tx *db.Tx, job *Job) string {
	switch job.Status {
	case Completed:
		return fmt.Sprintf("The same file was applied before by %s: to apply it again, it must be forced.", job.JobNo)
	case RollingBack:
		return fmt.Sprintf("The same file is being rolled back by %s: wait for that; to apply it meanwhile, it must be forced.", job.JobNo)
	case Applying:
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
func (m *Importer) applies(tx *db.Tx, job *Job) bool {
	if _, here := m.running.Load(job.ID); here || m.db.Engine() != db.PostgreSQL {
		return here
	}
	orphan, err := m.orphaned(tx, job)
	return err == nil && !orphan
}
