package store

import (
	"time"

	// Time zones must be known on a machine that has no zone files.
	_ "time/tzdata"

	"holdfast/internal/db"
)

// QueueZone asks for the name of a tenant's time zone; zone has it after the next
// flush, and keeps what it had where there is no such tenant.
func QueueZone(tx *db.Tx, tenant string, zone *string) {
	tx.Queue("SELECT timezone FROM tenants WHERE id = $1", []any{tenant}, func(r *db.Row) error { *zone = r.Text(0); return nil })
}

// Location is the time zone of that IANA name; UTC when there is none.
func Location(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return time.UTC
	}
	return loc
}
