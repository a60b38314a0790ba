package undo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// inBatches rolls a large import back in numbered batches, the newest first,
// so that other writers come in between: its snapshots, or steps of its
// movements. All are looked at before the first is undone, and none is undone
// that was changed meanwhile. What is back is gone from the snapshots, or
// reversed in the ledger, and so a rollback that broke off goes on.
func (u *rollback) inBatches(ctx context.Context) (job *jobs.Job, err error) {
	if err := u.surveyConflicts(ctx); err != nil {
		return nil, err
	}
	if u.target.Posts != nil {
		err = u.eachStep(ctx)
	} else {
		err = u.eachBatch(ctx)
	}
	if err != nil {
		return nil, err
	}
	err = u.m.jobs.Write(ctx, u.step, func(tx *db.Tx) (err error) {
		if err := u.enterTransaction(tx); err != nil {
			return err
		}
		job, err = u.finishJob(u.rolledBackSoFar())
		return err
	})
	return job, err
}

// surveyConflicts looks for conflicts, in one snapshot of the database.
func (u *rollback) surveyConflicts(ctx context.Context) error {
	return u.m.db.Read(ctx, store.Scope(u.step.Actor), func(tx *db.Tx) error {
		return jobs.Guarded(func() error {
			if err := u.openJob(tx); err != nil {
				return err
			}
			if u.target.Posts != nil {
				if err := u.checkStock(); err != nil {
					return err
				}
				return u.conflictFault()
			}
			last, err := u.countBatches()
			if err != nil {
				return err
			}
			return u.checkAll(last)
		})
	})
}

// runBatchAlone runs one batch in its transaction, and tells how far the job is. The
// job's row is locked last, so that two batches wait for each other only while
// they count: whether the job is still this step's is known before anything lasts.
func (u *rollback) runBatchAlone(ctx context.Context, do func() error) error {
	return u.m.jobs.Write(ctx, u.step, func(tx *db.Tx) error {
		u.undone = 0
		if err := u.openJob(tx); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		u.writeCounters()
		s := u.step
		job, err := u.m.jobs.Held(tx, s)
		if err != nil {
			return err
		}
		job, err = u.m.jobs.Set(tx, s.Actor, job.ID, store.Row{"rolled_back_count": job.RolledBackCount + u.undone,
			"lease_until": u.m.jobs.Renew(s)})
		if err != nil {
			return err
		}
		tx.After(func() { u.job = job })
		return nil
	})
}

// eachBatch puts all batches back, some in each transaction, the newest first.
func (u *rollback) eachBatch(ctx context.Context) error {
	last, n := 0, 1
	err := u.m.db.Read(ctx, store.Scope(u.step.Actor), func(tx *db.Tx) (err error) {
		u.Tx = tx
		if last, err = u.countBatches(); err != nil {
			return err
		}
		n, err = u.countLanes()
		return err
	})
	if err != nil {
		return fmt.Errorf("imports: roll back: %w", err)
	}
	seqs := make([]int, last)
	for i := range seqs {
		seqs[i] = last - i
	}
	lanes := make([]*rollback, n)
	for i := range lanes {
		lanes[i] = u.newLane()
	}
	err = eachIn(lanes, slices.Collect(slices.Chunk(seqs, u.m.some)), func(l *rollback, some []int) error {
		return retryOnReference(func(attempt int) error { return l.undoSome(ctx, some, attempt > 0) })
	})
	for _, l := range lanes {
		u.mergeLane(l)
	}
	if refused := u.conflictFault(); refused != nil {
		return refused
	}
	return err
}

// countLanes is how many transactions of the rollback run at once. Deleting a row
// costs PostgreSQL more than making it, as each table that may refer to it is
// asked, and one connection keeps one processor busy. One after the other go
// records that refer to each other, so that those go first that refer, and those
// whose removal or change touches others: two transactions would wait for each
// other's.
func (u *rollback) countLanes() (int, error) {
	r := u.target.Written()
	among := slices.ContainsFunc(r.Relations(), func(rel catalog.Relation) bool { return rel.From == rel.To })
	if u.m.db.Engine() == db.SQLite || u.target.Lines != nil || among || !u.m.quiet.Idle(r) {
		return 1, nil
	}
	changed := int64(0)
	err := u.Tx.One(`
		SELECT COUNT(*)
		FROM import_snapshots
		WHERE tenant_id = $1
			AND job_id = $2
			AND op = 'update'`,
		[]any{u.Actor.TenantID, u.step.Job.ID}, func(row *db.Row) error {
			changed = row.Int(0)
			return nil
		})
	if err != nil {
		return 0, fmt.Errorf("read snapshots: %w", err)
	}
	if changed > 0 {
		return 1, nil
	}
	return 2, nil
}

// newLane is a rollback of the same job that knows what this one found so far.
func (u *rollback) newLane() *rollback {
	l := &rollback{inspection: u.inspection, lined: u.lined}
	l.Writer, l.writers, l.target = nil, nil, nil // each transaction has its own
	l.made, l.kept, l.conflicts = maps.Clone(u.made), maps.Clone(u.kept), slices.Clone(u.conflicts)
	l.settled = maps.Clone(u.settled)
	return l
}

// mergeLane takes over what a lane found.
func (u *rollback) mergeLane(l *rollback) {
	if l.job.RolledBackCount > u.job.RolledBackCount {
		u.job = l.job
	}
	for _, c := range l.conflicts {
		if !u.kept[c.EntityID] && len(u.conflicts) < listedConflicts {
			u.conflicts = append(u.conflicts, c)
		}
	}
	maps.Copy(u.kept, l.kept)
	maps.Copy(u.settled, l.settled)
	u.count = len(u.kept)
}

// eachIn has workers do the tasks, in their order and each once, until one fails.
func eachIn[W, T any](workers []W, tasks []T, do func(W, T) error) error {
	queue := make(chan T, len(tasks))
	for _, t := range tasks {
		queue <- t
	}
	close(queue)
	var failed atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, len(workers))
	for i, w := range workers {
		wg.Go(func() {
			for t := range queue {
				if failed.Load() {
					return
				}
				if errs[i] = do(w, t); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// undoSome puts some batches back, having looked again what stands against them
// if need be.
func (u *rollback) undoSome(ctx context.Context, seqs []int, look bool) error {
	return u.runBatchAlone(ctx, func() error {
		for _, seq := range seqs {
			if look {
				if err := u.checkBatch(seq); err != nil {
					return err
				}
			}
			if err := u.undoBatch(seq); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachStep reverses the job's movements a step at a time.
func (u *rollback) eachStep(ctx context.Context) error {
	for before := ""; ; {
		next, more := "", false
		err := u.runBatchAlone(ctx, func() (err error) {
			next, more, err = u.reverseMovements(before, staged.ChunkRows) // from the same place when it runs again
			return err
		})
		before = next
		if err != nil || !more {
			return err
		}
	}
}
