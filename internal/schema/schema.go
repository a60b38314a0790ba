// Package schema describes the structure of JSON values: a column of the
// catalog, a document in a column, what a function takes and answers. From one
// description come the check of a written value, the schema in the API document
// and the types of generated clients, so that none of them can say something
// else than another.
//
// Layer: foundations. Begin at [Of].
package schema

import (
	"encoding/json"
	"slices"
)

// Kind is the JSON type of a value.
type Kind uint8

// Kinds of values.
const (
	Any     Kind = iota // any JSON value
	Text                // string
	Integer             // number without a fraction
	Number              // number
	Bool                // true or false
	Object              // object with Members; further members may stand beside them
	List                // array whose elements are Of
	Map                 // object whose values are Of
	Record              // row of the collection Rows
)

// Shape describes one JSON value.
type Shape struct {
	Kind     Kind
	Title    string   // label shown to people
	Doc      string   // plain sentences
	Unit     string   // kg, m, percent; empty for counts and texts
	Format   string   // of Text: uuid, date-time, date, email, uri
	OneOf    []string // closed set of Text
	Min, Max string   // inclusive bounds of a number, as decimals
	MaxLen   int      // characters of Text, elements of List; 0 = not limited here
	Default  string   // value that counts when absent, as text
	Null     bool     // null stands for no value
	Members  []Member // of Object
	Of       *Shape   // of List and Map
	Rows     string   // of Record: the collection
}

// Member is one named value of an object.
type Member struct {
	Name     string
	Required bool // always present in an answer; must be given in a request
	Shape
}

// AnyName is the name below components/schemas of what may be any JSON value.
const AnyName = "AnyValue"

// Schema returns the JSON Schema (draft 2020-12, as OpenAPI 3.1 has it).
// Records, and values of any kind, become references to components/schemas.
func (s *Shape) Schema() map[string]any {
	if s.Kind == Record {
		return s.recordSchema()
	}
	m := s.typeSchema()
	s.describeIn(m)
	s.limitIn(m)
	switch s.Kind {
	case Object:
		s.objectSchema(m)
	case List:
		m["items"] = s.Of.Schema()
	case Map:
		m["additionalProperties"] = s.Of.Schema()
	}
	return m
}

// typeSchema says of which type the value is.
func (s *Shape) typeSchema() map[string]any {
	if s.Kind == Any {
		return map[string]any{"$ref": "#/components/schemas/" + AnyName}
	}
	name := s.typeName()
	if s.Null {
		return map[string]any{"type": []string{name, "null"}}
	}
	return map[string]any{"type": name}
}

func (s *Shape) recordSchema() map[string]any {
	ref := map[string]any{"$ref": "#/components/schemas/" + s.Rows}
	if s.Null {
		return map[string]any{"anyOf": []any{ref, map[string]any{"type": "null"}}}
	}
	return ref
}

func (s *Shape) typeName() string {
	return [...]string{Text: "string", Integer: "integer", Number: "number", Bool: "boolean", Object: "object",
		List: "array", Map: "object", Record: "object"}[s.Kind]
}

func (s *Shape) describeIn(m map[string]any) {
	if s.Title != "" {
		m["title"] = s.Title
	}
	if doc := s.Description(); doc != "" {
		m["description"] = doc
	}
	if s.Format != "" {
		m["format"] = s.Format
	}
	if s.Default != "" {
		m["default"] = s.literalValue(s.Default)
	}
}

// Description is the documentation with the unit.
func (s *Shape) Description() string {
	if s.Unit == "" {
		return s.Doc
	}
	if s.Doc == "" {
		return "Unit: " + s.Unit + "."
	}
	return s.Doc + " Unit: " + s.Unit + "."
}

func (s *Shape) limitIn(m map[string]any) {
	if len(s.OneOf) > 0 && s.Kind == Text {
		values := make([]any, 0, len(s.OneOf)+1)
		for _, v := range s.OneOf {
			values = append(values, v)
		}
		if s.Null {
			values = append(values, nil)
		}
		m["enum"] = values
	}
	if s.Min != "" {
		m["minimum"] = json.Number(s.Min)
	}
	if s.Max != "" {
		m["maximum"] = json.Number(s.Max)
	}
	if s.MaxLen > 0 && s.Kind == Text && len(s.OneOf) == 0 {
		m["maxLength"] = s.MaxLen
	} else if s.MaxLen > 0 && s.Kind == List {
		m["maxItems"] = s.MaxLen
	}
}

func (s *Shape) objectSchema(m map[string]any) {
	props, required := map[string]any{}, []string{}
	for i := range s.Members {
		props[s.Members[i].Name] = s.Members[i].Schema()
		if s.Members[i].Required {
			required = append(required, s.Members[i].Name)
		}
	}
	m["properties"] = props
	if len(required) > 0 {
		slices.Sort(required)
		m["required"] = required
	}
}

// literalValue is a text as the JSON value of the shape's kind.
func (s *Shape) literalValue(text string) any {
	switch s.Kind {
	case Integer, Number:
		return json.Number(text)
	case Bool:
		return text == "true"
	case Text:
		return text
	}
	return json.RawMessage(text)
}

// Records calls each with the collections whose rows the shape holds.
func (s *Shape) Records(each func(collection string)) {
	if s.Kind == Record {
		each(s.Rows)
	}
	if s.Of != nil {
		s.Of.Records(each)
	}
	for i := range s.Members {
		s.Members[i].Records(each)
	}
}
