package jurisdiction

import (
	"github.com/google/uuid"

	"holdfast/internal/db"
)

// Place says under which law somebody or something is. The zero value is one of no site,
// or of a site without a country: any law may hold there.
type Place uint8

const (
	america Place = iota + 1
	elsewhere
)

// IsUnder reports whether the law of a jurisdiction may hold there.
func (p Place) IsUnder(jurisdiction string) bool {
	return !(jurisdiction == unitedStates && p == elsewhere || jurisdiction == union && p == america)
}

// placesSQL selects, for each type of entity, those whose site names a country, or whose
// tenant does for it, and whether they are in the United States. Equipment is where its
// zone is. $1 tenant, $2 one of them, empty for all.
var placesSQL = map[string]string{
	"zone": FillStatement(`
		SELECT zone.id, CASE WHEN {is american} THEN 1 ELSE 0 END
		FROM zones AS zone
		JOIN sites AS site ON site.tenant_id = zone.tenant_id AND site.id = zone.site_id
		JOIN tenants AS tenant ON tenant.id = zone.tenant_id
		WHERE zone.tenant_id = $1
			AND ($2 = '' OR CAST(zone.id AS text) = $2)
			AND {country} IS NOT NULL`),
	"worker": FillStatement(`
		SELECT worker.id, CASE WHEN {is american} THEN 1 ELSE 0 END
		FROM workers AS worker
		JOIN sites AS site ON site.tenant_id = worker.tenant_id AND site.id = worker.site_id
		JOIN tenants AS tenant ON tenant.id = worker.tenant_id
		WHERE worker.tenant_id = $1
			AND ($2 = '' OR CAST(worker.id AS text) = $2)
			AND {country} IS NOT NULL`),
	"driver": FillStatement(`
		SELECT driver.id, CASE WHEN {is american} THEN 1 ELSE 0 END
		FROM drivers AS driver
		JOIN workers AS worker ON worker.tenant_id = driver.tenant_id AND worker.id = driver.worker_id
		JOIN sites AS site ON site.tenant_id = worker.tenant_id AND site.id = worker.site_id
		JOIN tenants AS tenant ON tenant.id = driver.tenant_id
		WHERE driver.tenant_id = $1
			AND ($2 = '' OR CAST(driver.id AS text) = $2)
			AND {country} IS NOT NULL`),
	"equipment": FillStatement(`
		SELECT thing.id, CASE WHEN {is american} THEN 1 ELSE 0 END
		FROM equipment AS thing
		JOIN zones AS zone ON zone.tenant_id = thing.tenant_id AND zone.id = thing.zone_id
		JOIN sites AS site ON site.tenant_id = zone.tenant_id AND site.id = zone.site_id
		JOIN tenants AS tenant ON tenant.id = thing.tenant_id
		WHERE thing.tenant_id = $1
			AND ($2 = '' OR CAST(thing.id AS text) = $2)
			AND {country} IS NOT NULL`),
}

// QueuePlaces asks under which law the entities of a type are, or with only the one of
// that id. Those that are not told are of the zero Place.
func QueuePlaces(tx *db.Tx, tenant, kind, only string, told func(id uuid.UUID, at Place)) {
	tx.Queue(placesSQL[kind], []any{tenant, only}, func(row *db.Row) error {
		at := elsewhere
		if row.Int(1) == 1 {
			at = america
		}
		told(row.UUID(0), at)
		return nil
	})
}

// lawsSQL are the conditions on where something happened by the law of a jurisdiction,
// over rows of sites and tenants as [FillStatement] has them.
var lawsSQL = map[string]string{
	unitedStates: FillStatement(`AND {may be american}`),
	union:        FillStatement(`AND NOT coalesce({is american}, FALSE)`),
}

// WhereUnder is the condition, in SQL, that the law of a jurisdiction may hold where a row
// of sites and one of tenants are; "" where it holds everywhere.
func WhereUnder(jurisdiction string) string { return lawsSQL[jurisdiction] }
