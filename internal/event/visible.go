package event

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// Visible reports whether a caller may see an event: whether they may read the record it is about,
// as far as the event tells. [Notifier.IsVisible] asks the record, too.
func Visible(c *catalog.Catalog, a actor.Actor, e *Event) bool {
	_, policy, ok := policyOf(c, a, e)
	return ok && !policy.HasSeal() && admitsRecord(policy, e)
}

// IsVisible is Visible, also of work on the floor that the caller may take: such records name
// nobody, so the database is asked whether the caller reads this one now. What somebody has taken
// since is theirs. So it is asked of records that may be for named readers only: they may have
// become so since the event.
func (n *Notifier) IsVisible(ctx context.Context, c *catalog.Catalog, a actor.Actor, e *Event) (bool, error) {
	if Visible(c, a, e) {
		return true, nil
	}
	resource, policy, ok := policyOf(c, a, e)
	if !ok || !policy.AsksRows() {
		return false, nil
	}
	var about struct{ ID string }
	if err := json.Unmarshal(e.Data, &about); err != nil || about.ID == "" {
		return false, nil
	}
	isRead, args := false, []any{a.TenantID}
	readable := policy.Where(n.db, resource, &args)
	text := db.FillWords("SELECT 1 FROM {resource} WHERE {readable} AND {resource}.id = {id}", "{resource}", resource,
		"{readable}", readable, "{id}", fmt.Sprintf("$%d", len(args)+1))
	err := n.db.Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		return tx.Query(text, append(args, about.ID), func(*db.Row) error {
			isRead = true
			return nil
		})
	})
	if err != nil {
		return false, fmt.Errorf("event: may a caller read %s %s: %w", resource, about.ID, err)
	}
	return isRead, nil
}

// policyOf is the policy by which a caller reads what an event is about; nobody is told of other
// tenants. Events of no collection are for administrators.
func policyOf(c *catalog.Catalog, a actor.Actor, e *Event) (resource string, p query.Policy, ok bool) {
	t, known := Find(e.Type)
	if a.TenantID != e.Tenant || !known {
		return "", p, false
	}
	r, known := c.Get(t.Collection)
	if !known {
		return "", p, a.Administrator()
	}
	p, ok = query.ReadPolicy(a, r)
	return r.Name, p, ok
}

// admitsRecord reports that the policy reaches the record by what the event says of it.
func admitsRecord(p query.Policy, e *Event) bool {
	row := query.Row{}
	for k, v := range e.Audience {
		row[k] = v
	}
	return p.Admits(row)
}

// WithoutText is the event without words and people, for those who may not read its record.
func (e *Event) WithoutText(r *catalog.Resource) *Event {
	told := map[string]json.RawMessage{}
	if err := json.Unmarshal(e.Data, &told); err != nil {
		told = map[string]json.RawMessage{}
	}
	for name := range told {
		if f, known := r.Field(name); !known || f.TellsText() {
			told[name] = json.RawMessage("null")
		}
	}
	hidden := *e
	hidden.Data, _ = marshalJSON(told) // made of what was JSON
	return &hidden
}
