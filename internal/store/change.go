package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// insert writes checked rows: fills what the server fills, runs the effects,
// and queues rows, counters and audit. Nothing is flushed unless a number or
// an effect needs an answer, so a plain insert is one round trip.
func (s *Store) insert(tx *db.Tx, a actor.Actor, r *catalog.Resource, rows []Row) ([]Change, error) {
	changes := make([]Change, len(rows))
	now := query.FormatTime(s.now())
	for i, row := range rows {
		if err := s.fill(a, r, row, now); err != nil {
			return nil, err
		}
		changes[i] = Change{Resource: r, Op: Insert, After: row}
	}
	if err := s.number(tx, r, changes); err != nil {
		return nil, err
	}
	if err := initial(r, changes, s.defaults); err != nil {
		return nil, err
	}
	if err := s.before(tx, a, r, changes); err != nil {
		return nil, err
	}
	for i := range changes {
		if err := refused(missing(r, changes[i].After), rowNumber(i, len(changes))); err != nil {
			return nil, err
		}
	}
	s.queueInsert(tx, r, changes)
	return changes, s.after(tx, a, r, changes)
}

func rowNumber(i, n int) int {
	if n == 1 {
		return 0
	}
	return i + 1
}

// fill sets the fields the server owns.
func (s *Store) fill(a actor.Actor, r *catalog.Resource, row Row, now string) error {
	if row["id"] == nil {
		row["id"] = newID()
	}
	if !r.Root {
		switch given := row["tenant_id"]; {
		case a.TenantID == "" && given == nil:
			return fault.New(fault.Invalid, "23502", "null value in column %q of relation %q violates not-null constraint", "tenant_id", r.Name).
				With("the service key belongs to no tenant, so each row must name one", "").At("tenant_id", "is required")
		case a.TenantID != "" && given != nil && given != any(a.TenantID):
			return rowPolicy(r)
		case given == nil:
			row["tenant_id"] = a.TenantID
		}
	}
	if r.Bare {
		return nil
	}
	row["created_at"], row["updated_at"], row["version"] = now, now, int64(1)
	if a.UserID != "" {
		row["created_by"] = a.UserID
	}
	return nil
}

func rowPolicy(r *catalog.Resource) error {
	return denied("new row violates row-level security policy for table %q", r.Name)
}

// initial holds new rows to the states a record may begin in.
func initial(r *catalog.Resource, changes []Change, defaults map[*catalog.Field]any) error {
	if r.States == nil || len(r.States.Initial) == 0 {
		return nil
	}
	f, _ := r.Field(r.States.Field)
	for i := range changes {
		row := changes[i].After
		if row[f.Name] == nil {
			if row[f.Name] = defaults[f]; row[f.Name] == nil {
				row[f.Name] = r.States.Initial[0]
			}
		}
		st, _ := row[f.Name].(string)
		if !oneOf(r.States.Initial, st) {
			return illegal(r, "", st)
		}
	}
	return nil
}

func illegal(r *catalog.Resource, from, to string) error {
	e := fault.New(fault.Conflict, "HF001", "%s cannot move to %q", r.Name, to)
	if from == "" {
		return e.With(fmt.Sprintf("a new record starts as %s", strings.Join(r.States.Initial, " or ")), "")
	}
	return e.With(fmt.Sprintf("from %q to %q", from, to), "")
}

// before runs the Before effect and reads back what it set.
func (s *Store) before(tx *db.Tx, a actor.Actor, r *catalog.Resource, changes []Change) error {
	eff := s.eff.Before[r.Name]
	if eff == nil || len(changes) == 0 {
		return nil
	}
	if err := eff(tx, a, s, changes); err != nil {
		return err
	}
	for i := range changes {
		row := changes[i].After
		for k, v := range row {
			f, ok := r.Field(k)
			if !ok {
				return fmt.Errorf("store: an effect set %s.%s, which is no field", r.Name, k)
			}
			tv, err := query.Value(f, v)
			if err != nil {
				return err
			}
			row[k] = tv
		}
	}
	return nil
}

// after queues counters and audit and runs the After effect.
func (s *Store) after(tx *db.Tx, a actor.Actor, r *catalog.Resource, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	s.tally(tx, r, changes)
	s.record(tx, a, r, changes)
	s.announce(tx, r, changes)
	if eff := s.eff.After[r.Name]; eff != nil {
		return eff(tx, a, s, changes)
	}
	return nil
}

