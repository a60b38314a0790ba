// Package swapping lets a picker take another lot or serial number of an item than the one
// that was promised, where it lies beside it: the promise moves to what was scanned, or two
// promises of different orders are exchanged.
//
// Layer: domains. Begin at [Prepare].
package swapping

import (
	"cmp"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/scanning"
)

// Scan is what was read on the goods, "" where nothing was.
type Scan struct{ LotNo, Serial string }

// goods are a lot, a serial number and a plate, "" for none, and the key of their stock level.
type goods struct{ lotID, serial, lpn, key string }

// Change is what a swap does: the promise moves from one stock level to another, and one of
// the same quantity the other way where the goods that were scanned are not free.
type Change struct {
	From, To     store.Row // the places, in the columns of a stock level
	Taken        store.Row // what the pick line now says of its goods
	Quantity     decimal.Dec
	IsExchange   bool        // what the levels have reserved stays
	Reservations []store.Row // what is set of them, by id
	PickLines    []store.Row
}

// add adds a promise that moves to other goods of its place, with the line that picks it.
func (c *Change) add(p *promise, to goods) {
	lot, serial, plate := db.Null(to.lotID), db.Null(to.serial), db.Null(to.lpn)
	c.Reservations = append(c.Reservations,
		store.Row{"id": p.id, "lot_id": lot, "serial": serial, "lpn": plate, "stock_key": to.key})
	if p.pickLineID != "" {
		c.PickLines = append(c.PickLines, store.Row{"id": p.pickLineID, "lot_id": lot, "serial": serial, "lpn": plate})
	}
}

// placeOf is the stock level of goods at the place of a promise.
func (p *promise) placeOf(g goods) store.Row {
	return store.Row{"zone_id": p.zoneID, "item_id": p.itemID, "lot_id": db.Null(g.lotID), "serial": db.Null(g.serial),
		"owner_id": db.Null(p.ownerID), "lpn": db.Null(g.lpn), "stock_status": "available"}
}

// Swap is a scan at a pick line, with the orders that are locked for it.
type Swap struct {
	lineID string
	scan   Scan
	locked []string // order lines
}

// promise is an active promise of goods that are not picked yet.
type promise struct {
	id, pickLineID, orderLineID string
	goods                       goods
	ownerID, lotNo, expires     string
	quantity, picked            decimal.Dec
	itemID, sku, zoneID, zone   string
	demand
}

// demand is what an order line wants of its goods.
type demand struct {
	orderNo, lotID, minExpiry string
	leaves                    string // the day
	keep                      int64  // days that goods must last from then on
}

// twin is stock that was scanned, at the place of the promise.
type twin struct {
	goods                     goods
	ownerID                   string
	lotNo, lotStatus, expires string
	free                      decimal.Dec
}

// Prepare locks the orders and pick lists of all promises that a scan may exchange, in one
// order. It comes before the lock of the line. A scan that says nothing else than what was
// promised is nil, and so is one of a line without a promise.
func Prepare(tx *store.Tx, lineID string, scan Scan) (*Swap, error) {
	mine, err := readPromise(tx, lineID)
	if err != nil || mine == nil || !mine.differs(scan) {
		return nil, err
	}
	swap := &Swap{lineID: lineID, scan: scan}
	if tx.DB().ForUpdate() == "" {
		return swap, nil
	}
	twins, err := readTwins(tx, mine, scan)
	if err != nil {
		return nil, err
	}
	rivals, err := readRivals(tx, twins)
	if err != nil {
		return nil, err
	}
	var picks []string
	for _, p := range append(rivals, *mine) {
		swap.locked = append(swap.locked, p.orderLineID)
		if p.pickLineID != "" {
			picks = append(picks, p.pickLineID)
		}
	}
	if _, err := locking.LockOrdersOfLines(tx, swap.locked); err != nil {
		return nil, err
	}
	return swap, locking.LockListsOfLines(tx, picks)
}

// Decide says what moves, or why nothing can.
func (s *Swap) Decide(tx *store.Tx) (*Change, error) {
	mine, err := readPromise(tx, s.lineID)
	if err != nil || mine == nil || !mine.differs(s.scan) {
		return nil, err
	}
	if mine.goods.serial != "" && s.scan.Serial == "" {
		return nil, s.refuse("item %s is picked by its serial numbers, and none was scanned", mine.sku).
			With("", "scan the serial number on the goods")
	}
	if mine.picked > 0 {
		return nil, s.refuse("%s of item %s is picked for this line already, of %s", mine.picked, mine.sku,
			mine.goods.name(mine.lotNo)).With("", "put it back with the verb unpick first, or go on with what was promised")
	}
	twins, err := readTwins(tx, mine, s.scan)
	if err != nil {
		return nil, err
	}
	found, err := s.chooseTwin(mine, twins)
	if err != nil {
		return nil, err
	}
	change := &Change{
		From: mine.placeOf(mine.goods), To: mine.placeOf(found.goods),
		Taken:    store.Row{"lot_id": db.Null(found.goods.lotID), "serial": db.Null(found.goods.serial)},
		Quantity: mine.quantity,
	}
	change.add(mine, found.goods)
	if found.free >= mine.quantity {
		return change, nil
	}

	rivals, err := readRivals(tx, []twin{*found})
	if err != nil {
		return nil, err
	}
	for _, rival := range rivals {
		if rival.quantity != mine.quantity || rival.picked > 0 || rival.whyUnfit(mine.goods.lotID, mine.expires) != "" {
			continue
		}
		if tx.DB().ForUpdate() != "" && !slices.Contains(s.locked, rival.orderLineID) {
			return nil, fault.New(fault.Unavailable, "40001",
				"the goods were promised to another order meanwhile; try again")
		}
		change.IsExchange = true
		change.add(&rival, mine.goods)
		return change, nil
	}
	return nil, s.refuse("%s of item %s in zone %s has %s free, and the line asks for %s%s", found.goods.name(found.lotNo),
		mine.sku, mine.zone, found.free, mine.quantity, nameHolders(rivals)).
		With("", "pick "+mine.goods.name(mine.lotNo)+", or report what is missing with the verb short_pick")
}

