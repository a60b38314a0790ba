package imports

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/trace"
)

// Apply writes a ready job's valid rows with before-images, counters, one audit
// Fields and the job's own state: up to 20,000 in one transaction, more of them in
// chunks of a thousand. Rows with errors were counted by Process and are left
// out. A job that broke off between chunks goes on where it was. A completed job is answered with its
// first result. Of parallel calls one applies and the others get
// fault.Conflict. It goes on when ctx ends: the caller may ask for the job; Close
// ends it as if the process had died.
func (m *Importer) Apply(ctx context.Context, a actor.Actor, jobID string) (_ *Applied, err error) {
	ctx, span := trace.Begin(ctx, "import", "apply")
	defer func() { span.End(err) }()
	var before *Applied
	var p *plan.Plan
	s, err := m.jobs.Begin(ctx, a, jobID, jobs.Applying, func(tx *db.Tx, job *jobs.Job) error {
		if job.Status == jobs.Completed {
			before = appliedOf(job)
			return errAnswered
		}
		var err error
		p, err = m.appliable(tx, a, job)
		return err
	})
	if errors.Is(err, errAnswered) {
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
		err = errors.Join(err, m.jobs.End(ctx, s, failedState(err, jobs.Ready), fault.As(err).Msg))
		return m.afterwards(ctx, s, err)
	}
	return appliedOf(done), nil
}

// applyAll applies a job at once or, a large or begun one, chunk by chunk.
func (m *Importer) applyAll(ctx context.Context, s *jobs.Step, p *plan.Plan) (done *jobs.Job, err error) {
	if s.Job.ImportedCount > 0 || p.Result.Stats.ValidRows > m.whole {
		return m.applyChunks(ctx, s, p)
	}
	err = m.db.Write(ctx, store.Scope(s.Actor), func(tx *db.Tx) error {
		return jobs.Guarded(func() (err error) {
			done, err = m.apply(tx, s, p)
			return err
		})
	})
	return done, err
}

// afterwards answers when applying broke. A connection lost during commit may
// have committed all the same; then the job says so.
func (m *Importer) afterwards(ctx context.Context, s *jobs.Step, cause error) (*Applied, error) {
	if job, err := m.jobs.Load(ctx, s.Actor, s.Job.ID); err == nil && job.Status == jobs.Completed {
		return appliedOf(job), nil
	}
	return nil, fmt.Errorf("imports: apply: %w", cause)
}

func appliedOf(job *jobs.Job) *Applied {
	return &Applied{Success: true, ImportedCount: job.ImportedCount, Message: job.Message}
}

// appliable checks that a job may be applied as it stands.
func (m *Importer) appliable(tx *db.Tx, a actor.Actor, job *jobs.Job) (*plan.Plan, error) {
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
	p, settings, err := planOf(tx, a, job)
	if fault.Is(err, fault.NotFound) {
		return nil, jobs.WrongState(job, "must be processed first")
	}
	if err != nil {
		return nil, err
	}
	if err := p.Anew(job); err != nil {
		return nil, err
	}
	if p.Fingerprint != settingsText(settings, job.Mapping) {
		return nil, jobs.WrongState(job, "was changed after it was processed: process it again")
	}
	t, err := m.target(job.Target)
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
	if w := m.repeated(tx, a, job.Target, job.SHA256, job.ID); w != nil && !settings.Force {
		f := fault.New(fault.Conflict, "import_repeated", "%s", w)
		return nil, f.At("options.force", "must be true to apply the same file again")
	}
	return p, nil
}

// application is one Apply inside its transaction.
type application struct {
	*writer
	sum    tally
	step   *jobs.Step
	plan   *plan.Plan
	target *targets.Target
	lots   *writer
	seq    int // snapshots written

	outcomes []outcome // of the rows at hand

	details        *writer         // of the target's lines
	own            map[string]bool // records with lines that were made here
	makes, changes bool            // whether the role may
}

// application begins to apply inside a transaction.
func (m *Importer) application(tx *db.Tx, s *jobs.Step, p *plan.Plan) (*application, error) {
	if err := m.jobs.Hold(tx, s); err != nil {
		return nil, err
	}
	t, err := m.target(s.Job.Target)
	if err != nil {
		return nil, err
	}
	ap := &application{writer: m.writer(tx, s.Actor, t.Written()), step: s, plan: p, target: t}
	ap.makes, ap.changes = t.Rights(s.Actor.Role)
	return ap, nil
}

