// Package putaway finds places for goods: of their class, at the site that they are at,
// where what lies there and what open tasks bring leaves room.
//
// Layer: domains. Begin at [SuggestPlaces].
package putaway

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/sites"
)

// anywhere is the site of goods of which nobody knows where they are, at a tenant whose
// work has no default site.
const anywhere = "anywhere"

// Goods look for a place.
type Goods struct {
	ItemID, LotID string
	Class         string      // storage class
	Units         decimal.Dec // capacity that they take
	Weight        float64     // kg, in parts of decimal.Scale
	From          Spot        // zone they are in, with an id of "" where it is not known
	TaskID        string      // that brings them to their place already, "" = none
	Found         []*Room     // best first

	site string // where they stay, "" = in zones of no site
}

// Spot is a zone and its coordinates.
type Spot struct {
	ZoneID  string
	X, Y, Z decimal.Dec
}

// Room is a place that would take goods.
type Room struct {
	ZoneID      string
	IsUnlimited bool
	Units       decimal.Dec // capacity units that are free
	HasItem     bool        // the item is there already
	IsEmpty     bool
}

// SuggestPlaces finds places for goods: of their class and the site that they are at, where the
// mix policy, the free capacity and the weight allow them, with what open tasks bring
// there; those that hold the item already first, then the nearest. Places given to
// earlier goods of the list count as filled.
func SuggestPlaces(tx *store.Tx, list []*Goods) error {
	if err := findSites(tx, list); err != nil {
		return err
	}
	for _, g := range list {
		g.queuePlaces(tx.Tx, tx.TenantID)
	}
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("putaway: places: %w", err)
	}
	taken := map[string]decimal.Dec{}
	used := map[string]*Goods{}
	for _, g := range list {
		g.Found = slices.DeleteFunc(g.Found, func(r *Room) bool {
			other := used[r.ZoneID] != nil && (used[r.ZoneID].ItemID != g.ItemID || used[r.ZoneID].LotID != g.LotID)
			return other || !r.IsUnlimited && r.Units-taken[r.ZoneID] < g.Units
		})
		if len(g.Found) > 0 {
			first := g.Found[0].ZoneID
			taken[first] += g.Units
			used[first] = g
		}
	}
	return nil
}

// heldSQL says in SQL that a row of zones named zone holds goods, or that an open task
// brings some there, of which {goods} holds. $1 tenant, $12 a task that is left out.
const heldSQL = `(
	EXISTS (
		SELECT 1
		FROM stock_levels AS goods
		WHERE goods.tenant_id = $1
			AND goods.zone_id = zone.id
			AND goods.quantity > 0
			AND {goods}
	)
	OR EXISTS (
		SELECT 1
		FROM putaway_tasks AS goods
		WHERE goods.tenant_id = $1
			AND goods.to_zone_id = zone.id
			AND goods.status IN ('open', 'in_progress')
			AND CAST(goods.id AS text) <> $12
			AND {goods}
	)
	OR EXISTS (
		SELECT 1
		FROM replenish_tasks AS goods
		WHERE goods.tenant_id = $1
			AND goods.to_zone_id = zone.id
			AND goods.status IN ('open', 'in_progress')
			AND {goods}
	)
)`

// comingSQL is what open tasks bring to a row of zones named zone, in SQL: the sum of
// {each} of an item, by quantity. $1 tenant, $12 a task that is left out.
const comingSQL = `(
	COALESCE((
		SELECT SUM(CAST(task.quantity - task.quantity_done AS double precision) * item.{each})
		FROM putaway_tasks AS task
		JOIN items AS item ON item.tenant_id = $1 AND item.id = task.item_id
		WHERE task.tenant_id = $1
			AND task.to_zone_id = zone.id
			AND task.status IN ('open', 'in_progress')
			AND CAST(task.id AS text) <> $12
	), 0)
	+ COALESCE((
		SELECT SUM(CAST(task.quantity - task.quantity_done AS double precision) * item.{each})
		FROM replenish_tasks AS task
		JOIN items AS item ON item.tenant_id = $1 AND item.id = task.item_id
		WHERE task.tenant_id = $1
			AND task.to_zone_id = zone.id
			AND task.status IN ('open', 'in_progress')
	), 0)
)`

