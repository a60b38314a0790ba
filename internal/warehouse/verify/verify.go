// Package verify computes what is kept beside the rows of a tenant's warehouse anew, and
// says what differs: counters, stock levels, item and zone totals, average costs, orders,
// reservations, packages. It only reads.
//
// Layer: domains. Begin at [RecountTotals].
package verify

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/pricing"
)

// Difference is a kept total that does not agree with the rows it stands for.
type Difference struct {
	What string // "counter incidents:reported:low:hazard", "item <id> on_hand", ...
	Kept int64  // quantities and money scaled by 10^4
	True int64
}

func (d Difference) String() string {
	return fmt.Sprintf("%s is %d, the rows say %d", d.What, d.Kept, d.True)
}

// RecountTotals computes every kept total of a tenant anew (counters of the catalog,
// stock levels from the ledger, items from levels, average costs, loads of zones, sums of
// orders) and returns what differs, totals past the number range included. It reads all of
// the tenant's rows: for `holdfast verify` and tests, not for requests.
func RecountTotals(tx *db.Tx, c *catalog.Catalog, tenant string) ([]Difference, error) {
	r := recount{tx: tx, tenant: tenant, kept: map[string]int64{}, real: map[string]int64{}}
	r.recountCounters(c)
	r.recountLevels()
	r.recountItems()
	r.recountKits()
	r.recountZones()
	r.recountOrders()
	r.recountReservations()
	r.recountOwners()
	r.recountPlates()
	r.recountPackages()
	r.recountChildren()
	r.recountTransit()
	r.recountReturns()
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("verify: recount: %w", err)
	}
	r.recountCapacities()
	if err := r.recountCosts(); err != nil {
		return nil, fmt.Errorf("verify: recount: %w", err)
	}
	return r.listDifferences(), nil
}

type recount struct {
	tx     *db.Tx
	tenant string
	kept   map[string]int64
	real   map[string]int64
	parent map[string]string
	room   map[string]int64
	load   map[string]int64
	lost   []Difference
}

func (r *recount) listDifferences() []Difference {
	out := r.lost
	for name, n := range r.kept {
		if n != r.real[name] {
			out = append(out, Difference{What: name, Kept: n, True: r.real[name]})
		}
	}
	for name, n := range r.real {
		if _, ok := r.kept[name]; !ok && n != 0 {
			out = append(out, Difference{What: name, True: n})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].What < out[j].What })
	return out
}

func (r *recount) queueQuery(sql string, each func(*db.Row)) {
	r.tx.Queue(sql, []any{r.tenant}, func(row *db.Row) error {
		each(row)
		return nil
	})
}

// chunk splits what wide adds up.
const chunk = 1_000_000

// wideSum is SUM of a 64-bit expression as two columns, its chunks and the rest:
// neither passes the number range however wrong the rows are, so that one
// broken total does not end the recount.
func wideSum(expr string) string {
	n := strconv.Itoa(chunk)
	return "CAST(COALESCE(SUM((" + expr + ") / " + n + "), 0) AS bigint), CAST(COALESCE(SUM((" + expr + ") % " + n +
		"), 0) AS bigint)"
}

// readWideSum reads wide's columns from i on. A sum that does not fit 64 bits is a
// difference of its own, told as the nearest number.
func (r *recount) readWideSum(name string, row *db.Row, i int) int64 {
	n := new(big.Int).Mul(big.NewInt(row.Int(i)), big.NewInt(chunk))
	n.Add(n, big.NewInt(row.Int(i+1)))
	if n.IsInt64() {
		return n.Int64()
	}
	near := int64(math.MaxInt64)
	if n.Sign() < 0 {
		near = math.MinInt64
	}
	r.lost = append(r.lost, Difference{What: name + " passes the number range: it", True: near})
	return near
}

