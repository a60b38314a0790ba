package verb

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/fault"
	grammar "holdfast/internal/query"
	"holdfast/internal/schema"
	"holdfast/internal/suggest"
)

// AnswerForm is what a request asks of a verb's answer, which PostgREST treats as
// the one row of a function: its columns, whether it is wanted, and its place.
type AnswerForm struct {
	asked   *grammar.Request
	columns map[string]*schema.Member
}

// formWords are parameters that are about the answer, whatever the verb.
var formWords = []string{"select", "order", "limit", "offset", "and", "or", "not.and", "not.or"}

// ReadForm takes what is about the answer out of the query of a call, checked: a
// verb that does something is not run for a request that cannot be answered. Where
// the arguments are in the query, the name of one is that and no filter. The form
// is nil where nothing is asked of the answer.
func (v *Verb) ReadForm(given map[string][]string, withArguments bool) (*AnswerForm, error) {
	f := &AnswerForm{columns: map[string]*schema.Member{}}
	for _, m := range schema.Of(v.Out).Members {
		f.columns[m.Name] = &m
	}
	arguments := map[string]bool{"tenant_id": true}
	for _, m := range v.Input().Members {
		arguments[m.Name] = arguments[m.Name] || withArguments
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if arguments[name] || !slices.Contains(formWords, name) && f.columns[name] == nil {
			continue
		}
		for _, value := range given[name] {
			pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
		}
		delete(given, name)
	}
	if len(pairs) == 0 {
		return nil, nil
	}
	var err error
	if f.asked, err = grammar.Parse(strings.Join(pairs, "&")); err != nil {
		return nil, err
	}
	return f, f.checkForm()
}

// checkForm refuses columns that the answer has not, and what cannot be asked of it.
func (f *AnswerForm) checkForm() error {
	for _, item := range f.asked.Select {
		if item.Embed != nil {
			return refuseForm("related records cannot be embedded in a verb's answer: read its records by their ids")
		}
		if item.Func != "" || item.Cast != "" || len(item.Column.Steps) > 0 {
			return refuseForm("select of a verb's answer takes columns and their aliases alone")
		}
		if !item.Star {
			if err := f.checkColumn(item.Column); err != nil {
				return err
			}
		}
	}
	for _, order := range f.asked.Orders {
		for _, term := range order.Terms {
			if term.Relation != "" || len(order.Path) > 0 {
				return refuseForm("a verb's answer is ordered by its own columns alone")
			}
			if err := f.checkColumn(term.Column); err != nil {
				return err
			}
		}
	}
	for _, page := range f.asked.Pages {
		if len(page.Path) > 0 {
			return refuseForm("limit and offset of a verb's answer are its own alone")
		}
	}
	for _, where := range f.asked.Wheres {
		if err := f.checkCondition(where.Cond); err != nil {
			return err
		}
	}
	return nil
}

func refuseForm(words string) error { return fault.New(fault.Invalid, "PGRST127", "%s", words) }

func (f *AnswerForm) checkColumn(c grammar.Column) error {
	if f.columns[c.Name] != nil && len(c.Steps) == 0 {
		return nil
	}
	shown := fault.Clip(c.Name, 60)
	e := fault.New(fault.Invalid, "42703", "column %s does not exist in the answer", shown).
		At(shown, "is no column of the answer")
	if near := suggest.Nearest(shown, slices.Sorted(maps.Keys(f.columns))); near != "" {
		e.Hint = "did you mean " + near + "?"
	}
	return e
}

// plainOps compare two values; what they answer is by sign: less, alike, more.
var plainOps = map[grammar.Op][3]bool{
	grammar.Eq: {false, true, false}, grammar.Neq: {true, false, true}, grammar.Lt: {true, false, false},
	grammar.Lte: {true, true, false}, grammar.Gt: {false, false, true}, grammar.Gte: {false, true, true},
}

