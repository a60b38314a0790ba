package match

import (
	"fmt"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Unit is the one thing there is of a serial number.
type Unit struct{ Item, Serial string }

// UnitOf is the unit that a row names.
func UnitOf(row store.Row) (u Unit, ok bool) {
	u.Item, _ = row["item_id"].(string)
	u.Serial, _ = row["serial"].(string)
	return u, u.Item != "" && u.Serial != ""
}

// Key is the unit as text.
func (u Unit) Key() string { return u.Item + "\x00" + u.Serial }

// LotKey is what a file names a lot by.
type LotKey struct{ Item, No string }

// Stand is a stock level in which the books have a unit.
type Stand struct {
	Key   string // as rows of a count have it, "" of another owner's goods, which files do not count
	zone  string // its code
	Level store.Row
}

// String is where the unit is, as people say it.
func (s Stand) String() string {
	text := s.zone
	if status := s.Level["stock_status"]; status != "available" {
		text += fmt.Sprintf(" with status %v", status)
	}
	if plate := s.Level["lpn"]; plate != nil {
		text += fmt.Sprintf(" on plate %v", plate)
	}
	return text
}

// Stands reads where the units of rows are in stock.
func Stands(tx *db.Tx, c *catalog.Catalog, tenant string, rows []store.Row) (map[Unit][]Stand, error) {
	out := map[Unit][]Stand{}
	if len(rows) == 0 {
		return out, nil
	}
	r, _ := c.Get("stock_levels")
	args := []any{tenant}
	for _, name := range []string{"item_id", "serial"} {
		f, _ := r.Field(name)
		args = append(args, query.List(Parts(f, rows)))
	}
	read := ""
	for _, k := range r.Import.Key {
		read += ", l." + k
	}
	err := tx.Query(db.FillWords(`
		SELECT z.code, l.owner_id {read}
		FROM stock_levels l
		JOIN zones z ON z.tenant_id = $1 AND z.id = l.zone_id
		WHERE l.tenant_id = $1
			AND l.item_id IN {ids $2}
			AND l.serial IN {texts $3}
			AND l.quantity > 0
		ORDER BY z.code`, "{read}", read), args,
		func(row *db.Row) error {
			s := Stand{zone: row.Text(0), Level: store.Row{}}
			for i, k := range r.Import.Key {
				if !row.Null(i + 2) {
					s.Level[k] = row.Text(i + 2)
				}
			}
			if row.Null(1) {
				s.Key = Key(r, s.Level)
			}
			u, _ := UnitOf(s.Level)
			out[u] = append(out[u], s)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("imports: look up serial numbers: %w", err)
	}
	return out, nil
}

// CountKey is the key of a counted row's level; a lot yet to be made tells it
// from every level there is.
func CountKey(r *catalog.Resource, row store.Row) string {
	lot, _ := row[targets.LotNumber].(string)
	return Key(r, row) + lot
}

// Vacant takes down the place of a unit that a row finds empty.
func Vacant(empty *staged.Keys, r *catalog.Resource, row store.Row, line int) {
	if _, ok := UnitOf(row); ok && row["quantity"] == decimal.Dec(0) {
		empty.Put(CountKey(r, row), line)
	}
}

// Elsewhere are the levels that have to become empty when a unit is counted at
// a place, none when the books have it there.
func Elsewhere(there []Stand, place string) []Stand {
	for _, s := range there {
		if s.Key == place {
			return nil
		}
	}
	return there
}
