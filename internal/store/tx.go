package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// Tx is a transaction of a caller: the statements of package db beside the
// records of a store, in the tenant of the actor. Its methods are the server's own:
// they ask for no grant and may set fields that requests may not. Validation,
// legal moves, numbers, versions, counters, audit and effects are the same.
type Tx struct {
	*db.Tx
	actor.Actor
	Store *Store

	places map[string]*time.Location // of tenants, by which they count days

	endsWithParent bool // rows are deleted with the record that they are kept with
}

// In returns tx as a transaction of an actor over the store's records.
func (s *Store) In(tx *db.Tx, a actor.Actor) *Tx { return &Tx{Tx: tx, Actor: a, Store: s} }

// Read runs fn on one snapshot of the rows that the actor's scope covers.
func (s *Store) Read(ctx context.Context, a actor.Actor, fn func(*Tx) error) error {
	return s.db.Read(ctx, Scope(a), func(tx *db.Tx) error { return fn(s.In(tx, a)) })
}

// Write runs fn in one transaction of the actor; see [db.DB.Write].
func (s *Store) Write(ctx context.Context, a actor.Actor, fn func(*Tx) error) error {
	return s.db.Write(ctx, Scope(a), func(tx *db.Tx) error { return fn(s.In(tx, a)) })
}

// errTried ends a transaction of which nothing is to be kept.
var errTried = errors.New("store: what was tried is not kept")

// Try is Write that keeps nothing: what fn did, its constraints checked, is rolled
// back. nil means that Write would have succeeded.
func (s *Store) Try(ctx context.Context, a actor.Actor, fn func(*Tx) error) error {
	err := s.Write(ctx, a, func(tx *Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		return errTried
	})
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}

// As returns the same transaction for another actor.
func (tx *Tx) As(a actor.Actor) *Tx { return tx.Store.In(tx.Tx, a) }

// Of returns the same transaction in another tenant.
func (tx *Tx) Of(tenant string) *Tx {
	if tenant == tx.TenantID {
		return tx
	}
	of := *tx
	of.TenantID = tenant
	return &of
}

// WithParent returns the same transaction deleting rows because the record that they
// are kept with is deleted.
func (tx *Tx) WithParent() *Tx {
	with := *tx
	with.endsWithParent = true
	return &with
}

// EndsWithParent reports that rows are deleted with the record that they are kept
// with: what holds as long as that is there holds no longer.
func (tx *Tx) EndsWithParent() bool { return tx.endsWithParent }

// Unaudited returns the same transaction writing no audit rows; see [Store.Unaudited].
func (tx *Tx) Unaudited() *Tx { return tx.Store.Unaudited().In(tx.Tx, tx.Actor) }

// Now is the store's clock, UTC.
func (tx *Tx) Now() time.Time { return tx.Store.Now() }

// Resource returns a resource of the catalog by its name, which exists.
func (tx *Tx) Resource(name string) *catalog.Resource {
	r, _ := tx.Store.Catalog().Get(name)
	return r
}

// Rows reads whole rows of the actor's tenant. where is a hand-written
// condition, put into parentheses behind "tenant_id = $1 AND"; its parameters
// start at $2. It may end in ORDER BY, LIMIT and FOR UPDATE.
func (tx *Tx) Rows(resource, where string, args ...any) ([]Row, error) {
	r := tx.Resource(resource)
	condition, tail := splitTail(where)
	if condition == "" {
		condition = "1 = 1"
	}

	var out []Row
	err := tx.Query("SELECT "+columnList(r)+" FROM "+r.Name+" WHERE "+tenantColumn(r)+" = $1 AND ("+condition+")"+tail,
		append([]any{tx.TenantID}, args...), func(row *db.Row) error {
			out = append(out, scanRow(r, row))
			return nil
		})
	return out, err
}

// InsertRows inserts rows and returns them as stored. The statements are queued.
func (tx *Tx) InsertRows(resource string, rows []Row) ([]Row, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	r := tx.Resource(resource)
	out := make([]Row, len(rows))
	for i, row := range rows {
		checked, errs := tx.Store.checkRow(r, row, Insert)
		if err := mergeRefusals(errs, rowNumber(i, len(rows))); err != nil {
			return nil, err
		}
		out[i] = checked
	}
	if _, err := tx.insertRows(r, out, nil); err != nil {
		return nil, err
	}
	return out, nil
}

// UpdateRows sets the same fields on the rows with these ids; ids that do not
// exist are passed over.
func (tx *Tx) UpdateRows(resource string, ids []string, set Row) error {
	_, err := tx.ChangeRows(resource, ids, set)
	return err
}

// ChangeRows is UpdateRows and returns what changed.
func (tx *Tx) ChangeRows(resource string, ids []string, set Row) ([]Change, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	r := tx.Resource(resource)
	checked, errs := tx.Store.checkRow(r, set, Update)
	if err := mergeRefusals(errs, 0); err != nil {
		return nil, err
	}
	rows, err := tx.lockRows(r, ids)
	if err != nil {
		return nil, err
	}
	changes, err := changesOf(tx.Actor, r, rows, checked, rights{server: true})
	if err != nil {
		return nil, err
	}
	return changes, tx.updateRows(r, changes)
}

