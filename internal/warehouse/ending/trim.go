package ending

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/packing"
)

// wantedSQL selects what is wanted of order lines and has not left, in base units. $1
// tenant, $2 ids.
const wantedSQL = `
	SELECT line.id, line.qty_ordered - line.qty_cancelled - line.qty_shipped
	FROM order_lines AS line
	WHERE line.tenant_id = $1
		AND {lines}`

// place is a line of a shipment.
type place struct{ shipment, orderLine string }

// TrimShipments takes what order lines no longer want off the shipments that have not
// left, from the last shipment on, and never what is packed. It returns the shipments
// that carry less now; those that carry nothing any more are cancelled.
func TrimShipments(tx *store.Tx, orderLines []string) (changed []string, err error) {
	loads, err := packing.ReadLoadsOfLines(tx, orderLines)
	if err != nil || len(loads) == 0 {
		return nil, err
	}
	excess, err := readExcess(tx, orderLines, loads)
	if err != nil {
		return nil, err
	}
	cuts := map[place]decimal.Dec{}
	var shipments []string
	slices.Reverse(loads)
	for _, l := range loads {
		cut := max(min(excess[l.OrderLineID], l.Lacks()), 0)
		if cut == 0 {
			continue
		}
		excess[l.OrderLineID] -= cut
		cuts[place{l.ShipmentID, l.OrderLineID}] = cut
		if !slices.Contains(shipments, l.ShipmentID) {
			shipments = append(shipments, l.ShipmentID)
		}
	}
	return cutShipments(tx, shipments, cuts)
}

// readExcess reads how much more of order lines shipments carry than is wanted.
func readExcess(tx *store.Tx, orderLines []string, loads []packing.Load) (map[string]decimal.Dec, error) {
	excess := map[string]decimal.Dec{}
	for _, l := range loads {
		excess[l.OrderLineID] += l.Quantity
	}
	text := strings.ReplaceAll(wantedSQL, "{lines}", tx.DB().InUUID("line.id", 2))
	err := tx.Query(text, []any{tx.TenantID, query.List(orderLines)}, func(r *db.Row) error {
		excess[r.Text(0)] -= r.Dec(1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ending: what is wanted of order lines: %w", err)
	}
	return excess, nil
}

// cutShipments takes quantities off lines of shipments.
func cutShipments(tx *store.Tx, shipments []string, cuts map[place]decimal.Dec) ([]string, error) {
	if len(shipments) == 0 {
		return nil, nil
	}
	loads, err := readLoads(tx, shipments)
	if err != nil {
		return nil, err
	}
	var sets []record.ShipmentLine
	gone := map[string]bool{}
	for _, l := range loads {
		switch cut := cuts[place{l.shipment, l.orderLine}]; cut {
		case 0:
		case l.quantity:
			gone[l.id] = true
		default:
			sets = append(sets, record.ShipmentLine{"id": l.id, "quantity": l.quantity - cut})
		}
	}
	if err := tx.UpdateEach("shipment_lines", record.Rows(sets)); err != nil {
		return nil, err
	}
	return leaveShipments(tx, shipments, func(l load) bool { return gone[l.id] }, nil)
}
