package apply

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/bulk"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
	"holdfast/internal/trace"
)

// Options are what an Applier works with. Whole is how many rows are applied in
// one transaction; of a larger job Together chunks go into each.
type Options struct {
	Store    *store.Store
	Jobs     *jobs.Table
	Records  *bulk.Records
	Targets  targets.All
	Whole    int64
	Together int
}

// Applier applies jobs. It is safe for concurrent use.
type Applier struct {
	store   *store.Store
	db      *db.DB
	cat     *catalog.Catalog
	jobs    *jobs.Table
	records *bulk.Records
	targets targets.All
	whole   int64
	some    int // chunks in one transaction
}

// New returns an Applier.
func New(o Options) *Applier {
	return &Applier{store: o.Store, db: o.Store.DB(), cat: o.Store.Catalog(), jobs: o.Jobs, records: o.Records,
		targets: o.Targets, whole: o.Whole, some: o.Together}
}

// Applied is the answer of Apply.
type Applied struct {
	Success       bool   `json:"success"`
	ImportedCount int64  `json:"imported_count"`
	Message       string `json:"message"`
}

// Apply writes a ready job's valid rows with before-images, counters, one audit row
// and the job's own state: up to 20,000 in one transaction, more of them in chunks of
// a thousand. Rows with errors were counted by processing and are left out. A job that
// broke off between chunks goes on where it was. A completed job is answered with its
// first result. Of parallel calls one applies and the others get fault.Conflict. It
// goes on when ctx ends: the caller may ask for the job; closing the jobs ends it as if
// the process had died.
func (m *Applier) Apply(ctx context.Context, a actor.Actor, jobID string) (_ *Applied, err error) {
	ctx, span := trace.Begin(ctx, "import", "apply")
	defer func() { span.End(err) }()
	var before *Applied
	var p *plan.Plan
	s, err := m.jobs.Begin(ctx, a, jobID, jobs.Applying, func(tx *db.Tx, job *jobs.Job) error {
		if job.Status == jobs.Completed {
			before = appliedOf(job)
			return jobs.ErrAnswered
		}
		var err error
		p, err = m.checkAppliable(tx, a, job)
		return err
	})
	if errors.Is(err, jobs.ErrAnswered) {
		return before, nil
	}
	if err != nil {
		return nil, fmt.Errorf("imports: apply: %w", err)
	}
	defer m.jobs.Leave(s)
	ctx, cease := m.jobs.UntilClosed(context.WithoutCancel(ctx))
	defer cease()
	var done *jobs.Job
	err = jobs.Guarded(func() (err error) {
		done, err = m.applyAll(ctx, s, p)
		return err
	})
	if err != nil {
		err = errors.Join(err, m.jobs.End(ctx, s, jobs.FailedState(err, jobs.Ready), fault.As(err).Msg))
		return m.answerAfterFailure(ctx, s, err)
	}
	return appliedOf(done), nil
}

// applyAll applies a job at once or, a large or begun one, chunk by chunk.
func (m *Applier) applyAll(ctx context.Context, s *jobs.Step, p *plan.Plan) (done *jobs.Job, err error) {
	if s.Job.ImportedCount > 0 || p.Result.Stats.ValidRows > m.whole {
		return m.applyChunks(ctx, s, p)
	}
	err = m.jobs.Write(ctx, s, func(tx *db.Tx) (err error) {
		done, err = m.applyInOne(tx, s, p)
		return err
	})
	return done, err
}

// answerAfterFailure answers when applying broke. A connection lost during commit may
// have committed all the same; then the job says so.
func (m *Applier) answerAfterFailure(ctx context.Context, s *jobs.Step, cause error) (*Applied, error) {
	if job, err := m.jobs.Load(ctx, s.Actor, s.Job.ID); err == nil && job.Status == jobs.Completed {
		return appliedOf(job), nil
	}
	return nil, fmt.Errorf("imports: apply: %w", cause)
}

func appliedOf(job *jobs.Job) *Applied {
	return &Applied{Success: true, ImportedCount: job.ImportedCount, Message: job.Message}
}

