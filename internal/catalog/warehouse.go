package catalog

import (
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

func warehouseResources() []Resource {
	return []Resource{
		zonesResource(),
		goodsOwners(),
		itemsResource(),
		lotsResource(),
		stockLevels(),
		stockMovements(),
		itemCosts(), stockCounts(),
		uomsResource(),
		itemUoms(),
		itemComponents(),
		itemBarcodes(),
		receiptsResource(),
		receiptLines(),
		putawayTasks(),
		countTasks(),
		countLines(),
		stockAdjustments(),
		replenishRules(),
		replenishTasks(),
	}
}

func zonesResource() Resource {
	return Resource{
		Name: "zones", Family: "warehouse", Archives: true,
		Doc: "Places that hold stock or people: a tree of areas, aisles, racks and bins.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true},
			{Name: "name", Format: Name, Required: true},
			{Name: "site_id", Type: UUID, Ref: "sites"},
			{Name: "parent_id", Type: UUID, Ref: "zones", Doc: "The zone this one lies in; at most six levels, no cycles."},
			{Name: "kind", Required: true, Default: "bin",
				OneOf: strings.Fields("area aisle rack bin dock staging quarantine transit virtual")},
			{Name: "x", Type: Decimal, Unit: "m", Required: true, Default: "0"},
			{Name: "y", Type: Decimal, Unit: "m", Required: true, Default: "0"},
			{Name: "z", Type: Decimal, Unit: "m", Required: true, Default: "0"},
			{Name: "max_capacity", Type: Decimal, Required: true, Default: "0", Min: "0",
				Doc: "Capacity units the zone holds; 0 = unlimited."},
			{Name: "max_weight_kg", Type: Decimal, Unit: "kg", Min: "0"},
			{Name: "pick_sequence", Type: Int, Required: true, Default: "0"},
			{Name: "storage_class", Required: true, Default: "ambient", OneOf: storageClasses},
			{Name: "mix_policy", Required: true, Default: "any", OneOf: strings.Fields("any same_item same_lot empty_only")},
			{Name: "hazard_tags", Type: Array, Format: Name, Required: true, Default: "[]", MaxLen: 50},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"active", "blocked", "archived"}},
			{Name: "load_units", Type: Decimal, ReadOnly: true, Required: true, Default: "0",
				Doc: "Capacity units now held here and below."},
			{Name: "utilization", Type: Decimal, Unit: "percent", ReadOnly: true,
				Doc: "100 x load_units / max_capacity, one decimal; null when unlimited, over 100 when overfull."},
		},
		Unique:   [][]string{{"code"}},
		Zoned:    "id",
		Access:   masterAccess(),
		Counters: []Counter{{Name: "zones", By: []string{"status"}}},
		States: &States{Field: "status", Initial: []string{"active", "blocked"}, Moves: []Move{
			{From: []string{"active"}, To: "blocked", Roles: managers},
			{From: []string{"blocked", "archived"}, To: "active", Roles: managers},
			{From: []string{"active", "blocked"}, To: "archived", Roles: managers},
		}},
		Import: &Import{
			Key:    []string{"code"},
			Fields: strings.Fields("code name kind x y z max_capacity max_weight_kg pick_sequence storage_class status"),
		},
	}
}

var storageClasses = strings.Fields("ambient cool frozen hazmat secure")

