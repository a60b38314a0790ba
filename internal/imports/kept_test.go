package imports_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
)

// givenCell is a column of a file with its one cell.
type givenCell struct {
	column *targets.Column
	text   string
}

// cellsOf are cells for some columns of a target, without those that have no sample.
func cellsOf(k *kit, t *targets.Target, record, version int, wanted func(c *targets.Column) bool) []givenCell {
	k.Helper()
	var list []givenCell
	for i := range t.Columns {
		c := &t.Columns[i]
		if !wanted(c) {
			continue
		}
		of := t.Resource
		if c.Line {
			of = t.Lines
		}
		field := c.Field
		if field.Ref == targets.People || field.Ref == targets.Holders {
			field, _ = of.Field(c.Name)
		}
		text := "2027-06-30"
		if c.Name != targets.LotExpiry {
			text = cellOf(of, field, record, version)
		}
		if text != "" {
			list = append(list, givenCell{c, text})
		}
	}
	return list
}

// isNeeded reports a column that a row of the target cannot do without, or is found by.
func isNeeded(t *targets.Target, c *targets.Column) bool {
	f := c.Field
	if t.Posts != nil && (c.Name == "quantity" || c.Name == "to_zone_id") {
		return true
	}
	return f.Required && f.Default == "" || slices.Contains(t.Resource.Import.Key, c.Name)
}

// fileOf is a file of one row.
func fileOf(k *kit, cells []givenCell) []byte {
	k.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	names, texts := make([]string, len(cells)), make([]string, len(cells))
	for i, c := range cells {
		names[i], texts[i] = c.column.Name, c.text
	}
	if err := w.WriteAll([][]string{names, texts}); err != nil {
		k.Fatal(err)
	}
	return b.Bytes()
}

// holds reports whether a record's value is what a cell says.
func (k *kit) holds(c givenCell, value any) bool {
	k.Helper()
	f, got := c.column.Field, fmt.Sprint(value)
	if raw, ok := value.(json.RawMessage); ok {
		got = string(raw)
	}
	switch {
	case value == nil:
		return false
	case f.Ref == targets.People || f.Ref == targets.Holders:
		return value == person(0) || value == person(1)
	case f.Ref != "":
		return slices.ContainsFunc(k.rows(f.Ref), func(r store.Row) bool {
			return r["id"] == value && strings.Contains(strings.ToLower(fmt.Sprint(r)), strings.ToLower(c.text))
		})
	case f.Type == catalog.Time:
		return strings.HasPrefix(got, strings.TrimSuffix(c.text, "Z"))
	case f.Type == catalog.Array:
		words := strings.Split(c.text, ";")
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(got, w) })
	case f.Type == catalog.JSON:
		var a, b any
		isJSON := json.Unmarshal([]byte(got), &a) == nil && json.Unmarshal([]byte(c.text), &b) == nil
		return isJSON && fmt.Sprint(a) == fmt.Sprint(b)
	}
	return strings.TrimLeft(got, "0") == strings.TrimLeft(c.text, "0")
}

// lostCells are the cells of an imported file that no record holds and no error or note
// names.
func (k *kit) lostCells(t *targets.Target, cells []givenCell, mode string) []string {
	k.Helper()
	_, p, a := k.imported(t.Name, `{"force":true,"mode":"`+mode+`"}`, "", "file.csv", fileOf(k, cells))
	if slices.ContainsFunc(p.Errors, func(e staged.RowError) bool { return e.Code != "state" }) {
		k.Errorf("%s: %+v", t.Name, p.Errors)
	}
	said := p.Message + a.Message + fmt.Sprint(p.Errors)
	var records []store.Row
	for _, of := range []*catalog.Resource{t.Resource, t.Lines, t.Posts} {
		if of != nil {
			records = append(records, k.rows(of.Name)...)
		}
	}
	records = append(records, k.rows("lots")...)

	var lost []string
	for _, c := range cells {
		field := strings.TrimPrefix(c.column.Name, "lot_expires")
		if field != c.column.Name {
			field = "expires" + field
		}
		kept := slices.ContainsFunc(records, func(r store.Row) bool { return k.holds(c, r[field]) })
		if !kept && !strings.Contains(said, `"`+c.column.Name+`"`) && !strings.Contains(said, " "+c.column.Name+" ") {
			lost = append(lost, fmt.Sprintf("%s=%s (%s)", c.column.Name, c.text, said))
		}
	}
	return lost
}

// Nothing mapped is lost: whatever column of whichever target a file gives, alone beside
// what a record needs or with all others, its value stands in the record, or an
// error or a note names the column.
func TestNothingMappedIsLost(t *testing.T) {
	each(t, func(k *kit) {
		k.now = k.now.AddDate(1, 0, 0)
		for _, target := range targets.Of(k.s.Catalog()) {
			fresh(k, target.Name)
			for i := range target.Columns {
				one := &target.Columns[i]
				cells := cellsOf(k, target, 0, i%2, func(c *targets.Column) bool {
					return c == one || isNeeded(target, c)
				})
				for _, lost := range k.lostCells(target, cells, "upsert") {
					k.Errorf("%s with %s: %s", target.Name, one.Name, lost)
				}
			}
			all := cellsOf(k, target, 1, 1, func(*targets.Column) bool { return true })
			for _, lost := range k.lostCells(target, all, "upsert") {
				k.Errorf("%s with all columns: %s", target.Name, lost)
			}
		}
	})
}
