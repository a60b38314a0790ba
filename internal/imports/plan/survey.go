package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
)

// Plan is what was decided about a file; applying goes by it. It is kept as
// JSON beside the job.
type Plan struct {
	Reading     int        `json:"reading"`     // the way of reading it was decided by
	Fingerprint string     `json:"fingerprint"` // of mapping and options
	Mode        string     `json:"mode"`
	Fields      []string   `json:"fields"` // of the staged rows, in their order
	Chunks      int        `json:"chunks"`
	Result      *Processed `json:"result"`
	Headers     []string   `json:"headers"`
	Width       int        `json:"width"`
	Columns     []Column   `json:"columns"` // those that are read
	Zone        string     `json:"zone"`    // of times that name none
	Currency    string     `json:"currency,omitempty"`
	Lined       bool       `json:"lined,omitempty"`
	Soft        []string   `json:"soft,omitempty"` // fields that a record there is does not take

	Vacant *staged.Keys `json:"-"` // places of serial numbers that a count finds empty, once it was asked
}

// Reading counts the ways in which files were read: where the same file may give
// other rows than before, it goes up, and jobs that are ready are processed again.
// 0 guessed dates and decimal marks, 1 dropped hours without an end, 2 left out
// columns that a mapping did not name, 3 took what is not UTF-8 for Windows-1252, 4
// knew no training of workers without an account, 5 joined no columns.
const Reading = 6

// Anew refuses a plan of another way of reading, for a job nothing of which is
// applied yet.
func (p *Plan) Anew(job *jobs.Job) error {
	if p.Reading == Reading || job.ImportedCount > 0 {
		return nil
	}
	return jobs.WrongState(job, "was processed by another version of the server, which may have read its file differently: process it again")
}

// Survey is the first reading of a file: where things are and how they are
// written.
type Survey struct {
	Target   *targets.Target
	Settings Settings
	Format   sheet.Format
	Layout   *Layout
	Headed   bool
	Rows     int // of data

	HeaderRow int // line of the header, 0 = none
	Zone      *time.Location
	Currency  string // that amounts are kept in, ISO 4217
	Warnings  []string
	Saved     string                     // number of the job that the mapping was once given to
	Refs      map[string]map[string]bool // reference column -> some of its texts

	given   map[string]Place // what a mapping says
	samples [][]string       // of each column of the file
	now     time.Time
	role    actor.Role
	ids     *int // the column of ids, once it was looked for
}

// refSample is how many different texts of a reference column are looked up to
// see whether it refers to our records at all.
const refSample = 500

// longestName is more than any naming holds, in bytes: of a longer text this
// much is looked up, and it is nobody's name.
const longestName = 4 * 256

// Upload is a job's file and what its name says it is.
type Upload struct {
	Open sheet.Source
	Kind string
	Role actor.Role // who reads it
	Now  time.Time  // years of two digits are those near to it
	// known gives the mapping that was once given for such columns and the job
	// it was given to; nil = do not ask.
	Known func(headers []string) (json.RawMessage, string, error)
	// others names the targets that such columns fit; nil = do not ask.
	Others func(headers []string) []string
}

// Look reads the whole file once.
func Look(f Upload, t *targets.Target, s Settings, given map[string]Place) (*Survey, error) {
	delim, err := sheet.ParseDelimiter(s.Delimiter)
	if err != nil {
		return nil, err
	}
	encoding, err := sheet.ParseEncoding(s.Encoding)
	if err != nil {
		return nil, err
	}
	v := &Survey{Target: t, Settings: s, Refs: map[string]map[string]bool{}, now: f.Now, role: f.Role}
	wish := sheet.Wish{Type: f.Kind, Encoding: encoding, Delimiter: delim, Sheet: s.Sheet}
	if v.Format, err = sheet.Detect(f.Open, wish); err != nil {
		return nil, err
	}
	if name := sheet.SpokenCharset(v.Format.Encoding); name != "" && encoding == "" {
		says := fmt.Sprintf("The file is not UTF-8 and was read as %s%s.", name, quoteWords(v.Format.Sample))
		v.Warnings = append(v.Warnings, says)
	}
	if n := len(v.Format.Sheets); n > 1 && s.Sheet == "" {
		v.Warnings = append(v.Warnings,
			fmt.Sprintf("The workbook has %d sheets and the first was read; another one can be named.", n))
	}
	v.Format.Shown = s.SkipHidden
	rows, first, err := v.arrangeFile(f, given)
	if err != nil {
		if rows, first, err = v.arrangeElsewhere(f, given, err); err != nil {
			return nil, err
		}
	}
	defer rows.Close()
	return v, v.surveyColumns(rows, first)
}

