package warehouse

import (
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/warehouse/putaway"
)

// article is an item as far as receiving and storing it goes.
type article struct {
	id, sku, tracking, status, class string
	expires                          bool
	worth, units                     decimal.Dec // worth: of a base unit, see worthOf
	weight                           decimal.Dec // kg, 0 = unknown
}

// queueArticles queues reading items by id.
func queueArticles(tx *db.Tx, tenant string, ids []string) map[string]*article {
	out := map[string]*article{}
	tx.Queue(`
		SELECT id, sku, tracking, status, storage_class, has_expiry, unit_cost, capacity_units,
			COALESCE(weight_kg, 0), COALESCE((
				SELECT MAX(kept.average_cost)
				FROM item_costs AS kept
				WHERE kept.tenant_id = $1
					AND kept.item_id = items.id
			), 0)
		FROM items
		WHERE tenant_id = $1
			AND id IN {ids $2}`, []any{tenant, jsonList(ids)},
		func(r *db.Row) error {
			out[r.Text(0)] = &article{id: r.Text(0), sku: r.Text(1), tracking: r.Text(2), status: r.Text(3), class: r.Text(4),
				expires: r.Bool(5), worth: worthOf(r.Dec(6), r.Dec(9)), units: r.Dec(7),
				weight: r.Dec(8)}
			return nil
		})
	return out
}

// worthOf is what a base unit is worth where a limit asks for it: a low cost of the item hides nothing that was paid
// for dearer, nor does a low average, of which the dearest of its owners' counts.
func worthOf(cost, average decimal.Dec) decimal.Dec { return max(cost, average) }

// stockValue is what a quantity is worth, without its sign.
func (it *article) stockValue(quantity decimal.Dec) (decimal.Dec, error) {
	return MultiplyWithin(max(quantity, -quantity), it.worth, "quantity")
}

// prefixFields makes a fault's place one in a list: lines[2].lot_no.
func prefixFields(path string, err *fault.Error) *fault.Error {
	for i := range err.Fields {
		err.Fields[i].Name = path + err.Fields[i].Name
	}
	return err
}

// seekPlace is a quantity of the item that looks for a place, from a zone where it is
// known.
func (it *article) seekPlace(quantity decimal.Dec, from record.Zone) (*putaway.Goods, error) {
	units, err := MultiplyWithin(quantity, it.units, "quantity")
	if err != nil {
		return nil, err
	}
	g := &putaway.Goods{ItemID: it.id, Class: it.class, Units: units,
		Weight: quantity.Float() * float64(it.weight) * decimal.Scale}
	if from != nil {
		g.From = putaway.Spot{ZoneID: from.ID(), X: from.X(), Y: from.Y(), Z: from.Z()}
	}
	return g, nil
}
