package warehouse

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/blocks"
	"holdfast/internal/warehouse/costs"
	"holdfast/internal/warehouse/history"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/kits"
	"holdfast/internal/warehouse/ownstock"
	"holdfast/internal/warehouse/selling"
	"holdfast/internal/warehouse/transfers"
)

func jsonList(ids []string) string { return query.List(ids) }

// stocked is an item as far as stock is concerned.
type stocked struct {
	id, sku, tracking, status             string
	unitCost, capacityUnits, reorderPoint decimal.Dec
	worth                                 decimal.Dec // of a base unit, see worthOf
	onHand, available, value              decimal.Dec
	owners                                decimal.Dec // of onHand, what is not the tenant's own
	low                                   bool
	isKit                                 bool
	class                                 string
	minRemaining                          int64 // days
}

// lotted is a lot as far as stock is concerned.
type lotted struct {
	item, no, status, expires string
	short                     bool // it does not last
}

// posting is one call of post: what the movements do and what they touch.
type posting struct {
	ledger
	itemByID map[string]*stocked
	lots     map[string]lotted
	rules    *rules                 // nil unless a movement asks for them
	arrived  map[string]decimal.Dec // zones that goods come into and that may refuse them -> what comes, net
	at       places
	pieces   map[piece]*held
	worth    decimal.Dec // of the tenant's stock, as far as committed
	refused  *level      // the one that would get to where it may not be
}

// postMovements books movements: stock levels, the items' totals and counters, the load
// of zones and their ancestors. What it reads travels with the insert of the
// movements, what it writes with the commit: two round trips however many rows.
// The item's row lock serialises all movements of an item.
func (w Watch) postMovements(tx *store.Tx, changes []store.Change) error {
	p := posting{ledger: ledger{levels: map[string]*level{}}, arrived: map[string]decimal.Dec{}}
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op != store.Insert {
			continue
		}
		if err := p.enterMovement(c.After); err != nil {
			return err
		}
	}
	if len(p.order) == 0 {
		return nil
	}
	if slices.ContainsFunc(changes, isRuled) {
		p.rules = queueRules(tx.Tx, tx.TenantID, tx.Now())
	}
	keeping := costs.Keep(tx, changes)
	if err := p.queueReads(tx.Tx, tx.TenantID); err != nil {
		return err
	}
	for i, c := range record.Changes[record.StockMovement](changes) {
		if it := p.itemByID[c.After.ItemID()]; it != nil && it.isKit {
			return nameRow(fault.As(kits.RefuseStock(tx.Tx, tx.TenantID, it.id)), i, len(changes))
		}
		if err := p.checkMovement(tx.Actor, c.After, tx.Store.Audited()); err != nil {
			return nameRow(err, i, len(changes))
		}
		if err := p.checkRules(tx.Actor, c.After, tx.Store.Audited()); err != nil {
			return nameRow(err, i, len(changes))
		}
	}
	if tx.Store.Audited() {
		if err := p.checkWords(tx.Tx, tx.Actor, changes); err != nil {
			return err
		}
	}
	if k, twice := p.findDuplicateSerial(changes); twice {
		return nameRow(p.refuseDuplicateSerial(k), k.lastArrival(changes), len(changes))
	}
	fallen, err := p.settleTotals(tx)
	if err == nil {
		err = keeping.QueueWrites(tx)
	}
	if p.refused != nil {
		return nameRow(fault.As(err), p.refused.findCulprit(changes), len(changes))
	}
	if err == nil {
		err = history.CheckBalances(tx, changes, MovementKeys)
	}
	if err != nil || len(fallen) == 0 || w.LowStock == nil {
		return err
	}
	return w.LowStock(tx, fallen)
}

