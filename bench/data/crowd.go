package data

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/safety"
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

// WriteCrowd makes the tenant, with a zone and the shipped regulations left to
// the caller.
func WriteCrowd(ctx context.Context, d *db.DB, c Crowd, now time.Time) error {
	if err := WriteTenant(ctx, d, c.Tenant); err != nil {
		return fmt.Errorf("data: crowd: %w", err)
	}
	now = now.UTC().Truncate(time.Second)
	at := func(i int) time.Time { return now.Add(-time.Duration(i*7%(90*24*3600)) * time.Second) }
	kinds := []string{"near_miss", "hazard", "near_miss", "injury", "property_damage"}
	id, tenant := c.Tenant.ID, Column("tenant_id", "uuid")
	made := []safety.Column{tenant, Column("id", "uuid"), Column("created_at", "timestamptz"), Column("updated_at", "timestamptz"), Column("version", "bigint")}
	for _, t := range []struct {
		table string
		cols  []safety.Column
		n     int
		row   func(i int) []any
	}{
		{"zones", append(made[:5:5], Column("code", "text"), Column("name", "text"), Column("kind", "text"), Column("max_capacity", "bigint"), Column("x", "bigint"), Column("y", "bigint"),
			Column("z", "bigint"), Column("storage_class", "text"), Column("mix_policy", "text"), Column("hazard_tags", "text"), Column("status", "text"), Column("load_units", "bigint"), Column("pick_sequence", "bigint")), 10,
			func(i int) []any {
				return []any{id, crowdID("0004", i), now, now, 1, fmt.Sprint("Z", i), "Zone", "area", 0, 0, 0, 0, "ambient", "any", "[]", "active", 0, i}
			}},
		{"workers", append(made[:5:5], Column("employee_no", "text"), Column("name", "text"), Column("employment", "text"), Column("status", "text")), c.Workers, func(i int) []any {
			return []any{id, WorkerID(i), now, now, 1, fmt.Sprint("N", i), "W", "employee", "active"}
		}},
		{"incidents", append(made[:5:5], Column("kind", "text"), Column("severity", "text"), Column("status", "text"), Column("title", "text"), Column("occurred_at", "timestamptz"),
			Column("reported_at", "timestamptz"), Column("anonymous", "boolean"), Column("entities", "text"), Column("category_tags", "text"), Column("attachments", "text"),
			Column("root_causes", "text")), c.Events, func(i int) []any {
			return []any{id, crowdID("0002", i), now, now, 1, kinds[i%5], "low", "closed", "x", at(i), at(i), true, "[]", "[]", "[]", "[]"}
		}},
		{"incident_entities", []safety.Column{tenant, Column("incident_id", "uuid"), Column("entity_type", "text"), Column("entity_id", "uuid"), Column("at", "timestamptz"), Column("kind", "text"),
			Column("severity", "text")}, c.Events, func(i int) []any {
			return []any{id, crowdID("0002", i), "worker", WorkerID(i * 7919 % c.Workers), at(i), kinds[i%5], "low"}
		}},
		{"shifts", append(made[:5:5], Column("worker_id", "uuid"), Column("started_at", "timestamptz"), Column("ended_at", "timestamptz"), Column("break_minutes", "bigint"),
			Column("hours", "bigint"), Column("units_done", "bigint"), Column("source", "text"), Column("status", "text")), c.Events, func(i int) []any {
			return []any{id, crowdID("0003", i), now, now, 1, WorkerID(i * 104_729 % c.Workers), at(i).Add(-8 * time.Hour), at(i), 30, 75_000, 4_500_000, "clock", "approved"}
		}},
	} {
		if err := fill(ctx, d, id, t.table, t.cols, t.n, t.row); err != nil {
			return fmt.Errorf("data: crowd: %s: %w", t.table, err)
		}
	}
	return d.Analyze(ctx, "workers", "incidents", "incident_entities", "shifts")
}

// Column names a column and its type.
func Column(name, kind string) safety.Column { return safety.Column{Name: name, Type: kind} }

// fill writes rows in statements of many.
func fill(ctx context.Context, d *db.DB, tenant, table string, cols []safety.Column, n int, row func(i int) []any) error {
	const step = 100_000
	for from := 0; from < n; from += step {
		err := d.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
			rows := safety.NewRows(tx, table, cols, "")
			for i := from; i < min(from+step, n); i++ {
				if err := rows.Add(row(i)...); err != nil {
					return err
				}
			}
			return rows.Send()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
