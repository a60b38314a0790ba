package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
	"holdfast/internal/warehouse/transfers"
)

// RecallLotIn names a lot that has to come back.
type RecallLotIn struct {
	LotID  string `json:"lot_id" required:"true" format:"uuid" names:"lots" doc:"The lot."`
	Reason string `json:"reason" required:"true" max:"500" doc:"Why; kept with the lot."`
}

// RecallLotOut says where the lot is and who has it.
type RecallLotOut struct {
	verb.Answer
	Lot       verb.Record   `json:"lot" record:"lots"`
	Zones     []Held        `json:"zones" doc:"Where it lies; what was available outside transit is on hold."`
	InTransit decimal.Dec   `json:"in_transit" doc:"How much of it is on the way under transfers."`
	Orders    []verb.Record `json:"orders" record:"orders"`
	Shipments []verb.Record `json:"shipments" record:"shipments"`
	Customers []Customer    `json:"customers" doc:"Who was sent the lot, or is about to be."`
	Movements []verb.Record `json:"movements" record:"stock_movements"`
	Released  []verb.Record `json:"released" record:"reservations" doc:"Promises of the lot that were given back: their orders can be allocated again."`
}

// Held is stock of a lot in a zone.
type Held struct {
	ZoneID   string      `json:"zone_id"`
	Code     string      `json:"code"`
	Quantity decimal.Dec `json:"quantity"`
	Reserved decimal.Dec `json:"reserved" doc:"Packed for orders: it stays promised until the packages are emptied, and cannot leave."`
}

// Customer is a party of the orders concerned.
type Customer struct {
	Name string `json:"party_name"`
	Code string `json:"party_code"`
	GLN  string `json:"party_gln"`
}

func (w Watch) recallLot(c *verb.Call, in *RecallLotIn) (*RecallLotOut, error) {
	lot, err := record.One[record.Lot](c, "lot_id", in.LotID)
	if err != nil {
		return nil, err
	}
	k := w.workOf(c)
	// It goes before the update, whose effect then finds nothing left to do, so
	// that the answer can list what was done.
	r, err := k.secureLot(lot)
	if err != nil {
		return nil, err
	}
	set := record.Lot{"status": "recalled", "status_reason": in.Reason}
	if err := record.Update(k.Tx, []string{in.LotID}, set); err != nil {
		return nil, err
	}
	out := &RecallLotOut{Zones: []Held{}, Customers: []Customer{}, Released: record.ShowList(c, r.freed),
		Movements: record.ShowList(c, r.moves)}
	if err := out.listZones(c, r.levels); err != nil {
		return nil, err
	}
	if err := out.describeTrail(c, r.trail); err != nil {
		return nil, err
	}
	if len(r.freed) > 0 {
		out.Then("allocate_order", "Look for other stock for its orders")
	}
	out.Lot, err = c.Again("lots", in.LotID)
	return out, err
}

// recallLots secures the stock of lots whose status has become recalled, whichever
// way it was changed.
func (w Watch) recallLots(tx *store.Tx, changes []store.Change) error {
	k := work{tx, w}
	for _, c := range record.Changes[record.Lot](changes) {
		if c.Op != store.Update || !c.Becomes(record.Lot.Status, "recalled") {
			continue
		}
		if _, err := k.secureLot(c.After); err != nil {
			return err
		}
	}
	return nil
}

// secured is what was done with the stock of a lot that is recalled.
type secured struct {
	trail  *trail
	freed  []record.Reservation   // reservations that were given back
	levels []record.StockLevel    // stock of the lot, as it lay before, transit included
	moves  []record.StockMovement // movements that put stock on hold
}

// secureLot gives back what is promised of a lot and not packed, and puts on hold
// what is available of it. The caller has locked the lot.
func (k work) secureLot(lot record.Lot) (*secured, error) {
	id := lot.ID()
	t, err := traceLot(k.Tx, id)
	if err != nil {
		return nil, err
	}
	if _, err := locking.LockRows[record.Order](k.Tx, t.orders); err != nil {
		return nil, err
	}
	if err := locking.LockOpenLists(k.Tx, t.orders); err != nil {
		return nil, err
	}
	// Who promises stock holds its item, so no promise is made meanwhile.
	lockItems(k.Tx.Tx, k.TenantID, jsonList([]string{lot.ItemID()}))
	out := &secured{trail: t}
	if out.freed, err = k.releasePromised(id); err != nil {
		return nil, err
	}
	if out.levels, err = record.List[record.StockLevel](k.Tx, "lot_id = $2 AND quantity > 0 ORDER BY stock_key",
		id); err != nil {
		return nil, err
	}
	// What is in transit stands still, and receive lets it in under no status that can be sold.
	levels, err := record.List[record.StockLevel](k.Tx, transfers.StoppableSQL, id)
	if err != nil {
		return nil, err
	}
	out.moves, err = record.Insert(k.Tx, record.From[record.StockMovement](holdMoves(id, levels)))
	return out, err
}

// holdMoves are the movements that put what of a lot is available at some levels and
// promised to nobody on hold.
func holdMoves(lot string, levels []record.StockLevel) (moves []store.Row) {
	for _, l := range levels {
		free := l.Quantity() - l.Reserved()
		m := store.Row{"type": "status_change", "item_id": l.ItemID(), "lot_id": lot, "from_zone_id": l.ZoneID(),
			"to_zone_id": l.ZoneID(), "from_status": "available", "to_status": "hold", "quantity": free,
			"reason_code": "recall", "ref_type": "lots", "ref_id": lot}
		for _, f := range [...]string{"serial", "owner_id", "lpn"} {
			if l[f] != nil {
				m[f] = l[f]
			}
		}
		moves = append(moves, m)
	}
	return moves
}

