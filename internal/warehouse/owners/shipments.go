package owners

import (
	"fmt"
	"slices"

	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// NameOwners notes of shipments whose goods they carry: their orders' owner, nobody
// where they are of several.
func NameOwners(tx *store.Tx, shipments []store.Change) error {
	var orders []string
	for _, c := range record.Changes[record.Shipment](shipments) {
		if c.After != nil {
			orders = append(orders, store.Texts(c.After.OrderIDsOrNull())...)
		}
	}
	owners, err := readOwners(tx, slices.Compact(slices.Sorted(slices.Values(orders))))
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.Shipment](shipments) {
		if c.After != nil {
			c.After.SetOwnerIDOrNull(ownerOfAll(owners, store.Texts(c.After.OrderIDsOrNull())))
		}
	}
	return nil
}

// readOwners reads whose goods orders take, nil for the tenant's own, by order.
func readOwners(tx *store.Tx, orders []string) (map[string]any, error) {
	owners := map[string]any{}
	if len(orders) == 0 {
		return owners, nil
	}
	rows, err := record.List[record.Order](tx, tx.DB().InUUID("id", 2), query.List(orders))
	if err != nil {
		return nil, fmt.Errorf("owners: orders of shipments: %w", err)
	}
	for _, o := range rows {
		owners[o.ID()] = o.OwnerIDOrNull()
	}
	return owners, nil
}

// ownerOfAll is the owner of all the orders, nil where they are of several.
func ownerOfAll(owners map[string]any, orders []string) any {
	for _, id := range orders {
		if owners[id] != owners[orders[0]] {
			return nil
		}
	}
	if len(orders) == 0 {
		return nil
	}
	return owners[orders[0]]
}
