package check

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
	"holdfast/internal/imports/bulk"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
	"holdfast/internal/trace"
)

// Files opens kept files by their keys.
type Files interface {
	Open(ctx context.Context, key string) (io.ReadSeekCloser, error)
}

// Options are what a Checker works with.
type Options struct {
	Store   *store.Store
	Jobs    *jobs.Table
	Records *bulk.Records
	Targets targets.All
	Files   Files
}

// Checker processes jobs' files and corrects their rows. It is safe for concurrent
// use.
type Checker struct {
	store   *store.Store
	quiet   *store.Store // the same without audit rows
	db      *db.DB
	jobs    *jobs.Table
	records *bulk.Records
	targets targets.All
	files   Files
}

// New returns a Checker.
func New(o Options) *Checker {
	return &Checker{store: o.Store, quiet: o.Store.Unaudited(), db: o.Store.DB(), jobs: o.Jobs, records: o.Records,
		targets: o.Targets, files: o.Files}
}

// shownErrors is how many row errors the answer of Process lists.
const shownErrors = 100

// Process reads a job's file, checks every row and stages the valid ones. A
// ready job is answered with its first result unless its mapping or options
// were changed since. Row errors do not fail the job; a file that cannot be
// understood does, with a question where an option would settle it.
func (m *Checker) Process(ctx context.Context, a actor.Actor, jobID string) (_ *plan.Processed, err error) {
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
			t, err := m.targets.Named(job.Target)
			if err != nil {
				return err
			}
			p, settings, err := plan.Of(tx, job)
			if err == nil && p.Anew(job) == nil && p.MadeFor(t, a.Role) &&
				p.Fingerprint == plan.Fingerprint(settings, job.Mapping) && settings.DryRun == (p.Result.Preview != nil) {
				before = p.Result
				return jobs.ErrAnswered
			}
		}
		return staged.Clear(tx, a.TenantID, job.ID)
	})
	if errors.Is(err, jobs.ErrAnswered) {
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
		res, err = m.processFile(ctx, s)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("imports: process: %w", err),
			m.jobs.End(ctx, s, jobs.FailedState(err, jobs.Uploaded), sheet.Plain(fault.As(err).Msg)))
	}
	return res, nil
}

// A file of so many rows is checked with a heap that grows by fewer per cent of
// what lives: its keys live until the end, and need no garbage beside them.
const (
	manyRows = 200_000
	leaner   = 110
)

func (m *Checker) processFile(ctx context.Context, s *jobs.Step) (*plan.Processed, error) {
	t, err := m.targets.Named(s.Job.Target)
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
	for name := range settings.Values {
		if t.Column(name) == nil {
			return nil, plan.UnknownField(t, name)
		}
		if err := t.Sets(name, "options.values", s.Actor.Role); err != nil {
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
		f, err := m.files.Open(ctx, s.Job.BlobKey)
		return &heeding{f, ctx}, err
	}
	f := plan.Upload{Open: open, Kind: s.Job.FileType, Role: s.Actor.Role, Now: m.store.Now()}
	f.Others = func(headers []string) []string { return m.fittingTargets(s.Actor.Role, t, headers) }
	if !settings.Guess {
		f.Known = func(headers []string) (json.RawMessage, string, error) {
			return m.savedMapping(ctx, s.Actor, t.Name, headers)
		}
	}
	found, err := plan.Look(f, t, settings, mapping)
	if err != nil {
		return nil, err
	}
	v := &draft.Reader{Survey: found, Now: m.store.Now()}
	if err := m.readTenant(ctx, s.Actor, v); err != nil {
		return nil, err
	}
	st := m.newStager(s, v)
	if err := st.refs.Strangers(ctx, v); err != nil {
		return nil, err
	}
	st.fields, st.defaults, st.soft = v.Fields(), v.Defaults(), v.Soft()
	if st.edits, err = m.readEdits(ctx, s.Actor, s.Job.ID, v.Format.Type); err != nil {
		return nil, err
	}
	if v.Rows > manyRows {
		defer heap.LimitGrowth(leaner)()
	}
	if err := st.runStager(ctx, open); err != nil {
		return nil, err
	}
	return st.finishPlan(ctx)
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

// fittingTargets names the other targets a role may import into that a header fits:
// all that they need is there, and more than one column is known.
func (m *Checker) fittingTargets(r actor.Role, but *targets.Target, headers []string) []string {
	var names []string
	for name, t := range m.targets {
		if t == but || targets.MayImport(m.targets, actor.Actor{Role: r}, name) != nil {
			continue
		}
		l, err := plan.Arrange(t, headers, nil, true)
		if err == nil && len(l.Cols) > 1 && l.Fits(t) {
			names = append(names, targets.Spoken(name))
		}
	}
	slices.Sort(names)
	return names
}

// readTenant reads what a file leaves to its tenant: the time zone of times that name
// none, where no option names one, and the currency of amounts.
func (m *Checker) readTenant(ctx context.Context, a actor.Actor, v *draft.Reader) error {
	zone := "UTC"
	err := m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		return tx.Query("SELECT timezone, currency FROM tenants WHERE id = $1", []any{a.TenantID}, func(r *db.Row) error {
			zone, v.Currency = r.Text(0), r.Text(1)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("imports: read the tenant: %w", err)
	}
	if v.Settings.Timezone != "" {
		zone = v.Settings.Timezone
	}
	if v.Zone, err = time.LoadLocation(zone); err != nil {
		v.Zone = time.UTC
	}
	return nil
}
