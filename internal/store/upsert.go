package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// upsertRows inserts the rows whose key is new and merges the others into what is
// there: columns of the payload are set, the rest keep their values.
func (tx *Tx) upsertRows(w *query.Write, rows []Row, try *attempt) (*Result, error) {
	r := w.Resource
	try.upsert = true
	if err := settleTenants(tx.Actor, r, rows); err != nil {
		return nil, err
	}
	if err := refuseRepeatedKeys(r, w.Conflict, rows); err != nil {
		return nil, err
	}
	found, err := tx.lockExisting(r, w, rows)
	if err != nil {
		return nil, err
	}
	var fresh, affected []Row
	var merged []Change
	for i, row := range rows {
		old := found[keyOf(r, w.Conflict, row)]
		if old == nil {
			fresh = append(fresh, row)
			affected = append(affected, row)
		} else if !w.Ignore {
			c, err := mergeOf(tx.Actor, w, old, row, w.Body.Rows[i])
			if err != nil {
				return nil, err
			}
			merged = append(merged, c)
			affected = append(affected, c.After)
		}
	}
	try.rows, try.fresh = affected, fresh
	if err := checkNamed(tx, r, slices.Concat(merged, asInserts(fresh))); err != nil {
		return nil, err
	}
	if err := tx.updateRows(r, merged); err != nil {
		return nil, err
	}
	changes, err := tx.insertRows(r, fresh, w.Conflict)
	if err != nil {
		return nil, err
	}
	if err := checkCreateScope(tx, r, changes); err != nil {
		return nil, err
	}
	res := &Result{Status: Rows, Inserted: len(fresh) > 0}
	if res.Inserted || w.Ignore {
		res.Status = Created
	}
	return representRows(tx, w, res, affected)
}

// settleTenants settles whose rows these are before keys are looked up.
func settleTenants(a actor.Actor, r *catalog.Resource, rows []Row) error {
	for _, row := range rows {
		given := row["tenant_id"]
		switch {
		case r.Root:
		case a.TenantID != "" && given != nil && given != any(a.TenantID):
			return rowPolicy(r)
		case a.TenantID != "":
			row["tenant_id"] = a.TenantID
		case given == nil:
			return fault.New(fault.Invalid, "23502", "null value in column %q of relation %q violates not-null constraint",
				"tenant_id", r.Name)
		}
	}
	return nil
}

// keyOf is a row's unique key as text; "" when part of it is null, which never
// meets another.
func keyOf(r *catalog.Resource, cols []string, row Row) string {
	b := []byte(tenantOf(r, row))
	for _, c := range cols {
		v := row[c]
		if v == nil {
			return ""
		}
		if str, ok := v.(string); ok && ignoresCase(r, c) {
			v = strings.ToLower(str)
		}
		b = appendJSON(append(b, 0), v)
	}
	return string(b)
}

// inOrder is changes in the order of a key. Two upserts that bring the same new
// keys wait for each other instead of deadlocking only if both write them in
// one order. Rows that refer to each other keep theirs: parents come first.
func inOrder(r *catalog.Resource, key []string, changes []Change) []Change {
	if key == nil || len(changes) < 2 || referToEachOther(r, changes) {
		return changes
	}
	keys := make(map[*Change]string, len(changes))
	order := make([]*Change, len(changes))
	for i := range changes {
		order[i] = &changes[i]
		keys[order[i]] = keyOf(r, key, changes[i].After)
	}
	slices.SortStableFunc(order, func(x, y *Change) int { return cmp.Compare(keys[x], keys[y]) })
	out := make([]Change, len(changes))
	for i, c := range order {
		out[i] = *c
	}
	return out
}

// referToEachOther reports new rows that refer to others among them.
func referToEachOther(r *catalog.Resource, changes []Change) bool {
	ids := map[string]bool{}
	for _, c := range changes {
		ids[idOf(c.After)] = true
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Ref != r.Name {
			continue
		}
		for _, c := range changes {
			if id, _ := c.After[f.Name].(string); ids[id] {
				return true
			}
		}
	}
	return false
}

// ignoresCase reports the columns whose unique keys ignore case.
func ignoresCase(r *catalog.Resource, col string) bool {
	f, _ := r.Field(col)
	return f.Type == catalog.Text && f.Format == catalog.Code
}

func refuseRepeatedKeys(r *catalog.Resource, cols []string, rows []Row) error {
	seen := map[string]bool{}
	for i, row := range rows {
		k := keyOf(r, cols, row)
		if k != "" && seen[k] {
			return fault.New(fault.Invalid, "21000", "two rows of one upsert have the same key").
				With(fmt.Sprintf("row %d repeats (%s)", i+1, strings.Join(cols, ", ")), "")
		}
		seen[k] = true
	}
	return nil
}