func itemsResource() Resource {
	return Resource{
		Name: "items", Family: "warehouse", Archives: true,
		Doc: "Inventory items: what is stored, counted in its base unit of measure.",
		Fields: []Field{
			{Name: "sku", Format: Name, MaxLen: 64, Required: true, Label: "SKU"},
			{Name: "name", Format: Name, Required: true},
			{Name: "description"},
			{Name: "category", Format: Name},
			{Name: "base_uom", Format: Code, Required: true, Default: "EA", Label: "Base unit",
				Doc: "UN/CEFACT Recommendation 20 code."},
			{Name: "barcodes", Type: JSON, Shape: schema.Of([]barcode{}), Required: true, Default: "[]",
				Doc: "Array of {value, type, uom}."},
			{Name: "gtin", Format: GTIN, Label: "GTIN"},
			{Name: "tracking", Required: true, Default: "none", OneOf: []string{"none", "lot", "serial"}},
			{Name: "has_expiry", Type: Bool, Required: true, Default: "false"},
			{Name: "shelf_life_days", Type: Int, Unit: "d", Min: "0", Max: "36500"},
			{Name: "min_remaining_days", Type: Int, Unit: "d", Min: "0", Max: "36500"},
			{Name: "unit_cost", Type: Decimal, Unit: Currency, Cost: true, Required: true, Default: "0", Min: "0"},
			{Name: "price", Type: Decimal, Unit: Currency, Min: "0"},
			{Name: "weight_kg", Type: Decimal, Unit: "kg", Min: "0"},
			{Name: "catch_weight", Type: Bool, Default: "false",
				Doc: "Its pieces differ in weight: receiving and picking take what they weigh."},
			{Name: "weight_tolerance_pct", Type: Decimal, Unit: "%", Min: "0", Max: "100",
				Doc: "How far the weight of a quantity may be from weight_kg x the quantity, " +
					"of an item of catch weight."},
			{Name: "length_mm", Type: Decimal, Unit: "mm", Min: "0"},
			{Name: "width_mm", Type: Decimal, Unit: "mm", Min: "0"},
			{Name: "height_mm", Type: Decimal, Unit: "mm", Min: "0"},
			{Name: "capacity_units", Type: Decimal, Required: true, Default: "1", Min: "0",
				Doc: "Capacity units one base unit takes in a zone."},
			{Name: "reorder_point", Type: Decimal, Required: true, Default: "0", Min: "0"},
			{Name: "safety_stock", Type: Decimal, Min: "0"},
			{Name: "max_stock", Type: Decimal, Min: "0"},
			{Name: "reorder_qty", Type: Decimal, Min: "0"},
			{Name: "lead_time_days", Type: Int, Unit: "d", Min: "0", Max: "3650"},
			{Name: "abc_class", OneOf: []string{"A", "B", "C"}, Label: "ABC class"},
			{Name: "storage_class", Required: true, Default: "ambient", OneOf: storageClasses},
			{Name: "hazmat_un", Format: Code, Label: "UN number"},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"draft", "active", "discontinued"}},
			{Name: "on_hand", Type: Decimal, ReadOnly: true, Required: true, Default: "0",
				Doc: "Sum of the item's stock levels, those of goods owners included."},
			{
				Name:     "available",
				Type:     Decimal,
				ReadOnly: true,
				Required: true,
				Default:  "0",
				Doc: "Own quantity less reservations, over stock in status available, " +
					"in places that are neither blocked nor for quarantine or transit. Of a kit: the whole kits that what is " +
					"available of its components makes.",
			},
			{Name: "stock_value", Type: Decimal, Unit: Currency, Cost: true, ReadOnly: true, Required: true, Default: "0",
				Doc: "Own stock x unit_cost, in the tenant's currency."},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners",
				Doc: "The client whose item it is, who sees it; null = the tenant's own."},
			{Name: "low_stock", Type: Bool, ReadOnly: true, Required: true, Default: "false",
				Doc: "reorder_point > 0 and available <= reorder_point; never of a kit, of which nothing is bought."},
			{Name: "is_kit", Type: Bool, ReadOnly: true, Default: "false", Label: "Kit",
				Doc: "It has components (item_components): it is sold as these and has no stock of its own."},
		},
		Unique:  [][]string{{"sku"}},
		Indexes: [][]string{{"name"}, {"category", "sku"}, {"gtin"}, {"min_remaining_days"}},
		Listed:  []string{"updated_at"},
		Goods:   []string{"owner_id"},
		Access:  shownToClients(masterAccess()),
		Counters: []Counter{
			{Name: "items", By: []string{"status", "low_stock"}},
			{Name: "items.stock_value", Sum: "stock_value"},
		},
		States: &States{Field: "status", Initial: []string{"active", "draft", "discontinued"}, Moves: []Move{
			{From: []string{"draft", "discontinued"}, To: "active", Roles: managers},
			{From: []string{"draft", "active"}, To: "discontinued", Roles: managers},
		}},
		Import: &Import{
			Key: []string{"sku"},
			Fields: strings.Fields("sku name description category base_uom gtin tracking has_expiry shelf_life_days " +
				"unit_cost price weight_kg catch_weight weight_tolerance_pct " +
				"length_mm width_mm height_mm capacity_units reorder_point " +
				"safety_stock max_stock reorder_qty lead_time_days abc_class storage_class hazmat_un " +
				"status"),
		},
	}
}

