// Package handling says quantities in the units that people carry: 137 pieces as one pallet,
// three cases and five pieces.
//
// Layer: domains. Begin at [Units].
package handling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Part is how many of one unit a quantity holds.
type Part struct {
	Unit   string      `json:"unit" doc:"Code of the unit: one of item_uoms, or the base unit of the item."`
	Qty    decimal.Dec `json:"qty" doc:"How many of it; whole but for the base unit."`
	Factor decimal.Dec `json:"factor" doc:"Base units in one of it."`
}

// Load is what is still to be handled of a line or a task.
type Load struct {
	ID       string      `json:"id" format:"uuid" doc:"The line or task."`
	Quantity decimal.Dec `json:"quantity" doc:"What is still to be done of it, in base units."`
	Units    []Part      `json:"units" doc:"The same, the largest first; empty if weighed or measured."`
}

// Goods are a quantity of an item, in a unit of it ("" is the base unit), and the record that
// it is of.
type Goods struct {
	ID, ItemID, Unit string
	Quantity         decimal.Dec
}

// unit is a unit of an item that goods are carried in.
type unit struct {
	code      string
	factor    decimal.Dec
	isCounted bool // it holds a whole number of base units, and more than one
}

// article is an item and its units, the largest first.
type article struct {
	base  string
	units []unit
}

// Units are the units of some items.
type Units struct {
	articles map[string]*article
	kinds    map[string]string // unit in lower case -> count, mass, volume ...
}

// unitsSQL selects items with their units. $1 tenant, $2 item ids.
const unitsSQL = `
	SELECT item.id, item.base_uom, unit.uom, unit.factor
	FROM items AS item
	LEFT JOIN item_uoms AS unit ON unit.tenant_id = $1 AND unit.item_id = item.id
	WHERE item.tenant_id = $1
		AND item.id IN {ids $2}`

// kindsSQL selects the units that are no counts: those are weighed or measured. $1 tenant.
const kindsSQL = `
	SELECT lower(code), kind
	FROM uoms
	WHERE tenant_id = $1
		AND kind <> 'count'`

// ReadUnits reads the units of items, of all of them at once.
func ReadUnits(tx *store.Tx, items []string) (*Units, error) {
	u := &Units{articles: map[string]*article{}, kinds: map[string]string{}}
	if len(items) == 0 {
		return u, nil
	}
	tx.Queue(kindsSQL, []any{tx.TenantID}, func(r *db.Row) error {
		u.kinds[r.Text(0)] = r.Text(1)
		return nil
	})
	tx.Queue(unitsSQL, []any{tx.TenantID, query.List(items)}, func(r *db.Row) error {
		a := u.articles[r.Text(0)]
		if a == nil {
			a = &article{base: r.Text(1)}
			u.articles[r.Text(0)] = a
		}
		if !r.Null(2) {
			a.units = append(a.units, unit{code: r.Text(2), factor: r.Dec(3)})
		}
		return nil
	})
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("handling: units: %w", err)
	}
	u.settleUnits()
	return u, nil
}

// settleUnits finds the units that goods are carried in, and puts the largest first. Of two
// that hold the same, the one whose code comes first is used.
func (u *Units) settleUnits() {
	for _, a := range u.articles {
		for i := range a.units {
			of := &a.units[i]
			of.isCounted = of.factor > decimal.One && of.factor%decimal.One == 0 && !u.isMeasured(of.code)
		}
		slices.SortFunc(a.units, func(a, b unit) int {
			return cmp.Or(cmp.Compare(b.factor, a.factor), cmp.Compare(a.code, b.code))
		})
	}
}

// isMeasured reports a unit that weighs or measures.
func (u *Units) isMeasured(code string) bool { return u.kinds[strings.ToLower(code)] != "" }

