package imports

import (
	"encoding/json"
	"fmt"
	"holdfast/internal/fault"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// survey is the first reading of a file, and how its rows are read by it.
type survey struct{ *plan.Survey }

// draft is a row on its way from cells to a checked record.
type draft struct {
	line int
	row  store.Row // by field; only what the file or a default gives
	refs []reference
	errs []staged.RowError
	also map[string]string // reference column -> tracking of the item, status of the zone
}

// reference is a cell that names another record.
type reference struct {
	col  *plan.Mapped
	text string
}

func (d *draft) state(field, is string) {
	if d.also == nil {
		d.also = map[string]string{}
	}
	d.also[field] = is
}

func (d *draft) fail(column, code, format string, args ...any) {
	d.errs = append(d.errs, staged.RowError{Line: d.line, Column: column, Code: code, Message: fmt.Sprintf(format, args...)})
}

// draftOf reads one record's cells.
func (v *survey) draftOf(rec *sheet.Record, defaults map[string]string) *draft {
	d := &draft{line: rec.Line, row: make(store.Row, len(v.Layout.Cols)+len(defaults)+2)}
	if rec.Bad != nil {
		header := ""
		if i := rec.Bad.Cell; i >= 0 && i < len(v.Layout.Headers) {
			header = v.Layout.Headers[i]
		}
		d.fail(header, rec.Bad.Code, "%s", rec.Bad.Msg)
		return d
	}
	if n := plan.Width(rec.Cells, v.Layout.Width); n != v.Layout.Width {
		d.fail("", "columns", "the row has %d cells, the file %d columns: a cell with a delimiter or line break needs quotes", n, v.Layout.Width)
		return d
	}
	for i := range v.Layout.Cols {
		c := &v.Layout.Cols[i]
		v.takeCell(d, c, rec)
	}
	for name, text := range defaults {
		if _, given := d.row[name]; !given && !d.pending(name) {
			c := v.Target.Column(name)
			v.take(d, &plan.Mapped{Column: c, Index: -1, Header: name, Orders: v.Settings.Orders(), Mark: v.Settings.Mark()}, text)
		}
	}
	return d
}

// pending reports a value that is still to be looked up, or was refused.
func (d *draft) pending(name string) bool {
	for _, r := range d.refs {
		if r.col.Name == name {
			return true
		}
	}
	for _, e := range d.errs {
		if e.Column == name {
			return true
		}
	}
	return false
}

// takeCell reads a cell of the file. A number that a program wrote has a point,
// whatever the column's other numbers have.
func (v *survey) takeCell(d *draft, c *plan.Mapped, rec *sheet.Record) {
	text := rec.Cells[c.Index]
	switch rec.Kind(c.Index) {
	case sheet.Broken:
		d.fail(c.Header, "formula", "the cell %s", text)
		return
	case sheet.Rounded:
		if !plan.Number(c.Field) {
			d.fail(c.Header, "rounded", "%s is a number of more than 15 digits, of which a spreadsheet keeps 15: %s", fault.Clip(text, 80), enterAsText)
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
	v.take(d, c, text)
}

// take reads one cell into the draft. A blank cell gives nothing.
func (v *survey) take(d *draft, c *plan.Mapped, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	f := c.Field
	if names(f) && exponent.MatchString(strings.TrimSpace(text)) {
		d.fail(c.Header, "rounded", "%s is what a spreadsheet made of a longer number: %s", fault.Clip(strings.TrimSpace(text), 80), enterAsText)
		return
	}
	if f.Ref != "" {
		d.refs = append(d.refs, reference{c, plan.NameIn(text)})
		return
	}
	value, code, why := v.value(c, text)
	if why != "" {
		d.fail(c.Header, code, "%q %s", fault.Clip(strings.TrimSpace(text), 80), why)
		return
	}
	d.row[f.Name] = value
}

// exponent is how spreadsheet programs show a number that is too long for them:
// 3.76104E+17.
var exponent = regexp.MustCompile(`^-?[0-9]([.,][0-9]+[eE]\+?|[eE]\+)[0-9]{2,}$`)

const enterAsText = "format the column as text and enter it again"

// names reports a field whose texts are names of something, in whose place a
// rounded number would be another name.
func names(f *catalog.Field) bool {
	return f.Ref != "" || f.Type == catalog.Array || f.Type == catalog.Text && f.Format != catalog.Plain && len(f.OneOf) == 0
}

// value turns a cell into what the store reads, or says why not.
func (v *survey) value(c *plan.Mapped, text string) (value any, code, why string) {
	f := c.Field
	switch f.Type {
	case catalog.Int, catalog.Decimal, catalog.Float:
		s, err := cell.Number(text, c.Mark)
		if err != nil {
			return nil, "number", err.Error()
		}
		return s, "", ""
	case catalog.Date:
		m, err := cell.Date(text, c.Orders...)
		if err != nil {
			return nil, "date", err.Error()
		}
		return m.Date.Format(time.DateOnly), "", ""
	case catalog.Time:
		m, err := cell.Date(text, c.Orders...)
		if err != nil {
			return nil, "date", err.Error()
		}
		return query.FormatTime(m.In(v.Zone)), "", ""
	case catalog.Bool:
		b, ok := cell.Bool(text)
		if !ok {
			return nil, "choice", "is neither yes nor no"
		}
		return b, "", ""
	case catalog.Array:
		return choices(f, list(text))
	case catalog.JSON:
		return json.RawMessage(text), "", ""
	case catalog.UUID:
		return strings.TrimSpace(text), "", ""
	}
	return v.text(f, text)
}

func (v *survey) text(f *catalog.Field, text string) (value any, code, why string) {
	if len(f.OneOf) > 0 {
		choose := cell.Choice
		if f.Name == "severity" || f.Name == "potential_severity" {
			choose = cell.Severity
		}
		s, ok := choose(text, f.OneOf)
		if !ok {
			return nil, "choice", "is not one of " + strings.Join(f.OneOf, ", ")
		}
		return s, "", ""
	}
	text = query.Unguard(text)
	if f.Format != catalog.Plain {
		text = cell.Line(text)
	}
	return text, "", ""
}

// choices brings the words of a closed set into its spelling.
func choices(f *catalog.Field, words json.RawMessage) (value any, code, why string) {
	var given []string
	if len(f.OneOf) == 0 || json.Unmarshal(words, &given) != nil {
		return words, "", "" // the store says what is wrong with it
	}
	b := []byte{'['}
	for i, w := range given {
		s, ok := cell.Choice(w, f.OneOf)
		if !ok {
			return nil, "choice", "holds " + strconv.Quote(fault.Clip(w, 80)) + ", which is not one of " + strings.Join(f.OneOf, ", ")
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = db.AppendString(b, s)
	}
	return json.RawMessage(append(b, ']')), "", ""
}

// list reads a cell of several words: JSON, or separated by semicolon, bar or
// comma, the first of these that occurs.
func list(text string) json.RawMessage {
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

// check validates a draft as the store would, and the rules that tie a row's
// Fields together. It returns the row with stored values, only what was given.
func (m *Importer) check(v *survey, d *draft) store.Row {
	if len(d.errs) > 0 && (d.errs[0].Code == "columns" || len(d.row)+len(d.refs) == 0) {
		return nil
	}
	op := store.Insert
	if v.Settings.Mode == targets.ModeUpdate {
		op = store.Update
		v.wantKey(d)
	}
	var extra store.Row // what is no field of the record
	for _, k := range []string{targets.LotNumber, targets.LotExpiry} {
		if x, ok := d.row[k]; ok && v.Target.Posts != nil {
			if extra == nil {
				extra = store.Row{}
			}
			extra[k] = x
			delete(d.row, k)
		}
	}
	v.infer(d)
	checked := m.validate(v, d, v.Target.Resource, op, false)
	if v.Lined() {
		maps.Copy(checked, m.validate(v, d, v.Target.Lines, op, true))
	}
	switch v.Target.Name {
	case "stock_movements":
		m.movementRules(v, d, checked)
	case "stock_levels":
		levelRules(v, d, checked)
	}
	if len(d.errs) > 0 {
		return nil
	}
	maps.Copy(checked, extra)
	return checked
}

// wantKey asks for what finds the record to update.
func (v *survey) wantKey(d *draft) {
	r := v.Target.Resource
	for _, k := range r.Import.Key {
		f, _ := r.Field(k)
		if _, ok := d.row[k]; !ok && (f.Required && f.Default == "" || len(r.Import.Key) == 1) && !d.refused(v, k) {
			d.fail(v.header(k), "required", "%s is required to find the record", v.Target.Words(k))
		}
	}
}

// infer fills in what a row says without saying it: training with a date of
// completion is completed, a shift with an end is closed.
func (v *survey) infer(d *draft) {
	switch {
	case v.Target.Name == "training_assignments" && v.Settings.Mode != targets.ModeUpdate && d.row["completed_at"] != nil && d.row["status"] == nil:
		d.row["status"] = "completed"
	case v.Target.Name == "shifts" && d.row["ended_at"] != nil && d.row["status"] == "open":
		d.row["status"] = "closed"
	}
}

// validate checks the part of a draft that belongs to the record, or to its
// line.
func (m *Importer) validate(v *survey, d *draft, r *catalog.Resource, op store.Op, line bool) store.Row {
	checked, fields := m.store.Validate(r, v.Target.Part(d.row, line), op)
	for _, f := range fields {
		if d.refused(v, f.Name) || v.Target.Column(f.Name) == nil {
			continue // what a file cannot give is the server's to fill
		}
		if f.Name == plan.LineNumber && v.Layout.Column(plan.LineNumber) == nil {
			continue // told already: it is counted, if the row says of what
		}
		code := "invalid"
		if f.Msg == "is required" {
			code = "required"
		}
		d.fail(v.header(f.Name), code, "%s %s", v.Target.Words(f.Name), f.Msg)
	}
	return checked
}

// refused reports that a field's cell has an error already.
func (d *draft) refused(v *survey, field string) bool {
	h := v.header(field)
	for _, e := range d.errs {
		if e.Column == h {
			return true
		}
	}
	return false
}

// Header is the column a field comes from, or the field's own name.
func (v *survey) header(field string) string {
	if c := v.Layout.Column(field); c != nil {
		return c.Header
	}
	return field
}

// gains bring stock in, losses take it out, moves need both zones.
var (
	gains  = map[string]bool{"receipt": true, "return_in": true, "adjust_gain": true, "count_gain": true, "opening": true, "import": true}
	losses = map[string]bool{"ship": true, "adjust_loss": true, "count_loss": true, "scrap": true}
)

// movementRules are what makes a stock movement possible at all, so that one
// Fields that is not does not stop the whole file when it is applied.
func (m *Importer) movementRules(v *survey, d *draft, row store.Row) {
	kind, _ := row["type"].(string)
	rule := func(broken bool, field, code, format string, args ...any) {
		if broken && !d.refused(v, field) {
			d.fail(v.header(field), code, format, args...)
		}
	}
	to, from := row["to_zone_id"] != nil, row["from_zone_id"] != nil
	needsTo, needsFrom := !losses[kind], !gains[kind]
	rule(needsTo && !to, "to_zone_id", "required", "a movement of type %s needs the zone it goes to", kind)
	rule(needsFrom && !from, "from_zone_id", "required", "a movement of type %s needs the zone it comes from", kind)
	rule(!needsTo && to, "to_zone_id", "invalid", "a movement of type %s goes to no zone", kind)
	rule(!needsFrom && from, "from_zone_id", "invalid", "a movement of type %s comes from no zone", kind)
	rule(to && from && row["to_zone_id"] == row["from_zone_id"] && kind != "pack" && kind != "status_change", "to_zone_id", "invalid", "both zones are the same")
	for _, f := range []string{"to_zone_id", "from_zone_id"} {
		rule(d.also[f] == "archived", f, "archived", "the zone is archived")
	}
	rule(d.also["item_id"] == "lot" && !d.pending("lot_id"), "lot_id", "required", "the item is tracked by lot: name the lot")
	rule(d.also["item_id"] == "serial" && row["serial"] == nil, "serial", "required", "the item is tracked by serial number: name it")
	rule(row["serial"] != nil && decOf(row, "quantity") != decimal.One, "quantity", "invalid", "a serial number moves one unit at a time")
	if at, ok := row["occurred_at"].(string); ok {
		rule(at > query.FormatTime(m.store.Now().Add(skew)), "occurred_at", "future", "a movement cannot lie in the future")
	}
}

// levelRules are what makes a count of stock possible.
func levelRules(v *survey, d *draft, row store.Row) {
	rule := func(broken bool, field, code, why string) {
		if broken && !d.refused(v, field) {
			d.fail(v.header(field), code, "%s", why)
		}
	}
	rule(d.also["zone_id"] == "archived", "zone_id", "archived", "the zone is archived")
	rule(d.also["item_id"] == "lot" && !d.pending("lot_id"), "lot_id", "required", "the item is tracked by lot: name the lot")
	rule(d.also["item_id"] == "serial" && row["serial"] == nil, "serial", "required", "the item is tracked by serial number: name it")
	rule(row["serial"] != nil && decOf(row, "quantity") != 0 && decOf(row, "quantity") != decimal.One, "quantity", "invalid",
		"of a serial number there is one unit, or none")
	rule(row["quantity"] == nil, "quantity", "required", "quantity is required")
}

// skew is how far a clock may run ahead of ours.
const skew = 5 * time.Minute

// decOf reads a decimal out of a row; null is zero.
func decOf(row store.Row, field string) decimal.Dec {
	d, _ := row[field].(decimal.Dec)
	return d
}
