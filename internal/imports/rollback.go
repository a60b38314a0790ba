package imports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// listedConflicts is how many conflicts a refusal names; the count is exact.
const listedConflicts = 100

// Rollback puts back what an import changed, completed or broken off, in one
// transaction, for administrators. New records go, changed ones get back what they held, with
// their former version; stock movements are undone by movements the other way,
// the ledger keeps both, and so stay the lots made for them. A record that was
// changed since, or that others refer to, is a conflict: then nothing changes
// and fault.Conflict lists them (Data is a []Conflict).
func (m *Importer) Rollback(ctx context.Context, a actor.Actor, jobID string) (*RolledBackResult, error) {
	return m.takeBack(ctx, a, jobID, false)
}

// RollbackRest is Rollback that leaves the records in conflict as they are and
// takes back the others. Of stock, an item whose stock is not all there any
// more is left. What was left cannot be rolled back later.
func (m *Importer) RollbackRest(ctx context.Context, a actor.Actor, jobID string) (*RolledBackResult, error) {
	return m.takeBack(ctx, a, jobID, true)
}

func (m *Importer) takeBack(ctx context.Context, a actor.Actor, jobID string, partial bool) (*RolledBackResult, error) {
	if !a.Administrator() {
		return nil, fault.New(fault.Forbidden, "42501", "only administrators roll imports back")
	}
	s, err := m.begin(ctx, a, jobID, RollingBack, func(_ *db.Tx, job *Job) error {
		if job.Status != Completed && !job.partly() {
			return wrongState(job, "cannot be rolled back")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("imports: roll back: %w", err)
	}
	ctx = context.WithoutCancel(ctx)
	var u *undo
	var done *Job
	err = m.db.Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		return guarded(func() (err error) {
			if u, err = m.undo(tx, s, partial); err == nil {
				done, err = u.run()
			}
			return err
		})
	})
	if err != nil {
		err = errors.Join(err, m.end(ctx, s, s.from, "Rolling back was refused: "+fault.As(err).Msg))
		if job, lost := m.load(ctx, a, jobID); lost == nil && job.Status == RolledBack {
			return rolledBackOf(job), nil // committed before the connection was lost
		}
		return nil, fmt.Errorf("imports: roll back: %w", err)
	}
	res := rolledBackOf(done)
	res.Kept, res.Conflicts = len(u.kept), u.conflicts
	return res, m.end(ctx, s, "", "")
}

func rolledBackOf(job *Job) *RolledBackResult {
	return &RolledBackResult{Success: true, RolledBack: job.RolledBackCount, Message: job.Message}
}

// undo is one rollback inside its transaction.
type undo struct {
	*writer
	step      *step
	target    *target
	partial   bool
	kept      map[string]bool // records left as they are, of stock the items
	conflicts []Conflict
	count     int
	undone    int64
}

func (u *undo) conflict(id, label, format string, args ...any) {
	u.count++
	u.kept[id] = true
	if len(u.conflicts) < listedConflicts {
		u.conflicts = append(u.conflicts, Conflict{EntityType: u.resource.Name, EntityID: id, Label: label, Reason: fmt.Sprintf(format, args...)})
	}
}

// refusal is the fault of the conflicts found, or nil.
func (u *undo) refusal() error {
	if u.count == 0 || u.partial {
		return nil
	}
	lines := make([]string, len(u.conflicts))
	for i, c := range u.conflicts {
		lines[i] = c.Label + ": " + c.Reason
	}
	f := fault.New(fault.Conflict, "import_conflict", "%d records stand against rolling the import back; nothing was changed", u.count)
	f.Details = strings.Join(lines, "; ")
	f.Data = u.conflicts
	return f
}

