package catalog

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

func logisticsResources() []Resource {
	return []Resource{
		ordersResource(),
		orderLines(),
		reservationsResource(),
		wavesResource(),
		pickLists(),
		pickLines(),
		carriersResource(),
		shipmentsResource(),
		shipmentLines(),
		packagesResource(),
		packageLines(),
		vehiclesResource(),
		driversResource(),
		routesResource(),
	}
}

const outboundPrefix = "SO"

// OrderPrefix begins the numbers of orders of a type.
func OrderPrefix(kind string) string {
	if p := orderPrefixes[kind]; p != "" {
		return p
	}
	return outboundPrefix
}

// orderPrefixes begin the numbers of orders that are not outbound: purchases,
// transfers and return merchandise authorizations.
var orderPrefixes = map[string]string{"inbound": "PO", "transfer": "TO", "return": "RMA"}

// notOpenOrders are the states in which nobody waits for an order.
var notOpenOrders = []string{"draft", "completed", "cancelled"}

func ordersResource() Resource {
	return Resource{
		Name: "orders", Family: "logistics",
		Doc: "Requests to move goods out, in, between sites or back.",
		Fields: []Field{
			{Name: "order_no", Format: Number, Prefix: outboundPrefix, Fixed: true,
				Prefixes: Prefixes{By: "type", Of: orderPrefixes},
				Doc:      "Made when absent: SO- for outbound, PO- for inbound, TO- for transfers and RMA- for returns, with a sequence each."},
			{Name: "type", Required: true, Default: "outbound", Fixed: true,
				OneOf: strings.Fields("outbound inbound transfer return")},
			{Name: "status", Required: true, Default: "draft",
				OneOf: strings.Fields("draft confirmed in_progress on_hold completed cancelled")},
			{
				Name:     "stage",
				ReadOnly: true,
				OneOf:    stages,
				Doc:      "Derived from the lines: how far an order has gone out, or come in; a transfer does both.",
			},
			{Name: "priority", Type: Int, Required: true, Default: "3", Min: "1", Max: "5", Doc: "1 is most urgent."},
			{Name: "party_name", Format: Name},
			{Name: "party_code", Format: Name, MaxLen: 64},
			{Name: "party_gln", Format: GLN, Label: "Party GLN"},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners"},
			{Name: "site_id", Type: UUID, Ref: "sites",
				Doc: "Whose goods it takes, and where goods come in for it. A new order without one has the only site, " +
					"or that of the setting default_site; an order of no site takes goods of all. " +
					"Of a transfer: where its goods are shipped."},
			{Name: "to_site_id", Type: UUID, Ref: "sites", Label: "To site",
				Doc: "Of a transfer: the site where its goods are received."},
			{Name: "ship_to", Type: JSON, Shape: schema.Of(postalAddress{}),
				Doc: "{name, lines, city, region, postal_code, country, phone}"},
			{Name: "requested_at", Type: Time},
			{Name: "promised_at", Type: Time},
			{Name: "carrier", Format: Code},
			{Name: "service", Format: Name, MaxLen: 64},
			{Name: "source", Format: Name, MaxLen: 64, Fixed: true},
			{Name: "external_ref", Format: Name, MaxLen: 100, Fixed: true},
			{Name: "hold_reason", Format: Name},
			{Name: "resume_reason", Format: Name, ReadOnly: true, Doc: "Why it last went on after a hold."},
			{
				Name:     "held_from",
				ReadOnly: true,
				OneOf:    []string{"confirmed", "in_progress"},
				Doc:      "The state that an order on hold came from and goes back to.",
			},
			{Name: "notes"},
			{Name: "tags", Type: Array, Format: Name, Required: true, Default: "[]", MaxLen: 50},
			{Name: "line_count", Type: Int, ReadOnly: true, Required: true, Default: "0",
				Doc: "Lines as they were ordered: a kit is one, whatever its components."},
			{Name: "qty_ordered", Type: Decimal, ReadOnly: true, Required: true, Default: "0",
				Doc: "The sum of its lines, as are those below; of a kit its components count once the order is confirmed."},
			{Name: "qty_allocated", Type: Decimal, ReadOnly: true, Required: true, Default: "0"},
			{Name: "qty_picked", Type: Decimal, ReadOnly: true, Required: true, Default: "0"},
			{Name: "qty_packed", Type: Decimal, ReadOnly: true, Required: true, Default: "0"},
			{Name: "qty_shipped", Type: Decimal, ReadOnly: true, Required: true, Default: "0"},
			{Name: "qty_received", Type: Decimal, ReadOnly: true, Required: true, Default: "0"},
			{Name: "total_value", Type: Decimal, Unit: Currency, Cost: true, ReadOnly: true, Required: true, Default: "0",
				Doc: "The sum of the amounts of its lines."},
		},
		Import:  importOrders(),
		Unique:  [][]string{{"order_no"}, {"source", "external_ref"}},
		Indexes: [][]string{{"status", "-id"}},
		Listed:  []string{"updated_at", "promised_at"},
		Own:     []string{"created_by"},
		Goods:   []string{"owner_id"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver), grantClients()},
			Create: []Grant{grantAll(plusRoles(managers, actor.Operator))},
			Update: []Grant{grantAll(managers), Grant{Roles: []actor.Role{actor.Operator}, Scope: All}.onlyFields("status",
				"hold_reason", "notes")},
			Delete: []Grant{grantAll(managers)},
		},
		Counters: []Counter{
			{Name: "orders", By: []string{"status"}},
			{Name: "order_stages", By: []string{"stage"}, Except: notOpenOrders},
			{Name: "orders_due", At: "promised_at", Except: notOpenOrders},
		},
		States: &States{Field: "status", Initial: []string{"draft"}, Moves: []Move{
			{From: []string{"draft"}, To: "confirmed", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"confirmed"}, To: "in_progress"},
			{From: []string{"confirmed", "in_progress"}, To: "on_hold", Roles: managers},
			{From: []string{"on_hold"}, To: "confirmed", Roles: managers},
			{From: []string{"on_hold"}, To: "in_progress", Roles: managers},
			{From: []string{"in_progress"}, To: "completed"},
			{From: []string{"draft", "confirmed", "on_hold"}, To: "cancelled", Roles: managers},
		}},
	}
}

