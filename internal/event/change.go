package event

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// FromChange returns the events that a change to a record of r makes. before
// is nil for a new record, after for a deleted one; values are as the store
// keeps them.
func FromChange(r *catalog.Resource, before, after map[string]any) []Emitted {
	var out []Emitted
	for _, t := range byCollection[r.Name] {
		if !t.when(before, after) {
			continue
		}
		row := after
		if row == nil {
			row = before
		}
		tenant, _ := row["tenant_id"].(string)
		out = append(out, Emitted{Tenant: tenant, Type: t.Name, Data: subset(row, t.Fields), Audience: query.Audience(r, row)}.raisedBy(row))
	}
	return out
}

// About returns an event of this type about a record of r as it is, with the
// values of the members that are no fields of it.
func (t *Type) About(r *catalog.Resource, row, members map[string]any) Emitted {
	names := slices.Clone(t.Fields)
	all := maps.Clone(row)
	for _, m := range t.Members {
		all[m.Name] = members[m.Name]
		names = append(names, m.Name)
	}
	return Emitted{Tenant: text(row, "tenant_id"), Type: t.Name, Data: subset(all, names), Audience: query.Audience(r, row)}
}

// Watched returns the collections whose changes may make events, sorted.
func Watched() []string {
	out := make([]string, 0, len(byCollection))
	for n := range byCollection {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

var byCollection = func() map[string][]*Type {
	m := map[string][]*Type{}
	list := Types()
	for i := range list {
		if list[i].when != nil {
			m[list[i].Collection] = append(m[list[i].Collection], &list[i])
		}
	}
	return m
}()

// subset is the named fields of a record as a JSON object, in order.
func subset(row map[string]any, fields []string) json.RawMessage {
	b := []byte{'{'}
	for _, f := range fields {
		v, err := marshal(row[f])
		if err != nil {
			v = []byte("null")
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(append(b, '"'), f...), `":`...), v...)
	}
	return append(b, '}')
}

func text(row map[string]any, field string) string {
	s, _ := row[field].(string)
	return s
}

// moved: an existing record's field became one of these.
func moved(field string, to ...string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before != nil && after != nil && text(before, field) != text(after, field) && slices.Contains(to, text(after, field))
	}
}

// movedFrom: an existing record's field went to a value from one of others.
func movedFrom(field, to string, from ...string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before != nil && after != nil && slices.Contains(from, text(before, field)) && text(after, field) == to
	}
}

// created: a record was made with one of these values.
func created(field string, values ...string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before == nil && slices.Contains(values, text(after, field))
	}
}

// altered: an existing record's field changed.
func altered(field string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before != nil && after != nil && text(before, field) != text(after, field)
	}
}

// raised: an existing record's flag went up.
func raised(field string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		was, _ := before[field].(bool)
		is, _ := after[field].(bool)
		return before != nil && is && !was
	}
}

// given: an existing record's field, empty until then, was filled.
func given(field string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before != nil && after != nil && before[field] == nil && after[field] != nil
	}
}

// failedRun: an inspection was missed, or completed with a failed item.
func failedRun(before, after map[string]any) bool {
	failed, _ := after["failed"].(int64)
	return moved("status", "missed")(before, after) || moved("status", "completed")(before, after) && failed > 0
}

func deleted(_, after map[string]any) bool { return after == nil }

// madeOverdue: an action was written with a due time that has passed already.
// What becomes overdue as time goes by is found by the notifier's clock.
// Times are of fixed width, so texts compare as times do.
func madeOverdue(before, after map[string]any) bool {
	due, now := text(after, "due_at"), text(after, "updated_at")
	late := func(row map[string]any, at string) bool {
		return strings.Contains(" open in_progress ", " "+text(row, "status")+" ") && text(row, "due_at") != "" && text(row, "due_at") <= at
	}
	return after != nil && due != text(before, "due_at") && late(after, now) && (before == nil || !late(before, now))
}

// expiringDays is how long before its end something is told to be expiring.
const expiringDays = 30

// horizon is the last day, as a text, that lies within expiringDays of at.
func horizon(at time.Time) string {
	return at.UTC().AddDate(0, 0, expiringDays).Format(time.DateOnly)
}

// madeExpiring: a record of one of these states was written with an end that is
// near already. What comes near as time goes by is found by the notifier's
// clock.
func madeExpiring(states ...string) func(before, after map[string]any) bool {
	near := func(row map[string]any, limit string) bool {
		on := text(row, "expires_on")
		return on != "" && on <= limit && slices.Contains(states, text(row, "status"))
	}
	return func(before, after map[string]any) bool {
		at, err := time.Parse(db.TimeLayout, text(after, "updated_at"))
		if err != nil {
			return false
		}
		limit := horizon(at)
		// Past its end it is no longer expiring.
		return near(after, limit) && text(after, "expires_on") >= at.Format(time.DateOnly) && !near(before, limit)
	}
}
