package store

import "holdfast/internal/db"

// QueueZone asks for the name of a tenant's time zone; zone has it after the next
// flush, and keeps what it had where there is no such tenant.
func QueueZone(tx *db.Tx, tenant string, zone *string) {
	tx.Queue("SELECT timezone FROM tenants WHERE id = $1", []any{tenant}, func(r *db.Row) error {
		*zone = r.Text(0)
		return nil
	})
}
