package factors

import (
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// shippedUnit is a unit that every tenant begins with.
type shippedUnit struct {
	code, name, kind string
	decimals         int64
}

// shippedUnits are the units of UN/CEFACT Recommendation 20 that warehouses count, weigh
// and measure in, PCE being the code of older messages for H87. A piece, and whatever is
// handled whole, has no decimals. What is measured has all four that quantities are kept
// with, and so many pieces at a time as many as leave whole pieces of a usual half or
// quarter: the unit of the item itself is held to besides.
// Migration 0006_units.sql gives the same to the tenants that were there before.
var shippedUnits = []shippedUnit{
	{"EA", "Each", "count", 0},
	{"H87", "Piece", "count", 0},
	{"C62", "One", "count", 0},
	{"PCE", "Piece (older code)", "count", 0},
	{"PR", "Pair", "count", 0},
	{"SET", "Set", "count", 0},
	{"KT", "Kit", "count", 0},
	{"DZN", "Dozen", "count", 2},
	{"GRO", "Gross", "count", 2},
	{"CEN", "Hundred", "count", 2},
	{"MIL", "Thousand", "count", 3},
	{"PK", "Pack", "count", 0},
	{"BX", "Box", "count", 0},
	{"CT", "Carton", "count", 0},
	{"CS", "Case", "count", 0},
	{"BG", "Bag", "count", 0},
	{"BO", "Bottle", "count", 0},
	{"CA", "Can", "count", 0},
	{"TU", "Tube", "count", 0},
	{"DR", "Drum", "count", 0},
	{"RO", "Roll", "count", 0},
	{"BE", "Bundle", "count", 0},
	{"PF", "Pallet (lift)", "count", 0},
	{"MGM", "Milligram", "mass", 4},
	{"GRM", "Gram", "mass", 4},
	{"KGM", "Kilogram", "mass", 4},
	{"TNE", "Tonne", "mass", 4},
	{"ONZ", "Ounce", "mass", 4},
	{"LBR", "Pound", "mass", 4},
	{"MLT", "Millilitre", "volume", 4},
	{"LTR", "Litre", "volume", 4},
	{"HLT", "Hectolitre", "volume", 4},
	{"MTQ", "Cubic metre", "volume", 4},
	{"GLL", "Gallon (US)", "volume", 4},
	{"FTQ", "Cubic foot", "volume", 4},
	{"MMT", "Millimetre", "length", 4},
	{"CMT", "Centimetre", "length", 4},
	{"MTR", "Metre", "length", 4},
	{"INH", "Inch", "length", 4},
	{"FOT", "Foot", "length", 4},
	{"MTK", "Square metre", "surface", 4},
}

// ShippedUnits returns the records of the units that every tenant begins with.
func ShippedUnits() []store.Row {
	rows := make([]store.Row, len(shippedUnits))
	for i, unit := range shippedUnits {
		rows[i] = store.Row{"code": unit.code, "name": unit.name, "kind": unit.kind, "decimals": unit.decimals}
	}
	return rows
}

// SeedUnits writes the units of a tenant that has just been made.
func SeedUnits(tx *store.Tx) error {
	by := actor.Actor{Role: actor.Service, TenantID: tx.TenantID}
	if _, err := record.Insert(tx.As(by), record.From[record.UOM](ShippedUnits())); err != nil {
		return fmt.Errorf("factors: seed units: %w", err)
	}
	return nil
}
