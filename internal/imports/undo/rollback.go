package undo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/bulk"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/trace"
)

// Rollback puts back what an import changed, completed or broken off, for
// administrators: in one transaction as large as an apply's, above that batch
// by batch, so that other writers come in between. New records go, changed
// ones get back what they held, with their former version, or field by field where
// others changed other fields since; stock movements are undone by movements the
// other way, the ledger keeps both, and so stay the lots made for them. A field that
// both changed, and a new record that was changed since or that others refer to, is
// a conflict: then nothing changes and fault.Conflict lists them (Data is a
// []Conflict). A rollback that broke off goes on when it is asked for again.
func (m *Undoer) Rollback(ctx context.Context, a actor.Actor, jobID string) (*RolledBackResult, error) {
	return m.takeBack(ctx, a, jobID, false)
}

// RollbackRest is Rollback that leaves the records in conflict as they are and
// takes back the others; fields that others changed too are kept for good. Of
// stock, an item whose stock is not all there any more is left. What was left can be
// rolled back later, when nothing stands against it any more.
func (m *Undoer) RollbackRest(ctx context.Context, a actor.Actor, jobID string) (*RolledBackResult, error) {
	return m.takeBack(ctx, a, jobID, true)
}

func (m *Undoer) takeBack(
	ctx context.Context, a actor.Actor, jobID string, partial bool,
) (_ *RolledBackResult, err error) {
	ctx, span := trace.Begin(ctx, "import", "rollback")
	defer func() { span.End(err) }()
	if !a.Administrator() {
		return nil, fault.New(fault.Forbidden, "42501", "only administrators roll imports back")
	}
	ctx = db.Patient(ctx, jobs.WholeJob)
	s, err := m.jobs.Begin(ctx, a, jobID, jobs.RollingBack, func(_ *db.Tx, job *jobs.Job) error {
		if job.Status != jobs.Completed && !job.Partly() {
			return jobs.WrongState(job, "cannot be rolled back")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("imports: roll back: %w", err)
	}
	defer m.jobs.Leave(s)
	ctx, cease := m.jobs.UntilClosed(context.WithoutCancel(ctx))
	defer cease()
	u := &rollback{inspection: inspection{m: m, step: s, job: s.Job, partial: partial}}
	u.forgetAttempt()
	var done *jobs.Job
	err = jobs.Guarded(func() (err error) {
		done, err = u.runRollback(ctx)
		return err
	})
	if err != nil {
		err = errors.Join(err, m.jobs.End(ctx, s, s.From, u.stoppedMessage(err)))
		if job, lost := m.jobs.Load(ctx, a, jobID); lost == nil && job.Status == jobs.RolledBack {
			return rolledBackOf(job), nil // committed before the connection was lost
		}
		return nil, fmt.Errorf("imports: roll back: %w", err)
	}
	res := rolledBackOf(done)
	res.Kept, res.Conflicts = len(u.kept), u.conflicts
	return res, nil
}

func rolledBackOf(job *jobs.Job) *RolledBackResult {
	return &RolledBackResult{Success: true, RolledBack: job.RolledBackCount, Message: job.Message}
}

// rollback is one.
type rollback struct {
	needed map[string]bool // items whose past cannot do without the job's movements
	inspection
	lined  bool // the job's rows were lines of records
	undone int64
}

// runRollback rolls back in one transaction or, a large import, in batches.
func (u *rollback) runRollback(ctx context.Context) (done *jobs.Job, err error) {
	if u.job.ImportedCount-u.job.RolledBackCount > u.m.whole {
		return u.inBatches(ctx)
	}
	err = retryOnReference(func(int) (err error) {
		done, err = u.atOnce(ctx)
		return err
	})
	return done, err
}

// stoppedMessage tells what a rollback that failed leaves.
func (u *rollback) stoppedMessage(err error) string {
	msg := "Rolling back was refused: " + fault.As(err).Msg
	if n := u.rolledBackSoFar(); n > 0 {
		msg += fmt.Sprintf(". %d of %s back; roll back again to go on.", n,
			fault.Counted(u.job.ImportedCount, "record is", "records are"))
	}
	return msg
}

// enterTransaction begins a transaction of the rollback.
func (u *rollback) enterTransaction(tx *db.Tx) error {
	if err := u.m.jobs.Hold(tx, u.step); err != nil {
		return err
	}
	return u.openJob(tx)
}

// openJob turns to the job's records in a transaction.
func (u *rollback) openJob(tx *db.Tx) error {
	u.writers = map[string]*bulk.Writer{}
	var err error
	if u.target, err = u.m.targets.Named(u.step.Job.Target); err != nil {
		return err
	}
	if err := u.useResource(tx, u.target.Written().Name); err != nil || u.target.Lines == nil {
		return err
	}
	p, _, err := plan.Of(tx, u.step.Job)
	u.lined = p.Lined
	return err
}

// writeCounters writes the counters of a transaction.
func (u *rollback) writeCounters() {
	for _, w := range u.writers {
		w.Done()
	}
}

// atOnce rolls back in one transaction.
func (u *rollback) atOnce(ctx context.Context) (job *jobs.Job, err error) {
	err = u.m.jobs.Write(ctx, u.step, func(tx *db.Tx) (err error) {
		u.forgetAttempt()
		if err := u.enterTransaction(tx); err != nil {
			return err
		}
		if err := u.undoAll(); err != nil {
			return err
		}
		u.writeCounters()
		job, err = u.finishJob(u.rolledBackSoFar() + u.undone)
		return err
	})
	return job, err
}

// retryOnReference runs a transaction of the rollback again when somebody began to refer
// to a record between the look for such references and its deletion: the next
// look finds the reference and names it.
func retryOnReference(do func(attempt int) error) (err error) {
	for attempt := range 3 {
		if err = do(attempt); !fault.HasCode(err, "23503") {
			return err
		}
	}
	return err
}

// forgetAttempt forgets what a transaction found that is run a second time.
func (u *rollback) forgetAttempt() {
	u.made, u.kept, u.conflicts, u.count, u.undone = nil, map[string]bool{}, nil, 0, 0
	u.settled = map[string]bool{}
}

func (u *rollback) undoAll() error {
	if u.target.Posts != nil {
		return u.undoMovements()
	}
	last, err := u.countBatches()
	if err != nil {
		return err
	}
	if err := u.checkAll(last); err != nil {
		return err
	}
	for seq := last; seq >= 1; seq-- {
		if err := u.undoBatch(seq); err != nil {
			return err
		}
	}
	return nil
}

func (u *rollback) finishJob(total int64) (*jobs.Job, error) {
	a, job := u.step.Actor, u.step.Job
	u.m.jobs.Audit(u.Tx, a, job, "import_jobs.rollback", map[string]any{"target": job.Target, "file": job.FileName,
		"rolled_back": total, "kept": len(u.kept)})
	msg := fault.Counted(total, "record was", "records were") + " rolled back."
	if n := len(u.settled); n > 0 {
		msg += fmt.Sprintf(" Of %s, the fields that others changed since stay as they are.",
			fault.Counted(n, "record", "records"))
	}
	if n := len(u.kept) - len(u.settled); n > 0 {
		msg += " " + fault.Counted(n,
			"was changed or used since and stays as it is", "were changed or used since and stay as they are") +
			"; roll back again when that is settled."
		return u.m.jobs.Set(u.Tx, a, job.ID, store.Row{"status": u.step.From, "lease_until": nil, "rolled_back_count": total,
			"message": msg})
	}
	staged.Drop(u.Tx, a.TenantID, job.ID, "import_snapshots", "import_journal", "import_chunks", "import_outcomes")
	return u.m.jobs.Set(u.Tx, a, job.ID,
		store.Row{"status": jobs.RolledBack, "lease_until": nil, "rolled_back_count": total,
			"rolled_back_at": u.m.store.Now(), "message": msg})
}

// batch is one snapshot, gone when everything in it is back.
type batch struct {
	entity, op string
	data       []byte
}

// checkAll looks for what stands against the rollback, the newest batch first:
// what lines say is known before what their records say.
func (u *rollback) checkAll(last int) error {
	for seq := last; seq >= 1; seq-- {
		if err := u.checkBatch(seq); err != nil {
			return err
		}
	}
	if err := u.keepLines(); err != nil {
		return err
	}
	return u.conflictFault()
}

func (u *rollback) checkBatch(seq int) error {
	b, err := u.readBatch(seq)
	if err != nil || b.op == "" {
		return err
	}
	if b.op == "update" {
		return u.checkUpdated(b.data)
	}
	return u.checkInserted(b.data)
}

// undoBatch puts one batch back, unless something stands against it, and keeps
// of its snapshot what stays.
func (u *rollback) undoBatch(seq int) error {
	b, err := u.readBatch(seq)
	if err != nil || b.op == "" {
		return err
	}
	before, do := u.undone, u.removeMade
	if b.op == "update" {
		do = u.restoreChanged
	}
	left, n, err := do(b.data)
	if err != nil {
		return err
	}
	if err := u.conflictFault(); err != nil {
		return err
	}
	if u.lined && b.entity == u.target.Name {
		u.undone = before // rows are counted as lines
	}
	args := []any{u.Actor.TenantID, u.step.Job.ID, seq}
	if n == 0 {
		u.Tx.Queue(`
			DELETE FROM import_snapshots
			WHERE tenant_id = $1
				AND job_id = $2
				AND seq = $3`, args, nil)
		return nil
	}
	u.Tx.Queue(`
		UPDATE import_snapshots
		SET rows = $4, data = $5
		WHERE tenant_id = $1
			AND job_id = $2
			AND seq = $3`,
		append(args, n, left), nil)
	return nil
}

func (u *rollback) countBatches() (int, error) {
	return staged.LastSnapshot(u.Tx, u.Actor.TenantID, u.step.Job.ID)
}

// readBatch reads a snapshot and turns to its records; the zero batch is one that
// is back already.
func (u *rollback) readBatch(seq int) (b batch, err error) {
	err = u.Tx.Query(`
		SELECT entity_type, op, data
		FROM import_snapshots
		WHERE tenant_id = $1
			AND job_id = $2
			AND seq = $3`,
		[]any{u.Actor.TenantID, u.step.Job.ID, seq}, func(r *db.Row) error {
			b = batch{r.Text(0), r.Text(1), r.Bytes(2)}
			return nil
		})
	if err != nil {
		return b, fmt.Errorf("imports: read snapshot %d: %w", seq, err)
	}
	if b.op != "" {
		err = u.useResource(u.Tx, b.entity)
	}
	return b, err
}

// removeMade deletes the records of a batch that the import made, and returns what
// stays of the batch and how many records that are. Those that are as the import
// left them go in one statement; what that passes over was changed or deleted
// since, and the database itself refuses to delete what a foreign key refers to;
// other mentions are looked for again.
func (u *rollback) removeMade(data []byte) (left []byte, n int, err error) {
	all, err := staged.UnpackIDs(data)
	if err != nil || len(all) == 0 {
		return nil, 0, err
	}
	if err := u.checkMentions(groupOf(all)); err != nil {
		return nil, 0, err
	}
	ids := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return u.kept[id] })
	if len(ids) > 0 {
		gone, err := u.m.quiet.In(u.Tx, u.Actor).DropRows(u.Resource.Name, ids, 1)
		if err != nil {
			return nil, 0, fmt.Errorf("imports: remove %s: %w", u.Resource.Name, err)
		}
		u.undone += int64(len(gone))
		if len(gone) < len(ids) {
			if err := u.passedOver(ids); err != nil {
				return nil, 0, err
			}
		}
	}
	stay := slices.DeleteFunc(all, func(id string) bool { return !u.kept[id] })
	return staged.PackIDs(stay), len(stay), u.Tx.Flush()
}

