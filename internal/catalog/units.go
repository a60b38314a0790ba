package catalog

import "strings"

func uomsResource() Resource {
	return Resource{
		Name: "uoms", Family: "warehouse", Archives: true,
		Doc: "Units of measure the tenant works in. It begins with those of Recommendation 20 that warehouses use. " +
			"A unit without a record may be used; one with a record is held to its decimals.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true, Fixed: true,
				Doc: "UN/CEFACT Recommendation 20 code: EA, BX, PL, KGM, LTR."},
			{Name: "name", Format: Name, Required: true},
			{Name: "kind", Required: true, Default: "count", OneOf: strings.Fields("count mass volume length surface")},
			{Name: "decimals", Type: Int, Required: true, Default: "4", Min: "0", Max: "4",
				Doc: "Decimal places a quantity in this unit may have; a finer one is refused, never rounded."},
		},
		Unique: [][]string{{"code"}},
		Access: masterAccess(),
	}
}

func itemUoms() Resource {
	return Resource{
		Name: "item_uoms", Family: "warehouse",
		Doc: "How many base units of an item one of its other units holds. Conversions exist inside an item only.",
		Fields: []Field{
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, Fixed: true},
			{Name: "uom", Format: Code, Required: true, Fixed: true, Label: "Unit"},
			{Name: "factor", Type: Decimal, Required: true, Min: "0.0001", Max: "1000000",
				Doc: "Base units in one of this unit."},
			{Name: "gtin", Format: GTIN, Label: "GTIN"},
			{Name: "barcode", Format: Name, MaxLen: 100, Doc: "A further barcode on this unit."},
		},
		Unique: [][]string{{"item_id", "uom"}},
		Access: masterAccess(),
	}
}

func itemComponents() Resource {
	return Resource{
		Name: "item_components", Family: "warehouse",
		Doc: "What a kit is made of. A kit has no stock: an order of it is promised, picked and shipped as its components. " +
			"Orders that were confirmed before a change keep what was agreed.",
		Fields: []Field{
			{Name: "kit_id", Type: UUID, Ref: "items", Required: true, Fixed: true, Label: "Kit"},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, Fixed: true, Label: "Component",
				Doc: "No kit itself, and no other client's than the kit."},
			{Name: "qty", Type: Decimal, Required: true, Default: "1", Min: "0.0001", Max: "1000000", Label: "Quantity",
				Doc: "Base units of the component in one kit."},
		},
		Unique: [][]string{{"kit_id", "item_id"}},
		Access: masterAccess(),
	}
}

func itemBarcodes() Resource {
	return Resource{
		Name: "item_barcodes", Family: "warehouse", Follows: "item_id",
		Doc: "What a barcode or GTIN stands for: one item in one unit. Kept by the server from items and item_uoms.",
		Fields: []Field{
			{Name: "value", Format: Name, MaxLen: 100, Required: true, ReadOnly: true,
				Doc: "A GTIN with 14 digits, anything else as it is printed."},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "uom", Format: Code, Required: true, ReadOnly: true, Label: "Unit"},
		},
		Unique: [][]string{{"value"}},
		Access: Access{Read: []Grant{grantAll(everyone)}},
	}
}
