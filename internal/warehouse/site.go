package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/store"
)

// Zones without a site are a place of their own: goods of theirs are not put away
// at a site, nor a site's goods with them.

// inheritSites gives zones without a site that of the zone they lie in.
func inheritSites(tx *db.Tx, tenant string, changes []store.Change) error {
	var parents set
	for _, c := range changes {
		if takesSite(c) {
			parents.addID(c.After.Text("parent_id"))
		}
	}
	if len(parents.list) == 0 {
		return nil
	}
	sites, err := readSites(tx, tenant, parents.list)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if takesSite(c) {
			c.After["site_id"] = sites[c.After.Text("parent_id")]
		}
		if c.After != nil {
			sites[c.After.Text("id")] = c.After["site_id"] // for what lies in a zone that is made with it
		}
	}
	return nil
}

// takesSite reports a zone without a site that is made or moved into another.
func takesSite(c store.Change) bool {
	return c.After != nil && c.After["site_id"] == nil && c.After["parent_id"] != nil &&
		(c.Op == store.Insert || isAltered(c, "parent_id"))
}

// readSites returns the sites of zones, by zone; nil where one has none.
func readSites(tx *db.Tx, tenant string, zones []string) (map[string]any, error) {
	sites := map[string]any{}
	err := tx.Query(`
		SELECT id, site_id
		FROM zones
		WHERE tenant_id = $1
			AND `+tx.DB().InUUID("id", 2), []any{tenant, jsonList(zones)}, func(r *db.Row) error {
		sites[r.Text(0)] = db.Null(r.Text(1))
		return nil
	})
	return sites, err
}

// checkSites refuses to put goods away, or to fill a zone up, from another site:
// that is a transfer.
func checkSites(tx *db.Tx, tenant string, changes []store.Change) error {
	var zones set
	for _, c := range changes {
		if staysAtSite(c) {
			zones.addID(c.After.Text("from_zone_id"))
			zones.addID(c.After.Text("to_zone_id"))
		}
	}
	if len(zones.list) == 0 {
		return nil
	}
	sites, err := readSites(tx, tenant, zones.list)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if !staysAtSite(c) {
			continue
		}
		from, known := sites[c.After.Text("from_zone_id")]
		to, both := sites[c.After.Text("to_zone_id")]
		if known && both && from != to {
			return nameRow(refuseMovement("to_zone_id", "lies at another site than the goods: bring them there with a movement of type transfer"), i, len(changes))
		}
	}
	return nil
}

// staysAtSite reports a new movement of a kind that does not leave a site.
func staysAtSite(c store.Change) bool {
	if c.Op != store.Insert || c.After["reversal_of"] != nil {
		return false
	}
	return c.After["type"] == "putaway" || c.After["type"] == "replenish"
}
