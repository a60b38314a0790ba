package imports

import (
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
)

// Some fields of a record are not for everybody who may import into it. Whoever
// may not see one neither sets it by a file nor reads it in somebody else's; some
// can be seen and not set.

// withheld is how a plan notes a column that was left out for whom it was made.
const withheld = "withheld"

// hides reports that a role may not see a field of the target.
func (t *target) hides(field string, r actor.Role) bool {
	c := t.column(field)
	return c != nil && !c.field.Visible(r)
}

// denied is what a role may not do that keeps it from giving a field by a file,
// or "".
func denied(f *catalog.Field, r actor.Role) string {
	switch {
	case !f.Visible(r):
		return "see"
	case !f.Settable(r):
		return "set"
	}
	return ""
}

// denies reports that a role may not give a field of the target.
func (t *target) denies(field string, r actor.Role) bool {
	c := t.column(field)
	return c != nil && denied(c.field, r) != ""
}

// withhold leaves out the columns of fields that a role may not give.
func (v *survey) withhold(r actor.Role) {
	for _, c := range slices.Clone(v.layout.cols) {
		verb := denied(c.field, r)
		if verb == "" {
			continue
		}
		v.layout.drop(c.name)
		v.layout.withheld = append(v.layout.withheld, c)
		v.warnings = append(v.warnings, fmt.Sprintf("Column %q was left out: your role may not %s the field %s.", c.header, verb, c.name))
	}
}

// sets refuses a role that names a field it may not give.
func (t *target) sets(field, at string, r actor.Role) error {
	if !t.denies(field, r) {
		return nil
	}
	return fault.New(fault.Forbidden, "42501", "role %q may not set %s of %s", r, field, t.name).At(at, "is not yours to set")
}

// madeFor reports that a plan leaves out just what a role may not give.
func (p *plan) madeFor(t *target, r actor.Role) bool {
	return !slices.ContainsFunc(p.Columns, func(c Column) bool { return t.denies(c.Field, r) != (c.How == withheld) })
}

// veil is what of a file's cells a reader may not see.
type veil struct {
	headers []string
	width   int
	at      map[int]bool // columns
	all     bool         // nobody knows yet which columns these are
}

// veil finds the columns of a file that a role may not see: those that give a
// field it may not see, or that are called like one and give nothing.
func (p *plan) veil(t *target, r actor.Role) veil {
	v := veil{headers: p.Headers, width: p.Width, at: map[int]bool{}}
	read := map[int]bool{}
	for _, c := range p.Columns {
		read[c.Index] = true
		if t.hides(c.Field, r) {
			v.at[c.Index] = true
		}
	}
	for i, h := range p.Headers {
		called := func(c column) bool { return slices.Contains(c.fold, cell.Fold(h)) && !c.field.Visible(r) }
		if !read[i] && slices.ContainsFunc(t.columns, called) {
			v.at[i] = true
		}
	}
	return v
}

// veilOf is the veil over a job's file for whoever reads it; planned says that
// the file was processed.
func (m *Importer) veilOf(tx *db.Tx, a actor.Actor, job *Job) (v veil, planned bool, err error) {
	t, err := m.target(job.Target)
	if err != nil {
		return veil{all: true}, false, nil // no file was ever read as what is no target
	}
	p, err := readPlan(tx, job)
	switch {
	case fault.Is(err, fault.NotFound):
		hidden := func(c column) bool { return !c.field.Visible(a.Role) }
		return veil{all: slices.ContainsFunc(t.columns, hidden)}, false, nil
	case err != nil:
		return veil{}, false, err
	}
	return p.veil(t, a.Role), true, nil
}

// sees reports that nothing lies under the veil.
func (v veil) sees() bool { return len(v.at) == 0 && !v.all }

// header names the file's columns that are seen.
func (v veil) header() []string {
	out := []string{}
	for i, h := range v.headers {
		if !v.at[i] {
			out = append(out, h)
		}
	}
	return out
}

// cut takes the cells away that lie under the veil. A row of another width than
// the file's may hold anything anywhere.
func (v veil) cut(cells []string) []string {
	if v.sees() {
		return cells
	}
	if v.all || width(cells, v.width) != v.width {
		return []string{}
	}
	out := make([]string, 0, len(cells))
	for i, c := range cells {
		if !v.at[i] {
			out = append(out, c)
		}
	}
	return out
}

// mute takes the words away that an error has for a cell under the veil, which
// may quote it.
func (v veil) mute(errs []RowError) []RowError {
	if v.sees() {
		return errs
	}
	out := slices.Clone(errs)
	for i, e := range out {
		under := v.all || e.Column == "" && e.Code == "rule"
		for at := range v.at {
			under = under || v.headers[at] == e.Column
		}
		if under {
			out[i].Message = "your role may not see what is wrong here"
		}
	}
	return out
}

// over is a record as it is seen through the veil.
func (v veil) over(r *record) *record {
	if v.sees() {
		return r
	}
	out := *r
	out.Cells, out.Errors = v.cut(r.Cells), v.mute(r.Errors)
	return &out
}
