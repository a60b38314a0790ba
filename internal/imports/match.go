package imports

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// unique refuses a key that an earlier row of the file has.
func (st *stager) unique(d *draft, row store.Row) {
	key := st.v.rowKey(row)
	if key == "" {
		return
	}
	if line, ok := st.seen.Put(key, d.line); ok {
		given := slices.DeleteFunc(slices.Clone(st.v.keyFields()), func(k string) bool { return row[k] == nil })
		d.fail(st.v.header(given[len(given)-1]), "duplicate", "line %d has the same %s", line, strings.Join(st.v.titles(given), " and "))
	}
}

// titles are the columns that fields come from, or what these are called.
func (v *survey) titles(fields []string) []string {
	out := make([]string, len(fields))
	for i, name := range fields {
		if out[i] = targets.Spoken(name); v.Layout.Column(name) != nil {
			out[i] = v.header(name)
		}
	}
	return out
}

// keyFields are the fields that tell the file's rows apart.
func (v *survey) keyFields() []string {
	key := v.Target.Resource.Import.Key
	if v.Lined() {
		key = append(slices.Clone(key), v.Target.Lines.Import.Key[1:]...)
	}
	return key
}

// rowKey is what tells a row from the file's others, as text, "" when it has
// no key.
func (v *survey) rowKey(row store.Row) string {
	key := keyText(v.Target.Resource, row)
	if key == "" || !v.Lined() {
		return key
	}
	for _, k := range v.Target.Lines.Import.Key[1:] {
		n, _ := row[k].(int64)
		key += strconv.FormatInt(n, 10) + "\x00"
	}
	return key
}

// keyText is a row's import key as text, "" when it has none: a required part
// is missing, or all of them are. Codes are equal without regard to case, and a
// Part that is missing is equal to its default.
func keyText(r *catalog.Resource, row store.Row) string {
	var b []byte
	given := false
	for _, k := range r.Import.Key {
		f, _ := r.Field(k)
		s := keyPart(f, row)
		if s == "" && f.Required {
			return ""
		}
		given = given || s != ""
		b = append(append(b, s...), 0)
	}
	if !given {
		return ""
	}
	return string(b)
}

func keyPart(f *catalog.Field, row store.Row) string {
	switch x := row[f.Name].(type) {
	case string:
		if f.Type == catalog.Text && f.Format == catalog.Code {
			return strings.ToLower(x)
		}
		return x
	case int64:
		return strconv.FormatInt(x, 10)
	}
	return f.Default
}

// standing is what is known of a record that a row may change.
type standing struct{ id, state string }

// standings reads the records that have the keys of rows.
func (st *stager) standings(ctx context.Context, rows []store.Row) (map[string]standing, error) {
	r := st.v.Target.Resource
	read := []string{"id"}
	if r.States != nil {
		read = append(read, r.States.Field)
	}
	there := map[string]standing{}
	err := st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) error {
		return lookKeys(tx, st.step.Actor.TenantID, r, rows, read, func(key string, row *db.Row) {
			s := standing{id: row.Text(0)}
			if len(read) > 1 {
				s.state = row.Text(1)
			}
			there[key] = s
		})
	})
	return there, err
}

// present refuses keys that exist already when only new records are wanted or
// allowed, unknown ones when only existing ones are, and states that a record
// cannot begin in or move to.
func (st *stager) present(ctx context.Context, batch []*draft, good []store.Row) error {
	t, mode := st.v.Target, st.v.Settings.Mode
	r := t.Resource
	create, update := t.Rights(st.step.Actor.Role)
	states := r.States != nil && slices.Contains(st.fields, r.States.Field)
	if !t.Keyed() || mode == targets.ModeUpsert && create && update && !states && !st.v.Lined() {
		return nil
	}
	there, err := st.standings(ctx, good)
	if err != nil {
		return err
	}
	last := r.Import.Key[len(r.Import.Key)-1]
	for i, d := range batch {
		if good[i] == nil || len(d.errs) > 0 {
			continue
		}
		was, exists := there[keyText(r, good[i])]
		name := st.called(good[i])
		switch {
		case exists && mode == targets.ModeInsert:
			d.fail(st.v.header(last), "exists", "%s exists already", name)
		case exists && !update:
			d.fail(st.v.header(last), "exists", "%s exists already, and your role may not change it", name)
		case !exists && mode == targets.ModeUpdate:
			d.fail(st.v.header(last), "unknown", "there is no record %s to update", name)
		case !exists && !create:
			d.fail(st.v.header(last), "unknown", "there is no record %s, and your role may not make one", name)
		case exists && st.v.Lined() && st.closed(was.state):
			d.fail(st.v.header(last), "state", "%s is %s: its lines no longer change", name, was.state)
		case states:
			st.movable(d, good[i], was.state, exists)
		}
	}
	return nil
}