// trail is where a lot went.
type trail struct{ lines, orders, sent []string }

// traceLot finds the order lines a lot is pinned or promised to, was picked or
// shipped for, their orders, and the shipments that took it along.
func traceLot(tx *store.Tx, lot string) (*trail, error) {
	var lines, sent, orders set
	into := func(s *set) func(*db.Row) error {
		return func(r *db.Row) error {
			s.addID(r.Text(0))
			return nil
		}
	}
	args := []any{tx.TenantID, lot}
	tx.Queue("SELECT id FROM order_lines WHERE tenant_id = $1 AND lot_id = $2", args, into(&lines))
	tx.Queue(`
		SELECT order_line_id
		FROM pick_lines
		WHERE tenant_id = $1
			AND lot_id = $2
			AND order_line_id IS NOT NULL`,
		args, into(&lines))
	tx.Queue(`
		SELECT order_line_id
		FROM reservations
		WHERE tenant_id = $1
			AND lot_id = $2
			AND state <> 'released'`, args,
		into(&lines))
	for ref, s := range map[string]*set{"order_lines": &lines, "shipments": &sent} {
		tx.Queue(db.FillWords(`
			SELECT ref_id
			FROM stock_movements
			WHERE tenant_id = $1
				AND lot_id = $2
				AND ref_type = '{ref}'
				AND ref_id IS NOT NULL`, "{ref}", ref), args, into(s))
	}
	if err := tx.Flush(); err != nil {
		return nil, err
	}
	rows, err := record.List[record.OrderLine](tx, tx.DB().InUUID("id", 2), jsonList(lines.list))
	for _, l := range rows {
		orders.addID(l.OrderID())
	}
	return &trail{lines: lines.list, orders: orders.list, sent: sent.list}, err
}

// releasePromised gives back what is promised of a lot and not packed, whose orders the
// caller has locked: it is fetched for nobody any more. What is packed stays where it is and cannot leave.
func (k work) releasePromised(lot string) ([]record.Reservation, error) {
	lock := k.DB().ForUpdate()
	rows, err := record.List[record.Reservation](k.Tx, "lot_id = $2 AND state = 'active' ORDER BY id"+lock, lot)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	loose, err := packing.ReadLoose(k.Tx, record.Texts(rows, record.Reservation.OrderLineID))
	if err != nil {
		return nil, err
	}
	var freed []record.Reservation
	for _, r := range rows {
		line := r.OrderLineID()
		q := r.Quantity()
		if r.Picked() {
			q = min(q, loose.Sum(line, identityOf(r)))
			loose.Take(line, identityOf(r), q)
		}
		if q == 0 {
			continue
		}
		if r, err = k.cutReservation(r, q); err != nil {
			return nil, err
		}
		freed = append(freed, r)
	}
	if err := k.releaseReservations(freed); err != nil {
		return nil, err
	}
	if err := k.updateOrderLines(record.Texts(freed, record.Reservation.OrderLineID), nil); err != nil {
		return nil, err
	}
	return record.List[record.Reservation](k.Tx, k.DB().InUUID("id", 2)+" ORDER BY id", jsonList(record.IDs(freed)))
}

// listZones says where stock of the lot lies.
func (out *RecallLotOut) listZones(c *verb.Call, levels []record.StockLevel) error {
	at := map[string]int{}
	var ids []string
	for _, l := range levels {
		zone := l.ZoneID()
		if _, ok := at[zone]; !ok {
			at[zone] = len(out.Zones)
			out.Zones = append(out.Zones, Held{ZoneID: zone})
			ids = append(ids, zone)
		}
		h := &out.Zones[at[zone]]
		h.Quantity += l.Quantity()
		h.Reserved += l.Reserved()
	}
	zones, err := byID[record.Zone](c, ids)
	for i := range out.Zones {
		zone := zones[out.Zones[i].ZoneID]
		out.Zones[i].Code = zone.Code()
		if zone.Kind() == transfers.ZoneKind {
			out.InTransit += out.Zones[i].Quantity
		}
	}
	return err
}

// describeTrail reads the orders, the customers and the shipments of a trail.
func (out *RecallLotOut) describeTrail(c *verb.Call, t *trail) error {
	in := c.DB().InUUID
	orders, err := record.List[record.Order](c.Tx, in("id", 2)+" ORDER BY order_no", query.List(t.orders))
	if err != nil {
		return err
	}
	known := map[Customer]bool{}
	for _, o := range orders {
		who := Customer{o.PartyName(), o.PartyCode(), o.PartyGLN()}
		if o.Type() == "outbound" && who != (Customer{}) && !known[who] {
			known[who] = true
			out.Customers = append(out.Customers, who)
		}
	}
	out.Orders = record.ShowList(c, orders)
	const of = `
		SELECT 1
		FROM shipment_lines l
		WHERE l.tenant_id = $1
			AND l.shipment_id = shipments.id`
	shipments, err := record.List[record.Shipment](c.Tx, "direction = 'outbound' AND ("+in("id", 2)+
		" OR status IN ('planned', 'packed', 'ready') AND EXISTS ("+of+
		" AND "+in("l.order_line_id", 3)+") OR NOT EXISTS ("+of+
		") AND EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = $1 AND "+in("o.id", 4)+
		" AND order_ids LIKE '%' || CAST(o.id AS text) || '%')) ORDER BY shipment_no", query.List(t.sent),
		query.List(t.lines), query.List(t.orders))
	out.Shipments = record.ShowList(c, shipments)
	return err
}