func lotsResource() Resource {
	return Resource{
		Name: "lots", Family: "warehouse", Archives: true,
		Doc: "Batches of one item that share origin and expiry.",
		Fields: []Field{
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, Fixed: true},
			{Name: "lot_no", Format: Name, MaxLen: 64, Required: true, Label: "Lot number"},
			{Name: "manufactured_on", Type: Date},
			{Name: "expires_on", Type: Date},
			{Name: "best_before", Type: Date},
			{Name: "supplier", Format: Name},
			{Name: "status", Required: true, Default: "released", OneOf: strings.Fields("released quarantine recalled expired")},
			{Name: "status_reason", Format: Name, MaxLen: 500, Doc: "Why it is not released."},
			{Name: "short_dated", Type: Bool, Required: true, Default: "false", ReadOnly: true,
				Doc: "Fewer days are left than its item asks for (min_remaining_days), or none: its stock is not available."},
		},
		Unique:  [][]string{{"item_id", "lot_no"}},
		Indexes: [][]string{{"expires_on"}},
		Goods:   []string{"item_id", "owner_id"},
		Access:  shownToClients(masterAccess()),
		States: &States{Field: "status", Initial: []string{"released", "quarantine"}, Moves: []Move{
			{From: []string{"released"}, To: "quarantine", Roles: managers},
			{From: []string{"quarantine"}, To: "released", Roles: managers},
			{From: []string{"released", "quarantine", "expired"}, To: "recalled", Roles: managers},
			{From: []string{"released", "quarantine"}, To: "expired"},
		}},
		Import: &Import{
			Key:    []string{"item_id", "lot_no"},
			Fields: strings.Fields("item_id lot_no manufactured_on expires_on best_before supplier status"),
		},
	}
}

func stockLevels() Resource {
	return Resource{
		Name: "stock_levels", Family: "warehouse",
		Doc: "Quantity of one item at one place: the running sum of its movements, never written directly.",
		Fields: []Field{
			{Name: "zone_id", Type: UUID, Ref: "zones", Required: true, ReadOnly: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "lot_id", Type: UUID, Ref: "lots", ReadOnly: true},
			{Name: "serial", Format: Name, MaxLen: 64, ReadOnly: true},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners", ReadOnly: true, Doc: "Goods owner; null = the tenant itself."},
			{Name: "lpn", Format: Name, MaxLen: 64, ReadOnly: true, Label: "License plate"},
			{Name: "stock_status", ReadOnly: true, Required: true, Default: "available", OneOf: stockStatuses},
			{Name: "stock_key", ReadOnly: true, Required: true, Format: Name, MaxLen: 400,
				Doc: "The seven parts above as one text: nulls must collide in a unique key."},
			{Name: "quantity", Type: Decimal, ReadOnly: true, Required: true, Default: "0", Min: "0"},
			{Name: "reserved", Type: Decimal, ReadOnly: true, Required: true, Default: "0", Min: "0"},
			{Name: "last_counted_at", Type: Time, ReadOnly: true},
		},
		Import:  importStockLevels(),
		Unique:  [][]string{{"stock_key"}},
		Indexes: [][]string{{"lpn"}},
		Checks:  []string{"quantity >= 0", "reserved >= 0", "reserved <= quantity"},
		Zoned:   "zone_id",
		Goods:   []string{"owner_id"},
		Access:  shownToClients(Access{Read: []Grant{grantAll(everyone)}}),
	}
}

