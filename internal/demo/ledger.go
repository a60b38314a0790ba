package demo

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"holdfast/internal/store"
)

// levelKey is what tells two stock levels apart here; serials, owners and
// license plates do not occur in the demo.
type levelKey struct {
	zone   *zone
	item   *item
	lot    *lot
	status string
}

// level is the running sum of an item's movements at one place.
type level struct {
	levelKey
	qty, reserved int64
	day           int
	first, last   time.Time
	counted       time.Time
}

// movement is one entry of the ledger.
type movement struct {
	day        int
	at         time.Time
	kind       string
	item       *item
	lot        *lot
	from, to   *zone
	fromStatus string
	toStatus   string
	qty        int64
	reason     string
	refType    string
	ref        string
	worker     string
}

func (w *stock) movementRows() []store.Row { return w.rows["stock_movements"] }

func (w *stock) levelAt(k levelKey, day int, at time.Time) *level {
	l := w.byKey[k]
	if l == nil {
		l = &level{levelKey: k, day: day, first: at}
		w.byKey[k] = l
		w.levels = append(w.levels, l)
		k.item.levels = append(k.item.levels, l)
	}
	if l.last = at; at.Before(l.first) {
		l.first = at
	}
	return l
}

// bookMovement books a movement and keeps the levels.
func (w *stock) bookMovement(m movement) {
	if m.fromStatus == "" {
		m.fromStatus = "available"
	}
	if m.toStatus == "" {
		m.toStatus = m.fromStatus
	}
	r := store.Row{"occurred_at": formatMoment(m.at), "type": m.kind, "item_id": m.item.id, "from_status": m.fromStatus,
		"to_status": m.toStatus,
		"quantity":  wholeUnits(m.qty), "uom": m.item.cat.uom, "uom_quantity": wholeUnits(m.qty),
		"unit_cost": moneyCents(m.item.cents)}
	m.item.postings++
	r["posting_no"] = m.item.postings
	if m.lot != nil {
		r["lot_id"] = m.lot.id
	}
	if m.from != nil {
		l := w.levelAt(levelKey{m.from, m.item, m.lot, m.fromStatus}, m.day, m.at)
		l.qty -= m.qty
		if l.qty < l.reserved || l.reserved < 0 { // a fault of the simulation, not of its input
			panic(fmt.Sprintf("demo: %s %d of %s leaves %d, %d reserved, at %s", m.kind, m.qty, m.item.sku, l.qty, l.reserved,
				m.from.code))
		}
		r["from_zone_id"] = m.from.id
	}
	if m.to != nil {
		w.levelAt(levelKey{m.to, m.item, m.lot, m.toStatus}, m.day, m.at).qty += m.qty
		r["to_zone_id"] = m.to.id
	}
	if m.kind == "ship" && m.day >= -history {
		m.item.out90 += m.qty
	}
	for k, v := range map[string]string{"reason_code": m.reason, "ref_type": m.refType, "ref_id": m.ref,
		"worker_id": m.worker} {
		if v != "" {
			r[k] = v
		}
	}
	w.addRecord("stock_movements", m.day, m.at, r)
}

// listFreeLevels lists an item's free stock in the main building, first expiring first,
// pick bins before bulk.
func (w *stock) listFreeLevels(it *item) []*level {
	var out []*level
	for _, l := range it.levels {
		if l.status == "available" && l.qty > l.reserved && l.zone.kind == "bin" && l.zone.site == 0 &&
			(l.lot == nil || l.lot.status == "released" && l.lot.expires > w.cal.localDate(lasts)) {
			out = append(out, l)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.lot != nil && b.lot != nil && a.lot.expires != b.lot.expires {
			return a.lot.expires < b.lot.expires
		}
		return a.zone == it.home && b.zone != it.home
	})
	return out
}

// listPresentLevels lists an item's free stock at places that it had come to by a day:
// the opening is booked before the days are, also where its hall followed later.
func (w *stock) listPresentLevels(it *item, day int) []*level {
	return slices.DeleteFunc(w.listFreeLevels(it), func(l *level) bool { return l.day > day })
}

func (w *stock) freeQuantity(it *item) int64 {
	n := int64(0)
	for _, l := range w.listFreeLevels(it) {
		n += l.qty - l.reserved
	}
	return n
}

func (w *stock) emitLevels() {
	for _, l := range w.levels {
		if l.qty == 0 && l.reserved == 0 && l.zone.kind != "bin" {
			continue
		}
		r := store.Row{"zone_id": l.zone.id, "item_id": l.item.id, "stock_status": l.status, "quantity": wholeUnits(l.qty),
			"reserved": wholeUnits(l.reserved), "updated_at": formatMoment(l.last), "version": int64(2)}
		lotID := ""
		if l.lot != nil {
			lotID = l.lot.id
			r["lot_id"] = lotID
		}
		if !l.counted.IsZero() {
			r["last_counted_at"] = formatMoment(l.counted)
		}
		r["stock_key"] = stockKey(l.zone.id, l.item.id, lotID, l.status)
		w.addRecord("stock_levels", l.day, l.first, r)
	}
}

// stockKey is the text form of a level's seven parts, as the warehouse writes
// it.
func stockKey(zone, item, lot, status string) string {
	return item + "|" + zone + "|" + lot + "||" + status + "|0:|"
}

func sortStable[T any](list []T, less func(a, b T) bool) {
	sort.SliceStable(list, func(i, j int) bool { return less(list[i], list[j]) })
}
