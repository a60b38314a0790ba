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
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/inventory"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/scanning"
)

// Scan is what was read on the goods, "" where nothing was.
type Scan struct {
	LotNo   string
	Serials []string // each once
}

// code is what of a scan says which goods are taken, a serial number or else a lot.
type code struct{ lotNo, serial string }

// goods are a lot, a serial number and a plate, "" for none, and the key of their stock level.
type goods struct{ lotID, serial, lpn, key string }

// Change is what a swap does: the promise moves from one stock level to another, and one of
// the same quantity the other way where the goods that were scanned are not free.
type Change struct {
	From, To     store.Row // the places, in the columns of a stock level
	Taken        store.Row // what the pick line now says of its goods
	Quantity     decimal.Dec
	IsExchange   bool                 // what the levels have reserved stays
	Reservations []record.Reservation // what is set of them, by id
	PickLines    []record.PickLine
}

// addMove adds a promise that moves to other goods of its place, with the line that picks it.
func (c *Change) addMove(p *promise, to goods) {
	lot, serial, plate := db.Null(to.lotID), db.Null(to.serial), db.Null(to.lpn)
	c.Reservations = append(c.Reservations,
		record.Reservation{"id": p.id, "lot_id": lot, "serial": serial, "lpn": plate, "stock_key": to.key})
	if p.pickLineID != "" {
		c.PickLines = append(c.PickLines, record.PickLine{"id": p.pickLineID, "lot_id": lot, "serial": serial,
			"lpn": plate})
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
	read   code
	member string   // what of the scan is refused
	locked []string // order lines
}

// promise is an active promise of goods that are not picked yet.
type promise struct {
	id, pickLineID, orderLineID string
	goods                       goods
	ownerID                     string
	lotNo, lotStatus, expires   string
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

// Prepare locks the orders and pick lists of the promises that a scan may exchange, in one
// order. It comes before the lock of the line. A scan that says nothing else than what was
// promised is nil, and so is one of a line without a promise.
func Prepare(tx *store.Tx, lineID string, scan Scan) (*Swap, error) {
	mine, err := readPromise(tx, lineID)
	if err != nil || mine == nil || !mine.isOther(scan) {
		return nil, err
	}
	swap := &Swap{lineID: lineID, scan: scan}
	if tx.DB().ForUpdate() == "" {
		return swap, nil
	}
	rivals, err := findRivals(tx, mine, scan)
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

// findRivals finds the promises that may be exchanged for a scan: none where enough is free,
// and none that must stay as it is, so that nobody waits for orders that do not change.
func findRivals(tx *store.Tx, mine *promise, scan Scan) ([]promise, error) {
	twins, err := readTwins(tx, mine, mine.codeOf(scan))
	if err != nil {
		return nil, err
	}
	own := sortOwn(mine, twins)
	if len(own) == 0 || own[0].free >= mine.quantity {
		return nil, nil
	}
	rivals, err := readRivals(tx, own)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rivals, func(r promise) bool { return r.whyKept(mine) != "" }), nil
}

// Decide says what moves, or why nothing can.
func (s *Swap) Decide(tx *store.Tx) (*Change, error) {
	mine, err := readPromise(tx, s.lineID)
	if err != nil || mine == nil || !mine.isOther(s.scan) {
		return nil, err
	}
	s.read, s.member = mine.codeOf(s.scan), "lot_no"
	if mine.goods.serial != "" && (s.read.serial != "" || len(s.scan.Serials) != 1) {
		s.member = "serials"
	}
	if err := s.checkScan(mine); err != nil {
		return nil, err
	}
	twins, err := readTwins(tx, mine, s.read)
	if err != nil {
		return nil, err
	}
	own, err := s.chooseTwins(mine, twins)
	if err != nil {
		return nil, err
	}
	if own[0].free >= mine.quantity {
		return mine.moveTo(own[0].goods), nil
	}

	rivals, err := readRivals(tx, own)
	if err != nil {
		return nil, err
	}
	for _, rival := range rivals {
		if rival.whyKept(mine) != "" {
			continue
		}
		if tx.DB().ForUpdate() != "" && !slices.Contains(s.locked, rival.orderLineID) {
			return nil, fault.New(fault.Unavailable, "40001",
				"the goods were promised to another order meanwhile; try again")
		}
		change := mine.moveTo(rival.goods)
		change.IsExchange = true
		change.addMove(&rival, mine.goods)
		return change, nil
	}
	most := slices.MaxFunc(own, func(a, b twin) int { return cmp.Compare(a.free, b.free) })
	return nil, s.refuseScan("%s of item %s in zone %s has %s free, and the line asks for %s%s",
		most.goods.nameGoods(most.lotNo), mine.sku, mine.zone, most.free, mine.quantity, nameHolders(rivals, mine)).
		With("", mine.adviseOther())
}

// checkScan refuses a scan that does not say which goods are taken.
func (s *Swap) checkScan(mine *promise) error {
	if mine.goods.serial != "" && len(s.scan.Serials) == 0 {
		return s.refuseScan("item %s is picked by its serial numbers, and none was scanned", mine.sku).
			With("", "scan the serial number on the goods")
	}
	if mine.goods.serial != "" && len(s.scan.Serials) > 1 {
		return s.refuseScan("the line asks for one serial number of item %s, and more than one was scanned: %s", mine.sku,
			strings.Join(s.scan.Serials[:min(3, len(s.scan.Serials))], ", ")).
			With("", "scan the one serial number that is taken for this line")
	}
	if mine.goods.serial != "" && s.read.serial == "" {
		return s.refuseScan("serial number %s of item %s is of lot %s, and lot %s was scanned", mine.goods.serial, mine.sku,
			mine.lotNo, s.scan.LotNo).With("", "scan the lot on the goods again, or the serial number alone")
	}
	if mine.picked > 0 {
		return s.refuseScan("%s of item %s is picked for this line already, of %s", mine.picked, mine.sku,
			mine.goods.nameGoods(mine.lotNo)).
			With("", "put it back with the verb unpick first, or go on with what was promised")
	}
	return nil
}

// moveTo moves a promise to other goods of its place.
func (p *promise) moveTo(to goods) *Change {
	change := &Change{
		From: p.placeOf(p.goods), To: p.placeOf(to),
		Taken:    store.Row{"lot_id": db.Null(to.lotID), "serial": db.Null(to.serial)},
		Quantity: p.quantity,
	}
	change.addMove(p, to)
	return change
}

// sortOwn returns the goods of the promise's owner that it may move to: first those of which
// enough is free, of these those on the same plate, and then where most is free.
func sortOwn(mine *promise, twins []twin) []twin {
	var own []twin
	for _, t := range twins {
		if t.ownerID == mine.ownerID && t.goods != mine.goods {
			own = append(own, t)
		}
	}
	slices.SortStableFunc(own, func(a, b twin) int {
		return cmp.Or(rankFree(a, mine)-rankFree(b, mine), rankPlate(a, mine)-rankPlate(b, mine),
			cmp.Compare(b.free, a.free))
	})
	return own
}

// chooseTwins returns the goods that the promise may move to, the best first, or why it may
// move to none.
func (s *Swap) chooseTwins(mine *promise, twins []twin) ([]twin, error) {
	scanned := "lot " + s.read.lotNo
	if s.read.serial != "" {
		scanned = "serial number " + s.read.serial
	}
	own := sortOwn(mine, twins)
	if len(own) == 0 {
		return nil, s.refuseScan("no %s of item %s lies in zone %s as goods of the order's owner that may be picked",
			scanned, mine.sku, mine.zone).With("", "scan it again, "+mine.adviseOther())
	}
	found := own[0]
	if !found.goods.isReleased(found.lotStatus) {
		return nil, s.refuseScan("lot %s of item %s is %s", found.lotNo, mine.sku, found.lotStatus).
			With("", mine.adviseOther()+"; the lot is picked once it is released")
	}
	if why := mine.whyUnfit(found.goods.lotID, found.expires); why != "" {
		return nil, s.refuseScan("%s of item %s: %s", scanned, mine.sku, why).With("", mine.adviseOther())
	}
	return own, nil
}

func rankFree(t twin, mine *promise) int {
	if t.free >= mine.quantity {
		return 0
	}
	return 1
}

func rankPlate(t twin, mine *promise) int {
	if t.goods.lpn == mine.goods.lpn {
		return 0
	}
	return 1
}

// refuseScan refuses what was scanned, at its member.
func (s *Swap) refuseScan(format string, args ...any) *fault.Error {
	return fault.New(fault.Conflict, scanning.CodeScan, format, args...).At(s.member, "is not what was promised")
}

// isOther reports a scan of other goods than those that were promised.
func (p *promise) isOther(scan Scan) bool {
	return p.goods.lotID != "" && scan.LotNo != "" && !strings.EqualFold(scan.LotNo, p.lotNo) ||
		p.goods.serial != "" && slices.ContainsFunc(scan.Serials, func(n string) bool { return n != p.goods.serial })
}

// codeOf returns what of a scan says other goods than those that were promised: the serial
// number where the goods have one and it is another, else the lot.
func (p *promise) codeOf(scan Scan) code {
	if p.goods.serial != "" && len(scan.Serials) == 1 && scan.Serials[0] != p.goods.serial {
		return code{serial: scan.Serials[0]}
	}
	return code{lotNo: scan.LotNo}
}

// isReleased reports goods that are promised to orders, where their lot has this status.
func (g goods) isReleased(lotStatus string) bool { return g.lotID == "" || lotStatus == "released" }

// whyKept says why a promise is not exchanged with another, "" where it may be.
func (p *promise) whyKept(other *promise) string {
	switch {
	case p.quantity != other.quantity:
		return "in a quantity of " + p.quantity.String() + ", which cannot be exchanged"
	case p.picked > 0:
		return "some of it is picked"
	case !other.goods.isReleased(other.lotStatus):
		return "it does not get lot " + other.lotNo + ", which is " + other.lotStatus
	default:
		return p.whyUnfit(other.goods.lotID, other.expires)
	}
}

// adviseOther advises what to do instead of the swap. Goods of a lot that was barred after
// they were promised are left where they are.
func (p *promise) adviseOther() string {
	const report = "report what is missing with the verb short_pick"
	if !p.goods.isReleased(p.lotStatus) {
		return report
	}
	return "pick " + p.goods.nameGoods(p.lotNo) + ", or " + report
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

// nameGoods is what people call goods of a lot with this number.
func (g goods) nameGoods(lotNo string) string {
	if g.serial != "" {
		return "serial number " + g.serial
	}
	return "lot " + lotNo
}

// nameHolders says whose the goods are and why they are not exchanged, at most three orders.
func nameHolders(rivals []promise, mine *promise) string {
	var orders, said []string
	for _, r := range rivals {
		if len(said) < 3 && !slices.Contains(orders, r.orderNo) {
			orders = append(orders, r.orderNo)
			said = append(said, r.orderNo+" ("+r.whyKept(mine)+")")
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "; promised to order " + strings.Join(said, ", ")
}

// leaveAt sets the day on which goods leave that are promised for the moment in a column.
func (d *demand) leaveAt(tx *store.Tx, r *db.Row, column int, zone string) {
	moment := r.Time(column)
	if moment.Before(tx.Now()) {
		moment = tx.Now()
	}
	d.leaves = localtime.DateOf(moment, localtime.Zone(zone)).String()
}
