package warehouse

import (
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// oneWay are the states that only one direction of shipment knows.
var oneWay = map[string]string{
	"arrived": "inbound", "received": "inbound",
	"packed": "outbound", "ready": "outbound", "delivered": "outbound", "returned": "outbound",
}

// crew is what shipments refer to.
type crew struct {
	worker   map[string]string // driver -> worker
	licence  map[string]string // driver -> licence_expires_on, "" = unknown
	vehicles map[string]string // vehicle -> status
}

// deriveShipments holds a shipment to the states of its direction, stamps its
// journey and names the driver's worker record.
func deriveShipments(tx *db.Tx, a actor.Actor, s *store.Store, changes []store.Change) error {
	cr, err := readCrew(tx, a.TenantID, changes)
	if err != nil {
		return err
	}
	now := query.FormatTime(s.Now())
	for _, c := range changes {
		sh := c.After
		if sh == nil {
			continue
		}
		if c.Op == store.Insert || altered(c, "driver_id") {
			sh["assigned_worker_id"] = null(cr.worker[text(sh, "driver_id")])
		}
		if c.Op != store.Update || c.Before["status"] == c.After["status"] {
			continue
		}
		if err := direction(c); err != nil {
			return err
		}
		if err := cr.travel(c, now); err != nil {
			return err
		}
	}
	return nil
}

// readCrew reads drivers and vehicles that the changes name anew or
// that a departure depends on.
func readCrew(tx *db.Tx, tenant string, changes []store.Change) (*crew, error) {
	cr := &crew{worker: map[string]string{}, licence: map[string]string{}, vehicles: map[string]string{}}
	var drivers, vehicles set
	for _, c := range changes {
		if c.After == nil {
			continue
		}
		leaves := turned(c, "status", "in_transit")
		if c.Op == store.Insert || leaves || altered(c, "driver_id") {
			drivers.add(text(c.After, "driver_id"))
		}
		if leaves {
			vehicles.add(text(c.After, "vehicle_id"))
		}
	}
	in := tx.DB().InUUID("id", 2)
	if len(drivers.list) > 0 {
		tx.Queue("SELECT id, worker_id, licence_expires_on FROM drivers WHERE tenant_id = $1 AND "+in, []any{tenant, jsonList(drivers.list)},
			func(r *db.Row) error {
				cr.worker[r.Text(0)], cr.licence[r.Text(0)] = r.Text(1), r.Text(2)
				return nil
			})
	}
	if len(vehicles.list) > 0 {
		tx.Queue("SELECT id, status FROM vehicles WHERE tenant_id = $1 AND "+in, []any{tenant, jsonList(vehicles.list)}, func(r *db.Row) error {
			cr.vehicles[r.Text(0)] = r.Text(1)
			return nil
		})
	}
	return cr, tx.Flush()
}

func direction(c store.Change) error {
	from, to, way := text(c.Before, "status"), text(c.After, "status"), text(c.After, "direction")
	wrong := oneWay[to] != "" && oneWay[to] != way
	// Inbound goods are on the road once planned; outbound ones are packed and
	// made ready first.
	wrong = wrong || to == "in_transit" && from == "planned" && way != "inbound"
	if wrong {
		return fault.New(fault.Conflict, "HF001", "shipments cannot move to %q", to).
			With("an "+way+" shipment does not go from \""+from+"\" to \""+to+"\"", "")
	}
	return nil
}

// travel stamps departure and arrival; nobody leaves with an expired licence or
// a vehicle out of service.
func (cr *crew) travel(c store.Change, now string) error {
	sh := c.After
	switch text(sh, "status") {
	case "in_transit":
		if exp := cr.licence[text(sh, "driver_id")]; exp != "" && exp < now[:len("2006-01-02")] {
			return notReady("the driver's licence expired on %s", exp)
		}
		if v := text(sh, "vehicle_id"); v != "" && slices.Contains([]string{"out_of_service", "retired"}, cr.vehicles[v]) {
			return notReady("the vehicle is %s", cr.vehicles[v])
		}
		if sh["dispatched_at"] == nil {
			sh["dispatched_at"] = now
		}
	case "delivered", "received":
		sh["completed_at"] = now
	}
	return nil
}

// retireDrivers takes archived drivers out of the active ones.
func retireDrivers(_ *db.Tx, _ actor.Actor, _ *store.Store, changes []store.Change) error {
	for _, c := range changes {
		if c.After == nil || c.After["archived_at"] == nil {
			continue
		}
		switch text(c.After, "status") {
		case "available", "assigned", "on_trip":
			c.After["status"] = "off_duty"
		}
	}
	return nil
}