func (f *AnswerForm) checkCondition(c grammar.Cond) error {
	for _, kid := range c.Kids {
		if err := f.checkCondition(kid); err != nil {
			return err
		}
	}
	if c.Join != grammar.Leaf {
		return nil
	}
	if err := f.checkColumn(c.Column); err != nil {
		return err
	}
	kind := f.columns[c.Column.Name].Kind
	if kind == schema.Object || kind == schema.List || kind == schema.Map || kind == schema.Record || kind == schema.Any {
		return refuseForm("a verb's answer is filtered by single values, which " + c.Column.Name + " is not")
	}
	values := []string{c.Value}
	switch _, plain := plainOps[c.Op]; {
	case c.Op == grammar.Is:
		if slices.Contains([]string{"null", "not_null", "true", "false", "unknown"}, strings.ToLower(c.Value)) {
			return nil
		}
		return fault.New(fault.Invalid, "PGRST100", "is compares with null, not_null, true, false and unknown").
			At(c.Column.Name, "is compares with null or true")
	case c.Op == grammar.In:
		values = c.List
	case !plain || c.Quant:
		return refuseForm("a verb's answer is filtered by eq, neq, lt, lte, gt, gte, in and is")
	}
	for _, value := range values {
		numeric := kind == schema.Integer || kind == schema.Number
		if numeric && readNumber(value) == nil || kind == schema.Bool && value != "true" && value != "false" {
			shown := fault.Clip(value, 60)
			return fault.New(fault.Invalid, "22P02", "%s: %q is not of the column's type", c.Column.Name, shown).
				At(c.Column.Name, "is of another type")
		}
	}
	return nil
}

// Choose is the answer as asked for: null where the row is filtered out or
// passed over.
func (f *AnswerForm) Choose(answer []byte) ([]byte, error) {
	var row map[string]json.RawMessage
	if err := json.Unmarshal(answer, &row); err != nil {
		return nil, err
	}
	for _, page := range f.asked.Pages {
		if page.Limit == 0 || page.Offset > 0 {
			return []byte("null"), nil
		}
	}
	for _, where := range f.asked.Wheres {
		if !meetsCondition(row, where.Cond) {
			return []byte("null"), nil
		}
	}
	if f.asked.Select == nil {
		return answer, nil
	}
	var b bytes.Buffer
	for _, item := range f.asked.Select {
		if item.Star {
			for _, name := range slices.Sorted(maps.Keys(row)) {
				writeMember(&b, name, row[name])
			}
			continue
		}
		name := item.Column.Name
		if item.Alias != "" {
			name = item.Alias
		}
		writeMember(&b, name, row[item.Column.Name])
	}
	if b.Len() == 0 {
		return []byte("{}"), nil
	}
	return append(b.Bytes(), '}'), nil
}

// writeMember writes one more member; one that the answer leaves out is null.
func writeMember(b *bytes.Buffer, name string, value json.RawMessage) {
	separator := byte(',')
	if b.Len() == 0 {
		separator = '{'
	}
	if value == nil {
		value = json.RawMessage("null")
	}
	quoted, _ := json.Marshal(name) // a string has a JSON form
	b.WriteByte(separator)
	b.Write(quoted)
	b.WriteByte(':')
	b.Write(value)
}

// meetsCondition compares as SQL does where nothing is null; what is compared with
// null is met by no condition but is.
func meetsCondition(row map[string]json.RawMessage, c grammar.Cond) bool {
	if c.Join != grammar.Leaf {
		met := c.Join == grammar.And
		for _, kid := range c.Kids {
			if meetsCondition(row, kid) != met {
				met = !met
				break
			}
		}
		return met != c.Not
	}
	raw := row[c.Column.Name]
	absent := raw == nil || string(raw) == "null"
	if c.Op == grammar.Is {
		word := strings.ToLower(c.Value)
		met := word == "not_null" && !absent || (word == "null" || word == "unknown") && absent || word == string(raw)
		return met != c.Not
	}
	if absent {
		return false
	}
	met := false
	if c.Op == grammar.In {
		met = slices.ContainsFunc(c.List, func(text string) bool { return compareValue(raw, text) == 0 })
	} else {
		met = plainOps[c.Op][compareValue(raw, c.Value)+1]
	}
	return met != c.Not
}

// compareValue compares a value of the answer with a text of the query: numbers as
// numbers, anything else as text.
func compareValue(raw json.RawMessage, text string) int {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.Compare(s, text)
	}
	have, want := readNumber(string(raw)), readNumber(text)
	if have != nil && want != nil {
		return have.Cmp(want)
	}
	return strings.Compare(string(raw), text)
}

// readNumber is a decimal number, nil where the text is none. An exponent could
// make it as large as the memory.
func readNumber(text string) *big.Rat {
	if len(text) > 60 || strings.Trim(text, "+-.0123456789") != "" {
		return nil
	}
	number, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return number
}
