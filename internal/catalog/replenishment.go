package catalog

import "strings"

func replenishRules() Resource {
	return Resource{
		Name: "replenish_rules", Family: "warehouse", Archives: true,
		Doc: "Least and most of an item that a pick zone should hold.",
		Fields: []Field{
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, Fixed: true},
			{Name: "pick_zone_id", Type: UUID, Ref: "zones", Required: true, Fixed: true,
				Doc: "The pick face; no rule takes the item from it."},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners", Fixed: true, Doc: "Whose goods; null = the tenant's own."},
			{Name: "min_qty", Type: Decimal, Required: true, Min: "0", Doc: "Below this, open tasks counted, tasks are opened."},
			{Name: "max_qty", Type: Decimal, Required: true, Min: "0.0001", Doc: "What tasks fill up to."},
			{Name: "source_zone_id", Type: UUID, Ref: "zones",
				Doc: "Where to take it from, the zones in it included; null = anywhere."},
		},
		Unique: [][]string{{"item_id", "pick_zone_id"}},
		Checks: []string{"max_qty >= min_qty"},
		Access: masterAccess(),
	}
}

func replenishTasks() Resource {
	return Resource{
		Name: "replenish_tasks", Family: "warehouse",
		Doc: "Goods to be brought from a reserve to a pick zone. Opened by the rules, closed by verb replenish.",
		Fields: []Field{
			{Name: "task_no", Format: Number, Prefix: "RP", ReadOnly: true},
			{Name: "status", Required: true, Default: "open", OneOf: strings.Fields("open in_progress done cancelled")},
			{Name: "rule_id", Type: UUID, Ref: "replenish_rules", Required: true, ReadOnly: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "lot_id", Type: UUID, Ref: "lots", ReadOnly: true},
			{Name: "serial", Format: Name, MaxLen: 64, ReadOnly: true},
			{Name: "owner_id", Type: UUID, ReadOnly: true},
			{Name: "lpn", Format: Name, MaxLen: 64, ReadOnly: true, Label: "License plate"},
			{Name: "from_zone_id", Type: UUID, Ref: "zones", Required: true, ReadOnly: true},
			{Name: "to_zone_id", Type: UUID, Ref: "zones", Required: true, ReadOnly: true, Doc: "The pick zone."},
			{Name: "quantity", Type: Decimal, Required: true, Min: "0.0001", ReadOnly: true, Doc: "In base units."},
			{Name: "quantity_done", Type: Decimal, Required: true, Default: "0", Min: "0", ReadOnly: true},
			{Name: "assigned_worker_id", Type: UUID, Ref: "workers", Readers: taskReaders()},
			{Name: "completed_at", Type: Time, ReadOnly: true},
		},
		Unique:  [][]string{{"task_no"}},
		Indexes: [][]string{{"status", "id"}, {"item_id", "status"}},
		Checks:  []string{"quantity_done <= quantity"},
		Makers:  leaders,
		Own:     []string{"assigned_worker_id"},
		Zoned:   "to_zone_id",
		States:  taskStates(),
		Access: Access{
			Read:   keptByVerbs().Read,
			Update: []Grant{grantAll(managers).onlyFields("status", "assigned_worker_id")},
		},
	}
}

func wavesResource() Resource {
	return Resource{
		Name: "waves", Family: "logistics",
		Doc: "Orders whose goods are fetched together. Planned by verb plan_wave, released by release_picks.",
		Fields: []Field{
			{Name: "wave_no", Format: Number, Prefix: "WV", ReadOnly: true, Doc: "The pick lists of the wave have it, too."},
			{Name: "status", Required: true, Default: "planned", OneOf: []string{"planned", "released", "cancelled"}},
			{Name: "order_ids", Type: Array, Names: "orders", Required: true, Default: "[]", MaxLen: 200, ReadOnly: true},
			{Name: "planned_at", Type: Time, Doc: "When it is to be released."},
			{Name: "released_at", Type: Time, ReadOnly: true},
		},
		Unique:  [][]string{{"wave_no"}},
		Indexes: [][]string{{"status", "id"}},
		Access: Access{
			Read:   keptByVerbs().Read,
			Update: []Grant{grantAll(managers).onlyFields("status", "planned_at")},
		},
		States: &States{Field: "status", Initial: []string{"planned"}, Moves: []Move{
			{From: []string{"planned"}, To: "released"},
			{From: []string{"planned"}, To: "cancelled", Roles: managers},
		}},
	}
}
