package warehouse

import (
	"slices"
	"strconv"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/store"
)

// suggestions is how many places are looked at for one lot of goods.
const suggestions = 20

// placeRequest is goods that look for a place.
type placeRequest struct {
	item     *article
	lot      string
	quantity decimal.Dec
	from     store.Row // zone they are in, nil = not known
	found    []*room   // best first
}

// room is a place that would take goods.
type room struct {
	id        string
	unlimited bool
	units     decimal.Dec // capacity units that are free
	same      bool        // the item is there already
	empty     bool
}

// neededCapacity is the capacity that the goods take.
func (q *placeRequest) neededCapacity() (decimal.Dec, error) {
	return MultiplyWithin(q.quantity, q.item.units, "quantity")
}

// suggestPlaces finds places for goods: of their class and, where it is known where they
// are, of that site, where the mix policy, the free capacity and the weight allow
// them; those that hold the item already first, then the nearest. Places given to
// earlier goods of the list count as filled.
func suggestPlaces(tx *db.Tx, tenant string, asks []*placeRequest) error {
	for _, q := range asks {
		if err := q.queuePlaces(tx, tenant); err != nil {
			return err
		}
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	taken := map[string]decimal.Dec{}
	used := map[string]*placeRequest{}
	for _, q := range asks {
		need, err := q.neededCapacity()
		if err != nil {
			return err
		}
		q.found = slices.DeleteFunc(q.found, func(r *room) bool {
			other := used[r.id] != nil && (used[r.id].item.id != q.item.id || used[r.id].lot != q.lot)
			return other || !r.unlimited && r.units-taken[r.id] < need
		})
		if len(q.found) > 0 {
			first := q.found[0].id
			taken[first] += need
			used[first] = q
		}
	}
	return nil
}

// queuePlaces asks for the places of one lot of goods.
func (q *placeRequest) queuePlaces(tx *db.Tx, tenant string) error {
	need, err := q.neededCapacity()
	if err != nil {
		return err
	}
	x, y, z, from := decimal.Dec(0), decimal.Dec(0), decimal.Dec(0), ""
	if q.from != nil {
		x, y, z, from = q.from.Decimal("x"), q.from.Decimal("y"), q.from.Decimal("z"), q.from.Text("id")
	}
	held := func(where string) string {
		return "EXISTS (SELECT 1 FROM stock_levels l WHERE l.tenant_id = $1 AND l.zone_id = z.id AND l.quantity > 0" + where + ")"
	}
	kilos := "(SELECT COALESCE(SUM(CAST(l.quantity AS double precision) * i.weight_kg), 0) FROM stock_levels l " +
		"JOIN items i ON i.tenant_id = $1 AND i.id = l.item_id " +
		"WHERE l.tenant_id = $1 AND l.zone_id = z.id AND l.quantity > 0)"
	distance := func(col, p string) string {
		d := "(CAST(z." + col + " AS double precision) - " + p + ")"
		return d + " * " + d
	}
	args := []any{tenant, q.item.class, need, q.item.id, q.quantity.Float() * float64(q.item.weight) * decimal.Scale, float64(x), float64(y), float64(z)}
	bind := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	elsewhere, other := "", "l.lot_id IS NOT NULL"
	if from != "" {
		sameSite := "z.site_id IS NULL "
		if site := q.from["site_id"]; site != nil {
			sameSite = "z.site_id = " + bind(site) + " "
		}
		elsewhere = "AND z.id <> " + bind(from) + " AND " + sameSite
	}
	if q.lot != "" {
		other = "(l.lot_id IS NULL OR l.lot_id <> " + bind(q.lot) + ")"
	}
	tx.Queue("SELECT z.id, z.max_capacity, z.load_units, "+held(" AND l.item_id = $4")+", NOT "+held("")+" FROM zones z "+
		"WHERE z.tenant_id = $1 AND z.status = 'active' AND z.kind IN ('bin', 'rack') AND z.storage_class = $2 "+elsewhere+
		"AND (z.max_capacity = 0 OR z.max_capacity - z.load_units >= $3) "+
		"AND NOT EXISTS (SELECT 1 FROM zones c WHERE c.tenant_id = $1 AND c.parent_id = z.id AND c.status <> 'archived') "+
		"AND CASE z.mix_policy WHEN 'any' THEN TRUE WHEN 'same_item' THEN NOT "+held(" AND l.item_id <> $4")+
		" WHEN 'same_lot' THEN NOT "+held(" AND (l.item_id <> $4 OR "+other+")")+
		" ELSE NOT "+held("")+" END "+
		"AND CASE WHEN z.max_weight_kg IS NULL THEN TRUE ELSE "+kilos+" + $5 <= CAST(z.max_weight_kg AS double precision) * 10000 END "+
		"ORDER BY 4 DESC, "+distance("x", "$6")+" + "+distance("y", "$7")+" + "+distance("z",
		"$8")+", z.pick_sequence, z.code LIMIT "+decimal.FromInt(suggestions).String(),
		args, func(r *db.Row) error {
			q.found = append(q.found, &room{id: r.Text(0), unlimited: r.Dec(1) == 0, units: r.Dec(1) - r.Dec(2), same: r.Bool(3), empty: r.Bool(4)})
			return nil
		})
	return nil
}

// placeReason says in words what speaks for a place.
func (r *room) placeReason(class string) string {
	switch {
	case r.same:
		return "holds the item already"
	case r.empty:
		return "is empty, of class " + class + " and the nearest of them"
	}
	return "has room, is of class " + class + " and near"
}
