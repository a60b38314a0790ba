package warehouse

import (
	"slices"

	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
)

// identityOf is the lot and piece that a row names.
func identityOf(r interface {
	LotID() string
	Serial() string
}) *packing.Identity {
	return &packing.Identity{LotID: r.LotID(), Serial: r.Serial()}
}

// listUnpacked says what of shipments that have not left is not in their own
// packages, by their id.
func (k work) listUnpacked(shipments []string) (map[string][]string, error) {
	loads, err := packing.ReadLoadsOfShipments(k.Tx, shipments)
	if err != nil {
		return nil, err
	}
	why := map[string][]string{}
	for _, l := range loads {
		if reason := l.MissingReason(); reason != "" {
			why[l.ShipmentID] = append(why[l.ShipmentID], reason)
		}
	}
	return why, nil
}

// checkPacked refuses outbound shipments that become packed or ready while their own
// packages do not hold their lines.
func (k work) checkPacked(changes []store.Change) error {
	var ids set
	for _, c := range record.Changes[record.Shipment](changes) {
		if c.Op == store.Update && (c.Becomes(record.Shipment.Status, "packed") ||
			c.Becomes(record.Shipment.Status, "ready")) {
			ids.addID(c.After.ID())
		}
	}
	why, err := k.listUnpacked(ids.list)
	if err != nil {
		return err
	}
	for _, id := range ids.list {
		if r := why[id]; len(r) > 0 {
			return notReady("the shipment's packages do not hold its goods: %s", r[0]).At("status", "%s", r[0])
		}
	}
	return nil
}

// settleShipment brings a shipment that has not left to the state that its packages
// mean: packed once they hold its lines, ready once they are closed as well, planned
// when goods were taken out. Its SSCCs are those of its closed packages, and what else
// it had but for spent.
func (k work) settleShipment(id string, spent ...string) error {
	if id == "" {
		return nil
	}
	rows, err := locking.LockRows[record.Shipment](k.Tx, []string{id})
	if err != nil || len(rows) == 0 {
		return err
	}
	at := slices.Index(road[:3], rows[0].Status())
	if at < 0 {
		return nil
	}
	why, err := k.listUnpacked([]string{id})
	if err != nil {
		return err
	}
	contents, err := packing.ReadContentsOfShipments(k.Tx, []string{id})
	if err != nil {
		return err
	}
	if err := packing.KeepSSCCs(k.Tx, rows[0], contents, spent); err != nil {
		return err
	}
	isOpen := slices.ContainsFunc(contents, func(c packing.Content) bool { return c.Status == "open" })
	if len(why[id]) > 0 || len(contents) == 0 {
		if at == 0 {
			return nil
		}
		return k.UpdateRows("shipments", []string{id}, store.Row{"status": "planned"})
	}
	end := 2
	if isOpen {
		end = 1
	}
	for ; at < end; at++ {
		if err := k.UpdateRows("shipments", []string{id}, store.Row{"status": road[at+1]}); err != nil {
			return err
		}
	}
	return nil
}

// claimPackages gives a shipment the packages that no shipment takes yet and whose
// whole contents it lacks.
func (k work) claimPackages(shipment string) error {
	loads, err := packing.ReadLoadsOfShipments(k.Tx, []string{shipment})
	if err != nil {
		return err
	}
	var lines, ids set
	for _, l := range loads {
		lines.addID(l.OrderLineID)
	}
	list, err := packing.Unassigned(k.Tx, lines.list)
	if err != nil {
		return err
	}
	for _, contents := range packing.Fill(loads, list) {
		ids.addID(contents[0].PackageID)
	}
	return k.UpdateRows("packages", ids.list, store.Row{"shipment_id": shipment})
}

// freePackages lets the packages of cancelled shipments go with none: they wait for
// another one, or to be unpacked. Empty ones end.
func (k work) freePackages(shipments []string) error {
	held, err := packing.ReadPackages(k.Tx, shipments)
	if err != nil {
		return err
	}
	var sets []record.Package
	var empty []string
	for _, p := range held {
		if p.Orders == 0 {
			empty = append(empty, p.ID)
			continue
		}
		set := store.Row{"id": p.ID, "shipment_id": nil}
		if p.Orders == 1 {
			set["order_id"] = p.OrderID
		}
		sets = append(sets, record.Package(set))
	}
	if err := k.UpdateEach("packages", record.Rows(sets)); err != nil {
		return err
	}
	return packing.EndPackages(k.Tx, empty)
}
