package event

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"holdfast/internal/catalog"
)

type object = map[string]any

// Schema is the JSON Schema (2020-12, as OpenAPI 3.1 has it) of an event of
// this type as it is sent.
func (t *Type) Schema(c *catalog.Catalog) map[string]any {
	return object{
		"description": t.Doc, "type": "object", "allOf": []any{object{"$ref": "#/components/schemas/EventHead"}},
		"properties": object{"type": object{"const": t.Name}, "data": t.dataSchema(c)},
	}
}

// Head is the schema of what every event has.
func Head() map[string]any {
	return object{
		"type": "object", "description": "What every event has.",
		"required": []string{"type", "timestamp", "id", "tenant_id", "data"},
		"properties": object{
			"type":      object{"type": "string", "description": "Type of the event."},
			"timestamp": object{"type": "string", "format": "date-time", "description": "When it happened."},
			"id": object{"type": "string", "format": "uuid",
				"description": "The same in every delivery; use it to notice repeats."},
			"tenant_id": object{"type": "string", "format": "uuid", "description": "The tenant it happened in."},
			"data":      object{"type": "object", "description": "What happened."},
		},
	}
}

func (t *Type) dataSchema(c *catalog.Catalog) object {
	props, required := object{}, []string{}
	for _, m := range t.Members {
		props[m.Name] = object{"type": m.Type, "description": m.Doc}
		required = append(required, m.Name)
	}
	if r, ok := c.Get(t.Collection); ok {
		for _, name := range t.Fields {
			if f, ok := r.Field(name); ok {
				props[name] = fieldSchema(r, f)
				required = append(required, name)
			}
		}
	}
	return object{"type": "object", "properties": props, "required": required}
}

// fieldSchema describes a field as its collection does, with its unit. Words are absent where the
// record is for named readers only.
func fieldSchema(r *catalog.Resource, f *catalog.Field) object {
	s := f.Describe()
	s.Title = ""
	s.Null = s.Null || !f.Required && f.Name != "id" || r.Seal != nil && f.TellsText()
	return s.Schema()
}

// Webhooks is the "webhooks" member of an OpenAPI 3.1 document: one address takes
// every type, told apart by the event's type; and for its components the schemas
// of events, by type, and of what several of them tell.
func Webhooks(c *catalog.Catalog) (hooks, schemas map[string]any) {
	schemas = sharedSchemas(c)
	types := Types()
	each := make([]any, len(types))
	for i := range types {
		schemas[types[i].Name] = types[i].referringSchema(c, schemas)
		each[i] = object{"$ref": "#/components/schemas/" + types[i].Name}
	}
	schemas["AnyEvent"] = object{"description": "An event; type says which.", "oneOf": each,
		"discriminator": object{"propertyName": "type"}}
	return object{"event": object{"post": object{
		"summary": "What a webhook is sent", "tags": []string{"events"}, "operationId": "receive_event",
		"parameters": []any{headerOf("event-id"), headerOf("sent-at"), headerOf("signature")},
		"requestBody": object{"required": true,
			"content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/AnyEvent"}}}},
		"responses": object{"2XX": responseRef("Taken")},
	}}}, schemas
}

// sharedSchemas are the schemas of what more than one type tells of a collection's
// records, named collection.event.
func sharedSchemas(c *catalog.Catalog) object {
	out, seen := object{}, map[string][]*Type{}
	types := Types()
	for i := range types {
		t := &types[i]
		key := t.Collection + " " + strings.Join(t.Fields, " ")
		if len(t.Members) == 0 && len(t.Fields) > 1 {
			seen[key] = append(seen[key], t)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		same := seen[key]
		if name := same[0].Collection + ".event"; len(same) > 1 && out[name] == nil {
			out[name] = same[0].dataSchema(c)
		}
	}
	return out
}

// referringSchema is the schema of an event whose data may be written elsewhere.
func (t *Type) referringSchema(c *catalog.Catalog, shared object) object {
	s := t.Schema(c)
	delete(s, "type") // Event says it
	name := t.Collection + ".event"
	props := s["properties"].(object)
	if other, ok := shared[name]; ok && reflect.DeepEqual(other, props["data"]) {
		props["data"] = object{"$ref": "#/components/schemas/" + name}
	}
	return s
}

// WebhookParameters are the headers that events are sent with, by name.
func WebhookParameters() map[string]any {
	return object{
		"event-id": signedHeader("webhook-id", "string", "Id of the event."),
		"sent-at":  signedHeader("webhook-timestamp", "string", "Unix seconds of this attempt."),
		"signature": signedHeader("webhook-signature", "string",
			"v1,<base64 HMAC-SHA256 of id.timestamp.body>; two, with a space between, while a secret is being rotated."),
	}
}

func headerOf(name string) object { return object{"$ref": "#/components/parameters/" + name} }

func responseRef(name string) object { return object{"$ref": "#/components/responses/" + name} }

func signedHeader(name, kind, doc string) object {
	return object{"name": name, "in": "header", "required": true, "description": doc, "schema": object{"type": kind}}
}
