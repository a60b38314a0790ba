package catalog

import (
	"strings"

	"holdfast/internal/actor"
)

func carriersResource() Resource {
	return Resource{
		Name: "carriers", Family: "logistics", Archives: true,
		Doc: "Forwarders and parcel services that take shipments; one that is archived takes none.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true, Fixed: true},
			{Name: "name", Format: Name, Required: true},
			{Name: "services", Type: Array, Format: Name, Required: true, Default: "[]", MaxLen: 50,
				Doc: "Those that shipments may ask for; empty = any."},
		},
		Unique: [][]string{{"code"}},
		Access: masterAccess(),
	}
}

func routesResource() Resource {
	return Resource{
		Name: "routes", Family: "logistics",
		Doc: "What a driver brings out on a day; its stops are the shipments that name it.",
		Fields: []Field{
			{Name: "route_no", Format: Number, Prefix: "RT", ReadOnly: true},
			{Name: "status", Required: true, Default: "planned", OneOf: strings.Fields("planned started finished cancelled")},
			{Name: "date", Type: Date, Required: true, ReadOnly: true},
			{Name: "driver_id", Type: UUID, Ref: "drivers", Required: true, ReadOnly: true, Readers: taskReaders()},
			{Name: "assigned_worker_id", Type: UUID, Ref: "workers", Readers: taskReaders(), ReadOnly: true,
				Doc: "The driver's worker record."},
			{Name: "vehicle_id", Type: UUID, Ref: "vehicles", Required: true, ReadOnly: true},
			{Name: "planned_km", Type: Decimal, Unit: "km", Min: "0", ReadOnly: true, Doc: "There and back, as the crow flies."},
			{Name: "started_at", Type: Time, ReadOnly: true},
			{Name: "finished_at", Type: Time, ReadOnly: true},
			{Name: "driving_min", Type: Int, Unit: "min", Min: "0", ReadOnly: true, Doc: "At the wheel; null = all of it."},
			{Name: "odometer_start_km", Type: Decimal, Unit: "km", Min: "0", ReadOnly: true},
			{Name: "odometer_end_km", Type: Decimal, Unit: "km", Min: "0", ReadOnly: true},
			{Name: "distance_km", Type: Decimal, Unit: "km", Min: "0", ReadOnly: true, Doc: "Between the two readings."},
		},
		Unique:  [][]string{{"route_no"}},
		Indexes: [][]string{{"status", "id"}, {"date", "id"}, {"driver_id", "started_at"}},
		Makers:  leaders,
		Own:     []string{"assigned_worker_id"},
		Access: Access{
			Read:   append(keptByVerbs().Read, grantOwn(actor.Driver)),
			Update: []Grant{grantAll(managers).onlyFields("status")},
		},
		States: &States{Field: "status", Initial: []string{"planned"}, Moves: []Move{
			{From: []string{"planned"}, To: "started"},
			{From: []string{"started"}, To: "finished"},
			{From: []string{"planned"}, To: "cancelled", Roles: managers},
		}},
	}
}
