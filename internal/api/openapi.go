package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/event"
	"holdfast/internal/functions"
	"holdfast/internal/rpc"
	"holdfast/internal/web"
)

// Route is one served path. The server's route table is a list of these, and
// so is the part of the OpenAPI document that is no collection.
type Route struct {
	Pattern string // http.ServeMux path pattern
	Methods []string
	Tag     string
	Doc     string
	Public  bool // served without a credential
	Keyed   bool // takes an Idempotency-Key
	Handler http.Handler
	Body    map[string]string // request members: name -> type, for the document
}

// Document writes the OpenAPI 3.1 description of what is served.
type Document struct {
	URL       string
	Version   string
	Catalog   *catalog.Catalog
	Functions []functions.Function
	Verbs     []rpc.Verb
	Routes    []Route

	mu    sync.Mutex
	ready map[actor.Role][]byte
}

type object = map[string]any

// Handler serves the whole document.
func (d *Document) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.send(w, r, actor.Service, "application/json") })
}

func (d *Document) send(w http.ResponseWriter, r *http.Request, role actor.Role, mediaType string) {
	b, err := d.For(role)
	if err != nil {
		web.Fail(w, r, CollectionShape, err)
		return
	}
	w.Header().Set("Content-Type", mediaType+"; charset=utf-8")
	w.Write(b)
}

// For returns the document with the collections, functions and routes that a
// role may use; the service role may use all. What a route asks of its caller
// besides a credential its summary says.
func (d *Document) For(role actor.Role) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.ready[role]; b != nil {
		return b, nil
	}
	b, err := json.Marshal(d.build(role))
	if err != nil {
		return nil, fmt.Errorf("api: write openapi: %w", err)
	}
	if d.ready == nil {
		d.ready = map[actor.Role][]byte{}
	}
	d.ready[role] = b
	return b, nil
}

func (d *Document) build(role actor.Role) object {
	paths, schemas := object{}, object{"CollectionError": collectionErrorSchema(), "FunctionError": functionErrorSchema(), "RateLimitError": rateLimitSchema()}
	for _, r := range d.Catalog.All() {
		ops := collectionOperations(r, role)
		if len(ops) == 0 {
			continue
		}
		schemas[r.Name] = recordSchema(r, role)
		paths["/v1/"+r.Name] = ops
		paths["/rest/v1/"+r.Name] = ops
		if one := recordOperations(r, role); len(one) > 0 {
			paths["/v1/"+r.Name+"/{id}"] = one
			paths["/rest/v1/"+r.Name+"/{id}"] = one
		}
	}
	for i := range d.Functions {
		fn := &d.Functions[i]
		if !mayCall(fn, role) {
			continue
		}
		ops := functionOperations(fn)
		paths["/functions/v1/"+fn.Name] = ops
		if fn.Alias != "" {
			paths["/functions/v1/"+fn.Alias] = ops
		}
	}
	for _, r := range d.Routes {
		if r.Public || role != actor.Anon {
			addRoute(paths, r)
		}
	}
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "Holdfast", "version": d.Version,
			"description": "Warehouse, logistics and workplace safety for many tenants. Collections speak the PostgREST grammar, identity speaks to supabase-js."},
		"servers":  []any{object{"url": d.URL}},
		"paths":    paths,
		"webhooks": event.Webhooks(d.Catalog),
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
				"apikey": object{"type": "apiKey", "in": "header", "name": "apikey"},
			},
		},
		"security": []any{object{"bearer": []string{}}, object{"bearer": []string{}, "apikey": []string{}}},
	}
}

// mayCall reports whether members with a role may call a function.
func mayCall(fn *functions.Function, role actor.Role) bool {
	if len(fn.Roles) == 0 {
		return role != actor.Anon && role != ""
	}
	return role == actor.Service || slices.Contains(fn.Roles, role)
}

func addRoute(paths object, r Route) {
	path := strings.TrimSuffix(r.Pattern, "{$}")
	ops, ok := paths[path].(object)
	if !ok {
		ops = object{}
	} else { // the item may be shared between two paths: do not write into it
		copied := object{}
		for k, v := range ops {
			copied[k] = v
		}
		ops = copied
	}
	for _, m := range r.Methods {
		op := object{"summary": r.Doc, "tags": []string{r.Tag}, "responses": object{"default": object{"description": "See the summary."}}}
		ps := pathParameters(path)
		if r.Keyed && m == http.MethodPost {
			ps = append(ps, keyParameter())
		}
		if len(ps) > 0 {
			op["parameters"] = ps
		}
		if r.Public {
			op["security"] = []any{object{}}
		}
		if len(r.Body) > 0 && m != http.MethodGet && m != http.MethodDelete {
			op["requestBody"] = routeBody(r)
		}
		ops[strings.ToLower(m)] = op
	}
	paths[path] = ops
}

