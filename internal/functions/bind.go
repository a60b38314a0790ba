package functions

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast/internal/fault"
	"holdfast/internal/suggest"
)

// param is one field of an input as its tags describe it:
//
//	query:"pageSize"   name in the query string and in a JSON body
//	default:"50"       value when absent; without it "", 0 or false
//	required:"true"    absent is an error
//	min:"1" max:"365"  inclusive bounds of an integer, else 400
//	clamp:"200"        a greater integer counts as this
//	format:"uuid"      form of a string
//	oneof:"zone bin"   closed set of a string, separated by spaces
type param struct {
	index    int
	name     string
	kind     reflect.Kind
	def      string
	required bool
	min, max int64
	clamp    int64
	uuid     bool
	date     bool // format:"date", in a body
	instant  bool // format:"date-time", in a body
	code     bool // code:"true", in a body: has one spelling, as names and codes of records
	oneof    []string
	least    string // min and max as they stand, for decimals
	most     string
}

func listParameters(in any) []param {
	if in == nil {
		return nil
	}
	t := reflect.TypeOf(in)
	var out []param
	for i := range t.NumField() {
		f := t.Field(i)
		if name := f.Tag.Get("query"); name != "" {
			p := paramOf(f, name)
			p.index = i
			out = append(out, p)
		}
	}
	return out
}

// paramOf reads the tags of a field.
func paramOf(f reflect.StructField, name string) param {
	tag := f.Tag.Get
	p := param{name: name, kind: f.Type.Kind(), def: tag("default"), required: tag("required") == "true",
		least: tag("min"), most: tag("max"),
		clamp: parseBound(tag("clamp"), math.MaxInt64), oneof: strings.Fields(tag("oneof"))}
	p.min, p.max = parseBound(p.least, math.MinInt64), parseBound(p.most, math.MaxInt64)
	p.uuid, p.date, p.instant = tag("format") == "uuid", tag("format") == "date", tag("format") == "date-time"
	p.code = tag("code") == "true"
	return p
}

func parseBound(tag string, otherwise int64) int64 {
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// passedOver are parameters that clients add to any call: tenant_id is read with a
// service key, and supabase-js names a region by the other.
var passedOver = []string{"tenant_id", "forceFunctionRegion"}

// CheckNames refuses parameters and members that the function does not read, and
// names the one that was probably meant: a misspelt name would silently mean its
// default. The fault is fault.Invalid with the name as field.
func (f *Function) CheckNames(query map[string][]string, body map[string]json.RawMessage) error {
	list := f.params
	if list == nil {
		list = listParameters(f.In)
	}
	known := make([]string, len(list))
	for i := range list {
		known[i] = list[i].name
	}
	for _, given := range [][]string{slices.Sorted(maps.Keys(query)), slices.Sorted(maps.Keys(body))} {
		for _, name := range given {
			if !slices.Contains(known, name) && !slices.Contains(passedOver, name) {
				return refuseUnknown(name, known)
			}
		}
	}
	return nil
}

// refuseUnknown refuses a name that none of the known ones is.
func refuseUnknown(name string, known []string) error {
	shown := clipName(name)
	e := fault.New(fault.Invalid, "", "parameter %q is unknown here", shown).At(shown, "is unknown here")
	if near := suggest.Nearest(shown, known); near != "" {
		e.Hint = "did you mean " + near + "?"
	} else if len(known) > 0 {
		e.Hint = "there are " + strings.Join(known, ", ")
	}
	return e
}

// clipName shortens a name that a client sent to what an answer repeats of it.
func clipName(name string) string {
	if len(name) > 60 {
		return strings.ToValidUTF8(name[:60], "") + "…"
	}
	return name
}

// Bind reads the function's input and returns a pointer to it. get gives the
// values of a query parameter, body the members of a JSON object; either may be
// nil. A refused parameter is fault.Invalid with the parameter as field, as is one
// that the two give differently.
func (f *Function) Bind(get func(name string) []string, body map[string]json.RawMessage) (any, error) {
	if f.In == nil {
		return nil, nil
	}
	in := reflect.New(reflect.TypeOf(f.In))
	list := f.params
	if list == nil {
		list = listParameters(f.In)
	}
	return in.Interface(), bindParameters(in.Elem(), list, get, body)
}

func bindParameters(v reflect.Value, list []param, get func(string) []string, body map[string]json.RawMessage) error {
	for i := range list {
		p := &list[i]
		text, given, err := p.findText(get, body)
		if err != nil {
			return err
		}
		if !given {
			if p.required {
				return p.refuseValue("is required")
			}
			if text = p.def; text == "" {
				continue
			}
		}
		if err := p.setValue(v.Field(p.index), text); err != nil {
			return err
		}
	}
	return nil
}

// findText returns the parameter's text, from the body or the query.
func (p *param) findText(
	get func(string) []string, body map[string]json.RawMessage,
) (text string, given bool, err error) {
	var values []string
	if get != nil {
		values = get(p.name)
	}
	if len(values) > 1 {
		return "", false, p.refuseValue("is given more than once")
	}
	raw, inBody := body[p.name]
	if !inBody || string(raw) == "null" {
		if len(values) == 0 {
			return "", false, nil
		}
		return values[0], true, nil
	}
	if text, err = p.fromJSON(raw); err != nil {
		return "", true, err
	}
	if len(values) == 1 && !p.isSameValue(text, values[0]) {
		return "", true, p.refuseValue("is another in the query than in the body")
	}
	return text, true, nil
}

// isSameValue reports two texts of one value, such as 30 and 030.
func (p *param) isSameValue(one, other string) bool {
	if one == other {
		return true
	}
	var values [2]struct {
		Integer int64
		Number  float64
		Flag    bool
		Text    string
	}
	at := map[reflect.Kind]int{reflect.Int64: 0, reflect.Float64: 1, reflect.Bool: 2, reflect.String: 3}[p.kind]
	for i, text := range []string{one, other} {
		if p.setValue(reflect.ValueOf(&values[i]).Elem().Field(at), text) != nil {
			return false
		}
	}
	return values[0] == values[1]
}

// fromJSON reads a JSON value of the parameter's own type.
func (p *param) fromJSON(raw json.RawMessage) (string, error) {
	s := strings.TrimSpace(string(raw))
	quoted := strings.HasPrefix(s, `"`)
	if quoted != (p.kind == reflect.String) {
		return "", p.refuseValue("must be " + p.nounOf())
	}
	if !quoted {
		return s, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", p.refuseValue("must be " + p.nounOf())
	}
	return text, nil
}

func (p *param) nounOf() string {
	switch p.kind {
	case reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	}
	return "a string"
}

func (p *param) refuseValue(why string) error {
	return fault.New(fault.Invalid, "", "parameter %q %s", p.name, why).At(p.name, "%s", why)
}

func (p *param) setValue(v reflect.Value, text string) error {
	switch p.kind {
	case reflect.Int64:
		return p.setInteger(v, text)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || strings.Trim(text, "+-.0123456789eE") != "" {
			return p.refuseValue("must be a number")
		}
		if n < float64(p.min) || n > float64(p.max) {
			return p.refuseValue("must be " + p.describeRange())
		}
		v.SetFloat(n)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return p.refuseValue("must be true or false")
		}
		v.SetBool(text == "true")
	case reflect.String:
		return p.setText(v, text)
	}
	return nil
}