// recountCounters recomputes the catalog's counters; counters the catalog does not
// know belong to others and are left alone.
func (r *recount) recountCounters(c *catalog.Catalog) {
	mine := map[string]bool{}
	for _, res := range c.All() {
		for i := range res.Counters {
			n := &res.Counters[i]
			mine[n.Name] = true
			r.recountCounter(res, n)
		}
	}
	r.queueQuery(db.FillWords(`
		SELECT name, {wide sum}
		FROM counters
		WHERE tenant_id = $1
		GROUP BY name`, "{wide sum}", wideSum("delta")), func(row *db.Row) {
		if name, _, _ := strings.Cut(row.Text(0), ":"); mine[name] {
			r.kept[counterPrefix+row.Text(0)] = r.readWideSum(counterPrefix+row.Text(0), row, 1)
		}
	})
	r.queueQuery(db.FillWords(`
		SELECT name, span, start_at, part, {wide sum}
		FROM timed_counters
		WHERE tenant_id = $1
		GROUP BY name, span, start_at, part`, "{wide sum}", wideSum("delta")), func(row *db.Row) {
		if name := row.Text(0); mine[name] {
			key := counterPrefix + catalog.TimedKey(catalog.Span(row.Text(1)[0]), row.Text(2), name, row.Text(3))
			r.kept[key] = r.readWideSum(key, row, 4)
		}
	})
}

const counterPrefix = "counter "

// recountCounter counts the records of a counter by what splits it, of a timed one
// also by the hour, the length of which tells its day and month.
func (r *recount) recountCounter(res *catalog.Resource, n *catalog.Counter) {
	cols := slices.Clone(n.By)
	if len(n.Except) > 0 {
		cols = append(cols, res.States.Field)
	}
	by := slices.Clone(cols)
	if n.At != "" {
		by = append(by, r.tx.DB().Hour(n.At))
	}
	value, group := "0, COUNT(*)", ""
	if n.Sum != "" {
		value = wideSum(n.Sum)
	}
	if len(by) > 0 {
		group = " GROUP BY " + strings.Join(by, ", ")
	}
	name := counterPrefix + n.Name
	columns := strings.Join(append([]string{value}, by...), ", ")
	r.queueQuery(db.FillWords(`
		SELECT {columns}
		FROM {name}
		WHERE tenant_id = $1 {group}`, "{columns}", columns, "{name}", res.Name, "{group}", group), func(row *db.Row) {
		record := map[string]any{}
		for i, f := range cols {
			if fd, _ := res.Field(f); row.Null(i + 2) {
				record[f] = nil
			} else if fd.Type == catalog.Bool {
				record[f] = row.Bool(i + 2)
			} else {
				record[f] = row.Text(i + 2)
			}
		}
		if n.At != "" && !row.Null(len(by)+1) {
			record[n.At] = row.Text(len(by)+1) + ":00:00.000000Z"
		}
		one := *n
		one.Sum = "" // the database has added up
		sums := map[string]int64{}
		one.Add(sums, res, record, r.readWideSum(name, row, 0))
		for key, v := range sums {
			r.real[counterPrefix+key] += v
		}
	})
}

// RecountCounters computes the counters of the catalog anew and returns what
// each must be changed by, named as store.Count names them. It must see one
// snapshot: what writers add meanwhile stays right.
func RecountCounters(tx *db.Tx, c *catalog.Catalog, tenant string) (map[string]int64, error) {
	r := recount{tx: tx, tenant: tenant, kept: map[string]int64{}, real: map[string]int64{}}
	r.recountCounters(c)
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("verify: recount counters: %w", err)
	}
	if len(r.lost) > 0 {
		return nil, fault.New(fault.Invalid, "22003", "%s", r.lost[0])
	}
	deltas := map[string]int64{}
	for _, d := range r.listDifferences() {
		deltas[strings.TrimPrefix(d.What, counterPrefix)] = d.True - d.Kept
	}
	return deltas, nil
}

