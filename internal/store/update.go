package store

import (
	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// rights says what an update may touch.
type rights struct {
	server bool     // the server's own code: any field, any legal move
	fields []string // only these; empty = every writable field
}

// changesOf makes the changes of rows to what set says.
func changesOf(a actor.Actor, r *catalog.Resource, rows []Row, set Row, may rights) ([]Change, error) {
	changes := make([]Change, len(rows))
	for i, row := range rows {
		var err error
		if changes[i], err = changeOf(a, r, row, set, may); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// changeOf makes one row's change.
func changeOf(a actor.Actor, r *catalog.Resource, row, set Row, may rights) (Change, error) {
	c := Change{Resource: r, Op: Update, Before: row, After: make(Row, len(row)), Given: set}
	for k, v := range row {
		c.After[k] = v
	}
	for i := range r.Fields { // in one order: of several refusals it is always the same
		f, k := &r.Fields[i], r.Fields[i].Name
		v, given := set[k]
		if !given {
			continue
		}
		if !may.server {
			if err := mayChange(a, r, f, row[k], v, may); err != nil {
				return c, err
			}
		}
		if v == nil && f.Required {
			return c, fault.New(fault.Invalid, "23502", "null value in column %q of relation %q violates not-null constraint", k,
				r.Name).At(k, "is required")
		}
		c.After[k] = v
	}
	return c, checkTransition(a, r, c, may)
}

// mayChange refuses a field the caller may not set.
func mayChange(a actor.Actor, r *catalog.Resource, f *catalog.Field, old, v any, may rights) error {
	switch {
	case f.Name == "tenant_id" && !Same(old, v):
		return rowPolicy(r)
	case f.ReadOnly:
		return readOnly(f)
	case f.Fixed && !Same(old, v):
		return fault.New(fault.Invalid, "428C9", "column %q can only be set when the record is made", f.Name).At(f.Name,
			"cannot be changed")
	case f.Fixed:
		return nil
	case !f.Visible(a.Role), !f.Settable(a.Role), len(may.fields) > 0 && !oneOf(may.fields, f.Name):
		return refuseForbidden("permission denied for column %q of table %s", f.Name, r.Name)
	}
	return nil
}

func readOnly(f *catalog.Field) error {
	return fault.New(fault.Invalid, "428C9", "column %q is kept by the server and cannot be set", f.Name).At(f.Name,
		"is kept by the server")
}

// checkTransition holds a change of state to the state machine.
func checkTransition(a actor.Actor, r *catalog.Resource, c Change, may rights) error {
	if r.States == nil {
		return nil
	}
	from, _ := c.Before[r.States.Field].(string)
	to, _ := c.After[r.States.Field].(string)
	if from == to {
		return nil
	}
	legal, permitted := r.States.Allows(from, to, a.Role)
	if !legal {
		return refuseTransition(r, from, to, a.Role)
	}
	if !permitted && !may.server {
		return refuseForbidden("role %q may not move %s from %q to %q", a.Role, r.Name, from, to)
	}
	return nil
}

// updateRows runs the effects around the UPDATE statements of changes. Rows whose
// values stay the same keep their version.
func (tx *Tx) updateRows(r *catalog.Resource, changes []Change) error {
	if err := tx.runBeforeEffect(r, changes); err != nil {
		return err
	}
	now := query.FormatTime(tx.Store.now())
	var changed []Change
	var groups []*group
	alike := map[string]*group{}
	for _, c := range changes {
		set := Differing(c)
		if len(set) == 0 {
			continue
		}
		if !r.Bare {
			c.After["updated_at"] = now
			v, _ := c.Before["version"].(int64)
			c.After["version"] = v + 1
		}
		changed = append(changed, c)
		sig := updateSignature(tenantOf(r, c.Before), set, c.After)
		g := alike[sig]
		if g == nil {
			g = &group{tenant: tenantOf(r, c.Before), set: set, row: c.After}
			alike[sig] = g
			groups = append(groups, g)
		}
		g.ids = append(g.ids, idOf(c.Before))
	}
	for _, g := range groups {
		sql, args := g.updateStatement(tx.DB(), r)
		tx.Queue(sql, args, nil)
	}
	return tx.finishChanges(r, changed)
}

// group is the rows of one tenant that change alike: one UPDATE.
type group struct {
	tenant string
	set    []string
	row    Row
	ids    []string
}

// Differing lists the fields a change alters, in catalog order, apart from
// those every change alters.
func Differing(c Change) []string {
	var out []string
	for i := range c.Resource.Fields {
		n := c.Resource.Fields[i].Name
		if n != "updated_at" && n != "version" && !Same(c.Before[n], c.After[n]) {
			out = append(out, n)
		}
	}
	return out
}

func updateSignature(tenant string, set []string, row Row) string {
	b := []byte(tenant)
	for _, n := range set {
		b = append(append(b, 0), n...)
		b = appendJSON(append(b, '='), row[n])
	}
	return string(b)
}

func (g *group) updateStatement(d *db.DB, r *catalog.Resource) (string, []any) {
	args := []any{g.tenant, query.List(g.ids)}
	b := []byte("UPDATE " + r.Name + " SET ")
	for i, n := range g.set {
		if i > 0 {
			b = append(b, ", "...)
		}
		args = append(args, bindableValue(g.row[n]))
		b = append(b, n+" = $"+formatInt(len(args))...)
	}
	if !r.Bare {
		args = append(args, g.row["updated_at"])
		b = append(b, ", version = version + 1, updated_at = $"+formatInt(len(args))...)
	}
	b = append(b, " WHERE "+tenantColumn(r)+" = $1 AND "+d.InUUID("id", 2)...)
	return string(b), args
}

// deleteRows deletes locked rows.
func (tx *Tx) deleteRows(r *catalog.Resource, rows []Row) ([]Change, error) {
	changes := make([]Change, len(rows))
	byTenant := map[string][]string{}
	for i, row := range rows {
		changes[i] = Change{Resource: r, Op: Delete, Before: row}
		byTenant[tenantOf(r, row)] = append(byTenant[tenantOf(r, row)], idOf(row))
	}
	if eff := tx.Store.eff.Before[r.Name]; eff != nil && len(changes) > 0 {
		if err := eff(tx, changes); err != nil {
			return nil, err
		}
	}
	for tenant, ids := range byTenant {
		tx.Queue("DELETE FROM "+r.Name+" WHERE "+tenantColumn(r)+" = $1 AND "+tx.DB().InUUID("id", 2),
			[]any{tenant, query.List(ids)}, nil)
	}
	return changes, tx.finishChanges(r, changes)
}
