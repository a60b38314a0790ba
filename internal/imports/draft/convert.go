package draft

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Reader reads the rows of a file by what its first reading found out.
type Reader struct {
	*plan.Survey
	Now time.Time // years of two digits in the past are those before it
}

// Draft is a row on its way from cells to a checked record.
type Draft struct {
	Line  int
	Row   store.Row // by field; only what the file or a default gives
	refs  []reference
	Errs  []staged.RowError
	Notes []Note

	Unknown  []Unknown // cells that name no member, or no record
	Exported string    // the id of the movement that an export gives

	also  map[string]string // reference column -> tracking of the item, status of the zone
	units []unitBeside      // of its quantities
	unit  string            // that the item's stock is counted in
}

// Unknown is a text of a field that names no member of its closed set, or no record.
type Unknown struct{ Field, Text string }

// reference is a cell that names another record.
type reference struct {
	col  *plan.Mapped
	text string
}

func (d *Draft) noteState(field, is string) {
	if d.also == nil {
		d.also = map[string]string{}
	}
	d.also[field] = is
}

// Fail notes an error of the row, in a column of the file or, "", in none.
func (d *Draft) Fail(column, code, format string, args ...any) {
	d.Errs = append(d.Errs, staged.RowError{Line: d.Line, Column: column, Code: code,
		Message: fmt.Sprintf(format, args...)})
}

// Draft reads one record's cells.
func (v *Reader) Draft(rec *sheet.Record, defaults map[string]string) *Draft {
	d := &Draft{Line: rec.Line, Row: make(store.Row, len(v.Layout.Cols)+len(defaults)+2)}
	if rec.Bad != nil {
		header := ""
		if i := rec.Bad.Cell; i >= 0 && i < len(v.Layout.Headers) {
			header = v.Layout.Headers[i]
		}
		d.Fail(header, rec.Bad.Code, "%s", rec.Bad.Msg)
		return d
	}
	if n := plan.Width(rec.Cells, v.Layout.Width); n != v.Layout.Width {
		d.Fail("", "columns", "the row has %s, the file %s: a cell with a delimiter or line break needs quotes",
			fault.Counted(n, "cell", "cells"), fault.Counted(v.Layout.Width, "column", "columns"))
		return d
	}
	d.Exported = v.ExportedID(rec.Cells)
	for i := range v.Layout.Cols {
		c := &v.Layout.Cols[i]
		v.takeCell(d, c, rec)
	}
	v.moveToNextDay(d, rec)
	v.giveUnit(d)
	for name, text := range defaults {
		if _, given := d.Row[name]; !given && !d.isPending(name) {
			c := v.Target.Column(name)
			v.readInto(d, &plan.Mapped{Column: c, Index: -1, Header: name, Orders: v.Settings.Orders(), Mark: v.Settings.Mark()},
				text)
		}
	}
	return d
}

// isPending reports a value that is still to be looked up, or was refused.
func (d *Draft) isPending(name string) bool {
	for _, r := range d.refs {
		if r.col.Name == name {
			return true
		}
	}
	for _, e := range d.Errs {
		if e.Column == name {
			return true
		}
	}
	return false
}

// takeCell reads a cell of the file. A number that a program wrote has a point,
// whatever the column's other numbers have.
func (v *Reader) takeCell(d *Draft, c *plan.Mapped, rec *sheet.Record) {
	if len(c.Parts) > 0 {
		v.takeParts(d, c, rec)
		return
	}
	text := rec.Cells[c.Index]
	switch rec.Kind(c.Index) {
	case sheet.Broken:
		d.Fail(c.Header, "formula", "the cell %s", text)
		return
	case sheet.Dated:
		if holdsNames(c.Field) {
			d.Fail(c.Header, "dated", "%s is the date that a spreadsheet made of another text: %s", fault.Clip(text, 80),
				enterAsText)
			return
		}
	case sheet.Rounded:
		if !plan.Number(c.Field) {
			d.Fail(c.Header, "rounded", "%s is a number of more than 15 digits, of which a spreadsheet keeps 15: %s",
				fault.Clip(text, 80), enterAsText)
			return
		}
		fallthrough
	case sheet.Exact:
		if c.Mark != '.' {
			exact := *c
			exact.Mark = '.'
			c = &exact
		}
	}
	v.readInto(d, c, text)
}

