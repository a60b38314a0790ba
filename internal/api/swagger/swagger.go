// Package swagger describes collections and verbs as PostgREST does at its root:
// in Swagger 2.0, for the tools that read what a server has before they ask it for
// a row (react-admin's guessers, n8n).
//
// Layer: endpoints. Begin at [Build].
package swagger

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/verb"
)

type object = map[string]any

// Source is what is described.
type Source struct {
	URL     string // of the server
	Version string
	Catalog *catalog.Catalog
	Verbs   []verb.Verb
}

// writing is one document in the making.
type writing struct {
	role        actor.Role
	paths       object
	definitions object
	parameters  object
}

// Build describes what a role may use below a prefix, such as /rest/v1. Paths are
// relative to it.
func Build(s Source, role actor.Role, prefix string) object {
	w := &writing{role: role, paths: rootPath(), definitions: object{}, parameters: commonParameters()}
	for _, r := range s.Catalog.All() {
		w.addCollection(r)
	}
	for i := range s.Verbs {
		w.addVerb(&s.Verbs[i])
	}
	host, scheme, base := "", "http", prefix
	if u, err := url.Parse(s.URL); err == nil {
		host, scheme, base = u.Host, u.Scheme, strings.TrimSuffix(u.Path, "/")+prefix
	}
	media := []string{"application/json", "application/vnd.pgrst.object+json", "text/csv"}
	return object{
		"swagger": "2.0",
		"info": object{"title": "Holdfast", "version": s.Version,
			"description": "Collections and verbs in the grammar of PostgREST; /openapi.json describes all of the server."},
		"host": host, "basePath": base, "schemes": []string{scheme}, "consumes": media, "produces": media,
		"paths": w.paths, "definitions": w.definitions, "parameters": w.parameters,
		"securityDefinitions": object{
			"bearer": object{"type": "apiKey", "in": "header", "name": "Authorization", "description": "Bearer TOKEN."},
			"apikey": object{"type": "apiKey", "in": "header", "name": "apikey", "description": "The anonymous key."},
		},
		"security":     []any{object{"bearer": []string{}}, object{"bearer": []string{}, "apikey": []string{}}},
		"externalDocs": object{"description": "The whole server in OpenAPI 3.1", "url": s.URL + "/openapi.json"},
	}
}

// rootPath is the path of the document itself.
func rootPath() object {
	get := object{"tags": []string{"Introspection"}, "summary": "This document",
		"produces": []string{"application/openapi+json"}, "responses": object{"200": object{"description": "OK"}}}
	return object{"/": object{"get": get}}
}

// addCollection describes a collection that the role may use.
func (w *writing) addCollection(r *catalog.Resource) {
	filters := w.filtersOf(r)
	ops := object{}
	rows := object{"description": "OK", "schema": object{"type": "array", "items": definitionRef(r.Name)}}
	add := func(method, summary string, grants []catalog.Grant, answers object, parameters ...string) {
		if _, may := catalog.Find(grants, w.role); may {
			ops[method] = object{"tags": []string{r.Name}, "summary": summary, "responses": answers,
				"parameters": parameterRefs(parameters)}
		}
	}
	read := append(slices.Clone(filters), "select", "order", "range", "rangeUnit", "offset", "limit", "preferCount")
	write := append(slices.Clone(filters), "select", "preferReturn")
	add("get", r.Doc, r.Access.Read, object{"200": rows, "206": object{"description": "Partial Content"}}, read...)
	add("post", "Create rows", r.Access.Create, object{"201": object{"description": "Created"}},
		"body."+r.Name, "select", "columns", "on_conflict", "preferPost")
	if !r.AppendOnly {
		done := object{"204": object{"description": "No Content"}}
		add("patch", "Change rows", r.Access.Update, done, append(slices.Clone(write), "body."+r.Name)...)
		add("delete", "Delete rows", r.Access.Delete, done, write...)
	}
	if len(ops) == 0 {
		for _, name := range filters {
			delete(w.parameters, name)
		}
		return
	}
	w.paths["/"+r.Name] = ops
	w.definitions[r.Name] = w.defineRow(r)
	bodyName := "body." + r.Name
	w.parameters[bodyName] = object{"name": r.Name, "in": "body", "required": false, "description": r.Doc,
		"schema": definitionRef(r.Name)}
}

