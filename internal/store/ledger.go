package store

import (
	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/web"
)

// tally queues what changes do to the resource's counters.
func (s *Store) tally(tx *db.Tx, r *catalog.Resource, changes []Change) {
	if len(r.Counters) == 0 {
		return
	}
	byTenant := map[string]map[string]int64{}
	for _, c := range changes {
		t := tenantOf(r, c.row())
		if byTenant[t] == nil {
			byTenant[t] = map[string]int64{}
		}
		c.count(byTenant[t])
	}
	for t, deltas := range byTenant {
		s.Count(tx, t, deltas)
	}
}

// count adds what a change does to its resource's counters.
func (c Change) count(deltas map[string]int64) {
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

// record queues one row of the audit log per change.
func (s *Store) record(tx *db.Tx, a actor.Actor, r *catalog.Resource, changes []Change) error {
	if s.quiet || r.Name == "audit" {
		return nil
	}
	if _, ok := s.cat.Get("audit"); !ok {
		return nil
	}
	at := s.Now()
	entries, scratch := make([]audit.Entry, len(changes)), make([]byte, 0, 1024)
	for i, c := range changes {
		if anonymous(c) {
			web.Unsign(tx.Context())
		}
		before, after := images(r, c, scratch)
		entries[i] = audit.Entry{Tenant: tenantOf(r, c.row()), At: at, By: a, Anonymous: anonymous(c), Action: r.Name + "." + c.Op.String(),
			EntityType: r.Name, EntityID: idOf(c.row()), Before: before, After: after}
	}
	if len(entries) == 1 {
		audit.Write(tx, entries[0])
		return nil
	}
	return audit.WriteAll(tx, entries)
}

// anonymous reports a new record that an effect left without its maker, as an
// anonymous report is: the audit log must not name who it was either.
func anonymous(c Change) bool {
	_, signed := c.After["created_by"]
	return c.Op == Insert && signed && c.After["created_by"] == nil
}

// images are the changed fields before and after, as JSON; values that not
// every reader of the row may see are masked. scratch is room to write in.
func images(r *catalog.Resource, c Change, scratch []byte) (before, after string) {
	if c.Before != nil {
		before = image(r, c.Before, c.After, scratch)
	}
	if c.After != nil {
		after = image(r, c.After, c.Before, scratch)
	}
	return before, after
}

func image(r *catalog.Resource, row, other Row, b []byte) string {
	b = append(b[:0], '{')
	for i := range r.Fields {
		f := &r.Fields[i]
		v := row[f.Name]
		if other != nil && Same(v, other[f.Name]) || other == nil && v == nil || f.Name == "tenant_id" || f.Name == "updated_at" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(db.AppendString(b, f.Name), ':')
		if len(f.Readers) > 0 && v != nil {
			v = "[masked]"
		}
		b = appendJSON(b, v)
	}
	return string(append(b, '}'))
}