func (s *Store) announce(tx *db.Tx, r *catalog.Resource, changes []Change) {
	if len(*s.listeners) == 0 {
		return
	}
	tenants := map[string]bool{}
	for _, c := range changes {
		tenants[tenantOf(r, c.row())] = true
	}
	tx.After(func() {
		for t := range tenants {
			for _, f := range *s.listeners {
				f(t, []string{r.Name})
			}
		}
	})
}

// row is the row as it is now, or was last.
func (c Change) row() Row {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// batchRows is how many rows with n values each one statement takes. The
// SQLite driver looks every parameter up by name, in time that grows with the
// square of their number; PostgreSQL wants few, large statements.
func batchRows(d *db.DB, n int) int {
	rows, binds := 256, 16_000
	if d.Engine() == db.SQLite {
		binds = 256
	}
	for rows > 1 && rows*n > binds {
		rows /= 2
	}
	return rows
}

// queueInsert writes the rows in statements whose sizes are powers of two, so
// that any number of rows uses a few prepared texts.
func (s *Store) queueInsert(tx *db.Tx, r *catalog.Resource, changes []Change) {
	var cols []string
	for i := range r.Fields {
		name := r.Fields[i].Name
		for _, c := range changes {
			if c.After[name] != nil {
				cols = append(cols, name)
				break
			}
		}
	}
	queueRows(tx, r.Name, cols, len(changes), func(i int, args []any) []any {
		for _, c := range cols {
			args = append(args, bindable(changes[i].After[c]))
		}
		return args
	})
}

func bindable(v any) any {
	if raw, ok := v.(json.RawMessage); ok {
		return string(raw)
	}
	return v
}

func queueRows(tx *db.Tx, table string, cols []string, n int, row func(i int, args []any) []any) {
	step := batchRows(tx.DB(), len(cols))
	for i := 0; i < n; {
		for step > n-i {
			step /= 2
		}
		args := make([]any, 0, step*len(cols))
		for k := 0; k < step; k++ {
			args = row(i+k, args)
		}
		tx.Queue(insertText(table, cols, step), args, nil)
		i += step
	}
}

func insertText(table string, cols []string, rows int) string {
	b := make([]byte, 0, 64+rows*len(cols)*6)
	b = append(b, "INSERT INTO "+table+" ("+strings.Join(cols, ", ")+") VALUES "...)
	p := 1
	for i := 0; i < rows; i++ {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '(')
		for c := range cols {
			if c > 0 {
				b = append(b, ", "...)
			}
			b = append(append(b, '$'), itoa(p)...)
			p++
		}
		b = append(b, ')')
	}
	return string(b)
}

// rights says what an update may touch.
type rights struct {
	server bool     // the server's own code: any field, any legal move
	fields []string // only these; empty = every writable field
}

