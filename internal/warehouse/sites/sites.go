// Package sites keeps goods at their site. A zone is of its own site; at a tenant with
// one site, zones without one are of that. Work that carries goods inside a building does
// not leave a site: what does is a transfer. Coordinates are those of a site, so distances
// are taken within one alone.
//
// Layer: domains. Begin at [ReadOfZones].
package sites

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// onlySQL is the site of a tenant that has one, in SQL, null where it has none or
// several. $1 tenant.
const onlySQL = `(
	SELECT sites.id
	FROM sites
	WHERE sites.tenant_id = $1
		AND sites.archived_at IS NULL
		AND NOT EXISTS (
			SELECT 1
			FROM sites AS other
			WHERE other.tenant_id = $1
				AND other.archived_at IS NULL
				AND other.id <> sites.id
		)
)`

// ofZoneSQL is the site that a row of zones named zone is of, in SQL, null for none. $1
// tenant.
const ofZoneSQL = `COALESCE(zone.site_id, {only site})`

// fill puts the site of a zone into statements that ask for it.
var fill = strings.NewReplacer("{site}", strings.ReplaceAll(ofZoneSQL, "{only site}", onlySQL), "{only site}", onlySQL)

// FillStatement puts the site that a row of zones named zone is of into a statement, for {site},
// and the tenant's only site for {only site}.
func FillStatement(text string) string { return fill.Replace(text) }

// ofZonesSQL selects zones with their own site and the one that they are of. $1 tenant, $2
// ids of zones.
const ofZonesSQL = `
	SELECT zone.id, zone.code, zone.site_id, {site}
	FROM zones AS zone
	WHERE zone.tenant_id = $1
		AND zone.id IN {ids $2}`

// Zone is a zone and its site.
type Zone struct {
	ID, Code string
	OwnID    string // of the site that it names, "" for none
	SiteID   string // of the site that it is of, "" for none
}

// ReadOfZones returns zones by their ids.
func ReadOfZones(tx *store.Tx, ids []string) (map[string]Zone, error) {
	zones := map[string]Zone{}
	if len(ids) == 0 {
		return zones, nil
	}
	err := tx.Query(FillStatement(ofZonesSQL), []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		zones[r.Text(0)] = Zone{ID: r.Text(0), Code: r.Text(1), OwnID: r.Text(2), SiteID: r.Text(3)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sites: of zones: %w", err)
	}
	return zones, nil
}

// Differ reports two sites that are known and not the same.
func Differ(one, other string) bool { return one != "" && other != "" && one != other }

// codesSQL selects the codes of sites. $1 tenant, $2 ids.
const codesSQL = `
	SELECT sites.id, sites.code
	FROM sites
	WHERE sites.tenant_id = $1
		AND sites.id IN {ids $2}`

// ReadCodes returns the codes of sites by their ids.
func ReadCodes(tx *store.Tx, ids []string) (map[string]string, error) {
	codes := map[string]string{}
	if len(ids) == 0 {
		return codes, nil
	}
	err := tx.Query(codesSQL, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		codes[r.Text(0)] = r.Text(1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sites: codes: %w", err)
	}
	return codes, nil
}
