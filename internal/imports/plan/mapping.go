package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/imports/targets"
	"holdfast/internal/suggest"
)

// LineNumber is the lines' field that counts them; where no column gives it,
// Rows are counted as they come, and so the same file gives the same lines
// again.
const LineNumber = "line_no"

// Place is where a mapping says a column is: a header, or a number from 1; several, where
// it gives a list of columns that are joined.
type Place struct {
	header string
	number int
	parts  []Place
}

// isNowhere reports the place of a field that is left out.
func (p Place) isNowhere() bool { return p.header == "" && p.number == 0 && p.parts == nil }

// ParseMapping reads a job's mapping: {field: header or column number, or a list of these
// that are joined}. A null leaves the field out. nil = none was given.
func ParseMapping(t *targets.Target, raw json.RawMessage) (map[string]Place, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var given map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&given); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "mapping",
			"the mapping does not name a header or a column number for each field").
			At("mapping", "must be an object")
	}
	out := map[string]Place{}
	for name, v := range given {
		if t.Column(name) == nil {
			return nil, UnknownField(t, name)
		}
		p, err := placeOf(name, v)
		if err != nil {
			return nil, err
		}
		out[name] = p // the zero place leaves the field out
	}
	return out, nil
}

// UnknownField refuses a name that is no field a file may give.
func UnknownField(t *targets.Target, name string) error {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	f := fault.New(fault.Invalid, "mapping", "an import of %s cannot set %q", targets.Spoken(t.Name), name).
		At("mapping."+name, "must be one of %s", strings.Join(names, ", "))
	if near := suggest.Nearest(name, names); near != "" {
		f.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return f
}

func placeOf(name string, v any) (Place, error) {
	switch x := v.(type) {
	case nil:
		return Place{}, nil
	case string:
		return Place{header: x}, nil
	case json.Number:
		n, err := strconv.Atoi(x.String())
		if err == nil && n >= 1 && n <= sheet.MaxColumns {
			return Place{number: n}, nil
		}
	case []any:
		if list, err := placesOf(name, x); err == nil {
			return Place{parts: list}, nil
		}
	}
	return Place{}, fault.New(fault.Invalid, "mapping",
		"the mapping of %s must be a header or a column number from 1 to %d, or a list of at most %d of these",
		targets.Spoken(name), sheet.MaxColumns, joinLimit).
		At("mapping."+name, "must be a header or a column number, or a list of these")
}

// placesOf are the columns of a list.
func placesOf(name string, list []any) ([]Place, error) {
	if len(list) == 0 || len(list) > joinLimit {
		return nil, errors.New("not so many")
	}
	out := make([]Place, len(list))
	for i, v := range list {
		p, err := placeOf(name, v)
		if err != nil {
			return nil, err
		}
		if p.isNowhere() || p.parts != nil {
			return nil, errors.New("no column")
		}
		out[i] = p
	}
	return out, nil
}

// Mapped is a column of the file that gives a column of the target.
type Mapped struct {
	*targets.Column
	Index  int
	Header string
	Orders []string // of day, month and year, that a date column may have; none is any
	Mark   byte     // decimal mark, of a number column
	How    string   // why it is this one: given, saved, name, synonym, joined
	Parts  []Part   // the columns that are joined, with this one among them; none = it stands alone
	Shared bool     // its date is that of other times as well
	Units  bool     // its numbers have units beside them

	alone bool // the mapping says that it is joined with none
}

// Layout is where everything is in the file.
type Layout struct {
	Cols    []Mapped
	Width   int // columns of the header, or of the first row
	Headers []string
	Ignored []string

	withheld []Mapped // of fields that the role may not see
}

// askQuestion is a fault that the caller can answer with an option: the job
// fails, is changed, and is processed again.
func askQuestion(field, format string, args ...any) *fault.Error {
	f := fault.New(fault.Invalid, "import_question", format, args...)
	return f.At(field, format, args...)
}

// maxHeader bounds a column's label, which stands in each of its errors.
const maxHeader = 200 // characters

// shortHeading is what a column is called: its header in one line, the beginning of
// one that is longer, as forms have that ask in whole sentences.
func shortHeading(header string) string {
	h := cell.Line(header)
	if utf8.RuneCountInString(h) <= maxHeader {
		return h
	}
	return string([]rune(h)[:maxHeader-1]) + "…"
}

// Arrange finds the target's columns among the file's.
func Arrange(t *targets.Target, first []string, given map[string]Place, headed bool) (*Layout, error) {
	l := &Layout{Width: len(first)}
	for i, h := range first {
		if !headed {
			h = fmt.Sprintf("column %d", i+1)
		}
		l.Headers = append(l.Headers, shortHeading(h))
	}
	var err error
	switch {
	case given != nil:
		err = l.placeGiven(t, given, headed)
	case !headed:
		err = askQuestion("mapping", "the file has no header: say by its number which column is which")
	default:
		if err = l.guessColumns(t, nil, true); err == nil {
			l.joinNames(t, nil)
		}
		if err == nil && len(l.Cols) == 0 {
			err = l.askUnknownColumns(t)
		}
	}
	if err != nil {
		return nil, err
	}
	l.orderColumns()
	return l, nil
}

// orderColumns puts the columns in the order of the file and lists those that give
// nothing.
func (l *Layout) orderColumns() {
	slices.SortFunc(l.Cols, func(a, b Mapped) int { return a.Index - b.Index })
	used := l.usedColumns()
	l.Ignored = nil
	for i, h := range l.Headers {
		if !used[i] && h != "" {
			l.Ignored = append(l.Ignored, h)
		}
	}
}

// guessRemaining recognises the columns that a mapping does not name, but for fields
// that have a default beside it. Two that read equally well are a question only
// where the mapping lacks what records need.
func (l *Layout) guessRemaining(t *targets.Target, s Settings, given map[string]Place) error {
	told := maps.Clone(given)
	for name, text := range s.Defaults {
		if _, mapped := told[name]; !mapped && text != "" {
			told[name] = Place{}
		}
	}
	if err := l.guessColumns(t, told, len(l.listMissing(t, s)) > 0); err != nil {
		return err
	}
	l.joinNames(t, told)
	l.orderColumns()
	return nil
}

// placeGiven places columns as the caller said.
func (l *Layout) placeGiven(t *targets.Target, given map[string]Place, headed bool) error {
	for i := range t.Columns {
		c := &t.Columns[i]
		p := given[c.Name]
		if p.isNowhere() {
			continue
		}
		x := Mapped{Column: c, How: "given", alone: p.parts != nil}
		list := p.parts
		if list == nil {
			list = []Place{p}
		}
		for _, one := range list {
			at, err := l.findColumn(c, one, headed)
			if err != nil {
				return err
			}
			x.Index, x.Header = at, l.Headers[at]
			x.Parts = append(x.Parts, l.partOf(at))
		}
		if len(list) == 1 {
			x.Parts = nil
		}
		l.Cols = append(l.Cols, x)
	}
	l.markShared()
	return nil
}

func (l *Layout) findColumn(of *targets.Column, p Place, headed bool) (int, error) {
	field, words := "mapping."+of.Name, of.Words()
	n := p.number
	if n == 0 && !headed {
		var err error
		if n, err = strconv.Atoi(p.header); err != nil || n < 1 {
			return 0, askQuestion(field, "the file has no header: give the column of %s by its number, not as %q",
				words, p.header)
		}
	}
	if n > 0 {
		if n > l.Width {
			return 0, askQuestion(field, "%s is said to be in column %d, but the file has %s", words, n,
				fault.Counted(l.Width, "column", "columns"))
		}
		return n - 1, nil
	}
	at, want := -1, shortHeading(p.header)
	for i, h := range l.Headers {
		if h != want && cell.Fold(h) != cell.Fold(want) {
			continue
		}
		if at >= 0 {
			return 0, askQuestion(field, "columns %d and %d are both called %q: say which with its number", at+1, i+1, want)
		}
		at = i
	}
	if at < 0 {
		f := askQuestion(field, "the file has no column %q", want)
		f.Details = "columns: " + strings.Join(l.Headers, ", ")
		return 0, f
	}
	return at, nil
}

// guessColumns matches headers to columns by name, label and synonyms, the closest
// first; two headers that match equally well are a question, or give nothing where
// none is to be asked. What was given stays as it is.
func (l *Layout) guessColumns(t *targets.Target, given map[string]Place, asks bool) error {
	best := map[int]match{} // target column -> file column
	taken := map[int]int{}  // file column -> target column
	for i := range l.usedColumns() {
		taken[i] = -1
	}
	folds := make([]string, len(l.Headers))
	for i, h := range l.Headers {
		folds[i] = cell.Fold(h)
	}
	for rank := 0; rank < maxRank(t); rank++ {
		for ci := range t.Columns {
			c := &t.Columns[ci]
			_, told := given[c.Name]
			if _, done := best[ci]; done || told || rank >= len(c.Fold) {
				continue
			}
			for i, f := range folds {
				if f == "" || f != c.Fold[rank] {
					continue
				}
				if _, other := taken[i]; other {
					continue
				}
				m, twice := best[ci]
				if twice && !asks {
					best[ci] = match{index: unclear}
					break
				}
				if twice {
					return askQuestion("mapping."+c.Name, "columns %d and %d both read as %s: say by its number which is meant",
						m.index+1, i+1, c.Words())
				}
				best[ci], taken[i] = match{i, rank}, ci
			}
		}
	}
	for ci := range t.Columns {
		if _, told := given[t.Columns[ci].Name]; !told {
			fillNeeded(t, ci, folds, best)
		}
	}
	for ci := range t.Columns {
		if b, ok := best[ci]; ok && b.index != unclear {
			how := "name"
			if b.rank > 1 { // the first two are the field's own names
				how = "synonym"
			}
			l.Cols = append(l.Cols, Mapped{Column: &t.Columns[ci], Index: b.index, Header: l.Headers[b.index], How: how})
		}
	}
	return nil
}

// match is the column of a file that gives a field, and how far down the field's words
// its header stands.
type match struct{ index, rank int }

// fillNeeded gives a field that records cannot do without, and that no column gives, one
// that was taken for a field that may be empty: a description is the name of an item
// that has no other.
func fillNeeded(t *targets.Target, needed int, folds []string, best map[int]match) {
	c := &t.Columns[needed]
	_, done := best[needed]
	if done || !c.Field.Required || c.Field.Default != "" || t.Defaults[c.Name] != "" {
		return
	}
	for ci := range t.Columns {
		b, ok := best[ci]
		if ok && b.index != unclear && !t.Columns[ci].Field.Required && slices.Contains(c.Fold, folds[b.index]) {
			best[needed] = match{b.index, len(c.Fold)}
			delete(best, ci)
			return
		}
	}
}

// unclear stands for the column of a field that two columns may give.
const unclear = -1

// askUnknownColumns asks about a file none of whose columns is known.
func (l *Layout) askUnknownColumns(t *targets.Target) error {
	f := askQuestion("mapping", "none of the file's columns is known for %s. "+
		"Choose another kind of record, or say in the mapping which column is which. "+
		"If the first row is data and no header, say so and give the columns by their numbers. "+
		"If the header is not where it was looked for, say on which line it is", targets.Spoken(t.Name))
	f.Details, f.Hint = "columns of the file: "+strings.Join(l.Headers, ", "),
		"mapping; options.header: false; options.header_row"
	return f
}

func maxRank(t *targets.Target) int {
	n := 0
	for _, c := range t.Columns {
		n = max(n, len(c.Fold))
	}
	return n
}

// joinWords puts words into a sentence.
func joinWords(words []string, last string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
	}
	return strings.Join(words, "")
}

// Column is the column of the file that gives a field; nil if none does.
func (l *Layout) Column(name string) *Mapped {
	for i := range l.Cols {
		if l.Cols[i].Name == name {
			return &l.Cols[i]
		}
	}
	return nil
}

// Drop leaves a column out after all.
func (l *Layout) Drop(name string) {
	l.Cols = slices.DeleteFunc(l.Cols, func(c Mapped) bool {
		if c.Name == name {
			l.Ignored = append(l.Ignored, c.Header)
		}
		return c.Name == name
	})
	l.markShared()
}

// Used is the mapping as it was applied.
func (l *Layout) Used() map[string]string {
	out := map[string]string{}
	for _, c := range l.Cols {
		out[c.Name] = c.Header
		if len(c.Parts) > 0 {
			headers := make([]string, len(c.Parts))
			for i, p := range c.Parts {
				headers[i] = p.Header
			}
			out[c.Name] = strings.Join(headers, " + ")
		}
	}
	return out
}