func (r *recount) recountLevels() {
	r.queueQuery("SELECT stock_key, quantity FROM stock_levels WHERE tenant_id = $1", func(row *db.Row) {
		r.kept["level "+row.Text(0)] = row.Int(1)
	})
	r.queueQuery(`
		SELECT item_id, lot_id, serial, owner_id, lpn, from_zone_id, from_status, to_zone_id, to_status,
			quantity, plate_change
		FROM stock_movements
		WHERE tenant_id = $1`, func(row *db.Row) {
		from, to := warehouse.MovementKeys(record.StockMovement{
			"item_id": row.Text(0), "lot_id": row.Text(1), "serial": row.Text(2), "owner_id": row.Text(3), "lpn": row.Text(4),
			"from_zone_id": row.Text(5), "from_status": row.Text(6), "to_zone_id": row.Text(7), "to_status": row.Text(8),
			"plate_change": row.Text(10),
		})
		if from != "" {
			r.real["level "+from] -= row.Int(9)
		}
		if to != "" {
			r.real["level "+to] += row.Int(9)
		}
	})
}

// freeSQL is what is free of a stock level where it counts as available, null elsewhere.
const freeSQL = `CASE WHEN level.owner_id IS NULL
		AND level.stock_status = 'available'
		AND zone.status = 'active'
		AND zone.kind NOT IN ('quarantine', 'transit')
		AND (lot.id IS NULL OR lot.status = 'released' AND NOT lot.short_dated)
		THEN level.quantity - level.reserved END`

// itemsSQL selects the totals of items and what their stock levels say. $1 tenant.
const itemsSQL = `
	SELECT item.id, item.on_hand, item.available, item.stock_value, item.low_stock, item.unit_cost, item.reorder_point,
		{on hand}, {free}, {own}, item.is_kit
	FROM items AS item
	LEFT JOIN stock_levels AS level ON level.tenant_id = $1 AND level.item_id = item.id
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = level.zone_id
	LEFT JOIN lots AS lot ON lot.tenant_id = $1 AND lot.id = level.lot_id
	WHERE item.tenant_id = $1
	GROUP BY item.id, item.on_hand, item.available, item.stock_value, item.low_stock, item.unit_cost, item.reorder_point,
		item.is_kit`

// recountItems holds the totals of items to their stock levels: the value, what is
// available and what is low are those of the tenant's own stock.
func (r *recount) recountItems() {
	text := strings.NewReplacer("{on hand}", wideSum("level.quantity"), "{free}", wideSum(freeSQL),
		"{own}", wideSum("CASE WHEN level.owner_id IS NULL THEN level.quantity END")).Replace(itemsSQL)
	r.queueQuery(text, func(row *db.Row) {
		id := "item " + row.Text(0)
		onHand, available := r.readWideSum(id+" on_hand", row, 7), r.readWideSum(id+" available", row, 9)
		own := r.readWideSum(id+" own", row, 11)
		value, err := warehouse.MultiplyWithin(decimal.Dec(own), row.Dec(5), "unit_cost")
		if err != nil {
			value = -1
		}
		r.addPair(id+" on_hand", row.Int(1), onHand)
		r.addPair(id+" stock_value", row.Int(3), int64(value))
		if row.Bool(13) { // available follows its components, and nothing of it is bought
			r.addPair(id+" low_stock", boolToInt(row.Bool(4)), 0)
			return
		}
		r.addPair(id+" available", row.Int(2), available)
		r.addPair(id+" low_stock", boolToInt(row.Bool(4)), boolToInt(inventory.LowStock(decimal.Dec(available), row.Dec(6))))
	})
}

func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (r *recount) addPair(name string, kept, real int64) {
	r.kept[name] = kept
	r.real[name] = real
}

func (r *recount) recountZones() {
	r.parent, r.room, r.load = map[string]string{}, map[string]int64{}, map[string]int64{}
	r.queueQuery(`
		SELECT id, parent_id, load_units, utilization, max_capacity
		FROM zones
		WHERE tenant_id = $1`,
		func(row *db.Row) {
			id := row.Text(0)
			r.parent[id] = row.Text(1)
			r.room[id] = row.Int(4)
			r.kept["zone "+id+" load_units"] = row.Int(2)
			if !row.Null(3) {
				r.kept["zone "+id+" utilization"] = row.Int(3)
			}
		})
	r.queueQuery(`
		SELECT l.zone_id, l.quantity, i.capacity_units
		FROM stock_levels l
		JOIN items i ON i.tenant_id = $1 AND i.id = l.item_id
		WHERE l.tenant_id = $1`, func(row *db.Row) {
		if units, err := warehouse.MultiplyWithin(row.Dec(1), row.Dec(2), "capacity_units"); err == nil {
			r.load[row.Text(0)] += int64(units)
		}
	})
}