var stages = strings.Fields("unallocated part_allocated allocated picking picked packed part_shipped shipped delivered " +
	"expected part_received received")

func orderLines() Resource {
	qty := func(name string) Field {
		return Field{Name: name, Type: Decimal, ReadOnly: true, Required: true, Default: "0", Min: "0"}
	}
	m := []Grant{grantAll(plusRoles(managers, actor.Operator))}
	return Resource{
		Name: "order_lines", Family: "logistics",
		Doc: "What an order asks for, item by item, and how far each line has come.",
		Fields: []Field{
			{Name: "order_id", Type: UUID, Ref: "orders", Required: true, Fixed: true},
			{Name: "line_no", Type: Int, Required: true, Min: "1", Max: "100000"},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true},
			{Name: "uom", Format: Code, Required: true, Default: "EA", Label: "Unit",
				Doc: "Unit of the quantities. A line that is given in another unit of its item is kept in the base unit."},
			{Name: "qty_ordered", Type: Decimal, Required: true, Min: "0.0001"},
			{Name: "ordered_uom", Format: Code, ReadOnly: true, Label: "Ordered unit",
				Doc: "The unit that it was given in, where that was another."},
			{Name: "ordered_qty", Type: Decimal, ReadOnly: true, Label: "Ordered quantity",
				Doc: "What was ordered in ordered_uom."},
			{Name: "qty_cancelled", Type: Decimal, Required: true, Default: "0", Min: "0"},
			qty("qty_allocated"), qty("qty_picked"), qty("qty_packed"), qty("qty_shipped"), qty("qty_received"),
			{Name: "unit_price", Type: Decimal, Unit: Currency, Cost: true, Min: "0",
				Doc: "Of one price_uom; of one uom when that is absent. What goods are bought at is what they cost."},
			{Name: "price_uom", Format: Code, Label: "Price unit",
				Doc: "The unit of the item that the price is of, as in 21.20 a case; the unit of the quantities when absent."},
			{Name: "price_qty", Type: Decimal, ReadOnly: true, Required: true, Default: "1", Label: "Price quantity",
				Doc: "How many of uom the price is for: what one price_uom held when it was set on the line, which stays."},
			{Name: "amount", Type: Decimal, Unit: Currency, Cost: true, ReadOnly: true,
				Doc: "(qty_ordered - qty_cancelled) x unit_price / price_qty, rounded once to four decimals, half up; " +
					"null without a price. An order's total_value is the sum of its lines' amounts."},
			{Name: "lot_id", Type: UUID, Ref: "lots", Doc: "Pins the line to one lot."},
			{Name: "min_expiry", Type: Date},
			{Name: "disposition", OneOf: strings.Fields("restock quarantine scrap refund_only"), Doc: "Of a returned line."},
			{Name: "is_kit", Type: Bool, ReadOnly: true, Default: "false", Label: "Kit",
				Doc: "Its item is a kit and its order is confirmed: it carries the price, its component lines the goods. " +
					"What is allocated, picked, packed and shipped of it is the whole kits that these make."},
			{Name: "kit_line_id", Type: UUID, Ref: "order_lines", ReadOnly: true, Label: "Kit line",
				Doc: "Of a component line: the line of the kit that it is a part of."},
			{Name: "kit_qty", Type: Decimal, ReadOnly: true, Label: "Quantity of a kit",
				Doc: "Of a component line: how much of it one kit takes, as agreed when the order was confirmed."},
		},
		Import: importOrderLines(),
		Unique: [][]string{{"order_id", "line_no"}},
		Checks: []string{
			"qty_shipped <= qty_packed",
			"qty_packed <= qty_picked",
			"qty_picked <= qty_allocated",
			"qty_allocated + qty_cancelled <= qty_ordered",
		},
		Own:   []string{"created_by"},
		Goods: []string{"order_id", "owner_id"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver), grantClients()},
			Create: m, Update: m, Delete: []Grant{grantAll(managers)},
		},
	}
}

