package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// mention is an id that a caller gives for a record of its tenant which no
// foreign key holds.
type mention struct {
	tenant string
	field  *catalog.Field
	id     string
}

// checkNamed refuses rows that name what the caller may not name.
func checkNamed(tx *Tx, r *catalog.Resource, changes []Change) error {
	if err := checkSealed(tx, r, changes); err != nil {
		return err
	}
	return nameOnlyTheirs(tx, r, changes)
}

// nameOnlyTheirs refuses ids of records that the tenant does not have, in the fields
// that say whose they are (catalog.Field.Names). What a row held before may
// name what has gone since.
func nameOnlyTheirs(tx *Tx, r *catalog.Resource, changes []Change) error {
	var given []mention
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Names == "" || f.ReadOnly {
			continue
		}
		for _, c := range changes {
			tenant := tenantOf(r, c.currentRow())
			if tx.TenantID != "" && tenant == "" {
				tenant = tx.TenantID
			}
			if v := c.After[f.Name]; v != nil && !Same(v, c.Before[f.Name]) && (tx.TenantID == "" || tenant == tx.TenantID) {
				ids, err := idsIn(f, v)
				if err != nil {
					return err
				}
				held, _ := idsIn(f, c.Before[f.Name])
				for _, id := range ids {
					if !slices.Contains(held, id) {
						given = append(given, mention{tenant, f, id})
					}
				}
			}
		}
	}
	return allExist(tx.Tx, r, given)
}

// idsIn lists the ids of a UUID or Array field's value.
func idsIn(f *catalog.Field, v any) (ids []string, err error) {
	if v == nil {
		return nil, nil
	}
	raw, isArray := v.(json.RawMessage)
	if !isArray {
		id, _ := v.(string)
		return []string{id}, nil
	}
	_ = json.Unmarshal(raw, &ids) // an array of strings: the store has checked it
	for _, id := range ids {
		if u, err := uuid.Parse(id); err != nil || u.String() != id {
			return nil, fault.New(fault.Invalid, "22P02", "%s holds %q, which is no id", f.Name, id).At(f.Name,
				"must hold ids in lower case")
		}
	}
	return ids, nil
}

// allExist looks the ids up, in one statement for each tenant and kind of record.
func allExist(tx *db.Tx, r *catalog.Resource, given []mention) error {
	type place struct{ tenant, names string }
	asked := map[place]map[string]bool{}
	for _, m := range given {
		p := place{m.tenant, m.field.Names}
		if asked[p] == nil {
			asked[p] = map[string]bool{}
		}
		asked[p][m.id] = true
	}
	for p, ids := range asked {
		col := catalog.NamedBy(p.names)
		tx.Queue("SELECT "+col+" FROM "+p.names+" WHERE tenant_id = $1 AND "+tx.DB().InUUID(col, 2),
			[]any{p.tenant, query.List(slices.Sorted(maps.Keys(ids)))}, func(row *db.Row) error {
				delete(ids, row.Text(0))
				return nil
			})
	}
	if len(asked) == 0 {
		return nil
	}
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("store: look up what %s name: %w", r.Name, err)
	}
	for _, m := range given {
		if asked[place{m.tenant, m.field.Names}][m.id] {
			return fault.New(fault.Conflict, "23503", "insert or update on table %q violates foreign key constraint %q", r.Name,
				r.Name+"_"+m.field.Name+"_fkey").
				With(fmt.Sprintf("Key (%s)=(%s) is not present in table %q.", m.field.Name, m.id, m.field.Names), "").
				At(m.field.Name, "names none of the tenant's %s", m.field.Names)
		}
	}
	return nil
}

// asInserts are rows about to be inserted, as changes.
func asInserts(rows []Row) []Change {
	out := make([]Change, len(rows))
	for i, row := range rows {
		out[i] = Change{Op: Insert, After: row}
	}
	return out
}
