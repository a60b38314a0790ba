package osha

import (
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/record"
	"holdfast/internal/safety/absence"
	"holdfast/internal/store"
)

// recountDays is how long after its last day an absence is still counted anew, so that
// nights in which the server was down leave nothing behind.
const recountDays = 90

// lastingCasesSQL selects cases whose days grew lately: with an absence that lasts, or
// that ended not long ago. $1 tenant, $2 a day.
const lastingCasesSQL = `
	SELECT DISTINCT case_id
	FROM absences
	WHERE tenant_id = $1
		AND (until_on IS NULL OR until_on >= $2)
	ORDER BY case_id`

// ListLasting lists the cases whose stored days may stand behind the calendar.
func ListLasting(tx *db.Tx, tenant string, now time.Time) (ids []string, err error) {
	since := absence.WriteDay(now.UTC().AddDate(0, 0, -recountDays))
	err = tx.Query(lastingCasesSQL, []any{tenant, since}, func(r *db.Row) error {
		ids = append(ids, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("osha: look for absences that last: %w", err)
	}
	return ids, nil
}

// RecountCase has a case count its absences up to today; one that has nothing new
// stays as it is.
func RecountCase(tx *store.Tx, id string) error {
	absence.QueueIncidents(tx.Tx, tx.TenantID, []string{id})
	return tx.UpdateEach("osha_cases", []store.Row{{idColumn: id}})
}

// ListOpen lists the open summaries of a tenant.
func ListOpen(tx *store.Tx) ([]string, error) {
	open, err := record.List[record.OSHASummary](tx, "status = 'open' ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("osha: read summaries: %w", err)
	}
	ids := make([]string, len(open))
	for i, sum := range open {
		ids[i] = sum.ID()
	}
	return ids, nil
}

// RecountSummary totals an open summary anew.
func RecountSummary(tx *store.Tx, id string) error {
	return tx.UpdateRows("osha_summaries", []string{id}, store.Row{})
}