func pickLists() Resource {
	return Resource{
		Name: "pick_lists", Family: "logistics",
		Doc: "Work for one picker: lines to fetch, in walking order. Operators read their own, and what they may claim: " +
			"released lists of nobody, whose lines are at the site of their worker record.",
		Fields: []Field{
			{Name: "pick_no", Format: Number, Prefix: "PL", Fixed: true},
			{Name: "strategy", Required: true, Default: "single", OneOf: strings.Fields("single batch cluster wave zone")},
			{Name: "wave_no", Format: Name, MaxLen: 40},
			{Name: "status", Required: true, Default: "draft",
				OneOf: strings.Fields("draft released in_progress completed cancelled")},
			{Name: "assigned_worker_id", Type: UUID, Ref: "workers", Readers: taskReaders()},
			{Name: "priority", Type: Int, Required: true, Default: "3", Min: "1", Max: "5"},
			{Name: "released_at", Type: Time, ReadOnly: true},
			{Name: "started_at", Type: Time, ReadOnly: true},
			{Name: "completed_at", Type: Time, ReadOnly: true},
			{Name: "route_m", Type: Decimal, Unit: "m", Min: "0"},
		},
		Unique:  [][]string{{"pick_no"}},
		Indexes: [][]string{{"status", "id"}},
		Makers:  leaders,
		Own:     []string{"assigned_worker_id", "created_by"},
		Access: Access{
			Read: []Grant{grantAll(plusRoles(leaders, actor.Viewer)), grantOwn(actor.Operator).orWork(Work{
				Taken: "assigned_worker_id", Status: "status", Open: []string{"released", "in_progress"},
				Stops: "pick_lines", StopOf: "pick_list_id", At: "zone_id"})},
			Create: []Grant{grantAll(managers)},
			Update: []Grant{grantAll(managers), grantOwn(actor.Operator).onlyFields("status")},
			Delete: []Grant{grantAll(managers)},
		},
		Counters: []Counter{{Name: "pick_lists", By: []string{"status"}}},
		States: &States{Field: "status", Initial: []string{"draft"}, Moves: []Move{
			{From: []string{"draft"}, To: "released", Roles: managers},
			{From: []string{"released"}, To: "in_progress", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"in_progress"}, To: "completed", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"draft", "released", "in_progress"}, To: "cancelled", Roles: managers},
		}},
	}
}