// placesSQL selects zones that take goods, best first: what they are limited to, what they
// hold and get, whether the item is there, whether nothing is. $1 tenant, $2 storage
// class, $3 capacity units needed, $4 item, $5 their weight, $6 to $8 where they are, $9
// that zone, $10 its site or 'anywhere', $11 lot, $12 the task that they have already.
const placesSQL = `
	SELECT zone.id, zone.max_capacity,
		CAST(zone.load_units + {coming units} / 10000 AS bigint),
		{holds item},
		NOT {holds any}
	FROM zones AS zone
	WHERE zone.tenant_id = $1
		AND zone.status = 'active'
		AND zone.kind IN ('bin', 'rack')
		AND zone.storage_class = $2
		AND CAST(zone.id AS text) <> $9
		AND ($10 = 'anywhere' OR COALESCE(CAST({site} AS text), '') = $10)
		AND (zone.max_capacity = 0 OR zone.max_capacity - zone.load_units >= $3)
		AND (zone.max_capacity = 0 OR zone.max_capacity - zone.load_units - {coming units} / 10000 >= $3)
		AND NOT EXISTS (
			SELECT 1
			FROM zones AS inner_zone
			WHERE inner_zone.tenant_id = $1
				AND inner_zone.parent_id = zone.id
				AND inner_zone.status <> 'archived'
		)
		AND CASE zone.mix_policy
			WHEN 'any' THEN TRUE
			WHEN 'same_item' THEN NOT {holds other item}
			WHEN 'same_lot' THEN NOT {holds other lot}
			ELSE NOT {holds any}
		END
		AND CASE
			WHEN zone.max_weight_kg IS NULL THEN TRUE
			ELSE COALESCE((
				SELECT SUM(CAST(level.quantity AS double precision) * item.weight_kg)
				FROM stock_levels AS level
				JOIN items AS item ON item.tenant_id = $1 AND item.id = level.item_id
				WHERE level.tenant_id = $1
					AND level.zone_id = zone.id
					AND level.quantity > 0
			), 0) + {coming weight} + $5 <= CAST(zone.max_weight_kg AS double precision) * 10000
		END
	ORDER BY 4 DESC,
		(CAST(zone.x AS double precision) - $6) * (CAST(zone.x AS double precision) - $6)
			+ (CAST(zone.y AS double precision) - $7) * (CAST(zone.y AS double precision) - $7)
			+ (CAST(zone.z AS double precision) - $8) * (CAST(zone.z AS double precision) - $8),
		zone.pick_sequence, zone.code
	LIMIT 20`

// placesText is placesSQL with its parts.
var placesText = strings.NewReplacer(
	"{coming units}", strings.ReplaceAll(comingSQL, "{each}", "capacity_units"),
	"{coming weight}", strings.ReplaceAll(comingSQL, "{each}", "weight_kg"),
	"{holds item}", strings.ReplaceAll(heldSQL, "{goods}", "goods.item_id = $4"),
	"{holds any}", strings.ReplaceAll(heldSQL, "{goods}", "1 = 1"),
	"{holds other item}", strings.ReplaceAll(heldSQL, "{goods}", "goods.item_id <> $4"),
	"{holds other lot}", strings.ReplaceAll(heldSQL, "{goods}",
		"(goods.item_id <> $4 OR COALESCE(CAST(goods.lot_id AS text), '') <> $11)"),
).Replace(sites.FillStatement(placesSQL))

// findSites finds out at which sites goods are.
func findSites(tx *store.Tx, list []*Goods) error {
	var ids []string
	for _, g := range list {
		if g.From.ZoneID != "" {
			ids = append(ids, g.From.ZoneID)
		}
	}
	zones, err := sites.ReadOfZones(tx, ids)
	if err != nil {
		return err
	}
	for _, g := range list {
		if g.From.ZoneID != "" {
			g.site = zones[g.From.ZoneID].SiteID
			continue
		}
		usual, err := sites.ReadDefault(tx)
		if err != nil {
			return err
		}
		if g.site = usual; usual == "" {
			g.site = anywhere
		}
	}
	return nil
}

// queuePlaces asks for the places of one lot of goods.
func (g *Goods) queuePlaces(tx *db.Tx, tenant string) {
	args := []any{
		tenant, g.Class, g.Units, g.ItemID, g.Weight, float64(g.From.X), float64(g.From.Y), float64(g.From.Z), g.From.ZoneID,
		g.site, g.LotID, g.TaskID,
	}
	tx.Queue(placesText, args, func(r *db.Row) error {
		g.Found = append(g.Found, &Room{
			ZoneID: r.Text(0), IsUnlimited: r.Dec(1) == 0, Units: r.Dec(1) - r.Dec(2), HasItem: r.Bool(3), IsEmpty: r.Bool(4),
		})
		return nil
	})
}

// ReasonFor says in words what speaks for a place for goods of a storage class.
func (r *Room) ReasonFor(class string) string {
	if r.HasItem {
		return "holds the item already"
	}
	if r.IsEmpty {
		return "is empty, of class " + class + " and the nearest of them"
	}
	return "has room, is of class " + class + " and near"
}
