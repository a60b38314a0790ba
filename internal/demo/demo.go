// Package demo makes two tenants' believable, deterministic data: 90 days of a
// warehouse at work, ending now, with the stories a visitor looks for. The
// same day gives the same records; only today's moments move with the clock.
//
// Layer: functions. Begin at [Seed].
package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Seed writes both tenants with all their records, members included, one
// transaction each. A tenant that exists is left alone.
func Seed(ctx context.Context, st *store.Store, now time.Time, size Size) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for m := range makeAll(ctx, size.profilesOf(), now) {
		err := m.err
		if err == nil {
			err = st.DB().Write(ctx, db.Scope{Tenant: m.tenant.id}, func(tx *db.Tx) error {
				return writeRecords(st.In(tx, actor.Actor{TenantID: m.tenant.id}), m.rows)
			})
		}
		if err != nil {
			return fmt.Errorf("demo: %s: %w", m.tenant.slug, err)
		}
	}
	return ctx.Err()
}

// tenantMade is a tenant with its rows.
type tenantMade struct {
	tenant profile
	rows   records
	err    error
}

// makeAll makes tenants one after another, each while the one before it is
// written.
func makeAll(ctx context.Context, tenants []profile, now time.Time) <-chan tenantMade {
	out := make(chan tenantMade)
	go func() {
		defer close(out)
		for _, p := range tenants {
			rows, err := buildTenant(p, now)
			select {
			case out <- tenantMade{p, rows, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// records are a tenant's rows by resource.
type records map[string][]store.Row

// resources are in the order in which references point backwards.
var resources = [...]string{"tenants", "uoms", "sites", "teams", "workers", "vehicles", "drivers", "carriers", "zones",
	"items", "item_barcodes", "lots", "stock_levels",
	"stock_movements", "item_costs", "stock_counts",
	"orders", "order_lines", "reservations", "pick_lists", "pick_lines", "routes", "shipments", "shipment_lines",
	"packages", "package_lines", "incidents", "actions", "import_jobs", "settings", "members", "audit"}

// writeRecords loads everything, for a tenant that does not exist yet: it travels with
// the commit.
func writeRecords(tx *store.Tx, rows records) error {
	err := tx.One("SELECT 1 FROM tenants WHERE id = $1", []any{tx.TenantID}, func(*db.Row) error { return nil })
	if err == nil || !fault.Is(err, fault.NotFound) {
		return err
	}
	by := actor.Actor{TenantID: tx.TenantID, Role: actor.Service, KeyID: "demo"}
	for _, name := range slices.Concat(resources[:], programmeResources[:], statutoryResources[:],
		registerResources[:]) {
		if name == "audit" {
			if err := writeAudit(tx.Tx, tx.TenantID, rows[name]); err != nil {
				return err
			}
			continue
		}
		r, ok := tx.Store.Catalog().Get(name)
		if !ok {
			return fmt.Errorf("no resource %q", name)
		}
		b := tx.As(by).Bulk(r)
		if err := b.Load(rows[name]); err != nil {
			return err
		}
		b.Close()
	}
	return safety.Index(tx.Tx, tx.TenantID, rows["incidents"])
}

// writeAudit writes rows of the audit log by its own door: others would not pass for
// the server's.
func writeAudit(tx *db.Tx, tenant string, rows []store.Row) error {
	for _, r := range rows {
		e := audit.Entry{Tenant: tenant, Details: r["details"]}
		var at string
		for to, column := range map[*string]string{&at: "at", &e.By.UserID: "actor_user_id", &e.Action: "action",
			&e.EntityType: "entity_type", &e.EntityID: "entity_id"} {
			*to, _ = r[column].(string)
		}
		var err error
		if e.At, err = time.Parse(db.TimeLayout, at); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		audit.Write(tx, e)
	}
	return nil
}