// UpdateEach sets on each row, found by its id, the other fields it names; rows
// that do not exist are passed over.
func (tx *Tx) UpdateEach(resource string, sets []Row) error {
	if len(sets) == 0 {
		return nil
	}
	r := tx.Resource(resource)
	byID := make(map[string]Row, len(sets))
	ids := make([]string, len(sets))
	for i, set := range sets {
		checked, errs := tx.Store.checkRow(r, set, Update)
		if err := mergeRefusals(errs, rowNumber(i, len(sets))); err != nil {
			return err
		}
		ids[i] = idOf(checked)
		byID[ids[i]] = checked
	}
	rows, err := tx.lockRows(r, ids)
	if err != nil {
		return err
	}
	changes := make([]Change, len(rows))
	for i, row := range rows {
		if changes[i], err = changeOf(tx.Actor, r, row, byID[idOf(row)], rights{server: true}); err != nil {
			return err
		}
	}
	return tx.updateRows(r, changes)
}

// DeleteRows deletes the rows with these ids.
func (tx *Tx) DeleteRows(resource string, ids []string) error {
	r := tx.Resource(resource)
	rows, err := tx.lockRows(r, ids)
	if err != nil {
		return err
	}
	_, err = tx.deleteRows(r, rows)
	return err
}

// DropRows deletes those of the rows that are still at a version, in one
// statement where nothing else has to be read, and returns their ids.
func (tx *Tx) DropRows(resource string, ids []string, version int64) ([]string, error) {
	r := tx.Resource(resource)
	if tx.Store.Audited() || !tx.Store.Idle(r) {
		return tx.dropRead(r, ids, version)
	}
	cols := append([]string{"id"}, r.Counted()...)
	fields := make([]*catalog.Field, len(cols))
	for i, n := range cols {
		fields[i], _ = r.Field(n)
	}
	tx.dropFollowing(r, ids, version)
	var gone []string
	var changes []Change
	err := tx.Query("DELETE FROM "+r.Name+" WHERE tenant_id = $1 AND "+tx.DB().InUUID("id", 2)+
		" AND version = $3 RETURNING "+strings.Join(cols, ", "),
		[]any{tx.TenantID, query.List(ids), version}, func(row *db.Row) error {
			before := Row{"tenant_id": tx.TenantID}
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
		tx.Store.queueCounters(tx.Tx, r, changes)
		tx.Store.queueEvents(tx.Tx, r, changes)
	}
	return gone, nil
}

// Idle reports that deleting a record of r has no effects on others.
func (s *Store) Idle(r *catalog.Resource) bool {
	return s.eff.Unmoved[r.Name] || s.eff.Before[r.Name] == nil && s.eff.After[r.Name] == nil
}

// dropRead is DropRows for rows that effects or the audit want to see.
func (tx *Tx) dropRead(r *catalog.Resource, ids []string, version int64) ([]string, error) {
	rows, err := tx.lockRows(r, ids)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row Row) bool { return row["version"] != version })
	if !tx.Store.Audited() {
		tx.dropFollowing(r, ids, version)
	}
	if _, err := tx.deleteRows(r, rows); err != nil {
		return nil, err
	}
	gone := make([]string, len(rows))
	for i, row := range rows {
		gone[i] = idOf(row)
	}
	return gone, tx.Flush()
}

const dropFollowingSQL = `
	DELETE FROM {following}
	WHERE tenant_id = $1
		AND {column} IN (
			SELECT id
			FROM {resource}
			WHERE tenant_id = $1
				AND {ids}
				AND version = $3)
		AND NOT ({binds})`

// dropFollowing deletes what follows those of the rows that are still at a version
// (catalog.Resource.Follows), unread. What binds a row stays, and the database refuses to
// delete the row then: somebody may have said it since it was looked for.
func (tx *Tx) dropFollowing(r *catalog.Resource, ids []string, version int64) {
	for _, p := range tx.Store.cat.Following(r) {
		text := db.FillWords(dropFollowingSQL, "{following}", p.Name, "{column}", p.Follows, "{resource}", r.Name,
			"{ids}", tx.DB().InUUID("id", 2), "{binds}", cmp.Or(p.Binds, "FALSE"))
		tx.Queue(text, []any{tx.TenantID, query.List(ids), version}, nil)
	}
}

// lockRows reads and locks rows in id order.
func (tx *Tx) lockRows(r *catalog.Resource, ids []string) ([]Row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Rows(r.Name, "id IN {ids $2} ORDER BY id {for update}", query.List(ids))
	if err != nil {
		return nil, fmt.Errorf("store: lock %s: %w", r.Name, err)
	}
	return rows, nil
}
