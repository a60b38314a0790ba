// Package transfers carries goods of transfer orders from one site to another. What is
// shipped lies in a transit zone, where nobody is promised it, until it is received; what
// never arrives is written off when the order is closed. Stock is the same before and after.
//
// Layer: domains. Begin at [ReadGoods].
package transfers

import (
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Codes of faults, as package warehouse has them.
const (
	codeMovement = "HF003" // a movement that cannot be
	codeInUse    = "HF004" // what others rest on
	codeOrder    = "HF006" // the order is not ready for it
	codeOver     = "HF022" // more than may come in
	codeApproval = "HF023" // needs a second person
)

// ZoneKind is the kind of zones that goods in transit lie in.
const ZoneKind = "transit"

// NotOfTransfers admits, in SQL, rows of orders that are no transfers. $1 tenant.
const NotOfTransfers = `order_id IN (SELECT id FROM orders WHERE tenant_id = $1 AND type <> 'transfer')`

// StoppableSQL admits, in order, the stock of a lot that a recall puts on hold: what is
// available, promised to nobody and not in transit. $1 tenant, $2 lot.
const StoppableSQL = `
	lot_id = $2
		AND stock_status = 'available'
		AND quantity > reserved
		AND zone_id NOT IN (SELECT id FROM zones WHERE tenant_id = $1 AND kind = 'transit')
	ORDER BY stock_key`

// IsOf reports a transfer order.
func IsOf(order record.Order) bool { return order.Type() == "transfer" }

// CanShip reports an order whose goods are promised, picked, packed and shipped.
func CanShip(order record.Order) bool { return order.Type() == "outbound" || IsOf(order) }

// IsInTransit reports a transfer of which something was shipped and not received.
func IsInTransit(order record.Order) bool {
	return IsOf(order) && order.QtyShipped() > order.QtyReceived()
}

// IsLeg reports a movement into transit or out of it. The server alone sets its field.
func IsLeg(movement record.StockMovement) bool { return movement.HasOrderLineID() }

// CheckMovement refuses a movement that nobody's transfer makes into a transit zone or out
// of it, by the field that names the zone.
func CheckMovement(movement record.StockMovement, field, zone string) *fault.Error {
	if IsLeg(movement) {
		return nil
	}
	return fault.New(fault.Conflict, codeMovement, "zone %s is for goods in transit", zone).
		With("", "take them in with receive under their transfer order; close_order writes off what is lost").
		At(field, "is for goods in transit")
}

// CheckOrder holds an order to the sites of its type: a transfer goes from one to another.
func CheckOrder(c record.Change[record.Order]) *fault.Error {
	if c.After == nil {
		return nil
	}
	from, to := c.After.SiteID(), c.After.ToSiteID()
	isConfirmed := c.Op == store.Update && c.Before.Status() == "draft" && c.After.Status() == "confirmed"
	isLater := c.Op == store.Update && c.Before.Status() != "draft"
	changes := isLater && (c.Before.SiteID() != from || c.Before.ToSiteID() != to)
	switch {
	case to != "" && !IsOf(c.After):
		return fault.New(fault.Invalid, "22023", "to_site_id: an order that is no transfer goes to no other site").
			At("to_site_id", "is for transfers")
	case to != "" && to == from:
		return fault.New(fault.Invalid, "22023", "to_site_id: a transfer goes from one site to another").
			At("to_site_id", "is the site that the goods come from")
	case !IsOf(c.After) || !isConfirmed && !changes:
		return nil
	case from == "":
		return refuseWithout(c.After, "site_id", "come from")
	case to == "":
		return refuseWithout(c.After, "to_site_id", "go to")
	case changes && c.Before.QtyShipped() != 0:
		return fault.New(fault.Conflict, codeInUse, "goods of the transfer have left for its site").
			With("", "receive them at either of its sites, then bring them elsewhere by another transfer").
			At("to_site_id", "is kept as it is")
	}
	return nil
}

// refuseWithout refuses to work on a transfer that lacks a site.
func refuseWithout(order record.Order, field, way string) *fault.Error {
	no := order.OrderNo()
	return fault.New(fault.Conflict, codeOrder, "transfer %s has no site that its goods %s", no, way).
		With("", "set "+field+" of the order").At(field, "is required of a transfer")
}

// RefuseUnshipped says of a transfer that nothing of it is in transit.
func RefuseUnshipped(number string) error {
	return fault.New(fault.Conflict, codeOrder, "nothing of transfer %s has left its site", number).
		With("", "pick and pack its goods and dispatch their shipment first").
		At("order_id", "has nothing in transit")
}

// notEmptySQL selects the first of some zones that holds stock. $1 tenant, $2 ids.
const notEmptySQL = `
	SELECT zone.code
	FROM zones AS zone
	WHERE zone.tenant_id = $1
		AND zone.id IN {ids $2}
		AND EXISTS (
			SELECT 1
			FROM stock_levels AS level
			WHERE level.tenant_id = $1
				AND level.zone_id = zone.id
				AND level.quantity > 0
		)
	ORDER BY zone.code
	LIMIT 1`

// CheckZones refuses zones that hold stock and become a place for goods in transit, or
// cease to be one.
func CheckZones(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.Zone](changes) {
		if c.Op == store.Update && (c.Before.Kind() == ZoneKind) != (c.After.Kind() == ZoneKind) {
			ids = append(ids, c.After.ID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return tx.Query(notEmptySQL, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		return fault.New(fault.Conflict, codeInUse, "zone %s holds stock", r.Text(0)).
			With("", "empty the zone first: a zone of kind transit holds goods of transfers alone").
			At("kind", "the zone is not empty")
	})
}

// onTheWaySQL selects transfers of which goods left with some shipments and are in transit.
// $1 tenant, $2 ids of shipments.
const onTheWaySQL = `
	SELECT shipment.shipment_no, orders.order_no, origin.code, target.code
	FROM shipments AS shipment
	JOIN shipment_lines AS load ON load.tenant_id = $1 AND load.shipment_id = shipment.id
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.id = load.order_line_id
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	LEFT JOIN sites AS origin ON origin.tenant_id = $1 AND origin.id = orders.site_id
	LEFT JOIN sites AS target ON target.tenant_id = $1 AND target.id = orders.to_site_id
	WHERE shipment.tenant_id = $1
		AND shipment.id IN {ids $2}
		AND orders.type = 'transfer'
		AND orders.status <> 'completed'
		AND load.qty_shipped > 0
		AND line.qty_shipped > line.qty_received
	ORDER BY shipment.id, orders.id
	LIMIT 1`

// CheckReturned refuses to take back shipments of which goods are in transit: a transfer
// takes them in itself, at either of its sites.
func CheckReturned(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.Shipment](changes) {
		if c.Op == store.Update && c.After.Status() == "returned" && c.Before.Status() != "returned" {
			ids = append(ids, c.After.ID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	err := tx.Query(onTheWaySQL, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		const why = "goods of transfer %s are in transit with shipment %s"
		hint := fmt.Sprintf("receive them under the transfer at site %s, where they left, or at %s", r.Text(2), r.Text(3))
		return fault.New(fault.Conflict, codeOrder, why, r.Text(1), r.Text(0)).
			With("", hint).
			At("shipment_id", "carries goods of a transfer")
	})
	if err != nil {
		return fmt.Errorf("transfers: shipments that come back: %w", err)
	}
	return nil
}
