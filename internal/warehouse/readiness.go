package warehouse

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/crew"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
)

// readiness gathers why shipments that are to leave may not, by their id.
type readiness struct {
	work
	why map[string][]string
}

// listNotReady lists why shipments may not leave, by their id: goods that are not
// picked and packed, an order on hold, a driver who may not drive, a vehicle that
// may not go.
func (k work) listNotReady(changes []store.Change) (map[string][]string, error) {
	d := readiness{k, map[string][]string{}}
	var ids []string
	for _, c := range record.Changes[record.Shipment](changes) {
		if isDeparture(c) {
			ids = append(ids, c.After.ID())
		}
	}
	if len(ids) == 0 {
		return d.why, nil
	}
	if err := d.lockOrders(changes); err != nil {
		return nil, err
	}
	if err := d.attachReservedLines(ids); err != nil {
		return nil, err
	}
	for _, of := range []func([]store.Change) error{d.driversUnfit, d.vehiclesUnfit} {
		if err := of(changes); err != nil {
			return nil, err
		}
	}
	for _, of := range []func([]string) error{d.heldOrders, d.barredLots, d.addUnpacked} {
		if err := of(ids); err != nil {
			return nil, err
		}
	}
	return d.why, nil
}

// attachReservedLines gives shipments that only name their orders lines of all that is
// reserved of them, and adds the orders that have nothing reserved.
func (k readiness) attachReservedLines(shipments []string) error {
	bare, err := record.List[record.Shipment](k.Tx, k.DB().InUUID("id", 2)+
		" AND NOT EXISTS (SELECT 1 FROM shipment_lines l WHERE l.tenant_id = $1 AND "+"l.shipment_id = shipments.id) "+
		"ORDER BY id", jsonList(shipments))
	if err != nil {
		return err
	}
	for _, sh := range bare {
		var rows []record.ShipmentLine
		lines, err := record.List[record.OrderLine](k.Tx, k.DB().InUUID("order_id", 2)+
			" AND is_kit IS NOT TRUE AND qty_ordered - qty_cancelled > qty_shipped ORDER BY id",
			jsonList(store.Texts(sh.OrderIDs())))
		if err != nil {
			return err
		}
		loads, err := packing.ReadLoadsOfLines(k.Tx, record.IDs(lines))
		if err != nil {
			return err
		}
		id := sh.ID()
		for _, l := range lines {
			q := l.QtyAllocated() - l.QtyShipped() - packing.SumOfOthers(loads, l.ID(), id)
			if q <= 0 {
				k.why[id] = append(k.why[id], fmt.Sprintf("line %v: nothing is reserved", l.LineNo()))
				continue
			}
			rows = append(rows, record.ShipmentLine{"shipment_id": sh.ID(), "order_id": l.OrderID(),
				"order_line_id": l.ID(),
				"item_id":       l.ItemID(), "quantity": q})
		}
		if _, err = record.Insert(k.Tx, rows); err != nil {
			return err
		}
		if err := k.claimPackages(id); err != nil {
			return err
		}
	}
	return nil
}

// addUnpacked adds the lines that their own packages do not hold whole.
func (k readiness) addUnpacked(shipments []string) error {
	why, err := k.listUnpacked(shipments)
	for id, reasons := range why {
		k.why[id] = append(k.why[id], reasons...)
	}
	return err
}

// heldOrders adds the shipments with goods of an order on hold.
func (k readiness) heldOrders(shipments []string) error {
	return k.Query(`
		SELECT DISTINCT l.shipment_id, o.order_no
		FROM shipment_lines l
		JOIN orders o ON o.tenant_id = $1 AND o.id = l.order_id
		WHERE l.tenant_id = $1
			AND l.shipment_id IN {ids $2}
			AND o.status = 'on_hold'
		ORDER BY 1, 2`,
		[]any{k.TenantID, jsonList(shipments)}, func(r *db.Row) error {
			k.why[r.Text(0)] = append(k.why[r.Text(0)], "order "+r.Text(1)+" is on hold")
			return nil
		})
}

// barredLotsSQL selects the lots in packages of shipments. $1 tenant, $2 ids of
// shipments.
const barredLotsSQL = `
	SELECT DISTINCT package.shipment_id, lot.lot_no, lot.status, lot.expires_on, COALESCE(item.min_remaining_days, 0)
	FROM packages AS package
	JOIN package_lines AS content ON content.tenant_id = $1 AND content.package_id = package.id
	JOIN lots AS lot ON lot.tenant_id = $1 AND lot.id = content.lot_id
	JOIN items AS item ON item.tenant_id = $1 AND item.id = content.item_id
	WHERE package.tenant_id = $1
		AND {shipments}
		AND package.status <> 'emptied'
	ORDER BY 1, 2`

// barredLots adds the shipments whose packages hold a lot that may not leave.
func (k readiness) barredLots(shipments []string) error {
	ru := queueRules(k.Tx.Tx, k.TenantID, k.Now())
	text := strings.ReplaceAll(barredLotsSQL, "{shipments}", k.DB().InUUID("package.shipment_id", 2))
	return k.Query(text, []any{k.TenantID, jsonList(shipments)}, func(r *db.Row) error {
		if bar := inventory.LotBarReason(r.Text(2), r.Text(3), ru.localToday(), r.Int(4)); bar != "" {
			k.why[r.Text(0)] = append(k.why[r.Text(0)], "lot "+r.Text(1)+" "+bar)
		}
		return nil
	})
}