// setInteger takes plain decimal digits, as a query has no other number.
func (p *param) setInteger(v reflect.Value, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strings.HasPrefix(text, "+") {
		return p.refuseValue("must be an integer")
	}
	n = min(n, p.clamp)
	if n < p.min || n > p.max {
		return p.refuseValue("must be " + p.describeRange())
	}
	v.SetInt(n)
	return nil
}

func (p *param) describeRange() string {
	if p.max == math.MaxInt64 {
		return "at least " + strconv.FormatInt(p.min, 10)
	}
	if p.min == math.MinInt64 {
		return "at most " + strconv.FormatInt(p.max, 10)
	}
	return "from " + strconv.FormatInt(p.min, 10) + " to " + strconv.FormatInt(p.max, 10)
}

func (p *param) setText(v reflect.Value, text string) error {
	if p.uuid {
		if !IsUUID(strings.ToLower(text)) {
			return p.refuseValue("must be a UUID")
		}
		text = strings.ToLower(text)
	}
	if len(p.oneof) > 0 {
		known := false
		for _, o := range p.oneof {
			known = known || o == text
		}
		if !known {
			return p.refuseValue("must be one of " + strings.Join(p.oneof, ", "))
		}
	}
	v.SetString(text)
	return nil
}

// Canonical writes an input so that equal inputs have equal texts, whatever
// was sent: defaults filled, bounds applied. It is part of a cache key.
func Canonical(in any) string {
	if in == nil {
		return ""
	}
	v := reflect.ValueOf(in)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	b := make([]byte, 0, 64)
	for i := range v.NumField() {
		if i > 0 {
			b = append(b, '&')
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.Int64:
			b = strconv.AppendInt(b, f.Int(), 10)
		case reflect.Float64:
			b = strconv.AppendFloat(b, f.Float(), 'g', -1, 64)
		case reflect.Bool:
			b = strconv.AppendBool(b, f.Bool())
		default:
			b = strconv.AppendQuote(b, f.String())
		}
	}
	return string(b)
}

// IsUUID reports a UUID in its canonical lower-case form.
func IsUUID(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && len(s) == 36 && id.String() == s
}
