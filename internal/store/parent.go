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

	args := []any{tx.TenantID, query.List(ids)}
	where := policy.Where(tx.DB(), r.Name, &args)
	readable := map[string]bool{}
	sql := "SELECT id FROM " + r.Name + " WHERE " + tenantColumn(r) + " = $1 AND id IN {ids $2} AND " + where
	err := tx.Query(sql, args, func(row *db.Row) error {
		readable[row.Text(0)] = true
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("store: look for %s that the caller reads: %w", r.Name, err)
	}
	for _, id := range ids {
		if !readable[id] {
			return id, nil
		}
	}
	return "", nil
}
