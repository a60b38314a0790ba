package register

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// zoneSitesSQL selects where zones are. $1 tenant, $2 ids of zones.
const zoneSitesSQL = `
	SELECT id, code, site_id
	FROM zones
	WHERE tenant_id = $1
		AND id IN {ids $2}
	ORDER BY code, id`

// place is the code of a zone and the site that it is at.
type place struct{ code, site string }

// checkUnits holds the zones of units to one site, and fills that site where a unit does not
// name one.
func checkUnits(tx *store.Tx, changes []store.Change) error {
	zonesOf := make([][]string, len(changes))
	var all []string
	for i, c := range record.Changes[record.WorkUnit](changes) {
		if c.Op == store.Update && !safety.IsChanged(c.Change, zonesColumn, siteColumn) {
			continue
		}
		raw := c.After.ZoneIDs()
		if err := json.Unmarshal(raw, &zonesOf[i]); err != nil {
			return safety.RefuseField(zonesColumn, "is no list of zones")
		}
		all = append(all, zonesOf[i]...)
	}
	if len(all) == 0 {
		return nil
	}
	places, err := readPlaces(tx, all)
	if err != nil {
		return err
	}
	for i, c := range record.Changes[record.WorkUnit](changes) {
		if err := placeUnit(c.After, zonesOf[i], places); err != nil {
			return err
		}
	}
	return nil
}

// readPlaces reads where zones are, by their ids.
func readPlaces(tx *store.Tx, zones []string) (map[string]place, error) {
	places := map[string]place{}
	err := tx.Query(zoneSitesSQL, []any{tx.TenantID, query.List(zones)}, func(r *db.Row) error {
		places[r.Text(0)] = place{r.Text(1), r.Text(2)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("register: read the sites of zones: %w", err)
	}
	return places, nil
}

// placeUnit refuses a zone of another site than the unit's. A zone that is at no site goes
// with any.
func placeUnit(unit record.WorkUnit, zones []string, places map[string]place) error {
	for _, id := range zones {
		at, found := places[id]
		if !found || at.site == "" {
			continue // the store's reference check names one that is not there
		}
		if !unit.HasSiteID() {
			unit.SetSiteID(at.site)
		}
		if unit.SiteIDOrNull() != any(at.site) {
			return safety.RefuseField(zonesColumn, "names %s, a zone of another site than the unit's", at.code)
		}
	}
	return nil
}
