package functions

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// Bounds of what a body without a length or max tag of its own may hold.
const (
	maxText = 10_000 // characters of a string
	maxList = 2_000  // entries of an array
)

// BindObject reads a whole JSON object into a struct, given by pointer, whose
// members are named by their json tag; the other tags are Bind's, enum stands
// for oneof, max bounds the characters of a string and the entries of an array, and
// code marks texts that are brought into the one spelling of names and codes.
// Members may be strings, booleans, integers, decimals (of at most four places),
// objects, arrays, and pointers to those, which stay nil when absent. A name that
// the struct does not have is refused. Faults are fault.Invalid and name the place,
// such as lines[2].quantity.
func BindObject(in any, body map[string]json.RawMessage) error {
	return bindObject(reflect.ValueOf(in).Elem(), body)
}

func bindObject(v reflect.Value, body map[string]json.RawMessage) error {
	var known []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		known = append(known, name)
		raw, given := body[name]
		if err := bindMember(v.Field(i), memberParam(f, name), raw, given && string(raw) != "null"); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if !slices.Contains(known, name) {
			return refuseUnknown(name, known)
		}
	}
	return nil
}

// memberParam reads the tags of a struct's field.
func memberParam(f reflect.StructField, name string) *param {
	p := paramOf(f, name)
	if len(p.oneof) == 0 {
		p.oneof = strings.Fields(f.Tag.Get("enum"))
	}
	return &p
}

func bindMember(v reflect.Value, p *param, raw json.RawMessage, given bool) error {
	switch {
	case !given && p.required:
		return p.refuseValue("is required")
	case !given && p.def == "":
		return nil
	case !given:
		return p.setValue(v, p.def)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		q := *p
		q.kind = v.Type().Elem().Kind()
		return bindMember(v.Elem(), &q, raw, true)
	case v.Type() == reflect.TypeFor[decimal.Dec]():
		return p.setDecimal(v, raw)
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(raw)
		return nil
	case v.Kind() == reflect.Struct:
		return p.setObject(v, raw)
	case v.Kind() == reflect.Slice:
		return p.setArray(v, raw)
	}
	text, err := p.fromJSON(raw)
	if err != nil {
		return err
	}
	if p.kind == reflect.String {
		if p.code {
			text = query.Identifier(text)
		}
		if err := p.checkPlainText(text); err != nil {
			return err
		}
	}
	return p.setValue(v, text)
}

// checkPlainText holds a text to its length and its format.
func (p *param) checkPlainText(text string) error {
	most := int64(maxText)
	if p.max < most {
		most = p.max
	}
	switch n := int64(utf8.RuneCountInString(text)); {
	case p.required && strings.TrimSpace(text) == "":
		return p.refuseValue("is required")
	case n > most:
		return p.refuseValue("has more than " + strconv.FormatInt(most, 10) + " characters")
	case p.date && !isDate(text):
		return p.refuseValue("must be a date, YYYY-MM-DD")
	case p.instant && !isInstant(text):
		return p.refuseValue("must be an instant, such as 2026-03-01T12:00:00Z")
	}
	return nil
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func isInstant(text string) bool {
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}

// setDecimal reads a number of at most four places.
func (p *param) setDecimal(v reflect.Value, raw json.RawMessage) error {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return p.refuseValue("must be a number")
	}
	d, err := decimal.Parse(string(raw))
	if err != nil {
		return p.refuseValue("must be a number of at most four decimal places")
	}
	if least, err := decimal.Parse(p.least); err == nil && d < least {
		return p.refuseValue("must be at least " + p.least)
	}
	if most, err := decimal.Parse(p.most); err == nil && d > most {
		return p.refuseValue("must be at most " + p.most)
	}
	v.SetInt(int64(d))
	return nil
}

func (p *param) setObject(v reflect.Value, raw json.RawMessage) error {
	var body map[string]json.RawMessage
	if json.Unmarshal(raw, &body) != nil || body == nil {
		return p.refuseValue("must be an object")
	}
	return p.prefixPlace(bindObject(v, body), ".")
}

func (p *param) setArray(v reflect.Value, raw json.RawMessage) error {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || parts == nil {
		return p.refuseValue("must be an array")
	}
	if n := int64(len(parts)); n == 0 && p.required {
		return p.refuseValue("must not be empty")
	} else if n > min(p.max, maxList) {
		return p.refuseValue("has more than " + strconv.FormatInt(min(p.max, maxList), 10) + " entries")
	}
	list := reflect.MakeSlice(v.Type(), len(parts), len(parts))
	for i, part := range parts {
		q := *p
		q.name, q.kind, q.max = p.name+"["+strconv.Itoa(i)+"]", v.Type().Elem().Kind(), maxText
		if err := bindMember(list.Index(i), &q, part, string(part) != "null"); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

// prefixPlace makes the place of a refused member that of the whole body.
func (p *param) prefixPlace(err error, by string) error {
	if err == nil {
		return nil
	}
	e := fault.As(err)
	if len(e.Fields) == 0 {
		return err
	}
	q := &param{name: p.name + by + e.Fields[0].Name}
	placed := fault.As(q.refuseValue(e.Fields[0].Msg))
	placed.Hint = e.Hint
	return placed
}
