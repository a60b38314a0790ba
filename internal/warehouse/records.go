package warehouse

import (
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/store"
)

// readZone reads the tenant's time zone.
func readZone(tx *store.Tx) (*time.Location, error) {
	name := ""
	store.QueueZone(tx.Tx, tx.TenantID, &name)
	err := tx.Flush()
	return localtime.Zone(name), err
}

// readLocalToday is the date where the tenant is.
func readLocalToday(tx *store.Tx) (string, error) {
	ru := queueRules(tx.Tx, tx.TenantID, tx.Now())
	err := tx.Flush()
	return ru.localToday(), err
}
