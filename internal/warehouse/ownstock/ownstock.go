// Package ownstock says which stock an item's totals count. What is valued, available, low
// or in demand is the tenant's own: goods that owners keep here are no inventories of the
// tenant (IAS 2.6 and the Conceptual Framework 4.3, assets are controlled), and stand
// apart in the stock levels that name their owner. Available is what lies where orders are
// promised it. Postings, changes of lots and zones, and the functions that read history go
// by it; on_hand alone counts all that is there.
//
// Layer: domains. Begin at [IsFree].
package ownstock

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// OwnGoods says in SQL of a stock level or a movement that its goods are the tenant's own.
const OwnGoods = "owner_id IS NULL"

// FirstMovement is when own goods of item i moved first, in SQL, null for never. $1 tenant.
// created_at, which every movement has, keeps SQLite from the index that covers all other
// columns and begins with the day: it would be read from its start for each item.
const FirstMovement = `(
	SELECT MIN(movement.occurred_at)
	FROM stock_movements AS movement
	WHERE movement.tenant_id = $1
		AND movement.item_id = i.id
		AND movement.owner_id IS NULL
		AND movement.created_at IS NOT NULL
)`

// ownersSQL selects what owners keep here of items, base units. The levels of items are
// read only where owners keep anything here: an item has one for each serial number ever.
// $1 tenant; {items} is a condition on item_id.
const ownersSQL = `
	SELECT item_id, CAST(SUM(quantity) AS bigint)
	FROM stock_levels
	WHERE tenant_id = $1
		AND EXISTS (
			SELECT 1
			FROM stock_levels AS kept
			WHERE kept.tenant_id = $1
				AND kept.owner_id IS NOT NULL
		)
		AND owner_id IS NOT NULL
		{items}
	GROUP BY item_id`

// QueueOwners queues reading how much of items owners keep here, base units, which goes
// to into for each item of which there is some.
func QueueOwners(tx *db.Tx, tenant string, items []string, into func(item string, quantity decimal.Dec)) {
	QueueOwnersWhere(tx, tenant, " AND "+tx.DB().InUUID("item_id", 2), []any{query.List(items)}, into)
}

// QueueOwnersWhere is QueueOwners of the items that a condition in SQL admits, "" for all.
// It begins with AND, and its parameters, args, with $2.
func QueueOwnersWhere(tx *db.Tx, tenant, where string, args []any, into func(item string, quantity decimal.Dec)) {
	text := strings.ReplaceAll(ownersSQL, "{items}", where)
	tx.Queue(text, append([]any{tenant}, args...), func(r *db.Row) error {
		into(r.Text(0), r.Dec(1))
		return nil
	})
}

// Stock is what decides whether stock at a place is available.
type Stock struct {
	Owner      string // "" for the tenant's own
	Status     string // of the stock
	ZoneStatus string
	ZoneKind   string
	LotBars    bool // its lot is not released, or does not last
}

// IsFree reports stock whose quantity, less what is reserved of it, is available.
func IsFree(s Stock) bool {
	return s.Owner == "" && s.Status == "available" && IsOpen(s.ZoneStatus, s.ZoneKind) && !s.LotBars
}

// IsOpen reports a zone of a status and kind whose stock is promised to orders: neither
// blocked or archived, nor for quarantine, nor for goods in transit.
func IsOpen(status, kind string) bool {
	return status == "active" && kind != "quarantine" && kind != "transit"
}

// freeSQL selects what is free of the tenant's own available stock, by what it belongs to
// and item, base units. $1 tenant, $2 ids.
const freeSQL = `
	SELECT {by}, level.item_id, CAST(SUM(level.quantity - level.reserved) AS bigint)
	FROM stock_levels AS level
	JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = level.zone_id
	LEFT JOIN lots AS lot ON lot.tenant_id = $1 AND lot.id = level.lot_id
	WHERE level.tenant_id = $1
		AND {ids}
		AND level.owner_id IS NULL
		AND level.stock_status = 'available'
		AND {rest}
	GROUP BY {by}, level.item_id`

// Conditions in SQL of a stock level that is free, whosever it is: its zone, and its lot, null
// for none. [IsFree] says the same of one that has been read.
const (
	OpenZone = "zone.status = 'active' AND zone.kind NOT IN ('quarantine', 'transit')"
	SoldLot  = "(lot.id IS NULL OR lot.status = 'released' AND NOT lot.short_dated)"
)

// Free is stock that is free by what it belongs to, a lot or a zone.
type Free struct {
	Of, ItemID string
	Quantity   decimal.Dec // base units
}

// ReadOfLots reads what is free of lots where they lie, whatever the lots' status.
func ReadOfLots(tx *store.Tx, lots []string) ([]Free, error) {
	return readFree(tx, "level.lot_id", OpenZone, lots)
}

// ReadOfZones reads what is free in zones of lots that are sold, whatever the zones are.
func ReadOfZones(tx *store.Tx, zones []string) ([]Free, error) {
	return readFree(tx, "level.zone_id", SoldLot, zones)
}

func readFree(tx *store.Tx, by, rest string, ids []string) (list []Free, err error) {
	text := strings.NewReplacer("{by}", by, "{ids}", tx.DB().InUUID(by, 2), "{rest}", rest).Replace(freeSQL)
	err = tx.Query(text, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		list = append(list, Free{r.Text(0), r.Text(1), r.Dec(2)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ownstock: free stock: %w", err)
	}
	return list, nil
}
