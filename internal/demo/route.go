package demo

import "holdfast/internal/store"

// emitRoutes plans the next working day: what stands ready for a driver with a
// vehicle is his route.
func (w *haulage) emitRoutes() {
	of := map[any]store.Row{} // by driver
	stops := map[any]int64{}
	for _, sh := range w.rows["shipments"] {
		driver := sh["driver_id"]
		if sh["status"] != "ready" || driver == nil || sh["vehicle_id"] == nil {
			continue
		}
		if of[driver] == nil {
			at := w.cal.clipToNow(w.cal.momentAt(0, 8.5))
			of[driver] = w.addRecord("routes", 0, at, store.Row{"id": derivedID(driver.(string), "route"),
				"route_no": w.nextNumber("RT", at), "status": "planned",
				"date": w.cal.localDate(w.cal.nextWorking(0)), "driver_id": driver, "assigned_worker_id": sh["assigned_worker_id"],
				"vehicle_id": sh["vehicle_id"],
				"created_by": w.userID("manager")})
		}
		stops[driver]++
		sh["route_id"], sh["stop_seq"] = of[driver]["id"], stops[driver]
	}
}
