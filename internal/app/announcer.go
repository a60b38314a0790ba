package app

import (
	"encoding/json"
	"fmt"
	"maps"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/functions/programme"
	"holdfast/internal/identity"
	"holdfast/internal/store"
)

// announcer makes events of what the domains and the identity service did, in
// the transaction that did it.
type announcer struct {
	catalog *catalog.Catalog
	outbox  *event.Outbox
}

// withEvents adds to an effect that the changes are told as events. Bulk work is
// not told record by record: an import is one event, demonstration data none.
func (n announcer) withEvents(effect store.Effect) store.Effect {
	return func(tx *store.Tx, changes []store.Change) error {
		if effect != nil {
			if err := effect(tx, changes); err != nil {
				return err
			}
		}
		var events []event.Emitted
		for _, c := range changes {
			if tx.Store.Audited() || c.Resource.Name == "import_jobs" {
				events = append(events, event.FromChange(c.Resource, c.Before, c.After)...)
			}
		}
		return n.outbox.EmitAll(tx.Tx, events)
	}
}

// lowStock makes an event of each item that movements took to its reorder
// point; the movements write the item beside the store, which tells nothing.
func (n announcer) lowStock(tx *store.Tx, ids []string) error {
	items, _ := n.catalog.Get("items")
	list, err := json.Marshal(ids)
	if err != nil || !tx.Store.Audited() {
		return err
	}
	rows, err := tx.As(commandLineActor(tx.TenantID)).Rows(items.Name, tx.DB().InUUID("id", 2), string(list))
	if err != nil {
		return err
	}
	var events []event.Emitted
	for _, after := range rows {
		before := maps.Clone(after)
		before["low_stock"] = false
		events = append(events, event.FromChange(items, before, after)...)
	}
	return n.outbox.EmitAll(tx.Tx, events)
}

// announceMembers makes events of memberships that the identity service changed,
// beside the store.
func (n announcer) announceMembers(tx *db.Tx, changes []identity.MemberChange) error {
	members, _ := n.catalog.Get("members")
	var events []event.Emitted
	for _, c := range changes {
		events = append(events, event.FromChange(members, c.Before, c.After)...)
	}
	return n.outbox.EmitAll(tx, events)
}

// announceMoves makes an event of each entity in another cluster than before; a
// person's is for those who may read his score.
func (n announcer) announceMoves(tx *db.Tx, tenant string, moves []programme.Move) error {
	events := make([]event.Emitted, len(moves))
	for i, m := range moves {
		data, err := json.Marshal(struct {
			ID       string `json:"id"`
			Type     string `json:"entity_type"`
			Entity   string `json:"entity_id"`
			Cluster  string `json:"cluster"`
			Previous string `json:"previous_cluster"`
		}{m.ScoreID, m.EntityType, m.EntityID, m.To, m.From})
		if err != nil {
			return err
		}
		events[i] = event.Emitted{Tenant: tenant, Type: "score.cluster_changed", Data: json.RawMessage(data),
			Audience: map[string]string{"entity_type": m.EntityType}}
		if m.UserID != "" {
			events[i].Audience["user_id"] = m.UserID
		}
	}
	return n.outbox.EmitAll(tx, events)
}

// announceDeadlines makes an event of each day that comes near.
func (n announcer) announceDeadlines(tx *db.Tx, _ string, list []programme.Deadline) error {
	events := make([]event.Emitted, len(list))
	for i, d := range list {
		t, ok := event.Find(d.Event)
		if !ok {
			return fmt.Errorf("app: %s is no event type", d.Event)
		}
		r, ok := n.catalog.Get(t.Collection)
		if !ok {
			return fmt.Errorf("app: the catalog has no %s", t.Collection)
		}
		events[i] = t.About(r, d.Row, map[string]any{"days_left": int64(d.Days)})
	}
	return n.outbox.EmitAll(tx, events)
}

// announceRecords makes events of new rows of a resource that were written in bulk.
func (n announcer) announceRecords(tx *db.Tx, resource string, rows []store.Row) error {
	r, ok := n.catalog.Get(resource)
	if !ok {
		return nil
	}
	var events []event.Emitted
	for _, row := range rows {
		events = append(events, event.FromChange(r, nil, row)...)
	}
	return n.outbox.EmitAll(tx, events)
}