// readInto reads one cell into the draft. A blank cell gives nothing.
func (v *Reader) readInto(d *Draft, c *plan.Mapped, text string) {
	meant, told := v.Settings.Meaning(c.Name, text)
	if told {
		text = meant
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if strings.ContainsRune(text, utf8.RuneError) {
		d.Fail(c.Header, "encoding", "%q holds a sign in place of a letter that a program before could not read: enter it again",
			fault.Clip(strings.TrimSpace(text), 80))
		return
	}
	f := c.Field
	if holdsNames(f) && !told && cell.IsDateOfCode(text) {
		d.Fail(c.Header, "dated", "%q is the date that a spreadsheet made of another text: %s",
			strings.TrimSpace(text), enterAsText)
		return
	}
	if holdsNames(f) && !told && exponent.MatchString(strings.TrimSpace(text)) {
		d.Fail(c.Header, "rounded", "%s is what a spreadsheet made of a longer number: %s",
			fault.Clip(strings.TrimSpace(text), 80), enterAsText)
		return
	}
	if f.Ref != "" {
		d.refs = append(d.refs, reference{c, plan.NameIn(text)})
		return
	}
	value, code, why := v.readValue(d, c, text)
	if why != "" {
		d.Fail(c.Header, code, "%q %s", fault.Clip(strings.TrimSpace(text), 80), why)
		if code == "choice" {
			d.Unknown = append(d.Unknown, Unknown{c.Name, cell.Line(text)})
		}
		return
	}
	d.Row[f.Name] = value
}

// exponent is how spreadsheet programs show a number that is too long for them:
// 3.76104E+17.
var exponent = regexp.MustCompile(`^-?[0-9]([.,][0-9]+[eE]\+?|[eE]\+)[0-9]{2,}$`)

const enterAsText = "format the column as text and enter it again"

// holdsNames reports a field whose texts are names of something, in whose place a
// rounded number would be another name.
func holdsNames(f *catalog.Field) bool {
	return f.Ref != "" || f.Type == catalog.Array || f.Type == catalog.Text && f.Format != catalog.Plain &&
		len(f.OneOf) == 0
}

// readValue turns a cell into what the store reads, or says why not.
func (v *Reader) readValue(d *Draft, c *plan.Mapped, text string) (value any, code, why string) {
	f := c.Field
	switch f.Type {
	case catalog.Int, catalog.Decimal, catalog.Float:
		return v.readNumber(d, c, text)
	case catalog.Date, catalog.Time:
		return v.date(c, text)
	case catalog.Bool:
		b, ok := cell.Bool(text)
		if !ok {
			return nil, "choice", "is neither yes nor no"
		}
		return b, "", ""
	case catalog.Array:
		return readChoices(f, splitList(text))
	case catalog.JSON:
		return json.RawMessage(text), "", ""
	case catalog.UUID:
		return strings.TrimSpace(text), "", ""
	}
	return readText(c.Column, text)
}

// readNumber reads a number, with the unit or the currency beside it.
func (v *Reader) readNumber(d *Draft, c *plan.Mapped, text string) (value any, code, why string) {
	s, err := cell.Number(plan.Figure(c.Field, text), c.Mark)
	if err != nil {
		return nil, "number", err.Error()
	}
	if _, unit := plan.UnitBeside(c.Field, text); unit != "" {
		d.units = append(d.units, unitBeside{c.Header, unit})
	}
	if plan.IsMoney(c.Field) && v.Currency != "" {
		if written := cell.Currency(text); written != "" && !cell.MeansCurrency(written, v.Currency) {
			return nil, "currency", "is in another currency than amounts are kept in, " + v.Currency + ": nothing is converted"
		}
	}
	return d.roundNumber(c, s), "", ""
}

// roundNumber gives a number of a decimal field the decimals that records keep, and
// notes that it had more.
func (d *Draft) roundNumber(c *plan.Mapped, number string) string {
	if c.Field.Type != catalog.Decimal {
		return number
	}
	short, changed := cell.Rounded(number, decimal.Places)
	if changed {
		d.addNote(noteRounded, c.Header)
	}
	return short
}

// date reads a date or a time. A month without a day is its last day where it says
// until when something is good; a year of two digits lies in the past where the
// field does. A number counts from 1970 where the options say what.
func (v *Reader) date(c *plan.Mapped, text string) (value any, code, why string) {
	f := c.Field
	if end, ok := cell.MonthEnd(text); ok && f.Type == catalog.Date && plan.IsExpiry(f) {
		return end, "", ""
	}
	if at, ok := cell.Epoch(text, v.Settings.Epoch); ok {
		if f.Type == catalog.Date {
			return localtime.DateOf(at, v.Zone).String(), "", ""
		}
		return query.FormatTime(at), "", ""
	}
	m, err := cell.Date(text, c.Orders...)
	if err != nil {
		return nil, "date", err.Error()
	}
	m, ok := v.Settings.WithYear(f, m, v.Now)
	if !ok {
		return nil, "date", "has a year of two digits that may be of the past or of the future: write it with four"
	}
	if f.Type == catalog.Date {
		return m.Date.Format(time.DateOnly), "", ""
	}
	if !m.Exists(v.Zone) {
		return nil, "date", "is a time that no clock showed: summer time began"
	}
	return query.FormatTime(m.In(v.Zone)), "", ""
}

func readText(c *targets.Column, text string) (value any, code, why string) {
	f := c.Field
	if len(f.OneOf) > 0 {
		s, ok := cell.Choice(text, f.OneOf, c.Values)
		if !ok {
			return nil, "choice", "is not one of " + targets.SpokenList(f.OneOf, ", ")
		}
		return s, "", ""
	}
	text = query.Unguard(text)
	if f.Format != catalog.Plain {
		text = cell.Line(plan.WithoutTextMark(text))
	}
	if len(c.Values) > 0 {
		if code := c.Values[cell.Fold(text)]; code != "" {
			return code, "", ""
		}
	}
	return text, "", ""
}

// readChoices brings the words of a closed set into its spelling.
func readChoices(f *catalog.Field, words json.RawMessage) (value any, code, why string) {
	var given []string
	if len(f.OneOf) == 0 || json.Unmarshal(words, &given) != nil {
		return words, "", "" // the store says what is wrong with it
	}
	b := []byte{'['}
	for i, w := range given {
		s, ok := cell.Choice(w, f.OneOf, nil)
		if !ok {
			known := targets.SpokenList(f.OneOf, ", ")
			return nil, "choice", "holds " + strconv.Quote(fault.Clip(w, 80)) + ", which is not one of " + known
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = db.AppendString(b, s)
	}
	return json.RawMessage(append(b, ']')), "", ""
}

// splitList reads a cell of several words: JSON, or separated by semicolon, bar or
// comma, the first of these that occurs.
func splitList(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	parts := []string{text}
	for _, sep := range []string{";", "|", ","} {
		if strings.Contains(text, sep) {
			parts = strings.Split(text, sep)
			break
		}
	}
	b := []byte{'['}
	for _, p := range parts {
		if p = cell.Line(p); p == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = db.AppendString(b, p)
	}
	return append(b, ']')
}

// Refused reports that a field's cell has an error already.
func (d *Draft) Refused(v *Reader, field string) bool {
	h := v.Header(field)
	for _, e := range d.Errs {
		if e.Column == h {
			return true
		}
	}
	return false
}

// Header is the column a field comes from, or the field's own name.
func (v *Reader) Header(field string) string {
	if c := v.Layout.Column(field); c != nil {
		return c.Header
	}
	return field
}