// Called is what a row's record is called in a message.
func (st *stager) called(row store.Row) string {
	if s := label(row); s != "" {
		return s
	}
	return "with this " + st.v.header(st.v.Target.Resource.Import.Key[0])
}

// closed reports a state that a record does not leave.
func (st *stager) closed(state string) bool {
	return !slices.ContainsFunc(st.v.Target.Resource.States.Moves, func(m catalog.Move) bool { return slices.Contains(m.From, state) })
}

// movable holds a row's state to the state machine.
func (st *stager) movable(d *draft, row store.Row, was string, exists bool) {
	machine := st.v.Target.Resource.States
	to, ok := row[machine.Field].(string)
	switch {
	case !ok || exists && was == to:
	case !exists && !slices.Contains(machine.Initial, to):
		d.fail(st.v.header(machine.Field), "state", "a new record starts as %s, not as %s", strings.Join(machine.Initial, " or "), to)
	case exists:
		if legal, permitted := machine.Allows(was, to, st.step.Actor.Role); !legal || !permitted {
			d.fail(st.v.header(machine.Field), "state", "the record is %s and cannot become %s", was, to)
		}
	}
}

// lookKeys reads columns of the records that have the keys of rows.
func lookKeys(tx *db.Tx, tenant string, r *catalog.Resource, rows []store.Row, cols []string, each func(key string, row *db.Row)) error {
	where := "tenant_id = $1"
	if r.Name == "stock_levels" {
		where += " AND owner_id IS NULL" // a seventh part of its key: what a file counts is the tenant's own
	}
	args := []any{tenant}
	read := append([]string(nil), cols...)
	for _, k := range r.Import.Key {
		f, _ := r.Field(k)
		args = append(args, query.List(keyParts(f, rows)))
		in := inKey(tx.DB(), r, f, len(args))
		if !f.Required && len(r.Import.Key) > 1 {
			in = "(" + k + " IS NULL OR " + in + ")"
		}
		where += " AND " + in
		read = append(read, k)
	}
	return tx.Query("SELECT "+strings.Join(read, ", ")+" FROM "+r.Name+" WHERE "+where, args, func(row *db.Row) error {
		key := store.Row{}
		for i, k := range r.Import.Key {
			if !row.Null(len(cols) + i) {
				key[k] = row.Text(len(cols) + i)
			}
		}
		each(keyText(r, key), row)
		return nil
	})
}

// keyParts are the different values of a part of the keys of rows.
func keyParts(f *catalog.Field, rows []store.Row) []string {
	seen := map[string]bool{}
	list := []string{}
	for _, row := range rows {
		if s := keyPart(f, row); row != nil && s != "" && !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

// inKey compares a part of a key with the list in parameter n, so that an
// Index serves. A key of one part has a unique index of its own.
func inKey(d *db.DB, r *catalog.Resource, f *catalog.Field, n int) string {
	in, col := d.InText, f.Name
	if len(r.Import.Key) == 1 {
		in = d.InKey
	}
	if f.Format == catalog.Code {
		col = "lower(" + col + ")"
	}
	switch f.Type {
	case catalog.UUID:
		in = d.InUUID
	case catalog.Int:
		in = d.InInt
	case catalog.Time:
		in = d.InTime
	}
	return in(col, n)
}