var stockStatuses = strings.Fields("available quarantine damaged hold")

func stockMovements() Resource {
	return Resource{
		Name: "stock_movements", Family: "warehouse", AppendOnly: true,
		Doc: "The ledger: every change of stock, append-only. No from zone = supplier or gain; no to zone = customer or loss.",
		Fields: []Field{
			{Name: "occurred_at", Type: Time, Doc: "When it happened; now when absent, never in the future."},
			{Name: "type", Required: true,
				OneOf: strings.Fields("receipt putaway transfer replenish pick unpick pack ship return_in adjust_gain adjust_loss " +
					"count_gain count_loss scrap status_change opening import")},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true},
			{Name: "lot_id", Type: UUID, Ref: "lots"},
			{Name: "serial", Format: Name, MaxLen: 64},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners"},
			{Name: "lpn", Format: Name, MaxLen: 64, Label: "License plate"},
			{Name: "plate_change", OneOf: strings.Fields("taken_off put_back"), ReadOnly: true,
				Doc: "A part that is taken off its license plate arrives without it; a reversal puts it back. Null = " +
					"the goods stay on their plate."},
			{Name: "from_zone_id", Type: UUID, Ref: "zones"},
			{Name: "to_zone_id", Type: UUID, Ref: "zones"},
			{Name: "from_status", Required: true, Default: "available", OneOf: stockStatuses},
			{Name: "to_status", Required: true, Default: "available", OneOf: stockStatuses},
			{Name: "quantity", Type: Decimal, Required: true, Min: "0.0001"},
			{Name: "uom", Format: Code, Label: "Unit"},
			{Name: "uom_quantity", Type: Decimal, Min: "0.0001"},
			{Name: "weight_reason", Format: Name, MaxLen: 200, ReadOnly: true,
				Doc: "Why a manager took a weight that is further off than the item allows."},
			{Name: "weight_kg", Type: Decimal, Unit: "kg", ReadOnly: true,
				Doc: "What the goods of an item of catch weight weighed when they were received or picked; of a " +
					"shipment their share of what was picked for its order lines."},
			{Name: "unit_cost", Type: Decimal, Unit: Currency, Cost: true, Min: "0", Setters: managers,
				Doc: "What one base unit cost when the movement was posted: as given, else by setting " +
					"costing_method the item's, which may change since, or the average; of a reversal that of " +
					"what it reverses. Null for a client's goods of an item that is not the client's."},
			{Name: "posting_no", Type: Int, Required: true, ReadOnly: true,
				Doc: "Which movement of the item and owner it is: the order in which their average cost is reckoned."},
			{Name: "reason_code", Format: Name, MaxLen: 64},
			{Name: "ref_type", Format: Name, MaxLen: 40},
			{Name: "ref_id", Type: UUID},
			{Name: "worker_id", Type: UUID, Ref: "workers", Readers: leaders},
			{Name: "idempotency_key", Format: Name, MaxLen: 200},
			{Name: "reversal_of", Type: UUID, Ref: "stock_movements"},
			{Name: "reservation_id", Type: UUID, ReadOnly: true, Doc: "The promise that moved along, all of it."},
			{Name: "order_line_id", Type: UUID, ReadOnly: true,
				Doc: "The line of a transfer under which goods go into transit or come out of it."},
			{
				Name:    "override_reason",
				Format:  Name,
				Setters: managers,
				Doc:     "Why a manager puts goods where the zone's class, mix, weight or capacity refuses them.",
			},
			{Name: "approved_by", Type: UUID, ReadOnly: true,
				Doc: "Second person who let a difference above the limit through."},
			{Name: "import_job_id", Type: UUID, ReadOnly: true},
		},
		Unique: [][]string{{"idempotency_key"}},
		Indexes: [][]string{
			{"item_id", "-occurred_at"},
			{"occurred_at", "item_id", "type", "quantity", "owner_id"},
			{"import_job_id"},
		},
		Own:   []string{"created_by", "worker_id"},
		Goods: []string{"owner_id"},
		Access: Access{
			Read:   []Grant{grantAll(everyone), grantClients()},
			Create: []Grant{grantAll(plusRoles(managers, actor.Operator))},
		},
		Import: &Import{
			Fields: strings.Fields("occurred_at type item_id lot_id serial to_zone_id from_zone_id to_status quantity " +
				"unit_cost reason_code"),
		},
	}
}

