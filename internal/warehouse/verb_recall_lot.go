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
}

// Held is stock of a lot in a zone.
type Held struct {
	ZoneID   string      `json:"zone_id"`
	Code     string      `json:"code"`
	Quantity decimal.Dec `json:"quantity"`
	Reserved decimal.Dec `json:"reserved" doc:"Promised to orders: it stays so until they are deallocated, and cannot be picked."`
}

// Customer is a party of the orders concerned.
type Customer struct {
	Name string `json:"party_name"`
	Code string `json:"party_code"`
	GLN  string `json:"party_gln"`
}

func recallLot(c *rpc.Call, in *RecallLotIn) (*RecallLotOut, error) {
	if _, err := c.One("lots", "lot_id", in.LotID); err != nil {
		return nil, err
	}
	out := &RecallLotOut{Zones: []Held{}, Customers: []Customer{}}
	_, err := c.Store.UpdateTx(c.Tx, c.Actor, c.Resource("lots"), []string{in.LotID}, store.Row{"status": "recalled", "status_reason": in.Reason})
	if err != nil {
		return nil, err
	}
	if err := out.isolate(c, in); err != nil {
		return nil, err
	}
	if err := out.trace(c, in.LotID); err != nil {
		return nil, err
	}
	out.Lot, err = c.Again("lots", in.LotID)
	return out, err
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
		zone := text(l, "zone_id")
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
		out.Zones[i].Code = text(zones[out.Zones[i].ZoneID], "code")
	}
	if err != nil || len(moves) == 0 {
		out.Movements = []rpc.Record{}
		return err
	}
	moves, err = c.Store.InsertTx(c.Tx, c.Actor, c.Resource("stock_movements"), moves)
	out.Movements = c.Records("stock_movements", moves)
	return err
}

// trace finds the orders the lot is pinned or promised to, was picked or shipped
// for, and their shipments.
func (out *RecallLotOut) trace(c *rpc.Call, lot string) error {
	var lines set
	add := func(r *db.Row) error {
		lines.add(r.Text(0))
		return nil
	}
	args := []any{c.Actor.TenantID, lot}
	c.Tx.Queue("SELECT id FROM order_lines WHERE tenant_id = $1 AND lot_id = $2", args, add)
	c.Tx.Queue("SELECT order_line_id FROM pick_lines WHERE tenant_id = $1 AND lot_id = $2 AND order_line_id IS NOT NULL", args, add)
	c.Tx.Queue("SELECT ref_id FROM stock_movements WHERE tenant_id = $1 AND lot_id = $2 AND ref_type = 'order_lines' AND ref_id IS NOT NULL", args, add)
	if err := c.Tx.Flush(); err != nil {
		return err
	}
	in := c.Tx.DB().InUUID
	orders, err := c.Rows("orders", "id IN (SELECT l.order_id FROM order_lines l WHERE l.tenant_id = $1 AND "+in("l.id", 2)+") ORDER BY order_no",
		query.List(lines.list))
	if err != nil {
		return err
	}
	known := map[Customer]bool{}
	for _, o := range orders {
		who := Customer{text(o, "party_name"), text(o, "party_code"), text(o, "party_gln")}
		if o["type"] == "outbound" && who != (Customer{}) && !known[who] {
			known[who] = true
			out.Customers = append(out.Customers, who)
		}
	}
	out.Orders = c.Records("orders", orders)
	return out.travelled(c)
}

// travelled finds the shipments that the orders went with.
func (out *RecallLotOut) travelled(c *rpc.Call) error {
	var ids []string
	for _, o := range out.Orders {
		ids = append(ids, text(o.Row(), "id"))
	}
	shipments, err := c.Rows("shipments", "direction = 'outbound' AND EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = $1 AND "+c.Tx.DB().InUUID("o.id", 2)+
		" AND order_ids LIKE '%' || CAST(o.id AS text) || '%') ORDER BY shipment_no", query.List(ids))
	out.Shipments = c.Records("shipments", shipments)
	return err
}
