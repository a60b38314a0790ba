package imports

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// writer puts checked rows of one resource into the database. It goes under
// the store's verbs because those read and check every value again; effects,
// counters, versions and states are the same.
type writer struct {
	m        *Importer
	tx       *db.Tx
	actor    actor.Actor
	resource *catalog.Resource
	now      string
	defaults store.Row        // of fields a new record has without being asked
	deltas   map[string]int64 // counters, written once at the end
}

func (m *Importer) writer(tx *db.Tx, a actor.Actor, r *catalog.Resource) (*writer, error) {
	w := &writer{m: m, tx: tx, actor: server(a), resource: r, now: query.FormatTime(m.store.Now()), defaults: store.Row{}, deltas: map[string]int64{}}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Default == "" {
			continue
		}
		v, err := query.Value(f, f.Default)
		if err != nil {
			return nil, fmt.Errorf("imports: default of %s.%s: %w", r.Name, f.Name, err)
		}
		w.defaults[f.Name] = v
	}
	return w, nil
}

// numbered reports a resource whose records get a business number, which the
// store gives.
func numbered(r *catalog.Resource) bool {
	return slices.ContainsFunc(r.Fields, func(f catalog.Field) bool { return f.Format == catalog.Number && f.Prefix != "" })
}

// fresh fills a new record up.
func (w *writer) fresh(row store.Row) (store.Row, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("imports: make an id: %w", err)
	}
	for k, v := range w.defaults {
		if row[k] == nil {
			row[k] = v
		}
	}
	row["id"], row["tenant_id"] = id.String(), w.actor.TenantID
	row["created_at"], row["updated_at"], row["version"] = w.now, w.now, int64(1)
	if w.actor.UserID != "" {
		row["created_by"] = w.actor.UserID
	}
	return row, nil
}

// insert makes new records and returns their ids. lines names the file's line
// of each row, for what an effect refuses.
func (w *writer) insert(rows []store.Row, lines []int) ([]string, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if numbered(w.resource) {
		return w.insertNumbered(rows, lines)
	}
	changes := make([]store.Change, len(rows))
	ids := make([]string, len(rows))
	for i, row := range rows {
		row, err := w.fresh(row)
		if err != nil {
			return nil, err
		}
		if m := w.resource.States; m != nil && !slices.Contains(m.Initial, fmt.Sprint(row[m.Field])) {
			return nil, atLine(fault.New(fault.Conflict, "HF001", "a new record of %s cannot start as %v", spoken(w.resource.Name), row[m.Field]), lines[min(i, len(lines)):min(i+1, len(lines))])
		}
		ids[i] = row["id"].(string)
		changes[i] = store.Change{Resource: w.resource, Op: store.Insert, After: row}
	}
	if err := w.effect(w.m.effects.Before, changes); err != nil {
		return nil, atLine(err, lines)
	}
	if err := w.queueInsert(changes); err != nil {
		return nil, err
	}
	w.tally(changes)
	if err := w.effect(w.m.effects.After, changes); err != nil {
		return nil, atLine(err, lines)
	}
	if err := w.tx.Flush(); err != nil {
		return nil, w.clash(err, rows, lines)
	}
	return ids, nil
}

func (w *writer) insertNumbered(rows []store.Row, lines []int) ([]string, error) {
	stored, err := w.m.quiet.InsertTx(w.tx, w.actor, w.resource, rows)
	if err != nil {
		return nil, atLine(err, lines)
	}
	if err := w.tx.Flush(); err != nil {
		return nil, w.clash(err, rows, lines)
	}
	ids := make([]string, len(stored))
	for i, r := range stored {
		ids[i], _ = r["id"].(string)
		rows[i]["id"] = ids[i]
	}
	return ids, nil
}

func (w *writer) effect(of map[string]store.Effect, changes []store.Change) error {
	if f := of[w.resource.Name]; f != nil && len(changes) > 0 {
		return f(w.tx, w.actor, w.m.quiet, changes)
	}
	return nil
}

// atLine makes the row number an effect names, counted in its batch, the
// file's line.
func atLine(err error, lines []int) error {
	f := fault.As(err)
	rest, ok := strings.CutPrefix(f.Details, "row ")
	n, bad := strconv.Atoi(rest)
	switch {
	case ok && bad == nil && n >= 1 && n <= len(lines):
		n = lines[n-1]
	case len(lines) == 1:
		n = lines[0]
	default:
		return err
	}
	c := *f
	c.Details = fmt.Sprintf("line %d", n)
	c.Msg = fmt.Sprintf("line %d: %s", n, f.Msg)
	c.Err = err
	return &c
}