func itemCosts() Resource {
	return Resource{
		Name: "item_costs", Family: "warehouse", Follows: "item_id",
		Doc: "What an item's goods of one owner cost on average: reckoned from the movements in the order " +
			"of their posting, never written directly.",
		Fields: []Field{
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners", ReadOnly: true,
				Doc: "Goods owner; null = the tenant itself."},
			{Name: "quantity", Type: Decimal, Required: true, ReadOnly: true,
				Doc: "What is there of them, in base units."},
			{Name: "average_cost", Type: Decimal, Unit: Currency, Cost: true, ReadOnly: true,
				Doc: "Weighted average cost of a base unit (IAS 2.27); null as long as nothing of known " +
					"cost has come in."},
			{Name: "postings", Type: Int, Required: true, ReadOnly: true,
				Doc: "Movements that it is reckoned from."},
		},
		Unique: [][]string{{"item_id", "owner_id"}},
		Access: Access{Read: []Grant{grantAll(costReaders())}},
	}
}

// costReaders see what goods cost and are worth: whoever carries them need not.
func costReaders() []actor.Role { return plusRoles(leaders, actor.Viewer) }

// SeesCosts reports a role that sees what goods cost and what stock is worth.
func SeesCosts(role actor.Role) bool {
	return role == actor.Service || slices.Contains(costReaders(), role)
}

func stockCounts() Resource {
	return Resource{
		Name: "stock_counts", Family: "warehouse", AppendOnly: true,
		Doc: "What somebody counted at one place. A variance is booked as a movement at once; a count that is right dates the stock level.",
		Fields: []Field{
			{Name: "zone_id", Type: UUID, Ref: "zones", Required: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true},
			{Name: "lot_id", Type: UUID, Ref: "lots"},
			{Name: "serial", Format: Name, MaxLen: 64},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners"},
			{Name: "lpn", Format: Name, MaxLen: 64, Label: "License plate"},
			{Name: "stock_status", Required: true, Default: "available", OneOf: stockStatuses},
			{Name: "counted", Type: Decimal, Required: true, Min: "0",
				Doc: "Quantity found, in base units; 0 when the place is empty."},
			{Name: "expected", Type: Decimal, ReadOnly: true, Readers: bookReaders(),
				Doc: "Quantity of the stock level at that moment."},
			{Name: "variance", Type: Decimal, ReadOnly: true, Readers: bookReaders(), Doc: "counted - expected."},
			{Name: "exact", Type: Bool, ReadOnly: true, Doc: "Without a variance."},
			{Name: "counted_at", Type: Time, ReadOnly: true,
				Doc: "When the counter looked, where the count says so; else when it was entered."},
			{Name: "reason_code", Format: Name, MaxLen: 64},
			{Name: "worker_id", Type: UUID, Ref: "workers", Readers: leaders},
			{Name: "approved_by", Type: UUID, ReadOnly: true, Doc: "Second person who let a variance above the limit through."},
		},
		Indexes:  [][]string{{"counted_at", "exact"}, {"item_id", "counted_at"}},
		Counters: []Counter{{Name: "stock_counts", By: []string{"exact"}, At: "counted_at"}},
		Zoned:    "zone_id",
		Own:      []string{"created_by", "worker_id"},
		Access: Access{
			Read:   []Grant{grantAll(everyone)},
			Create: []Grant{grantAll(plusRoles(managers, actor.Operator))},
		},
	}
}
