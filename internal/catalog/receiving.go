package catalog

import (
	"strings"

	"holdfast/internal/actor"
)

// keptByVerbs is the access of records that only verbs write.
func keptByVerbs() Access {
	return Access{Read: []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer))}}
}

func receiptsResource() Resource {
	return Resource{
		Name: "receipts", Family: "warehouse", AppendOnly: true,
		Doc: "Goods that came in at a dock, as verb receive recorded them.",
		Fields: []Field{
			{Name: "receipt_no", Format: Number, Prefix: "RC", ReadOnly: true},
			{Name: "order_id", Type: UUID, Ref: "orders", ReadOnly: true,
				Doc: "Purchase, transfer or return order; null for goods nobody announced."},
			{Name: "shipment_id", Type: UUID, Ref: "shipments", ReadOnly: true},
			{Name: "asn", Format: Name, MaxLen: 100, ReadOnly: true, Label: "ASN",
				Doc: "Number of the advance shipping notice, as the sender wrote it."},
			{Name: "zone_id", Type: UUID, Ref: "zones", Required: true, ReadOnly: true},
			{Name: "received_at", Type: Time, Required: true, ReadOnly: true},
			{Name: "line_count", Type: Int, Required: true, Default: "0", ReadOnly: true},
			{Name: "discrepancies", Type: Int, Required: true, Default: "0", ReadOnly: true,
				Doc: "Lines that differ from what was announced."},
		},
		Unique: [][]string{{"receipt_no"}},
		Access: keptByVerbs(),
	}
}

func receiptLines() Resource {
	return Resource{
		Name: "receipt_lines", Family: "warehouse", AppendOnly: true,
		Doc: "What a receipt brought, line by line.",
		Fields: []Field{
			{Name: "receipt_id", Type: UUID, Ref: "receipts", Required: true, ReadOnly: true},
			{Name: "line_no", Type: Int, Required: true, Min: "1", ReadOnly: true},
			{Name: "order_line_id", Type: UUID, Ref: "order_lines", ReadOnly: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "lot_id", Type: UUID, Ref: "lots", ReadOnly: true},
			{Name: "serials", Type: Array, Required: true, Default: "[]", ReadOnly: true},
			{Name: "lpn", Format: Name, MaxLen: 64, ReadOnly: true, Label: "License plate"},
			{Name: "stock_status", Required: true, Default: "available", OneOf: stockStatuses, ReadOnly: true},
			{Name: "quantity", Type: Decimal, Required: true, Min: "0", ReadOnly: true, Doc: "In base units."},
			{Name: "uom", Format: Code, ReadOnly: true, Label: "Unit"},
			{Name: "uom_quantity", Type: Decimal, Min: "0", ReadOnly: true},
			{Name: "discrepancy", OneOf: strings.Fields("short over damaged wrong_item unannounced quality other"),
				ReadOnly: true},
			{Name: "note", Format: Name, MaxLen: 500, ReadOnly: true},
		},
		Unique: [][]string{{"receipt_id", "line_no"}},
		Access: keptByVerbs(),
	}
}

// taskStates are the states of work on the floor: work begins and ends by verbs,
// managers call it off.
func taskStates() *States {
	return &States{Field: "status", Initial: []string{"open"}, Moves: []Move{
		{From: []string{"open"}, To: "in_progress"},
		{From: []string{"open", "in_progress"}, To: "done"},
		{From: []string{"open", "in_progress"}, To: "cancelled", Roles: managers},
	}}
}

// taskAccess lets managers assign and call off what verbs open.
func taskAccess() Access {
	a := keptByVerbs()
	a.Update = []Grant{grantAll(managers).onlyFields("status", "assigned_worker_id", "to_zone_id")}
	return a
}

func putawayTasks() Resource {
	return Resource{
		Name: "putaway_tasks", Family: "warehouse",
		Doc: "Goods on a dock or in a lane that wait for their place. " +
			"Opened by verb receive and the end of orders, closed by put_away.",
		Fields: []Field{
			{Name: "task_no", Format: Number, Prefix: "PA", ReadOnly: true},
			{Name: "status", Required: true, Default: "open", OneOf: strings.Fields("open in_progress done cancelled")},
			{Name: "receipt_id", Type: UUID, Ref: "receipts", ReadOnly: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "lot_id", Type: UUID, Ref: "lots", ReadOnly: true},
			{Name: "serial", Format: Name, MaxLen: 64, ReadOnly: true},
			{Name: "owner_id", Type: UUID, ReadOnly: true},
			{Name: "lpn", Format: Name, MaxLen: 64, ReadOnly: true, Label: "License plate"},
			{Name: "stock_status", Required: true, Default: "available", OneOf: stockStatuses, ReadOnly: true},
			{Name: "from_zone_id", Type: UUID, Ref: "zones", Required: true, ReadOnly: true},
			{Name: "to_zone_id", Type: UUID, Ref: "zones", Doc: "The place that was suggested; null when none had room."},
			{Name: "quantity", Type: Decimal, Required: true, Min: "0.0001", ReadOnly: true, Doc: "In base units."},
			{Name: "quantity_done", Type: Decimal, Required: true, Default: "0", Min: "0", ReadOnly: true},
			{Name: "assigned_worker_id", Type: UUID, Ref: "workers", Readers: taskReaders()},
			{Name: "completed_at", Type: Time, ReadOnly: true},
		},
		Unique:  [][]string{{"task_no"}},
		Indexes: [][]string{{"status", "id"}},
		Checks:  []string{"quantity_done <= quantity"},
		Makers:  leaders,
		Own:     []string{"assigned_worker_id"},
		Zoned:   "from_zone_id",
		States:  taskStates(),
		Access:  taskAccess(),
	}
}
