package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/rpc"
	"holdfast/internal/store"
)

// RecallLotIn names a lot that has to come back.
type RecallLotIn struct {
	LotID  string `json:"lot_id" required:"true" format:"uuid" names:"lots" doc:"The lot."`
	Reason string `json:"reason" required:"true" max:"500" doc:"Why; kept with the lot."`
}

// RecallLotOut says where the lot is and who has it.
type RecallLotOut struct {
	rpc.Answer
	Lot       rpc.Record   `json:"lot" record:"lots"`
	Zones     []Held       `json:"zones" doc:"Where stock of the lot lies; what was available there is on hold."`
	Orders    []rpc.Record `json:"orders" record:"orders"`
	Shipments []rpc.Record `json:"shipments" record:"shipments"`
	Customers []Customer   `json:"customers" doc:"Who was sent the lot, or is about to be."`
	Movements []rpc.Record `json:"movements" record:"stock_movements"`
	Released  []rpc.Record `json:"released" record:"reservations" doc:"Promises of the lot that were given back: their orders can be allocated again."`
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

func (w Watch) recallLot(c *rpc.Call, in *RecallLotIn) (*RecallLotOut, error) {
	if _, err := c.One("lots", "lot_id", in.LotID); err != nil {
		return nil, err
	}
	k := w.on(c)
	set := store.Row{"status": "recalled", "status_reason": in.Reason}
	if err := k.update("lots", []string{in.LotID}, set); err != nil {
		return nil, err
	}
	t, err := k.trace(in.LotID)
	if err != nil {
		return nil, err
	}
	freed, err := k.recover(in.LotID, t)
	if err != nil {
		return nil, err
	}
	out := &RecallLotOut{Zones: []Held{}, Customers: []Customer{}, Released: c.Records("reservations", freed)}
	if err := out.isolate(c, in); err != nil {
		return nil, err
	}
	if err := out.tell(c, t); err != nil {
		return nil, err
	}
	if len(freed) > 0 {
		out.Then("allocate_order", "Look for other stock for its orders")
	}
	out.Lot, err = c.Again("lots", in.LotID)
	return out, err
}

// trail is where a lot went.
type trail struct{ lines, orders, sent []string }

// trace finds the order lines a lot is pinned or promised to, was picked or
// shipped for, their orders, and the shipments that took it along.
func (k work) trace(lot string) (*trail, error) {
	var lines, sent, orders set
	into := func(s *set) func(*db.Row) error {
		return func(r *db.Row) error {
			s.add(r.Text(0))
			return nil
		}
	}
	args := []any{k.a.TenantID, lot}
	k.tx.Queue("SELECT id FROM order_lines WHERE tenant_id = $1 AND lot_id = $2", args, into(&lines))
	k.tx.Queue("SELECT order_line_id FROM pick_lines WHERE tenant_id = $1 AND lot_id = $2 AND order_line_id IS NOT NULL", args, into(&lines))
	k.tx.Queue("SELECT order_line_id FROM reservations WHERE tenant_id = $1 AND lot_id = $2 AND state <> 'released'", args, into(&lines))
	for ref, s := range map[string]*set{"order_lines": &lines, "shipments": &sent} {
		k.tx.Queue("SELECT ref_id FROM stock_movements WHERE tenant_id = $1 AND lot_id = $2 AND ref_type = '"+ref+"' AND ref_id IS NOT NULL", args, into(s))
	}
	if err := k.tx.Flush(); err != nil {
		return nil, err
	}
	rows, err := k.rows("order_lines", k.tx.DB().InUUID("id", 2), jsonList(lines.list))
	for _, l := range rows {
		orders.add(l.Text("order_id"))
	}
	return &trail{lines: lines.list, orders: orders.list, sent: sent.list}, err
}

// recover gives back what is promised of a lot and not packed: it is fetched for
// nobody any more. What is packed stays where it is and cannot leave.
func (k work) recover(lot string, t *trail) ([]store.Row, error) {
	lock := k.tx.DB().ForUpdate()
	if _, err := k.locked("orders", t.orders); err != nil {
		return nil, err
	}
	rows, err := k.rows("reservations", "lot_id = $2 AND state = 'active' ORDER BY id"+lock, lot)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	lines, err := k.rows("order_lines", k.tx.DB().InUUID("id", 2), jsonList(column(rows, "order_line_id")))
	if err != nil {
		return nil, err
	}
	loose := map[string]decimal.Dec{}
	for _, l := range lines {
		loose[l.Text("id")] = dec(l, "qty_picked") - dec(l, "qty_packed")
	}
	var freed []store.Row
	for _, r := range rows {
		line := r.Text("order_line_id")
		q := dec(r, "quantity")
		if r["picked"] == true {
			q = min(q, loose[line])
			loose[line] -= q
		}
		if q == 0 {
			continue
		}
		if r, err = k.cut(r, q); err != nil {
			return nil, err
		}
		freed = append(freed, r)
	}
	if err := k.free(freed); err != nil {
		return nil, err
	}
	if err := k.progress(column(freed, "order_line_id"), nil); err != nil {
		return nil, err
	}
	return k.rows("reservations", k.tx.DB().InUUID("id", 2)+" ORDER BY id", jsonList(column(freed, "id")))
}

// isolate puts what is available of the lot and promised to nobody on hold.
func (out *RecallLotOut) isolate(c *rpc.Call, in *RecallLotIn) error {
	levels, err := c.Rows("stock_levels", "lot_id = $2 AND quantity > 0 ORDER BY stock_key", in.LotID)
	if err != nil {
		return err
	}
	at := map[string]int{}
	var moves []store.Row
	for _, l := range levels {
		zone := l.Text("zone_id")
		if _, ok := at[zone]; !ok {
			at[zone] = len(out.Zones)
			out.Zones = append(out.Zones, Held{ZoneID: zone})
		}
		h := &out.Zones[at[zone]]
		h.Quantity += dec(l, "quantity")
		h.Reserved += dec(l, "reserved")
		if free := dec(l, "quantity") - dec(l, "reserved"); l["stock_status"] == "available" && free > 0 {
			m := store.Row{"type": "status_change", "item_id": l["item_id"], "lot_id": in.LotID, "from_zone_id": zone, "to_zone_id": zone,
				"from_status": "available", "to_status": "hold", "quantity": free, "reason_code": "recall", "ref_type": "lots", "ref_id": in.LotID}
			for _, f := range [...]string{"serial", "owner_id", "lpn"} {
				if l[f] != nil {
					m[f] = l[f]
				}
			}
			moves = append(moves, m)
		}
	}
	var ids []string
	for zone := range at {
		ids = append(ids, zone)
	}
	zones, err := byID(c, "zones", ids)
	for i := range out.Zones {
		out.Zones[i].Code = zones[out.Zones[i].ZoneID].Text("code")
	}
	if err != nil || len(moves) == 0 {
		out.Movements = []rpc.Record{}
		return err
	}
	moves, err = c.Store.InsertTx(c.Tx, c.Actor, c.Resource("stock_movements"), moves)
	out.Movements = c.Records("stock_movements", moves)
	return err
}

// tell reads the orders, the customers and the shipments of a trail.
func (out *RecallLotOut) tell(c *rpc.Call, t *trail) error {
	in := c.Tx.DB().InUUID
	orders, err := c.Rows("orders", in("id", 2)+" ORDER BY order_no", query.List(t.orders))
	if err != nil {
		return err
	}
	known := map[Customer]bool{}
	for _, o := range orders {
		who := Customer{o.Text("party_name"), o.Text("party_code"), o.Text("party_gln")}
		if o["type"] == "outbound" && who != (Customer{}) && !known[who] {
			known[who] = true
			out.Customers = append(out.Customers, who)
		}
	}
	out.Orders = c.Records("orders", orders)
	const of = "SELECT 1 FROM shipment_lines l WHERE l.tenant_id = $1 AND l.shipment_id = shipments.id"
	shipments, err := c.Rows("shipments", "direction = 'outbound' AND ("+in("id", 2)+" OR status IN ('planned', 'packed', 'ready') AND EXISTS ("+of+
		" AND "+in("l.order_line_id", 3)+") OR NOT EXISTS ("+of+") AND EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = $1 AND "+in("o.id", 4)+
		" AND order_ids LIKE '%' || CAST(o.id AS text) || '%')) ORDER BY shipment_no", query.List(t.sent), query.List(t.lines), query.List(t.orders))
	out.Shipments = c.Records("shipments", shipments)
	return err
}
