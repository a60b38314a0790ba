package staged

import (
	"fmt"

	"holdfast/internal/db"
)

// Forget drops what a job has staged and what people corrected in it.
func Forget(tx *db.Tx, tenant, jobID string) error {
	tx.Queue("DELETE FROM import_edits WHERE tenant_id = $1 AND job_id = $2", []any{tenant, jobID}, nil)
	return Clear(tx, tenant, jobID)
}

// Clear drops what a job has staged.
func Clear(tx *db.Tx, tenant, jobID string) error {
	for _, table := range []string{"import_chunks", "import_records", "import_outcomes", "import_plans"} {
		tx.Queue("DELETE FROM "+table+" WHERE tenant_id = $1 AND job_id = $2", []any{tenant, jobID}, nil)
	}
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("imports: clear staged rows: %w", err)
	}
	return nil
}
