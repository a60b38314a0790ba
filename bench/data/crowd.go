package data

import (
	"context"
	"fmt"
	"time"
)

// Crowd is a tenant of many workers with incidents and shifts over 90 days,
// one of each to be shared out at random: what scores are made of.
type Crowd struct {
	Tenant  Tenant
	Workers int
	Events  int // incidents, and as many shifts
}

// WorkerID is the nth worker's id; its last six digits are 100000 + n.
func WorkerID(n int) string { return crowdID("0001", n) }

func crowdID(kind string, n int) string {
	return fmt.Sprintf("0190e000-%s-7000-8000-%06d%06d", kind, (100_000+n)/1_000_000, (100_000+n)%1_000_000)
}

// WriteCrowd makes the tenant with ten zones; regulations are left to the caller.
func WriteCrowd(ctx context.Context, to Target, c Crowd, now time.Time) error {
	if err := WriteTenant(ctx, to.DB, c.Tenant); err != nil {
		return fmt.Errorf("data: crowd: %w", err)
	}
	now = now.UTC().Truncate(time.Second)
	at := func(i int) time.Time { return now.Add(-time.Duration(i*7%(90*24*3600)) * time.Second) }
	kinds := []string{"near_miss", "hazard", "near_miss", "injury", "property_damage"}
	id := c.Tenant.ID
	made := []string{"tenant_id", "id", "created_at", "updated_at", "version"}
	cols := func(more ...string) []string { return append(made[:5:5], more...) }
	for _, t := range []struct {
		table string
		cols  []string
		n     int
		row   func(i int) []any
	}{
		{"zones", cols("code", "name", "kind", "max_capacity", "x", "y", "z", "storage_class", "mix_policy", "hazard_tags",
			"status", "load_units", "pick_sequence"), 10, func(i int) []any {
			return []any{id, crowdID("0004", i), now, now, 1, fmt.Sprint("Z", i), "Zone", "area", 0, 0, 0, 0, "ambient", "any",
				"[]", "active", 0, i}
		}},
		{"workers", cols("employee_no", "name", "employment", "supervised", "status"), c.Workers, func(i int) []any {
			return []any{id, WorkerID(i), now, now, 1, fmt.Sprint("N", i), "W", "employee", false, "active"}
		}},
		{"incidents", cols("incident_no", "kind", "severity", "status", "title", "occurred_at", "reported_at", "anonymous",
			"entities", "category_tags", "root_causes", "confidential", "reader_ids"), c.Events, func(i int) []any {
			return []any{id, crowdID("0002", i), now, now, 1, fmt.Sprint("I", i), kinds[i%5], "low", "closed", "x", at(i), at(i),
				true, "[]", "[]", "[]", false, "[]"}
		}},
		{"incident_entities", []string{"tenant_id", "incident_id", "entity_type", "entity_id", "at", "kind", "severity"},
			c.Events, func(i int) []any {
				return []any{id, crowdID("0002", i), "worker", WorkerID(i * 7919 % c.Workers), at(i), kinds[i%5], "low"}
			}},
		{"shifts", cols("worker_id", "started_at", "ended_at", "break_minutes", "hours", "units_done", "source", "status"),
			c.Events, func(i int) []any {
				return []any{id, crowdID("0003", i), now, now, 1, WorkerID(i * 104_729 % c.Workers), at(i).Add(-8 * time.Hour),
					at(i), 30, 75_000, 4_500_000, "clock", "approved"}
			}},
	} {
		if err := to.put(ctx, id, t.table, t.cols, t.n, func(i int, args []any) []any {
			return append(args, t.row(i)...)
		}); err != nil {
			return fmt.Errorf("data: crowd: %w", err)
		}
	}
	return to.DB.Analyze(ctx, "workers", "incidents", "incident_entities", "shifts")
}
