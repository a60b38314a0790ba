package imports

import (
	"context"
	"fmt"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// unit is the one thing there is of a serial number.
type unit struct{ item, serial string }

func unitOf(row store.Row) (u unit, ok bool) {
	u.item, _ = row["item_id"].(string)
	u.serial, _ = row["serial"].(string)
	return u, u.item != "" && u.serial != ""
}

func (u unit) key() string { return u.item + "\x00" + u.serial }

// stand is a stock level in which the books have a unit.
type stand struct {
	key   string // as rows of a count have it, "" of another owner's goods, which files do not count
	zone  string // its code
	level store.Row
}

func (s stand) String() string {
	text := s.zone
	if status := s.level["stock_status"]; status != "available" {
		text += fmt.Sprintf(" with status %v", status)
	}
	if plate := s.level["lpn"]; plate != nil {
		text += fmt.Sprintf(" on plate %v", plate)
	}
	return text
}

// stands reads where the units of rows are in stock.
func (m *Importer) stands(tx *db.Tx, tenant string, rows []store.Row) (map[unit][]stand, error) {
	out := map[unit][]stand{}
	if len(rows) == 0 {
		return out, nil
	}
	r, _ := m.cat.Get("stock_levels")
	args := []any{tenant}
	for _, name := range []string{"item_id", "serial"} {
		f, _ := r.Field(name)
		args = append(args, query.List(keyParts(f, rows)))
	}
	read := ""
	for _, k := range r.Import.Key {
		read += ", l." + k
	}
	err := tx.Query("SELECT z.code, l.owner_id"+read+" FROM stock_levels l JOIN zones z ON z.tenant_id = $1 AND z.id = l.zone_id WHERE l.tenant_id = $1 AND "+
		tx.DB().InUUID("l.item_id", 2)+" AND "+tx.DB().InText("l.serial", 3)+" AND l.quantity > 0 ORDER BY z.code", args, func(row *db.Row) error {
		s := stand{zone: row.Text(0), level: store.Row{}}
		for i, k := range r.Import.Key {
			if !row.Null(i + 2) {
				s.level[k] = row.Text(i + 2)
			}
		}
		if row.Null(1) {
			s.key = keyText(r, s.level)
		}
		u, _ := unitOf(s.level)
		out[u] = append(out[u], s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("imports: look up serial numbers: %w", err)
	}
	return out, nil
}

// serials is what a file of stock says of units, as far as it was read.
type serials struct {
	units *staged.Keys // the line that counts a unit as there, or by which it last came or, with gone, went
	empty *staged.Keys // of a count: the places of units, as keys of their levels, in which it finds nothing
}

// gone marks the line of a movement out.
const gone = 1 << 31

func newSerials() *serials { return &serials{units: staged.NewKeys(0), empty: staged.NewKeys(0)} }

// countKey is the key of a counted row's level; a lot yet to be made tells it
// From every level there is.
func countKey(r *catalog.Resource, row store.Row) string {
	lot, _ := row[targets.LotNumber].(string)
	return keyText(r, row) + lot
}

// vacant takes down which places of units a row finds empty.
func (s *serials) vacant(r *catalog.Resource, row store.Row, line int) {
	if _, ok := unitOf(row); ok && row["quantity"] == decimal.Dec(0) {
		s.empty.Put(countKey(r, row), line)
	}
}

// arrives tells whether a row says that a unit is there that was not.
func (st *stager) arrives(row store.Row) bool {
	if _, ok := unitOf(row); !ok {
		return false
	}
	if st.v.Target.Name == "stock_levels" {
		return decOf(row, "quantity") > 0
	}
	return gains[text(row["type"])]
}

// recall takes down a row of a chunk that is not looked at now.
func (st *stager) recall(row store.Row, line int, earlier bool) {
	u, ok := unitOf(row)
	kind := text(row["type"])
	switch {
	case !ok:
	case st.v.Target.Name == "stock_levels":
		st.serials.vacant(st.v.Target.Resource, row, line)
		if st.arrives(row) {
			st.serials.units.Put(u.key(), line)
		}
	case earlier && gains[kind]:
		st.serials.units.Set(u.key(), line)
	case earlier && losses[kind]:
		st.serials.units.Set(u.key(), line|gone)
	}
}

// oneUnit refuses rows that bring a unit in, or find it, while it is elsewhere:
// by the file or, unless that says it is not there, by the books.
func (st *stager) oneUnit(ctx context.Context, batch []*draft, good []store.Row) error {
	if st.serials == nil {
		return nil
	}
	var come []store.Row
	for i, d := range batch {
		if good[i] != nil && len(d.errs) == 0 && st.arrives(good[i]) {
			come = append(come, good[i])
		}
	}
	var there map[unit][]stand
	err := st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) (err error) {
		there, err = st.m.stands(tx, st.step.Actor.TenantID, come)
		return err
	})
	if err != nil {
		return err
	}
	judge := st.moved
	if st.v.Target.Name == "stock_levels" {
		judge = st.found
		for i, d := range batch {
			if good[i] != nil && len(d.errs) == 0 {
				st.serials.vacant(st.v.Target.Resource, good[i], d.line)
			}
		}
	}
	for i, d := range batch {
		if good[i] == nil || len(d.errs) > 0 {
			continue
		}
		if u, ok := unitOf(good[i]); ok {
			judge(d, good[i], u, there[u])
		}
	}
	return nil
}

// moved judges a movement of a unit, in the file's order, in which they are
// applied.
func (st *stager) moved(d *draft, row store.Row, u unit, there []stand) {
	if losses[text(row["type"])] {
		st.serials.units.Set(u.key(), d.line|gone)
		return
	}
	if !st.arrives(row) {
		return
	}
	switch line := st.serials.units.Line(u.key()); {
	case line == 0 && len(there) > 0:
		d.fail(st.v.header("serial"), "in_stock", "serial number %s is in stock already, in %s: move it from there", u.serial, there[0])
	case line != 0 && line&gone == 0:
		d.fail(st.v.header("serial"), "duplicate", "line %d brings the same serial number in already", line)
	default:
		st.serials.units.Set(u.key(), d.line)
	}
}

// found judges a count of a unit.
func (st *stager) found(d *draft, row store.Row, u unit, there []stand) {
	if !st.arrives(row) {
		return
	}
	if line, twice := st.serials.units.Put(u.key(), d.line); twice {
		d.fail(st.v.header("serial"), "duplicate", "line %d counts the same serial number elsewhere", line)
		return
	}
	for _, s := range elsewhere(there, countKey(st.v.Target.Resource, row)) {
		switch {
		case s.key == "":
			d.fail(st.v.header("serial"), "in_stock", "by the books serial number %s is in %s, as goods of another owner: move it from there first", u.serial, s)
			return
		case st.serials.empty.Line(s.key) == 0:
			d.fail(st.v.header("serial"), "in_stock",
				"by the books serial number %s is in %s: count it there as 0 in the same file, or move it from there first", u.serial, s)
			return
		}
	}
}

// elsewhere are the levels that have to become empty when a unit is counted at
// a place, none when the books have it there.
func elsewhere(there []stand, place string) []stand {
	for _, s := range there {
		if s.key == place {
			return nil
		}
	}
	return there
}

// lookAhead takes down which places a chunk of a count finds empty, before the
// count of what may lie elsewhere in the file is judged.
func (st *stager) lookAhead(ctx context.Context, list []staged.Record) error {
	var batch []*draft
	for i := range list {
		d := st.v.draftOf(list[i].Sheet(), st.defaults)
		if n, err := decimal.Parse(text(d.row["quantity"])); err == nil && n == 0 && d.row["serial"] != nil && len(d.errs) == 0 {
			batch = append(batch, d)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	if err := st.refs.resolve(ctx, st.v, batch); err != nil {
		return err
	}
	good := make([]store.Row, len(batch))
	for i, d := range batch {
		good[i] = st.m.check(st.v, d)
	}
	if err := st.present(ctx, batch, good); err != nil {
		return err
	}
	if err := st.promised(ctx, batch, good); err != nil {
		return err
	}
	for i, d := range batch {
		if good[i] != nil && len(d.errs) == 0 {
			st.serials.vacant(st.v.Target.Resource, good[i], d.line)
		}
	}
	return nil
}

// vacated are the losses by which units that are counted leave where the books
// have them. Where rows of this batch find nothing there, they say so
// themselves; others of the file come later, or came before.
func (ap *application) vacated(rows []store.Row, lines []int) (*moves, error) {
	r := ap.target.Resource
	var come []store.Row
	here := map[string]bool{}
	for _, row := range rows {
		if _, ok := unitOf(row); !ok {
			continue
		}
		if decOf(row, "quantity") > 0 {
			come = append(come, row)
		} else {
			here[keyText(r, row)] = true
		}
	}
	there, err := ap.m.stands(ap.tx, ap.actor.TenantID, come)
	if err != nil {
		return nil, err
	}
	out := &moves{}
	for i, row := range rows {
		u, ok := unitOf(row)
		if !ok || decOf(row, "quantity") == 0 {
			continue
		}
		for _, s := range elsewhere(there[u], keyText(r, row)) {
			if here[s.key] {
				continue
			}
			empty, err := ap.empty()
			if err != nil {
				return nil, err
			}
			if s.key == "" || empty.Line(s.key) == 0 {
				return nil, stale(lines[i], fmt.Sprintf("by now the books have serial number %s in %s", u.serial, s))
			}
			out.add(recount{row: s.level, was: counted{true, decimal.One}}.movement(), lines[i])
		}
	}
	return out, nil
}

// Vacant are the places of units in which the whole file finds nothing. Few
// counts ask, and those once.
func (ap *application) empty() (*staged.Keys, error) {
	if ap.plan.Vacant != nil {
		return ap.plan.Vacant, nil
	}
	s := newSerials()
	err := ap.tx.Query("SELECT rows, data FROM import_chunks WHERE tenant_id = $1 AND job_id = $2", []any{ap.actor.TenantID, ap.step.Job.ID},
		func(r *db.Row) error {
			list, err := staged.Decode(r.Bytes(1), len(ap.plan.Fields), int(r.Int(0)))
			for i := range list {
				s.vacant(ap.target.Resource, ap.row(list[i], 0), list[i].Line)
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("imports: look for places that were counted as empty: %w", err)
	}
	ap.plan.Vacant = s.empty
	return s.empty, nil
}
