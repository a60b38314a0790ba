package store

import (
	"fmt"
	"maps"
	"slices"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// checkParents refuses new rows beside records that the caller may not read, with
// the words for records that are not there.
func checkParents(tx *Tx, r *catalog.Resource, changes []Change) error {
	for _, parent := range r.ParentRecords() {
		named := map[string]bool{}
		for _, c := range changes {
			if id := c.After.Text(parent.Column); c.Op == Insert && id != "" {
				named[id] = true
			}
		}
		hidden, err := firstUnreadable(tx, parent.Resource, slices.Sorted(maps.Keys(named)))
		if err != nil {
			return err
		}
		if hidden != "" {
			return missingReference(r, catalog.Relation{Name: r.Name + "_" + parent.Column + "_fkey", From: r.Name,
				Column: parent.Column, To: parent.Resource.Name}, hidden)
		}
	}
	return nil
}

// checkSealed refuses rows about a record that is kept from the caller, which looks as if it were
// not there: new ones, and those that were about it or are about to be.
func checkSealed(tx *Tx, r *catalog.Resource, changes []Change) error {
	policy, isKept := query.SealPolicy(tx.Actor, r)
	if !isKept || r.Seal.By == "" {
		return nil
	}
	about := map[string]bool{}
	for _, c := range changes {
		if isExcepted(tx, r.Seal, c.Before) {
			continue
		}
		for _, row := range [...]Row{c.Before, c.After} {
			if id := row.Text(r.Seal.By); id != "" {
				about[id] = true
			}
		}
	}
	if len(about) == 0 {
		return nil
	}
	record := r.Seal.Record()
	policy, _ = query.SealPolicy(tx.Actor, record)
	hidden, err := firstOutside(tx, record, policy, slices.Sorted(maps.Keys(about)))
	if err == nil && hidden != "" {
		err = missingReference(r, catalog.Relation{Name: r.Name + "_" + r.Seal.By + "_fkey", From: r.Name,
			Column: r.Seal.By, To: record.Name}, hidden)
	}
	return err
}

// isExcepted reports a row that names the caller in a column by which a seal lets people through.
func isExcepted(tx *Tx, seal *catalog.Seal, row Row) bool {
	return tx.Actor.UserID != "" && slices.ContainsFunc(seal.Except, func(column string) bool {
		return row.Text(column) == tx.Actor.UserID
	})
}

// Reads reports whether the caller may read a record.
func (tx *Tx) Reads(r *catalog.Resource, id string) (bool, error) {
	hidden, err := firstUnreadable(tx, r, []string{id})
	return err == nil && hidden == "", err
}

// firstUnreadable returns the first of some ids that names no record which the
// caller may read, or "".
func firstUnreadable(tx *Tx, r *catalog.Resource, ids []string) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	policy, ok := query.ReadPolicy(tx.Actor, r)
	if !ok {
		return ids[0], nil
	}
	return firstOutside(tx, r, policy, ids)
}

// firstOutside returns the first of some ids that names no record which a policy reaches, or "".
func firstOutside(tx *Tx, r *catalog.Resource, policy query.Policy, ids []string) (string, error) {
	outside, err := listOutside(tx, r, policy, ids)
	if err != nil || len(outside) == 0 {
		return "", err
	}
	return outside[0], nil
}

// KeptFrom returns those of some ids of records that a seal keeps from the caller.
func (tx *Tx) KeptFrom(r *catalog.Resource, ids []string) ([]string, error) {
	policy, isKept := query.SealPolicy(tx.Actor, r)
	if !isKept || len(ids) == 0 {
		return nil, nil
	}
	return listOutside(tx, r, policy, ids)
}

func listOutside(tx *Tx, r *catalog.Resource, policy query.Policy, ids []string) (outside []string, err error) {
	args := []any{tx.TenantID, query.List(ids)}
	where := policy.Where(tx.DB(), r.Name, &args)
	readable := map[string]bool{}
	sql := "SELECT id FROM " + r.Name + " WHERE " + tenantColumn(r) + " = $1 AND id IN {ids $2} AND " + where
	err = tx.Query(sql, args, func(row *db.Row) error {
		readable[row.Text(0)] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store: look for %s that the caller reads: %w", r.Name, err)
	}
	for _, id := range ids {
		if !readable[id] {
			outside = append(outside, id)
		}
	}
	return outside, nil
}
