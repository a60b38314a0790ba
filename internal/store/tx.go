package store

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// The verbs here run inside the caller's transaction and are the server's own:
// they ask for no grant and may set fields that requests may not. Validation,
// legal moves, numbers, versions, counters, audit and effects are the same. The
// tenant is the actor's.

// InsertTx inserts rows and returns them as stored. The statements are queued.
func (s *Store) InsertTx(tx *db.Tx, a actor.Actor, r *catalog.Resource, rows []Row) ([]Row, error) {
	out := make([]Row, len(rows))
	for i, row := range rows {
		checked, errs := s.checkRow(r, row, Insert)
		if err := mergeRefusals(errs, rowNumber(i, len(rows))); err != nil {
			return nil, err
		}
		out[i] = checked
	}
	if _, err := s.insertRows(tx, a, r, out, nil); err != nil {
		return nil, err
	}
	return out, nil
}

// UpdateTx sets the same fields on the rows with these ids and returns what
// changed; ids that do not exist are passed over.
func (s *Store) UpdateTx(tx *db.Tx, a actor.Actor, r *catalog.Resource, ids []string, set Row) ([]Change, error) {
	checked, errs := s.checkRow(r, set, Update)
	if err := mergeRefusals(errs, 0); err != nil {
		return nil, err
	}
	rows, err := s.lockRows(tx, a, r, ids)
	if err != nil {
		return nil, err
	}
	changes, err := changesOf(a, r, rows, checked, rights{server: true})
	if err != nil {
		return nil, err
	}
	return changes, s.updateRows(tx, a, r, changes)
}

// UpdateEachTx sets on each row, found by its id, the other fields it names;
// rows that do not exist are passed over.
func (s *Store) UpdateEachTx(tx *db.Tx, a actor.Actor, r *catalog.Resource, sets []Row) ([]Change, error) {
	byID := make(map[string]Row, len(sets))
	ids := make([]string, len(sets))
	for i, set := range sets {
		checked, errs := s.checkRow(r, set, Update)
		if err := mergeRefusals(errs, rowNumber(i, len(sets))); err != nil {
			return nil, err
		}
		ids[i] = idOf(checked)
		byID[ids[i]] = checked
	}
	rows, err := s.lockRows(tx, a, r, ids)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(rows))
	for i, row := range rows {
		if changes[i], err = changeOf(a, r, row, byID[idOf(row)], rights{server: true}); err != nil {
			return nil, err
		}
	}
	return changes, s.updateRows(tx, a, r, changes)
}

// DeleteTx deletes the rows with these ids.
func (s *Store) DeleteTx(tx *db.Tx, a actor.Actor, r *catalog.Resource, ids []string) ([]Change, error) {
	rows, err := s.lockRows(tx, a, r, ids)
	if err != nil {
		return nil, err
	}
	return s.deleteRows(tx, a, r, rows)
}

// DropTx deletes those of the rows that are still at a version, in one
// statement where nothing else has to be read, and returns their ids.
func (s *Store) DropTx(tx *db.Tx, a actor.Actor, r *catalog.Resource, ids []string, version int64) ([]string, error) {
	if s.Audited() || !s.Idle(r) {
		return s.dropRead(tx, a, r, ids, version)
	}
	cols := append([]string{"id"}, r.Counted()...)
	fields := make([]*catalog.Field, len(cols))
	for i, n := range cols {
		fields[i], _ = r.Field(n)
	}
	for _, p := range s.cat.Following(r) {
		tx.Queue("DELETE FROM "+p.Name+" WHERE tenant_id = $1 AND "+p.Follows+" IN (SELECT id FROM "+r.Name+" WHERE tenant_id = $1 AND "+
			tx.DB().InUUID("id", 2)+" AND version = $3)", []any{a.TenantID, query.List(ids), version}, nil)
	}
	var gone []string
	var changes []Change
	err := tx.Query("DELETE FROM "+r.Name+" WHERE tenant_id = $1 AND "+tx.DB().InUUID("id", 2)+" AND version = $3 RETURNING "+strings.Join(cols, ", "),
		[]any{a.TenantID, query.List(ids), version}, func(row *db.Row) error {
			before := Row{"tenant_id": a.TenantID}
			for i, n := range cols {
				before[n] = readField(fields[i], row, i)
			}
			gone = append(gone, idOf(before))
			changes = append(changes, Change{Resource: r, Op: Delete, Before: before})
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("store: delete %s: %w", r.Name, err)
	}
	if len(changes) > 0 {
		s.queueCounters(tx, r, changes)
		s.queueEvents(tx, r, changes)
	}
	return gone, nil
}

// Idle reports that deleting a record of r has no effects on others.
func (s *Store) Idle(r *catalog.Resource) bool {
	return s.eff.Unmoved[r.Name] || s.eff.Before[r.Name] == nil && s.eff.After[r.Name] == nil
}

// dropRead is DropTx for rows that effects or the audit want to see.
func (s *Store) dropRead(tx *db.Tx, a actor.Actor, r *catalog.Resource, ids []string, version int64) ([]string, error) {
	rows, err := s.lockRows(tx, a, r, ids)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row Row) bool { return row["version"] != version })
	if _, err := s.deleteRows(tx, a, r, rows); err != nil {
		return nil, err
	}
	gone := make([]string, len(rows))
	for i, row := range rows {
		gone[i] = idOf(row)
	}
	return gone, tx.Flush()
}

// lockRows reads and locks rows in id order.
func (s *Store) lockRows(tx *db.Tx, a actor.Actor, r *catalog.Resource, ids []string) ([]Row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.RowsTx(tx, a, r, tx.DB().InUUID("id", 2)+" ORDER BY id"+tx.DB().ForUpdate(), []any{query.List(ids)})
	if err != nil {
		return nil, fmt.Errorf("store: lock %s: %w", r.Name, err)
	}
	return rows, nil
}