// checkAppliable checks that a job may be applied as it stands.
func (m *Applier) checkAppliable(tx *db.Tx, a actor.Actor, job *jobs.Job) (*plan.Plan, error) {
	switch job.Status {
	case jobs.Ready, jobs.Failed:
	case jobs.Created, jobs.Uploaded:
		return nil, jobs.WrongState(job, "must be processed first")
	case jobs.RolledBack:
		return nil, jobs.WrongState(job, "cannot be applied again: upload its file anew")
	default:
		return nil, jobs.WrongState(job, "cannot be applied")
	}
	if job.RolledBackCount > 0 {
		return nil, job.Untouched()
	}
	p, settings, err := plan.Of(tx, job)
	if fault.Is(err, fault.NotFound) {
		return nil, jobs.WrongState(job, "must be processed first")
	}
	if err != nil {
		return nil, err
	}
	if err := p.Anew(job); err != nil {
		return nil, err
	}
	if p.Fingerprint != plan.Fingerprint(settings, job.Mapping) {
		return nil, jobs.WrongState(job, "was changed after it was processed: process it again")
	}
	t, err := m.targets.Named(job.Target)
	if err != nil {
		return nil, err
	}
	for _, name := range p.Fields {
		if t.Denies(name, a.Role) {
			return nil,
				fault.New(fault.Forbidden, "42501",
					"the file sets %s, which your role (%s) may not set: process it again to leave that out, or have somebody apply it who may", t.Words(name), a.Role)
		}
	}
	if settings.DryRun {
		return nil, jobs.WrongState(job, "was made to check a file only").With("status: "+job.Status, "options.dry_run")
	}
	if w := m.jobs.Repeated(tx, a, job.Target, job.SHA256, job.ID); w != "" && !settings.Force {
		f := fault.New(fault.Conflict, "import_repeated", "%s", w)
		return nil, f.At("options.force", "must be true to apply the same file again")
	}
	return p, nil
}

// application is one Apply inside its transaction.
type application struct {
	*bulk.Writer
	m      *Applier
	sum    tally
	step   *jobs.Step
	plan   *plan.Plan
	target *targets.Target
	lots   *bulk.Writer
	seq    int // snapshots written

	outcomes []staged.Outcome // of the rows at hand

	details        *bulk.Writer    // of the target's lines
	own            map[string]bool // records with lines that were made here
	makes, changes bool            // whether the role may
}

// newApplication begins to apply inside a transaction.
func (m *Applier) newApplication(tx *db.Tx, s *jobs.Step, p *plan.Plan) (*application, error) {
	if err := m.jobs.Hold(tx, s); err != nil {
		return nil, err
	}
	t, err := m.targets.Named(s.Job.Target)
	if err != nil {
		return nil, err
	}
	ap := &application{m: m, Writer: m.records.Writer(tx, s.Actor, t.Written()), step: s, plan: p, target: t}
	ap.makes, ap.changes = t.Rights(s.Actor.Role)
	return ap, nil
}

func (m *Applier) applyInOne(tx *db.Tx, s *jobs.Step, p *plan.Plan) (*jobs.Job, error) {
	ap, err := m.newApplication(tx, s, p)
	if err != nil {
		return nil, err
	}
	t := ap.target
	var rows []staged.Row
	var chunks []span
	for seq := 1; seq <= p.Chunks; seq++ {
		more, err := ap.readChunk(seq)
		if err != nil {
			return nil, err
		}
		rows, chunks = append(rows, more...), append(chunks, span{seq, len(more)})
		if t.Posts != nil && len(rows) < bulk.Movements && seq < p.Chunks {
			continue
		}
		if err := ap.putRows(t, rows); err != nil {
			return nil, err
		}
		ap.tellOutcomes(chunks)
		rows, chunks = rows[:0], chunks[:0]
	}
	return ap.finishJob()
}

// readChunk reads a staged chunk; what the one before it queued goes along.
func (ap *application) readChunk(seq int) (rows []staged.Row, err error) {
	rows, err = staged.ReadRows(ap.Tx, ap.Actor.TenantID, ap.step.Job.ID, seq, len(ap.plan.Fields))
	if err != nil {
		return nil, fmt.Errorf("imports: read chunk %d: %w", seq, err)
	}
	return rows, nil
}

// rowFields is a staged row by field, only what the file gave.
func (ap *application) rowFields(s staged.Row, spare int) store.Row {
	return s.Fields(ap.plan.Fields, spare)
}

func (ap *application) putRows(t *targets.Target, list []staged.Row) error {
	if len(list) == 0 {
		return nil
	}
	rows := make([]store.Row, len(list))
	lines := make([]int, len(list))
	for i, s := range list {
		rows[i], lines[i] = ap.rowFields(s, len(t.Resource.Fields)), s.Line
	}
	switch {
	case t.Name == "stock_levels":
		return ap.bookCounts(rows, lines)
	case t.Posts != nil:
		return ap.postMovements(rows, lines)
	case ap.plan.Lined:
		return ap.writeDocuments(rows, lines)
	case t.Keyed():
		return ap.mergeRows(rows, lines)
	}
	err := ap.addRows(rows, lines)
	ap.noteOutcomes(insertChanges(rows))
	return err
}

// addRows inserts rows and keeps their ids.
func (ap *application) addRows(rows []store.Row, lines []int) error {
	ids, err := ap.Insert(rows, lines)
	if err != nil {
		return err
	}
	ap.sum.fresh += int64(len(ids))
	return ap.queueSnapshot(ap.Resource.Name, "insert", len(ids), staged.PackIDs(ids))
}

// mergeRows inserts the rows whose key is new and changes the others.
func (ap *application) mergeRows(rows []store.Row, lines []int) error {
	existing, err := ap.Existing(rows)
	if err != nil {
		return err
	}
	s, err := ap.sortOut(rows, lines, existing)
	if err != nil {
		return err
	}
	err = ap.writeSorted(s)
	ap.noteOutcomes(s.all)
	return err
}

