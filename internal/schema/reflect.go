package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/decimal"
)

// Of describes what a Go type is in an answer. The members of a struct are its
// fields with a json or a query tag, embedded structs counting as their fields;
// one without omitempty is always there. A pointer may be null. Further tags:
//
//	doc:"..." unit:"kg" format:"uuid" min:"0" max:"9" default:"1"
//	oneof:"a b" enum:"a,b"   closed set of a text
//	record:"zones"           a row of that collection, or a list of them
//	records:"zones"          a list of rows
//
// Of(nil) is an object without members.
func Of(v any) *Shape { return reader{}.topShape(v) }

// Input is Of for what a request gives: only a member with required:"true" must
// be there, and max bounds the length of a text.
func Input(v any) *Shape { return reader{input: true}.topShape(v) }

type reader struct{ input bool }

func (r reader) topShape(v any) *Shape {
	if v == nil {
		return &Shape{Kind: Object}
	}
	s := r.ofType(reflect.TypeOf(v))
	s.Null = false
	return &s
}

// known are types whose JSON form is not that of their Go kind.
var known = map[reflect.Type]Shape{
	reflect.TypeFor[time.Time]():       {Kind: Text, Format: "date-time"},
	reflect.TypeFor[uuid.UUID]():       {Kind: Text, Format: "uuid"},
	reflect.TypeFor[decimal.Dec]():     {Kind: Number},
	reflect.TypeFor[json.RawMessage](): {Kind: Any},
	reflect.TypeFor[json.Number]():     {Kind: Number},
}

// sequence is a type that is written as an array without being a slice.
type sequence interface{ Element() reflect.Type }

func (r reader) ofType(t reflect.Type) Shape {
	if s, ok := known[t]; ok {
		return s
	}
	if t.Implements(reflect.TypeFor[sequence]()) {
		seq, _ := reflect.Zero(t).Interface().(sequence)
		of := r.ofType(seq.Element())
		return Shape{Kind: List, Of: &of}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := r.ofType(t.Elem())
		s.Null = true
		return s
	case reflect.Struct:
		return Shape{Kind: Object, Members: r.membersOf(t)}
	case reflect.Slice, reflect.Array:
		of := r.ofType(t.Elem())
		return Shape{Kind: List, Of: &of}
	case reflect.Map:
		of := r.ofType(t.Elem())
		return Shape{Kind: Map, Of: &of}
	case reflect.String:
		return Shape{Kind: Text}
	case reflect.Bool:
		return Shape{Kind: Bool}
	case reflect.Float32, reflect.Float64:
		return Shape{Kind: Number}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Shape{Kind: Integer}
	}
	return Shape{Kind: Any}
}

func (r reader) membersOf(t reflect.Type) []Member {
	var out []Member
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Tag.Get("json") == "" {
			if e := f.Type; e.Kind() == reflect.Struct {
				out = append(out, r.membersOf(e)...)
				continue
			} else if e.Kind() == reflect.Pointer && e.Elem().Kind() == reflect.Struct {
				out = append(out, makeOptional(r.membersOf(e.Elem()))...)
				continue
			}
		}
		if m, ok := r.memberOf(f); ok {
			out = append(out, m)
		}
	}
	return out
}

// makeOptional are members of an embedded object that may be absent as a whole.
func makeOptional(ms []Member) []Member {
	for i := range ms {
		ms[i].Required = false
	}
	return ms
}

// memberOf is a struct field as its tags describe it. Arguments of a query are
// named by query, everything else by json.
func (r reader) memberOf(f reflect.StructField) (Member, bool) {
	tag := f.Tag
	name, options, _ := strings.Cut(tag.Get("json"), ",")
	required := !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
	if q := tag.Get("query"); q != "" {
		name = q
	}
	if name == "" || name == "-" || !f.IsExported() {
		return Member{}, false
	}
	if r.input {
		required = tag.Get("required") == "true"
	}
	s := r.ofType(f.Type)
	s.ofRecords(tag)
	s.describeBy(tag)
	return Member{Name: name, Required: required, Shape: s}, true
}

// ofRecords makes rows of what a tag says are rows.
func (s *Shape) ofRecords(tag reflect.StructTag) {
	if rows := tag.Get("records"); rows != "" {
		*s = Shape{Kind: List, Of: &Shape{Kind: Record, Rows: rows}, Null: s.Null}
		return
	}
	rows := tag.Get("record")
	if rows == "" {
		return
	}
	record := Shape{Kind: Record, Rows: rows}
	if s.Kind == List {
		s.Of = &record
		return
	}
	record.Null = s.Null
	*s = record
}

func (s *Shape) describeBy(tag reflect.StructTag) {
	s.Doc, s.Unit, s.Default = tag.Get("doc"), tag.Get("unit"), tag.Get("default")
	at := s
	for at.Kind == List || at.Kind == Map { // format, set and bounds are those of the values inside
		at = at.Of
	}
	if at.Kind == Text {
		at.MaxLen, _ = strconv.Atoi(tag.Get("max"))
	} else {
		at.Min, at.Max = tag.Get("min"), tag.Get("max")
	}
	if format := tag.Get("format"); format != "" {
		at.Format = format
	}
	if set := tag.Get("oneof"); set != "" {
		at.OneOf = strings.Fields(set)
	}
	if set := tag.Get("enum"); set != "" {
		at.OneOf = strings.FieldsFunc(set, func(r rune) bool { return r == ',' || r == ' ' })
	}
}