// queueReads reads what the movements touch.
func (p *posting) queueReads(tx *db.Tx, tenant string) error {
	p.itemByID, p.lots, p.at = map[string]*stocked{}, map[string]lotted{}, places{}
	slices.Sort(p.items.list)
	tx.Queue(`
		SELECT id, sku, tracking, status, unit_cost, capacity_units, reorder_point, on_hand, available,
			stock_value, low_stock, storage_class, COALESCE(min_remaining_days, 0),
			COALESCE((
				SELECT MAX(kept.average_cost)
				FROM item_costs AS kept
				WHERE kept.tenant_id = $1
					AND kept.item_id = items.id
			), 0), is_kit
		FROM items
		WHERE tenant_id = $1
			AND id IN {ids $2}
		ORDER BY id
		{for update}`, []any{tenant, jsonList(p.items.list)},
		func(r *db.Row) error {
			p.itemByID[r.Text(0)] = &stocked{id: r.Text(0), sku: r.Text(1), tracking: r.Text(2), status: r.Text(3),
				unitCost: r.Dec(4), capacityUnits: r.Dec(5),
				reorderPoint: r.Dec(6), onHand: r.Dec(7), available: r.Dec(8), value: r.Dec(9), low: r.Bool(10), class: r.Text(11),
				minRemaining: r.Int(12), worth: worthOf(r.Dec(4), r.Dec(13)), isKit: r.Bool(14)}
			return nil
		})
	ownstock.QueueOwners(tx, tenant, p.items.list, func(item string, quantity decimal.Dec) {
		if it := p.itemByID[item]; it != nil {
			it.owners = quantity
		}
	})
	p.queueLevels(tx, tenant)
	p.readPieces(tx, tenant)
	if len(p.ledger.lots.list) > 0 {
		tx.Queue(`
			SELECT id, item_id, lot_no, status, expires_on, short_dated
			FROM lots
			WHERE tenant_id = $1
				AND id IN {ids $2}`, []any{tenant, jsonList(p.ledger.lots.list)}, func(r *db.Row) error {
			p.lots[r.Text(0)] = lotted{item: r.Text(1), no: r.Text(2), status: r.Text(3), expires: r.Text(4), short: r.Bool(5)}
			return nil
		})
	}
	if p.gains {
		queueWorth(tx, tenant, &p.worth)
	}
	if len(p.zones.list) > few {
		return readPlaces(tx, tenant, p.zones.list, p.at)
	}
	queuePlaces(tx, tenant, p.zones.list, p.at)
	return tx.Flush()
}

