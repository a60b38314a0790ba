package warehouse

import (
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// drivers may say what happens on the road, of their own shipments.
var drivers = append([]actor.Role{actor.Driver}, managers...)

// ProofIn is who took the goods.
type ProofIn struct {
	Name      string   `json:"name" required:"true" max:"200" doc:"Who took them."`
	Signature string   `json:"signature" doc:"Drawn, as a data URL or a reference to a file."`
	Photo     string   `json:"photo" doc:"As a data URL or a reference to a file."`
	Lat       *float64 `json:"lat" doc:"Where, degrees of WGS 84."`
	Lon       *float64 `json:"lon" doc:"Where, degrees of WGS 84."`
}

// DeliveredIn is what was wrong with a line.
type DeliveredIn struct {
	LineID  string      `json:"order_line_id" required:"true" format:"uuid" names:"order_lines" doc:"A line of the shipment."`
	Short   decimal.Dec `json:"short" min:"0" doc:"Base units that were missing."`
	Damaged decimal.Dec `json:"damaged" min:"0" doc:"Base units that were damaged."`
}

// DeliverIn says that a shipment reached its receiver.
type DeliverIn struct {
	ShipmentID string        `json:"shipment_id" required:"true" format:"uuid" names:"shipments" doc:"The shipment, in transit."`
	Proof      *ProofIn      `json:"proof" doc:"Who took the goods."`
	Lines      []DeliveredIn `json:"lines" max:"500" doc:"Only lines that were short or damaged."`
}

// DeliverOut is the shipment with its orders.
type DeliverOut struct {
	ShipmentOut
	Orders []verb.Record `json:"orders" record:"orders"`
}

func (w Watch) deliverShipment(c *verb.Call, in *DeliverIn) (*DeliverOut, error) {
	k := w.workOf(c)
	sh, err := lockDrivenShipment(c, in.ShipmentID)
	if err != nil {
		return nil, err
	}
	if st := sh.Status(); st != "in_transit" {
		return nil, notReady("shipment %s is %s, not in transit", sh.ShipmentNo(), st).At("shipment_id", "is %s", st)
	}
	reached, err := k.recordComplaints(c, in)
	if err != nil {
		return nil, err
	}
	set := record.Shipment(outcomeOf(sh, reached))
	if p := in.Proof; p != nil {
		set.SetProofOrNull(proofOf(p))
	}
	if err := record.Update(k.Tx, []string{in.ShipmentID}, set); err != nil {
		return nil, err
	}
	s, err := shipmentOut(c, in.ShipmentID)
	if err != nil {
		return nil, err
	}
	rows, err := record.List[record.Order](c.Tx, c.DB().InUUID("id", 2)+" ORDER BY id",
		jsonList(store.Texts(sh.OrderIDs())))
	return &DeliverOut{ShipmentOut: *s, Orders: record.ShowList(c, rows)}, err
}

// lockDrivenShipment locks a shipment for the caller; a driver's own are there for him.
func lockDrivenShipment(c *verb.Call, id string) (record.Shipment, error) {
	sh, err := record.One[record.Shipment](c, "shipment_id", id)
	if err != nil {
		return nil, err
	}
	if c.Role == actor.Driver && (c.WorkerID == "" || sh.AssignedWorkerIDOrNull() != any(c.WorkerID)) {
		return nil, verb.Missing("shipments", "shipment_id")
	}
	return sh, nil
}

func proofOf(p *ProofIn) map[string]any {
	out := map[string]any{"name": p.Name}
	for name, v := range map[string]string{"signature": p.Signature, "photo": p.Photo} {
		if v != "" {
			out[name] = v
		}
	}
	for name, v := range map[string]*float64{"lat": p.Lat, "lon": p.Lon} {
		if v != nil {
			out[name] = *v
		}
	}
	return out
}

// nothingDelivered is why a shipment is an exception of which everything was missing.
const nothingDelivered = "NOTHING_DELIVERED"

// outcomeOf is what a delivery sets of its shipment. One that reaches its receiver takes back
// the exception of a try that did not.
func outcomeOf(shipment record.Shipment, reached bool) store.Row {
	if !reached {
		return store.Row{"status": "exception", "exception_code": nothingDelivered, "exception_note": nil}
	}
	if shipment.ExceptionCodeOrNull() == any(nothingDelivered) {
		return store.Row{"status": "delivered", "exception_code": nil, "exception_note": nil}
	}
	return store.Row{"status": "delivered"}
}

// recordComplaints notes what was short or damaged, and reports whether anything reached
// the receiver. What an earlier try had noted of other lines is taken back.
func (k work) recordComplaints(c *verb.Call, in *DeliverIn) (reached bool, err error) {
	rows, err := record.List[record.ShipmentLine](k.Tx, "shipment_id = $2", in.ShipmentID)
	if err != nil {
		return false, err
	}
	var sets []record.ShipmentLine
	var said []spoken
	for i, l := range in.Lines {
		at := slices.IndexFunc(rows, func(r record.ShipmentLine) bool { return r.OrderLineID() == l.LineID })
		if at < 0 {
			return false, verb.Missing("order_lines", lineField(i, "order_line_id"))
		}
		if slices.ContainsFunc(in.Lines[:i], func(o DeliveredIn) bool { return o.LineID == l.LineID }) {
			return false, fault.New(fault.Invalid, "22023", "a line is named once").At(lineField(i, "order_line_id"),
				"is named above already")
		}
		if most := rows[at].Quantity(); l.Short+l.Damaged > most {
			return false, refuseAbove(lineField(i, "short"), l.Short+l.Damaged, most, "was shipped")
		}
		item, all := rows[at].ItemID(), rows[at].Quantity()
		said = append(said,
			spoken{item: item, member: lineField(i, "short"), quantity: l.Short, all: all},
			spoken{item: item, member: lineField(i, "damaged"), quantity: l.Damaged, all: all})
		sets = append(sets, record.ShipmentLine{"id": rows[at].ID(), "qty_short": l.Short, "qty_damaged": l.Damaged})
	}
	if err := checkBaseUnitDecimals(c, said...); err != nil {
		return false, err
	}
	reached = len(rows) == 0
	for _, row := range rows {
		short := decimal.Dec(0)
		at := slices.IndexFunc(in.Lines, func(l DeliveredIn) bool { return row.OrderLineID() == l.LineID })
		if at >= 0 {
			short = in.Lines[at].Short
		} else if row.QtyShort() > 0 || row.QtyDamaged() > 0 {
			sets = append(sets, record.ShipmentLine{"id": row.ID(), "qty_short": short, "qty_damaged": short})
		}
		reached = reached || short < row.Quantity()
	}
	if len(sets) == 0 {
		return reached, nil
	}
	return reached, k.UpdateEach("shipment_lines", record.Rows(sets))
}
