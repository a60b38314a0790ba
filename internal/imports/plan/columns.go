package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/targets"
)

// Column tells what became of a column of the file: the field it gives, how
// that was found, and how its cells are written. Index counts from 0. How is
// given (in the mapping), saved (in the mapping of an earlier job), name,
// synonym, joined (it is a part of the field of another column), or ignored, which has
// no Field. Parts are the columns that the field is joined from, in their order.
// Samples are up to three different cells of the file.
type Column struct {
	Index  int    `json:"index"`
	Header string `json:"header"`
	Field  string `json:"field,omitempty"`
	How    string `json:"how"`
	Order  string `json:"date_order,omitempty"`
	// Orders are those that the column's dates do not rule out, and read the same in.
	Orders []string `json:"date_orders,omitempty"`
	Mark   string   `json:"decimal_mark,omitempty"`
	Parts  []Part   `json:"parts,omitempty"`
	Units  bool     `json:"units,omitempty"` // its numbers have units beside them
	// Unknown are cells that name no member of the field's closed set, or no record.
	Unknown []string `json:"unknown,omitempty"`
	// Samples are some of the column's cells.
	Samples []string `json:"samples,omitempty"`
	Why     string   `json:"why"`
}

// columnOf is a column that is read.
func (c Mapped) columnOf() Column {
	out := Column{Index: c.Index, Header: c.Header, Field: c.Name, How: c.How, Parts: c.Parts, Units: c.Units}
	switch len(c.Orders) {
	case 0:
	case 1:
		out.Order = c.Orders[0]
	default:
		out.Orders = c.Orders
	}
	if c.Mark != 0 {
		out.Mark = string(c.Mark)
	}
	why := map[string]string{
		"given":   "The mapping says so.",
		"saved":   "An earlier mapping of a file with these columns says so.",
		"name":    fmt.Sprintf("The header is the name of %s.", c.Words()),
		"synonym": fmt.Sprintf("The header is a usual word for %s.", c.Words()),
		"joined":  fmt.Sprintf("Together they give %s.", c.Words()),
	}
	out.Why = why[c.How]
	if len(c.Parts) > 0 {
		out.Why += fmt.Sprintf(" It is joined from the columns %s.", quotedParts(c.Parts))
	}
	if c.Units {
		out.Why += " Its numbers are read without the units beside them, which have to be those that the record has."
	}
	switch out.Order {
	case cell.DMY:
		out.Why += " Its dates have the day first, where they are not year-month-day."
	case cell.MDY:
		out.Why += " Its dates have the month first, where they are not year-month-day."
	case cell.YMD:
		out.Why += " Its dates have the year first."
	}
	if c.Mark == ',' {
		out.Why += " Its numbers have a comma before the fraction."
	}
	return out
}

// Explain tells of every column of the file, in its order.
func (v *Survey) Explain() []Column {
	out := []Column{}
	read := map[int]bool{}
	for _, c := range v.Layout.Cols {
		if v.Saved != "" {
			c.How = "saved"
		}
		read[c.Index] = true
		out = append(out, c.columnOf())
	}
	for _, c := range v.Layout.Cols {
		for _, p := range c.Parts {
			if !read[p.Index] {
				read[p.Index] = true
				out = append(out, Column{Index: p.Index, Header: p.Header, Field: c.Name, How: "joined",
					Why: fmt.Sprintf("It is a part of %s.", v.listJoined(p.Index))})
			}
		}
	}
	for _, c := range v.Layout.withheld {
		read[c.Index] = true
		why := fmt.Sprintf("It gives %s, which your role may not set.", c.Words())
		out = append(out, Column{Index: c.Index, Header: c.Header, How: "ignored", Why: why})
	}
	for i, h := range v.Layout.Headers {
		if !read[i] {
			out = append(out, Column{Index: i, Header: h, How: "ignored", Why: v.whyIgnored(h)})
		}
	}
	for i := range out {
		if c := v.Layout.Column(out[i].Field); c != nil {
			out[i].Why += v.explainTimes(c.Field)
		}
		if at := out[i].Index; at < len(v.samples) && v.showsCells(&out[i]) {
			out[i].Samples = v.samples[at]
		}
	}
	slices.SortStableFunc(out, func(a, b Column) int { return a.Index - b.Index })
	return out
}

// showsCells reports a column none of whose fields is hidden from who reads the file: it
// gives none, and is called like none, that this role may not set.
func (v *Survey) showsCells(c *Column) bool {
	for i := range v.Layout.withheld {
		if v.Layout.withheld[i].Index == c.Index {
			return false
		}
	}
	fold := cell.Fold(c.Header)
	for i := range v.Target.Columns {
		of := &v.Target.Columns[i]
		if slices.Contains(of.Fold, fold) && targets.Denied(of.Field, v.role) != "" {
			return false
		}
	}
	return true
}

// listJoined names the fields that a column is a part of.
func (v *Survey) listJoined(index int) string {
	var names []string
	for i := range v.Layout.Cols {
		c := &v.Layout.Cols[i]
		if slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Index == index }) {
			names = append(names, c.Words())
		}
	}
	return joinWords(names, "and")
}

// whyIgnored says why a column gives nothing.
func (v *Survey) whyIgnored(header string) string {
	fold := cell.Fold(header)
	for i := range v.Target.Columns {
		c := &v.Target.Columns[i]
		if fold == "" || !slices.Contains(c.Fold, fold) {
			continue
		}
		if _, told := v.given[c.Name]; told && v.Layout.Column(c.Name) == nil {
			return fmt.Sprintf("The mapping leaves %s out.", c.Words())
		}
		if used := v.Layout.Column(c.Name); used != nil {
			return fmt.Sprintf("Column %q gives %s.", used.Header, c.Words())
		}
		if v.Settings.Defaults[c.Name] != "" {
			return fmt.Sprintf("The options give %s for all rows.", c.Words())
		}
		return fmt.Sprintf("Nothing tells that it gives %s; a mapping can use it.", c.Words())
	}
	return fmt.Sprintf("No field of %s is called that; a mapping can use it.", targets.Spoken(v.Target.Name))
}

// Signature tells files of the same columns: a digest of their headers in
// their order.
func Signature(headers []string) string {
	folds := make([]string, len(headers))
	for i, h := range headers {
		folds[i] = cell.Fold(shortHeading(h))
	}
	sum := sha256.Sum256([]byte(strings.Join(folds, "\x1f")))
	return hex.EncodeToString(sum[:])
}

// givesKey reports a file that gives what records are found again by.
func (l *Layout) givesKey(t *targets.Target) bool {
	key := t.Resource.Import.Key
	return len(key) > 0 && !slices.ContainsFunc(key, func(field string) bool { return l.Column(field) == nil })
}
