package main

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/data"
)

// vast compares what screens ask for in a tenant with -orders orders and as many
// items with the same in one of 10^4 of each: lists in the orders that people
// choose, the dashboard's snapshot, and the summary of the inventory.
func vast(ctx context.Context, m *measurement, engine string) (err error) {
	tenants := []data.Tenant{data.Vast(1, 10_000), data.Vast(2, m.orders)}
	s, err := openedSite(ctx, m.options, engine, tenants...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	size := fmt.Sprintf("CPU at %d / at 10000", m.orders)
	for _, c := range []struct {
		title, path string
		conns       int
	}{
		{"list by created_at, " + size, listPath + "&order=created_at.desc", 8},
		{"list by order_no, " + size, listPath + "&order=order_no.asc", 8},
		{"list by id, " + size, listPath + "&order=id.desc", 8},
		{"items by sku, " + size, "/rest/v1/items?select=id,sku,name,on_hand&order=sku.desc&limit=50", 8},
		{"snapshot made anew, " + size, missPath, 8},
	} {
		if err := m.grown(ctx, s, c.title, c.conns, c.path, 1.3, tenants...); err != nil {
			return err
		}
	}
	if err := m.room(ctx, s, tenants...); err != nil {
		return err
	}
	return m.grown(ctx, s, "summary, "+size, 1, summaryPath, 1.3, tenants...) // it has one key: one at a time
}
