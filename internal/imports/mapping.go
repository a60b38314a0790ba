package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/spell"
)

// place is where a mapping says a column is: a header, or a number from 1.
type place struct {
	header string
	number int
}

// parseMapping reads a job's mapping: {field: header or column number}. A
// null leaves the field out. nil = none was given.
func parseMapping(t *target, raw json.RawMessage) (map[string]place, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var given map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&given); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "mapping", "the mapping does not name a header or a column number for each field").
			At("mapping", "must be an object")
	}
	out := map[string]place{}
	for name, v := range given {
		if t.column(name) == nil {
			return nil, unknownField(t, name)
		}
		p, err := placeOf(name, v)
		if err != nil {
			return nil, err
		}
		out[name] = p // the zero place leaves the field out
	}
	return out, nil
}

func unknownField(t *target, name string) error {
	var names []string
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	f := fault.New(fault.Invalid, "mapping", "an import of %s cannot set %q", spoken(t.name), name).
		At("mapping."+name, "must be one of %s", strings.Join(names, ", "))
	if near := spell.Nearest(name, names); near != "" {
		f.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return f
}

func placeOf(name string, v any) (place, error) {
	switch x := v.(type) {
	case nil:
		return place{}, nil
	case string:
		return place{header: x}, nil
	case json.Number:
		n, err := strconv.Atoi(x.String())
		if err == nil && n >= 1 && n <= sheet.MaxColumns {
			return place{number: n}, nil
		}
	}
	return place{}, fault.New(fault.Invalid, "mapping", "the mapping of %s must be a header or a column number from 1 to %d", spoken(name), sheet.MaxColumns).
		At("mapping."+name, "must be a header or a column number")
}

// mapped is a column of the file that gives a column of the target.
type mapped struct {
	*column
	index  int
	header string
	orders []string // of day, month and year, that a date column may have; none is any
	mark   byte     // decimal mark, of a number column
	how    string   // why it is this one: given, saved, name, synonym
}

// layout is where everything is in the file.
type layout struct {
	cols    []mapped
	width   int // columns of the header, or of the first row
	headers []string
	ignored []string

	withheld []mapped // of fields that the role may not see
}

// question is a fault that the caller can answer with an option: the job
// fails, is changed, and is processed again.
func question(field, format string, args ...any) *fault.Error {
	f := fault.New(fault.Invalid, "import_question", format, args...)
	return f.At(field, format, args...)
}

// maxHeader bounds a column's label, which stands in each of its errors.
const maxHeader = 200 // characters

// heading is what a column is called: its header in one line, the beginning of
// one that is longer, as forms have that ask in whole sentences.
func heading(header string) string {
	h := cell.Line(header)
	if utf8.RuneCountInString(h) <= maxHeader {
		return h
	}
	return string([]rune(h)[:maxHeader-1]) + "…"
}

// arrange finds the target's columns among the file's.
func arrange(t *target, first []string, given map[string]place, headed bool) (*layout, error) {
	l := &layout{width: len(first)}
	for i, h := range first {
		if !headed {
			h = fmt.Sprintf("column %d", i+1)
		}
		l.headers = append(l.headers, heading(h))
	}
	var err error
	switch {
	case given != nil:
		err = l.follow(t, given, headed)
	case !headed:
		err = question("mapping", "the file has no header: say by its number which column is which")
	default:
		if err = l.guess(t, nil); err == nil && len(l.cols) == 0 {
			err = l.strange(t)
		}
	}
	if err != nil {
		return nil, err
	}
	l.settle()
	return l, nil
}

// settle puts the columns in the order of the file and lists those that give
// nothing.
func (l *layout) settle() {
	slices.SortFunc(l.cols, func(a, b mapped) int { return a.index - b.index })
	used := map[int]bool{}
	for _, c := range l.cols {
		used[c.index] = true
	}
	l.ignored = nil
	for i, h := range l.headers {
		if !used[i] && h != "" {
			l.ignored = append(l.ignored, h)
		}
	}
}

// supplement recognises the other columns of a file whose mapping answers a
// question about some: a mapping is complete if it has what records need.
func (l *layout) supplement(t *target, s Settings, given map[string]place) error {
	if len(l.missing(t, s)) == 0 {
		return nil
	}
	if err := l.guess(t, given); err != nil {
		return err
	}
	l.settle()
	return nil
}

// follow places columns as the caller said.
func (l *layout) follow(t *target, given map[string]place, headed bool) error {
	for i := range t.columns {
		c := &t.columns[i]
		p := given[c.name]
		if p == (place{}) {
			continue
		}
		at, err := l.find(c.name, p, headed)
		if err != nil {
			return err
		}
		l.cols = append(l.cols, mapped{column: c, index: at, header: l.headers[at], how: "given"})
	}
	return nil
}

func (l *layout) find(name string, p place, headed bool) (int, error) {
	field := "mapping." + name
	n := p.number
	if n == 0 && !headed {
		var err error
		if n, err = strconv.Atoi(p.header); err != nil || n < 1 {
			return 0, question(field, "the file has no header: the column of the %s is told by its number, not as %q", spoken(name), p.header)
		}
	}
	if n > 0 {
		if n > l.width {
			return 0, question(field, "the %s is said to be in column %d, but the file has %d columns", spoken(name), n, l.width)
		}
		return n - 1, nil
	}
	at, want := -1, heading(p.header)
	for i, h := range l.headers {
		if h != want && cell.Fold(h) != cell.Fold(want) {
			continue
		}
		if at >= 0 {
			return 0, question(field, "columns %d and %d are both called %q: say which with its number", at+1, i+1, want)
		}
		at = i
	}
	if at < 0 {
		f := question(field, "the file has no column %q", want)
		f.Details = "columns: " + strings.Join(l.headers, ", ")
		return 0, f
	}
	return at, nil
}

// guess matches headers to columns by name, label and synonyms, the closest
// first; two headers that match equally well are a question. What was given
// stays as it is.
func (l *layout) guess(t *target, given map[string]place) error {
	type match struct{ index, rank int }
	best := map[int]match{} // target column -> file column
	taken := map[int]int{}  // file column -> target column
	for _, c := range l.cols {
		taken[c.index] = -1
	}
	folds := make([]string, len(l.headers))
	for i, h := range l.headers {
		folds[i] = cell.Fold(h)
	}
	for rank := 0; rank < maxRank(t); rank++ {
		for ci := range t.columns {
			c := &t.columns[ci]
			_, told := given[c.name]
			if _, done := best[ci]; done || told || rank >= len(c.fold) {
				continue
			}
			for i, f := range folds {
				if f == "" || f != c.fold[rank] {
					continue
				}
				if _, other := taken[i]; other {
					continue
				}
				if m, twice := best[ci]; twice {
					return question("mapping."+c.name, "columns %d and %d both read as %s: say by its number which is meant", m.index+1, i+1, c.words())
				}
				best[ci], taken[i] = match{i, rank}, ci
			}
		}
	}
	for ci := range t.columns {
		if b, ok := best[ci]; ok {
			how := "name"
			if b.rank > 1 { // the first two are the field's own names
				how = "synonym"
			}
			l.cols = append(l.cols, mapped{column: &t.columns[ci], index: b.index, header: l.headers[b.index], how: how})
		}
	}
	return nil
}

// strange asks about a file none of whose columns is known.
func (l *layout) strange(t *target) error {
	f := question("mapping", "none of the file's columns is known for %s: choose another kind of record, or say in the mapping which column is which; "+
		"if the first row is data and no header, say so and tell the columns by their numbers; "+
		"if the header is not where it was looked for, say on which line it is", spoken(t.name))
	f.Details, f.Hint = "columns of the file: "+strings.Join(l.headers, ", "), "mapping; options.header: false; options.header_row"
	return f
}

func maxRank(t *target) int {
	n := 0
	for _, c := range t.columns {
		n = max(n, len(c.fold))
	}
	return n
}

// lined reports that the file gives lines of records.
func (l *layout) lined(t *target) bool {
	return t.lines != nil && slices.ContainsFunc(l.cols, func(c mapped) bool { return c.line })
}

// needs are the fields that a row cannot do without.
func (l *layout) needs(t *target, mode string) map[string]bool {
	need := map[string]bool{"quantity": t.posts != nil}
	if mode == ModeUpdate {
		for _, k := range t.resource.Import.Key {
			f, _ := t.resource.Field(k)
			need[k] = f.Required && f.Default == "" || len(t.resource.Import.Key) == 1
		}
		return need
	}
	if t.lines != nil {
		need[t.resource.Import.Key[0]] = true // which rows are lines of one record
	}
	lined := l.lined(t)
	for _, c := range t.columns {
		if f := c.field; f.Required && f.Default == "" && t.defaults[c.name] == "" && (!c.line || lined) {
			need[c.name] = c.name != lineNumber
		}
	}
	return need
}

// complete checks that the columns a record cannot do without are there.
func (l *layout) complete(t *target, s Settings) error {
	if s.Mode == ModeUpdate && !t.keyed() {
		return question("options.mode", "%s are never changed, only added: use the mode insert", spoken(t.name))
	}
	missing := l.missing(t, s)
	if len(missing) == 0 {
		return nil
	}
	words := make([]string, len(missing))
	for i, name := range missing {
		words[i] = t.column(name).called()
	}
	f := fault.New(fault.Invalid, "import_question",
		"the file has no column for %s, which %s need: if one of its columns is meant, say so in the mapping, or give one value for all rows",
		listed(words, "and"), spoken(t.name)).With("columns of the file: "+strings.Join(l.headers, ", "), "mapping, or options.defaults")
	for _, name := range missing {
		f.At("mapping."+name, "no column gives it")
	}
	return f
}

// missing lists what records cannot do without and no column or default gives.
func (l *layout) missing(t *target, s Settings) []string {
	need := l.needs(t, s.Mode)
	var out []string
	for i := range t.columns {
		name := t.columns[i].name
		if need[name] && l.column(name) == nil && s.Defaults[name] == "" {
			out = append(out, name)
		}
	}
	return out
}

// called is a column in a sentence to somebody who maps it: its label, and the
// field's name where that is another word.
func (c *column) called() string {
	if cell.Fold(c.field.Label) == cell.Fold(c.name) {
		return c.words()
	}
	return fmt.Sprintf("%s (%s)", c.words(), c.name)
}

// words are a column in a sentence.
func (c *column) words() string {
	label := strings.ToLower(c.field.Label[:1]) + c.field.Label[1:]
	if len(c.field.Label) > 1 && strings.ToUpper(c.field.Label[:2]) == c.field.Label[:2] {
		label = c.field.Label // an abbreviation
	}
	return "the " + label
}

// words are a field in a sentence.
func (t *target) words(field string) string {
	if c := t.column(field); c != nil {
		return c.words()
	}
	return "the " + spoken(field)
}

// spoken is a resource's or field's name as people say it.
func spoken(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_id"), "_", " ")
}

// listed puts words into a sentence.
func listed(words []string, last string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
	}
	return strings.Join(words, "")
}

func (l *layout) column(name string) *mapped {
	for i := range l.cols {
		if l.cols[i].name == name {
			return &l.cols[i]
		}
	}
	return nil
}

// drop leaves a column out after all.
func (l *layout) drop(name string) {
	l.cols = slices.DeleteFunc(l.cols, func(c mapped) bool {
		if c.name == name {
			l.ignored = append(l.ignored, c.header)
		}
		return c.name == name
	})
}

// used is the mapping as it was applied.
func (l *layout) used() map[string]string {
	out := map[string]string{}
	for _, c := range l.cols {
		out[c.name] = c.header
	}
	return out
}
