package store

import (
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/web"
)

// queueCounters queues what changes do to the resource's counters.
func (s *Store) queueCounters(tx *db.Tx, r *catalog.Resource, changes []Change) {
	if len(r.Counters) == 0 {
		return
	}
	byTenant := map[string]map[string]int64{}
	for _, c := range changes {
		t := tenantOf(r, c.currentRow())
		if byTenant[t] == nil {
			byTenant[t] = map[string]int64{}
		}
		c.addCounts(byTenant[t])
	}
	for t, deltas := range byTenant {
		s.Count(tx, t, deltas)
	}
}

// addCounts adds what a change does to its resource's counters.
func (c Change) addCounts(deltas map[string]int64) {
	for i := range c.Resource.Counters {
		n := &c.Resource.Counters[i]
		if c.Before != nil {
			n.Add(deltas, c.Resource, c.Before, -1)
		}
		if c.After != nil {
			n.Add(deltas, c.Resource, c.After, 1)
		}
	}
}

// queueAudit queues one row of the audit log per change.
func (tx *Tx) queueAudit(r *catalog.Resource, changes []Change) error {
	if tx.Store.quiet || r.Name == "audit" {
		return nil
	}
	if _, ok := tx.Store.cat.Get("audit"); !ok {
		return nil
	}
	at := tx.Now()
	entries, scratch := make([]audit.Entry, len(changes)), make([]byte, 0, 1024)
	entry := known{by: tx.UserID, from: query.FormatTime(at.Add(-time.Second)), upto: query.FormatTime(at)}
	for i, c := range changes {
		if isAnonymous(c) {
			web.Unsign(tx.Context())
		}
		before, after := changeImages(r, c, entry, scratch)
		moment, isDay := loggedMoment(c, at)
		entries[i] = audit.Entry{Tenant: tenantOf(r, c.currentRow()), At: moment, DayAlone: isDay, By: tx.Actor,
			Anonymous:  isAnonymous(c),
			Action:     r.Name + "." + c.Op.String(),
			EntityType: r.Name, EntityID: idOf(c.currentRow()), Before: before, After: after}
	}
	if len(entries) == 1 {
		audit.Write(tx.Tx, entries[0])
		return nil
	}
	return audit.WriteAll(tx.Tx, entries)
}

// isAnonymous reports a new record that an effect left without its maker, as an
// anonymous report is: the audit log must not name who it was either.
func isAnonymous(c Change) bool {
	_, signed := c.After["created_by"]
	return c.Op == Insert && signed && c.After["created_by"] == nil
}

// loggedMoment is when the log says that a change was made: of a new record without a
// maker whose own moment is the beginning of its day, that beginning, and isDay. Days
// begin at whole quarters of an hour (UTC) wherever the tenant is.
func loggedMoment(c Change, at time.Time) (moment time.Time, isDay bool) {
	if !isAnonymous(c) {
		return at, false
	}
	made, err := time.Parse(db.TimeLayout, c.After.Text("created_at"))
	if err != nil || !made.Equal(made.Truncate(15*time.Minute)) || at.Sub(made) > 26*time.Hour {
		return at, false
	}
	return made, true
}

// changeImages are the changed fields before and after, as JSON; values that not
// every reader of the row sees are masked, but costs: the log's readers see them.
func changeImages(r *catalog.Resource, c Change, entry known, scratch []byte) (before, after string) {
	if c.Before != nil {
		before = rowImage(r, c.Before, c.After, scratch)
	}
	switch {
	case c.After == nil:
	case c.Before == nil:
		after = imageFields(r, c.After, scratch, func(f *catalog.Field, v any) bool {
			return v == nil || entry.isImplied(f, v)
		})
	default:
		after = rowImage(r, c.After, c.Before, scratch)
	}
	return before, after
}

// known is what an entry of the log says itself of a new record: who made it, and between
// which moments.
type known struct{ by, from, upto string }

// isImplied reports a value that the entry says already, or with which every record begins:
// the record's id, and counts that nobody has begun. Zeros that somebody finds, such as
// that of a count without a variance, are said.
func (e known) isImplied(f *catalog.Field, v any) bool {
	switch f.Name {
	case "id", "version":
		return true
	case "created_by":
		return v == e.by
	case "created_at":
		made, isText := v.(string)
		return isText && e.from < made && made <= e.upto
	}
	beginsAtNothing := f.ReadOnly && (f.Default == "0" || f.Default == "false") && len(f.Readers) == 0
	return beginsAtNothing && (v == int64(0) || v == decimal.Dec(0) || v == false)
}

// rowImage are the fields of a row that differ from another's, or all that have a value.
func rowImage(r *catalog.Resource, row, other Row, scratch []byte) string {
	return imageFields(r, row, scratch, func(f *catalog.Field, v any) bool {
		return other != nil && Same(v, other[f.Name]) || other == nil && v == nil
	})
}

// imageFields are the fields of a row as a JSON object, but those that are left out.
func imageFields(
	r *catalog.Resource, row Row, scratch []byte, isLeftOut func(f *catalog.Field, v any) bool,
) string {
	b := append(scratch[:0], '{')
	for i := range r.Fields {
		f := &r.Fields[i]
		v := row[f.Name]
		if f.Name == "tenant_id" || f.Name == "updated_at" || isLeftOut(f, v) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(db.AppendString(b, f.Name), ':')
		if len(f.Readers) > 0 && !f.Cost && v != nil {
			v = catalog.Masked
		}
		b = appendJSON(b, v)
	}
	return string(append(b, '}'))
}
