package functions

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/output"
	"holdfast/internal/store"
)

// overviewRoles are the roles whose first page is that of the site.
var overviewRoles = append(slices.Clone(actor.Leaders), actor.Viewer)

// Sizes of the overview.
const (
	overviewDays = 30 // of the safety figures
	overviewRows = 6  // of each list
)

// OverviewIn is empty: site-overview takes no parameters.
type OverviewIn struct{}

// OverviewOut is the answer of site-overview: what the console's first page
// shows of a site, in one answer. Each figure is that of the function that
// tells it in full: get-dashboard-snapshot-v2, admin-dashboard-summary,
// safety-kpis.
type OverviewOut struct {
	output.Kept
	Inventory OverviewInventory `json:"inventory" doc:"Active items in figures."`
	Orders    OverviewOrders    `json:"orders" doc:"Open orders."`
	PickLists PickListsOut      `json:"pick_lists" doc:"Pick lists that are released or in progress."`
	Shipments ShipmentStats     `json:"shipments" doc:"All shipments in figures."`
	Zones     OverviewZones     `json:"zones" doc:"Zones that are not archived."`
	Safety    OverviewSafety    `json:"safety" doc:"Incidents, actions and inspections."`
}

// OverviewInventory is the part of the overview about items.
type OverviewInventory struct {
	Metrics InventoryMetrics `json:"metrics" doc:"All active items in figures."`
	Health  HealthOut        `json:"health" doc:"How the stock moves."`
}

// OverviewOrders is the part of the overview about orders.
type OverviewOrders struct {
	OrdersOut
	Oldest json.RawMessage `json:"late_orders" records:"orders" doc:"Late outbound orders and transfers, up to six."`
}

// OverviewZones is the part of the overview about zones.
type OverviewZones struct {
	Total   int64           `json:"total" doc:"Zones that are not archived."`
	Fullest json.RawMessage `json:"fullest" records:"zones" doc:"The bins that are filled most, up to six."`
}

// OverviewSafety is the part of the overview about safety.
type OverviewSafety struct {
	Metrics SafetyMetrics    `json:"metrics" doc:"All incidents in figures."`
	Days    int64            `json:"date_range_days" unit:"days" doc:"Length of the window of kpis, which ends now."`
	KPIs    SafetyKPIs       `json:"kpis" doc:"The window in figures."`
	Kinds   map[string]int64 `json:"by_category" doc:"Reports of the window by kind."`
	Recent  json.RawMessage  `json:"recent_incidents" records:"incidents" doc:"The six that were reported last."`
}

// overview is what an overview's answer is made of.
type overview struct {
	kpis                   *kpis
	orders, zones, reports *store.List
}

func (d *dashboard) overviewShared(a actor.Actor) bool {
	return d.lists.Shared(a, "zones", "orders", "incidents")
}

// siteOverview answers site-overview.
func (d *dashboard) siteOverview(ctx context.Context, a actor.Actor, _ *OverviewIn) (*OverviewOut, error) {
	now := d.now().UTC()
	o := overview{kpis: d.newKPIs(a, now, overviewDays),
		orders: d.lists.Of(a, "orders"), zones: d.lists.Of(a, "zones"), reports: d.lists.Of(a, "incidents")}
	f, err := d.readSite(ctx, a, now, func(tx *store.Tx) { o.queueReads(d, tx) })
	if err != nil {
		return nil, err
	}
	return o.overviewOut(a, now, f), nil
}

func (o *overview) queueReads(d *dashboard, tx *store.Tx) {
	o.kpis.queueKPIs(d, tx)
	page := store.Page{Size: overviewRows}
	open := "('" + strings.Join(openOrders, "', '") + "')"
	o.orders.Queue(tx, page, db.FillWords(` AND r.type IN ('outbound', 'transfer')
		AND r.status IN {open}
		AND r.promised_at < $2`, "{open}", open), "r.promised_at, r.id", o.kpis.to)
	o.zones.Queue(tx, page, ` AND r.kind = 'bin'
		AND r.status <> 'archived'
		AND r.utilization IS NOT NULL`, "r.utilization DESC, r.id")
	o.reports.Queue(tx, page, ` AND r.reported_at IS NOT NULL
		AND r.status <> 'void'`, "r.reported_at DESC")
}

func (o *overview) overviewOut(a actor.Actor, now time.Time, f *siteFigures) *OverviewOut {
	t := f.totals
	o.kpis.totals = t
	o.kpis.finishKPIs()
	safety := OverviewSafety{Metrics: t.safetyMetrics(), Days: overviewDays, KPIs: o.kpis.out.KPIs,
		Kinds: o.kpis.out.Distribution.Kinds, Recent: o.reports.JSON()}
	return &OverviewOut{
		Kept:      output.KeptOf(a.TenantID, now),
		Inventory: OverviewInventory{t.inventoryMetrics(a.Role), f.health.healthOut()},
		Orders:    OverviewOrders{t.ordersOut(f.late), o.orders.JSON()},
		PickLists: PickListsOut{Active: t.sumOf("pick_lists", activePicks...)},
		Shipments: f.shipmentStats(),
		Zones:     OverviewZones{t.sumOf("zones", "active", "blocked"), o.zones.JSON()},
		Safety:    safety,
	}
}