// filtersOf names the filters by column, and defines them.
func (w *writing) filtersOf(r *catalog.Resource) (names []string) {
	for i := range r.Fields {
		f := &r.Fields[i]
		if !f.Visible(w.role) {
			continue
		}
		name := "rowFilter." + r.Name + "." + f.Name
		w.parameters[name] = object{"name": f.Name, "in": "query", "required": false, "type": "string",
			"format": columnTypes[f.Type].format, "description": f.Doc}
		names = append(names, name)
	}
	return names
}

// defineRow describes a row with the columns that the role sees. Primary and foreign
// keys are marked in the description as PostgREST marks them: tools look for that.
func (w *writing) defineRow(r *catalog.Resource) *swaggerSchema {
	out := &swaggerSchema{Type: "object", Description: r.Doc, Properties: map[string]*swaggerSchema{}}
	for i := range r.Fields {
		f := &r.Fields[i]
		if !f.Visible(w.role) {
			continue
		}
		out.Properties[f.Name] = defineColumn(f)
		if f.Name == "id" || f.Made() == catalog.ByCaller {
			out.Required = append(out.Required, f.Name)
		}
	}
	return out
}

// columnTypes are types of columns as PostgREST tells them; a document is of any
// type.
var columnTypes = map[catalog.Type]struct {
	kind   any
	format string
}{
	catalog.Text: {"string", "text"}, catalog.Int: {"integer", "bigint"}, catalog.Decimal: {"number", "numeric"},
	catalog.Float: {"number", "double precision"}, catalog.Bool: {"boolean", "boolean"}, catalog.UUID: {"string", "uuid"},
	catalog.Time: {"string", "timestamp with time zone"}, catalog.Date: {"string", "date"}, catalog.JSON: {nil, "jsonb"},
	catalog.Array: {"array", "text[]"},
}

func defineColumn(f *catalog.Field) *swaggerSchema {
	t := columnTypes[f.Type]
	out := &swaggerSchema{Type: t.kind, Format: t.format, ReadOnly: f.ReadOnly && f.Name != "id"}
	if f.Type == catalog.Array {
		out.Items = &swaggerSchema{Type: "string"}
	}
	if f.Type == catalog.Text {
		out.MaxLength = f.MaxLen
		for _, word := range f.OneOf {
			out.Enum = append(out.Enum, word)
		}
	}
	out.Description = f.Doc
	if f.Name == "id" {
		out.Description += "\n\nNote:\nThis is a Primary Key.<pk/>"
	} else if f.Ref != "" && f.Type == catalog.UUID {
		out.Description += "\n\nNote:\nThis is a Foreign Key to `" + f.Ref + ".id`.<fk table='" + f.Ref + "' column='id'/>"
	}
	out.Description = strings.TrimSpace(out.Description)
	return out
}

func definitionRef(name string) object { return object{"$ref": "#/definitions/" + name} }

func parameterRefs(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = object{"$ref": "#/parameters/" + name}
	}
	return out
}

// commonParameters are those of many operations.
func commonParameters() object {
	text := func(in, name, doc string, oneOf ...string) object {
		out := object{"name": name, "in": in, "required": false, "type": "string", "description": doc}
		if len(oneOf) > 0 {
			maps.Copy(out, object{"enum": oneOf})
		}
		return out
	}
	return object{
		"select":      text("query", "select", "Columns and embedded relations"),
		"columns":     text("query", "columns", "Columns to read from the body"),
		"order":       text("query", "order", "Ordering"),
		"offset":      text("query", "offset", "Rows to pass over"),
		"limit":       text("query", "limit", "Rows at most"),
		"on_conflict": text("query", "on_conflict", "Columns of the unique key to upsert by"),
		"range":       text("header", "Range", "Rows from and to, from 0"),
		"rangeUnit":   text("header", "Range-Unit", "items"),
		"preferCount": text("header", "Prefer", "Whether rows are counted", "count=none", "count=exact"),
		"preferReturn": text("header", "Prefer", "What is answered to a write", "return=representation", "return=minimal",
			"return=none"),
		"preferPost": text("header", "Prefer", "What is answered, and how a row that is there is met",
			"return=representation", "return=minimal", "resolution=ignore-duplicates", "resolution=merge-duplicates"),
	}
}
