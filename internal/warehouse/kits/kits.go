// Package kits sells goods that are never stocked as what they are made of: a kit is an
// item with components. An order of it gets a line for each component when it is
// confirmed, which is promised, picked, packed and shipped as any other; the kit's own
// line keeps the price, and says how many whole kits its components make.
//
// Layer: domains. Begin at [ExpandOrders].
package kits

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
)

// Codes of this package's faults, as in package warehouse.
const (
	codeMovement = "HF003" // the goods do not fit
	codeInUse    = "HF004" // the record is in use
	codeOrder    = "HF006" // the order is not ready for this step
)

// IsKit reports an item that is sold as its components.
func IsKit(item record.Item) bool { return item.IsKit() }

// IsKitLine reports the line of a kit whose components have lines of their own.
func IsKitLine(line record.OrderLine) bool { return line.IsKit() }

// kitsSQL selects those of items that are kits. $1 tenant, $2 ids.
const kitsSQL = `
	SELECT id, sku
	FROM items
	WHERE tenant_id = $1
		AND id IN {ids $2}
		AND is_kit IS TRUE`

// QueueKits queues reading which of items are kits; the SKU of each is known by its id once
// the queue is flushed.
func QueueKits(tx *db.Tx, tenant string, items []string) map[string]string {
	found := map[string]string{}
	tx.Queue(kitsSQL, []any{tenant, query.List(items)}, func(r *db.Row) error {
		found[r.Text(0)] = r.Text(1)
		return nil
	})
	return found
}

// partsSQL selects what a kit is made of. $1 tenant, $2 kit.
const partsSQL = `
	SELECT kit.sku, part.qty, component.sku
	FROM item_components AS part
	JOIN items AS kit ON kit.tenant_id = $1 AND kit.id = part.kit_id
	JOIN items AS component ON component.tenant_id = $1 AND component.id = part.item_id
	WHERE part.tenant_id = $1
		AND part.kit_id = $2
	ORDER BY component.sku`

// readParts reads what a kit is made of, in words: "2 BOLT, 1 PLATE".
func readParts(tx *db.Tx, tenant, kit string) (sku, parts string, err error) {
	var list []string
	err = tx.Query(partsSQL, []any{tenant, kit}, func(r *db.Row) error {
		sku = r.Text(0)
		list = append(list, r.Dec(1).String()+" "+r.Text(2))
		return nil
	})
	if err != nil {
		return "", "", fmt.Errorf("kits: components: %w", err)
	}
	return sku, strings.Join(list, ", "), nil
}

// RefuseStock refuses goods of a kit that would be received, moved, counted or adjusted.
func RefuseStock(tx *db.Tx, tenant, kit string) error {
	sku, parts, err := readParts(tx, tenant, kit)
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, codeMovement,
		"item %s is a kit and has no stock of its own: its components have (%s)", sku, parts).
		With("", "receive, move and count the components").At("item_id", "is a kit")
}

// lockKitsSQL locks the kits that items are components of: after the items, as whoever
// changes the stock of a component does. $1 tenant, $2 ids of components.
const lockKitsSQL = `
	SELECT id
	FROM items
	WHERE tenant_id = $1
		AND id IN (
			SELECT part.kit_id
			FROM item_components AS part
			WHERE part.tenant_id = $1
				AND part.item_id IN {ids $2}
		)
	ORDER BY id
	{for update}`

// availableSQL writes what is available of kits. It counts whole kits, at most 10^12 as of
// any item. $1 tenant, $2 ids, $3 now; {which} are ids of kits.
const availableSQL = `
	UPDATE items
	SET updated_at = $3,
		available = COALESCE((
			SELECT MIN(CASE
				WHEN component.available / part.qty > 1000000000000 THEN 1000000000000
				ELSE component.available / part.qty
			END) * 10000
			FROM item_components AS part
			JOIN items AS component ON component.tenant_id = $1 AND component.id = part.item_id
			WHERE part.tenant_id = $1
				AND part.kit_id = items.id
		), 0)
	WHERE tenant_id = $1
		AND {which}`

// kitsOfSQL are the kits that items are components of. $1 tenant, $2 ids of components.
const kitsOfSQL = `id IN (
			SELECT used.kit_id
			FROM item_components AS used
			WHERE used.tenant_id = $1
				AND used.item_id IN {ids $2}
		)`

// QueueAvailable queues what is available of the kits whose components are among items,
// which the caller holds and whose own available is queued before.
func QueueAvailable(tx *db.Tx, tenant, now string, items []string) {
	if len(items) == 0 {
		return
	}
	list := query.List(items)
	if tx.DB().ForUpdate() != "" {
		tx.Queue(lockKitsSQL, []any{tenant, list}, nil)
	}
	tx.Queue(db.FillWords(availableSQL, "{which}", kitsOfSQL), []any{tenant, list, now}, nil)
}

// AvailableSQL is the statement that says of items with components what is available of
// them, in base units, whether they are kits, and how many kits their components make. Its
// argument is the tenant.
const AvailableSQL = `
	SELECT kit.id, kit.available, kit.is_kit, MIN(component.available / part.qty)
	FROM items AS kit
	JOIN item_components AS part ON part.tenant_id = $1 AND part.kit_id = kit.id
	JOIN items AS component ON component.tenant_id = $1 AND component.id = part.item_id
	WHERE kit.tenant_id = $1
	GROUP BY kit.id, kit.available, kit.is_kit`

// mostKits are as many as may be available of a kit, as of any item.
const mostKits = 1_000_000_000_000

// CapAvailable is what is available of a kit when its components make so many.
func CapAvailable(made int64) decimal.Dec { return decimal.FromInt(min(made, mostKits)) }
