package store

import (
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
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
	for i, c := range changes {
		if isAnonymous(c) {
			web.Unsign(tx.Context())
		}
		before, after := changeImages(r, c, scratch)
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
func changeImages(r *catalog.Resource, c Change, scratch []byte) (before, after string) {
	if c.Before != nil {
		before = rowImage(r, c.Before, c.After, scratch)
	}
	if c.After != nil {
		after = rowImage(r, c.After, c.Before, scratch)
	}
	return before, after
}

func rowImage(r *catalog.Resource, row, other Row, b []byte) string {
	b = append(b[:0], '{')
	for i := range r.Fields {
		f := &r.Fields[i]
		v := row[f.Name]
		if other != nil && Same(v, other[f.Name]) || other == nil && v == nil || f.Name == "tenant_id" ||
			f.Name == "updated_at" {
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