func (m *Importer) apply(tx *db.Tx, s *jobs.Step, p *plan.Plan) (*jobs.Job, error) {
	ap, err := m.application(tx, s, p)
	if err != nil {
		return nil, err
	}
	t := ap.target
	var rows []staged.Row
	var chunks []span
	for seq := 1; seq <= p.Chunks; seq++ {
		more, err := ap.chunk(seq)
		if err != nil {
			return nil, err
		}
		rows, chunks = append(rows, more...), append(chunks, span{seq, len(more)})
		if t.Posts != nil && len(rows) < postRows && seq < p.Chunks {
			continue
		}
		if err := ap.put(t, rows); err != nil {
			return nil, err
		}
		ap.tellOutcomes(chunks)
		rows, chunks = rows[:0], chunks[:0]
	}
	return ap.finish()
}

// chunk reads a staged chunk; what the one before it queued goes along.
func (ap *application) chunk(seq int) (rows []staged.Row, err error) {
	err = ap.tx.One("SELECT rows, data FROM import_chunks WHERE tenant_id = $1 AND job_id = $2 AND seq = $3",
		[]any{ap.actor.TenantID, ap.step.Job.ID, seq}, func(r *db.Row) error {
			rows, err = staged.Decode(r.Bytes(1), len(ap.plan.Fields), int(r.Int(0)))
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("imports: read chunk %d: %w", seq, err)
	}
	return rows, nil
}

// Fields is a staged row by field, only what the file gave.
func (ap *application) row(s staged.Row, spare int) store.Row {
	return s.Fields(ap.plan.Fields, spare)
}

func (ap *application) put(t *targets.Target, list []staged.Row) error {
	if len(list) == 0 {
		return nil
	}
	rows := make([]store.Row, len(list))
	lines := make([]int, len(list))
	for i, s := range list {
		rows[i], lines[i] = ap.row(s, len(t.Resource.Fields)), s.Line
	}
	switch {
	case t.Name == "stock_levels":
		return ap.count(rows, lines)
	case t.Posts != nil:
		return ap.move(rows, lines)
	case ap.plan.Lined:
		return ap.documents(rows, lines)
	case t.Keyed():
		return ap.merge(rows, lines)
	}
	err := ap.add(rows, lines)
	ap.became(inserts(rows))
	return err
}

// add inserts rows and keeps their ids.
func (ap *application) add(rows []store.Row, lines []int) error {
	ids, err := ap.insert(rows, lines)
	if err != nil {
		return err
	}
	ap.sum.fresh += int64(len(ids))
	return ap.snapshot("insert", len(ids), staged.PackIDs(ids))
}

// merge inserts the rows whose key is new and changes the others.
func (ap *application) merge(rows []store.Row, lines []int) error {
	existing, err := ap.existing(rows)
	if err != nil {
		return err
	}
	s, err := ap.sortOut(rows, lines, existing)
	if err != nil {
		return err
	}
	err = ap.write(s)
	ap.became(s.all)
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
		old := existing[keyText(ap.resource, row)]
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
		c, err := ap.change(old, row, lines[i])
		if err != nil {
			return nil, err
		}
		s.changes, s.changedLines = append(s.changes, c), append(s.changedLines, lines[i])
		s.all = append(s.all, c)
	}
	return s, nil
}

func (ap *application) write(s *sorted) error {
	if err := ap.revise(s.changes, s.changedLines); err != nil || len(s.fresh) == 0 {
		return err
	}
	return ap.add(s.fresh, s.freshLines)
}

// mayMake and mayChange hold applying to the mode and to what the role may do,
// which may be another person's than that of who had the file checked.
func (ap *application) mayMake(line int) error {
	switch {
	case ap.plan.Mode == targets.ModeUpdate:
		return stale(line, "the record it updates is gone by now")
	case !ap.makes:
		return fault.New(fault.Forbidden, "42501", "line %d: your role may not make %s", line, targets.Spoken(ap.target.Name))
	}
	return nil
}

func (ap *application) mayChange(line int) error {
	switch {
	case ap.plan.Mode == targets.ModeInsert:
		return stale(line, "a record with the same key exists by now")
	case !ap.changes:
		return fault.New(fault.Forbidden, "42501", "line %d: your role may not change %s", line, targets.Spoken(ap.target.Name))
	}
	return nil
}

func stale(line int, why string) error {
	return fault.New(fault.Conflict, "import_stale", "line %d cannot be written: %s; process the file again", line, why).With(fmt.Sprintf("line %d", line), "")
}

// existing reads and locks the records that have the rows' keys.
func (ap *application) existing(rows []store.Row) (map[string]store.Row, error) {
	ids := map[string]string{}
	err := lookKeys(ap.tx, ap.actor.TenantID, ap.resource, rows, []string{"id"}, func(key string, r *db.Row) { ids[key] = r.Text(0) })
	if err != nil {
		return nil, fmt.Errorf("imports: look up keys: %w", err)
	}
	var want []string
	for _, row := range rows {
		if id := ids[keyText(ap.resource, row)]; id != "" {
			want = append(want, id)
		}
	}
	out := map[string]store.Row{}
	if len(want) == 0 {
		return out, nil
	}
	old, err := ap.lockRows(want)
	for _, row := range old {
		out[keyText(ap.resource, row)] = row
	}
	return out, err
}

