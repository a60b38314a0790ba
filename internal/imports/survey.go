package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
)

// plan is what was decided about a file; applying goes by it. It is kept as
// JSON beside the job.
type plan struct {
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
	Lined       bool       `json:"lined,omitempty"`
	Soft        []string   `json:"soft,omitempty"` // fields that a record there is does not take
}

// reading counts the ways in which files were read: where the same file may give
// other rows than before, it goes up, and jobs that are ready are processed again.
// 0 guessed dates and decimal marks.
const reading = 1

// anew refuses a plan of another way of reading, for a job nothing of which is
// applied yet.
func (p *plan) anew(job *Job) error {
	if p.Reading == reading || job.ImportedCount > 0 {
		return nil
	}
	return wrongState(job, "was processed by another version of the server, which may have read its file differently: process it again")
}

// survey is the first reading of a file: where things are and how they are
// written.
type survey struct {
	target   *target
	settings Settings
	format   sheet.Format
	layout   *layout
	headed   bool
	rows     int // of data

	headerRow int // line of the header, 0 = none
	zone      *time.Location
	warnings  []string
	saved     string                     // number of the job that the mapping was once given to
	refs      map[string]map[string]bool // reference column -> some of its texts
}

// refSample is how many different texts of a reference column are looked up to
// see whether it refers to our records at all.
const refSample = 500

// longestName is more than any naming holds, in bytes: of a longer text this
// much is looked up, and it is nobody's name.
const longestName = 4 * 256

// upload is a job's file and what its name says it is.
type upload struct {
	open sheet.Source
	kind string
	role actor.Role // who reads it
	// known gives the mapping that was once given for such columns and the job
	// it was given to; nil = do not ask.
	known func(headers []string) (json.RawMessage, string, error)
	// others names the targets that such columns fit; nil = do not ask.
	others func(headers []string) []string
}

// look reads the whole file once.
func look(f upload, t *target, s Settings, given map[string]place) (*survey, error) {
	delim, err := sheet.ParseDelimiter(s.Delimiter)
	if err != nil {
		return nil, err
	}
	v := &survey{target: t, settings: s, refs: map[string]map[string]bool{}}
	if v.format, err = sheet.Detect(f.open, sheet.Wish{Type: f.kind, Delimiter: delim, Sheet: s.Sheet}); err != nil {
		return nil, err
	}
	if n := len(v.format.Sheets); n > 1 && s.Sheet == "" {
		v.warnings = append(v.warnings, fmt.Sprintf("The workbook has %d sheets and the first was read; another one can be named.", n))
	}
	rows, first, err := v.begin(f, given)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if given, err = v.recall(f, first.Cells, given); err != nil {
		return nil, err
	}
	if v.layout, err = arrange(t, first.Cells, given, v.headed); err == nil && given != nil && v.headed {
		err = v.layout.supplement(t, s, given)
	}
	if err == nil {
		v.withhold(f.role)
		err = v.layout.complete(t, s)
	}
	if err != nil {
		return nil, v.elsewhere(err, f, first.Cells)
	}
	return v, v.columns(rows, first)
}

// elsewhere adds to a question about a file's columns what they would fit.
func (v *survey) elsewhere(err error, f upload, first []string) error {
	q := fault.As(err)
	if q.Code != "import_question" || f.others == nil || !v.headed {
		return err
	}
	if names := f.others(first); len(names) > 0 {
		q.Msg += "; the columns would fit " + listed(names, "or")
	}
	return q
}

// columns looks down every column whose writing has to be found out.
func (v *survey) columns(rows sheet.Records, first *sheet.Record) error {
	dates := map[int]*cell.Dates{}
	marks := map[int]*cell.Marks{}
	texts := map[int]map[string]bool{}
	for _, c := range v.layout.cols {
		switch {
		case c.field.Ref != "":
			texts[c.index] = map[string]bool{}
			v.refs[c.name] = texts[c.index]
		case c.field.Type == catalog.Date || c.field.Type == catalog.Time:
			dates[c.index] = &cell.Dates{}
		case number(c.field):
			marks[c.index] = &cell.Marks{}
		}
	}
	see := func(rec *sheet.Record) {
		cells := rec.Cells
		for i, d := range dates {
			if i < len(cells) && rec.Kind(i) == sheet.Written {
				d.Add(cells[i])
			}
		}
		for i, m := range marks {
			if i < len(cells) && rec.Kind(i) == sheet.Written {
				m.Add(cells[i])
			}
		}
		for i, s := range texts {
			if i < len(cells) && len(s) < refSample && rec.Kind(i) != sheet.Broken && strings.TrimSpace(cells[i]) != "" {
				s[strings.Clone(clip(nameIn(cells[i]), longestName))] = true // not the whole row with it
			}
		}
	}
	if !v.headed {
		see(first)
		v.rows++
	}
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if v.rows++; v.rows > sheet.MaxRows {
			return fault.New(fault.Invalid, "too_many_rows", "the file has more than %d rows: split it", sheet.MaxRows)
		}
		if rec.Bad == nil {
			see(rec)
		}
	}
	if err := v.settleDates(dates); err != nil {
		return err
	}
	return v.settleMarks(marks)
}

