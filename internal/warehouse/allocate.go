package warehouse

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/kits"
	"holdfast/internal/warehouse/sites"
)

// demandLine is an order line that stock is looked for.
type demandLine struct {
	order, line, item, owner, lot, sku string
	site                               string // of the order, "" = none
	isTransfer                         bool   // what it takes goes to another site
	need                               decimal.Dec
	minExpiry, ship                    string // dates; ship is the day it leaves
	keep                               int64  // days that goods must last after ship
}

// freeStock is free stock at one place.
type freeStock struct {
	spot
	id, expires, received string
	site                  string // that its zone is of, "" = none
	free                  decimal.Dec
	rank                  int64 // pick_sequence
	floor                 bool  // in a dock or staging zone: taken after bins
}

// Short is what of an order line found no stock.
type Short struct {
	LineID   string      `json:"order_line_id"`
	ItemID   string      `json:"item_id"`
	Quantity decimal.Dec `json:"quantity" doc:"Base units that are still to be had."`
	Why      string      `json:"why"`
}

// plan says how stock is chosen.
type plan struct {
	strategy string            // fefo, fifo, pick_sequence
	whole    bool              // an order gets all of its lines or nothing
	expires  string            // when the reservations end, "" = never
	lines    map[string]bool   // of the orders, these lines alone; nil = all
	avoid    map[string]string // item -> zone whose stock is not to be trusted
	isBound  bool              // stock of site alone is taken, for a pick list that is walked there
	site     string            // where isBound, "" = zones of no site
	across   bool              // orders of a site take stock of others after their own
	most     int               // orders that are promised something, then no other is looked at; 0 = all
}

// allocated is what an allocation has done.
type allocated struct {
	rows      []record.Reservation // new reservations
	short     []Short
	transfers []ProposedTransfer
	orders    []string // that were promised something
	last      string   // order that was looked at last, where the plan's most ended it; "" = all were
}

// allocateOrders promises free stock to the lines of orders, whose locks are held.
// Stock is free when its status is available, its lot released and good for long
// enough, its zone active and its owner the order's; an order of a site takes stock
// of that site alone, unless the tenant lets orders go across sites. What lies at other
// sites is proposed for a transfer. A kit gets lines of its components first, which
// find stock as any other. First expiring goes first
// (FEFO), then first in (FIFO), then what makes a whole plate, then the bin that
// is walked past first. The items are locked, so nobody else promises the same.
func (k work) allocateOrders(orders []string, p plan) (*allocated, error) {
	if err := kits.ExpandOrders(k.Tx, orders); err != nil {
		return nil, err
	}
	wishes, err := k.listDemand(orders, p)
	if err != nil || len(wishes) == 0 {
		return &allocated{}, err
	}
	stock, err := k.lockItemsAndListFreeStock(wishes)
	if err != nil {
		return nil, err
	}
	if p.across, err = sites.ReadAcross(k.Tx); err != nil {
		return nil, err
	}
	out, search := &allocated{}, newTransferSearch(stock)
	var lines []string
	for _, group := range byOrder(wishes) {
		rows, short := p.chooseStock(group, stock)
		out.short = append(out.short, short...)
		if !group[0].isTransfer {
			out.transfers = append(out.transfers, search.proposeTransfers(group, rows, short)...)
		}
		if p.whole && len(short) > 0 {
			giveBack(rows, stock)
			continue
		}
		if out.rows = append(out.rows, rows...); len(rows) > 0 {
			out.orders = append(out.orders, group[0].order)
		}
		if p.most > 0 && len(out.orders) == p.most {
			out.last = group[0].order
			break
		}
	}
	for _, r := range out.rows {
		r.SetExpiresAtOrNull(db.Null(p.expires))
		lines = append(lines, r.OrderLineID())
	}
	if out.rows, err = k.reserveStock(out.rows); err != nil {
		return nil, err
	}
	return out, k.updateOrderLines(lines, nil)
}

// demandSQL selects the lines of orders that ship goods and want more than they have. $1 tenant,
// $2 ids of orders.
const demandSQL = `
	SELECT orders.id, line.id, line.item_id, orders.owner_id, line.lot_id, item.sku,
		line.qty_ordered - line.qty_cancelled - line.qty_allocated,
		line.min_expiry, orders.promised_at, COALESCE(item.min_remaining_days, 0), orders.site_id,
		orders.type = 'transfer'
	FROM orders
	JOIN order_lines AS line ON line.tenant_id = $1 AND line.order_id = orders.id
	JOIN items AS item ON item.tenant_id = $1 AND item.id = line.item_id
	WHERE orders.tenant_id = $1
		AND orders.id IN {ids $2}
		AND orders.type IN ('outbound', 'transfer')
		AND line.is_kit IS NOT TRUE
		AND line.qty_ordered - line.qty_cancelled > line.qty_allocated
	ORDER BY orders.priority, orders.promised_at IS NULL, orders.promised_at, orders.id, line.line_no`

