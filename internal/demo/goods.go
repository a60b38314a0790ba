package demo

import (
	"fmt"
	"math"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/inventory"
)

// kind is how an item sells.
type kind uint8

const (
	steady kind = iota
	fast
	slow
	dead
	fresh // added lately
)

type item struct {
	id, sku, name string
	cat           *category
	cents         int64 // unit cost in hundredths
	price         int64
	weight        float64
	capacity      decimal.Dec
	packet        int64
	kind          kind
	late          bool // its supplier does not deliver
	levels        []*level
	born          int
	draw          float64 // weight in the lottery of order lines
	rate          float64 // pieces expected per day
	reorderAt     int64
	maxStock      int64
	onOrder       int64
	out90         int64
	postings      int64 // movements so far
	home, bulk    *zone
	lots          []*lot
}

type lot struct {
	id, no        string
	day           int // came on this day
	made, expires string
	status        string
	short         bool // it lasts less than asked for
	supplier      string
}

// lineQuantity is how many packets an order line asks for on average.
const lineQuantity = 2.0

// makeAssortment makes the items and decides how each of them sells.
func (w *stock) makeAssortment() {
	homes := map[string][]*zone{}
	for class, area := range map[string]string{"ambient": "PCK-", "cool": "CLD-", "hazmat": "HAZ-", "secure": "SEC-"} {
		for _, z := range w.tree {
			if z.kind == "bin" && strings.HasPrefix(z.code, area) {
				homes[class] = append(homes[class], z)
			}
		}
	}
	var bulk []*zone
	for _, z := range w.tree {
		if z.kind == "bin" && strings.HasPrefix(z.code, "BLK-") {
			bulk = append(bulk, z)
		}
	}
	for i := range w.categories {
		c := &w.categories[i]
		for _, p := range c.products {
			for v, variant := range p.variants {
				for _, maker := range w.makerNames() {
					it := w.makeItem(c, p, v, variant+maker)
					list := homes[c.class]
					it.home = list[len(w.items)%len(list)]
					if len(bulk) > 0 && c.class == "ambient" {
						it.bulk = bulk[len(w.items)%len(bulk)]
					}
					w.items = append(w.items, it)
				}
			}
		}
	}
	w.dealDemand()
}

// makerNames are what a variant's name ends in: its maker, where there are several.
func (w *stock) makerNames() []string {
	if len(w.makers) == 0 {
		return []string{""}
	}
	out := make([]string, len(w.makers))
	for i, m := range w.makers {
		out[i] = ", " + m
	}
	return out
}

func (w *stock) makeItem(c *category, p product, v int, variant string) *item {
	cents := p.cents + p.cents*int64(v)*22/100
	sku := fmt.Sprintf("%s-%04d", c.prefix, 1000+17*(len(w.items)%400))
	if n := len(w.makers); n > 0 {
		cents += cents * int64(len(w.items)%n) * 3 / 100
		sku = fmt.Sprintf("%s-%05d", c.prefix, 10_000+len(w.items))
	}
	return &item{sku: sku, name: p.name + " " + variant, cat: c, cents: cents,
		price: cents * int64(135+(v*7)%30) / 100, weight: p.weight * (1 + 0.2*float64(v)),
		capacity: decimal.FromFloat(p.capacity * (1 + 0.1*float64(v))),
		packet:   int64(p.packet), born: -goLive}
}

// dealDemand deals out how items sell, and from that their stock rules.
func (w *stock) dealDemand() {
	deck := w.cal.rng.Perm(len(w.items))
	deal := func(n int, k kind) {
		for ; n > 0; n-- {
			w.items[deck[0]].kind = k
			deck = deck[1:]
		}
	}
	deal(w.fast, fast)
	deal(w.slow, slow)
	deal(w.dead, dead)
	deal(w.fresh, fresh)
	for _, i := range deck[:w.late] {
		w.items[i].late = true
	}
	sum := 0.0
	for _, it := range w.items {
		it.draw = [...]float64{steady: 0.16, fast: 1, slow: 0.02, dead: 0, fresh: 0.25}[it.kind]
		if it.late {
			it.draw = 0.4
		}
		if it.kind == fresh {
			it.born = w.cal.workingBefore(-w.cal.drawBetween(18, min(48, w.opened)))
		}
		it.id = w.cal.newID(it.born, w.cal.momentAt(it.born, 9))
		sum += it.draw
	}
	for _, it := range w.items {
		it.rate = w.ordersPerDay * 0.8 * (w.lines + 0.7) * it.draw / sum * float64(it.packet) * lineQuantity
		w.setStockRules(it)
	}
}

