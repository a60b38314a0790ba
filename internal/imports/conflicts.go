package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// called are the fields people call a record by, the best first.
func called() []string {
	return []string{"sku", "code", "lot_no", "incident_no", "order_no", "action_no", "employee_no", "plate", "asset_no", "external_ref", "name", "title", "certificate_no"}
}

// label is what people call a record by.
func label(row store.Row) string {
	for _, f := range called() {
		if s, ok := row[f].(string); ok && s != "" {
			return s
		}
	}
	s, _ := row["id"].(string)
	return s
}

// labelSQL is label as an expression; null where a record has only its id.
func labelSQL(r *catalog.Resource) string {
	var fields []string
	for _, f := range called() {
		if _, ok := r.Field(f); ok {
			fields = append(fields, "NULLIF("+f+", '')")
		}
	}
	return "COALESCE(" + strings.Join(append(fields, "NULL", "NULL"), ", ") + ")"
}

// checkInserted looks for records made by the import that were changed since
// or that others refer to. Those deleted since are gone already.
func (u *undo) checkInserted(data []byte) error {
	ids, err := unpackIDs(data)
	if err != nil {
		return err
	}
	labels, err := u.unchanged(ids)
	if err != nil {
		return err
	}
	for _, rel := range u.resource.Relations() {
		if rel.To != u.resource.Name {
			continue
		}
		if err := u.checkReferences(rel, ids, labels); err != nil {
			return err
		}
	}
	return nil
}

// unchanged locks the records that are still there and returns what people
// call those that nobody changed; the others are conflicts. It reads no more of
// them than that: a rollback has all records of its import to look at.
func (u *undo) unchanged(ids []string) (map[string]string, error) {
	sql := "SELECT id, version, " + labelSQL(u.resource) + " FROM " + u.resource.Name + " WHERE tenant_id = $1 AND " + u.tx.DB().InUUID("id", 2) + " ORDER BY id"
	if !u.looking {
		sql += u.tx.DB().ForUpdate()
	}
	labels := make(map[string]string, len(ids))
	err := u.tx.Query(sql, []any{u.actor.TenantID, query.List(ids)}, func(r *db.Row) error {
		id, name := r.Text(0), r.Text(2)
		if name == "" {
			name = id
		}
		if v := r.Int(1); v != 1 {
			u.conflict(id, name, "was changed after the import (version %d)", v)
			return nil
		}
		labels[id] = name
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("imports: look at %s: %w", u.resource.Name, err)
	}
	return labels, nil
}

// records reads records, and locks them unless they are only looked at.
func (u *undo) records(ids []string) ([]store.Row, error) {
	if !u.looking {
		return u.lockRows(ids)
	}
	rows, err := u.m.store.RowsTx(u.tx, u.actor, u.resource, u.tx.DB().InUUID("id", 2)+" ORDER BY id", []any{query.List(ids)})
	if err != nil {
		return nil, fmt.Errorf("imports: read %s: %w", u.resource.Name, err)
	}
	return rows, nil
}

// checkReferences looks for records that point to those the import made. Those
// that it made too go with them, unless they stay.
func (u *undo) checkReferences(rel catalog.Relation, ids []string, labels map[string]string) error {
	made, err := u.madeOf(rel.From)
	if err != nil {
		return err
	}
	count, last := "COUNT(*)", " GROUP BY "+rel.Column
	if len(made) > 0 {
		count, last = "id", ""
	}
	sql := "SELECT " + rel.Column + ", " + count + " FROM " + rel.From + " WHERE tenant_id = $1 AND " + u.tx.DB().InUUID(rel.Column, 2) + last + " ORDER BY " + rel.Column
	uses := map[string]int64{}
	var order []string
	err = u.tx.Query(sql, []any{u.actor.TenantID, query.List(ids)}, func(r *db.Row) error {
		to, n := r.Text(0), int64(1)
		switch {
		case labels[to] == "" || len(made) > 0 && made[r.Text(1)] && !u.kept[r.Text(1)]:
			return nil
		case len(made) == 0:
			n = r.Int(1)
		}
		if uses[to] == 0 {
			order = append(order, to)
		}
		uses[to] += n
		return nil
	})
	if err != nil {
		return fmt.Errorf("imports: look for references in %s: %w", rel.From, err)
	}
	for _, id := range order {
		u.conflict(id, labels[id], "is used by %d %s", uses[id], strings.ReplaceAll(rel.From, "_", " "))
	}
	return nil
}

// madeOf are the records of a resource that the job made and that are not back.
func (u *undo) madeOf(resource string) (map[string]bool, error) {
	if u.made == nil {
		u.made = map[string]map[string]bool{}
	}
	if m, ok := u.made[resource]; ok {
		return m, nil
	}
	m, err := madeBy(u.tx, u.actor.TenantID, u.step.job.ID, resource)
	u.made[resource] = m
	return m, err
}

// keepLines keeps the lines of records that stay: half an order is none.
func (u *undo) keepLines() error {
	if u.target.lines == nil || len(u.kept) == 0 {
		return nil
	}
	made, err := u.madeOf(u.target.lines.Name)
	if err != nil {
		return err
	}
	if err := u.use(u.tx, u.target.lines.Name); err != nil {
		return err
	}
	sql := "SELECT id FROM " + u.target.lines.Name + " WHERE tenant_id = $1 AND " + u.tx.DB().InUUID(u.target.parent, 2) + " ORDER BY id"
	return u.tx.Query(sql, []any{u.actor.TenantID, query.List(slices.Sorted(maps.Keys(u.kept)))}, func(r *db.Row) error {
		if id := r.Text(0); made[id] {
			u.conflict(id, id, "belongs to a record that stays")
		}
		return nil
	})
}

// checkUpdated looks for records changed again after the import changed them.
func (u *undo) checkUpdated(data []byte) error {
	images, err := unpackImages(data)
	if err != nil {
		return err
	}
	rows, err := u.current(images)
	if err != nil {
		return err
	}
	for _, im := range images {
		row := rows[im.ID]
		if row == nil {
			u.conflict(im.ID, im.ID, "was deleted after the import")
			continue
		}
		if v, _ := row["version"].(int64); v != im.Version {
			u.conflict(im.ID, label(row), "was changed after the import (version %d, the import left %d)", v, im.Version)
		}
	}
	return nil
}

func (u *undo) current(images []image) (map[string]store.Row, error) {
	ids := make([]string, len(images))
	for i, im := range images {
		ids[i] = im.ID
	}
	rows, err := u.records(ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]store.Row, len(rows))
	for _, row := range rows {
		out[row["id"].(string)] = row
	}
	return out, nil
}