// arrangeFile finds the columns of a file and returns its rows from the first, which may
// be the header. On a question about the columns first is what they were looked for in.
func (v *Survey) arrangeFile(f Upload, given map[string]Place) (rows sheet.Records, first *sheet.Record, err error) {
	if rows, first, err = v.openFile(f, given); err != nil {
		return nil, nil, err
	}
	if given, err = v.recallMapping(f, first.Cells, given); err != nil {
		return nil, nil, errors.Join(err, rows.Close())
	}
	v.given = given
	if v.Layout, err = Arrange(v.Target, first.Cells, given, v.Headed); err == nil && given != nil && v.Headed {
		err = v.Layout.guessRemaining(v.Target, v.Settings, given)
	}
	if err == nil {
		v.withholdFields(f.Role)
		err = v.Layout.Complete(v.Target, v.Settings)
	}
	if err != nil {
		err = v.suggestTargets(err, f, first.Cells)
		if closing := rows.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
		return nil, nil, err
	}
	return rows, first, nil
}

// quoteWords are sample words behind a name, if there are any.
func quoteWords(words string) string {
	if words == "" {
		return ""
	}
	return " (" + words + ")"
}

// suggestTargets adds to a question about a file's columns what they would fit.
func (v *Survey) suggestTargets(err error, f Upload, first []string) error {
	q := fault.As(err)
	if q.Code != "import_question" || f.Others == nil || !v.Headed {
		return err
	}
	if names := f.Others(first); len(names) > 0 {
		q.Msg += "; the columns would fit " + joinWords(names, "or")
	}
	return q
}

// surveyColumns looks down every column whose writing has to be found out.
func (v *Survey) surveyColumns(rows sheet.Records, first *sheet.Record) error {
	look := v.newLook()
	see := look.seeRecord
	hidden, totals := 0, []int{}
	if !v.Headed {
		see(first)
		v.Rows++
	}
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if v.LeavesOut(rec) {
			continue
		}
		if v.Rows++; v.Rows > sheet.MaxRows {
			return fault.New(fault.Invalid, "too_many_rows", "the file has more than %d rows: split it", sheet.MaxRows)
		}
		if rec.Hidden {
			hidden++
		}
		if rec.Bad == nil {
			see(rec)
			if IsTotal(rec) {
				totals = append(totals, rec.Line)
			}
		}
	}
	v.noteHidden(hidden)
	v.noteTotals(totals)
	v.dropForeign(look.choices)
	v.settlePairs(look.pairs, look.dates)
	v.samples = look.samples
	if err := v.settleTimes(look.watches); err != nil {
		return err
	}
	if err := v.settleDates(look.dates); err != nil {
		return err
	}
	return v.settleMarks(look.marks)
}

// Number reports a field of numbers.
func Number(f *catalog.Field) bool {
	return f.Type == catalog.Int || f.Type == catalog.Decimal || f.Type == catalog.Float
}

// settleDates gives each date column its orders of day, month and year, or asks.
// An answer is for the columns that do not prove another order.
func (v *Survey) settleDates(dates map[string]*cell.Dates) error {
	for i := range v.Layout.Cols {
		c := &v.Layout.Cols[i]
		d := dates[c.Name]
		if d == nil || c.Field.Type != catalog.Date && c.Field.Type != catalog.Time {
			continue
		}
		if c.Orders = d.Orders(v.Settings.DateOrder); v.Settings.DateOrder != "" {
			continue
		}
		example, in, asks := d.Unclear()
		switch {
		case !asks:
		case len(in) == 0:
			return askQuestion("options.date_order",
				"column %q has dates in different orders of day, month and year: say which is meant (date order: %s); the others become row errors",
				c.Header, spokenOrders([]string{cell.DMY, cell.MDY, cell.YMD}))
		default:
			return askQuestion("options.date_order", "column %q: is %s %s? Say which is meant (date order: %s)", c.Header,
				example, joinWords(cell.Readings(example, in), "or"), spokenOrders(in))
		}
	}
	return nil
}

// spokenOrders are the answers to a question for the order of dates.
func spokenOrders(in []string) string {
	says := map[string]string{cell.DMY: "dmy, the day first", cell.MDY: "mdy, the month first",
		cell.YMD: "ymd, the year first"}
	words := make([]string, len(in))
	for i, order := range in {
		words[i] = says[order]
	}
	return strings.Join(words, "; ")
}

// settleMarks gives each number column its decimal mark. A column that does
// not prove its own takes the mark that the file's other columns prove; without
// such a mark it has none.
func (v *Survey) settleMarks(marks map[string]*cell.Marks) error {
	var file cell.Marks
	for _, m := range marks {
		file.Dot += m.Dot
		file.Comma += m.Comma
	}
	for i := range v.Layout.Cols {
		c := &v.Layout.Cols[i]
		m := marks[c.Name]
		if m == nil || !Number(c.Field) {
			continue
		}
		switch {
		case v.Settings.DecimalMark != "":
			c.Mark = v.Settings.Mark()
		case m.Mark() != 0:
			c.Mark = m.Mark()
		case file.Dot != file.Comma:
			c.Mark = file.Mark()
		case m.Asks() && m.Example != "":
			return askQuestion("options.decimal_mark",
				"column %q: is %s a thousand or a fraction? Say which mark stands before a fraction (decimal mark: \".\" or \",\")",
				c.Header, m.Example)
		case m.Asks():
			return askQuestion("options.decimal_mark",
				"column %q has fractions behind a point and fractions behind a comma: say which is meant (decimal mark: \".\" or \",\"); the others become row "+
					"errors", c.Header)
		}
	}
	return nil
}

