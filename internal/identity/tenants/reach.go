package tenants

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Reach is which part of the tenant a member works in. It is said with the invitation, so
// that nobody sees more between joining and the administrator's next look. An invitation
// that ends lets worker and owner go, which could not be deleted otherwise.
type Reach struct {
	WorkerID string   `json:"worker_id,omitempty"` // who the member is on the floor
	ZoneIDs  []string `json:"zone_ids,omitempty"`  // an operator or driver is limited to them; empty = all
	OwnerID  string   `json:"owner_id,omitempty"`  // whose client a viewer is, and sees nothing else
}

// The columns of members and invitations that say a reach.
const (
	workerColumn = "worker_id"
	zonesColumn  = "zone_ids"
	ownerColumn  = "owner_id"
)

// maxZones is how many zones a member can be limited to.
const maxZones = 500

// countReachSQL counts the rows of the tenant among those named. $1 tenant, $2 ids.
const countReachSQL = `
	SELECT count(*)
	FROM {table}
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// checkReach is a reach with its ids in the one spelling, or the fault that names the field:
// what the role cannot have, and records that the tenant does not have. Another tenant's are
// no others than missing ones.
func checkReach(tx *db.Tx, tenant string, role actor.Role, reach Reach) (Reach, error) {
	if err := checkClient(role, reach.OwnerID != ""); err != nil {
		return reach, err
	}
	if len(reach.ZoneIDs) > maxZones {
		return reach, fault.New(fault.Invalid, "validation_failed", "zone_ids: at most %d zones", maxZones).At("zone_ids",
			"too many zones")
	}
	reach.ZoneIDs = slices.Clone(reach.ZoneIDs)
	for _, named := range [...]struct {
		field, table string
		ids          []*string
	}{
		{workerColumn, "workers", pointersTo(&reach.WorkerID)},
		{zonesColumn, "zones", pointersToEach(reach.ZoneIDs)},
		{ownerColumn, "goods_owners", pointersTo(&reach.OwnerID)},
	} {
		if err := checkNamed(tx, tenant, named.field, named.table, named.ids); err != nil {
			return reach, err
		}
	}
	return reach, nil
}

// checkNamed brings ids into their one spelling, and refuses those of which the tenant's
// table does not hold each.
func checkNamed(tx *db.Tx, tenant, field, table string, ids []*string) error {
	if len(ids) == 0 {
		return nil
	}
	refused := fault.New(fault.Invalid, "validation_failed", "%s names a record that is not there", field).At(field,
		"no such record")
	asked := map[string]bool{}
	for _, id := range ids {
		canonical, ok := accounts.CanonicalID(*id)
		if !ok {
			return refused
		}
		*id, asked[canonical] = canonical, true
	}
	found := int64(0)
	list := query.List(slices.Collect(maps.Keys(asked)))
	err := tx.One(db.FillWords(countReachSQL, "{table}", table), []any{tenant, list}, func(r *db.Row) error {
		found = r.Int(0)
		return nil
	})
	if err == nil && found != int64(len(asked)) {
		return refused
	}
	return err
}

// pointersTo is an id to be checked, or none where it is empty.
func pointersTo(id *string) []*string {
	if *id == "" {
		return nil
	}
	return []*string{id}
}

func pointersToEach(ids []string) []*string {
	out := make([]*string, len(ids))
	for i := range ids {
		out[i] = &ids[i]
	}
	return out
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
	return checkClient(actor.Role(row.Text("role")), row[ownerColumn] != nil)
}

// isEmpty reports a reach of the whole tenant.
func (r Reach) isEmpty() bool { return r.WorkerID == "" && len(r.ZoneIDs) == 0 && r.OwnerID == "" }

// reachOf is what a row of invitations says; the store has checked it.
func reachOf(row store.Row) Reach {
	reach := Reach{WorkerID: row.Text(workerColumn), OwnerID: row.Text(ownerColumn)}
	zones, _ := row[zonesColumn].(json.RawMessage)
	_ = json.Unmarshal(zones, &reach.ZoneIDs)
	return reach
}

// zonesText is how the database keeps the zones.
func (r Reach) zonesText() (string, error) {
	if len(r.ZoneIDs) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(r.ZoneIDs)
	return string(text), err
}

// offeredReachSQL selects the reach of the invitation that waits for an address. $1 tenant,
// $2 address, $3 now.
const offeredReachSQL = `
	SELECT worker_id, zone_ids, owner_id
	FROM invitations
	WHERE tenant_id = $1
		AND email = $2
		AND status = 'pending'
		AND expires_at > $3
	ORDER BY created_at DESC
	LIMIT 1`

// offeredReach is the reach that an administrator has written into an invitation of the
// address which waits: it holds of whoever joins by another way, too.
func (s *Store) offeredReach(tx *db.Tx, tenant, email string) (reach Reach, err error) {
	if email == "" {
		return reach, nil
	}
	err = tx.Query(offeredReachSQL, []any{tenant, email, s.Now()}, func(r *db.Row) error {
		reach, err = readReach(r, 0)
		return err
	})
	return reach, err
}

// readReach reads worker, zones and owner from the columns from at on.
func readReach(r *db.Row, at int) (reach Reach, err error) {
	reach = Reach{WorkerID: r.Text(at), OwnerID: r.Text(at + 2)}
	err = json.Unmarshal([]byte(r.Text(at+1)), &reach.ZoneIDs)
	return reach, err
}
