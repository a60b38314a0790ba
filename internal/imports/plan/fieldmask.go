package plan

import (
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
)

// Some fields of a record are not for everybody who may import into it. Whoever
// may not see one neither sets it by a file nor reads it in somebody else's; some
// can be seen and not set.

// Withheld is how a plan notes a column that was left out for whom it was made.
const Withheld = "withheld"

// withholdFields leaves out the columns of fields that a role may not give.
func (v *Survey) withholdFields(r actor.Role) {
	for _, c := range slices.Clone(v.Layout.Cols) {
		verb := targets.Denied(c.Field, r)
		if verb == "" {
			continue
		}
		v.Layout.Drop(c.Name)
		v.Layout.withheld = append(v.Layout.withheld, c)
		v.Warnings = append(v.Warnings, fmt.Sprintf("Column %q was left out: your role may not %s the field %s.", c.Header,
			verb, c.Name))
	}
}

// MadeFor reports that a plan leaves out just what a role may not give.
func (p *Plan) MadeFor(t *targets.Target, r actor.Role) bool {
	return !slices.ContainsFunc(p.Columns, func(c Column) bool { return t.Denies(c.Field, r) != (c.How == Withheld) })
}

// FieldMask says which of a file's cells a reader may not see.
type FieldMask struct {
	Headers []string
	width   int
	At      map[int]bool // columns
	All     bool         // nobody knows yet which columns these are
}

// FieldMask finds the columns of a file that a role may not see: those that give a
// Field it may not see, or that are called like one and give nothing.
func (p *Plan) FieldMask(t *targets.Target, r actor.Role) FieldMask {
	v := FieldMask{Headers: p.Headers, width: p.Width, At: map[int]bool{}}
	read := map[int]bool{}
	for _, c := range p.Columns {
		read[c.Index] = true
		for _, part := range c.Parts {
			read[part.Index] = true
		}
		if t.Hides(c.Field, r) {
			v.At[c.Index] = true
			for _, part := range c.Parts {
				v.At[part.Index] = true
			}
		}
	}
	for i, h := range p.Headers {
		called := func(c targets.Column) bool { return slices.Contains(c.Fold, cell.Fold(h)) && !c.Field.Visible(r) }
		if !read[i] && slices.ContainsFunc(t.Columns, called) {
			v.At[i] = true
		}
	}
	return v
}

// seesAll reports that nothing is masked.
func (v FieldMask) seesAll() bool { return len(v.At) == 0 && !v.All }

// Header names the file's columns that are seen.
func (v FieldMask) Header() []string {
	out := []string{}
	for i, h := range v.Headers {
		if !v.At[i] {
			out = append(out, h)
		}
	}
	return out
}

// hideCells takes the cells away that lie under the mask. A row of another width than
// the file's may hold anything anywhere.
func (v FieldMask) hideCells(cells []string) []string {
	if v.seesAll() {
		return cells
	}
	if v.All || Width(cells, v.width) != v.width {
		return []string{}
	}
	out := make([]string, 0, len(cells))
	for i, c := range cells {
		if !v.At[i] {
			out = append(out, c)
		}
	}
	return out
}

// MaskErrors takes the words away that an error has for a masked cell, which
// may quote it.
func (v FieldMask) MaskErrors(errs []staged.RowError) []staged.RowError {
	if v.seesAll() {
		return errs
	}
	out := slices.Clone(errs)
	for i, e := range out {
		under := v.All || e.Column == "" && e.Code == "rule"
		for at := range v.At {
			under = under || v.Headers[at] == e.Column
		}
		if under {
			out[i].Message = "your role may not see what is wrong here"
		}
	}
	return out
}

// MaskRecord is a record with its masked cells taken away.
func (v FieldMask) MaskRecord(r *staged.Record) *staged.Record {
	if v.seesAll() {
		return r
	}
	out := *r
	out.Cells, out.Errors = v.hideCells(r.Cells), v.MaskErrors(r.Errors)
	return &out
}

// Seen is a staged row without what the reader may not see.
func (p *Plan) Seen(t *targets.Target, role actor.Role, row store.Row) map[string]any {
	out := make(map[string]any, len(row))
	for name, v := range row {
		if slices.Contains(p.Fields, name) && !t.Hides(name, role) {
			out[name] = v
		}
	}
	return out
}
