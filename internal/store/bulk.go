package store

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// Bulk writes thousands of rows of one resource in its caller's transaction,
// for the actor's tenant. It is the only way into a catalog table beside the
// verbs and does what they do: fills, numbers, states, effects, required
// fields, versions, counters and audit. It differs in three things: values come
// in stored form (see Row), as Validate returns them, and are not read a second
// time; counters are written once, by Close; and nothing travels before the
// transaction's next flush. Work that is audited as a whole takes it from an
// Unaudited store.
type Bulk struct {
	tx       *Tx
	resource *catalog.Resource
	deltas   map[string]int64
	wrote    bool
}

// Bulk begins bulk work on a resource. Close ends it, before the commit.
func (tx *Tx) Bulk(r *catalog.Resource) *Bulk {
	return &Bulk{tx: tx, resource: r, deltas: map[string]int64{}}
}

// Fill sets the fields of a new row that the server owns, and the defaults of
// those the row leaves out. Insert does it too.
func (b *Bulk) Fill(row Row) error {
	for i := range b.resource.Fields {
		f := &b.resource.Fields[i]
		if d := b.tx.Store.defaults[f]; d != nil && row[f.Name] == nil {
			row[f.Name] = d
		}
	}
	return b.tx.fillRow(b.resource, row, query.FormatTime(b.tx.Now()))
}

// Insert makes new records of the rows, which it fills up in place. A fault
// that one row is to blame for begins its details with "row N", counted from 1.
func (b *Bulk) Insert(rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	for _, row := range rows {
		if err := b.Fill(row); err != nil {
			return err
		}
	}
	changes, err := b.tx.prepareInserts(b.resource, rows)
	if err != nil {
		return err
	}
	if err := queueInsert(b.tx.Tx, b.resource, changes); err != nil {
		return err
	}
	return b.runAfterEffects(changes)
}

// Update writes changes of records that the caller has locked: legal moves
// only, the next version, the time of the change. Those that come out as they
// were are passed over; the others are returned.
func (b *Bulk) Update(changes []Change) ([]Change, error) {
	for i := range changes {
		if err := checkTransition(b.tx.Actor, b.resource, changes[i], rights{server: true}); err != nil {
			return nil, err
		}
	}
	if err := b.tx.runBeforeEffect(b.resource, changes); err != nil {
		return nil, err
	}
	changed := keepAltered(changes)
	now := query.FormatTime(b.tx.Now())
	for _, c := range changed {
		v, _ := c.Before["version"].(int64)
		c.After["version"], c.After["updated_at"] = v+1, now
	}
	return changed, b.sendChanges(changed)
}

// Restore gives records back what they held once, whatever state that was: was
// returns those fields of a record, its version and updated_at among them, and
// has the last word after the effects.
func (b *Bulk) Restore(changes []Change, was func(id string) Row) ([]Change, error) {
	if err := b.tx.runBeforeEffect(b.resource, changes); err != nil {
		return nil, err
	}
	for _, c := range changes {
		maps.Copy(c.After, was(idOf(c.After)))
	}
	changed := keepAltered(changes)
	return changed, b.sendChanges(changed)
}

// Touch gives a record back when it was last changed, and nothing else.
func (b *Bulk) Touch(id, updatedAt string) {
	b.tx.Queue("UPDATE "+b.resource.Name+" SET updated_at = $3 WHERE tenant_id = $1 AND id = $2",
		[]any{b.tx.TenantID, id, updatedAt}, nil)
	b.wrote = true
}

// keepAltered are the changes that alter something.
func keepAltered(changes []Change) []Change {
	var out []Change
	for _, c := range changes {
		if len(Differing(c)) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// sendChanges sends every change by one prepared text and runs what follows from them.
func (b *Bulk) sendChanges(changes []Change) error {
	seen := map[string]bool{}
	for _, c := range changes {
		for _, name := range Differing(c) {
			seen[name] = true
		}
	}
	b.queueUpdate(changes, slices.Sorted(maps.Keys(seen)))
	return b.runAfterEffects(changes)
}

func (b *Bulk) queueUpdate(changes []Change, columns []string) {
	text := updateText(b.resource.Name, columns)
	for _, c := range changes {
		args := make([]any, 0, len(columns)+4)
		args = append(args, b.tx.TenantID, c.After["id"], c.After["version"], c.After["updated_at"])
		for _, n := range columns {
			args = append(args, bindableValue(c.After[n]))
		}
		b.tx.Queue(text, args, nil)
	}
}

func updateText(table string, columns []string) string {
	b := []byte("UPDATE " + table + " SET version = $3, updated_at = $4")
	for i, c := range columns {
		b = strconv.AppendInt(append(b, ", "+c+" = $"...), int64(i+5), 10)
	}
	return string(b) + " WHERE tenant_id = $1 AND id = $2"
}

// queueInsert queues new records. Columns that no row sets are left out; which
// these are hardly differs between batches, so the statement stays prepared.
func queueInsert(tx *db.Tx, r *catalog.Resource, changes []Change) error {
	all := r.Fields
	used := make([]bool, len(all))
	values := make([]any, 0, len(changes)*len(all))
	for _, c := range changes {
		for i := range all {
			v := c.After[all[i].Name]
			values = append(values, v)
			used[i] = used[i] || v != nil
		}
	}
	var columns []db.Column
	for i := range all {
		if used[i] {
			columns = append(columns, db.Column{Name: all[i].Name, Type: all[i].Type.Column()})
		}
	}
	rows := make([][]any, len(changes))
	for i := range rows {
		rows[i] = keepUsed(values[i*len(all):(i+1)*len(all)], used)
	}
	return tx.Insert(r.Name, columns, rows)
}

// keepUsed keeps the values in use, in place.
func keepUsed(values []any, used []bool) []any {
	kept := values[:0]
	for i, v := range values {
		if used[i] {
			kept = append(kept, v)
		}
	}
	return kept
}

func (b *Bulk) runAfterEffects(changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	b.wrote = true
	for _, c := range changes {
		c.addCounts(b.deltas)
	}
	if err := b.tx.queueAudit(b.resource, changes); err != nil {
		return err
	}
	return b.tx.runAfterEffect(b.resource, changes)
}

// Close writes the counters and tells the listeners once the transaction is
// committed.
func (b *Bulk) Close() {
	if !b.wrote {
		return
	}
	b.tx.Store.Count(b.tx.Tx, b.tx.TenantID, b.deltas)
	b.tx.Store.queueEvents(b.tx.Tx, b.resource, []Change{{After: Row{tenantColumn(b.resource): b.tx.TenantID}}})
}

// Judged reports a resource whose records a domain has something to say about
// before they are written.
func (s *Store) Judged(r *catalog.Resource) bool { return s.eff.Before[r.Name] != nil }

// Judge runs what the domains have to say before changes are written, and
// writes nothing of the changes. What the effects read and write along the way
// is the caller's to roll back.
func (tx *Tx) Judge(r *catalog.Resource, changes []Change) error {
	if err := tx.runBeforeEffect(r, changes); err != nil {
		return fmt.Errorf("store: judge %s: %w", r.Name, err)
	}
	return nil
}