// clash explains a constraint that stood against a batch: a record made or
// removed between checking and applying.
func (w *writer) clash(err error, rows []store.Row, lines []int) error {
	f := fault.As(err)
	if f.Kind != fault.Conflict || len(lines) == 0 {
		return err
	}
	where := fmt.Sprintf("lines %d to %d", lines[0], lines[len(lines)-1])
	why := "a record with the same key exists by now"
	if f.Code == "23503" {
		why = "a record they refer to is gone by now"
	}
	return fault.Wrap(err, fault.Conflict, "import_stale", "%s cannot be written: %s; process the file again", where, why).With(where, "")
}

// queueInsert queues new records. Columns that no row of the batch sets are
// left out; which these are hardly differs between batches, so the statement
// stays prepared.
func (w *writer) queueInsert(changes []store.Change) error {
	all := w.resource.Fields
	set := make([]bool, len(all))
	values := make([]any, len(changes)*len(all))
	for i, c := range changes {
		for j := range all {
			v := c.After[all[j].Name]
			values[i*len(all)+j] = v
			set[j] = set[j] || v != nil
		}
	}
	var cols []db.Column
	for j := range all {
		if set[j] {
			cols = append(cols, db.Column{Name: all[j].Name, Type: all[j].Type.Column()})
		}
	}
	rows := make([][]any, len(changes))
	for i := range changes {
		row := values[i*len(all) : i*len(all) : (i+1)*len(all)]
		for j, v := range values[i*len(all) : (i+1)*len(all)] {
			if set[j] {
				row = append(row, v)
			}
		}
		rows[i] = row
	}
	return w.tx.Insert(w.resource.Name, cols, rows)
}

// same compares two stored values.
func same(a, b any) bool {
	ra, ok := a.(json.RawMessage)
	rb, too := b.(json.RawMessage)
	if ok || too {
		return ok && too && string(ra) == string(rb)
	}
	return a == b
}

// differing lists the fields a change alters, apart from those every change
// alters.
func differing(r *catalog.Resource, before, after store.Row) []string {
	var out []string
	for i := range r.Fields {
		n := r.Fields[i].Name
		if n != "updated_at" && n != "version" && !same(before[n], after[n]) {
			out = append(out, n)
		}
	}
	return out
}

// update writes changed records. Those that come out as they were are passed
// over; the others are returned with the fields that changed. stamp gives the
// version and updated_at of the record after the change, and may have the last
// word on its fields.
func (w *writer) update(changes []store.Change, lines []int, stamp func(store.Change) (version int64, updatedAt string)) ([]store.Change, error) {
	if err := w.effect(w.m.effects.Before, changes); err != nil {
		return nil, atLine(err, lines)
	}
	var changed []store.Change
	var cols []string
	seen := map[string]bool{}
	for _, c := range changes {
		version, at := stamp(c)
		diff := differing(w.resource, c.Before, c.After)
		if len(diff) == 0 {
			continue
		}
		c.After["version"], c.After["updated_at"] = version, at
		changed = append(changed, c)
		for _, n := range diff {
			if !seen[n] {
				seen[n] = true
				cols = append(cols, n)
			}
		}
	}
	slices.Sort(cols)
	text := updateText(w.resource.Name, cols)
	for _, c := range changed {
		args := make([]any, 0, len(cols)+4)
		args = append(args, w.actor.TenantID, c.After["id"], c.After["version"], c.After["updated_at"])
		for _, n := range cols {
			args = append(args, c.After[n])
		}
		w.tx.Queue(text, args, nil)
	}
	w.tally(changed)
	if err := w.effect(w.m.effects.After, changed); err != nil {
		return nil, atLine(err, lines)
	}
	return changed, w.tx.Flush()
}

func updateText(table string, cols []string) string {
	b := []byte("UPDATE " + table + " SET version = $3, updated_at = $4")
	for i, c := range cols {
		b = strconv.AppendInt(append(b, ", "+c+" = $"...), int64(i+5), 10)
	}
	return string(b) + " WHERE tenant_id = $1 AND id = $2"
}

// tally adds what changes do to the resource's counters.
func (w *writer) tally(changes []store.Change) {
	for _, c := range changes {
		for i := range w.resource.Counters {
			n := &w.resource.Counters[i]
			if c.Before != nil {
				n.Add(w.deltas, w.resource, c.Before, -1)
			}
			if c.After != nil {
				n.Add(w.deltas, w.resource, c.After, 1)
			}
		}
	}
}

// done writes the counters and tells who caches answers.
func (w *writer) done() {
	w.m.store.Count(w.tx, w.actor.TenantID, w.deltas)
	tenant, name := w.actor.TenantID, w.resource.Name
	w.tx.After(func() { w.m.changed(tenant, []string{name}) })
}
