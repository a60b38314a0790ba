package apply

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// tally is what an application did.
type tally struct{ fresh, again, same int64 }

func (t tally) totalRows() int64 { return t.fresh + t.again + t.same }

// applyChunks applies a job chunk by chunk from the first that the journal does
// not have.
func (m *Applier) applyChunks(ctx context.Context, s *jobs.Step, p *plan.Plan) (*jobs.Job, error) {
	last := 0
	err := m.db.Read(ctx, store.Scope(s.Actor), func(tx *db.Tx) error {
		return tx.Query(`
			SELECT COALESCE(MAX(seq), 0)
			FROM import_journal
			WHERE tenant_id = $1
				AND job_id = $2`,
			[]any{s.Actor.TenantID, s.Job.ID}, func(r *db.Row) error {
				last = int(r.Int(0))
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("imports: read the journal: %w", err)
	}
	for seqs := range slices.Chunk(numbersBetween(last+1, p.Chunks), m.some) {
		err := m.jobs.Write(ctx, s, func(tx *db.Tx) error { return m.applySome(tx, s, p, seqs) })
		if err != nil {
			return nil, err
		}
	}
	var done *jobs.Job
	err = m.jobs.Write(ctx, s, func(tx *db.Tx) (err error) {
		done, err = m.closeJournal(tx, s)
		return err
	})
	return done, err
}

// numbersBetween is the whole numbers from first to last.
func numbersBetween(first, last int) []int {
	var out []int
	for n := first; n <= last; n++ {
		out = append(out, n)
	}
	return out
}

// applySome writes some chunks, and how far the job is.
func (m *Applier) applySome(tx *db.Tx, s *jobs.Step, p *plan.Plan, seqs []int) error {
	ap, err := m.newApplication(tx, s, p)
	if err != nil {
		return err
	}
	if ap.seq, err = staged.LastSnapshot(tx, s.Actor.TenantID, s.Job.ID); err != nil {
		return err
	}
	for _, seq := range seqs {
		if err := ap.writeJournaledChunk(seq); err != nil {
			return err
		}
	}
	ap.writeCounters()
	job, err := m.jobs.Set(tx, s.Actor, s.Job.ID, store.Row{"imported_count": s.Job.ImportedCount + ap.sum.totalRows(),
		"lease_until": m.jobs.Renew(s)})
	if err != nil {
		return err
	}
	tx.After(func() { s.Job = job })
	return nil
}

const insertJournalSQL = `
	INSERT INTO import_journal (tenant_id, job_id, seq, inserted, updated, unchanged, applied_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7)`

// writeJournaledChunk writes one chunk and its row in the journal.
func (ap *application) writeJournaledChunk(seq int) error {
	rows, err := ap.readChunk(seq)
	if err != nil {
		return err
	}
	before := ap.sum
	if err := ap.putRows(ap.target, rows); err != nil {
		return err
	}
	ap.tellOutcomes([]span{{seq, len(rows)}})
	ap.Tx.Queue(insertJournalSQL,
		[]any{ap.Actor.TenantID, ap.step.Job.ID, seq, ap.sum.fresh - before.fresh, ap.sum.again - before.again,
			ap.sum.same - before.same, ap.m.store.Now()}, nil)
	return nil
}

const sumJournalSQL = `
	SELECT CAST(SUM(inserted) AS bigint), CAST(SUM(updated) AS bigint), CAST(SUM(unchanged) AS bigint)
	FROM import_journal
	WHERE tenant_id = $1 AND job_id = $2`

// closeJournal completes a job all chunks of which were applied.
func (m *Applier) closeJournal(tx *db.Tx, s *jobs.Step) (*jobs.Job, error) {
	if err := m.jobs.Hold(tx, s); err != nil {
		return nil, err
	}
	var t tally
	err := tx.One(sumJournalSQL, []any{s.Actor.TenantID, s.Job.ID}, func(r *db.Row) error {
		t = tally{r.Int(0), r.Int(1), r.Int(2)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("imports: read the journal: %w", err)
	}
	return m.completeJob(tx, s, t)
}
