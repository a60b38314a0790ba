package catalog

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

// Describe says what JSON value the field is in an answer, and what a request
// may give for it.
func (f *Field) Describe() schema.Shape {
	s := schema.Shape{
		Kind: [...]schema.Kind{schema.Text, schema.Integer, schema.Number, schema.Number, schema.Bool,
			schema.Text, schema.Text, schema.Text, schema.Any, schema.List}[f.Type],
		Title: f.Label, Doc: f.describeField(), Unit: f.Unit, Min: f.Min, Max: f.Max, MaxLen: f.MaxLen, Null: !f.Required,
	}
	switch f.Type {
	case Text:
		s.OneOf = f.OneOf
		s.Format = f.Format.schemaFormat()
	case UUID:
		s.Format = "uuid"
	case Time:
		s.Format = "date-time"
	case Date:
		s.Format = "date"
	case Array:
		s.Of = &schema.Shape{Kind: schema.Text, OneOf: f.OneOf}
		if f.Names != "" {
			s.Of.Format = "uuid"
		}
	case JSON:
		if f.Shape != nil {
			s.Kind, s.Members, s.Of = f.Shape.Kind, f.Shape.Members, f.Shape.Of
		}
	}
	return s
}

func (f Format) schemaFormat() string {
	if f == Email {
		return "email"
	}
	return ""
}

// describeField is the field's documentation, or what its name and reference say.
func (f *Field) describeField() string {
	switch {
	case f.Doc != "":
		return f.Doc
	case f.Ref != "":
		return "One of " + spokenName(f.Ref) + "."
	case f.Names != "":
		return f.Label + ": " + spokenName(f.Names) + " by " + NamedBy(f.Names) + "."
	}
	return f.Label + "."
}

func spokenName(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Maker says who decides a field's value in a new record.
type Maker uint8

// Makers of a value.
const (
	ByCaller Maker = iota // must be given
	ByEither              // may be given; the server has a value when it is not
	ByServer              // must not be given
)

// Made tells who decides the field's value in a new record.
func (f *Field) Made() Maker {
	if f.ReadOnly {
		return ByServer
	}
	if f.Required && f.Default == "" && !f.Filled && f.Name != "id" && f.Name != "tenant_id" {
		return ByCaller
	}
	return ByEither
}

// Secret reports a field that no member of a tenant ever sees.
func (f *Field) Secret() bool {
	return len(f.Readers) == 1 && f.Readers[0] == actor.Service
}
