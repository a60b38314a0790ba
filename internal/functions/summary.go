package functions

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/functions/output"
	"holdfast/internal/store"
)

// SummaryIn is empty: admin-dashboard-summary takes no parameters.
type SummaryIn struct{}

// Sizes of the summary's lists, which have no pages: the snapshot and the
// collections go further.
const (
	summaryZones     = 500
	summaryItems     = 200
	summaryPicks     = 200
	summaryShipments = 20
)

// summaryFor is how long the summary is kept.
const summaryFor = 30 * time.Second

// SummaryOut is the answer of admin-dashboard-summary.
type SummaryOut struct {
	output.Head
	Zones     json.RawMessage  `json:"zones" records:"zones" doc:"Zones that are not archived, by code, up to 500."`
	Inventory SummaryInventory `json:"inventory" doc:"Items and how healthy the stock is."`
	Orders    OrdersOut        `json:"orders" doc:"Open orders."`
	PickLists SummaryPickLists `json:"pick_lists" doc:"Pick lists at work."`
	Shipments SummaryShipments `json:"shipments" doc:"Shipments and their figures."`
	Settings  Settings         `json:"settings" doc:"The tenant's settings by section and key; empty for roles that may not read them."`
}

// Settings are settings by section and key.
type Settings map[string]map[string]json.RawMessage

// SummaryInventory is the part of the summary about items.
type SummaryInventory struct {
	Items  json.RawMessage `json:"items" records:"items" doc:"Active items by SKU, up to 200."`
	Total  int64           `json:"total_items" doc:"Active items."`
	Health HealthOut       `json:"health" doc:"How the stock moves."`
}

// HealthOut is how healthy a stock is.
type HealthOut struct {
	Score    decimal.Dec `json:"score" unit:"0 to 100" doc:"Share of the stock value in what moves, less what is short."`
	Fast     int64       `json:"fast_movers" doc:"Items that turn over quickly."`
	Slow     int64       `json:"slow_stock" doc:"Items that turn over slowly."`
	Dead     int64       `json:"dead_stock" doc:"Items on hand of which none was shipped for long."`
	Critical int64       `json:"critical_items" doc:"Items that are out while somebody waits for them, or far below their reorder point."`
	Items    int64       `json:"items" doc:"Active items that were looked at; fewer than there are during the first look at a large inventory."`
	AsOf     string      `json:"as_of" format:"date-time" doc:"When they were; of large inventories some minutes ago."`
}

// SummaryPickLists is the part of the summary about pick lists.
type SummaryPickLists struct {
	Active json.RawMessage `json:"active" records:"pick_lists" doc:"Pick lists that are released or in progress, newest first, up to 200."`
	Count  int64           `json:"active_count" doc:"How many there are."`
}

// SummaryShipments is the part of the summary about shipments.
type SummaryShipments struct {
	Recent json.RawMessage `json:"recent" records:"shipments" doc:"The twenty newest."`
	Stats  ShipmentStats   `json:"stats" doc:"All shipments in figures."`
}

// ShipmentStats are a tenant's shipments in figures.
type ShipmentStats struct {
	Total     int64 `json:"total" doc:"Shipments."`
	Active    int64 `json:"active" doc:"Those that are planned, packed, ready, in transit, arrived or in exception."`
	InTransit int64 `json:"in_transit" doc:"Those on their way."`
	Today     int64 `json:"completed_today" doc:"Those completed in the tenant's local day."`
}

// summary is what a summary's answer is made of.
type summary struct {
	zones, items, picks, shipments *store.List
	settings                       Settings
}

func (d *dashboard) summaryShared(a actor.Actor) bool {
	return d.lists.Shared(a, "zones", "items", "pick_lists", "shipments", "settings")
}

// adminSummary answers admin-dashboard-summary.
func (d *dashboard) adminSummary(ctx context.Context, a actor.Actor, _ *SummaryIn) (*SummaryOut, error) {
	now := d.now().UTC()
	s := summary{settings: Settings{},
		zones: d.lists.Of(a, "zones"), items: d.lists.Of(a, "items"), picks: d.lists.Of(a, "pick_lists"),
		shipments: d.lists.Of(a, "shipments")}
	f, err := d.readSite(ctx, a, now, func(tx *store.Tx) { s.queueReads(d, tx) })
	if err != nil {
		return nil, err
	}
	return s.summaryOut(output.HeadOf(a.TenantID, now), f), nil
}

func (s *summary) queueReads(d *dashboard, tx *store.Tx) {
	s.zones.Queue(tx, store.Page{Size: summaryZones}, " AND r.status <> 'archived'", "lower(r.code)")
	s.items.Queue(tx, store.Page{Size: summaryItems}, " AND r.status = 'active'", "r.sku")
	s.picks.QueueStates(tx, store.Page{Size: summaryPicks}, activePicks)
	s.shipments.Queue(tx, store.Page{Size: summaryShipments}, "", "r.id DESC")
	if !d.lists.Of(tx.Actor, "settings").Visible() {
		return
	}
	tx.Queue(`
		SELECT section, key, value
		FROM settings
		WHERE tenant_id = $1
		ORDER BY section, key`, []any{tx.TenantID},
		func(r *db.Row) error {
			s.settings.setSetting(r.Text(0), r.Text(1), r.Text(2))
			return nil
		})
}

func (s Settings) setSetting(section, key, value string) {
	if s[section] == nil {
		s[section] = map[string]json.RawMessage{}
	}
	s[section][key] = json.RawMessage(value)
}

func (s *summary) summaryOut(head output.Head, f *siteFigures) *SummaryOut {
	t := f.totals
	return &SummaryOut{
		Head:      head,
		Zones:     s.zones.JSON(),
		Inventory: SummaryInventory{s.items.JSON(), t.activeItems(), f.health.healthOut()},
		Orders:    t.ordersOut(f.late),
		PickLists: SummaryPickLists{Active: s.picks.JSON(), Count: t.sumOf("pick_lists", activePicks...)},
		Shipments: SummaryShipments{Recent: s.shipments.JSON(), Stats: f.shipmentStats()},
		Settings:  s.settings,
	}
}
