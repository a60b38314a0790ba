package kits

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/locking"
)

// assembly is what is known of the items that new components name.
type assembly struct {
	items    map[string]record.Item // by id
	kits     map[string]bool        // those that components are being added to
	used     map[string]string      // a kit's SKU by the item that is a component of it
	stocked  map[string]string      // where there is stock of an item, in words
	promised map[string]string      // the number of an open order of an item
	moved    map[string]bool        // items that have ever been goods
	count    map[string]int64       // how many components a kit has
}

// CheckComponents refuses components that are kits, components of what is a component
// itself, and a kit of which there is stock or an open order: nothing would make it.
// The items are locked, so that no goods of a kit come in meanwhile.
func CheckComponents(tx *store.Tx, changes []store.Change) error {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c store.Change) bool { return c.Op != store.Insert })
	if len(changes) == 0 {
		return nil
	}
	a, err := readAssembly(tx, changes)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.ItemComponent](changes) {
		if err := a.checkComponent(c.After.KitID(), c.After.ItemID()); err != nil {
			return err
		}
		a.count[c.After.KitID()]++
	}
	return nil
}

// readAssembly locks what new components name, kits last, and reads what stands against
// them.
func readAssembly(tx *store.Tx, changes []store.Change) (*assembly, error) {
	a := &assembly{items: map[string]record.Item{}, kits: map[string]bool{}, used: map[string]string{},
		stocked: map[string]string{}, promised: map[string]string{},
		moved: map[string]bool{}, count: map[string]int64{}}
	var kits, components []string
	for _, c := range record.Changes[record.ItemComponent](changes) {
		kits = append(kits, c.After.KitID())
		components = append(components, c.After.ItemID())
		a.kits[c.After.KitID()] = true
	}
	for _, ids := range [][]string{components, kits} {
		rows, err := locking.LockRows[record.Item](tx, ids)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			a.items[r.ID()] = r
		}
	}

	list := query.List(kits)
	a.queueText(tx, usedSQL, list, func(r *db.Row) { a.used[r.Text(0)] = r.Text(1) })
	a.queueText(tx, stockedSQL, list, func(r *db.Row) {
		part := r.Dec(2).String() + " in " + r.Text(1)
		a.stocked[r.Text(0)] = strings.TrimPrefix(a.stocked[r.Text(0)]+", "+part, ", ")
	})
	a.queueText(tx, promisedSQL, list, func(r *db.Row) { a.promised[r.Text(0)] = r.Text(1) })
	a.queueText(tx, movedSQL, list, func(r *db.Row) { a.moved[r.Text(0)] = true })
	a.queueText(tx, countSQL, list, func(r *db.Row) { a.count[r.Text(0)] = r.Int(1) })
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("kits: what stands against components: %w", err)
	}
	return a, nil
}

func (a *assembly) queueText(tx *store.Tx, text, ids string, each func(*db.Row)) {
	tx.Queue(text, []any{tx.TenantID, ids}, func(r *db.Row) error {
		each(r)
		return nil
	})
}

// usedSQL selects the kits that items are components of. $1 tenant, $2 ids.
const usedSQL = `
	SELECT part.item_id, MIN(kit.sku)
	FROM item_components AS part
	JOIN items AS kit ON kit.tenant_id = $1 AND kit.id = part.kit_id
	WHERE part.tenant_id = $1
		AND part.item_id IN {ids $2}
	GROUP BY part.item_id`

// stockedSQL selects where there is stock of items, and how much. $1 tenant, $2 ids.
const stockedSQL = `
	SELECT level.item_id, zone.code, CAST(SUM(level.quantity) AS bigint)
	FROM stock_levels AS level
	JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = level.zone_id
	WHERE level.tenant_id = $1
		AND level.item_id IN {ids $2}
		AND level.quantity > 0
	GROUP BY level.item_id, zone.code
	ORDER BY zone.code
	LIMIT 5`

// promisedSQL selects the open orders with lines of items. $1 tenant, $2 ids.
const promisedSQL = `
	SELECT line.item_id, MIN(ordered.order_no)
	FROM order_lines AS line
	JOIN orders AS ordered ON ordered.tenant_id = $1 AND ordered.id = line.order_id
	WHERE line.tenant_id = $1
		AND line.item_id IN {ids $2}
		AND line.is_kit IS NOT TRUE
		AND ordered.status NOT IN ('draft', 'completed', 'cancelled')
	GROUP BY line.item_id`