// sorted are rows as records to make and records to change, with their lines.
type sorted struct {
	fresh                    []store.Row
	changes                  []store.Change
	freshLines, changedLines []int
	all                      []store.Change // both, in the order of the rows
}

func (ap *application) sortOut(rows []store.Row, lines []int, existing map[string]store.Row) (*sorted, error) {
	s := &sorted{}
	for i, row := range rows {
		old := existing[match.Key(ap.Resource, row)]
		if old == nil {
			if err := ap.mayMake(lines[i]); err != nil {
				return nil, err
			}
			s.fresh, s.freshLines = append(s.fresh, row), append(s.freshLines, lines[i])
			s.all = append(s.all, store.Change{After: row})
			continue
		}
		if err := ap.mayChange(lines[i]); err != nil {
			return nil, err
		}
		c, err := ap.Change(old, row, lines[i], ap.plan.Soft)
		if err != nil {
			return nil, err
		}
		s.changes, s.changedLines = append(s.changes, c), append(s.changedLines, lines[i])
		s.all = append(s.all, c)
	}
	return s, nil
}

func (ap *application) writeSorted(s *sorted) error {
	if err := ap.reviseRows(s.changes, s.changedLines); err != nil || len(s.fresh) == 0 {
		return err
	}
	return ap.addRows(s.fresh, s.freshLines)
}

// mayMake and mayChange hold applying to the mode and to what the role may do,
// which may be another person's than that of who had the file checked.
func (ap *application) mayMake(line int) error {
	if ap.plan.Mode == targets.ModeUpdate {
		return bulk.Stale(line, "the record it updates is gone by now")
	}
	if !ap.makes {
		return fault.New(fault.Forbidden, "42501", "line %d: your role may not make %s", line, targets.Spoken(ap.target.Name))
	}
	return nil
}

func (ap *application) mayChange(line int) error {
	if ap.plan.Mode == targets.ModeInsert {
		return bulk.Stale(line, "a record with the same key exists by now")
	}
	if !ap.changes {
		return fault.New(fault.Forbidden, "42501", "line %d: your role may not change %s", line,
			targets.Spoken(ap.target.Name))
	}
	return nil
}

// reviseRows writes changes and keeps what was there before.
func (ap *application) reviseRows(changes []store.Change, lines []int) error {
	if len(changes) == 0 {
		return nil
	}
	changed, err := ap.Update(changes, lines)
	if err != nil {
		return err
	}
	ap.sum.again += int64(len(changed))
	ap.sum.same += int64(len(changes) - len(changed))
	images, err := staged.PackImages(ap.Resource, changed)
	if err != nil {
		return err
	}
	return ap.queueSnapshot(ap.Resource.Name, "update", len(changed), images)
}

// queueSnapshot queues one batch of what the import did.
func (ap *application) queueSnapshot(resource, op string, rows int, data []byte) error {
	if rows == 0 {
		return nil
	}
	ap.seq++
	ap.Tx.Queue(`
		INSERT INTO import_snapshots (tenant_id, job_id, seq, entity_type, op, rows, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		[]any{ap.Actor.TenantID, ap.step.Job.ID, ap.seq, resource, op, rows, data}, nil)
	return nil
}

// writeCounters writes the counters.
func (ap *application) writeCounters() {
	ap.Done()
	for _, w := range []*bulk.Writer{ap.lots, ap.details} {
		if w != nil {
			w.Done()
		}
	}
}

func (ap *application) finishJob() (*jobs.Job, error) {
	ap.writeCounters()
	return ap.m.completeJob(ap.Tx, ap.step, ap.sum)
}

// completeJob writes audit and state and drops the staged rows.
func (m *Applier) completeJob(tx *db.Tx, s *jobs.Step, t tally) (*jobs.Job, error) {
	a, job := s.Actor, s.Job
	msg := fmt.Sprintf("%s applied: %d new, %d changed, %d as they were.",
		fault.Counted(t.totalRows(), "row", "rows"), t.fresh, t.again, t.same)
	if job.InvalidRows > 0 {
		msg += " " + fault.Counted(job.InvalidRows, "row with errors was", "rows with errors were") + " left out."
	}
	m.jobs.Audit(tx, a, job, "import_jobs.apply", map[string]any{"target": job.Target, "file": job.FileName,
		"sha256": job.SHA256, "inserted": t.fresh, "updated": t.again, "unchanged": t.same, "left_out": job.InvalidRows})
	tx.Queue("DELETE FROM import_chunks WHERE tenant_id = $1 AND job_id = $2", []any{a.TenantID, job.ID}, nil)
	return m.jobs.Set(tx, a, job.ID, store.Row{"status": jobs.Completed, "lease_until": nil,
		"imported_count": t.totalRows(), "applied_at": m.store.Now(), "message": msg})
}