// setStockRules sets reorder point and maximum from the expected demand.
func (w *stock) setStockRules(it *item) {
	lead := float64(it.cat.lead)
	packets := func(f float64) int64 { return it.packet * int64(math.Ceil(f/float64(it.packet))) }
	spread := math.Sqrt(it.rate * float64(it.packet) * lineQuantity * lead)
	switch it.kind {
	case fast:
		it.reorderAt = int64(it.rate*(lead+4) + 1.2*spread)
		it.maxStock = packets(float64(it.reorderAt)) + packets(it.rate*30)
	case steady, fresh:
		it.reorderAt = int64(it.rate*(lead+4) + spread)
		it.maxStock = packets(float64(it.reorderAt)) + packets(it.rate*70)
	case slow:
		if w.cal.drawChance(0.5) {
			it.reorderAt = max(1, it.packet-1)
		}
		it.maxStock = it.packet * int64(w.cal.drawBetween(12, 40))
	case dead:
		it.maxStock = it.packet * int64(w.cal.drawBetween(4, 24))
	}
}

// bookOpening books the stock everything began with: slow goods when the tenant
// went live, the rest when their hall followed, new items as they came.
func (w *stock) bookOpening() {
	for i, it := range w.items {
		day := -w.opened - 2
		if it.kind == slow || it.kind == dead {
			day = -goLive + i%6
		}
		if it.kind == fresh {
			continue
		}
		qty := it.reorderAt + int64(float64(it.maxStock-it.reorderAt)*(0.3+0.6*w.cal.rng.Float64()))
		qty = max(it.packet, qty/it.packet*it.packet)
		w.openingOf(it, day, qty)
		if it.kind == slow && w.opened < history && qty > it.packet { // the last of them went before orders were taken here
			ago := w.cal.workingBefore(-w.cal.drawBetween(history+5, inventory.DeadAfter-25))
			at := w.cal.momentAt(ago, w.cal.drawHour(9, 13))
			w.bookMovement(movement{day: ago, at: at, kind: "ship", item: it, lot: it.levels[0].lot, from: it.levels[0].zone,
				qty: it.packet, reason: "counter_sale", worker: w.findHand(ago, at)})
		}
	}
}

func (w *stock) openingOf(it *item, day int, qty int64) {
	t := w.cal.momentAt(day, w.cal.drawHour(8, 12))
	book := func(z *zone, q int64) {
		if q > 0 {
			w.bookMovement(movement{day: day, at: t, kind: "opening", item: it, lot: w.lotOf(it, day), to: z, qty: q,
				reason: "go_live"})
		}
	}
	reserve := int64(0)
	if it.bulk != nil && (it.kind == fast || qty > 40*it.packet) {
		reserve = qty / 2 / it.packet * it.packet
		book(it.bulk, reserve)
	}
	book(it.home, qty-reserve)
	if x := w.zones[fmt.Sprintf("BER-X-%02d", 1+len(w.movementRows())%6)]; x != nil && it.kind == fast && !it.late {
		book(x, it.packet*2)
	}
}

// lotOf opens a lot for goods that come on a day; nil when the item has none.
// Lots of the opening stock are already some way through their life.
func (w *stock) lotOf(it *item, day int) *lot {
	c := it.cat
	if !c.lots {
		return nil
	}
	age := w.cal.drawBetween(10, 40)
	if day < -w.opened {
		age = w.cal.drawBetween(30, c.shelfLife/2)
	}
	l := &lot{day: day, made: w.cal.localDate(day - age), expires: w.cal.localDate(day - age + c.shelfLife),
		status: "released", supplier: c.supplier}
	l.no = fmt.Sprintf("%s%s%02d", c.prefix[:1], strings.ReplaceAll(l.made[2:], "-", ""), len(it.lots)+1)
	l.id = w.cal.newID(day, w.cal.momentAt(day, 6))
	it.lots = append(it.lots, l)
	return l
}

