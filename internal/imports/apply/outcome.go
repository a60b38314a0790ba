package apply

import (
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// noteOutcomes takes down what the rows of the batch at hand became, in their order.
func (ap *application) noteOutcomes(changes []store.Change) {
	for _, c := range changes {
		ap.outcomes = append(ap.outcomes, staged.OutcomeOf(c))
	}
}

// insertChanges are new records as changes.
func insertChanges(rows []store.Row) []store.Change {
	out := make([]store.Change, len(rows))
	for i, row := range rows {
		out[i] = store.Change{After: row}
	}
	return out
}

// span is a chunk of rows that were put together with others.
type span struct{ seq, rows int }

// tellOutcomes keeps what the rows of some chunks became, as long as the rows
// are kept themselves.
func (ap *application) tellOutcomes(chunks []span) {
	if ap.step.Job.BlobKey == "" {
		chunks = nil
	}
	for _, c := range chunks {
		n := min(c.rows, len(ap.outcomes))
		data := staged.PackOutcomes(ap.outcomes[:n])
		ap.outcomes = ap.outcomes[n:]
		ap.Tx.Queue(`
			INSERT INTO import_outcomes (tenant_id, job_id, seq, data)
			VALUES ($1, $2, $3, $4)`,
			[]any{ap.Actor.TenantID, ap.step.Job.ID, c.seq, data}, nil)
	}
	ap.outcomes = nil
}
