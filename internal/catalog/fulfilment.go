package catalog

import "holdfast/internal/actor"

// What verbs keep between an order and its goods is read by members and written
// by the server.

// keepFields makes every field one that the server keeps.
func keepFields(fields ...Field) []Field {
	for i := range fields {
		fields[i].ReadOnly = true
	}
	return fields
}

// fulfilledAccess is who reads what verbs keep.
func fulfilledAccess() Access {
	return Access{Read: []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer))}}
}

func reservationsResource() Resource {
	return Resource{
		Name: "reservations", Family: "logistics",
		Doc: "Stock promised to an order line: the sum of the active ones at a place is what its stock level has reserved. It follows its goods: picked, " +
			"it lies in the staging zone; shipped, it is consumed. Made by confirm_order and allocate_order.",
		Fields: keepFields(
			Field{Name: "order_line_id", Type: UUID, Ref: "order_lines", Required: true},
			Field{Name: "item_id", Type: UUID, Ref: "items", Required: true},
			Field{Name: "zone_id", Type: UUID, Ref: "zones", Required: true, Doc: "Where the goods lie."},
			Field{Name: "lot_id", Type: UUID, Ref: "lots"},
			Field{Name: "serial", Format: Name, MaxLen: 64},
			Field{Name: "owner_id", Type: UUID, Ref: "goods_owners"},
			Field{Name: "lpn", Format: Name, MaxLen: 64, Label: "License plate"},
			Field{Name: "stock_status", Required: true, Default: "available", OneOf: stockStatuses},
			Field{Name: "stock_key", Required: true, Format: Name, MaxLen: 400, Doc: "The stock level that it is part of."},
			Field{Name: "quantity", Type: Decimal, Required: true, Min: "0.0001"},
			Field{Name: "state", Required: true, Default: "active", OneOf: []string{"active", "consumed", "released"}},
			Field{Name: "picked", Type: Bool, Required: true, Default: "false", Doc: "The goods are out of their bin."},
			Field{Name: "expires_at", Type: Time, Doc: "Released then unless it is picked; null = never."},
		),
		Indexes: [][]string{{"order_line_id"}, {"stock_key", "state"}, {"state", "expires_at"}},
		Access:  fulfilledAccess(),
		States: &States{Field: "state", Initial: []string{"active"}, Moves: []Move{
			{From: []string{"active"}, To: "consumed"},
			{From: []string{"active"}, To: "released"},
		}},
	}
}

func packagesResource() Resource {
	return Resource{
		Name: "packages", Family: "logistics",
		Doc: "A carton or pallet that goods are packed into; closed, it has an SSCC and its content no longer changes. Made by verb pack.",
		Fields: keepFields(
			Field{Name: "package_no", Format: Number, Prefix: "PK"},
			Field{Name: "order_id", Type: UUID, Ref: "orders"},
			Field{Name: "shipment_id", Type: UUID, Ref: "shipments"},
			Field{Name: "sscc", Format: Code, MaxLen: 18, Label: "SSCC",
				Doc: "Serial shipping container code with its check digit."},
			Field{Name: "lpn", Format: Name, MaxLen: 64, Label: "License plate"},
			Field{Name: "length_mm", Type: Decimal, Unit: "mm", Min: "0"},
			Field{Name: "width_mm", Type: Decimal, Unit: "mm", Min: "0"},
			Field{Name: "height_mm", Type: Decimal, Unit: "mm", Min: "0"},
			Field{Name: "weight_kg", Type: Decimal, Unit: "kg", Min: "0"},
			Field{Name: "status", Required: true, Default: "open", OneOf: []string{"open", "closed", "emptied"}},
			Field{Name: "closed_at", Type: Time},
			Field{Name: "emptied_at", Type: Time, Doc: "Its lines then say what had been in it; its SSCC is not used again."},
		),
		Unique:  [][]string{{"package_no"}, {"sscc"}},
		Indexes: [][]string{{"shipment_id"}, {"order_id"}, {"lpn"}, {"closed_at"}, {"emptied_at"}},
		Access:  fulfilledAccess(),
		States: &States{Field: "status", Initial: []string{"open"}, Moves: []Move{
			{From: []string{"open"}, To: "closed"},
			{From: []string{"open", "closed"}, To: "emptied"},
		}},
	}
}

func packageLines() Resource {
	return Resource{
		Name: "package_lines", Family: "logistics",
		Doc: "What is in a package. Written by verb pack.",
		Fields: keepFields(
			Field{Name: "package_id", Type: UUID, Ref: "packages", Required: true},
			Field{Name: "order_line_id", Type: UUID, Ref: "order_lines", Required: true},
			Field{Name: "item_id", Type: UUID, Ref: "items", Required: true},
			Field{Name: "lot_id", Type: UUID, Ref: "lots"},
			Field{Name: "serial", Format: Name, MaxLen: 64},
			Field{Name: "quantity", Type: Decimal, Required: true, Min: "0.0001"},
		),
		Indexes: [][]string{{"package_id"}, {"order_line_id"}},
		Access:  fulfilledAccess(),
	}
}

func shipmentLines() Resource {
	return Resource{
		Name: "shipment_lines", Family: "logistics",
		Doc: "How much of an order line travels with a shipment; an order may travel with several. Written by verb create_shipment.",
		Fields: keepFields(
			Field{Name: "shipment_id", Type: UUID, Ref: "shipments", Required: true},
			Field{Name: "order_id", Type: UUID, Ref: "orders", Required: true},
			Field{Name: "order_line_id", Type: UUID, Ref: "order_lines", Required: true},
			Field{Name: "item_id", Type: UUID, Ref: "items", Required: true},
			Field{Name: "quantity", Type: Decimal, Required: true, Min: "0.0001"},
			Field{Name: "qty_shipped", Type: Decimal, Required: true, Default: "0", Min: "0", Doc: "Left the warehouse."},
			Field{Name: "qty_short", Type: Decimal, Required: true, Default: "0", Min: "0",
				Doc: "Missing when it was delivered."},
			Field{Name: "qty_damaged", Type: Decimal, Required: true, Default: "0", Min: "0",
				Doc: "Damaged when it was delivered."},
		),
		Unique:  [][]string{{"shipment_id", "order_line_id"}},
		Indexes: [][]string{{"order_line_id"}},
		Goods:   []string{"order_id", "owner_id"},
		Access:  shownToClients(fulfilledAccess()),
	}
}
