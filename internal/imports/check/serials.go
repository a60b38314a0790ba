package check

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// serials is what a file of stock says of units, as far as it was read.
type serials struct {
	units *staged.Keys // the line that counts a unit as there, or by which it last came or, with gone, went
	empty *staged.Keys // of a count: the places of units, as keys of their levels, in which it finds nothing
}

// gone marks the line of a movement out.
const gone = 1 << 31

func newSerials() *serials { return &serials{units: staged.NewKeys(0), empty: staged.NewKeys(0)} }

// bringsUnit tells whether a row says that a unit is there that was not.
func (st *stager) bringsUnit(row store.Row) bool {
	if _, ok := match.UnitOf(row); !ok {
		return false
	}
	if st.v.Target.Name == "stock_levels" {
		return match.Dec(row, "quantity") > 0
	}
	return draft.Gains(match.Text(row["type"]))
}

// recallRow takes down a row of a chunk that is not looked at now.
func (st *stager) recallRow(row store.Row, line int, earlier bool) {
	u, ok := match.UnitOf(row)
	kind := match.Text(row["type"])
	switch {
	case !ok:
	case st.v.Target.Name == "stock_levels":
		match.Vacant(st.serials.empty, st.v.Target.Resource, row, line)
		if st.bringsUnit(row) {
			st.serials.units.Put(u.Key(), line)
		}
	case earlier && draft.Gains(kind):
		st.serials.units.Set(u.Key(), line)
	case earlier && draft.Losses(kind):
		st.serials.units.Set(u.Key(), line|gone)
	}
}

// oneUnit refuses rows that bring a unit in, or find it, while it is elsewhere:
// by the file or, unless that says it is not there, by the books.
func (st *stager) oneUnit(ctx context.Context, batch []*draft.Draft, good []store.Row) error {
	if st.serials == nil {
		return nil
	}
	var come []store.Row
	for i, d := range batch {
		if good[i] != nil && len(d.Errs) == 0 && st.bringsUnit(good[i]) {
			come = append(come, good[i])
		}
	}
	var there map[match.Unit][]match.Stand
	err := st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) (err error) {
		there, err = match.Stands(tx, st.m.store.Catalog(), st.step.Actor.TenantID, come)
		return err
	})
	if err != nil {
		return err
	}
	judge := st.judgeMovement
	if st.v.Target.Name == "stock_levels" {
		judge = st.judgeCount
		for i, d := range batch {
			if good[i] != nil && len(d.Errs) == 0 {
				match.Vacant(st.serials.empty, st.v.Target.Resource, good[i], d.Line)
			}
		}
	}
	for i, d := range batch {
		if good[i] == nil || len(d.Errs) > 0 {
			continue
		}
		if u, ok := match.UnitOf(good[i]); ok {
			judge(d, good[i], u, there[u])
		}
	}
	return nil
}

// judgeMovement judges a movement of a unit, in the file's order, in which they are
// applied.
func (st *stager) judgeMovement(d *draft.Draft, row store.Row, u match.Unit, there []match.Stand) {
	if draft.Losses(match.Text(row["type"])) {
		st.serials.units.Set(u.Key(), d.Line|gone)
		return
	}
	if !st.bringsUnit(row) {
		return
	}
	switch line := st.serials.units.Line(u.Key()); {
	case line == 0 && len(there) > 0:
		d.Fail(st.v.Header("serial"), "in_stock", "serial number %s is in stock already, in %s: move it from there", u.Serial,
			there[0])
	case line != 0 && line&gone == 0:
		d.Fail(st.v.Header("serial"), "duplicate", "line %d brings the same serial number in already", line)
	default:
		st.serials.units.Set(u.Key(), d.Line)
	}
}

// judgeCount judges a count of a unit.
func (st *stager) judgeCount(d *draft.Draft, row store.Row, u match.Unit, there []match.Stand) {
	if !st.bringsUnit(row) {
		return
	}
	if line, twice := st.serials.units.Put(u.Key(), d.Line); twice {
		d.Fail(st.v.Header("serial"), "duplicate", "line %d counts the same serial number elsewhere", line)
		return
	}
	for _, s := range match.Elsewhere(there, match.CountKey(st.v.Target.Resource, row)) {
		if s.Key == "" {
			d.Fail(st.v.Header("serial"), "in_stock",
				"by the books serial number %s is in %s, as goods of another owner: move it from there first", u.Serial, s)
			return
		}
		if st.serials.empty.Line(s.Key) == 0 {
			d.Fail(st.v.Header("serial"), "in_stock",
				"by the books serial number %s is in %s: count it there as 0 in the same file, or move it from there first",
				u.Serial, s)
			return
		}
	}
}

// lookAhead takes down which places a chunk of a count finds empty, before the
// count of what may lie elsewhere in the file is judged.
func (st *stager) lookAhead(ctx context.Context, list []staged.Record) error {
	var batch []*draft.Draft
	for i := range list {
		d := st.v.Draft(list[i].Sheet(), st.defaults)
		if n, err := decimal.Parse(match.Text(d.Row["quantity"])); err == nil && n == 0 && d.Row["serial"] != nil &&
			len(d.Errs) == 0 {
			batch = append(batch, d)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	if err := st.refs.Resolve(ctx, st.v, batch); err != nil {
		return err
	}
	good := make([]store.Row, len(batch))
	for i, d := range batch {
		good[i] = st.v.Check(st.m.store, d)
	}
	if err := st.checkPresence(ctx, batch, good); err != nil {
		return err
	}
	if err := st.refuseBelowReserved(ctx, batch, good); err != nil {
		return err
	}
	for i, d := range batch {
		if good[i] != nil && len(d.Errs) == 0 {
			match.Vacant(st.serials.empty, st.v.Target.Resource, good[i], d.Line)
		}
	}
	return nil
}
