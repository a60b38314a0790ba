package warehouse

import (
	"encoding/json"
	"math"
	"slices"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/routing"
)

// PlanRouteIn says who drives what.
type PlanRouteIn struct {
	Date     string   `json:"date" required:"true" format:"date" doc:"When, where the tenant is; today or later."`
	DriverID string   `json:"driver_id" required:"true" format:"uuid" names:"drivers" doc:"Who drives."`
	Vehicle  string   `json:"vehicle_id" required:"true" format:"uuid" names:"vehicles" doc:"What with."`
	IDs      []string `json:"shipment_ids" required:"true" max:"200" format:"uuid" names:"shipments" doc:"Its stops, of the own fleet and not yet on the road."`
}

func (w Watch) planRoute(c *verb.Call, in *PlanRouteIn) (*RouteOut, error) {
	k := w.workOf(c)
	today, err := readLocalToday(k.Tx)
	if err != nil {
		return nil, err
	}
	if in.Date < today {
		return nil, fault.New(fault.Invalid, "22023", "date %s is past", in.Date).At("date", "is past")
	}
	driver, err := readRecord[record.Driver](c, "driver_id", in.DriverID)
	if err != nil {
		return nil, err
	}
	vehicle, err := readRecord[record.Vehicle](c, "vehicle_id", in.Vehicle)
	if err != nil {
		return nil, err
	}
	rows, err := lockRoutable(c, in.IDs)
	if err != nil {
		return nil, err
	}
	list, km, kg, err := inOrder(rows)
	if err != nil {
		return nil, err
	}
	if most := vehicle.PayloadKg(); most > 0 && kg > most.Float() {
		return nil, fault.New(fault.Conflict, CodeOrder, "vehicle_id carries %s kg, and the shipments weigh %s", most,
			decimal.FromFloat(kg)).
			At("vehicle_id", "carries %s kg", most)
	}
	made, err := record.Insert(k.Tx, []record.Route{{"date": in.Date, "driver_id": in.DriverID,
		"vehicle_id":         in.Vehicle,
		"assigned_worker_id": driver.WorkerID(), "planned_km": km}})
	if err != nil {
		return nil, err
	}
	var sets []record.Shipment
	for i, r := range list {
		sets = append(sets, record.Shipment{"id": r.ID(), "route_id": made[0].ID(), "stop_seq": int64(i + 1),
			"driver_id": in.DriverID, "vehicle_id": in.Vehicle})
	}
	store.SortByID(record.Rows(sets))
	if err := k.UpdateEach("shipments", record.Rows(sets)); err != nil {
		return nil, err
	}
	return w.routeOut(c, made[0].ID())
}

// lockRoutable locks shipments that a route may take, in the order in which they are
// named.
func lockRoutable(c *verb.Call, ids []string) ([]record.Shipment, error) {
	if len(ids) == 0 {
		return nil, fault.New(fault.Invalid, "22023", "name shipment_ids").At("shipment_ids", "is empty")
	}
	rows, err := record.Lock[record.Shipment](c, "shipment_ids", slices.Compact(slices.Sorted(slices.Values(ids)))...)
	if err != nil {
		return nil, err
	}
	if len(rows) < len(ids) {
		return nil, fault.New(fault.Invalid, "22023", "shipment_ids names a shipment twice").At("shipment_ids",
			"names one twice")
	}
	for _, r := range rows {
		why := ""
		switch st := r.Status(); {
		case r.Direction() != "outbound" || !slices.Contains(road[:3], st):
			why = "is " + r.Direction() + " and " + st
		case r.HasCarrier():
			why = "goes with carrier " + r.Carrier()
		case r.HasRouteID():
			why = "is on a route already"
		}
		if why != "" {
			return nil, notReady("shipment %s %s", r.ShipmentNo(), why).At("shipment_ids", "names %s, which %s",
				r.ShipmentNo(), why)
		}
	}
	slices.SortFunc(rows, func(a, b record.Shipment) int {
		return slices.Index(ids, a.ID()) - slices.Index(ids, b.ID())
	})
	return rows, nil
}

// inOrder puts shipments in the order of a short round from where the first of
// them begins that says so. Those whose place nobody knows come last, as they are
// given, and all stay as they are where no beginning is known. km is null then.
func inOrder(rows []record.Shipment) (list []record.Shipment, km any, kg float64, err error) {
	var depot *routing.Stop
	var placed, lost []record.Shipment
	var places []routing.Stop
	for _, r := range rows {
		kg += routing.Weight(jsonDocument(r, "packages"))
		if at, ok := routing.At(jsonDocument(r, "origin")); ok && depot == nil {
			depot = &at
		}
		if at, ok := routing.At(jsonDocument(r, "destination")); ok {
			placed, places = append(placed, r), append(places, at)
		} else {
			lost = append(lost, r)
		}
	}
	if depot == nil || len(placed) == 0 {
		return rows, nil, kg, nil
	}
	round, err := routing.Round(*depot, places)
	if err != nil {
		return nil, nil, 0, err
	}
	for _, i := range round.Order {
		list = append(list, placed[i])
	}
	return append(list, lost...), decimal.FromFloat(math.Round(round.Km*10) / 10), kg, nil
}

// jsonDocument is a JSON field of a row.
func jsonDocument(r record.Shipment, name string) json.RawMessage {
	raw, _ := r[name].(json.RawMessage)
	return raw
}
