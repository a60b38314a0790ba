package safety

import (
	"bytes"
	"encoding/json"
	"sort"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
)

// EntityTypes are what an incident, score or rule can be about.
var EntityTypes = [...]string{"zone", "driver", "worker", "equipment"}

// entityTable is where an entity type's records are.
var entityTable = map[string]string{"zone": "zones", "driver": "drivers", "worker": "workers", "equipment": "equipment"}

// EntityTypeOf returns the entity type of a resource's records, "" for a resource
// that incidents do not name.
func EntityTypeOf(resource string) string {
	for kind, table := range entityTable {
		if table == resource {
			return kind
		}
	}
	return ""
}

var entityRoles = map[string]bool{"": true, "injured": true, "involved": true, "source": true, "witness": true}

const maxEntities = 100

// Entity is one member of an incident's entities.
type Entity struct {
	Type string `json:"entity_type"`
	ID   string `json:"entity_id"`
	Role string `json:"role,omitempty"`
}

// ParseEntities reads an incident's entities: a JSON array of objects with
// entity_type (zone, driver, worker, equipment), entity_id (UUID) and role
// (injured, involved, source, witness; may be absent). The fault is Invalid
// and names the member.
func ParseEntities(raw []byte) ([]Entity, error) {
	var list []Entity
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil || len(bytes.TrimSpace(raw)) == 0 || bytes.TrimSpace(raw)[0] != '[' {
		return nil, badEntity("must be an array of {entity_type, entity_id, role}")
	}
	if len(list) > maxEntities {
		return nil, badEntity("at most %d entities", maxEntities)
	}
	for i := range list {
		e := &list[i]
		if _, ok := entityTable[e.Type]; !ok {
			return nil, badEntity("member %d: entity_type must be zone, driver, worker or equipment", i+1)
		}
		id, err := uuid.Parse(e.ID)
		if err != nil || len(e.ID) != 36 {
			return nil, badEntity("member %d: entity_id is not a UUID", i+1)
		}
		e.ID = id.String()
		if !entityRoles[e.Role] {
			return nil, badEntity("member %d: role must be injured, involved, source or witness", i+1)
		}
	}
	return list, nil
}

func badEntity(format string, args ...any) error {
	return fault.New(fault.Invalid, CodeReport, "entities: "+format, args...).At("entities", format, args...)
}

// references collects the ids that changes name, by entity type, and strikes
// out those that exist in the tenant.
type references map[string]map[string]bool

func (r references) collectEntities(c record.Change[record.Incident]) error {
	raw := c.After.Entities()
	old := c.Before.Entities()
	if raw == nil || bytes.Equal(raw, old) || string(raw) == "[]" {
		return nil
	}
	list, err := ParseEntities(raw)
	if err != nil {
		return err
	}
	for _, e := range list {
		if r[e.Type] == nil {
			r[e.Type] = map[string]bool{}
		}
		r[e.Type][e.ID] = true
	}
	canonical, err := json.Marshal(list)
	if err != nil {
		return badEntity("cannot be written: %v", err)
	}
	c.After.SetEntities(json.RawMessage(canonical))
	return nil
}

func (r references) queueLookups(tx *db.Tx, tenant string) {
	for _, kind := range EntityTypes {
		ids := r[kind]
		if len(ids) == 0 {
			continue
		}
		tx.Queue(db.FillWords(`
			SELECT id
			FROM {entity table}
			WHERE tenant_id = $1
				AND id IN {ids $2}`, "{entity table}", entityTable[kind]),
			[]any{tenant, query.List(sortedKeys(ids))},
			func(row *db.Row) error {
				delete(ids, row.Text(0))
				return nil
			})
	}
}

// missingEntity names an entity that the tenant does not have.
func (r references) missingEntity() error {
	for _, kind := range EntityTypes {
		if ids := sortedKeys(r[kind]); len(ids) > 0 {
			return badEntity("there is no %s %s", kind, ids[0])
		}
	}
	return nil
}

func sortedKeys(ids map[string]bool) []string {
	list := make([]string, 0, len(ids))
	for id := range ids {
		list = append(list, id)
	}
	sort.Strings(list)
	return list
}
