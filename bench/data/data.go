// Package data makes tenants of any size for measuring: plain numbers, fixed
// seed, written below the store with its counters.
package data

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/audit"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/pricing"
)

// Tenant says how many records a tenant has.
type Tenant struct {
	ID        string
	Name      string
	Zones     int
	Items     int  // with a stock level each
	Unstocked bool // items have no stock levels
	Orders    int
	Lines     int // per order
	Picks     int
	Shipments int
	Drivers   int // with a worker each
	Incidents int
	Actions   int
	Checks    int // inspections
	Jobs      int
	Days      int // over which records are spread; 0 = one every 37 seconds
}

// Levels is the number of stock levels.
func (t Tenant) Levels() int {
	if t.Unstocked {
		return 0
	}
	return t.Items
}

// Rows is the number of records.
func (t Tenant) Rows() int {
	return t.Zones + t.Items + t.Levels() + t.Orders*(1+t.Lines) + t.Picks + t.Shipments + 2*t.Drivers + t.Incidents +
		t.Actions + t.Checks + t.Jobs
}

// Number is the id of the nth tenant, from 1.
func Number(n int) string { return fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", n) }

// Standard is the nth tenant of the given scale: 1 = 200 zones, 5,000 items,
// 20,000 orders of 3 lines, 20,000 shipments, 20,000 incidents, 134,000
// records in all. Zones, drivers and jobs do not grow beyond scale 1.
func Standard(n int, scale float64) Tenant {
	of := func(full int, least float64) int { return max(1, int(float64(full)*max(least, scale))) }
	fixed := func(full int) int { return max(1, int(float64(full)*min(1, max(0.1, scale)))) }
	return Tenant{ID: Number(n), Name: fmt.Sprintf("Bench %d", n), Zones: fixed(200), Items: of(5000, 0),
		Orders: of(20_000, 0), Lines: 3, Picks: of(2000, 0),
		Shipments: of(20_000, 0), Drivers: fixed(500), Incidents: of(20_000, 0), Jobs: fixed(200)}
}

// Sized is the nth tenant with about so many records. Lists of 50 are full at
// any size from 10,000 on: only what lies behind them grows.
func Sized(n, rows int) Tenant {
	return Tenant{ID: Number(n), Name: fmt.Sprintf("Bench %d", n), Zones: 200, Items: rows / 10, Orders: rows * 15 / 100,
		Lines: 3, Picks: rows * 3 / 100, Shipments: rows / 10,
		Drivers: 100, Incidents: rows * 8 / 100, Jobs: 50}
}

// Reported is the nth tenant with a year of so many incidents, and a tenth of
// that in shipments, actions and inspections: what safety KPIs look back on.
func Reported(n, rows int) Tenant {
	return Tenant{ID: Number(n), Name: fmt.Sprintf("Bench %d", n), Zones: 20, Items: 100, Orders: 100, Lines: 1, Picks: 10,
		Shipments: rows / 10, Drivers: 10, Incidents: rows,
		Actions: rows / 10, Checks: rows / 10, Jobs: 10, Days: 365}
}

// Vast is the nth tenant with so many orders, as many items and little else.
func Vast(n, rows int) Tenant {
	return Tenant{ID: Number(n), Name: fmt.Sprintf("Bench %d", n), Zones: 20, Items: rows, Unstocked: true, Orders: rows,
		Picks: 10, Shipments: 10, Drivers: 10, Incidents: 10, Jobs: 10}
}

// Stocked is the nth tenant with so many items, and few other records.
func Stocked(n, items int) Tenant {
	return Tenant{ID: Number(n), Name: fmt.Sprintf("Bench %d", n), Zones: 200, Items: items, Orders: 200, Lines: 3,
		Picks: 200, Shipments: 200, Drivers: 20, Incidents: 100, Jobs: 10}
}

// chunk is how many rows share a transaction: a page that several of them
// change is written once.
const chunk = 1 << 16

// Target is where records go. Owner, if set, is a connection as the owner of
// PostgreSQL's tables, past row policy: large tables then travel by COPY.
type Target struct {
	DB    *db.DB
	Owner *pgx.Conn
}

// writer fills one tenant.
type writer struct {
	ctx    context.Context
	to     Target
	t      Tenant
	now    time.Time
	rng    *rand.Rand
	cat    *catalog.Catalog
	counts map[string]int64
}

// Write makes the tenant. It must not exist.
func Write(ctx context.Context, to Target, t Tenant, now time.Time) error {
	w := &writer{ctx: ctx, to: to, t: t, now: now.UTC().Truncate(time.Microsecond),
		rng: rand.New(rand.NewPCG(7, uint64(len(t.ID)+t.Rows()))), cat: catalog.Default(), counts: map[string]int64{}}
	for _, step := range []func() error{w.tenant, w.zones, w.items, w.levels, w.orders, w.lines, w.picks, w.people,
		w.drivers, w.shipments, w.incidents, w.actions, w.checks, w.jobs, w.counters} {
		if err := step(); err != nil {
			return fmt.Errorf("data: %s: %w", t.Name, err)
		}
	}
	return nil
}

// id is the nth record of a kind: a UUIDv7 whose time rises with n, one record
// every 37 seconds, so that the last ones are now.
func (w *writer) id(kind, n, of int) string {
	ms := w.made(n, of).UnixMilli()
	return fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", ms>>16, ms&0xffff, kind, n>>24&0xfff, n)
}

func (w *writer) made(n, of int) time.Time {
	step := 37 * time.Second
	if w.t.Days > 0 {
		step = time.Duration(w.t.Days) * 24 * time.Hour / time.Duration(of)
	}
	return w.now.Add(-time.Duration(of-n) * step)
}

// counted enters a record in its resource's counters.
func (w *writer) counted(name string, row store.Row) {
	r, _ := w.cat.Get(name)
	for i := range r.Counters {
		r.Counters[i].Add(w.counts, r, row, 1)
	}
}

// The kinds in ids.
const (
	zone = iota + 1
	item
	level
	order
	line
	pick
	worker
	driver
	shipment
	incident
	job
	action
	check
)

// table writes n rows with the common columns before those named.
func (w *writer) table(name string, kind, n int, cols []string, row func(i int, args []any) []any) error {
	all := append([]string{"tenant_id", "id", "created_at", "updated_at", "version"}, cols...)
	full := func(i int, args []any) []any {
		at := w.made(i, n)
		return row(i, append(args, w.t.ID, w.id(kind, i, n), at, at, 1))
	}
	return w.to.put(w.ctx, w.t.ID, name, all, n, full)
}

// put writes n rows of a tenant's table; row appends the values of row i to args.
func (to Target) put(
	ctx context.Context, tenant, table string, cols []string, n int, row func(i int, args []any) []any,
) error {
	if to.Owner != nil {
		if _, err := to.Owner.CopyFrom(ctx, pgx.Identifier{table}, cols, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			return row(i, nil), nil
		})); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		return nil
	}
	for from := 0; from < n; from += chunk {
		err := to.DB.Write(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
			insert(tx, table, cols, min(chunk, n-from), func(i int, args []any) []any { return row(from+i, args) })
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return nil
}

func of[T any](list []T, i int) T { return list[i%len(list)] }

func (w *writer) tenant() error { return WriteTenant(w.ctx, w.to.DB, w.t) }

// WriteTenant makes the tenant without records.
func WriteTenant(ctx context.Context, d *db.DB, t Tenant) error {
	return d.Write(ctx, db.Scope{Tenant: t.ID}, func(tx *db.Tx) error {
		tx.Queue(`INSERT INTO tenants (id, name, slug, plan, status, timezone, currency, jurisdictions, join_policy, email_domains, created_at, updated_at, version)
			VALUES ($1, $2, $3, 'custom', 'active', 'UTC', 'EUR', '[]', 'invite', '[]', $4, $4, 1)`,
			[]any{t.ID, t.Name, "bench-" + t.ID[24:], time.Now()}, nil)
		audit.Write(tx, audit.Entry{Tenant: t.ID, At: time.Now(), Action: audit.TenantCreated, EntityType: "tenants",
			EntityID: t.ID})
		return nil
	})
}

func (w *writer) zones() error {
	w.counts["zones:active"] = int64(w.t.Zones)
	each := max(1, w.t.Items/w.t.Zones)
	return w.table("zones", zone, w.t.Zones, []string{"code", "name", "kind", "x", "y", "z", "max_capacity",
		"pick_sequence", "storage_class", "mix_policy", "hazard_tags", "status",
		"load_units", "utilization"}, func(i int, args []any) []any {
		load := int64(each) * 120 * 10000
		return append(args, fmt.Sprintf("Z-%05d", i), fmt.Sprintf("Zone %d", i), "bin", int64(i%20)*25000, int64(i/20)*30000,
			int64(i%4)*16000, load*2, i, "ambient", "any", "[]", "active",
			load, 500000)
	})
}

// quantity of item i, scaled.
func quantity(i int) int64 { return int64(20+i%200) * 10000 }

func (w *writer) items() error {
	low := func(i int) bool { return i%25 == 0 }
	return w.table("items", item, w.t.Items, []string{"sku", "name", "category", "base_uom", "barcodes", "gtin",
		"tracking", "has_expiry", "unit_cost", "price", "weight_kg",
		"capacity_units", "reorder_point", "abc_class", "storage_class", "status", "on_hand", "available", "stock_value",
		"low_stock"},
		func(i int, args []any) []any {
			cost, q, reorder := int64(100+i%900)*100, quantity(i), int64(10*10000)
			if low(i) {
				reorder = q
			}
			value := q / 10000 * cost
			w.counts[fmt.Sprintf("items:active:%t", low(i))]++
			w.counts["items.stock_value"] += value
			return append(args, fmt.Sprintf("SKU-%07d", i), fmt.Sprintf("Item number %d, grade %d", i, i%7),
				fmt.Sprintf("Category %d", i%40), "EA", "[]", nil, "none", false, cost, cost*2, 5000,
				10000, reorder, of([]string{"A", "B", "C"}, i), "ambient", "active", q, q, value, low(i))
		})
}

func (w *writer) levels() error {
	return w.table("stock_levels", level, w.t.Levels(), []string{"zone_id", "item_id", "stock_status", "stock_key",
		"quantity", "reserved"}, func(i int, args []any) []any {
		z, it := w.id(zone, i%w.t.Zones, w.t.Zones), w.id(item, i, w.t.Items)
		return append(args, z, it, "available", it+"|"+z+"|||available|0:|", quantity(i), 0)
	})
}

// orderStates give one order in ten a state that lists look for.
var orderStates = []string{"completed", "completed", "completed", "confirmed", "completed", "completed", "completed",
	"cancelled", "completed", "in_progress"}

func (w *writer) orders() error {
	counted, _ := w.cat.Get("orders")
	return w.table("orders", order, w.t.Orders, []string{"order_no", "type", "status", "stage", "priority", "party_name",
		"party_code", "requested_at", "promised_at", "carrier", "tags",
		"line_count", "qty_ordered", "qty_allocated", "qty_picked", "qty_packed", "qty_shipped", "qty_received",
		"total_value"}, func(i int, args []any) []any {
		at, st := w.made(i, w.t.Orders), of(orderStates, i)
		row := map[string]any{"status": st, "stage": "unallocated",
			"promised_at": at.Add(48 * time.Hour).UTC().Format(db.TimeLayout)}
		for k := range counted.Counters {
			counted.Counters[k].Add(w.counts, counted, row, 1)
		}
		return append(args, fmt.Sprintf("BO-%09d", i), "outbound", st, "unallocated", 1+i%5,
			fmt.Sprintf("Customer %d", i%700), fmt.Sprintf("C%05d", i%700), at, at.Add(48*time.Hour), "OWN", "[]",
			w.t.Lines, int64(w.t.Lines)*50000, 0, 0, 0, 0, 0, int64(w.t.Lines)*50000*int64(1+i%40))
	})
}

// ordered is what each line of an order asks for.
const ordered = 5 * decimal.One

// lineAmounts are what the lines of orders 0 to 39 are worth: those cost 1 to 40, and the next begin anew.
func lineAmounts() (amounts [40]decimal.Dec, err error) {
	for o := range amounts {
		if amounts[o], err = pricing.MultiplyPrice(ordered, decimal.FromInt(int64(1+o)), decimal.One); err != nil {
			return amounts, err
		}
	}
	return amounts, nil
}

func (w *writer) lines() error {
	amounts, err := lineAmounts()
	if err != nil {
		return err
	}
	return w.table("order_lines", line, w.t.Orders*w.t.Lines,
		[]string{"order_id", "line_no", "item_id", "uom", "qty_ordered",
			"qty_cancelled", "qty_allocated", "qty_picked", "qty_packed",
			"qty_shipped", "qty_received", "unit_price", "price_qty", "amount"}, func(i int, args []any) []any {
			o := i / w.t.Lines
			return append(args, w.id(order, o, w.t.Orders), i%w.t.Lines+1, w.id(item, w.rng.IntN(w.t.Items), w.t.Items), "EA",
				int64(ordered), 0, 0, 0, 0, 0, 0, int64(1+o%40)*10000, int64(decimal.One), int64(amounts[o%40]))
		})
}

func (w *writer) picks() error {
	return w.table("pick_lists", pick, w.t.Picks, []string{"pick_no", "strategy", "status", "priority"},
		func(i int, args []any) []any {
			st := of([]string{"completed", "completed", "completed", "released", "completed", "in_progress", "completed",
				"completed", "cancelled", "draft"}, i)
			w.counts["pick_lists:"+st]++
			return append(args, fmt.Sprintf("BP-%09d", i), "batch", st, 3)
		})
}

func (w *writer) people() error {
	w.counts["workers:active"] = int64(w.t.Drivers)
	return w.table("workers", worker, w.t.Drivers,
		[]string{"employee_no", "name", "employment", "supervised", "status"},
		func(i int, args []any) []any {
			return append(args, fmt.Sprintf("E%06d", i), fmt.Sprintf("Worker %d", i), "employee", false, "active")
		})
}

func (w *writer) drivers() error {
	return w.table("drivers", driver, w.t.Drivers, []string{"worker_id", "licence_no", "licence_class", "status"},
		func(i int, args []any) []any {
			st := of([]string{"available", "on_trip", "off_duty", "assigned"}, i)
			w.counts["drivers:"+st]++
			return append(args, w.id(worker, i, w.t.Drivers), fmt.Sprintf("L%08d", i), "CE", st)
		})
}

func (w *writer) shipments() error {
	states := []string{"delivered", "delivered", "delivered", "delivered", "received", "delivered", "in_transit",
		"delivered", "planned", "delivered"}
	return w.table("shipments", shipment, w.t.Shipments, []string{"shipment_no", "direction", "status", "order_ids",
		"carrier", "sscc", "packages", "planned_at", "completed_at"},
		func(i int, args []any) []any {
			at, st := w.made(i, w.t.Shipments), of(states, i)
			var done any
			if st == "delivered" || st == "received" {
				done = at.Add(time.Hour)
			}
			w.counted("shipments", store.Row{"status": st, "completed_at": done})
			return append(args, fmt.Sprintf("BS-%09d", i), "outbound", st, "[]", "OWN", "[]", "[]", at, done)
		})
}

func (w *writer) incidents() error {
	kinds := []string{"near_miss", "hazard", "near_miss", "injury", "property_damage", "near_miss", "hazard"}
	severities := []string{"low", "low", "medium", "low", "high", "low", "medium", "low", "low", "low", "critical"}
	return w.table("incidents", incident, w.t.Incidents, []string{"incident_no", "kind", "severity", "status", "title",
		"description", "occurred_at", "reported_at", "anonymous", "zone_id",
		"entities", "category_tags", "likelihood", "risk_rating", "root_causes", "confidential", "reader_ids"},
		func(i int, args []any) []any {
			at, st, sev, kind := w.made(i, w.t.Incidents), "closed", of(severities, i), of(kinds, i)
			if i > w.t.Incidents*9/10 {
				st = of([]string{"reported", "triaged", "investigating"}, i)
			}
			w.counted("incidents", store.Row{"status": st, "severity": sev, "kind": kind, "reported_at": at})
			return append(args, fmt.Sprintf("BI-%09d", i), kind, sev, st, fmt.Sprintf("Event %d at the dock", i),
				"Noted during the round; the area was secured and the shift leader informed.", at, at, false,
				w.id(zone, i%w.t.Zones, w.t.Zones), "[]", `["slip_trip"]`, 3, 3, "[]", false, "[]")
		})
}

func (w *writer) actions() error {
	return w.table("actions", action, w.t.Actions, []string{"action_no", "title", "type", "source", "priority", "status",
		"due_at", "evidence"}, func(i int, args []any) []any {
		at, st := w.made(i, w.t.Actions), of([]string{"verified", "verified", "open", "cancelled", "in_progress"}, i)
		w.counted("actions", store.Row{"status": st, "due_at": at})
		return append(args, fmt.Sprintf("BA-%09d", i), "Put it right", "corrective", "manual", "medium", st, at, "[]")
	})
}

func (w *writer) checks() error {
	columns := []string{"title", "zone_id", "due_at", "grace_minutes", "deadline_at", "status", "on_time"}
	return w.table("checklist_runs", check, w.t.Checks, columns,
		func(i int, args []any) []any {
			at, st, on := w.made(i, w.t.Checks), "completed", any(i%9 > 0)
			if i%10 == 0 {
				st, on = "missed", nil
			}
			late := at.Add(time.Hour)
			w.counted("checklist_runs", store.Row{"status": st, "deadline_at": late, "on_time": on})
			return append(args, "Round", w.id(zone, i%w.t.Zones, w.t.Zones), at, 60, late, st, on)
		})
}

func (w *writer) jobs() error {
	return w.table("import_jobs", job, w.t.Jobs, []string{"job_no", "target", "file_name", "file_type", "size", "options",
		"total_rows", "valid_rows", "invalid_rows", "imported_count",
		"rolled_back_count", "status"}, func(i int, args []any) []any {
		st := of([]string{"completed", "completed", "failed"}, i)
		n := 0
		if st == "completed" {
			n = 100
		}
		w.counts["import_jobs:"+st]++
		w.counts["import_jobs.imported:"+st] += int64(n)
		return append(args, fmt.Sprintf("BJ-%09d", i), "items", "items.csv", "csv", 4096, "{}", 100, n, 100-n, n, 0, st)
	})
}

// counters enters what the records add up to.
func (w *writer) counters() error {
	st := store.New(w.to.DB, w.cat, store.Effects{}, time.Now)
	err := w.to.DB.Write(w.ctx, db.Scope{Tenant: w.t.ID}, func(tx *db.Tx) error {
		st.Count(tx, w.t.ID, w.counts)
		return nil
	})
	if err != nil {
		return err
	}
	return st.FoldCounters(w.ctx, w.t.ID)
}