// recountCapacities carries each zone's own load up the tree.
func (r *recount) recountCapacities() {
	for id := range r.parent {
		r.real["zone "+id+" load_units"] += 0
		up, own := id, r.load[id]
		for depth := 0; up != "" && depth <= warehouse.MaxDepth; depth++ {
			r.real["zone "+up+" load_units"] += own
			up = r.parent[up]
		}
	}
	for id, room := range r.room {
		if u, ok := inventory.Utilization(decimal.Dec(r.real["zone "+id+" load_units"]), decimal.Dec(room)); ok {
			r.real["zone "+id+" utilization"] = int64(u)
		}
	}
}

func (r *recount) recountOrders() {
	r.queueQuery(`
		SELECT id, line_count, qty_ordered, qty_allocated, qty_picked, qty_packed, qty_shipped, qty_received,
			total_value
		FROM orders
		WHERE tenant_id = $1`, func(row *db.Row) {
		for i, f := range orderSums {
			r.kept["order "+row.Text(0)+" "+f] = row.Int(i + 1)
			r.real["order "+row.Text(0)+" "+f] += 0
		}
	})
	r.queueQuery(`
		SELECT order_id, qty_ordered, qty_allocated, qty_picked, qty_packed, qty_shipped, qty_received,
			qty_cancelled, unit_price, price_qty, amount, id, is_kit, kit_line_id
		FROM order_lines
		WHERE tenant_id = $1`, func(row *db.Row) {
		id := "order " + row.Text(0) + " "
		if row.Null(13) {
			r.real[id+"line_count"]++
		}
		for i, f := range orderSums[1:7] {
			if !row.Bool(12) { // a kit's goods are on the lines of its components
				r.real[id+f] += row.Int(i + 1)
			}
		}
		amount, _ := pricing.MultiplyPrice(row.Dec(1)-row.Dec(7), row.Dec(8), row.Dec(9))
		r.real[id+"total_value"] += int64(amount)
		r.addPair("order line "+row.Text(11)+" amount", row.Int(10), int64(amount))
	})
}

// heldLinesSQL selects what is promised and picked of lines of orders that ship goods, and
// has not left. $1 tenant.
const heldLinesSQL = `
	SELECT line.id, line.qty_allocated - line.qty_shipped, line.qty_picked - line.qty_shipped
	FROM order_lines AS line
	JOIN orders ON orders.tenant_id = $1 AND orders.id = line.order_id
	WHERE line.tenant_id = $1
		AND line.is_kit IS NOT TRUE
		AND orders.type IN ('outbound', 'transfer')`

// recountReservations holds what stock levels have reserved, and what is allocated and
// picked of order lines, to the active reservations.
func (r *recount) recountReservations() {
	r.queueQuery(`
		SELECT stock_key, reserved
		FROM stock_levels
		WHERE tenant_id = $1
			AND reserved <> 0`, func(row *db.Row) {
		r.kept["reserved of level "+row.Text(0)] = row.Int(1)
	})
	r.queueQuery(heldLinesSQL, func(row *db.Row) {
		r.addPair("order line "+row.Text(0)+" allocated, not shipped", row.Int(1), 0)
		r.addPair("order line "+row.Text(0)+" picked, not shipped", row.Int(2), 0)
	})
	r.queueQuery(`
		SELECT stock_key, order_line_id, quantity, picked
		FROM reservations
		WHERE tenant_id = $1
			AND state = 'active'`, func(row *db.Row) {
		r.real["reserved of level "+row.Text(0)] += row.Int(2)
		r.real["order line "+row.Text(1)+" allocated, not shipped"] += row.Int(2)
		if row.Bool(3) {
			r.real["order line "+row.Text(1)+" picked, not shipped"] += row.Int(2)
		}
	})
}

var orderSums = [...]string{"line_count", "qty_ordered", "qty_allocated", "qty_picked", "qty_packed", "qty_shipped",
	"qty_received", "total_value"}