func (w *writer) lockRows(ids []string) ([]store.Row, error) {
	rows, err := w.m.store.RowsTx(w.tx, w.actor, w.resource, w.tx.DB().InUUID("id", 2)+" ORDER BY id"+w.tx.DB().ForUpdate(), []any{query.List(ids)})
	if err != nil {
		return nil, fmt.Errorf("imports: lock %s: %w", w.resource.Name, err)
	}
	return rows, nil
}

// change is what a row of the file makes of a record: fields it gives are set,
// the rest stay, and so do fields that are fixed at creation.
func (ap *application) change(old, row store.Row, line int) (store.Change, error) {
	after := make(store.Row, len(old))
	for k, v := range old {
		after[k] = v
	}
	for k, v := range row {
		if f, ok := ap.resource.Field(k); ok && !f.Fixed && !f.ReadOnly && !slices.Contains(ap.plan.Soft, k) {
			after[k] = v
		}
	}
	c := store.Change{Resource: ap.resource, Op: store.Update, Before: old, After: after}
	st := ap.resource.States
	if st == nil {
		return c, nil
	}
	from, _ := old[st.Field].(string)
	to, _ := after[st.Field].(string)
	if from == to {
		return c, nil
	}
	if legal, permitted := st.Allows(from, to, ap.step.Actor.Role); !legal || !permitted {
		return c, fault.New(fault.Conflict, "HF001", "line %d: a record of %s cannot move from %q to %q", line, targets.Spoken(ap.resource.Name), from, to).
			With(fmt.Sprintf("line %d", line), "").At(st.Field, "cannot become %s", to)
	}
	return c, nil
}

// revise writes changes and keeps what was there before.
func (ap *application) revise(changes []store.Change, lines []int) error {
	if len(changes) == 0 {
		return nil
	}
	changed, err := ap.update(changes, lines)
	if err != nil {
		return err
	}
	ap.sum.again += int64(len(changed))
	ap.sum.same += int64(len(changes) - len(changed))
	images, err := staged.PackImages(ap.resource, changed)
	if err != nil {
		return err
	}
	return ap.snapshot("update", len(changed), images)
}

// snapshot queues one batch of what the import did.
func (ap *application) snapshot(op string, rows int, data []byte) error {
	if rows == 0 {
		return nil
	}
	ap.seq++
	ap.tx.Queue("INSERT INTO import_snapshots (tenant_id, job_id, seq, entity_type, op, rows, data) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		[]any{ap.actor.TenantID, ap.step.Job.ID, ap.seq, ap.resource.Name, op, rows, data}, nil)
	return nil
}

// counted writes the counters.
func (ap *application) counted() {
	ap.done()
	for _, w := range []*writer{ap.lots, ap.details} {
		if w != nil {
			w.done()
		}
	}
}

func (ap *application) finish() (*jobs.Job, error) {
	ap.counted()
	return ap.m.completed(ap.tx, ap.step, ap.sum)
}

// completed writes audit and state and drops the staged rows.
func (m *Importer) completed(tx *db.Tx, s *jobs.Step, t tally) (*jobs.Job, error) {
	a, job := s.Actor, s.Job
	msg := fmt.Sprintf("%d rows applied: %d new, %d changed, %d as they were.", t.total(), t.fresh, t.again, t.same)
	if job.InvalidRows > 0 {
		msg += fmt.Sprintf(" %d rows with errors were left out.", job.InvalidRows)
	}
	m.audit(tx, a, job, "import_jobs.apply", map[string]any{"target": job.Target, "file": job.FileName, "sha256": job.SHA256,
		"inserted": t.fresh, "updated": t.again, "unchanged": t.same, "left_out": job.InvalidRows})
	tx.Queue("DELETE FROM import_chunks WHERE tenant_id = $1 AND job_id = $2", []any{a.TenantID, job.ID}, nil)
	return m.jobs.Set(tx, a, job.ID, store.Row{"status": jobs.Completed, "lease_until": nil, "imported_count": t.total(),
		"applied_at": m.store.Now(), "message": msg})
}

// audit writes the one row that tells of a whole import.
func (m *Importer) audit(tx *db.Tx, a actor.Actor, job *jobs.Job, action string, details map[string]any) {
	audit.Write(tx, audit.Entry{Tenant: a.TenantID, At: m.store.Now(), By: a, Action: action, EntityType: "import_jobs", EntityID: job.ID, Details: details})
}