// chooseTwin returns the goods that the promise may move to: on the same plate before
// others, and where most is free.
func (s *Swap) chooseTwin(mine *promise, twins []twin) (*twin, error) {
	var own []twin
	for _, t := range twins {
		if t.ownerID == mine.ownerID && t.goods != mine.goods {
			own = append(own, t)
		}
	}
	scanned := "lot " + s.scan.LotNo
	if s.scan.Serial != "" {
		scanned = "serial number " + s.scan.Serial
	}
	if len(own) == 0 {
		return nil, s.refuse("no %s of item %s lies in zone %s as goods of the order's owner that may be picked", scanned,
			mine.sku, mine.zone).
			With("", "scan it again, pick "+mine.goods.name(mine.lotNo)+", or report what is missing with the verb short_pick")
	}
	slices.SortStableFunc(own, func(a, b twin) int {
		return cmp.Or(rankPlate(a, mine)-rankPlate(b, mine), cmp.Compare(b.free, a.free))
	})
	found := &own[0]
	if found.goods.lotID != "" && found.lotStatus != "released" {
		return nil, s.refuse("lot %s of item %s is %s", found.lotNo, mine.sku, found.lotStatus).
			With("", "pick "+mine.goods.name(mine.lotNo)+"; the lot is picked once it is released")
	}
	if why := mine.whyUnfit(found.goods.lotID, found.expires); why != "" {
		return nil, s.refuse("%s of item %s: %s", scanned, mine.sku, why).
			With("", "pick "+mine.goods.name(mine.lotNo)+", or report what is missing with the verb short_pick")
	}
	return found, nil
}

func rankPlate(t twin, mine *promise) int {
	if t.goods.lpn == mine.goods.lpn {
		return 0
	}
	return 1
}

// refuse refuses what was scanned, at its member.
func (s *Swap) refuse(format string, args ...any) *fault.Error {
	member := "lot_no"
	if s.scan.Serial != "" {
		member = "serials"
	}
	return fault.New(fault.Conflict, scanning.CodeScan, format, args...).At(member, "is not what was promised")
}

// differs reports a scan of other goods than those that were promised.
func (p *promise) differs(scan Scan) bool {
	return p.goods.lotID != "" && scan.LotNo != "" && !strings.EqualFold(scan.LotNo, p.lotNo) ||
		p.goods.serial != "" && scan.Serial != "" && scan.Serial != p.goods.serial
}

// whyUnfit says why an order line does not take goods, "" where it does.
func (d demand) whyUnfit(lotID, expires string) string {
	if d.lotID != "" && d.lotID != lotID {
		return "order " + d.orderNo + " asks for another lot"
	}
	if expires == "" && d.minExpiry == "" {
		return ""
	}
	until := max(d.minExpiry, inventory.DaysAfter(d.leaves, d.keep))
	if expires >= until {
		return ""
	}
	return "it expires on " + cmp.Or(expires, "no known day") + ", and order " + d.orderNo +
		" wants goods that last until " + until
}

// name is what people call goods of a lot with this number.
func (g goods) name(lotNo string) string {
	if g.serial != "" {
		return "serial number " + g.serial
	}
	return "lot " + lotNo
}

// nameHolders says whose the goods are, at most three orders.
func nameHolders(rivals []promise) string {
	var orders []string
	for _, r := range rivals {
		if !slices.Contains(orders, r.orderNo) {
			orders = append(orders, r.orderNo)
		}
	}
	if len(orders) == 0 {
		return ""
	}
	return "; promised to order " + strings.Join(orders[:min(3, len(orders))], ", ") +
		" in a quantity that cannot be exchanged"
}

// leaveAt sets the day on which goods leave that are promised for the moment in a column.
func (d *demand) leaveAt(tx *store.Tx, r *db.Row, column int, zone string) {
	moment := r.Time(column)
	if moment.Before(tx.Now()) {
		moment = tx.Now()
	}
	d.leaves = localtime.DateOf(moment, localtime.Zone(zone)).String()
}
