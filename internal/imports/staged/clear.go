package staged

import (
	"fmt"

	"holdfast/internal/db"
)

// Forget drops what a job has staged and what people corrected in it.
func Forget(tx *db.Tx, tenant, jobID string) error {
	Drop(tx, tenant, jobID, "import_edits")
	return Clear(tx, tenant, jobID)
}

// Clear drops what a job has staged.
func Clear(tx *db.Tx, tenant, jobID string) error {
	Drop(tx, tenant, jobID, "import_chunks", "import_records", "import_outcomes", "import_plans")
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("imports: clear staged rows: %w", err)
	}
	return nil
}

// Drop drops what tables keep of a job, with the next flush.
func Drop(tx *db.Tx, tenant, jobID string, tables ...string) {
	for _, table := range tables {
		tx.Queue(db.FillWords(`
			DELETE FROM {table}
			WHERE tenant_id = $1
				AND job_id = $2`, "{table}", table), []any{tenant, jobID}, nil)
	}
}