// SplitQuantity says a quantity of an item, in base units, by units: of the largest unit as many as
// go into it, of the next as many as go into the rest, and what is left in the base unit, so
// that the sum is exact whether or not one unit goes evenly into another. It is empty for 0,
// and for an item whose base unit weighs or measures.
func (u *Units) SplitQuantity(item string, quantity decimal.Dec) []Part {
	parts := []Part{}
	a := u.articles[item]
	if a == nil || quantity <= 0 || u.isMeasured(a.base) {
		return parts
	}
	rest := quantity
	for _, of := range a.units {
		if n := rest / of.factor; of.isCounted && n > 0 {
			parts = append(parts, Part{of.code, decimal.FromInt(int64(n)), of.factor})
			rest -= n * of.factor
		}
	}
	if rest > 0 {
		parts = append(parts, Part{a.base, rest, decimal.One})
	}
	return parts
}

// FormatSplit says a quantity by units for a paper, as in "1 PL + 3 CS + 5 EA"; "" where nothing is larger
// than the base unit.
func (u *Units) FormatSplit(item string, quantity decimal.Dec) string {
	var words []string
	parts := u.SplitQuantity(item, quantity)
	for _, p := range parts {
		words = append(words, p.Qty.String()+" "+p.Unit)
	}
	if len(parts) == 0 || parts[0].Factor == decimal.One {
		return ""
	}
	return strings.Join(words, " + ")
}

// toBase is a quantity in base units; one in a unit that the item does not have is in base
// units already.
func (u *Units) toBase(g Goods) decimal.Dec {
	a := u.articles[g.ItemID]
	if a == nil || g.Unit == "" {
		return g.Quantity
	}
	for _, of := range a.units {
		if !strings.EqualFold(of.code, g.Unit) || strings.EqualFold(of.code, a.base) {
			continue
		}
		if base, isExact := g.Quantity.MulExact(of.factor); isExact {
			return base
		}
	}
	return g.Quantity
}

// ListLoads says goods by their units. Goods of which nothing is left are none.
func ListLoads(tx *store.Tx, goods []Goods) ([]Load, error) {
	loads := []Load{}
	var items []string
	for _, g := range goods {
		if g.Quantity > 0 {
			items = append(items, g.ItemID)
		}
	}
	slices.Sort(items)
	u, err := ReadUnits(tx, slices.Compact(items))
	if err != nil {
		return nil, err
	}
	for _, g := range goods {
		if g.Quantity > 0 {
			base := u.toBase(g)
			loads = append(loads, Load{g.ID, base, u.SplitQuantity(g.ItemID, base)})
		}
	}
	return loads, nil
}

// ListRows is ListLoads of records that say how much they are of and how much of it is done.
func ListRows(tx *store.Tx, rows []store.Row, of, done string) ([]Load, error) {
	goods := make([]Goods, len(rows))
	for i, row := range rows {
		goods[i] = Goods{ID: row.Text("id"), ItemID: row.Text("item_id"),
			Quantity: row.Decimal(of) - row.Decimal(done)}
	}
	return ListLoads(tx, goods)
}

// ListWork says by units what is still to be moved in a piece of work of next_task: in the
// open lines of a pick list, or in a task. Who counts is not told a quantity.
func ListWork(tx *store.Tx, kind string, task store.Row, lines []record.PickLine) ([]Load, error) {
	switch kind {
	case "pick":
		return ListRows(tx, record.Rows(lines), "qty", "qty_picked")
	case "put_away", "replenish":
		return ListRows(tx, []store.Row{task}, "quantity", "quantity_done")
	}
	return []Load{}, nil
}

// ListExpected says by units what is still to come in of the lines of an order: of a transfer
// what has left, of any other what was ordered.
func ListExpected(tx *store.Tx, order store.Row, lines []record.OrderLine) ([]Load, error) {
	goods := make([]Goods, len(lines))
	for i, line := range lines {
		announced := line.QtyOrdered() - line.QtyCancelled()
		if order.Text("type") == "transfer" {
			announced = line.QtyShipped()
		}
		goods[i] = Goods{ID: line.ID(), ItemID: line.ItemID(), Unit: line.UOM(),
			Quantity: announced - line.QtyReceived()}
	}
	return ListLoads(tx, goods)
}
