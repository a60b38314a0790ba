package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// errRehearsed ends a rehearsal, in which nothing may stay.
var errRehearsed = errors.New("imports: rehearsed")

// rehearseEffects runs what the domains have to say before records are written, so
// that a row they refuse is an error of that row and does not stop the whole
// file when it is applied; and so for keys beside the one by which the file
// finds its records. Items and counts have no rule that their own checks here
// lack, and movements but one, that the stock they take is there when they are
// applied: it depends on all of the file's rows, which come by the million.
func (st *stager) rehearseEffects(ctx context.Context, batch []*draft.Draft, good []store.Row) error {
	t := st.v.Target
	if t.Posts != nil || t.Name == "items" {
		return nil
	}
	parts := []*catalog.Resource{t.Resource}
	if st.v.Lined() {
		parts = append(parts, t.Lines)
	}
	for i, r := range parts {
		if !st.m.store.Judged(r) {
			continue
		}
		reh := &rehearsal{st: st, resource: r, line: i > 0}
		err := st.m.db.Write(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) error {
			if err := reh.runRehearsal(tx, batch, good); err != nil {
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

// rehearsal is what the domains say of one batch.
type rehearsal struct {
	st       *stager
	resource *catalog.Resource
	line     bool

	tx      *db.Tx
	drafts  []*draft.Draft
	changes []store.Change
}

func (r *rehearsal) runRehearsal(tx *db.Tx, batch []*draft.Draft, good []store.Row) error {
	st := r.st
	w := st.m.records.Writer(tx, st.step.Actor, r.resource)
	r.tx, r.drafts, r.changes = tx, nil, nil
	var rows []store.Row
	for i, d := range batch {
		if good[i] != nil && len(d.Errs) == 0 {
			row := maps.Clone(st.v.Target.Part(good[i], r.line))
			r.drafts, rows = append(r.drafts, d), append(rows, row)
		}
	}
	existing := map[string]store.Row{}
	if !r.line {
		var err error
		if existing, err = w.Existing(rows); err != nil {
			return err
		}
	}
	for i, row := range rows {
		c := store.Change{Resource: r.resource, Op: store.Insert}
		var err error
		if old := existing[match.Key(r.resource, row)]; old != nil {
			c, err = w.Change(old, row, r.drafts[i].Line, st.soft)
			st.noteFixed(r.drafts[i], c, row)
		} else {
			c.After, err = row, w.Bulk.Fill(row)
		}
		if err != nil {
			return err
		}
		r.changes = append(r.changes, c)
	}
	if err := r.refuseClashes(); err != nil {
		return err
	}
	return r.judgeRange(0, len(r.changes))
}

// noteFixed notes what a row says otherwise than the record that is there, of fields that
// are set only when a record is made.
func (st *stager) noteFixed(d *draft.Draft, c store.Change, row store.Row) {
	for _, col := range st.v.Layout.Cols {
		value, given := row[col.Name]
		if given && col.Field.Fixed && !isKey(c.Resource, col.Name) && !store.Same(c.Before[col.Name], value) {
			d.NoteFixed(col.Header)
		}
	}
}

func isKey(r *catalog.Resource, field string) bool { return slices.Contains(r.Import.Key, field) }

// refuseClashes refuses rows with another key of the resource, orders' reference at
// their source, that an earlier row's record has or one that is there.
func (r *rehearsal) refuseClashes() error {
	for at, key := range r.resource.Unique {
		if r.line || slices.Equal(key, r.resource.Import.Key) {
			continue
		}
		var list []int // of changes that set it
		for i, c := range r.changes {
			if k := match.OtherKey(r.resource, at, c.After); k != "" && k != match.OtherKey(r.resource, at, c.Before) {
				list = append(list, i)
			}
		}
		there, err := r.readHolders(at, list)
		if err != nil {
			return err
		}
		for _, i := range list {
			k, d := match.OtherKey(r.resource, at, r.changes[i].After), r.drafts[i]
			last := r.st.v.Header(key[len(key)-1])
			if line, taken := r.st.takeKey(k, r.changes[i].After, d.Line); taken {
				d.Fail(last, "duplicate", "line %d has the same %s", line, strings.Join(r.st.v.Titles(key), " and "))
			} else if name := there[k]; name != "" {
				d.Fail(last, "exists", "%s has the same %s", name, strings.Join(r.st.v.Titles(key), " and "))
			}
		}
	}
	kept := 0
	for i, d := range r.drafts {
		if len(d.Errs) == 0 {
			r.drafts[kept], r.changes[kept] = d, r.changes[i]
			kept++
		}
	}
	r.drafts, r.changes = r.drafts[:kept], r.changes[:kept]
	return nil
}

// readHolders reads what the records are called that have keys of the changes.
func (r *rehearsal) readHolders(at int, list []int) (map[string]string, error) {
	out := map[string]string{}
	if len(list) == 0 {
		return out, nil
	}
	rows := make([]store.Row, len(list))
	for i, n := range list {
		rows[i] = r.changes[n].After
	}
	where, args := "", []any{}
	for i, name := range r.resource.Unique[at] {
		f, _ := r.resource.Field(name)
		if i > 0 {
			where += " AND "
		}
		args = append(args, query.List(match.Parts(f, rows)))
		where += match.In(r.tx.DB(), r.resource, f, i+2)
	}
	found, err := r.st.m.store.In(r.tx, jobs.Server(r.st.step.Actor)).Rows(r.resource.Name, where, args...)
	if err != nil {
		return nil, fmt.Errorf("imports: look up %s: %w", strings.Join(r.resource.Unique[at], ", "), err)
	}
	for _, row := range found {
		out[match.OtherKey(r.resource, at, row)] = match.Label(row)
	}
	return out, nil
}

// takeKey notes another key of a row's record, unless a different one has it: then
// it returns the line of that.
func (st *stager) takeKey(other string, row store.Row, line int) (earlier int, taken bool) {
	own := other + "\x00\x00" + cmp.Or(match.Key(st.v.Target.Resource, row), strconv.Itoa(line))
	earlier, there := st.others.Put(other, line)
	if !there {
		st.others.Put(own, line)
		return 0, false
	}
	return earlier, st.others.Line(own) == 0
}

// judgeRange has changes from..to judged; where they are refused, each half, down to
// the row that is refused.
func (r *rehearsal) judgeRange(from, to int) error {
	if from == to {
		return nil
	}
	list := make([]store.Change, 0, to-from)
	for _, c := range r.changes[from:to] {
		c.After = maps.Clone(c.After)
		list = append(list, c)
	}
	err := r.st.m.quiet.In(r.tx, jobs.Server(r.st.step.Actor)).Judge(r.resource, list)
	switch {
	case err == nil:
		return nil
	case !isRefusal(err):
		return err
	case to-from == 1:
		r.refuseRow(r.drafts[from], fault.As(err))
		return nil
	}
	mid := (from + to) / 2
	if err := r.judgeRange(from, mid); err != nil {
		return err
	}
	return r.judgeRange(mid, to)
}

// isRefusal reports an error that says something of the record and not of the
// server.
func isRefusal(err error) bool {
	switch fault.As(err).Kind {
	case fault.Invalid, fault.Conflict, fault.Forbidden, fault.NotFound:
		return true
	}
	return false
}

func (r *rehearsal) refuseRow(d *draft.Draft, f *fault.Error) {
	column, why := "", f.Msg
	if len(f.Fields) > 0 {
		field, _, _ := strings.Cut(f.Fields[0].Name, ".")
		if column = r.st.v.Header(field); f.Msg == "" {
			why = f.Fields[0].Msg
		}
	}
	d.Fail(column, "rule", "%s", why)
}