// listDemand are the lines of orders that ship goods and want more than they have.
func (k work) listDemand(orders []string, p plan) ([]demandLine, error) {
	var out []demandLine
	zone, now := "", k.Now()
	store.QueueZone(k.Tx.Tx, k.TenantID, &zone)
	err := k.Query(demandSQL, []any{k.TenantID, jsonList(orders)}, func(r *db.Row) error {
		w := demandLine{
			order: r.Text(0), line: r.Text(1), item: r.Text(2), owner: r.Text(3), lot: r.Text(4), sku: r.Text(5), need: r.Dec(6),
			minExpiry: r.Text(7), ship: shipDate(now, r.Time(8), localtime.Zone(zone)), keep: r.Int(9), site: r.Text(10),
			isTransfer: r.Bool(11),
		}
		if p.lines == nil || p.lines[w.line] {
			out = append(out, w)
		}
		return nil
	})
	return out, err
}

// shipDate is the date on which goods leave at a place: that for which they are
// promised, and today where that is over or there is none, which is the zero time.
func shipDate(now, promised time.Time, zone *time.Location) string {
	if promised.Before(now) {
		promised = now
	}
	return localtime.DateOf(promised, zone).String()
}

// lockItems queues locking items, by a list of their ids, in one order. SQLite has
// one writer.
func lockItems(tx *db.Tx, tenant, list string) {
	if lock := tx.DB().ForUpdate(); lock != "" {
		tx.Queue(db.FillWords(`
			SELECT id
			FROM items
			WHERE tenant_id = $1
				AND id IN {ids $2}
			ORDER BY id {lock}`, "{lock}", lock),
			[]any{tenant, list}, func(*db.Row) error { return nil })
	}
}

// freeStockSQL selects the stock of items that orders may take. $1 tenant, $2 ids of items.
const freeStockSQL = `
	SELECT level.id, level.item_id, level.zone_id, level.lot_id, level.serial, level.owner_id, level.lpn,
		level.quantity - level.reserved,
		lot.expires_on,
		level.created_at,
		zone.pick_sequence,
		zone.kind,
		{site}
	FROM stock_levels AS level
	JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = level.zone_id
	LEFT JOIN lots AS lot ON lot.tenant_id = $1 AND lot.id = level.lot_id
	WHERE level.tenant_id = $1
		AND level.item_id IN {ids $2}
		AND level.stock_status = 'available'
		AND level.quantity > level.reserved
		AND zone.status = 'active'
		AND zone.kind NOT IN ('quarantine', 'transit')
		AND (level.lot_id IS NULL OR lot.status = 'released')`

// lockItemsAndListFreeStock locks the items that are wanted and reads their free stock.
func (k work) lockItemsAndListFreeStock(wishes []demandLine) (map[string][]*freeStock, error) {
	var items set
	for _, w := range wishes {
		items.addID(w.item)
	}
	slices.Sort(items.list)
	list := jsonList(items.list)
	lockItems(k.Tx.Tx, k.TenantID, list)
	out := map[string][]*freeStock{}
	err := k.Query(sites.FillStatement(freeStockSQL), []any{k.TenantID, list}, func(r *db.Row) error {
		c := &freeStock{
			spot: spot{
				item: r.Text(1), zone: r.Text(2), lot: r.Text(3), serial: r.Text(4), owner: r.Text(5), lpn: r.Text(6),
				status: "available",
			},
			id: r.Text(0), free: r.Dec(7), expires: r.Text(8), received: r.Text(9), rank: r.Int(10), site: r.Text(12),
		}
		c.floor = r.Text(11) == "dock" || r.Text(11) == "staging"
		out[c.item] = append(out[c.item], c)
		return nil
	})
	return out, err
}

// byOrder groups wishes, which come order by order.
func byOrder(list []demandLine) (groups [][]demandLine) {
	for i, w := range list {
		if i == 0 || list[i-1].order != w.order {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], w)
	}
	return groups
}

// chooseStock takes stock for one order's lines.
func (p plan) chooseStock(wishes []demandLine, stock map[string][]*freeStock) (rows []record.Reservation,
	short []Short) {
	for _, w := range wishes {
		list := stock[w.item]
		slices.SortFunc(list, p.compareForLine(w))
		need, unfit, elsewhere := w.need, decimal.Dec(0), decimal.Dec(0)
		for _, c := range list {
			switch {
			case c.free == 0 || need == 0 || p.avoid[c.item] == c.zone || !w.wantsStock(c):
				continue
			case !w.lastsLongEnough(c.expires):
				unfit += c.free
				continue
			case !p.mayTake(w, c):
				elsewhere += c.free
				continue
			}
			q := min(need, c.free)
			c.free -= q
			need -= q
			rows = append(rows, newReservation(w.line, c.spot, q))
		}
		if need > 0 {
			short = append(short, Short{LineID: w.line, ItemID: w.item, Quantity: need, Why: p.shortReason(w, unfit, elsewhere)})
		}
	}
	return rows, short
}

