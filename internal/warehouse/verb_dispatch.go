package warehouse

import (
	"slices"

	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// DispatchIn names one shipment or several.
type DispatchIn struct {
	ShipmentID  string   `json:"shipment_id" format:"uuid" names:"shipments" doc:"An outbound shipment; 409 says why it may not leave. Or"`
	ShipmentIDs []string `json:"shipment_ids" max:"100" format:"uuid" names:"shipments" doc:"several: those that may leave do, reasons say why others stay."`
}

// Dispatched is what became of one shipment.
type Dispatched struct {
	ShipmentID string      `json:"shipment_id"`
	OK         bool        `json:"ok"`
	Reasons    []string    `json:"reasons" doc:"Why it may not leave."`
	Shipment   verb.Record `json:"shipment" record:"shipments"`
}

// DispatchOut is what became of each shipment.
type DispatchOut struct {
	verb.Answer
	Shipment  verb.Record  `json:"shipment" record:"shipments" doc:"The one, where one was named."`
	Shipments []Dispatched `json:"shipments"`
}

// road is the way of an outbound shipment to its departure.
var road = []string{"planned", "packed", "ready", "in_transit"}

func (w Watch) dispatchShipments(c *verb.Call, in *DispatchIn) (*DispatchOut, error) {
	ids := in.ShipmentIDs
	if in.ShipmentID != "" {
		ids = []string{in.ShipmentID}
	}
	if len(ids) == 0 || in.ShipmentID != "" && len(in.ShipmentIDs) > 0 {
		return nil, fault.New(fault.Invalid, "22023", "name a shipment_id or shipment_ids").At("shipment_id",
			"or shipment_ids is required, not both")
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	rows, err := record.Lock[record.Shipment](c, "shipment_id", ids...)
	if err != nil {
		return nil, err
	}
	why, err := w.workOf(c).listStaying(rows)
	if err != nil {
		return nil, err
	}
	if r := why[in.ShipmentID]; len(r) > 0 {
		return nil, notLeaving(r)
	}
	out := &DispatchOut{}
	for _, r := range rows {
		id := r.ID()
		if err := w.workOf(c).sendShipment(r, why[id]); err != nil {
			return nil, err
		}
		rec, err := c.Again("shipments", id)
		if err != nil {
			return nil, err
		}
		out.Shipments = append(out.Shipments, Dispatched{ShipmentID: id, OK: len(why[id]) == 0,
			Reasons: append([]string{}, why[id]...), Shipment: rec})
		if in.ShipmentID != "" {
			out.Shipment = rec
		}
	}
	out.Then("deliver", "Deliver the shipment")
	return out, nil
}

// listStaying says why shipments may not leave.
func (k work) listStaying(rows []record.Shipment) (map[string][]string, error) {
	why := map[string][]string{}
	var changes []store.Change
	for _, r := range rows {
		id := r.ID()
		if r.Direction() != "outbound" || !slices.Contains(road[:3], r.Status()) {
			why[id] = append(why[id], "the shipment is "+r.Direction()+" and "+r.Status())
			continue
		}
		before, after := store.Row{"status": "ready"}, store.Row{}
		for n, v := range r {
			after[n] = v
		}
		after["status"] = "in_transit"
		changes = append(changes, store.Change{Op: store.Update, Before: before, After: after})
	}
	more, err := k.listNotReady(changes)
	for id, list := range more {
		why[id] = append(why[id], list...)
	}
	return why, err
}

// sendShipment takes a shipment through its states to its departure.
func (k work) sendShipment(r record.Shipment, why []string) error {
	at := slices.Index(road, r.Status())
	if len(why) > 0 || at < 0 {
		return nil
	}
	for _, st := range road[at+1:] {
		if err := k.UpdateRows("shipments", []string{r.ID()}, store.Row{"status": st}); err != nil {
			return err
		}
	}
	return nil
}