// movedSQL selects those of items that have ever moved. $1 tenant, $2 ids.
const movedSQL = `
	SELECT item.id
	FROM items AS item
	WHERE item.tenant_id = $1
		AND item.id IN {ids $2}
		AND EXISTS (
			SELECT 1
			FROM stock_movements AS movement
			WHERE movement.tenant_id = $1
				AND movement.item_id = item.id
		)`

// countSQL selects how many components kits have. $1 tenant, $2 ids.
const countSQL = `
	SELECT kit_id, COUNT(*)
	FROM item_components
	WHERE tenant_id = $1
		AND kit_id IN {ids $2}
	GROUP BY kit_id`

// mostComponents is how many components a kit has at most: each makes a line of each order.
const mostComponents = 100

// checkComponent holds one component to its kit; an item that is not there is refused by
// the reference.
func (a *assembly) checkComponent(kitID, itemID string) error {
	kit, item := a.items[kitID], a.items[itemID]
	if kit == nil || item == nil {
		return nil
	}
	sku, part := kit.SKU(), item.SKU()
	switch {
	case kitID == itemID:
		return fault.New(fault.Invalid, codeMovement, "item %s is no component of itself", sku).
			At("item_id", "is the kit itself")
	case IsKit(item) || a.kits[itemID]:
		return fault.New(fault.Conflict, codeMovement, "item %s is a kit: no kit is a component of another", part).
			With("", "name the components of "+part+" instead").At("item_id", "is a kit")
	case a.used[kitID] != "":
		return fault.New(fault.Conflict, codeMovement,
			"item %s is a component of kit %s: no kit is a component of another", sku, a.used[kitID]).
			At("kit_id", "is a component")
	case item.HasOwnerID() && item.OwnerID() != kit.OwnerID():
		return fault.New(fault.Conflict, codeMovement, "item %s is a client's whose item %s is not", part, sku).
			At("item_id", "is of another client")
	case a.count[kitID] >= mostComponents:
		return fault.New(fault.Conflict, codeMovement, "kit %s has %d components, the most there may be", sku,
			mostComponents).
			At("kit_id", "has too many components")
	case IsKit(kit):
		return nil
	case a.stocked[kitID] != "":
		return fault.New(fault.Conflict, codeInUse, "there is stock of %s: %s; a kit has no stock of its own", sku,
			a.stocked[kitID]).
			With("", "make the kit another item").At("kit_id", "has stock")
	case a.moved[kitID]:
		return fault.New(fault.Conflict, codeInUse,
			"goods of %s have moved: a kit that was goods could not take them back", sku).
			With("", "make the kit another item").At("kit_id", "has been goods")
	case a.promised[kitID] != "":
		return fault.New(fault.Conflict, codeInUse, "order %s is open and has a line of %s, which is no kit yet",
			a.promised[kitID], sku).
			With("", "cancel the open orders of the item first, or make the kit another item").
			At("kit_id", "is in an open order")
	}
	return nil
}

// FollowComponents makes items with components kits, and others none, and says how many
// whole kits there are.
func FollowComponents(tx *store.Tx, changes []store.Change) error {
	var ids []string
	for _, c := range record.Changes[record.ItemComponent](changes) {
		if c.After != nil {
			ids = append(ids, c.After.KitID())
		} else {
			ids = append(ids, c.Before.KitID())
		}
	}
	list := query.List(ids)
	assembled := map[string]bool{}
	err := tx.Query(`
		SELECT DISTINCT kit_id
		FROM item_components
		WHERE tenant_id = $1
			AND kit_id IN {ids $2}`, []any{tx.TenantID, list}, func(r *db.Row) error {
		assembled[r.Text(0)] = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("kits: items with components: %w", err)
	}
	rows, err := locking.LockRows[record.Item](tx, ids)
	if err != nil {
		return err
	}
	var sets []record.Item
	for _, r := range rows {
		if id := r.ID(); IsKit(r) != assembled[id] {
			sets = append(sets, record.Item{"id": id, "is_kit": assembled[id]})
		}
	}
	if err := tx.UpdateEach("items", record.Rows(sets)); err != nil {
		return err
	}
	tx.Queue(db.FillWords(availableSQL, "{which}", "id IN {ids $2}"),
		[]any{tx.TenantID, list, query.FormatTime(tx.Now())}, nil)
	return nil
}
