package safety

import (
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// whereabouts says where the things that inspections are about stand, and what
// kind of thing they are.
type whereabouts struct {
	zone  map[string]string // of equipment
	site  map[string]string // of zones, equipment, vehicles and workers
	clock map[string]string // time zone of sites
	kinds map[string]string // of equipment and vehicles
	home  string            // the tenant's time zone
}

// Where records are: the id, the site and its time zone, and what else the callers of
// queuePlaces need. $1 tenant, $2 ids.
const (
	sitePlacesSQL = `
		SELECT id, id, timezone
		FROM sites
		WHERE tenant_id = $1 AND id IN {ids $2}`

	zonePlacesSQL = `
		SELECT zone.id, site.id, site.timezone
		FROM zones AS zone
		LEFT JOIN sites AS site ON site.tenant_id = zone.tenant_id AND site.id = zone.site_id
		WHERE zone.tenant_id = $1 AND zone.id IN {ids $2}`

	workerPlacesSQL = `
		SELECT worker.id, site.id, site.timezone
		FROM workers AS worker
		LEFT JOIN sites AS site ON site.tenant_id = worker.tenant_id AND site.id = worker.site_id
		WHERE worker.tenant_id = $1 AND worker.id IN {ids $2}`

	vehiclePlacesSQL = `
		SELECT vehicle.id, site.id, site.timezone, vehicle.kind
		FROM vehicles AS vehicle
		LEFT JOIN sites AS site ON site.tenant_id = vehicle.tenant_id AND site.id = vehicle.site_id
		WHERE vehicle.tenant_id = $1 AND vehicle.id IN {ids $2}`

	equipmentPlacesSQL = `
		SELECT equipment.id, site.id, site.timezone, equipment.kind, zone.id
		FROM equipment
		LEFT JOIN zones AS zone ON zone.tenant_id = equipment.tenant_id AND zone.id = equipment.zone_id
		LEFT JOIN sites AS site ON site.tenant_id = zone.tenant_id AND site.id = zone.site_id
		WHERE equipment.tenant_id = $1 AND equipment.id IN {ids $2}`
)

// queuePlaces asks where the targets of rows are; it is there after the next
// flush.
func queuePlaces(tx *db.Tx, tenant string, rows []store.Row) *whereabouts {
	p := &whereabouts{zone: map[string]string{}, site: map[string]string{}, clock: map[string]string{}, kinds: map[string]string{}, home: "UTC"}
	if len(rows) == 0 {
		return p
	}
	store.QueueZone(tx, tenant, &p.home)
	ask := func(field, sql string, each func(r *db.Row)) {
		if ids := distinctIDs(rows, field); len(ids) > 0 {
			tx.Queue(sql, []any{tenant, query.List(ids)}, func(r *db.Row) error {
				each(r)
				return nil
			})
		}
	}
	place := func(r *db.Row) {
		id, site, clock := r.Text(0), r.Text(1), r.Text(2)
		p.site[id] = site
		if clock != "" {
			p.clock[site] = clock
		}
	}
	ask("site_id", sitePlacesSQL, place)
	ask("zone_id", zonePlacesSQL, place)
	ask("worker_id", workerPlacesSQL, place)
	ask("vehicle_id", vehiclePlacesSQL, func(r *db.Row) {
		place(r)
		p.kinds[r.Text(0)] = r.Text(3)
	})
	ask("equipment_id", equipmentPlacesSQL, func(r *db.Row) {
		place(r)
		p.kinds[r.Text(0)], p.zone[r.Text(0)] = r.Text(3), r.Text(4)
	})
	return p
}

// distinctIDs lists the ids that rows have in a field.
func distinctIDs[R ~map[string]any](rows []R, field string) []string {
	ids := map[string]bool{}
	for _, r := range rows {
		if id := store.Row(r).Text(field); id != "" {
			ids[id] = true
		}
	}
	return sortedKeys(ids)
}

// fillLocation fills the zone and site of a row that follow from what it is about.
func (p *whereabouts) fillLocation(row record.ChecklistRun) {
	if !row.HasZoneID() {
		row.SetZoneIDOrNull(db.Null(p.zone[row.EquipmentID()]))
	}
	for _, field := range [...]string{"zone_id", "equipment_id", "vehicle_id", "worker_id"} {
		if !row.HasSiteID() {
			row.SetSiteIDOrNull(db.Null(p.site[store.Row(row).Text(field)]))
		}
	}
}

// timezoneOf is where a row's local days are.
func (p *whereabouts) timezoneOf(row record.ChecklistSchedule) string {
	for _, field := range [...]string{"site_id", "zone_id", "equipment_id", "vehicle_id", "worker_id"} {
		if zone := p.clock[p.site[store.Row(row).Text(field)]]; zone != "" {
			return zone
		}
	}
	return p.home
}
