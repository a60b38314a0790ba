package functions

import (
	"context"
	"encoding/json"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/functions/output"
	"holdfast/internal/store"
)

// SnapshotIn asks for a dashboard snapshot. The bound of page keeps its offset
// within 64 bits.
type SnapshotIn struct {
	Lightweight bool  `query:"lightweight" default:"false" doc:"Only metrics and counts, no lists."`
	Page        int64 `query:"page" default:"1" min:"1" max:"1000000000000000" doc:"Page of every list."`
	PageSize    int64 `query:"pageSize" default:"50" min:"1" clamp:"200" doc:"Records per list; more than 200 counts as 200."`
}

// SnapshotOut is the answer of get-dashboard-snapshot-v2. Lists are absent in
// the lightweight form.
type SnapshotOut struct {
	output.Kept
	Zones      ZonesOut      `json:"zones" doc:"Zones that are not archived."`
	Inventory  InventoryOut  `json:"inventory" doc:"Active items by SKU."`
	Orders     OrdersOut     `json:"orders" doc:"Open orders."`
	PickLists  PickListsOut  `json:"pick_lists" doc:"Pick lists that are released or in progress."`
	Shipments  ShipmentsOut  `json:"shipments" doc:"Shipments that are not completed."`
	Drivers    DriversOut    `json:"drivers" doc:"Drivers on duty."`
	Safety     SafetyOut     `json:"safety" doc:"Incidents that are not void."`
	Import     ImportOut     `json:"import" doc:"Import jobs."`
	Pagination PaginationOut `json:"pagination" doc:"Which page the lists are."`
}

// ZonesOut is the part of a snapshot about zones.
type ZonesOut struct {
	Total int64           `json:"total" doc:"Zones that are not archived."`
	Items json.RawMessage `json:"items,omitempty" records:"zones" doc:"A page of them, by code."`
}

// InventoryOut is the part of a snapshot about items and their stock.
type InventoryOut struct {
	Items   json.RawMessage  `json:"items,omitempty" records:"items" doc:"A page of the active items, by SKU."`
	Metrics InventoryMetrics `json:"metrics" doc:"All active items in figures."`
	Levels  *[]StockLevelOut `json:"stock_levels,omitempty" doc:"What is on hand of each item of the page, over all zones."`
}

// StockLevelOut is what is on hand of an item, over all zones.
type StockLevelOut struct {
	ItemID   string      `json:"item_id" format:"uuid" doc:"The item."`
	Quantity decimal.Dec `json:"quantity" unit:"base units of the item" doc:"On hand, in all zones."`
}

// PickListsOut is the part of a snapshot about pick lists.
type PickListsOut struct {
	Active int64           `json:"active" doc:"Pick lists that are released or in progress."`
	Items  json.RawMessage `json:"items,omitempty" records:"pick_lists" doc:"A page of them, newest first."`
}

// ShipmentsOut is the part of a snapshot about shipments.
type ShipmentsOut struct {
	Active int64           `json:"active" doc:"Shipments that are planned, packed, ready, in transit, arrived or in exception."`
	Items  json.RawMessage `json:"items,omitempty" records:"shipments" doc:"A page of them, newest first."`
}

// DriversOut is the part of a snapshot about drivers.
type DriversOut struct {
	Active int64           `json:"active" doc:"Drivers that are available, assigned or on a trip."`
	Items  json.RawMessage `json:"items,omitempty" records:"drivers" doc:"A page of them, newest first."`
}

// SafetyOut is the part of a snapshot about incidents.
type SafetyOut struct {
	Metrics SafetyMetrics   `json:"metrics" doc:"All incidents in figures."`
	Recent  json.RawMessage `json:"recent_incidents,omitempty" records:"incidents" doc:"The ten that were reported last."`
}

// ImportOut is the part of a snapshot about import jobs.
type ImportOut struct {
	Metrics ImportMetrics   `json:"metrics" doc:"All import jobs in figures."`
	Recent  json.RawMessage `json:"recent_jobs,omitempty" records:"import_jobs" doc:"The ten newest."`
}

// PaginationOut says which page the lists of an answer are.
type PaginationOut struct {
	Page int64 `json:"page" doc:"The page, from 1."`
	Size int64 `json:"pageSize" doc:"Records per list and page."`
	More bool  `json:"hasMore" doc:"Whether any of the lists goes on."`
}

// recent is how many of the last incidents and jobs an answer shows.
const recent = 10