func pickLines() Resource {
	return Resource{
		Name: "pick_lines", Family: "logistics",
		Doc: "One stop of a pick list.",
		Fields: []Field{
			{Name: "pick_list_id", Type: UUID, Ref: "pick_lists", Required: true, Fixed: true},
			{Name: "seq", Type: Int, Required: true, Min: "1", Max: "100000"},
			{Name: "order_line_id", Type: UUID, Ref: "order_lines"},
			{Name: "zone_id", Type: UUID, Ref: "zones", Required: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true},
			{Name: "lot_id", Type: UUID, Ref: "lots"},
			{Name: "serial", Format: Name, MaxLen: 64},
			{Name: "qty", Type: Decimal, Required: true, Min: "0.0001"},
			{Name: "qty_picked", Type: Decimal, Required: true, Default: "0", Min: "0"},
			{Name: "weight_kg", Type: Decimal, Unit: "kg", ReadOnly: true,
				Doc: "What qty_picked weighs, of an item of catch weight."},
			{Name: "weight_reason", Format: Name, MaxLen: 200, ReadOnly: true,
				Doc: "Why a manager took a weight that is further off than the item allows."},
			{Name: "reservation_id", Type: UUID, Ref: "reservations", ReadOnly: true,
				Doc: "The promise that is picked; it moves with the goods."},
			{Name: "lpn", Format: Name, MaxLen: 64, Label: "License plate"},
			{Name: "to_zone_id", Type: UUID, Ref: "zones",
				Doc: "Where the goods are put: a staging zone; the tenant's first when absent."},
			{Name: "target_container", Format: Name, MaxLen: 64},
			{Name: "status", Required: true, Default: "pending", OneOf: strings.Fields("pending picked short cancelled")},
			{Name: "short_reason", Format: Name},
			{Name: "picked_at", Type: Time, ReadOnly: true},
			{Name: "picked_by", Type: UUID, ReadOnly: true, Doc: "User who confirmed the line."},
			{Name: "assigned_worker_id", Type: UUID, Ref: "workers", Readers: taskReaders(), ReadOnly: true,
				Doc: "The list's picker."},
		},
		Unique:  [][]string{{"pick_list_id", "seq"}},
		Indexes: [][]string{{"picked_at"}},
		Makers:  leaders,
		Own:     []string{"assigned_worker_id", "created_by"},
		Checks:  []string{"qty_picked <= qty"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Viewer)), grantOwn(actor.Operator).orOf("pick_list_id")},
			Create: []Grant{grantAll(managers)},
			Update: []Grant{
				grantAll(managers),
				grantOwn(actor.Operator).onlyFields("status", "qty_picked", "short_reason", "target_container", "to_zone_id"),
			},
			Delete: []Grant{grantAll(managers)},
		},
		States: &States{Field: "status", Initial: []string{"pending"}, Moves: []Move{
			{From: []string{"pending"}, To: "picked", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"pending"}, To: "short", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"pending", "picked", "short"}, To: "cancelled", Roles: managers},
		}},
	}
}

