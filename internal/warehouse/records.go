package warehouse

import (
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
)

// records reads, locks and writes a tenant's rows in a transaction, for the one
// who asked.
type records struct {
	tx *db.Tx
	a  actor.Actor
	s  *store.Store
}

func (k records) readRows(resource, where string, args ...any) ([]store.Row, error) {
	r, _ := k.s.Catalog().Get(resource)
	return k.s.RowsTx(k.tx, k.a, r, where, args)
}

func (k records) insertRows(resource string, rows []store.Row) ([]store.Row, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	r, _ := k.s.Catalog().Get(resource)
	return k.s.InsertTx(k.tx, k.a, r, rows)
}

func (k records) updateRows(resource string, ids []string, set store.Row) error {
	if len(ids) == 0 {
		return nil
	}
	r, _ := k.s.Catalog().Get(resource)
	_, err := k.s.UpdateTx(k.tx, k.a, r, ids, set)
	return err
}

func (k records) updateEach(resource string, sets []store.Row) error {
	if len(sets) == 0 {
		return nil
	}
	r, _ := k.s.Catalog().Get(resource)
	_, err := k.s.UpdateEachTx(k.tx, k.a, r, sets)
	return err
}

// zone reads the tenant's time zone.
func (k records) zone() (*time.Location, error) {
	name := ""
	store.QueueZone(k.tx, k.a.TenantID, &name)
	err := k.tx.Flush()
	return localtime.Zone(name), err
}

// localToday is the date where the tenant is.
func (k records) localToday() (string, error) {
	ru := queueRules(k.tx, k.a.TenantID, k.s.Now())
	err := k.tx.Flush()
	return ru.localToday(), err
}
