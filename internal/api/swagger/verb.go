package swagger

import (
	"encoding/json"
	"strings"

	"holdfast/internal/schema"
	"holdfast/internal/verb"
)

// swaggerSchema is a schema of Swagger 2.0. It reads JSON Schema 2020-12 too, of which it
// leaves out what Swagger does not know.
type swaggerSchema struct {
	Ref         string                    `json:"$ref,omitempty"`
	Type        any                       `json:"type,omitempty"` // a name; when read, a list of names too
	Format      string                    `json:"format,omitempty"`
	Description string                    `json:"description,omitempty"`
	Enum        []any                     `json:"enum,omitempty"`
	Default     any                       `json:"default,omitempty"`
	Minimum     any                       `json:"minimum,omitempty"`
	Maximum     any                       `json:"maximum,omitempty"`
	MaxLength   int                       `json:"maxLength,omitempty"`
	ReadOnly    bool                      `json:"readOnly,omitempty"`
	Nullable    bool                      `json:"x-nullable,omitempty"`
	Required    []string                  `json:"required,omitempty"` // which must not be empty
	Properties  map[string]*swaggerSchema `json:"properties,omitempty"`
	Items       *swaggerSchema            `json:"items,omitempty"`
}

// addVerb describes a verb that the role may say.
func (w *writing) addVerb(v *verb.Verb) {
	if !v.Permits(w.role) {
		return
	}
	args := object{"name": "args", "in": "body", "required": true, "schema": w.inputSchema(v)}
	w.paths["/rpc/"+v.Name] = object{"post": object{
		"tags": []string{"(rpc) " + v.Name}, "summary": v.Doc,
		"parameters": []any{args}, "responses": object{"200": object{"description": "OK"}},
	}}
}

// inputSchema describes the body of a verb.
func (w *writing) inputSchema(v *verb.Verb) *swaggerSchema {
	out := &swaggerSchema{}
	text, err := json.Marshal(schema.Input(v.In).Schema())
	if err != nil || json.Unmarshal(text, out) != nil {
		return &swaggerSchema{Type: "object"}
	}
	w.simplifySchema(out)
	return out
}

// simplifySchema makes a schema that was read one of Swagger: one type at a time, no null,
// references to what is defined here.
func (w *writing) simplifySchema(s *swaggerSchema) {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		*s = swaggerSchema{Ref: "#/definitions/" + name}
		if w.definitions[name] == nil {
			*s = swaggerSchema{Type: "object"}
		}
		return
	}
	if names, ok := s.Type.([]any); ok {
		s.Type, s.Nullable = nil, true
		for _, name := range names {
			if name != "null" && s.Type == nil {
				s.Type = name
			}
		}
	}
	if s.Type == "array" && s.Items == nil {
		s.Items = &swaggerSchema{}
	}
	if s.Items != nil {
		w.simplifySchema(s.Items)
	}
	for _, member := range s.Properties {
		w.simplifySchema(member)
	}
}