// shortReason says why a line is short, of which some stock is unfit and some lies at
// other sites.
func (p plan) shortReason(w demandLine, unfit, elsewhere decimal.Dec) string {
	why, where, way := "not enough free stock of "+w.sku, "", "which a transfer order would bring"
	switch {
	case p.isBound && p.site == "":
		where = " in zones of no site"
	case p.isBound:
		where = " at the site of the pick list"
	case w.site != "":
		where = " at the order's site"
	}
	if w.site == "" || p.across {
		way = "which allocate_order would promise"
	}
	if elsewhere > 0 {
		return why + where + ": " + elsewhere.String() + " lie elsewhere, " + way
	}
	if unfit > 0 {
		return why + ": " + unfit.String() + " more are in lots that expire too soon"
	}
	return why + where
}

// lastsLongEnough reports goods that are good for long enough after they leave; those
// without a date are.
func (w demandLine) lastsLongEnough(expires string) bool {
	if expires == "" {
		return w.minExpiry == ""
	}
	return expires >= inventory.DaysAfter(w.ship, w.keep) && expires >= w.minExpiry
}

// compareByStrategy compares free stock by the plan's strategy.
func (p plan) compareByStrategy(need decimal.Dec) func(a, b *freeStock) int {
	return func(a, b *freeStock) int {
		walk := cmp.Compare(a.rank, b.rank)
		switch p.strategy {
		case "fifo":
			return cmp.Or(compareFloorStock(a, b), strings.Compare(a.received, b.received), comparePlates(a, b, need), walk,
				strings.Compare(a.id, b.id))
		case "pick_sequence":
			return cmp.Or(compareFloorStock(a, b), walk, compareExpiry(a, b), strings.Compare(a.received, b.received),
				strings.Compare(a.id, b.id))
		}
		return cmp.Or(
			compareExpiry(a, b),
			compareFloorStock(a, b),
			strings.Compare(a.received, b.received),
			comparePlates(a, b, need),
			walk,
			strings.Compare(a.id, b.id),
		)
	}
}

// compareExpiry puts what has no date last.
func compareExpiry(a, b *freeStock) int {
	if (a.expires == "") != (b.expires == "") {
		return strings.Compare(b.expires, a.expires)
	}
	return strings.Compare(a.expires, b.expires)
}

// compareFloorStock puts what still stands at a dock or in staging last.
func compareFloorStock(a, b *freeStock) int {
	if a.floor == b.floor {
		return 0
	}
	if a.floor {
		return 1
	}
	return -1
}

// comparePlates puts license plates that are needed whole before loose goods, and those
// that would have to be broken last.
func comparePlates(a, b *freeStock, need decimal.Dec) int {
	rank := func(c *freeStock) int {
		switch {
		case c.lpn == "":
			return 1
		case c.free <= need:
			return 0
		}
		return 2
	}
	return rank(a) - rank(b)
}

// giveBack undoes a choice.
func giveBack(rows []record.Reservation, stock map[string][]*freeStock) {
	for _, r := range rows {
		at := spotOf(store.Row(r))
		for _, c := range stock[at.item] {
			if c.spot == at {
				c.free += r.Quantity()
			}
		}
	}
}

// readSetting reads one of the tenant's settings as JSON text, "" where it is not
// set.
func readSetting(tx *store.Tx, key string) (value string, err error) {
	err = tx.Query(`
		SELECT value
		FROM settings
		WHERE tenant_id = $1
			AND lower(key) = $2`, []any{tx.TenantID, key},
		func(r *db.Row) error {
			value = r.Text(0)
			return nil
		})
	return value, err
}

// settingPartial lets orders be allocated in part; true when it is not set.
const settingPartial = "allow_partial_allocation"

// defaultPlan is the plan of orders that are confirmed.
func (k work) defaultPlan() (plan, error) {
	v, err := readSetting(k.Tx, settingPartial)
	return plan{strategy: "fefo", whole: v == "false"}, err
}

// allocateConfirmed allocates stock to orders that have just been confirmed.
func (k work) allocateConfirmed(orders []string) error {
	if len(orders) == 0 {
		return nil
	}
	p, err := k.defaultPlan()
	if err != nil {
		return err
	}
	_, err = k.allocateOrders(orders, p)
	return err
}

// linesOf are the ids of the lines of orders.
func (k work) linesOf(orders []string) ([]string, error) {
	rows, err := record.List[record.OrderLine](k.Tx, k.DB().InUUID("order_id", 2)+" ORDER BY id", jsonList(orders))
	return record.IDs(rows), err
}

// refuseShortage refuses an allocation that left something short where all was asked
// for.
func refuseShortage(out *allocated) error {
	if len(out.short) == 0 {
		return nil
	}
	s := out.short[0]
	return fault.New(fault.Conflict, CodeStock, "%s: %s short", s.Why, s.Quantity).With("order line "+s.LineID,
		"allow a part, or allocate again when goods have come")
}