// recallMapping takes the mapping that was once given for the same columns, where
// none is given now.
func (v *Survey) recallMapping(f Upload, first []string, given map[string]Place) (map[string]Place, error) {
	if given != nil || !v.Headed || f.Known == nil {
		return given, nil
	}
	raw, job, err := f.Known(first)
	if err != nil || raw == nil {
		return nil, err
	}
	given, outdated := ParseMapping(v.Target, raw)
	if outdated != nil {
		return nil, nil // fields have gone since: look anew
	}
	v.Saved = job
	v.Warnings = append(v.Warnings,
		fmt.Sprintf("The columns are read as they were mapped for %s; they can be recognised anew instead.", job))
	return given, nil
}

// Lined reports a file each row of which is also a line of its record.
func (v *Survey) Lined() bool { return v.Layout.givesLines(v.Target) }

// HasUnits reports numbers with units beside them.
func (v *Survey) HasUnits() bool {
	return slices.ContainsFunc(v.Layout.Cols, func(c Mapped) bool { return c.Units })
}

// Assumed are the values of fields that neither a column nor an option gives: the
// target's defaults, and what a header says of every row.
func (v *Survey) Assumed() map[string]string {
	assumed := v.Layout.impliedMembers(v.Target)
	maps.Copy(assumed, v.Target.Defaults)
	maps.DeleteFunc(assumed, func(field, _ string) bool {
		return v.Layout.Column(field) != nil || v.Settings.Defaults[field] != ""
	})
	return assumed
}

// Soft are the fields that only a new record takes from what is assumed: the file says
// nothing of them.
func (v *Survey) Soft() []string { return slices.Sorted(maps.Keys(v.Assumed())) }

// Keep notes what was found out.
func (v *Survey) Keep(p *Plan) {
	p.Headers, p.Width, p.Zone = v.Layout.Headers, v.Layout.Width, v.Zone.String()
	p.Lined, p.Soft, p.Currency = v.Lined(), v.Soft(), v.Currency
	for _, c := range v.Layout.Cols {
		p.Columns = append(p.Columns, c.columnOf())
	}
	for _, c := range v.Layout.withheld {
		c.How = Withheld
		p.Columns = append(p.Columns, c.columnOf())
	}
}

// Fields are the staged fields: those the file gives, those with a default for
// this job, and what the target adds.
func (v *Survey) Fields() []string {
	seen := map[string]bool{}
	for _, c := range v.Layout.Cols {
		seen[c.Name] = true
	}
	for name := range v.Defaults() {
		seen[name] = true
	}
	if seen["lot_id"] && v.Target.Posts != nil {
		seen[targets.LotNumber] = true
	}
	if v.Lined() {
		seen[LineNumber] = true
	}
	if v.Target.Name == "training_assignments" {
		seen["status"] = true
	}
	if unit := v.Target.UnitField(); unit != "" && v.HasUnits() {
		seen[unit] = true
	}
	if v.Target.NamesHolder() && (seen[targets.Account] || seen[targets.Worker]) {
		seen[targets.Account], seen[targets.Worker] = true, true
	}
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Defaults are the values for columns the file does not give or leaves blank.
// An update takes none of ours: what is there stays.
func (v *Survey) Defaults() map[string]string {
	out := map[string]string{}
	if v.Settings.Mode != targets.ModeUpdate {
		maps.Copy(out, v.Target.Defaults)
		maps.Copy(out, v.Assumed())
	}
	maps.Copy(out, v.Settings.Defaults)
	return out
}

// Survey is what was found out about a file, as it was kept.
func (p *Plan) Survey(t *targets.Target, s Settings) *Survey {
	v := &Survey{Target: t, Settings: s, Headed: true, Layout: &Layout{Width: p.Width, Headers: p.Headers}}
	for _, c := range p.Columns {
		col := t.Column(c.Field)
		if col == nil || c.How == Withheld {
			continue
		}
		x := Mapped{
			Column: col, Index: c.Index, Header: c.Header, Orders: c.Orders, How: c.How, Parts: c.Parts, Units: c.Units,
		}
		if c.Order != "" {
			x.Orders = []string{c.Order}
		}
		if c.Mark != "" {
			x.Mark = c.Mark[0]
		}
		v.Layout.Cols = append(v.Layout.Cols, x)
	}
	v.Layout.markShared()
	v.Currency = p.Currency
	v.Zone = time.UTC
	if z, err := time.LoadLocation(p.Zone); err == nil {
		v.Zone = z
	}
	return v
}
