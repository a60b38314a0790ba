package safety

import (
	"holdfast/internal/db"
	"holdfast/internal/query"
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
			tx.Queue(sql+" WHERE x.tenant_id = $1 AND "+tx.DB().InUUID("x.id", 2), []any{tenant, query.List(ids)}, func(r *db.Row) error { each(r); return nil })
		}
	}
	at := func(id, site, clock string) {
		p.site[id] = site
		if clock != "" {
			p.clock[site] = clock
		}
	}
	const site = " LEFT JOIN sites s ON s.tenant_id = x.tenant_id AND s.id = x.site_id"
	ask("site_id", "SELECT x.id, x.timezone FROM sites x", func(r *db.Row) { at(r.Text(0), r.Text(0), r.Text(1)) })
	ask("zone_id", "SELECT x.id, s.id, s.timezone FROM zones x"+site, func(r *db.Row) { at(r.Text(0), r.Text(1), r.Text(2)) })
	ask("worker_id", "SELECT x.id, s.id, s.timezone FROM workers x"+site, func(r *db.Row) { at(r.Text(0), r.Text(1), r.Text(2)) })
	ask("vehicle_id", "SELECT x.id, s.id, s.timezone, x.kind FROM vehicles x"+site, func(r *db.Row) {
		at(r.Text(0), r.Text(1), r.Text(2))
		p.kinds[r.Text(0)] = r.Text(3)
	})
	ask("equipment_id", "SELECT x.id, s.id, s.timezone, x.kind, z.id FROM equipment x LEFT JOIN zones z ON z.tenant_id = x.tenant_id AND z.id = x.zone_id "+
		"LEFT JOIN sites s ON s.tenant_id = z.tenant_id AND s.id = z.site_id", func(r *db.Row) {
		at(r.Text(0), r.Text(1), r.Text(2))
		p.kinds[r.Text(0)], p.zone[r.Text(0)] = r.Text(3), r.Text(4)
	})
	return p
}

// distinctIDs lists the ids that rows have in a field.
func distinctIDs(rows []store.Row, field string) []string {
	ids := map[string]bool{}
	for _, r := range rows {
		if id := r.Text(field); id != "" {
			ids[id] = true
		}
	}
	return sortedKeys(ids)
}

// fillLocation fills the zone and site of a row that follow from what it is about.
func (p *whereabouts) fillLocation(row store.Row) {
	if row["zone_id"] == nil {
		row["zone_id"] = db.Null(p.zone[row.Text("equipment_id")])
	}
	for _, field := range [...]string{"zone_id", "equipment_id", "vehicle_id", "worker_id"} {
		if row["site_id"] == nil {
			row["site_id"] = db.Null(p.site[row.Text(field)])
		}
	}
}

// timezoneOf is where a row's local days are.
func (p *whereabouts) timezoneOf(row store.Row) string {
	for _, field := range [...]string{"site_id", "zone_id", "equipment_id", "vehicle_id", "worker_id"} {
		if zone := p.clock[p.site[row.Text(field)]]; zone != "" {
			return zone
		}
	}
	return p.home
}
