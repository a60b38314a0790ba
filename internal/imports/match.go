package imports

import (
	"context"
	"slices"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// unique refuses a key that an earlier row of the file has.
func (st *stager) unique(d *draft, row store.Row) {
	key := keyText(st.v.target.resource, row)
	if key == "" {
		return
	}
	if line, ok := st.seen.put(key, d.line); ok {
		cols := make([]string, 0, 2)
		for _, k := range st.v.target.resource.Import.Key {
			cols = append(cols, st.v.header(k))
		}
		d.fail(cols[len(cols)-1], "duplicate", "line %d has the same %s", line, strings.Join(cols, " and "))
	}
}

// keyText is a row's import key as text, "" when part of it is missing.
// Codes are equal without regard to case.
func keyText(r *catalog.Resource, row store.Row) string {
	var b []byte
	for _, k := range r.Import.Key {
		s, ok := row[k].(string)
		if !ok || s == "" {
			return ""
		}
		if f, _ := r.Field(k); f.Type == catalog.Text && f.Format == catalog.Code {
			s = strings.ToLower(s)
		}
		b = append(append(b, s...), 0)
	}
	return string(b)
}

// present refuses keys that exist already when only new records are wanted,
// unknown ones when only existing ones are, and states that a record cannot
// begin in or move to.
func (st *stager) present(ctx context.Context, batch []*draft, good []store.Row) error {
	r, mode := st.v.target.resource, st.v.settings.Mode
	states := r.States != nil && slices.Contains(st.fields, r.States.Field)
	if !st.v.target.keyed() || mode == ModeUpsert && !states {
		return nil
	}
	read := []string{"id"}
	if states {
		read = append(read, r.States.Field)
	}
	there := map[string]string{}
	err := st.m.db.Read(ctx, store.Scope(st.step.actor), func(tx *db.Tx) error {
		return lookKeys(tx, st.step.actor.TenantID, r, good, read, func(key string, row *db.Row) { there[key] = row.Text(len(read) - 1) })
	})
	if err != nil {
		return err
	}
	last := r.Import.Key[len(r.Import.Key)-1]
	for i, d := range batch {
		if good[i] == nil || len(d.errs) > 0 {
			continue
		}
		was, exists := there[keyText(r, good[i])]
		switch {
		case mode == ModeInsert && exists:
			d.fail(st.v.header(last), "exists", "%v exists already", good[i][last])
		case mode == ModeUpdate && !exists:
			d.fail(st.v.header(last), "unknown", "there is no record %v to update", good[i][last])
		case states:
			st.movable(d, good[i], was, exists)
		}
	}
	return nil
}

// movable holds a row's state to the state machine.
func (st *stager) movable(d *draft, row store.Row, was string, exists bool) {
	machine := st.v.target.resource.States
	to, ok := row[machine.Field].(string)
	switch {
	case !ok || exists && was == to:
	case !exists && !slices.Contains(machine.Initial, to):
		d.fail(st.v.header(machine.Field), "state", "a new record starts as %s, not as %s", strings.Join(machine.Initial, " or "), to)
	case exists:
		if legal, permitted := machine.Allows(was, to, st.step.actor.Role); !legal || !permitted {
			d.fail(st.v.header(machine.Field), "state", "the record is %s and cannot become %s", was, to)
		}
	}
}

// lookKeys reads columns of the records that have the keys of rows. The key
// columns must be texts or ids.
func lookKeys(tx *db.Tx, tenant string, r *catalog.Resource, rows []store.Row, cols []string, each func(key string, row *db.Row)) error {
	where := "tenant_id = $1"
	args := []any{tenant}
	read := append([]string(nil), cols...)
	for _, k := range r.Import.Key {
		f, _ := r.Field(k)
		seen := map[string]bool{}
		var list []string
		for _, row := range rows {
			s, _ := row[k].(string)
			if f.Format == catalog.Code && f.Type == catalog.Text {
				s = strings.ToLower(s)
			}
			if s != "" && !seen[s] {
				seen[s] = true
				list = append(list, s)
			}
		}
		args = append(args, query.List(list))
		switch {
		case f.Type == catalog.UUID:
			where += " AND " + tx.DB().InUUID(k, len(args))
		case f.Format == catalog.Code:
			where += " AND " + tx.DB().InText("lower("+k+")", len(args))
		default:
			where += " AND " + tx.DB().InText(k, len(args))
		}
		read = append(read, k)
	}
	return tx.Query("SELECT "+strings.Join(read, ", ")+" FROM "+r.Name+" WHERE "+where, args, func(row *db.Row) error {
		key := store.Row{}
		for i, k := range r.Import.Key {
			key[k] = row.Text(len(cols) + i)
		}
		each(keyText(r, key), row)
		return nil
	})
}
