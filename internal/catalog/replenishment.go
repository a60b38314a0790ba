package catalog

func replenishRules() Resource {
	return Resource{
		Name: "replenish_rules", Family: "warehouse", Archives: true,
		Doc: "Least and most of an item that a pick zone should hold.",
		Fields: []Field{
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, Fixed: true},
			{Name: "pick_zone_id", Type: UUID, Ref: "zones", Required: true, Fixed: true},
			{Name: "min_qty", Type: Decimal, Required: true, Min: "0", Doc: "Below this, open tasks counted, a task is opened."},
			{Name: "max_qty", Type: Decimal, Required: true, Min: "0.0001", Doc: "What a task fills up to."},
			{Name: "source_zone_id", Type: UUID, Ref: "zones", Doc: "Where to take it from, the zones in it included; null = anywhere."},
		},
		Unique: [][]string{{"item_id", "pick_zone_id"}},
		Checks: []string{"max_qty >= min_qty"},
		Access: master(),
	}
}

func replenishTasks() Resource {
	return Resource{
		Name: "replenish_tasks", Family: "warehouse",
		Doc: "Goods to be brought to a pick zone. Opened by the rules, closed by verb replenish.",
		Fields: []Field{
			{Name: "task_no", Format: Number, Prefix: "RP", ReadOnly: true},
			{Name: "status", Required: true, Default: "open", OneOf: []string{"open", "in_progress", "done", "cancelled"}},
			{Name: "rule_id", Type: UUID, Ref: "replenish_rules", Required: true, ReadOnly: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "to_zone_id", Type: UUID, Ref: "zones", Required: true},
			{Name: "quantity", Type: Decimal, Required: true, Min: "0.0001", ReadOnly: true},
			{Name: "quantity_done", Type: Decimal, Required: true, Default: "0", Min: "0", ReadOnly: true},
			{Name: "assigned_worker_id", Type: UUID, Ref: "workers"},
			{Name: "completed_at", Type: Time, ReadOnly: true},
		},
		Unique:  [][]string{{"task_no"}},
		Indexes: [][]string{{"status", "id"}},
		Checks:  []string{"quantity_done <= quantity"},
		Own:     []string{"assigned_worker_id"},
		Zoned:   "to_zone_id",
		States:  taskStates(),
		Access:  taskAccess(),
	}
}
