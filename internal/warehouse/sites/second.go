package sites

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// bareZonesSQL selects zones that name no site, with the site that they are of as long as
// some others are not counted: the tenant's only one. Goods in transit are at no site. $1
// tenant, $2 ids of the others.
const bareZonesSQL = `
	SELECT zone.id, sites.id
	FROM sites
	JOIN zones AS zone ON zone.tenant_id = $1
	WHERE sites.tenant_id = $1
		AND sites.archived_at IS NULL
		AND NOT sites.id IN {ids $2}
		AND NOT EXISTS (
			SELECT 1
			FROM sites AS other
			WHERE other.tenant_id = $1
				AND other.archived_at IS NULL
				AND other.id <> sites.id
				AND NOT other.id IN {ids $2}
		)
		AND zone.site_id IS NULL
		AND zone.kind <> 'transit'
	ORDER BY zone.id`

// SettleZones gives the zones of a tenant's only site that site when others are made or
// come into use beside it: from then on a zone that names none is of none.
func SettleZones(tx *store.Tx, changes []store.Change) error {
	var added []string
	for _, c := range record.Changes[record.Site](changes) {
		if c.After != nil && !c.After.HasArchivedAt() && (c.Op == store.Insert || c.Before.HasArchivedAt()) {
			added = append(added, c.After.ID())
		}
	}
	if len(added) == 0 {
		return nil
	}
	zones, site := []string{}, ""
	err := tx.Query(bareZonesSQL, []any{tx.TenantID, query.List(added)}, func(r *db.Row) error {
		zones, site = append(zones, r.Text(0)), r.Text(1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("sites: zones of the only one: %w", err)
	}
	return tx.UpdateRows("zones", zones, store.Row{"site_id": site})
}
