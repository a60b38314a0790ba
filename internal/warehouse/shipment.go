package warehouse

import (
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/carriers"
	"holdfast/internal/warehouse/ending"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/owners"
	"holdfast/internal/warehouse/transfers"
)

// oneWay are the states that only one direction of shipment knows.
var oneWay = map[string]string{
	"arrived": "inbound", "received": "inbound",
	"packed": "outbound", "ready": "outbound", "delivered": "outbound", "returned": "outbound",
}

// deriveShipments holds a shipment to the states of its direction, stamps its
// journey and names the driver's worker record.
func deriveShipments(tx *store.Tx, changes []store.Change) error {
	if err := refuseEndedOrders(tx, changes); err != nil {
		return err
	}
	if err := transfers.CheckReturned(tx, changes); err != nil {
		return err
	}
	workers, err := readCrew(tx.Tx, tx.TenantID, changes)
	if err != nil {
		return err
	}
	if err := owners.NameOwners(tx, changes); err != nil {
		return err
	}
	if err := carriers.KeepCarrier(tx, changes); err != nil {
		return err
	}
	if err := (work{Tx: tx}).checkPacked(changes); err != nil {
		return err
	}
	why, err := work{Tx: tx}.listNotReady(changes)
	if err != nil {
		return err
	}
	now := query.FormatTime(tx.Now())
	for _, c := range record.Changes[record.Shipment](changes) {
		sh := c.After
		if sh == nil {
			continue
		}
		if c.Op == store.Update {
			if err := checkClosedShipment(c); err != nil {
				return err
			}
			if err := onTheWay(c, tx.Now()); err != nil {
				return err
			}
			if r := why[sh.ID()]; len(r) > 0 {
				return notLeaving(r)
			}
		}
		if c.Op == store.Insert || c.Alters(record.Shipment.DriverIDOrNull) {
			sh.SetAssignedWorkerIDOrNull(db.Null(workers[sh.DriverID()]))
		}
		if c.Op != store.Update || c.Before.StatusOrNull() == c.After.StatusOrNull() {
			continue
		}
		if err := checkDirection(c); err != nil {
			return err
		}
		stampTravel(sh, now)
	}
	return nil
}

// refuseEndedOrders refuses shipments that are made for orders that have ended, or take
// such an order up.
func refuseEndedOrders(tx *store.Tx, changes []store.Change) error {
	var orders set
	for _, c := range record.Changes[record.Shipment](changes) {
		for _, id := range newOrders(c) {
			orders.addID(id)
		}
	}
	if _, err := locking.LockRows[record.Order](tx, orders.list); err != nil {
		return err
	}
	ended, err := ending.ReadEnded(tx, orders.list)
	if err != nil {
		return err
	}
	for i, c := range record.Changes[record.Shipment](changes) {
		for _, id := range newOrders(c) {
			if why := ended[id]; why != "" {
				bad := notReady("order_ids: %s, nothing more is sent for it", why).At("order_ids", "%s", why)
				return nameRow(bad, i, len(changes))
			}
		}
	}
	return nil
}

// newOrders are the orders that a change of a shipment names and that it did not name.
func newOrders(c record.Change[record.Shipment]) []string {
	if c.After == nil {
		return nil
	}
	before := store.Texts(c.Before.OrderIDsOrNull())
	return slices.DeleteFunc(store.Texts(c.After.OrderIDsOrNull()), func(id string) bool {
		return slices.Contains(before, id)
	})
}

// readCrew reads the workers of drivers that the changes name anew.
func readCrew(tx *db.Tx, tenant string, changes []store.Change) (map[string]string, error) {
	workers := map[string]string{}
	var drivers set
	for _, c := range record.Changes[record.Shipment](changes) {
		if c.After != nil && (c.Op == store.Insert || c.Alters(record.Shipment.DriverIDOrNull)) {
			drivers.addID(c.After.DriverID())
		}
	}
	if len(drivers.list) == 0 {
		return workers, nil
	}
	err := tx.Query(`
		SELECT id, worker_id
		FROM drivers
		WHERE tenant_id = $1
			AND id IN {ids $2}`,
		[]any{tenant, jsonList(drivers.list)}, func(r *db.Row) error {
			workers[r.Text(0)] = r.Text(1)
			return nil
		})
	return workers, err
}

func checkDirection(c record.Change[record.Shipment]) error {
	from, to, way := c.Before.Status(), c.After.Status(), c.After.Direction()
	wrong := oneWay[to] != "" && oneWay[to] != way
	// Inbound goods are on the road once planned; outbound ones are packed and
	// made ready first.
	wrong = wrong || to == "in_transit" && from == "planned" && way != "inbound"
	if wrong {
		hint := "pack its goods and close the packages: then it is ready and leaves by dispatch"
		if way == "inbound" {
			hint = "it is in_transit once it is on its way, arrived when it is at the dock, and then received"
		}
		return fault.New(fault.Conflict, "HF001", "shipments cannot move to %q", to).
			With("an "+way+" shipment does not go from \""+from+"\" to \""+to+"\"", hint)
	}
	return nil
}

// stampTravel stamps departure and arrival.
func stampTravel(sh record.Shipment, now string) {
	switch sh.Status() {
	case "in_transit":
		if !sh.HasDispatchedAt() {
			sh.SetDispatchedAt(now)
		}
		sh.ClearArrivedAt() // a second try has its own arrival
	case "exception", "arrived":
		stampArrival(sh, now)
	case "delivered", "received":
		stampArrival(sh, now)
		sh.SetCompletedAt(now)
	}
}

// stampArrival stamps the arrival of what has none yet.
func stampArrival(sh record.Shipment, now string) {
	if !sh.HasArrivedAt() {
		sh.SetArrivedAt(now)
	}
}

// retireDrivers takes archived drivers out of the active ones.
func retireDrivers(_ *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.Driver](changes) {
		if c.After == nil || !c.After.HasArchivedAt() {
			continue
		}
		switch c.After.Status() {
		case "available", "assigned", "on_trip":
			c.After.SetStatus("off_duty")
		}
	}
	return nil
}