// checkMovement refuses a movement that does not fit its item, lot or zones.
func (p *posting) checkMovement(a actor.Actor, m record.StockMovement, audited bool) *fault.Error {
	it := p.itemByID[m.ItemID()]
	if it == nil {
		return refuseMovement("item_id", "no such item")
	}
	switch lot := m.LotID(); {
	case lot != "" && p.lots[lot].item != it.id:
		return refuseMovement("lot_id", "the lot belongs to another item")
	case it.tracking == "lot" && lot == "":
		return refuseMovement("lot_id", "item "+it.sku+" is tracked by lot: name the lot")
	case it.tracking == "serial" && !m.HasSerial():
		return refuseMovement("serial", "item "+it.sku+" is tracked by serial number: name it")
	case audited && m.Type() == "receipt" && it.status == selling.Discontinued: // a file tells of the past
		return selling.RefuseReceipt(it.sku, "item_id")
	}
	for _, f := range [...]string{"from_zone_id", "to_zone_id"} {
		if id := store.Row(m).Text(f); id != "" {
			if p.at[id].kind == transfers.ZoneKind {
				if err := transfers.CheckMovement(m, f, p.at[id].code); err != nil {
					return err
				}
				continue // the way of the goods is the order's, wherever their carrier works
			}
			if err := p.checkZoneEnterable(a, f, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *posting) checkZoneEnterable(a actor.Actor, field, id string) *fault.Error {
	z := p.at[id]
	switch {
	case z.id == "":
		return refuseMovement(field, "no such zone")
	case z.status == "archived":
		return fault.New(fault.Conflict, CodeMovement, "zone %s is archived", z.code).At(field, "is archived")
	case z.status == "blocked" && !isManager(a.Role):
		return fault.New(fault.Conflict, CodeMovement, "zone %s is blocked; a manager can still move stock", z.code).At(field,
			"is blocked")
	}
	if len(a.ZoneIDs) == 0 || a.Role != actor.Operator && a.Role != actor.Driver {
		return nil
	}
	for _, u := range p.at.ancestorsOf(id) {
		if slices.Contains(a.ZoneIDs, u) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "42501", "zone %s is outside the zones you work in", z.code).At(field,
		"is outside your zones")
}

// settleTotals checks that nothing goes below zero and queues every write.
func (p *posting) settleTotals(tx *store.Tx) (fallen []string, err error) {
	counts := map[string]int64{}
	loads := map[string]decimal.Dec{}
	changed, first := map[string]*stocked{}, map[string]stocked{}
	for _, v := range p.order {
		it := p.itemByID[v.item]
		before := v.quantity
		after, err := addWithin(before, v.delta, maxStock, "quantity")
		if err != nil {
			return nil, err
		}
		v.reserved += v.promised
		if err := p.checkCovered(v, it, after); err != nil {
			p.refused = v
			if v.coversReserved(after) {
				return nil, p.othersOwn(tx.Tx, tx.TenantID, v, it, err)
			}
			return nil, err
		}
		v.quantity = after
		if v.delta == 0 && v.promised == 0 {
			continue
		}
		z, lot := p.at[v.zone], p.lots[v.lot]
		v.counts = ownstock.IsFree(ownstock.Stock{Owner: v.owner, Status: v.status, ZoneStatus: z.status, ZoneKind: z.kind,
			LotBars: v.lot != "" && (lot.status != "released" || lot.short)})
		was := *it
		if changed[it.id] == nil {
			first[it.id] = was
		}
		if err := it.addLevelChange(v); err != nil {
			return nil, err
		}
		if err := it.addCounters(counts, was); err != nil {
			return nil, err
		}
		changed[it.id] = it
		if err := addLoad(loads, v.zone, it.capacityUnits, before, after); err != nil {
			return nil, err
		}
	}
	if err := checkStockValue(tx.Tx, tx.TenantID, p.worth, decimal.Dec(counts[stockValue]), "quantity"); err != nil {
		return nil, err
	}
	// What was only moved within the warehouse keeps its totals, and with them
	// its updated_at.
	maps.DeleteFunc(changed, func(id string, it *stocked) bool { return *it == first[id] })
	now := query.FormatTime(tx.Now())
	p.queueLevelWrites(tx.Tx, tx.TenantID, now)
	writeItems(tx.Tx, tx.TenantID, now, changed)
	tx.Store.Count(tx.Tx, tx.TenantID, counts)
	for id, it := range changed {
		if it.low && !first[id].low {
			fallen = append(fallen, id)
		}
	}
	slices.Sort(fallen)
	if err := p.writeLoads(tx.Tx, tx.TenantID, now, loads); err != nil {
		return nil, err
	}
	p.queueRoom(tx.Tx, tx.TenantID, loads)
	return fallen, nil
}

func (p *posting) checkCovered(v *level, it *stocked, after decimal.Dec) error {
	zone := p.at[v.zone].code
	if v.coversReserved(after) {
		have := v.quantity - v.reserved + v.promised
		return fault.New(fault.Conflict, CodeStock, "not enough stock of %s in zone %s: %s available", it.sku, zone, have).
			With((v.promised-v.delta).String()+" of status "+v.status+" is asked for", "").At("quantity", "only %s available",
			have)
	}
	if v.duplicatesSerial(after) {
		return fault.New(fault.Conflict, CodeStock, "serial number %s of %s is in zone %s already", v.serial, it.sku,
			zone).At("serial", "is in stock already")
	}
	return nil
}

// othersOwn says of goods that are short when what lies there of them, in the
// same lot and status, is another owner's: one is not taken for the other.
func (p *posting) othersOwn(tx *db.Tx, tenant string, v *level, it *stocked, short error) error {
	const sql = `
		SELECT COUNT(*)
		FROM stock_levels
		WHERE tenant_id = $1
			AND item_id = $2
			AND zone_id = $3
			AND stock_status = $4
			AND quantity > 0
			AND COALESCE(CAST(lot_id AS text), '') = $5
			AND COALESCE(CAST(owner_id AS text), '') <> $6`
	var others int64
	err := tx.Query(sql, []any{tenant, v.item, v.zone, v.status, v.lot, v.owner}, func(r *db.Row) error {
		others = r.Int(0)
		return nil
	})
	if err != nil || others == 0 || v.quantity > 0 {
		return cmp.Or(err, short)
	}
	return fault.New(fault.Conflict, CodeOwner, "what lies of %s in zone %s is another owner's", it.sku,
		p.at[v.zone].code).At("owner_id", "is another")
}

// addLevelChange adds a level's change to the item's totals.
func (it *stocked) addLevelChange(v *level) error {
	var err error
	if it.onHand, err = addWithin(it.onHand, v.delta, maxStock, "quantity"); err != nil {
		return err
	}
	if v.owner != "" {
		it.owners += v.delta
	}
	if v.counts {
		if it.available, err = addWithin(it.available, v.delta-v.promised, maxStock, "quantity"); err != nil {
			return err
		}
	}
	it.value, err = MultiplyWithin(it.onHand-it.owners, it.unitCost, "quantity")
	it.low = inventory.LowStock(it.available, it.reorderPoint)
	return err
}

// addCounters notes the difference to the counters of the catalog's items.
func (it *stocked) addCounters(deltas map[string]int64, was stocked) error {
	if it.low != was.low {
		deltas[was.counterName()]--
		deltas[it.counterName()]++
	}
	rise, err := addWithin(decimal.Dec(deltas[stockValue]), it.value-was.value, maxTotal, "quantity")
	deltas[stockValue] = int64(rise)
	return err
}

func (it *stocked) counterName() string {
	if it.low {
		return "items:" + it.status + ":true"
	}
	return "items:" + it.status + ":false"
}

func addLoad(loads map[string]decimal.Dec, zone string, units, before, after decimal.Dec) error {
	b, err := MultiplyWithin(before, units, "quantity")
	if err != nil {
		return err
	}
	e, err := MultiplyWithin(after, units, "quantity")
	if err != nil {
		return err
	}
	loads[zone], err = addWithin(loads[zone], e-b, maxTotal, "quantity")
	return err
}

func writeItems(tx *db.Tx, tenant, now string, changed map[string]*stocked) {
	list := make([]*stocked, 0, len(changed))
	for _, it := range changed {
		list = append(list, it)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	b := blocks.Block{
		// The first row of values has no meaning but its types, which the
		// parameters below it take on.
		Head: "WITH v(id, on_hand, available, stock_value, low_stock) AS (VALUES (" +
			"(SELECT id FROM items WHERE 1 = 0), CAST(0 AS bigint), CAST(0 AS " +
			"bigint), CAST(0 AS bigint), CAST(NULL AS boolean)), ",
		Tail: ") UPDATE items SET on_hand = v.on_hand, available = v.available, " +
			"stock_value = v.stock_value, low_stock = v.low_stock, updated_at = $2 " +
			"FROM v WHERE items.tenant_id = $1 AND items.id = v.id",
		Fixed: []any{tenant, now}, Width: 5,
	}
	b.QueueRows(tx, len(list), func(i int, args []any) []any {
		it := list[i]
		return append(args, it.id, it.onHand, it.available, it.value, it.low)
	})
	ids := make([]string, len(list))
	for i, it := range list {
		ids[i] = it.id
	}
	kits.QueueAvailable(tx, tenant, now, ids)
}

// writeLoads changes the load of zones and all above them, last, because every
// writer of a tenant meets at the top of the tree.
func (p *posting) writeLoads(tx *db.Tx, tenant, now string, loads map[string]decimal.Dec) error {
	var zones, ids set
	for z, d := range loads {
		if d == 0 {
			continue
		}
		zones.addID(z)
		for _, u := range p.at.ancestorsOf(z) {
			ids.addID(u)
		}
	}
	for _, v := range p.order {
		if p.itemByID[v.item].capacityUnits == 0 {
			ids.addID(v.zone)
		}
	}
	if len(zones.list) <= few {
		lockZones(tx, tenant, ids.list, p.at.checkUnchanged)
	}
	return haul{tx: tx, tenant: tenant, now: now, field: "quantity", at: p.at}.moveLoads(loads)
}