func shipmentsResource() Resource {
	return Resource{
		Name: "shipments", Family: "logistics",
		Doc: "Goods that travel together, out or in.",
		Fields: []Field{
			{Name: "shipment_no", Format: Number, Prefix: "SH", Fixed: true},
			{Name: "direction", Required: true, Default: "outbound", Fixed: true, OneOf: []string{"outbound", "inbound"}},
			{
				Name:     "status",
				Required: true,
				Default:  "planned",
				OneOf:    strings.Fields("planned packed ready in_transit arrived exception delivered received returned cancelled"),
			},
			{Name: "order_ids", Type: Array, Names: "orders", Required: true, Default: "[]", MaxLen: 500},
			{Name: "carrier", Format: Code, Doc: "Code of the carrier, which need not have a record; null = the own fleet."},
			{Name: "carrier_id", Type: UUID, Ref: "carriers", Doc: "Its record; each of the two sets the other."},
			{Name: "service", Format: Name, MaxLen: 64},
			{Name: "tracking_no", Format: Name, MaxLen: 100},
			{Name: "sscc", Type: Array, Format: Code, Required: true, Default: "[]", MaxLen: 500, Label: "SSCC"},
			{Name: "packages", Type: JSON, Shape: schema.Of([]parcel{}), Required: true, Default: "[]",
				Doc: "Array of {sscc, pieces, weight_kg}."},
			{Name: "driver_id", Type: UUID, Ref: "drivers", Readers: taskReaders()},
			{Name: "assigned_worker_id", Type: UUID, Ref: "workers", Readers: taskReaders(), ReadOnly: true,
				Doc: "The driver's worker record."},
			{Name: "vehicle_id", Type: UUID, Ref: "vehicles"},
			{Name: "route_id", Type: UUID, Ref: "routes", ReadOnly: true, Doc: "The route that it is a stop of."},
			{Name: "stop_seq", Type: Int, Min: "1", Max: "10000"},
			{Name: "arrived_at", Type: Time, Doc: "When the driver reached the stop."},
			{Name: "origin", Type: JSON, Shape: schema.Of(place{}), Doc: "{name, city, postal_code, country, lat, lon}"},
			{Name: "destination", Type: JSON, Shape: schema.Of(place{}),
				Doc: "{name, city, postal_code, country, lat, lon}; routes are planned by lat and lon, degrees of WGS 84."},
			{Name: "planned_at", Type: Time},
			{Name: "dispatched_at", Type: Time, ReadOnly: true},
			{Name: "eta", Type: Time, Label: "ETA"},
			{Name: "completed_at", Type: Time, ReadOnly: true},
			{Name: "proof", Type: JSON, Shape: schema.Of(deliveryProof{}), Doc: "{name, photo, signature, lat, lon}"},
			{Name: "exception_code", Format: Code},
			{Name: "exception_note", MaxLen: 1000, Doc: "What happened, in words."},
			{Name: "freight_cost", Type: Decimal, Unit: Currency, Cost: true, Min: "0", Readers: costReaders()},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners", ReadOnly: true,
				Doc: "Whose goods it carries, where all its orders are one owner's."},
		},
		Unique:  [][]string{{"shipment_no"}},
		Indexes: [][]string{{"status", "id"}, {"completed_at"}, {"route_id"}},
		Listed:  []string{"updated_at", "planned_at"},
		Makers:  leaders,
		Own:     []string{"assigned_worker_id"},
		Goods:   []string{"owner_id"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver), grantClients()},
			Create: []Grant{grantAll(plusRoles(managers, actor.Operator))},
			Update: []Grant{
				grantAll(managers),
				Grant{Roles: []actor.Role{actor.Operator}, Scope: All}.onlyFields("status", "tracking_no", "packages", "sscc"),
				grantOwn(actor.Driver).onlyFields("status", "arrived_at", "proof", "exception_code", "exception_note"),
			},
			Delete: []Grant{grantAll(managers)},
		},
		Counters: []Counter{
			{Name: "shipments", By: []string{"status"}},
			{
				Name:   "shipments_completed",
				At:     "completed_at",
				Except: strings.Fields("planned packed ready in_transit arrived exception returned cancelled"),
			},
		},
		States: &States{Field: "status", Initial: []string{"planned"}, Moves: []Move{
			{From: []string{"planned"}, To: "packed", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"packed", "ready"}, To: "planned", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"packed"}, To: "ready", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"ready", "planned", "exception"}, To: "in_transit",
				Roles: plusRoles(managers, actor.Operator, actor.Driver)},
			{From: []string{"in_transit"}, To: "delivered", Roles: plusRoles(managers, actor.Operator, actor.Driver)},
			{From: []string{"in_transit"}, To: "exception", Roles: plusRoles(managers, actor.Operator, actor.Driver)},
			{From: []string{"exception"}, To: "returned", Roles: managers},
			{From: []string{"in_transit"}, To: "arrived", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"arrived"}, To: "received", Roles: plusRoles(managers, actor.Operator)},
			{From: []string{"planned", "packed", "ready"}, To: "cancelled", Roles: managers},
		}},
	}
}

