// Package demo makes two tenants' believable, deterministic data: 90 days of a
// warehouse at work, ending now, with the stories a visitor looks for. The
// same day gives the same records; only today's moments move with the clock.
package demo

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/demo/bulk"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// Seed writes both tenants with all their records, members included, one
// transaction each. A tenant that exists is left alone.
func Seed(ctx context.Context, st *store.Store, now time.Time) error {
	for _, p := range []profile{north(), south()} {
		rows, err := build(p, now)
		if err != nil {
			return fmt.Errorf("demo: %s: %w", p.slug, err)
		}
		err = st.DB().Write(ctx, db.Scope{Tenant: p.id}, func(tx *db.Tx) error { return write(tx, st, p.id, rows) })
		if err != nil {
			return fmt.Errorf("demo: %s: %w", p.slug, err)
		}
	}
	return nil
}

// records are a tenant's rows by resource.
type records map[string][]store.Row

// resources are in the order in which references point backwards.
var resources = [...]string{"tenants", "sites", "teams", "workers", "vehicles", "drivers", "zones", "items", "item_barcodes", "lots", "stock_levels",
	"stock_movements", "stock_counts",
	"orders", "order_lines", "reservations", "pick_lists", "pick_lines", "shipments", "shipment_lines", "incidents", "actions", "import_jobs",
	"settings", "members", "audit"}

// write queues everything: it travels with the commit.
func write(tx *db.Tx, st *store.Store, tenant string, rows records) error {
	err := tx.One("SELECT 1 FROM tenants WHERE id = $1", []any{tenant}, func(*db.Row) error { return nil })
	if err == nil || !fault.Is(err, fault.NotFound) {
		return err
	}
	counters := map[string]int64{}
	for _, name := range resources {
		r, ok := st.Catalog().Get(name)
		if !ok {
			return fmt.Errorf("no resource %q", name)
		}
		bulk.Rows(tx, r, rows[name])
		bulk.Tally(counters, r, rows[name])
		sequences(tx, tenant, r, rows[name])
	}
	st.Count(tx, tenant, counters)
	if err := writeProgramme(tx, st, tenant, rows); err != nil {
		return err
	}
	return writeStatutory(tx, st, rows)
}

func sequences(tx *db.Tx, tenant string, r *catalog.Resource, rows []store.Row) {
	years, last := bulk.Sequences(r, rows)
	bulk.Insert(tx, "sequences", []string{"tenant_id", "name", "year", "value"}, len(years), func(i int, args []any) []any {
		return append(args, tenant, r.Name, years[i], last[years[i]])
	})
}
