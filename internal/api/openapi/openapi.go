// Package openapi writes the OpenAPI 3.1 description of what is served: collections,
// functions, verbs, routes and events, for one role.
//
// Layer: endpoints. Begin at [Build].
package openapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/catalog"
	"holdfast/internal/event"
	"holdfast/internal/functions"
	"holdfast/internal/verb"
)

// Source is what there is to describe, and the address it is served at.
type Source struct {
	URL       string
	Version   string
	Catalog   *catalog.Catalog
	Functions []functions.Function
	Verbs     []verb.Verb
	Routes    []route.Route
}

type object = map[string]any

// writing is one document in the making.
type writing struct {
	role      actor.Role
	url       string
	paths     object
	schemas   object
	params    object
	responses object
	bodies    object
	tags      map[string]string // tag -> description
}

// Build describes what a role may use; the service role may use all. What a route
// asks of its caller besides a credential its summary says.
func Build(d Source, role actor.Role) map[string]any {
	w := &writing{role: role, url: d.URL, paths: object{}, schemas: errorSchemas(), params: commonParameters(),
		responses: commonResponses(), bodies: object{}, tags: map[string]string{}}
	for _, r := range d.Catalog.All() {
		w.writeCollection(r)
	}
	for i := range d.Functions {
		w.writeFunction(&d.Functions[i])
	}
	for i := range d.Verbs {
		w.writeVerb(&d.Verbs[i])
	}
	for _, r := range d.Routes {
		if !r.Unlisted && (r.Who.Anyone() || role != actor.Anon) {
			w.writeRoute(r)
		}
	}
	hooks, of := event.Webhooks(d.Catalog)
	maps.Copy(w.schemas, of)
	w.shareBodies()
	w.tags["events"] = "What happens in a tenant, as it is sent to webhooks."
	return object{
		"openapi": "3.1.0",
		"info":    d.infoObject(),
		"servers": []any{
			object{"url": d.URL, "description": "Everything."},
			object{"url": d.URL + "/rest",
				"description": "Collections and verbs again, under the prefix of supabase-js: /rest/v1."},
		},
		"tags":       w.tagList(),
		"paths":      w.paths,
		"webhooks":   hooks,
		"components": w.componentsObject(),
		"security":   []any{object{"bearer": []string{}}, object{"bearer": []string{}, "apikey": []string{}}},
	}
}

func (d Source) infoObject() object {
	return object{
		"title": "Holdfast", "version": d.Version,
		"description": "Warehouse, logistics and workplace safety for many tenants. Collections speak the grammar of PostgREST, identity speaks to supabase-js. " +
			"Every column of a collection can be filtered and sorted by.",
		"license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
		"contact": object{"name": "The operator of this server", "url": d.URL},
	}
}

func (w *writing) componentsObject() object {
	return object{
		"schemas": w.schemas, "parameters": w.params, "responses": w.responses, "requestBodies": w.bodies,
		"securitySchemes": object{
			"bearer": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
				"description": "An access token, or the service key."},
			"apikey": object{"type": "apiKey", "in": "header", "name": "apikey",
				"description": "The anonymous key; recommended beside a token."},
		},
	}
}

// commonResponses are those of many operations. Every refusal may be that of a
// rate limit.
func commonResponses() object {
	refusal := func(of string) object {
		return answerObject("Refused; 429 when there are too many requests.",
			object{"anyOf": []any{schemaRef(of), schemaRef("RateLimitError")}})
	}
	return object{
		"Error":         refusal("CollectionError"),
		"FunctionError": refusal("FunctionError"),
		"AuthError":     refusal("IdentityError"),
		"Done":          object{"description": "Done; there is no body."},
		"Taken":         object{"description": "Taken. 410 asks never to send here again, 429 to come back after Retry-After."},
	}
}

func (w *writing) tagList() []any {
	names := make([]string, 0, len(w.tags))
	for name := range w.tags {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = object{"name": name, "description": w.tags[name]}
	}
	return out
}

// setServer says that a path is not served below the second server. The address
// is that of the document, so it need not be said.
func (w *writing) setServer(item object) object {
	item["servers"] = []any{object{"url": "/"}}
	if u, err := url.Parse(w.url); err != nil || u.Path != "" {
		item["servers"] = []any{object{"url": w.url}}
	}
	return item
}

func schemaRef(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func responseRef(what string) object { return object{"$ref": "#/components/responses/" + what} }

func parameterRef(name string) object { return object{"$ref": "#/components/parameters/" + name} }

func jsonContent(schema object) object { return object{"application/json": object{"schema": schema}} }

func answerObject(doc string, schema object) object {
	return object{"description": doc, "content": jsonContent(schema)}
}

func spacedName(name string) string { return strings.ReplaceAll(name, "_", " ") }

// exampleID stands for any record.
const exampleID = "0190c000-0000-7000-8000-000000000001"

func queryParameter(name, doc string, example any) object {
	return object{"name": name, "in": "query", "description": doc, "schema": object{"type": "string"}, "example": example}
}

func headerParameter(name, doc string, example any) object {
	return object{"name": name, "in": "header", "description": doc, "schema": object{"type": "string"}, "example": example}
}

// commonParameters are those of many operations.
func commonParameters() object {
	out := event.WebhookParameters()
	maps.Copy(out, object{
		"rows": object{"name": "rows", "in": "query", "style": "form", "explode": true,
			"description": "Which rows: conditions by column, or and and take (condition,condition). What to answer of them, and what to read of a body.",
			"schema": object{"type": "object", "additionalProperties": schemaRef("Filter"), "properties": object{
				"select": object{"type": "string",
					"description": "Columns, embedded relations and aggregates (total_value.sum(), count()), comma separated; everything when absent."},
				"order": object{"type": "string",
					"description": "column.asc|desc.nullsfirst|nullslast, comma separated; id comes last. Of groups also an aggregate's name."},
				"limit": object{"type": "integer", "minimum": 0,
					"description": "Of GET: rows at most; 1,000 when absent or greater."},
				"offset": object{"type": "integer", "minimum": 0, "description": "Of GET: rows to pass over."},
				"cursor": object{"type": "string",
					"description": "Of GET: where to go on, from the Link of a full page; in the place of offset."},
				"columns": object{"type": "string",
					"description": "Of POST: columns to read from the body; other members are ignored."},
				"on_conflict": object{"type": "string", "description": "Of POST: columns of the unique key to upsert by."}}},
			"example": object{"select": "*", "order": "id.desc", "limit": 5}},
		"select": queryParameter("select", "Columns and embedded relations, comma separated; everything when absent.", "id"),
		"prefer": headerParameter("Prefer", "return=, resolution=, missing=, count=, tx=, max-affected=, handling=.",
			"return=representation"),
		"id": object{"name": "id", "in": "path", "required": true, "description": "The record.",
			"schema": object{"type": "string", "format": "uuid"}, "example": exampleID},
		// No example: a form would send it with every request, and each but the
		// first be refused.
		"key": object{"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "maxLength": 255},
			"description": "Names a write, so that a repeat within 24 hours is answered as before (Idempotent-Replayed: true) and not done again; " +
				"422 with another request, 409 while the first runs."},
	})
	return out
}