// lockExisting finds and locks the rows that already have the keys. All writers
// lock rows in id order, so when the keys need several statements the ids are
// found first and locked in one: what was there is read again under the lock.
func (tx *Tx) lockExisting(r *catalog.Resource, w *query.Write, rows []Row) (map[string]Row, error) {
	cols := w.Conflict
	found := map[string]Row{}
	probes := 0
	_ = eachProbe(tx.DB(), r, cols, rows, func(string, []any, []Row) error { probes++; return nil })
	lock := " ORDER BY id" + tx.DB().ForUpdate()
	before := tx.Store.eff.First[r.Name] != nil
	if probes > 1 || before {
		lock = ""
	}
	_ = eachProbe(tx.DB(), r, cols, rows, func(sql string, args []any, _ []Row) error {
		tx.Queue(sql+lock, args, func(row *db.Row) error {
			old := scanRow(r, row)
			found[keyOf(r, cols, old)] = old
			return nil
		})
		return nil
	})
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("store: look up keys of %s: %w", r.Name, err)
	}
	if probes <= 1 && !before || tx.DB().ForUpdate() == "" {
		return found, nil
	}
	if before {
		if err := tx.lockPredecessors(r, slices.Collect(maps.Values(found)), Touch{Columns: w.Body.Columns}); err != nil {
			return nil, err
		}
	}
	return tx.lockFound(r, cols, found)
}

// lockFound locks rows of any tenants in id order and returns them by key as
// they are now.
func (tx *Tx) lockFound(r *catalog.Resource, cols []string, found map[string]Row) (map[string]Row, error) {
	byTenant := map[string][]string{}
	for _, row := range found {
		t := tenantOf(r, row)
		byTenant[t] = append(byTenant[t], idOf(row))
	}
	locked := make(map[string]Row, len(found))
	for _, t := range slices.Sorted(maps.Keys(byTenant)) {
		rows, err := tx.Of(t).lockRows(r, byTenant[t])
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			locked[keyOf(r, cols, row)] = row
		}
	}
	return locked, nil
}

// eachProbe makes the statements that look up the keys of rows, one tenant
// each, in sizes that repeat.
func eachProbe(
	d *db.DB, r *catalog.Resource, cols []string, rows []Row, probe func(sql string, args []any, rows []Row) error,
) error {
	byTenant := map[string][]Row{}
	var tenants []string
	for _, row := range rows {
		if keyOf(r, cols, row) == "" {
			continue
		}
		t := tenantOf(r, row)
		if r.Root {
			t = ""
		}
		if byTenant[t] == nil {
			tenants = append(tenants, t)
		}
		byTenant[t] = append(byTenant[t], row)
	}
	for _, t := range tenants {
		for left := byTenant[t]; len(left) > 0; {
			n := batchRows(d, 4*len(cols))
			for n > len(left) {
				n /= 2
			}
			sql, args := keyText(r, cols, left[:n])
			if err := probe(sql, args, left[:n]); err != nil {
				return err
			}
			left = left[n:]
		}
	}
	return nil
}

// keyText selects the rows with the keys of the given ones.
func keyText(r *catalog.Resource, cols []string, rows []Row) (string, []any) {
	var args []any
	b := []byte("SELECT " + columnList(r) + " FROM " + r.Name + " WHERE ")
	if !r.Root {
		args = append(args, rows[0]["tenant_id"])
		b = append(b, "tenant_id = $1 AND "...)
	}
	b = append(b, '(')
	for i, row := range rows {
		if i > 0 {
			b = append(b, " OR "...)
		}
		for j, c := range cols {
			if j > 0 {
				b = append(b, " AND "...)
			}
			args = append(args, bindableValue(row[c]))
			if p := "$" + formatInt(len(args)); ignoresCase(r, c) {
				b = append(b, "lower("+c+") = lower("+p+")"...)
			} else {
				b = append(b, c+" = "+p...)
			}
		}
	}
	return string(append(b, ')')), args
}

// mergeOf is the change of one existing row to what was sent for it.
func mergeOf(a actor.Actor, w *query.Write, old, row, sent Row) (Change, error) {
	g, err := query.Access(a, w.Resource, w.Resource.Access.Update)
	if err != nil {
		return Change{}, err
	}
	if w.Resource.AppendOnly {
		return Change{}, refuseForbidden("rows of %s are never changed or deleted", w.Resource.Name)
	}
	if !query.Admits(a, w.Resource, g, old) {
		return Change{}, rowPolicy(w.Resource)
	}
	set := Row{}
	for k := range sent {
		if !(isStoreFilled(k) && sent[k] == nil) {
			set[k] = row[k]
		}
	}
	return changeOf(a, w.Resource, old, set, rights{fields: g.Fields})
}