// snapshot is what a snapshot's answer is made of.
type snapshot struct {
	totals                                              totals
	late                                                int64 // open orders past their promise
	zones, items, picks, shipments, drivers, last, jobs *store.List
	levels                                              []StockLevelOut // one for each item of the page
}

func (d *dashboard) snapshotShared(a actor.Actor) bool {
	return d.lists.Shared(a, "zones", "items", "pick_lists", "shipments", "drivers", "incidents", "import_jobs")
}

// dashboardSnapshot answers get-dashboard-snapshot-v2.
func (d *dashboard) dashboardSnapshot(ctx context.Context, a actor.Actor, in *SnapshotIn) (*SnapshotOut, error) {
	s := snapshot{totals: totals{}, levels: []StockLevelOut{}}
	now := d.now().UTC()
	out := &SnapshotOut{Kept: output.KeptOf(a.TenantID, now), Pagination: PaginationOut{Page: in.Page, Size: in.PageSize}}
	err := d.readSnapshot(ctx, a, func(tx *store.Tx) {
		d.store.Counts(tx.Tx, a.TenantID, s.totals)
		d.queueLate(tx, now, &s.late)
		if !in.Lightweight {
			s.queueReads(d, tx, store.Page{Size: int(in.PageSize), Offset: (in.Page - 1) * in.PageSize})
		}
	})
	if err != nil {
		return nil, err
	}
	s.fillFigures(a.Role, out)
	if in.Lightweight {
		clear(out.Safety.Metrics.Kinds)
		return out, nil
	}
	s.fillLists(out)
	return out, nil
}

func (s *snapshot) queueReads(d *dashboard, tx *store.Tx, p store.Page) {
	s.zones, s.items, s.picks = d.lists.Of(tx.Actor, "zones"), d.lists.Of(tx.Actor, "items"),
		d.lists.Of(tx.Actor, "pick_lists")
	s.shipments, s.drivers = d.lists.Of(tx.Actor, "shipments"), d.lists.Of(tx.Actor, "drivers")
	s.last, s.jobs = d.lists.Of(tx.Actor, "incidents"), d.lists.Of(tx.Actor, "import_jobs")
	s.zones.Queue(tx, p, " AND r.status <> 'archived'", "lower(r.code)")
	s.items.Each = s.noteLevel(s.items)
	s.items.Queue(tx, p, " AND r.status = 'active'", "r.sku")
	s.picks.QueueStates(tx, p, activePicks)
	s.shipments.QueueStates(tx, p, activeShipments)
	s.drivers.QueueStates(tx, p, activeDrivers)
	// reported_at is never null; comparing it lets the index be walked backwards
	// without a word about nulls, which the engines order differently.
	s.last.Queue(tx, store.Page{Size: recent}, " AND r.reported_at IS NOT NULL AND r.status <> 'void'",
		"r.reported_at DESC")
	s.jobs.Queue(tx, store.Page{Size: recent}, "", "r.id DESC")
}

// noteLevel notes an item's stock level: the sum of its levels, which on_hand is.
func (s *snapshot) noteLevel(items *store.List) func(*db.Row) {
	id, hand := items.Column("id"), items.Column("on_hand")
	return func(r *db.Row) { s.levels = append(s.levels, StockLevelOut{r.Text(id), r.Dec(hand)}) }
}

// fillFigures fills what both forms tell.
func (s *snapshot) fillFigures(role actor.Role, out *SnapshotOut) {
	t := s.totals
	out.Zones.Total = t.sumOf("zones", "active", "blocked")
	out.Inventory.Metrics = t.inventoryMetrics(role)
	out.Orders = t.ordersOut(s.late)
	out.PickLists.Active = t.sumOf("pick_lists", activePicks...)
	out.Shipments.Active = t.sumOf("shipments", activeShipments...)
	out.Drivers.Active = t.sumOf("drivers", activeDrivers...)
	out.Safety.Metrics = t.safetyMetrics()
	out.Import.Metrics = t.importMetrics()
}

// fillLists fills what the full form tells besides.
func (s *snapshot) fillLists(out *SnapshotOut) {
	out.Zones.Items, out.Inventory.Items, out.Inventory.Levels = s.zones.JSON(), s.items.JSON(), &s.levels
	out.PickLists.Items, out.Shipments.Items, out.Drivers.Items = s.picks.JSON(), s.shipments.JSON(), s.drivers.JSON()
	out.Safety.Recent, out.Import.Recent = s.last.JSON(), s.jobs.JSON()
	out.Pagination.More = s.zones.More || s.items.More || s.picks.More || s.shipments.More || s.drivers.More
}