func pathParameters(path string) []any {
	var out []any
	for _, seg := range strings.Split(path, "/") {
		if strings.HasPrefix(seg, "{") && strings.HasSuffix(seg, "}") {
			out = append(out, object{"name": strings.Trim(seg, "{}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	return out
}

func routeBody(r Route) object {
	props, media := object{}, "application/json"
	for name, t := range r.Body {
		if t == "file" {
			media = "multipart/form-data"
			props[name] = object{"type": "string", "contentMediaType": "application/octet-stream"}
			continue
		}
		props[name] = object{"type": t}
	}
	return object{"content": object{media: object{"schema": object{"type": "object", "properties": props}}}}
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func content(schema object) object {
	return object{"application/json": object{"schema": schema}}
}

// recordSchema describes one row as the role sees it.
func recordSchema(r *catalog.Resource, role actor.Role) object {
	props := object{}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Visible(role) {
			props[f.Name] = fieldSchema(f)
		}
	}
	return object{"type": "object", "description": r.Doc, "properties": props}
}

func fieldSchema(f *catalog.Field) object {
	s := object{"title": f.Label}
	jsonType := map[catalog.Type]string{
		catalog.Text: "string", catalog.Int: "integer", catalog.Decimal: "number", catalog.Float: "number",
		catalog.Bool: "boolean", catalog.UUID: "string", catalog.Time: "string", catalog.Date: "string", catalog.Array: "array",
	}[f.Type]
	if jsonType != "" {
		s["type"] = jsonType
		if !f.Required {
			s["type"] = []string{jsonType, "null"}
		}
	}
	if format := map[catalog.Type]string{catalog.UUID: "uuid", catalog.Time: "date-time", catalog.Date: "date"}[f.Type]; format != "" {
		s["format"] = format
	}
	if f.Type == catalog.Array {
		s["items"] = object{"type": "string"}
	}
	describeField(s, f)
	return s
}

func describeField(s object, f *catalog.Field) {
	doc := f.Doc
	if f.Unit != "" {
		doc = strings.TrimSpace(doc + " Unit: " + f.Unit + ".")
	}
	if f.Names != "" && !f.ReadOnly {
		doc = strings.TrimSpace(doc + " Names " + f.Names + " (" + catalog.NamedBy(f.Names) + ").")
	}
	if f.Ref != "" {
		doc = strings.TrimSpace(doc + " References " + f.Ref + ".")
	}
	if doc != "" {
		s["description"] = doc
	}
	if len(f.OneOf) > 0 && f.Type == catalog.Text {
		values := []any{}
		for _, v := range f.OneOf {
			values = append(values, v)
		}
		if !f.Required {
			values = append(values, nil)
		}
		s["enum"] = values
	}
	if f.ReadOnly {
		s["readOnly"] = true
	}
	for name, v := range map[string]string{"minimum": f.Min, "maximum": f.Max} {
		if v != "" {
			s[name] = json.Number(v)
		}
	}
	if f.MaxLen > 0 && f.Type == catalog.Text {
		s["maxLength"] = f.MaxLen
	}
}

func collectionOperations(r *catalog.Resource, role actor.Role) object {
	ops := object{}
	rows := object{"type": "array", "items": ref(r.Name)}
	write := []any{query("select", "columns of the answer"), query("columns", "columns to read from the body"), header("Prefer", "return=, resolution=, missing=, count=, max-affected="), keyParameter()}
	if _, ok := catalog.Find(r.Access.Read, role); ok {
		ps := append(filters(r, role), query("select", "columns and embedded relations"), query("order", "column.asc|desc.nullsfirst|nullslast, comma separated"),
			query("limit", "rows at most"), query("offset", "rows to pass over"), query("or", "(condition,condition)"), query("and", "(condition,condition)"),
			header("Prefer", "count=exact|planned|estimated"), header("Range", "first-last"))
		ops["get"] = operation(r, "List "+words(r.Name), ps, nil, object{"200": answer("rows", rows), "206": answer("part of the rows", rows)})
	}
	if _, ok := catalog.Find(r.Access.Create, role); ok {
		body := object{"oneOf": []any{ref(r.Name), rows}}
		ps := append(write, query("on_conflict", "columns of the unique key to upsert by"))
		ops["post"] = operation(r, "Create "+words(r.Name), ps, body, object{"201": answer("created", rows), "200": answer("merged", rows)})
		ops["put"] = operation(r, "Create or replace one of "+words(r.Name), append(filters(r, role), write...), ref(r.Name), object{"200": answer("the row", rows), "201": answer("created", rows), "204": object{"description": "done"}})
	}
	if _, ok := catalog.Find(r.Access.Update, role); ok && !r.AppendOnly {
		ops["patch"] = operation(r, "Change "+words(r.Name), append(filters(r, role), write...), ref(r.Name), object{"200": answer("changed rows", rows), "204": object{"description": "done"}})
	}
	if _, ok := catalog.Find(r.Access.Delete, role); ok && !r.AppendOnly {
		ops["delete"] = operation(r, "Delete "+words(r.Name), append(filters(r, role), write...), nil, object{"200": answer("deleted rows", rows), "204": object{"description": "done"}})
	}
	return ops
}

func recordOperations(r *catalog.Resource, role actor.Role) object {
	ops := object{}
	for method, grants := range map[string][]catalog.Grant{"get": r.Access.Read, "patch": r.Access.Update, "delete": r.Access.Delete} {
		if _, ok := catalog.Find(grants, role); !ok || r.AppendOnly && method != "get" {
			continue
		}
		var body object
		params := pathParameters("/{id}")
		if method == "patch" {
			body = ref(r.Name)
		}
		if method != "get" {
			params = append(params, keyParameter())
		}
		op := operation(r, strings.ToUpper(method)+" one of "+words(r.Name), params, body, object{"200": answer("the record", ref(r.Name)), "204": object{"description": "done"}})
		ops[method] = op
	}
	return ops
}

func operation(r *catalog.Resource, summary string, params []any, body, responses object) object {
	responses["default"] = object{"description": "Refused.", "content": content(ref("CollectionError"))}
	responses["429"] = object{"description": "Too many requests.", "content": content(ref("RateLimitError"))}
	op := object{"summary": summary, "description": r.Doc, "tags": []string{r.Name}, "parameters": params, "responses": responses}
	if body != nil {
		op["requestBody"] = object{"content": content(body)}
	}
	return op
}

func answer(doc string, schema object) object {
	return object{"description": doc, "content": content(schema)}
}

func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

func filters(r *catalog.Resource, role actor.Role) []any {
	var out []any
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Visible(role) {
			out = append(out, query(f.Name, "operator.value, for example eq.x"))
		}
	}
	return out
}

func query(name, doc string) object {
	return object{"name": name, "in": "query", "description": doc, "schema": object{"type": "string"}}
}

func header(name, doc string) object {
	return object{"name": name, "in": "header", "description": doc, "schema": object{"type": "string"}}
}

func keyParameter() object {
	return header(keyHeader, "names the request, so that a repeat within 24 hours is answered as before (Idempotent-Replayed: true) and not done again; 422 with another request, 409 while the first runs")
}

func functionOperations(fn *functions.Function) object {
	ops := object{}
	for _, m := range fn.Methods {
		op := object{"summary": fn.Doc, "tags": []string{"functions"}, "responses": object{
			"200":     object{"description": "The answer.", "content": content(object{"type": "object"})},
			"429":     object{"description": "Too many requests.", "content": content(ref("RateLimitError"))},
			"default": object{"description": "Refused.", "content": content(ref("FunctionError"))},
		}}
		if m == http.MethodGet {
			op["parameters"] = inputParameters(fn.In)
		} else if props := inputSchema(fn.In); props != nil {
			op["requestBody"] = object{"content": content(props)}
		}
		if fn.Writes {
			params, _ := op["parameters"].([]any)
			op["parameters"] = append(params, keyParameter())
		}
		ops[strings.ToLower(m)] = op
	}
	return ops
}

// inputFields reads the tags of a function's input.
func inputFields(in any, each func(name string, schema object, required bool)) {
	if in == nil {
		return
	}
	t := reflect.TypeOf(in)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		name := tag.Get("query")
		if name == "" {
			continue
		}
		s := object{"type": map[reflect.Kind]string{reflect.Int: "integer", reflect.Int64: "integer", reflect.Bool: "boolean", reflect.Float64: "number"}[t.Field(i).Type.Kind()]}
		if s["type"] == "" {
			s["type"] = "string"
		}
		for key, prop := range map[string]string{"min": "minimum", "max": "maximum", "default": "default"} {
			if v := tag.Get(key); v != "" {
				s[prop] = literal(s["type"], v)
			}
		}
		if one := tag.Get("oneof"); one != "" {
			s["enum"] = strings.Fields(one)
		}
		if f := tag.Get("format"); f != "" {
			s["format"] = f
		}
		if doc := tag.Get("doc"); doc != "" {
			s["description"] = doc
		}
		each(name, s, tag.Get("required") == "true")
	}
}

func literal(kind any, v string) any {
	switch kind {
	case "integer", "number":
		return json.Number(v)
	case "boolean":
		return v == "true"
	}
	return v
}

func inputParameters(in any) []any {
	out := []any{}
	inputFields(in, func(name string, s object, required bool) {
		out = append(out, object{"name": name, "in": "query", "required": required, "schema": s})
	})
	return out
}

func inputSchema(in any) object {
	props, required := object{}, []string{}
	inputFields(in, func(name string, s object, must bool) {
		props[name] = s
		if must {
			required = append(required, name)
		}
	})
	if len(props) == 0 {
		return nil
	}
	s := object{"type": "object", "properties": props}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func textObject(names ...string) object {
	props := object{}
	for _, n := range names {
		props[n] = object{"type": []string{"string", "null"}}
	}
	return object{"type": "object", "properties": props}
}

func collectionErrorSchema() object { return textObject("code", "message", "details", "hint") }

func functionErrorSchema() object { return textObject("error", "details") }

func rateLimitSchema() object {
	s := textObject("error", "message", "reset_at")
	for _, n := range []string{"retry_after", "limit", "remaining"} {
		s["properties"].(object)[n] = object{"type": "integer"}
	}
	return s
}
