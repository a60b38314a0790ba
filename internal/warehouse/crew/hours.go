// Package crew says what speaks against a driver setting off: hours on the road, and
// certificates that the driver's job asks for. It keeps the states of drivers and
// vehicles to their work.
//
// Layer: domains. Begin at [CheckDrivingHours].
package crew

import (
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/driving"
)

// codeDispatch is a shipment that may not leave, as package warehouse has it.
const codeDispatch = "HF024"

// settingHours is warn, refuse or off.
const settingHours = "drivers_hours"

const hoursSettingSQL = `
	SELECT value
	FROM settings
	WHERE tenant_id = $1 AND section = 'safety' AND lower(key) = $2`

const hoursLawSQL = `
	SELECT 1
	FROM regulations
	WHERE tenant_id = $1 AND code LIKE 'EU-561-%' AND status = 'active'
	LIMIT 1`

const tripsSQL = `
	SELECT started_at, finished_at, coalesce(driving_min, -1)
	FROM routes
	WHERE tenant_id = $1 AND driver_id = $2 AND started_at > $3
	ORDER BY started_at`

// CheckDrivingHours says what of (EC) 561/2006 speaks against a driver setting off now,
// where one of its regulations is in force; it refuses where the setting drivers_hours
// says so. The hours are those of the driver's routes.
func CheckDrivingHours(tx *store.Tx, driver string) ([]string, error) {
	now, zone, does, law := tx.Now(), "", "warn", false
	tenant := tx.TenantID
	store.QueueZone(tx.Tx, tenant, &zone)
	tx.Queue(hoursSettingSQL, []any{tenant, settingHours}, func(r *db.Row) error {
		does = strings.Trim(r.Text(0), `"`)
		return nil
	})
	tx.Queue(hoursLawSQL, []any{tenant}, func(*db.Row) error { law = true; return nil })
	var trips []driving.Trip
	tx.Queue(tripsSQL, []any{tenant, driver, now.AddDate(0, 0, -21)}, func(r *db.Row) error {
		trips = append(trips, driving.Of(r.Time(0), r.Time(1), now, r.Int(2)))
		return nil
	})
	if err := tx.Flush(); err != nil || !law || does == "off" {
		return nil, err
	}
	against := driving.Against(trips, now, localtime.Zone(zone))
	if does == "refuse" && len(against) > 0 {
		return nil, fault.New(fault.Conflict, codeDispatch, "the driver may not drive now: %s", against[0]).
			With(strings.Join(against, "; "), "").
			At("route_id", "has a driver who may not drive now")
	}
	return against, nil
}