// undo begins a rollback inside a transaction.
func (m *Importer) undo(tx *db.Tx, s *step, partial bool) (*undo, error) {
	if err := m.hold(tx, s); err != nil {
		return nil, err
	}
	t, err := m.target(s.job.Target)
	if err != nil {
		return nil, err
	}
	w, err := m.writer(tx, s.actor, t.resource)
	if err != nil {
		return nil, err
	}
	return &undo{writer: w, step: s, target: t, partial: partial, kept: map[string]bool{}}, nil
}

func (u *undo) run() (*Job, error) {
	var err error
	if u.target.name == "stock_movements" {
		err = u.movements()
	} else {
		err = u.records()
	}
	if err != nil {
		return nil, err
	}
	return u.finish()
}

func (u *undo) finish() (*Job, error) {
	u.done()
	a, job := u.step.actor, u.step.job
	if err := u.m.audit(u.tx, a, job, "import_jobs.rollback", map[string]any{"target": job.Target, "file": job.FileName, "rolled_back": u.undone, "kept": len(u.kept)}); err != nil {
		return nil, err
	}
	for _, table := range []string{"import_snapshots", "import_journal", "import_chunks"} {
		u.tx.Queue("DELETE FROM "+table+" WHERE tenant_id = $1 AND job_id = $2", []any{a.TenantID, job.ID}, nil)
	}
	msg := fmt.Sprintf("%d records were rolled back.", u.undone)
	if n := len(u.kept); n > 0 {
		msg += fmt.Sprintf(" %d were changed or used since and stay as they are.", n)
	}
	return u.m.set(u.tx, a, job.ID, store.Row{"status": RolledBack, "lease_until": nil, "rolled_back_count": u.undone, "rolled_back_at": u.m.store.Now(),
		"message": msg})
}

// batch is one snapshot.
type batch struct {
	op   string
	data []byte
}

// records undoes an import of records that change: first every batch is
// checked, the newest first, so that all conflicts are known; then undone.
func (u *undo) records() error {
	last, err := u.batches()
	if err != nil {
		return err
	}
	for _, act := range []struct{ inserted, updated func([]byte) error }{{u.checkInserted, u.checkUpdated}, {u.remove, u.restore}} {
		for seq := last; seq >= 1; seq-- {
			b, err := u.batch(seq)
			if err != nil {
				return err
			}
			do := act.inserted
			if b.op == "update" {
				do = act.updated
			}
			if err := do(b.data); err != nil {
				return err
			}
		}
		if err := u.refusal(); err != nil {
			return err
		}
	}
	return nil
}