// passedOver notes which of the records are there yet.
func (u *rollback) passedOver(ids []string) error {
	there, err := u.readHeld(ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if h, ok := there[id]; ok {
			u.addConflict(id, h.label, "was changed after the import (version %d)", h.version)
		}
	}
	return nil
}

// following are the fields that follow other records and not their own
// record's changes. They are worked out anew: stock may have moved without
// anybody editing the record.
var following = map[string][]string{
	"items": {"on_hand", "available", "stock_value", "low_stock"},
	"zones": {"load_units", "utilization"},
	"orders": {"stage", "line_count", "qty_ordered", "qty_allocated", "qty_picked", "qty_packed", "qty_shipped",
		"qty_received", "total_value"},
}

// restoreChanged gives changed records back what they held, and returns what stays of
// the batch and how many records that are.
func (u *rollback) restoreChanged(data []byte) (left []byte, n int, err error) {
	images, err := staged.UnpackImages(data)
	if err != nil {
		return nil, 0, err
	}
	rows, err := u.lockCurrent(images)
	if err != nil {
		return nil, 0, err
	}
	back := map[string]store.Row{}
	var stay []staged.Image
	var changes []store.Change
	for _, im := range images {
		row := rows[im.ID]
		if row == nil {
			continue // deleted since
		}
		was, err := u.previousValues(im, row)
		if err != nil {
			return nil, 0, err
		}
		if u.kept[im.ID] && !u.settled[im.ID] {
			stay = append(stay, im)
			continue
		}
		if len(was) == len(sinceChanged) && row[versionField] != im.Version {
			continue // others changed all that the import did
		}
		if row[versionField] == im.Version && im.Version == im.Was { // only its lines had changed it
			u.Bulk.Touch(im.ID, match.Text(was[updatedField]))
			continue
		}
		back[im.ID] = was
		after := maps.Clone(row)
		maps.Copy(after, was)
		changes = append(changes, store.Change{Resource: u.Resource, Op: store.Update, Before: row, After: after})
	}
	done, err := u.Bulk.Restore(changes, func(id string) store.Row { return back[id] })
	if err != nil {
		return nil, 0, err
	}
	u.undone += int64(len(done))
	if err := u.Tx.Flush(); err != nil {
		return nil, 0, err
	}
	left, err = staged.PackList(stay)
	return left, len(stay), err
}

// sinceChanged are the fields that every change of a record sets.
var sinceChanged = []string{versionField, updatedField}

const (
	versionField = "version"
	updatedField = "updated_at"
)

// previousValues is what a record gets back. Where it was changed after the import, what
// others changed stays, and it gets a version of its own.
func (u *rollback) previousValues(im staged.Image, now store.Row) (store.Row, error) {
	row, err := im.Restored(u.Resource)
	if err != nil {
		return nil, err
	}
	for _, f := range following[u.Resource.Name] {
		delete(row, f)
	}
	row[versionField] = im.Was
	if version, _ := now[versionField].(int64); version != im.Version {
		theirs, err := u.findOverridden(im, now)
		if err != nil {
			return nil, err
		}
		for _, name := range theirs {
			delete(row, name)
		}
		if len(theirs) > 0 && u.partial {
			u.settled[im.ID] = true
		}
		row[versionField], row[updatedField] = version+1, nil
	}
	if row[updatedField] == nil {
		row[updatedField] = query.FormatTime(u.m.store.Now())
	}
	return row, nil
}
