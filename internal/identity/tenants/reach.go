package tenants

import (
	"encoding/json"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Reach is which part of the tenant a member works in. It is said with the invitation, so
// that nobody sees more between joining and the administrator's next look.
type Reach struct {
	WorkerID string   `json:"worker_id,omitempty"` // who the member is on the floor
	ZoneIDs  []string `json:"zone_ids,omitempty"`  // an operator or driver is limited to them; empty = all
	OwnerID  string   `json:"owner_id,omitempty"`  // whose client a viewer is, and sees nothing else
}

// maxZones is how many zones a member can be limited to.
const maxZones = 500

// countReachSQL counts the rows of the tenant among those named. $1 tenant, $2 ids.
const countReachSQL = `
	SELECT count(*)
	FROM {table}
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// checkReach refuses what the role cannot have, and records that the tenant does not have;
// another tenant's are no others than missing ones. The fault names the field.
func checkReach(tx *db.Tx, tenant string, role actor.Role, reach Reach) error {
	if err := checkClient(role, reach.OwnerID != ""); err != nil {
		return err
	}
	if len(reach.ZoneIDs) > maxZones {
		return fault.New(fault.Invalid, "validation_failed", "zone_ids: at most %d zones", maxZones).At("zone_ids",
			"too many zones")
	}
	for _, named := range [...]struct {
		field, table string
		ids          []string
	}{
		{"worker_id", "workers", listOf(reach.WorkerID)},
		{"zone_ids", "zones", reach.ZoneIDs},
		{"owner_id", "goods_owners", listOf(reach.OwnerID)},
	} {
		if err := checkNamed(tx, tenant, named.field, named.table, named.ids); err != nil {
			return err
		}
	}
	return nil
}

// checkNamed refuses ids of which the tenant's table does not hold each.
func checkNamed(tx *db.Tx, tenant, field, table string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	refused := fault.New(fault.Invalid, "validation_failed", "%s names a record that is not there", field).At(field,
		"no such record")
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		if kept, ok := accounts.CanonicalID(id); !ok || kept != id {
			return refused
		}
	}
	found := int64(0)
	err := tx.One(db.FillWords(countReachSQL, "{table}", table), []any{tenant, query.List(ids)}, func(r *db.Row) error {
		found = r.Int(0)
		return nil
	})
	if err == nil && found != int64(len(ids)) {
		return refused
	}
	return err
}

// checkClient refuses an owner of goods beside another role than viewer.
func checkClient(role actor.Role, isClient bool) error {
	if !isClient || role == actor.Viewer {
		return nil
	}
	return fault.New(fault.Invalid, "23514", "owner_id is for viewers alone: a client of the warehouse is one").At(
		"owner_id", "is for viewers alone")
}

// checkClientRow is checkClient of a row of members or invitations; nil of a deleted one.
func checkClientRow(row store.Row) error {
	if row == nil {
		return nil
	}
	return checkClient(actor.Role(row.Text("role")), row["owner_id"] != nil)
}

func listOf(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// zonesText is how the database keeps the zones.
func (r Reach) zonesText() (string, error) {
	if len(r.ZoneIDs) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(r.ZoneIDs)
	return string(text), err
}

// readReach reads worker, zones and owner from the columns from at on.
func readReach(r *db.Row, at int) (reach Reach, err error) {
	reach = Reach{WorkerID: r.Text(at), OwnerID: r.Text(at + 2)}
	err = json.Unmarshal([]byte(r.Text(at+1)), &reach.ZoneIDs)
	return reach, err
}
