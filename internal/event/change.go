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
		out = append(out, Emitted{Tenant: tenant, Type: t.Name, Data: fieldSubset(row, t.Fields),
			Audience: query.Audience(r, row), day: dayOfReport(before, after)}.raisedBy(row))
	}
	return out
}

// dayOfReport is the day that a new anonymous report tells in place of its moment, zero
// for any other change: the store keeps no more of it either.
func dayOfReport(before, after map[string]any) time.Time {
	if before != nil || after["anonymous"] != true {
		return time.Time{}
	}
	day, err := time.Parse(db.TimeLayout, textField(after, "created_at"))
	if err != nil {
		return time.Time{}
	}
	return day
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
	return Emitted{Tenant: textField(row, "tenant_id"), Type: t.Name, Data: fieldSubset(all, names),
		Audience: query.Audience(r, row)}
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

// fieldSubset is the named fields of a record as a JSON object, in order.
func fieldSubset(row map[string]any, fields []string) json.RawMessage {
	b := []byte{'{'}
	for _, f := range fields {
		v, err := marshalJSON(row[f])
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

func textField(row map[string]any, field string) string {
	s, _ := row[field].(string)
	return s
}

// moved: an existing record's field became one of these.
func whenMoved(field string, to ...string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before != nil && after != nil && textField(before, field) != textField(after, field) &&
			slices.Contains(to, textField(after, field))
	}
}

// movedFrom: an existing record's field went to a value from one of others.
func movedFrom(field, to string, from ...string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before != nil && after != nil && slices.Contains(from, textField(before, field)) &&
			textField(after, field) == to
	}
}

// created: a record was made with one of these values.
func whenCreated(field string, values ...string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before == nil && slices.Contains(values, textField(after, field))
	}
}

// altered: an existing record's field changed.
func whenAltered(field string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before != nil && after != nil && textField(before, field) != textField(after, field)
	}
}

// raised: an existing record's flag went up.
func whenRaised(field string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		was, _ := before[field].(bool)
		is, _ := after[field].(bool)
		return before != nil && is && !was
	}
}

// given: an existing record's field, empty until then, was filled.
func whenFilled(field string) func(before, after map[string]any) bool {
	return func(before, after map[string]any) bool {
		return before != nil && after != nil && before[field] == nil && after[field] != nil
	}
}

// failedRun: an inspection was missed, or completed with a failed item.
func failedRun(before, after map[string]any) bool {
	failed, _ := after["failed"].(int64)
	return whenMoved("status", "missed")(before, after) || whenMoved("status", "completed")(before, after) && failed > 0
}

func isDeleted(_, after map[string]any) bool { return after == nil }

// madeOverdue: an action was written with a due time that has passed already.
// What becomes overdue as time goes by is found by the notifier's clock.
// Times are of fixed width, so texts compare as times do.
func madeOverdue(before, after map[string]any) bool {
	due, now := textField(after, "due_at"), textField(after, "updated_at")
	late := func(row map[string]any, at string) bool {
		return strings.Contains(" open in_progress ", " "+textField(row, "status")+" ") && textField(row, "due_at") != "" &&
			textField(row, "due_at") <= at
	}
	return after != nil && due != textField(before, "due_at") && late(after, now) && (before == nil || !late(before, now))
}

// expiringDays is how long before its end something is told to be expiring.
const expiringDays = 30

// expiryHorizon is the last day, as a text, that lies within expiringDays of at.
func expiryHorizon(at time.Time) string {
	return at.UTC().AddDate(0, 0, expiringDays).Format(time.DateOnly)
}

// madeExpiring: a record of one of these states was written with an end that is
// near already. What comes near as time goes by is found by the notifier's
// clock.
func madeExpiring(states ...string) func(before, after map[string]any) bool {
	near := func(row map[string]any, limit string) bool {
		on := textField(row, "expires_on")
		return on != "" && on <= limit && slices.Contains(states, textField(row, "status"))
	}
	return func(before, after map[string]any) bool {
		at, err := time.Parse(db.TimeLayout, textField(after, "updated_at"))
		if err != nil {
			return false
		}
		limit := expiryHorizon(at)
		// Past its end it is no longer expiring.
		return near(after, limit) && textField(after, "expires_on") >= at.Format(time.DateOnly) && !near(before, limit)
	}
}
