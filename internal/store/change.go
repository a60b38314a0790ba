package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
)

// insertRows writes checked rows: fills what the server fills, runs the effects,
// and queues rows, counters and audit. Nothing is flushed unless a number or
// an effect needs an answer, so a plain insert is one round trip. They are
// written in the order of key, or as they come when it is nil; everything else
// keeps the order of rows.
func (tx *Tx) insertRows(r *catalog.Resource, rows []Row, key []string) ([]Change, error) {
	now := query.FormatTime(tx.Store.now())
	for _, row := range rows {
		if err := tx.fillRow(r, row, now); err != nil {
			return nil, err
		}
	}
	changes, err := tx.prepareInserts(r, rows)
	if err != nil {
		return nil, err
	}
	if err := queueInsert(tx.Tx, r, inOrder(r, key, changes)); err != nil {
		return nil, err
	}
	return changes, tx.finishChanges(r, changes)
}

// prepareInserts numbers filled rows, holds them to the states a record begins in,
// runs the Before effect and looks for required fields that are still missing.
func (tx *Tx) prepareInserts(r *catalog.Resource, rows []Row) ([]Change, error) {
	changes := make([]Change, len(rows))
	for i, row := range rows {
		changes[i] = Change{Resource: r, Op: Insert, After: row}
	}
	if err := tx.Store.numbers.giveNumbers(tx.Tx, r, changes); err != nil {
		return nil, err
	}
	if err := checkInitialStates(r, changes, tx.Store.defaults); err != nil {
		return nil, err
	}
	if err := tx.runBeforeEffect(r, changes); err != nil {
		// A rule says little of a record that lacks what it cannot do without.
		return nil, cmp.Or(refuseMissingRequired(r, changes, false), err)
	}
	return changes, refuseMissingRequired(r, changes, true)
}

// refuseMissingRequired refuses the first new record without a value in a required field, or
// only in one that nobody but the caller sets.
func refuseMissingRequired(r *catalog.Resource, changes []Change, kept bool) error {
	for i := range changes {
		errs := slices.DeleteFunc(listMissing(r, changes[i].After), func(e *fault.Error) bool {
			f, _ := r.Field(e.Fields[0].Name)
			return (f.ReadOnly || f.Filled) && !kept
		})
		if err := mergeRefusals(errs, rowNumber(i, len(changes))); err != nil {
			return err
		}
	}
	return nil
}

func rowNumber(i, n int) int {
	if n == 1 {
		return 0
	}
	return i + 1
}

// newRowID makes the id of a new record: that of an anonymous report tells the day
// alone, as its tenant counts days.
func (tx *Tx) newRowID(r *catalog.Resource, row Row, now string) (string, error) {
	if _, reports := r.Field("anonymous"); !reports || row["anonymous"] != true {
		return db.NewID(), nil
	}
	place, err := tx.placeOf(cmp.Or(tenantOf(r, row), tx.TenantID))
	if err != nil {
		return "", err
	}
	at, err := time.Parse(db.TimeLayout, now)
	if err != nil {
		return "", fmt.Errorf("store: the moment of a record: %w", err)
	}
	return db.NewIDAt(localtime.DateOf(at, place).Start(place)), nil
}

// placeOf is the place by which a tenant counts days; a transaction asks once for each.
func (tx *Tx) placeOf(tenant string) (*time.Location, error) {
	if place := tx.places[tenant]; place != nil {
		return place, nil
	}
	zone := ""
	QueueZone(tx.Tx, tenant, &zone)
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("store: time zone of the tenant: %w", err)
	}
	if tx.places == nil {
		tx.places = map[string]*time.Location{}
	}
	tx.places[tenant] = localtime.Zone(zone)
	return tx.places[tenant], nil
}

// fillRow sets the fields the server owns.
func (tx *Tx) fillRow(r *catalog.Resource, row Row, now string) error {
	a := tx.Actor
	if row["id"] == nil {
		id, err := tx.newRowID(r, row, now)
		if err != nil {
			return err
		}
		row["id"] = id
	}
	if !r.Root {
		switch given := row["tenant_id"]; {
		case a.TenantID == "" && given == nil:
			return fault.New(fault.Invalid, "23502", "null value in column %q of relation %q violates not-null constraint",
				"tenant_id", r.Name).
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
	// Only the server's own verbs get here with a time or maker given.
	for _, at := range []string{"created_at", "updated_at"} {
		if row[at] == nil {
			row[at] = now
		}
	}
	if row["created_by"] == nil && a.UserID != "" {
		row["created_by"] = a.UserID
	}
	row["version"] = int64(1)
	return nil
}

func rowPolicy(r *catalog.Resource) error {
	return refuseForbidden("new row violates row-level security policy for table %q", r.Name)
}

// checkInitialStates holds new rows to the states a record may begin in.
func checkInitialStates(r *catalog.Resource, changes []Change, defaults map[*catalog.Field]any) error {
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
			return atRow(refuseTransition(r, "", st, ""), rowNumber(i, len(changes)))
		}
	}
	return nil
}