// roadStates are the states of everything that can be taken out of service.
var roadStates = strings.Fields("in_service maintenance out_of_service retired")

func vehiclesResource() Resource {
	m := []Grant{grantAll(managers)}
	return Resource{
		Name: "vehicles", Family: "logistics", Archives: true,
		Doc: "Trucks and vans of the own fleet.",
		Fields: []Field{
			{Name: "plate", Format: Name, MaxLen: 20, Required: true},
			{Name: "vin", Format: Code, MaxLen: 17, Label: "VIN"},
			{Name: "kind", Format: Name, MaxLen: 40},
			{Name: "payload_kg", Type: Decimal, Unit: "kg", Min: "0"},
			{Name: "volume_m3", Type: Decimal, Unit: "m3", Min: "0"},
			{Name: "odometer_km", Type: Decimal, Unit: "km", Min: "0"},
			{Name: "inspection_due_on", Type: Date},
			{Name: "site_id", Type: UUID, Ref: "sites"},
			{Name: "status", Required: true, Default: "in_service", OneOf: roadStates},
			{Name: "on_trip", Type: Bool, Required: true, Default: "false", ReadOnly: true,
				Doc: "Out with a shipment that is on the road."},
		},
		Import: importVehicles(),
		Unique: [][]string{{"plate"}},
		Access: Access{Read: []Grant{grantAll(everyone)}, Create: m, Update: []Grant{grantAll(leaders)}, Delete: m},
		States: &States{Field: "status", Initial: roadStates, Moves: []Move{
			{From: []string{"maintenance", "out_of_service"}, To: "in_service", Roles: leaders},
			{From: []string{"in_service", "out_of_service"}, To: "maintenance", Roles: leaders},
			{From: []string{"in_service", "maintenance"}, To: "out_of_service", Roles: leaders},
			{From: []string{"in_service", "maintenance", "out_of_service"}, To: "retired", Roles: managers},
		}},
	}
}

func driversResource() Resource {
	m := []Grant{grantAll(managers)}
	return Resource{
		Name: "drivers", Family: "logistics", Archives: true,
		Doc: "Workers who drive shipments, with licence and whereabouts.",
		Fields: []Field{
			{Name: "worker_id", Type: UUID, Ref: "workers", Required: true, Fixed: true},
			{Name: "licence_no", Format: Name, MaxLen: 40, Readers: leaders},
			{Name: "licence_class", Format: Name, MaxLen: 20},
			{Name: "licence_expires_on", Type: Date},
			{Name: "vehicle_id", Type: UUID, Ref: "vehicles"},
			{Name: "phone", Format: Name, MaxLen: 40, Readers: leaders},
			{Name: "last_lat", Type: Float, Min: "-90", Max: "90", Readers: managers},
			{Name: "last_lon", Type: Float, Min: "-180", Max: "180", Readers: managers},
			{Name: "last_seen_at", Type: Time, Readers: managers},
			{Name: "status", Required: true, Default: "available",
				OneOf: strings.Fields("available assigned on_trip off_duty suspended")},
		},
		Import:  importDrivers(),
		Unique:  [][]string{{"worker_id"}},
		Indexes: [][]string{{"status", "id"}},
		Own:     []string{"worker_id"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver)},
			Create: m, Update: []Grant{grantAll(leaders)}, Delete: m,
		},
		Counters: []Counter{{Name: "drivers", By: []string{"status"}}},
		States: &States{Field: "status", Initial: []string{"available", "off_duty"}, Moves: []Move{
			{From: []string{"available", "on_trip"}, To: "assigned", Roles: managers},
			{From: []string{"assigned"}, To: "on_trip", Roles: managers},
			{From: strings.Fields("assigned on_trip off_duty suspended"), To: "available", Roles: managers},
			{From: []string{"available", "assigned", "on_trip"}, To: "off_duty", Roles: managers},
			{From: strings.Fields("available assigned on_trip off_duty"), To: "suspended", Roles: leaders},
		}},
	}
}