func number(f *catalog.Field) bool {
	return f.Type == catalog.Int || f.Type == catalog.Decimal || f.Type == catalog.Float
}

// settleDates gives each date column its orders of day, month and year, or asks.
// An answer is for the columns that do not prove another order.
func (v *survey) settleDates(dates map[int]*cell.Dates) error {
	for i := range v.layout.cols {
		c := &v.layout.cols[i]
		d := dates[c.index]
		if d == nil || c.field.Type != catalog.Date && c.field.Type != catalog.Time {
			continue
		}
		if c.orders = d.Orders(v.settings.DateOrder); v.settings.DateOrder != "" {
			continue
		}
		example, in, asks := d.Unclear()
		switch {
		case !asks:
		case len(in) == 0:
			return question("options.date_order",
				"column %q has dates in different orders of day, month and year: say which is meant (date order: %s); the others become row errors", c.header, spokenOrders([]string{cell.DMY, cell.MDY, cell.YMD}))
		default:
			return question("options.date_order", "column %q: is %s %s? Say which is meant (date order: %s)", c.header, example,
				listed(cell.Readings(example, in), "or"), spokenOrders(in))
		}
	}
	return nil
}

// spokenOrders are the answers to a question for the order of dates.
func spokenOrders(in []string) string {
	says := map[string]string{cell.DMY: "dmy, the day first", cell.MDY: "mdy, the month first", cell.YMD: "ymd, the year first"}
	words := make([]string, len(in))
	for i, order := range in {
		words[i] = says[order]
	}
	return strings.Join(words, "; ")
}

// settleMarks gives each number column its decimal mark. A column that does
// not prove its own takes the mark that the file's other columns prove; without
// such a mark it has none.
func (v *survey) settleMarks(marks map[int]*cell.Marks) error {
	var file cell.Marks
	for _, m := range marks {
		file.Dot += m.Dot
		file.Comma += m.Comma
	}
	for i := range v.layout.cols {
		c := &v.layout.cols[i]
		m := marks[c.index]
		if m == nil || !number(c.field) {
			continue
		}
		switch {
		case v.settings.DecimalMark != "":
			c.mark = v.settings.mark()
		case m.Mark() != 0:
			c.mark = m.Mark()
		case file.Dot != file.Comma:
			c.mark = file.Mark()
		case m.Asks() && m.Example != "":
			return question("options.decimal_mark",
				"column %q: is %s a thousand or a fraction? Say which mark stands before a fraction (decimal mark: \".\" or \",\")", c.header, m.Example)
		case m.Asks():
			return question("options.decimal_mark",
				"column %q has fractions behind a point and fractions behind a comma: say which is meant (decimal mark: \".\" or \",\"); the others become row "+
					"errors", c.header)
		}
	}
	return nil
}

// recall takes the mapping that was once given for the same columns, where
// none is given now.
func (v *survey) recall(f upload, first []string, given map[string]place) (map[string]place, error) {
	if given != nil || !v.headed || f.known == nil {
		return given, nil
	}
	raw, job, err := f.known(first)
	if err != nil || raw == nil {
		return nil, err
	}
	given, outdated := parseMapping(v.target, raw)
	if outdated != nil {
		return nil, nil // fields have gone since: look anew
	}
	v.saved = job
	v.warnings = append(v.warnings, fmt.Sprintf("The columns are read as they were mapped for %s; they can be recognised anew instead.", job))
	return given, nil
}

// lined reports a file each row of which is also a line of its record.
func (v *survey) lined() bool { return v.layout.lined(v.target) }

// soft are the fields that only a new record takes from the target's defaults:
// the file says nothing of them.
func (v *survey) soft() []string {
	var out []string
	for k := range v.target.defaults {
		if v.layout.column(k) == nil && v.settings.Defaults[k] == "" {
			out = append(out, k)
		}
	}
	return out
}

// keep notes what was found out.
func (v *survey) keep(p *plan) {
	p.Headers, p.Width, p.Zone = v.layout.headers, v.layout.width, v.zone.String()
	p.Lined, p.Soft = v.lined(), v.soft()
	for _, c := range v.layout.cols {
		p.Columns = append(p.Columns, c.told())
	}
	for _, c := range v.layout.withheld {
		c.how = withheld
		p.Columns = append(p.Columns, c.told())
	}
}

// fields are the staged fields: those the file gives, those with a default for
// this job, and what the target adds.
func (v *survey) fields() []string {
	seen := map[string]bool{}
	for _, c := range v.layout.cols {
		seen[c.name] = true
	}
	for name := range v.defaults() {
		seen[name] = true
	}
	if seen["lot_id"] && v.target.posts != nil {
		seen[lotNumber] = true
	}
	if v.lined() {
		seen[lineNumber] = true
	}
	if v.target.name == "training_assignments" {
		seen["status"] = true
	}
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// defaults are the values for columns the file does not give or leaves blank.
// An update takes none of ours: what is there stays.
func (v *survey) defaults() map[string]string {
	out := map[string]string{}
	if v.settings.Mode != ModeUpdate {
		for k, d := range v.target.defaults {
			out[k] = d
		}
	}
	for k, d := range v.settings.Defaults {
		out[k] = d
	}
	return out
}