func (u *undo) batches() (int, error) {
	n := 0
	err := u.tx.Query("SELECT COALESCE(MAX(seq), 0) FROM import_snapshots WHERE tenant_id = $1 AND job_id = $2", []any{u.actor.TenantID, u.step.job.ID}, func(r *db.Row) error {
		n = int(r.Int(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("imports: read snapshots: %w", err)
	}
	return n, nil
}

func (u *undo) batch(seq int) (b batch, err error) {
	err = u.tx.One("SELECT op, data FROM import_snapshots WHERE tenant_id = $1 AND job_id = $2 AND seq = $3", []any{u.actor.TenantID, u.step.job.ID, seq}, func(r *db.Row) error {
		b = batch{r.Text(0), r.Bytes(1)}
		return nil
	})
	if err != nil {
		return b, fmt.Errorf("imports: read snapshot %d: %w", seq, err)
	}
	return b, nil
}

// label is what people call a record by.
func label(row store.Row) string {
	for _, f := range []string{"sku", "code", "lot_no", "incident_no", "external_ref", "name", "title"} {
		if s, ok := row[f].(string); ok && s != "" {
			return s
		}
	}
	s, _ := row["id"].(string)
	return s
}

// checkInserted looks for records made by the import that were changed since
// or that others refer to. Those deleted since are gone already.
func (u *undo) checkInserted(data []byte) error {
	ids, err := unpackIDs(data)
	if err != nil {
		return err
	}
	rows, err := u.lockRows(ids)
	if err != nil {
		return err
	}
	labels := map[string]string{}
	for _, row := range rows {
		id := row["id"].(string)
		labels[id] = label(row)
		if v, _ := row["version"].(int64); v != 1 {
			u.conflict(id, labels[id], "was changed after the import (version %d)", v)
			delete(labels, id)
		}
	}
	for _, rel := range u.resource.Relations() {
		if rel.To != u.resource.Name {
			continue
		}
		if err := u.checkReferences(rel, ids, labels); err != nil {
			return err
		}
	}
	return nil
}

func (u *undo) checkReferences(rel catalog.Relation, ids []string, labels map[string]string) error {
	sql := "SELECT " + rel.Column + ", COUNT(*) FROM " + rel.From + " WHERE tenant_id = $1 AND " + u.tx.DB().InUUID(rel.Column, 2) + " GROUP BY " + rel.Column + " ORDER BY " + rel.Column
	err := u.tx.Query(sql, []any{u.actor.TenantID, query.List(ids)}, func(r *db.Row) error {
		if l, ok := labels[r.Text(0)]; ok {
			u.conflict(r.Text(0), l, "is used by %d %s", r.Int(1), strings.ReplaceAll(rel.From, "_", " "))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("imports: look for references in %s: %w", rel.From, err)
	}
	return nil
}

// checkUpdated looks for records changed again after the import changed them.
func (u *undo) checkUpdated(data []byte) error {
	images, err := unpackImages(data)
	if err != nil {
		return err
	}
	rows, err := u.current(images)
	if err != nil {
		return err
	}
	for _, im := range images {
		row := rows[im.ID]
		if row == nil {
			u.conflict(im.ID, im.ID, "was deleted after the import")
			continue
		}
		if v, _ := row["version"].(int64); v != im.Version {
			u.conflict(im.ID, label(row), "was changed after the import (version %d, the import left %d)", v, im.Version)
		}
	}
	return nil
}

func (u *undo) current(images []image) (map[string]store.Row, error) {
	ids := make([]string, len(images))
	for i, im := range images {
		ids[i] = im.ID
	}
	rows, err := u.lockRows(ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]store.Row, len(rows))
	for _, row := range rows {
		out[row["id"].(string)] = row
	}
	return out, nil
}

// remove deletes the records an import made.
func (u *undo) remove(data []byte) error {
	ids, err := unpackIDs(data)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return u.kept[id] })
	if len(ids) == 0 {
		return nil
	}
	gone, err := u.m.quiet.DeleteTx(u.tx, u.actor, u.resource, ids)
	if err != nil {
		return fmt.Errorf("imports: remove %s: %w", u.resource.Name, err)
	}
	u.undone += int64(len(gone))
	return u.tx.Flush()
}

// restore gives changed records back what they held. Derived columns are
// worked out anew: stock may have moved without anybody editing the record.
func (u *undo) restore(data []byte) error {
	images, err := unpackImages(data)
	if err != nil {
		return err
	}
	rows, err := u.current(images)
	if err != nil {
		return err
	}
	was := map[string]image{}
	var changes []store.Change
	for _, im := range images {
		if u.kept[im.ID] {
			continue
		}
		before, err := im.restored(u.resource)
		if err != nil {
			return err
		}
		row := rows[im.ID]
		after := make(store.Row, len(row))
		for k, v := range row {
			after[k] = v
		}
		for k, v := range before {
			if f, _ := u.resource.Field(k); !f.ReadOnly {
				after[k] = v
			}
		}
		was[im.ID] = im
		changes = append(changes, store.Change{Resource: u.resource, Op: store.Update, Before: row, After: after})
	}
	done, err := u.update(changes, nil, func(c store.Change) (int64, string) {
		im := was[c.After["id"].(string)]
		at := u.now
		if old, err := im.restored(u.resource); err == nil {
			at, _ = old["updated_at"].(string)
		}
		return im.Was, at
	})
	u.undone += int64(len(done))
	return err
}
