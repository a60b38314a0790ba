package safety

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// EntityTable holds one row per incident and entity.
const EntityTable = "incident_entities"

// Bystander is the entity type of a row of EntityTable about somebody or something
// that an incident names and that had no part in it: a witness, or whoever reported
// it. It is the type of no score, rule or action, so that reporting counts against
// nobody.
const Bystander = "bystander"

var entityColumns = []db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "incident_id", Type: "uuid"}, {Name: "entity_type", Type: "text"},
	{Name: "entity_id", Type: "uuid"}, {Name: "at", Type: "timestamptz"},
	{Name: "kind", Type: "text"}, {Name: "severity", Type: "text"}}

// people are the workers and drivers of accounts, by the account.
type people map[string][]Entity

// reportersSQL selects the workers of accounts, and the drivers that they are. $1
// tenant, $2 accounts.
const reportersSQL = `
	SELECT worker.user_id, worker.id, driver.id
	FROM workers AS worker
	LEFT JOIN drivers AS driver ON driver.tenant_id = $1 AND driver.worker_id = worker.id
	WHERE worker.tenant_id = $1 AND worker.user_id IN {ids $2}`

// readReporters finds who reported incidents that name people without their part.
func readReporters(tx *db.Tx, tenant string, incidents []record.Incident) (people, error) {
	accounts := map[string]bool{}
	for _, in := range incidents {
		list, err := namedIn(in)
		if err != nil {
			return nil, err
		}
		unsaid := slices.ContainsFunc(list, func(e Entity) bool {
			return e.Role == "" && (e.Type == "worker" || e.Type == "driver")
		})
		if by := in.ReportedBy(); by != "" && unsaid {
			accounts[by] = true
		}
	}
	if len(accounts) == 0 {
		return nil, nil
	}
	found := people{}
	err := tx.Query(reportersSQL, []any{tenant, query.List(sortedKeys(accounts))}, func(r *db.Row) error {
		by := r.Text(0)
		found[by] = append(found[by], Entity{Type: "worker", ID: r.Text(1)}, Entity{Type: "driver", ID: r.Text(2)})
		return nil
	})
	return found, err
}

// namedIn are the entities that an incident names, with their parts.
func namedIn(in record.Incident) (list []Entity, err error) {
	if raw := in.Entities(); len(raw) > 0 {
		if err = json.Unmarshal(raw, &list); err != nil {
			err = fmt.Errorf("safety: entities of incident %s: %w", in.ID(), err)
		}
	}
	return list, err
}

// tookPart reports whether an incident counts for an entity that it names: as
// injured, involved or its source. A place always counts, and one named without a
// part is involved, unless it is the person who reported it.
func (p people) tookPart(in record.Incident, e Entity) bool {
	if e.Type == "zone" {
		return true
	}
	if e.Role == "" {
		return !slices.Contains(p[in.ReportedBy()], e)
	}
	return e.Role != "witness"
}

// ReadParticipants reads, by incident, the entities for which incidents count: whom and what
// they name as injured, involved or their source, and nobody who only saw or reported them.
func ReadParticipants(tx *db.Tx, tenant string, incidents []record.Incident) (map[string][]Entity, error) {
	reporters, err := readReporters(tx, tenant, incidents)
	if err != nil {
		return nil, err
	}

	participants := map[string][]Entity{}
	for _, in := range incidents {
		list, err := namedIn(in)
		if err != nil {
			return nil, err
		}
		id := in.ID()
		for _, e := range list {
			if reporters.tookPart(in, e) {
				participants[id] = append(participants[id], e)
			}
		}
	}
	return participants, nil
}

// entityRows are the rows of EntityTable for an incident: each entity once, and the
// zone it happened in; none for a void report.
func (p people) entityRows(in record.Incident) ([][]any, error) {
	if in.Status() == "void" {
		return nil, nil
	}
	list, err := namedIn(in)
	if err != nil {
		return nil, err
	}
	if z := in.ZoneID(); z != "" {
		list = append(list, Entity{Type: "zone", ID: z})
	}
	seen := map[Entity]bool{}
	var out [][]any
	for _, e := range list {
		if !p.tookPart(in, e) {
			e.Type = Bystander
		}
		e.Role = ""
		if seen[e] {
			continue
		}
		seen[e] = true
		out = append(out, []any{in.TenantIDOrNull(), in.IDOrNull(), e.Type, e.ID, in.OccurredAtOrNull(),
			in.KindOrNull(), in.SeverityOrNull()})
	}
	return out, nil
}

// enterIncidents keeps EntityTable in step with incidents.
func enterIncidents(tx *store.Tx, changes []store.Change) error {
	var old []string
	var moved []record.Incident
	for _, c := range record.Changes[record.Incident](changes) {
		if c.Op == store.Update {
			if !isMoved(c) {
				continue
			}
			old = append(old, c.After.ID())
		}
		moved = append(moved, c.After)
	}
	if len(old) > 0 {
		tx.Queue(db.FillWords(`
			DELETE FROM {entity table}
			WHERE tenant_id = $1
				AND incident_id IN {ids $2}`, "{entity table}", EntityTable),
			[]any{tx.TenantID, query.List(old)}, nil)
	}
	return Index(tx.Tx, tx.TenantID, record.Rows(moved))
}

// Index enters incidents of a tenant into EntityTable, at the transaction's next
// flush.
func Index(tx *db.Tx, tenant string, incidents []store.Row) error {
	reporters, err := readReporters(tx, tenant, record.From[record.Incident](incidents))
	if err != nil {
		return err
	}
	var all [][]any
	for _, in := range incidents {
		list, err := reporters.entityRows(record.Incident(in))
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
	for _, c := range record.Changes[record.Incident](changes) {
		if c.Op == store.Delete {
			t := c.Before.TenantID()
			gone[t] = append(gone[t], c.Before.ID())
		}
	}
	for t, ids := range gone {
		tx.Queue(db.FillWords(`
			DELETE FROM {entity table}
			WHERE tenant_id = $1
				AND incident_id IN {ids $2}`, "{entity table}", EntityTable), []any{t, query.List(ids)}, nil)
	}
}

// isMoved reports a change of what EntityTable holds of an incident.
func isMoved(c record.Change[record.Incident]) bool {
	for _, f := range [...]string{"zone_id", "kind", "severity", "occurred_at"} {
		if c.Before[f] != c.After[f] {
			return true
		}
	}
	was := c.Before.Entities()
	is := c.After.Entities()
	return string(was) != string(is) || (c.Before.Status() == "void") != (c.After.Status() == "void")
}
