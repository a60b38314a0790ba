package imports

import (
	"context"
	"errors"
	"maps"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// errRehearsed ends a rehearsal, in which nothing may stay.
var errRehearsed = errors.New("imports: rehearsed")

// rehearse runs what the domains have to say before records are written, so
// that a row they refuse is an error of that row and does not stop the whole
// file when it is applied. Items and movements have no rule that their own
// checks here lack, and come by the million.
func (st *stager) rehearse(ctx context.Context, batch []*draft, good []store.Row) error {
	t := st.v.target
	if t.posts != nil || t.name == "items" {
		return nil
	}
	parts := []*catalog.Resource{t.resource}
	if st.v.lined() {
		parts = append(parts, t.lines)
	}
	for i, r := range parts {
		effect := st.m.effects.Before[r.Name]
		if effect == nil {
			continue
		}
		reh := &rehearsal{st: st, resource: r, effect: effect, line: i > 0}
		err := st.m.db.Write(ctx, store.Scope(st.step.actor), func(tx *db.Tx) error {
			if err := reh.run(tx, batch, good); err != nil {
				return err
			}
			return errRehearsed
		})
		if err != nil && !errors.Is(err, errRehearsed) {
			return err
		}
	}
	return nil
}

// rehearsal is one effect on one batch.
type rehearsal struct {
	st       *stager
	resource *catalog.Resource
	effect   store.Effect
	line     bool

	tx      *db.Tx
	drafts  []*draft
	changes []store.Change
}

func (r *rehearsal) run(tx *db.Tx, batch []*draft, good []store.Row) error {
	st := r.st
	w, err := st.m.writer(tx, st.step.actor, r.resource)
	if err != nil {
		return err
	}
	ap := &application{writer: w, step: st.step, plan: &plan{Soft: st.v.soft()}, target: st.v.target}
	r.tx, r.drafts, r.changes = tx, nil, nil
	var rows []store.Row
	for i, d := range batch {
		if good[i] != nil && len(d.errs) == 0 {
			row := maps.Clone(st.v.target.part(good[i], r.line))
			r.drafts, rows = append(r.drafts, d), append(rows, row)
		}
	}
	existing := map[string]store.Row{}
	if !r.line {
		if existing, err = ap.existing(rows); err != nil {
			return err
		}
	}
	for i, row := range rows {
		c := store.Change{Resource: r.resource, Op: store.Insert}
		if old := existing[keyText(r.resource, row)]; old != nil {
			c, err = ap.change(old, row, r.drafts[i].line)
		} else {
			c.After, err = w.fresh(row)
		}
		if err != nil {
			return err
		}
		r.changes = append(r.changes, c)
	}
	return r.admit(0, len(r.changes))
}

// admit runs the effect on changes from..to; where it refuses, on each half,
// down to the row that is refused.
func (r *rehearsal) admit(from, to int) error {
	if from == to {
		return nil
	}
	list := make([]store.Change, 0, to-from)
	for _, c := range r.changes[from:to] {
		c.After = maps.Clone(c.After)
		list = append(list, c)
	}
	err := r.effect(r.tx, server(r.st.step.actor), r.st.m.quiet, list)
	switch {
	case err == nil:
		return nil
	case !refusal(err):
		return err
	case to-from == 1:
		r.refuse(r.drafts[from], fault.As(err))
		return nil
	}
	mid := (from + to) / 2
	if err := r.admit(from, mid); err != nil {
		return err
	}
	return r.admit(mid, to)
}

// refusal reports an error that says something of the record and not of the
// server.
func refusal(err error) bool {
	switch fault.As(err).Kind {
	case fault.Invalid, fault.Conflict, fault.Forbidden, fault.NotFound:
		return true
	}
	return false
}

func (r *rehearsal) refuse(d *draft, f *fault.Error) {
	column, why := "", f.Msg
	if len(f.Fields) > 0 {
		field, _, _ := strings.Cut(f.Fields[0].Name, ".")
		if column = r.st.v.header(field); f.Msg == "" {
			why = f.Fields[0].Msg
		}
	}
	d.fail(column, "rule", "%s", why)
}
