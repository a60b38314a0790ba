package safety

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// EntityTable holds one row per incident and entity.
const EntityTable = "incident_entities"

var entityColumns = []db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "incident_id", Type: "uuid"}, {Name: "entity_type", Type: "text"},
	{Name: "entity_id", Type: "uuid"}, {Name: "at", Type: "timestamptz"},
	{Name: "kind", Type: "text"}, {Name: "severity", Type: "text"}}

// entityRows are the rows of EntityTable for an incident: each entity
// once, and the zone it happened in; none for a void report.
func entityRows(in store.Row) ([][]any, error) {
	if in.Text("status") == "void" {
		return nil, nil
	}
	var list []Entity
	if raw, _ := in["entities"].(json.RawMessage); len(raw) > 0 {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("safety: entities of incident %s: %w", in.Text("id"), err)
		}
	}
	if z := in.Text("zone_id"); z != "" {
		list = append(list, Entity{Type: "zone", ID: z})
	}
	seen := map[Entity]bool{}
	var out [][]any
	for _, e := range list {
		e.Role = ""
		if seen[e] {
			continue
		}
		seen[e] = true
		out = append(out, []any{in["tenant_id"], in["id"], e.Type, e.ID, in["occurred_at"], in["kind"], in["severity"]})
	}
	return out, nil
}

// enterIncidents keeps EntityTable in step with incidents.
func enterIncidents(tx *store.Tx, changes []store.Change) error {
	var old []string
	var fresh [][]any
	for _, c := range changes {
		if c.Op == store.Update {
			if !isMoved(c) {
				continue
			}
			old = append(old, c.After.Text("id"))
		}
		list, err := entityRows(c.After)
		if err != nil {
			return err
		}
		fresh = append(fresh, list...)
	}
	if len(old) > 0 {
		tx.Queue("DELETE FROM "+EntityTable+" WHERE tenant_id = $1 AND "+tx.DB().InUUID("incident_id", 2), []any{tx.TenantID, query.List(old)}, nil)
	}
	return queueEntities(tx.Tx, fresh)
}

// Index enters incidents that were loaded whole into EntityTable, at the
// transaction's next flush.
func Index(tx *db.Tx, incidents []store.Row) error {
	var all [][]any
	for _, in := range incidents {
		list, err := entityRows(in)
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	return queueEntities(tx, all)
}

func queueEntities(tx *db.Tx, list [][]any) error {
	rows := tx.InsertMany(EntityTable, entityColumns, "")
	for _, r := range list {
		if err := rows.Add(r...); err != nil {
			return err
		}
	}
	rows.Queue()
	return nil
}

// leaveIncidents takes deleted incidents out of EntityTable.
func leaveIncidents(tx *db.Tx, changes []store.Change) {
	gone := map[string][]string{}
	for _, c := range changes {
		if c.Op == store.Delete {
			t := c.Before.Text("tenant_id")
			gone[t] = append(gone[t], c.Before.Text("id"))
		}
	}
	for t, ids := range gone {
		tx.Queue("DELETE FROM "+EntityTable+" WHERE tenant_id = $1 AND "+tx.DB().InUUID("incident_id", 2), []any{t, query.List(ids)}, nil)
	}
}

// isMoved reports a change of what EntityTable holds of an incident.
func isMoved(c store.Change) bool {
	for _, f := range [...]string{"zone_id", "kind", "severity", "occurred_at"} {
		if c.Before[f] != c.After[f] {
			return true
		}
	}
	was, _ := c.Before["entities"].(json.RawMessage)
	is, _ := c.After["entities"].(json.RawMessage)
	return string(was) != string(is) || (c.Before["status"] == "void") != (c.After["status"] == "void")
}
