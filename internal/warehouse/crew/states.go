package crew

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// OnRoadSQL says in SQL of a shipment s that it is under way. One that could not be
// delivered is until the route that it was a stop of is over. $1 tenant.
const OnRoadSQL = `(
	s.status = 'in_transit'
	OR s.status = 'exception'
	AND NOT EXISTS (
		SELECT 1
		FROM routes AS over
		WHERE over.tenant_id = $1
			AND over.id = s.route_id
			AND over.status = 'finished'
	)
)`

// driversSQL selects drivers with their states, how much of their work is on the road,
// and how much waits in the house. $1 tenant, $2 ids.
const driversSQL = `
	SELECT driver.id, driver.status,
		COUNT(CASE WHEN {on road} THEN 1 END) + (
			SELECT COUNT(*)
			FROM routes AS route
			WHERE route.tenant_id = $1
				AND route.driver_id = driver.id
				AND route.status = 'started'
		),
		COUNT(CASE WHEN s.status IN ('planned', 'packed', 'ready') THEN 1 END)
	FROM drivers AS driver
	LEFT JOIN shipments AS s ON s.tenant_id = $1 AND s.driver_id = driver.id
	WHERE driver.tenant_id = $1
		AND {drivers}
	GROUP BY driver.id, driver.status
	ORDER BY driver.id`

// UpdateDrivers brings drivers to the state that their work says; one who is off duty or
// suspended stays so.
func UpdateDrivers(tx *store.Tx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	text := strings.NewReplacer("{on road}", OnRoadSQL, "{drivers}", tx.DB().InUUID("driver.id", 2)).Replace(driversSQL)
	wanted := map[string][]string{}
	err := tx.Query(text, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		for _, status := range DriverStates(r.Text(1), r.Int(2), r.Int(3)) {
			wanted[status] = append(wanted[status], r.Text(0))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("crew: work of drivers: %w", err)
	}
	for _, status := range []string{"assigned", "on_trip", "available"} {
		if err := tx.UpdateRows("drivers", wanted[status], store.Row{"status": status}); err != nil {
			return err
		}
	}
	return nil
}

// DriverStates lists the states that take a driver from the present one to the one that
// so many shipments on the road and in the house mean.
func DriverStates(now string, road, house int64) []string {
	if now == "off_duty" || now == "suspended" {
		return nil
	}
	to := "available"
	if house > 0 {
		to = "assigned"
	}
	if road > 0 {
		to = "on_trip"
	}
	if now == to {
		return nil
	}
	if now == "available" && to == "on_trip" {
		return []string{"assigned", "on_trip"}
	}
	return []string{to}
}

// vehiclesSQL selects vehicles with what they are noted to be, and whether they are out.
// $1 tenant, $2 ids.
const vehiclesSQL = `
	SELECT vehicle.id, vehicle.on_trip, (
		EXISTS (
			SELECT 1
			FROM shipments AS s
			WHERE s.tenant_id = $1
				AND s.vehicle_id = vehicle.id
				AND {on road}
		)
		OR EXISTS (
			SELECT 1
			FROM routes AS route
			WHERE route.tenant_id = $1
				AND route.vehicle_id = vehicle.id
				AND route.status = 'started'
		)
	)
	FROM vehicles AS vehicle
	WHERE vehicle.tenant_id = $1
		AND {vehicles}
	ORDER BY vehicle.id`

// UpdateVehicles notes of vehicles whether they are out.
func UpdateVehicles(tx *store.Tx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	text := strings.NewReplacer("{on road}", OnRoadSQL, "{vehicles}", tx.DB().InUUID("vehicle.id", 2)).Replace(vehiclesSQL)
	var sets []record.Vehicle
	err := tx.Query(text, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		if isOut := r.Bool(2); isOut != r.Bool(1) {
			sets = append(sets, record.Vehicle{"id": r.Text(0), "on_trip": isOut})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("crew: vehicles that are out: %w", err)
	}
	return tx.UpdateEach("vehicles", record.Rows(sets))
}