// readNamed reads the records that shipments which leave name in a field, and adds
// to those of the own fleet, which have no carrier, that one has to be named.
func readNamed[R record.Kind](
	k readiness, changes []store.Change, column func(record.Shipment) string, what string,
) (map[string]R, error) {
	var ids set
	for _, c := range record.Changes[record.Shipment](changes) {
		if !isDeparture(c) {
			continue
		}
		ids.addID(column(c.After))
		if column(c.After) == "" && !c.After.HasCarrier() {
			id := c.After.ID()
			k.why[id] = append(k.why[id], "it goes with the own fleet and names no "+what)
		}
	}
	out := map[string]R{}
	if len(ids.list) == 0 {
		return out, nil
	}
	rows, err := record.List[R](k.Tx, k.DB().InUUID("id", 2)+" ORDER BY id"+k.DB().ForUpdate(), jsonList(ids.list))
	for _, r := range rows {
		out[record.IDOf(r)] = r
	}
	return out, err
}

// driversUnfit adds why drivers may not drive today.
func (k readiness) driversUnfit(changes []store.Change) error {
	drivers, err := readNamed[record.Driver](k, changes, record.Shipment.DriverID, "driver")
	if err != nil || len(drivers) == 0 {
		return err
	}
	today, err := readLocalToday(k.Tx)
	if err != nil {
		return err
	}
	var workers set
	for _, d := range drivers {
		workers.addID(d.WorkerID())
	}
	lacking, err := crew.ListMissingCertificates(k.Tx, workers.list, today)
	if err != nil {
		return err
	}
	unfit := map[string][]string{}
	for id, d := range drivers {
		if st := d.Status(); st == "suspended" || st == "off_duty" || d.HasArchivedAt() {
			unfit[id] = append(unfit[id], "the driver is "+strings.ReplaceAll(st, "_", " "))
		}
		if on := d.LicenceExpiresOn(); on != "" && on < today {
			unfit[id] = append(unfit[id], "the driver's licence expired on "+on)
		}
		unfit[id] = append(unfit[id], lacking[d.WorkerID()]...)
	}
	for _, c := range record.Changes[record.Shipment](changes) {
		if isDeparture(c) {
			k.why[c.After.ID()] = append(k.why[c.After.ID()], unfit[c.After.DriverID()]...)
		}
	}
	return nil
}

// vehiclesUnfit adds why vehicles may not go today.
func (k readiness) vehiclesUnfit(changes []store.Change) error {
	vehicles, err := readNamed[record.Vehicle](k, changes, record.Shipment.VehicleID, "vehicle")
	if err != nil || len(vehicles) == 0 {
		return err
	}
	today, err := readLocalToday(k.Tx)
	if err != nil {
		return err
	}
	out, err := k.outWith(vehicles)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.Shipment](changes) {
		v := vehicles[c.After.VehicleID()]
		if v == nil || !isDeparture(c) {
			continue
		}
		id := c.After.ID()
		if st := v.Status(); st != "in_service" || v.HasArchivedAt() {
			k.why[id] = append(k.why[id], "the vehicle is "+strings.ReplaceAll(st, "_", " "))
		}
		if due := v.InspectionDueOn(); due != "" && due < today {
			k.why[id] = append(k.why[id], "the vehicle's inspection was due on "+due)
		}
		if with := out[v.ID()]; with != "" && with != c.After.DriverID() {
			k.why[id] = append(k.why[id], "the vehicle is out with another driver")
		}
	}
	return nil
}

// outWith says with which driver vehicles are on the road.
func (k readiness) outWith(vehicles map[string]record.Vehicle) (map[string]string, error) {
	out := map[string]string{}
	ids := slices.Sorted(maps.Keys(vehicles))
	err := k.Query(db.FillWords(`
		SELECT s.vehicle_id, s.driver_id
		FROM shipments s
		WHERE s.tenant_id = $1
			AND s.vehicle_id IN {ids $2}
			AND s.driver_id IS NOT NULL
			AND {on road}
		UNION
		SELECT o.vehicle_id, o.driver_id
		FROM routes o
		WHERE o.tenant_id = $1
			AND o.vehicle_id IN {ids $2}
			AND o.status = 'started'
		ORDER BY 1, 2`, "{on road}", crew.OnRoadSQL),
		[]any{k.TenantID, jsonList(ids)}, func(r *db.Row) error {
			out[r.Text(0)] = r.Text(1)
			return nil
		})
	return out, err
}

// notLeaving refuses a shipment that may not leave.
func notLeaving(why []string) *fault.Error {
	return fault.New(fault.Conflict, CodeDispatch, "the shipment may not leave: %s", why[0]).With(strings.Join(why, "; "),
		"").At("shipment_id", "may not leave")
}

// lockOrders locks the orders of shipments that are to leave.
func (k readiness) lockOrders(changes []store.Change) error {
	var orders set
	for _, c := range record.Changes[record.Shipment](changes) {
		if isDeparture(c) {
			for _, id := range store.Texts(c.After.OrderIDsOrNull()) {
				orders.addID(id)
			}
		}
	}
	_, err := locking.LockRows[record.Order](k.Tx, orders.list)
	return err
}