// update changes locked rows to what set says and queues the statements: rows
// that change alike share one.
func (s *Store) update(tx *db.Tx, a actor.Actor, r *catalog.Resource, rows []Row, set Row, may rights) ([]Change, error) {
	changes := make([]Change, 0, len(rows))
	for _, row := range rows {
		c, err := s.apply(a, r, row, set, may)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, s.rewrite(tx, a, r, changes)
}

// apply makes one row's change.
func (s *Store) apply(a actor.Actor, r *catalog.Resource, row, set Row, may rights) (Change, error) {
	c := Change{Resource: r, Op: Update, Before: row, After: make(Row, len(row))}
	for k, v := range row {
		c.After[k] = v
	}
	for k, v := range set {
		f, ok := r.Field(k)
		if !ok {
			continue
		}
		if !may.server {
			if err := mayChange(a, r, f, row[k], v, may); err != nil {
				return c, err
			}
		}
		if v == nil && f.Required {
			return c, fault.New(fault.Invalid, "23502", "null value in column %q of relation %q violates not-null constraint", k, r.Name).At(k, "is required")
		}
		c.After[k] = v
	}
	return c, move(a, r, c, may)
}

// mayChange refuses a field the caller may not set.
func mayChange(a actor.Actor, r *catalog.Resource, f *catalog.Field, old, v any, may rights) error {
	switch {
	case f.Name == "tenant_id" && !same(old, v):
		return rowPolicy(r)
	case f.ReadOnly:
		return readOnly(f)
	case f.Fixed && !same(old, v):
		return fault.New(fault.Invalid, "428C9", "column %q can only be set when the record is made", f.Name).At(f.Name, "cannot be changed")
	case f.Fixed:
		return nil
	case !f.Visible(a.Role), len(may.fields) > 0 && !oneOf(may.fields, f.Name):
		return denied("permission denied for column %q of table %s", f.Name, r.Name)
	}
	return nil
}

func readOnly(f *catalog.Field) error {
	return fault.New(fault.Invalid, "428C9", "column %q is kept by the server and cannot be set", f.Name).At(f.Name, "is kept by the server")
}

// move holds a change of state to the state machine.
func move(a actor.Actor, r *catalog.Resource, c Change, may rights) error {
	if r.States == nil {
		return nil
	}
	from, _ := c.Before[r.States.Field].(string)
	to, _ := c.After[r.States.Field].(string)
	if from == to {
		return nil
	}
	legal, permitted := r.States.Allows(from, to, a.Role)
	switch {
	case !legal:
		return illegal(r, from, to)
	case !permitted && !may.server:
		return denied("role %q may not move %s from %q to %q", a.Role, r.Name, from, to)
	}
	return nil
}

// rewrite runs the effects around the UPDATE statements of changes. Rows whose
// values stay the same keep their version.
func (s *Store) rewrite(tx *db.Tx, a actor.Actor, r *catalog.Resource, changes []Change) error {
	if err := s.before(tx, a, r, changes); err != nil {
		return err
	}
	now := query.FormatTime(s.now())
	var changed []Change
	type group struct {
		tenant string
		set    []string
		row    Row
		ids    []string
	}
	var groups []*group
	bySet := map[string]*group{}
	for _, c := range changes {
		set := differing(r, c)
		if len(set) == 0 {
			continue
		}
		if !r.Bare {
			c.After["updated_at"] = now
			v, _ := c.Before["version"].(int64)
			c.After["version"] = v + 1
		}
		changed = append(changed, c)
		sig := signature(tenantOf(r, c.Before), set, c.After)
		g := bySet[sig]
		if g == nil {
			g = &group{tenant: tenantOf(r, c.Before), set: set, row: c.After}
			bySet[sig] = g
			groups = append(groups, g)
		}
		g.ids = append(g.ids, idOf(c.Before))
	}
	for _, g := range groups {
		sql, args := updateText(tx.DB(), r, g.set, g.row, g.tenant, g.ids)
		tx.Queue(sql, args, nil)
	}
	return s.after(tx, a, r, changed)
}

// differing lists the fields a change alters, in catalog order.
func differing(r *catalog.Resource, c Change) []string {
	var out []string
	for i := range r.Fields {
		n := r.Fields[i].Name
		if n != "updated_at" && n != "version" && !same(c.Before[n], c.After[n]) {
			out = append(out, n)
		}
	}
	return out
}

func signature(tenant string, set []string, row Row) string {
	b := []byte(tenant)
	for _, n := range set {
		b = append(append(b, 0), n...)
		b = appendJSON(append(b, '='), row[n])
	}
	return string(b)
}

func updateText(d *db.DB, r *catalog.Resource, set []string, row Row, tenant string, ids []string) (string, []any) {
	args := []any{tenant, query.List(ids)}
	b := []byte("UPDATE " + r.Name + " SET ")
	for i, n := range set {
		if i > 0 {
			b = append(b, ", "...)
		}
		args = append(args, bindable(row[n]))
		b = append(b, n+" = $"+itoa(len(args))...)
	}
	if !r.Bare {
		args = append(args, row["updated_at"])
		b = append(b, ", version = version + 1, updated_at = $"+itoa(len(args))...)
	}
	b = append(b, " WHERE "+tenantColumn(r)+" = $1 AND "+d.InUUID("id", 2)...)
	return string(b), args
}

// remove deletes locked rows.
func (s *Store) remove(tx *db.Tx, a actor.Actor, r *catalog.Resource, rows []Row) ([]Change, error) {
	changes := make([]Change, len(rows))
	byTenant := map[string][]string{}
	for i, row := range rows {
		changes[i] = Change{Resource: r, Op: Delete, Before: row}
		byTenant[tenantOf(r, row)] = append(byTenant[tenantOf(r, row)], idOf(row))
	}
	if eff := s.eff.Before[r.Name]; eff != nil && len(changes) > 0 {
		if err := eff(tx, a, s, changes); err != nil {
			return nil, err
		}
	}
	for tenant, ids := range byTenant {
		tx.Queue("DELETE FROM "+r.Name+" WHERE "+tenantColumn(r)+" = $1 AND "+tx.DB().InUUID("id", 2),
			[]any{tenant, query.List(ids)}, nil)
	}
	return changes, s.after(tx, a, r, changes)
}
