package store

import (
	"context"
	"fmt"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// explainConstraint turns a constraint's fault into one that names the key, column and
// value, in the same words on both engines. SQLite does not say which foreign
// key failed, so the rows are looked up again; that costs only on failure.
func (s *Store) explainConstraint(
	ctx context.Context, a actor.Actor, r *catalog.Resource, try attempt, err error,
) error {
	e := fault.As(err)
	v, ok := e.Data.(*db.Violation)
	if !ok {
		return err
	}
	var better error
	_ = s.db.Read(ctx, Scope(a), func(tx *db.Tx) error {
		var lookup error
		switch e.Code {
		case "23505":
			if v.Table == "" || v.Table == r.Name {
				better, lookup = findDuplicate(tx, r, try)
			}
		case "23503":
			better, lookup = findDangling(tx, r, try)
		case "23514":
			better = fault.New(fault.Invalid, "23514", "new row for relation %q violates a check constraint", r.Name)
		case "23502":
			if len(v.Columns) > 0 {
				better = fault.New(fault.Invalid, "23502", "null value in column %q of relation %q violates not-null constraint",
					v.Columns[0], r.Name)
			}
		case "42501":
			better = rowPolicy(r)
		}
		return lookup
	})
	f, ok := better.(*fault.Error)
	if !ok {
		// Nothing found: the clash is gone by now, or it is another table's.
		c := *e
		c.Data = nil
		return &c
	}
	f.Err = err
	return f
}

// findDuplicate finds the row and key that exist already: in the database, or
// twice among the rows themselves.
func findDuplicate(tx *db.Tx, r *catalog.Resource, try attempt) (error, error) {
	clash, err := findClash(tx, r, []string{"id"}, try.fresh)
	if err != nil || clash != nil {
		return clash, err
	}
	for _, key := range r.Unique {
		if clash, err := findClash(tx, r, key, try.rows); err != nil || clash != nil {
			return clash, err
		}
	}
	return nil, nil
}

// findClash looks for one key of rows; the first result is the fault that names
// it, or nil.
func findClash(tx *db.Tx, r *catalog.Resource, key []string, rows []Row) (error, error) {
	seen := map[string]bool{}
	for _, row := range rows {
		k := keyOf(r, key, row)
		if k != "" && seen[k] {
			return refuseTakenKey(r, key, row), nil
		}
		seen[k] = true
	}
	var clash error
	err := eachProbe(tx.DB(), r, key, rows, func(sql string, args []any, rows []Row) error {
		there := map[string]string{}
		err := tx.Query(sql, args, func(row *db.Row) error {
			old := scanRow(r, row)
			there[keyOf(r, key, old)] = idOf(old)
			return nil
		})
		for _, row := range rows {
			id, ok := there[keyOf(r, key, row)]
			if ok && clash == nil && (key[0] == "id" || id != idOf(row)) {
				clash = refuseTakenKey(r, key, row)
			}
		}
		return err
	})
	return clash, err
}

func refuseTakenKey(r *catalog.Resource, key []string, row Row) error {
	name := r.Name + "_pkey"
	if key[0] != "id" {
		name = r.UniqueName(key)
	}
	vals := make([]string, len(key))
	for i, k := range key {
		vals[i] = plainText(row[k])
	}
	e := fault.New(fault.Conflict, "23505", "duplicate key value violates unique constraint %q", name)
	for _, k := range key {
		e.At(k, "already exists")
	}
	return e.With(fmt.Sprintf("Key (%s)=(%s) already exists.", strings.Join(key, ", "), strings.Join(vals, ", ")), "")
}

func plainText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(appendJSON(nil, v))
}

// findDangling finds the reference to a row that is not there, or, for a delete,
// the row that is still referred to.
func findDangling(tx *db.Tx, r *catalog.Resource, try attempt) (error, error) {
	for _, rel := range r.Relations() {
		if try.deleting {
			if rel.To != r.Name {
				continue
			}
			id, err := firstReferenced(tx, r, rel, try.rows)
			if err != nil {
				return nil, err
			}
			if id != "" {
				return fault.New(fault.Conflict, "23503",
					"update or delete on table %q violates foreign key constraint %q on table %q", r.Name, rel.Name, rel.From).
					With(fmt.Sprintf("Key (id)=(%s) is still referenced from table %q.", id, rel.From),
						fmt.Sprintf("Records of %s still name it as their %s: delete or change those first.", spokenName(rel.From),
							spokenName(rel.Column))), nil
			}
			continue
		}
		if rel.From != r.Name {
			continue
		}
		id, err := firstMissing(tx, r, rel, try.rows)
		if err != nil {
			return nil, err
		}
		if id != "" {
			return missingReference(r, rel, id), nil
		}
	}
	return nil, nil
}

// spokenName is the name of a resource or reference as people say it.
func spokenName(name string) string { return strings.ToLower(catalog.Label(name)) }

// groupReferences groups the references of rows by tenant, in row order.
func groupReferences(r *catalog.Resource, col string, rows []Row) (tenants []string, ids map[string][]string) {
	ids = map[string][]string{}
	for _, row := range rows {
		id, _ := row[col].(string)
		t := tenantOf(r, row)
		if id == "" {
			continue
		}
		if ids[t] == nil {
			tenants = append(tenants, t)
		}
		ids[t] = append(ids[t], id)
	}
	return tenants, ids
}

func firstMissing(tx *db.Tx, r *catalog.Resource, rel catalog.Relation, rows []Row) (string, error) {
	tenants, ids := groupReferences(r, rel.Column, rows)
	for _, t := range tenants {
		there := map[string]bool{}
		err := tx.Query("SELECT id FROM "+rel.To+" WHERE tenant_id = $1 AND "+tx.DB().InUUID("id", 2),
			[]any{t, query.List(ids[t])}, func(row *db.Row) error {
				there[row.Text(0)] = true
				return nil
			})
		if err != nil {
			return "", err
		}
		for _, id := range ids[t] {
			if !there[id] && !(rel.From == rel.To && isInserted(rows, id)) {
				return id, nil
			}
		}
	}
	return "", nil
}

func isInserted(rows []Row, id string) bool {
	for _, row := range rows {
		if idOf(row) == id {
			return true
		}
	}
	return false
}

func firstReferenced(tx *db.Tx, r *catalog.Resource, rel catalog.Relation, rows []Row) (string, error) {
	tenants, ids := groupReferences(r, "id", rows)
	found := ""
	for _, t := range tenants {
		err := tx.Query("SELECT "+rel.Column+" FROM "+rel.From+" WHERE tenant_id = $1 AND "+tx.DB().InUUID(rel.Column, 2)+
			" ORDER BY id LIMIT 1", []any{t, query.List(ids[t])}, func(row *db.Row) error {
			found = row.Text(0)
			return nil
		})
		if err != nil || found != "" {
			return found, err
		}
	}
	return "", nil
}

// missingReference is the fault of a row that refers to a record which is not
// there, or which the caller may not read.
func missingReference(r *catalog.Resource, rel catalog.Relation, id string) *fault.Error {
	return fault.New(fault.Conflict, "23503", "insert or update on table %q violates foreign key constraint %q", r.Name,
		rel.Name).
		With(fmt.Sprintf("Key (%s)=(%s) is not present in table %q.", rel.Column, id, rel.To),
			fmt.Sprintf("There is no record with this id among your %s: give the id of one that is there.",
				spokenName(rel.To))).
		At(rel.Column, "refers to a record that does not exist")
}
