package store

import (
	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
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

// record queues one audit row per change.
func (s *Store) record(tx *db.Tx, a actor.Actor, r *catalog.Resource, changes []Change) {
	if s.quiet || r.Name == "audit" {
		return
	}
	if _, ok := s.cat.Get("audit"); !ok {
		return
	}
	at := query.FormatTime(s.now())
	cols := []string{"tenant_id", "id", "at", "actor_user_id", "key_id", "session_id", "action", "entity_type", "entity_id", "outcome", "before", "after", "address", "request_id"}
	queueRows(tx, "audit", cols, len(changes), func(i int, args []any) []any {
		c := changes[i]
		before, after := images(r, c)
		who, session, address, request := orNull(a.UserID), orNull(a.SessionID), orNull(a.Address), orNull(a.RequestID)
		if anonymous(c) {
			who, session, address, request = nil, nil, nil, nil
		}
		return append(args, tenantOf(r, c.row()), newID(), at, who, orNull(a.KeyID), session, r.Name+"."+c.Op.String(),
			r.Name, idOf(c.row()), "ok", before, after, address, request)
	})
}

// anonymous reports a new record that an effect left without its maker, as an
// anonymous report is: the audit log must not name who it was either.
func anonymous(c Change) bool {
	_, signed := c.After["created_by"]
	return c.Op == Insert && signed && c.After["created_by"] == nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// images are the changed fields before and after, as JSON; values that not
// every reader of the row may see are masked.
func images(r *catalog.Resource, c Change) (before, after any) {
	if c.Before != nil {
		before = image(r, c.Before, c.After)
	}
	if c.After != nil {
		after = image(r, c.After, c.Before)
	}
	return before, after
}

func image(r *catalog.Resource, row, other Row) string {
	b := make([]byte, 0, 256)
	b = append(b, '{')
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
