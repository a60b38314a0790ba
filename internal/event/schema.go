package event

import "holdfast/internal/catalog"

type object = map[string]any

// Schema is the JSON Schema (2020-12, as OpenAPI 3.1 has it) of an event of
// this type as it is sent.
func (t *Type) Schema(c *catalog.Catalog) map[string]any {
	return object{
		"type": "object", "description": t.Doc, "required": []string{"type", "timestamp", "id", "tenant_id", "data"},
		"properties": object{
			"type":      object{"const": t.Name},
			"timestamp": object{"type": "string", "format": "date-time", "description": "When it happened."},
			"id":        object{"type": "string", "format": "uuid", "description": "The same in every delivery; use it to notice repeats."},
			"tenant_id": object{"type": "string", "format": "uuid"},
			"data":      t.data(c),
		},
	}
}

func (t *Type) data(c *catalog.Catalog) object {
	props, required := object{}, []string{}
	for _, m := range t.Members {
		props[m.Name] = object{"type": m.Type, "description": m.Doc}
		required = append(required, m.Name)
	}
	if r, ok := c.Get(t.Collection); ok {
		for _, name := range t.Fields {
			if f, ok := r.Field(name); ok {
				props[name] = fieldSchema(f)
				required = append(required, name)
			}
		}
	}
	return object{"type": "object", "properties": props, "required": required}
}

func fieldSchema(f *catalog.Field) object {
	kind := map[catalog.Type]string{catalog.Int: "integer", catalog.Decimal: "number", catalog.Float: "number", catalog.Bool: "boolean", catalog.Array: "array"}[f.Type]
	if kind == "" {
		kind = "string"
	}
	s := object{"type": kind}
	if !f.Required && f.Name != "id" {
		s["type"] = []string{kind, "null"}
	}
	if format := map[catalog.Type]string{catalog.UUID: "uuid", catalog.Time: "date-time", catalog.Date: "date"}[f.Type]; format != "" {
		s["format"] = format
	}
	if f.Doc != "" {
		s["description"] = f.Doc
	}
	return s
}

// Webhooks is the "webhooks" member of an OpenAPI 3.1 document: one entry for
// each type, keyed by its name.
func Webhooks(c *catalog.Catalog) map[string]any {
	out := object{}
	for _, t := range Types() {
		out[t.Name] = object{"post": object{
			"summary": t.Doc, "tags": []string{"events"},
			"parameters": []any{
				signed("webhook-id", "string", "Id of the event."),
				signed("webhook-timestamp", "string", "Unix seconds of this attempt."),
				signed("webhook-signature", "string", "v1,<base64 HMAC-SHA256 of id.timestamp.body>; two, with a space between, while a secret is being rotated."),
			},
			"requestBody": object{"required": true, "content": object{"application/json": object{"schema": t.Schema(c)}}},
			"responses": object{
				"2XX": object{"description": "Taken."},
				"410": object{"description": "Never send here again: the webhook is disabled."},
				"429": object{"description": "Later: Retry-After is obeyed."},
			},
		}}
	}
	return out
}

func signed(name, kind, doc string) object {
	return object{"name": name, "in": "header", "required": true, "description": doc, "schema": object{"type": kind}}
}
