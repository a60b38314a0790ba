// Package plates says where the goods of a license plate lie: in one place. A part that is taken
// elsewhere leaves the plate, and so does all that is picked.
//
// Layer: domains. Begin at [ReadGoods].
package plates

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// codeInUse is a plate that lies elsewhere.
const codeInUse = "HF004"

// Goods are what a plate holds of one item, lot, piece, owner and status.
type Goods struct {
	StockKey, ItemID, LotID, Serial, OwnerID, Status string

	Quantity decimal.Dec // base units
	Reserved decimal.Dec // of these
}

// Place is where goods of a plate lie.
type Place struct {
	ZoneID, Code string
	Goods        []Goods
}

// goodsSQL selects what plates hold, and where. $1 tenant, $2 their numbers.
const goodsSQL = `
	SELECT level.lpn, level.zone_id, zone.code, level.stock_key, level.item_id, level.lot_id, level.serial,
		level.owner_id, level.stock_status, level.quantity, level.reserved
	FROM stock_levels AS level
	JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = level.zone_id
	WHERE level.tenant_id = $1
		AND level.lpn IN {texts $2}
		AND level.quantity > 0
	ORDER BY level.lpn, zone.code, level.stock_key`

// listPlaces lists the places of plates, by their numbers.
func listPlaces(tx *store.Tx, numbers []string) (map[string][]*Place, error) {
	places := map[string][]*Place{}
	err := tx.Query(goodsSQL, []any{tx.TenantID, query.List(numbers)}, func(r *db.Row) error {
		number := r.Text(0)
		list := places[number]
		if len(list) == 0 || list[len(list)-1].ZoneID != r.Text(1) {
			list = append(list, &Place{ZoneID: r.Text(1), Code: r.Text(2)})
			places[number] = list
		}
		at := list[len(list)-1]
		at.Goods = append(at.Goods, Goods{StockKey: r.Text(3), ItemID: r.Text(4), LotID: r.Text(5), Serial: r.Text(6),
			OwnerID: r.Text(7), Status: r.Text(8), Quantity: r.Dec(9), Reserved: r.Dec(10)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("plates: places: %w", err)
	}
	return places, nil
}

// ReadGoods reads the place of a plate and what it holds there. It refuses a number that no
// plate has, and one of which goods lie in several places.
func ReadGoods(tx *store.Tx, number string) (*Place, error) {
	places, err := listPlaces(tx, []string{number})
	if err != nil {
		return nil, err
	}
	list := places[number]
	switch len(list) {
	case 0:
		return nil, verb.Missing("license plates", "lpn")
	case 1:
		return list[0], nil
	}
	var codes []string
	for _, p := range list {
		codes = append(codes, p.Code)
	}
	return nil, fault.New(fault.Conflict, codeInUse, "goods of plate %s lie in several places: %s", number,
		strings.Join(codes, ", ")).
		With("", "bring them together with move_stock first").At("lpn", "lies in several places")
}

// CheckPlaces refuses goods that come in, or are put back, on a plate which lies elsewhere.
// Imports are passed over: their files say what was.
func CheckPlaces(tx *store.Tx, changes []store.Change) error {
	if !tx.Store.Audited() {
		return nil
	}
	var numbers []string
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op == store.Insert && comesOnPlate(c.After) {
			numbers = append(numbers, c.After.LPN())
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	places, err := listPlaces(tx, numbers)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.StockMovement](changes) {
		if c.Op != store.Insert || !comesOnPlate(c.After) {
			continue
		}
		for _, p := range places[c.After.LPN()] {
			if p.ZoneID != c.After.ToZoneID() {
				return fault.New(fault.Conflict, codeInUse, "plate %s lies in zone %s", c.After.LPN(), p.Code).
					With("", "take the number of another plate, or bring this one there first (move_plate)").
					At("lpn", "lies in zone %s", p.Code)
			}
		}
	}
	return nil
}

// comesOnPlate reports goods that come into the warehouse on a plate, or back onto it. A count
// says what somebody saw: it is written wherever the books have the plate.
func comesOnPlate(m record.StockMovement) bool {
	if m.PlateChange() == PutBack {
		return true
	}
	isTold := slices.Contains([]string{"opening", "import", "count_gain"}, m.Type())
	return m.HasLPN() && !m.HasFromZoneID() && !isTold && !m.HasReversalOf()
}