// refuseTransition refuses a move that there is not, and says which the role has instead.
func refuseTransition(r *catalog.Resource, from, to string, as actor.Role) *fault.Error {
	e := fault.New(fault.Conflict, "HF001", "%s cannot move to %q", r.Name, to)
	if from == "" {
		return e.With("a new record starts as "+strings.Join(r.States.Initial, " or "), "")
	}
	hint := "from " + from + " nothing leads on"
	if next, first := r.States.FindWay(from, to, as); first != "" {
		hint = fmt.Sprintf("move it to %s first", first)
	} else if len(next) > 0 {
		hint = fmt.Sprintf("from %s it can move to %s", from, strings.Join(next, ", "))
	}
	return e.With(fmt.Sprintf("from %q to %q", from, to), hint)
}

// runBeforeEffect runs the Before effect and reads back what it set.
func (tx *Tx) runBeforeEffect(r *catalog.Resource, changes []Change) error {
	eff := tx.Store.eff.Before[r.Name]
	if eff == nil || len(changes) == 0 {
		return nil
	}
	if err := eff(tx, changes); err != nil {
		return err
	}
	for i := range changes {
		if err := readBack(r, changes[i].After); err != nil {
			return err
		}
	}
	return nil
}

// readBack brings what effects set into stored form.
func readBack(r *catalog.Resource, row Row) error {
	known := 0
	for i := range r.Fields {
		f := &r.Fields[i]
		v, set := row[f.Name]
		if !set {
			continue
		}
		known++
		if query.Stored(f, v) {
			continue
		}
		tv, err := query.Value(f, v)
		if err != nil {
			return err
		}
		if !Same(v, tv) {
			row[f.Name] = tv
		}
	}
	if known < len(row) {
		return fmt.Errorf("store: an effect set fields that %s has not: %v", r.Name, refuseUnknownFields(r, row))
	}
	return nil
}

// finishChanges queues counters and audit and runs the After effect.
func (tx *Tx) finishChanges(r *catalog.Resource, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	tx.Store.queueCounters(tx.Tx, r, changes)
	if err := tx.queueAudit(r, changes); err != nil {
		return err
	}
	tx.Store.queueEvents(tx.Tx, r, changes)
	return tx.runAfterEffect(r, changes)
}

// runAfterEffect runs the After effect.
func (tx *Tx) runAfterEffect(r *catalog.Resource, changes []Change) error {
	if eff := tx.Store.eff.After[r.Name]; eff != nil {
		return eff(tx, changes)
	}
	return nil
}

func (s *Store) queueEvents(tx *db.Tx, r *catalog.Resource, changes []Change) {
	if len(*s.listeners) == 0 {
		return
	}
	tenants := map[string]bool{}
	for _, c := range changes {
		tenants[tenantOf(r, c.currentRow())] = true
	}
	tx.After(func() {
		for t := range tenants {
			for _, f := range *s.listeners {
				f(t, []string{r.Name})
			}
		}
	})
}

// currentRow is the row as it is now, or was last.
func (c Change) currentRow() Row {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// batchRows is how many rows with n values each one statement takes. SQLite
// gains nothing from statements beyond a thousand values; PostgreSQL wants
// few, large ones.
func batchRows(d *db.DB, n int) int {
	rows, binds := 256, 16_000
	if d.Engine() == db.SQLite {
		binds = 1000
	}
	for rows > 1 && rows*n > binds {
		rows /= 2
	}
	return rows
}

func bindableValue(v any) any {
	if raw, ok := v.(json.RawMessage); ok {
		return string(raw)
	}
	return v
}

func insertText(table string, cols []string, rows int) string {
	size := len("INSERT INTO  () VALUES ") + len(table) + rows*(len(cols)*7+4)
	for _, c := range cols {
		size += len(c) + 2
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString("INSERT INTO ")
	b.WriteString(table)
	b.WriteString(" (")
	for i, c := range cols {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c)
	}
	b.WriteString(") VALUES ")
	var digits [20]byte
	p := int64(1)
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for c := range cols {
			if c > 0 {
				b.WriteString(", ")
			}
			b.WriteByte('$')
			b.Write(strconv.AppendInt(digits[:0], p, 10))
			p++
		}
		b.WriteByte(')')
	}
	return b.String()
}
