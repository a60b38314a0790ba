package imports

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/store"
)

// inBatches rolls a large import back in numbered batches, the newest first,
// so that other writers come in between: its snapshots, or steps of its
// movements. All are looked at before the first is undone, and none is undone
// that was changed meanwhile. What is back is gone from the snapshots, or
// reversed in the ledger, and so a rollback that broke off goes on.
func (u *undo) inBatches(ctx context.Context) (job *Job, err error) {
	if err := u.survey(ctx); err != nil {
		return nil, err
	}
	if u.target.posts != nil {
		err = u.eachStep(ctx)
	} else {
		err = u.eachBatch(ctx)
	}
	if err != nil {
		return nil, err
	}
	err = u.m.db.Write(ctx, store.Scope(u.step.actor), func(tx *db.Tx) error {
		return guarded(func() (err error) {
			if err := u.enter(tx); err != nil {
				return err
			}
			job, err = u.finish(u.step.job.RolledBackCount)
			return err
		})
	})
	return job, err
}

// survey looks for conflicts, in one snapshot of the database.
func (u *undo) survey(ctx context.Context) error {
	u.looking = true
	defer func() { u.looking = false }()
	return u.m.db.Read(ctx, store.Scope(u.step.actor), func(tx *db.Tx) error {
		return guarded(func() error {
			if err := u.enter(tx); err != nil {
				return err
			}
			if u.target.posts != nil {
				if err := u.checkStock(); err != nil {
					return err
				}
				return u.refusal()
			}
			last, err := u.batches()
			if err != nil {
				return err
			}
			return u.checkAll(last)
		})
	})
}

// apart runs one batch in its transaction, and tells how far the job is.
func (u *undo) apart(ctx context.Context, do func() error) error {
	return u.m.db.Write(ctx, store.Scope(u.step.actor), func(tx *db.Tx) error {
		return guarded(func() error {
			u.undone = 0
			if err := u.enter(tx); err != nil {
				return err
			}
			if err := do(); err != nil {
				return err
			}
			u.leave()
			s := u.step
			job, err := u.m.set(u.tx, s.actor, s.job.ID, store.Row{"rolled_back_count": s.job.RolledBackCount + u.undone, "lease_until": u.m.renew(s)})
			if err != nil {
				return err
			}
			tx.After(func() { s.job = job })
			return nil
		})
	})
}

func (u *undo) eachBatch(ctx context.Context) error {
	last := 0
	err := u.m.db.Read(ctx, store.Scope(u.step.actor), func(tx *db.Tx) (err error) {
		u.tx = tx
		last, err = u.batches()
		return err
	})
	if err != nil {
		return fmt.Errorf("imports: roll back: %w", err)
	}
	seqs := sequence(1, last)
	slices.Reverse(seqs)
	for some := range slices.Chunk(seqs, u.m.some) {
		if err := u.settled(func(attempt int) error { return u.undoSome(ctx, some, attempt > 0) }); err != nil {
			return err
		}
	}
	return nil
}

// undoSome puts some batches back, having looked again what stands against them
// if need be.
func (u *undo) undoSome(ctx context.Context, seqs []int, look bool) error {
	return u.apart(ctx, func() error {
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
func (u *undo) eachStep(ctx context.Context) error {
	for before := ""; ; {
		next, more := "", false
		err := u.apart(ctx, func() (err error) {
			next, more, err = u.reverse(before, chunkRows) // from the same place when it runs again
			return err
		})
		before = next
		if err != nil || !more {
			return err
		}
	}
}