// writeResults writes what the simulation left behind.
func (w *stock) writeResults() {
	w.withdrawOldLots()
	w.emitZones()
	w.emitItems()
	w.emitLevels()
	w.emitOrders()
}

// lasts is how many days a lot has to be good for when it leaves.
const lasts = 30

// withdrawOldLots withdraws the oldest lots: those past their date expired, those that do
// not last long enough to be sold as short-dated.
func (w *stock) withdrawOldLots() {
	today := w.cal.localDate(0)
	for _, it := range w.items {
		for _, l := range it.lots {
			l.short = l.expires < w.cal.localDate(lasts)
			if l.expires <= today {
				l.status = "expired"
			}
		}
	}
}

func (w *stock) emitItems() {
	classes := w.classifyABC()
	onHand, available := map[*item]int64{}, map[*item]int64{}
	for _, l := range w.levels {
		onHand[l.item] += l.qty
		isSold := l.lot == nil || l.lot.status == "released" && !l.lot.short
		if l.status == "available" && isSold && !l.zone.blocked && l.zone.kind != "quarantine" {
			available[l.item] += l.qty - l.reserved
		}
	}
	for i, it := range w.items {
		low := inventory.LowStock(wholeUnits(available[it]), wholeUnits(it.reorderAt))
		gtin := "0" + checkDigit(fmt.Sprintf("%s%05d", w.gs1, i+1))
		r := store.Row{
			"id": it.id, "sku": it.sku, "name": it.name, "category": it.cat.name, "base_uom": it.cat.uom, "gtin": gtin,
			"barcodes": rawJSON([]any{}),
			"tracking": "none", "has_expiry": it.cat.shelfLife > 0, "unit_cost": moneyCents(it.cents),
			"price":     moneyCents(it.price),
			"weight_kg": decimal.FromFloat(math.Round(it.weight*1000) / 1000), "capacity_units": it.capacity,
			"reorder_point": wholeUnits(it.reorderAt),
			"safety_stock":  wholeUnits(it.reorderAt / 3), "reorder_qty": wholeUnits(it.maxStock - it.reorderAt),
			"lead_time_days": int64(it.cat.lead),
			"abc_class":      classes[it], "storage_class": it.cat.class, "status": "active", "on_hand": wholeUnits(onHand[it]),
			"available":   wholeUnits(available[it]),
			"stock_value": moneyCents(onHand[it] * it.cents), "low_stock": low,
			"updated_at": formatMoment(w.cal.momentAt(0, 20)), "version": int64(3),
		}
		if it.maxStock > 0 {
			r["max_stock"] = wholeUnits(it.maxStock)
		}
		if it.cat.lots {
			r["tracking"], r["shelf_life_days"], r["min_remaining_days"] = "lot", int64(it.cat.shelfLife), int64(lasts)
		}
		if it.cat.hazmat != "" {
			r["hazmat_un"] = it.cat.hazmat
		}
		w.addRecord("items", it.born, w.cal.momentAt(it.born, 9), r)
		w.addRecord("item_barcodes", it.born, w.cal.momentAt(it.born, 9),
			store.Row{"value": gtin, "item_id": it.id, "uom": it.cat.uom})
		w.emitLots(it)
		if it.postings > 0 {
			w.addRecord("item_costs", it.born, w.cal.momentAt(it.born, 9), store.Row{"item_id": it.id,
				"quantity": wholeUnits(onHand[it]), "average_cost": moneyCents(it.cents), "postings": it.postings})
		}
	}
}

func (w *stock) emitLots(it *item) {
	for _, l := range it.lots {
		w.addRecord(
			"lots",
			l.day,
			w.cal.momentAt(l.day, 6),
			store.Row{"id": l.id, "item_id": it.id, "lot_no": l.no, "manufactured_on": l.made, "expires_on": l.expires,
				"supplier": l.supplier, "status": l.status, "short_dated": l.short},
		)
	}
}

// classifyABC classifies items by the value issued.
func (w *stock) classifyABC() map[*item]any {
	values := make([]float64, len(w.items))
	for i, it := range w.items {
		values[i] = float64(it.out90 * it.cents)
	}
	cuts, classes := inventory.CutABC(values), map[*item]any{}
	for i, it := range w.items {
		if it.kind != fresh {
			classes[it] = cuts.Class(values[i])
		}
	}
	return classes
}
