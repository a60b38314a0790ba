package warehouse

import (
	"slices"

	"holdfast/internal/store"
	"holdfast/internal/warehouse/packing"
)

// ending is the end of what was made for order lines that are no longer wanted.
type ending struct {
	work
	orderLines []string
}

// emptyPackages takes goods of order lines out of the packages that have not left. The
// goods lie in the lane again; goods of other orders stay packed, those of a closed
// package in an open one like it. The caller holds the orders.
func (k ending) emptyPackages() error {
	contents, err := packing.ReadContents(k.Tx, k.orderLines)
	if err != nil {
		return err
	}
	var ids, shipments set
	for _, c := range contents {
		ids.addID(c.PackageID)
	}
	packages, err := lockRows(k.Tx, "packages", ids.list)
	if err != nil {
		return err
	}
	var spent []string
	for _, p := range packages {
		held, err := packing.ReadContentsOfPackage(k.Tx, p.Text("id"))
		if err != nil {
			return err
		}
		rest := slices.Clone(held)
		for i := range rest {
			if slices.Contains(k.orderLines, rest[i].OrderLineID) {
				rest[i].Quantity = 0
			}
		}
		if _, err := packing.EmptyPackage(k.Tx, p, held, rest); err != nil {
			return err
		}
		shipments.addID(p.Text("shipment_id"))
		spent = append(spent, p.Text("sscc"))
	}
	for _, id := range shipments.list {
		if err := k.settleShipment(id, spent...); err != nil {
			return err
		}
	}
	return nil
}

// leaveShipments takes order lines off the shipments that have not left. A shipment
// that carries nothing else is cancelled and keeps its lines as what it was made for.
func (k ending) leaveShipments() error {
	loads, err := packing.ReadLoadsOfLines(k.Tx, k.orderLines)
	if err != nil || len(loads) == 0 {
		return err
	}
	var shipments set
	for _, l := range loads {
		shipments.addID(l.ShipmentID)
	}
	locked, err := lockRows(k.Tx, "shipments", shipments.list)
	if err != nil {
		return err
	}
	lines, err := k.Rows("shipment_lines", k.DB().InUUID("shipment_id", 2)+" ORDER BY id", jsonList(shipments.list))
	if err != nil {
		return err
	}
	var ended []string
	for _, sh := range locked {
		isOver, err := k.dropLines(sh, lines)
		if err != nil {
			return err
		}
		if isOver {
			ended = append(ended, sh.Text("id"))
		}
	}
	return k.UpdateRows("shipments", ended, store.Row{"status": "cancelled"})
}

// dropLines deletes the lines of a shipment that carry order lines, and the orders that
// it carries nothing else of. It deletes nothing and returns true where no line would
// be left.
func (k ending) dropLines(sh store.Row, lines []store.Row) (isOver bool, err error) {
	id := sh.Text("id")
	var gone []string
	var orders set
	for _, l := range lines {
		switch {
		case l.Text("shipment_id") != id:
		case slices.Contains(k.orderLines, l.Text("order_line_id")):
			gone = append(gone, l.Text("id"))
		default:
			orders.addID(l.Text("order_id"))
		}
	}
	if len(orders.list) == 0 {
		return true, nil
	}
	if err := k.DeleteRows("shipment_lines", gone); err != nil {
		return false, err
	}
	if err := k.UpdateRows("shipments", []string{id}, store.Row{"order_ids": orders.list}); err != nil {
		return false, err
	}
	return false, k.settleShipment(id)
}

// endWaves cancels the planned waves whose orders are all cancelled.
func (k ending) endWaves() error {
	waves, err := k.Rows("waves", "status = 'planned' ORDER BY id")
	if err != nil {
		return err
	}
	var orders set
	for _, w := range waves {
		for _, id := range store.Texts(w["order_ids"]) {
			orders.addID(id)
		}
	}
	alive, err := k.Rows("orders", k.DB().InUUID("id", 2)+" AND status <> 'cancelled'", jsonList(orders.list))
	if err != nil {
		return err
	}
	ids := store.TextColumn(alive, "id")
	var over []string
	for _, w := range waves {
		if !slices.ContainsFunc(store.Texts(w["order_ids"]), func(id string) bool { return slices.Contains(ids, id) }) {
			over = append(over, w.Text("id"))
		}
	}
	return k.UpdateRows("waves", over, store.Row{"status": "cancelled"})
}
