package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/functions"
	"holdfast/internal/schema"
	"holdfast/internal/verb"
)

// mayCall reports whether members with a role may call a function.
func mayCall(fn *functions.Function, role actor.Role) bool {
	if len(fn.Roles) == 0 {
		return role != actor.Anon && role != ""
	}
	return role == actor.Service || slices.Contains(fn.Roles, role)
}

// callersSentence says which roles may call, besides the service key; none means all
// members.
func callersSentence(roles []actor.Role) string {
	if len(roles) == 0 {
		return "For members of every role."
	}
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	return "For members with the role " + strings.Join(names, ", ") + "."
}

// writeFunction describes a function and its alias.
func (w *writing) writeFunction(fn *functions.Function) {
	if !mayCall(fn, w.role) {
		return
	}
	w.tags["functions"] = "Several reads or a whole calculation in one answer."
	w.schemas["functions."+fn.Name] = w.outSchema(fn.Out)
	for _, name := range []string{fn.Name, fn.Alias} {
		if name == "" {
			continue
		}
		ops := object{}
		for _, m := range fn.Methods {
			ops[strings.ToLower(m)] = functionOperation(fn, name, m, len(fn.Methods) > 1)
		}
		w.paths["/functions/v1/"+name] = w.setServer(ops)
	}
}

func functionOperation(fn *functions.Function, name, method string, several bool) object {
	id := strings.ReplaceAll(name, "-", "_")
	if several {
		id += "_" + strings.ToLower(method)
	}
	in := schema.Input(fn.In)
	op := object{
		"operationId": id, "summary": fn.Doc, "description": callersSentence(fn.Roles), "tags": []string{"functions"},
		"responses": object{
			"200": answerObject("OK", schemaRef("functions."+fn.Name)), "4XX": responseRef("FunctionError"),
		},
	}
	params := []any{}
	if method == http.MethodGet {
		params = queryParameters(in)
	} else if len(in.Members) > 0 {
		op["requestBody"] = object{"content": object{"application/json": object{"schema": in.Schema(),
			"example": in.Example()}}}
	}
	if fn.Writes {
		params = append(params, parameterRef("key"))
	}
	op["parameters"] = params
	return op
}

// outSchema describes an answer; an undescribed one is an object. Records in it
// that the role has no collection of are objects.
func (w *writing) outSchema(out any) object {
	if out == nil {
		return object{"type": "object", "description": "OK"}
	}
	s := schema.Of(out)
	w.nameRecords(s)
	return s.Schema()
}

// nameRecords makes schemas of the records in an answer that the role has no
// collection of.
func (w *writing) nameRecords(s *schema.Shape) {
	s.Records(func(collection string) {
		if w.schemas[collection] == nil {
			w.schemas[collection] = object{"type": "object", "description": "A record of " + spacedName(collection) + "."}
		}
	})
}

func queryParameters(in *schema.Shape) []any {
	out := []any{}
	for i := range in.Members {
		m := &in.Members[i]
		p := object{"name": m.Name, "in": "query", "schema": m.Schema(), "example": m.Example(),
			"description": m.Description()}
		if m.Required {
			p["required"] = true
		}
		if m.Default != "" {
			delete(p, "example")
		}
		out = append(out, p)
	}
	return out
}

// writeVerb describes a verb.
func (w *writing) writeVerb(v *verb.Verb) {
	if !v.Permits(w.role) {
		return
	}
	w.tags["verbs"] = "What a person says they did, done in one transaction."
	in, params := schema.Input(v.In).Schema(), []any{}
	if v.Reads {
		in = v.Input().Schema()
	} else {
		in, params = extendSchema(in, "VerbRequest"), append(params, parameterRef("key"))
	}
	responses := object{"200": answerObject("Done.", w.verbAnswer(v)), "4XX": responseRef("Error")}
	said := object{
		"operationId": "rpc_" + v.Name, "summary": v.Doc, "description": callersSentence(v.Roles),
		"tags": []string{"verbs"}, "parameters": params,
		"requestBody": bodyOf(in, schema.Input(v.In).Example().(object)),
		"responses":   responses,
	}
	path := object{"post": said}
	if v.Reads {
		path = object{"post": said, "get": object{
			"operationId": "rpc_" + v.Name + "_get", "summary": v.Doc, "description": callersSentence(v.Roles),
			"tags": []string{"verbs"}, "parameters": queryParameters(v.Input()), "responses": responses,
		}}
	}
	w.paths["/v1/rpc/"+v.Name] = path
}

// extendSchema gives a schema all that another one has, which says that it is an object.
func extendSchema(schema object, name string) object {
	delete(schema, "type")
	schema["allOf"] = []any{schemaRef(name)}
	return schema
}

// verbAnswer describes what a verb answers; what they all do is written once.
func (w *writing) verbAnswer(v *verb.Verb) object {
	s := schema.Of(v.Out)
	w.nameRecords(s)
	every := schema.Of(verb.Answer{})
	s.Members = slices.DeleteFunc(s.Members, func(m schema.Member) bool {
		return slices.ContainsFunc(every.Members, func(c schema.Member) bool { return c.Name == m.Name })
	})
	schema := s.Schema()
	return extendSchema(schema, "VerbAnswer")
}

// writeRoute describes what is neither collection, function nor verb.
func (w *writing) writeRoute(r route.Route) {
	if r.Response["access_token"] != "" {
		w.schemas["Session"] = membersSchema(r.Response, true)
	} else if r.Response["identities"] != "" {
		w.schemas["Account"] = membersSchema(r.Response, true)
	}
	path := strings.TrimSuffix(r.Pattern, "{$}")
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	w.tags[r.Tag] = tagDocs[r.Tag]
	ops, ok := w.paths[path].(object)
	if !ok {
		ops = w.setServer(object{})
	}
	ops[strings.ToLower(r.Method)] = w.routeOperation(r, path, r.Method)
	w.paths[path] = ops
}

// tagDocs say what the tags of routes gather.
var tagDocs = map[string]string{
	"operation": "What the server says of itself.", "limits": "Rate limits and kept answers.",
	"people":  "Who may do what.",
	"imports": "Files on their way into the records.", "events": "What happens in a tenant.",
	"webhooks": "Addresses that are told of events.",
	"reports":  "The public report page and its links.", "photos": "Photos of incidents and inspections.",
	"files":    "Files kept with records.",
	"forms":    "Statutory forms and data.",
	"sheets":   "Records of safety as PDF.",
	"screens":  "Boards of a hall, shown without an account.",
	"labels":   "Labels and papers, to print.",
	"stock":    "What stock was worth.",
	"epcis":    "What was done with goods, as EPCIS 2.0 has it.",
	"identity": "Accounts, sessions, factors and organisations' providers.",
}

func (w *writing) routeOperation(r route.Route, path, method string) object {
	access := "Needs an access token or a key."
	if r.Who.Anyone() {
		access = "Needs no access token."
	}
	op := object{
		"operationId": routeID(method, path), "summary": r.Doc, "description": access, "tags": []string{r.Tag},
		"responses": w.responsesOf(&r, method),
	}
	ps := append(pathParameters(path), routeQuery(r)...)
	if r.Keyed && method == http.MethodPost {
		ps = append(ps, parameterRef("key"))
	}
	if len(ps) > 0 {
		op["parameters"] = ps
	}
	if r.Who.Anyone() {
		op["security"] = []any{object{}}
	}
	if len(r.Body) > 0 && method != http.MethodGet && method != http.MethodDelete {
		op["requestBody"] = routeBody(r)
	}
	return op
}

// routeID is the method and the words of the path, but for the version before
// others: post_auth_token.
func routeID(method, path string) string {
	id := strings.ToLower(method)
	parts := strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune("/{}-._", c) })
	for i, part := range parts {
		if part != "v1" || i == len(parts)-1 {
			id += "_" + part
		}
	}
	return id
}

func (w *writing) responsesOf(r *route.Route, method string) object {
	refusal := "Error"
	if r.Tag == "identity" {
		refusal = "AuthError"
	}
	status := r.Success()
	out := object{"4XX": responseRef(refusal)}
	switch {
	case r.Out != nil && status == http.StatusCreated:
		out["201"] = answerObject("What was made.", w.typedRef(r.Out))
	case r.Out != nil || r.Media != "":
		out[strconv.Itoa(status)] = w.successAnswer(r)
	case len(r.Response) > 0:
		out[strconv.Itoa(status)] = answerObject("OK", sharedRef(r.Response))
	case status == http.StatusNoContent:
		out["204"] = responseRef("Done")
	case method == http.MethodGet && status == http.StatusOK:
		out["200"] = object{"description": "OK"}
	default:
		out[strconv.Itoa(status)] = object{"description": "Done."}
	}
	return out
}

// successAnswer describes the answer of a request that was done.
func (w *writing) successAnswer(r *route.Route) object {
	media := object{}
	if r.Out != nil {
		media["application/json"] = object{"schema": w.typedRef(r.Out)}
	}
	switch {
	case r.Media == "text/event-stream":
		media[r.Media] = object{"schema": object{"type": "string",
			"description": "Server-sent events; the data of each is JSON."}}
	case strings.HasSuffix(r.Media, "+json"): // its standard has the schema
		media[r.Media] = object{"schema": object{"type": "object"}}
	case r.Media != "":
		media[r.Media] = object{"schema": object{"type": "string"}}
	}
	return object{"description": "OK", "content": media}
}

// typedRef refers to the schema of an answer, which is named as its type is.
func (w *writing) typedRef(answer any) object {
	t := reflect.TypeOf(answer)
	if t.Kind() != reflect.Struct {
		return schema.Of(answer).Schema()
	}
	_, name, _ := strings.Cut(t.String(), ".")
	name = strings.ToUpper(name[:1]) + name[1:]
	if name == "Permissions" { // which browsers' own types have already
		name = "CallerPermissions"
	}
	w.schemas[name] = schema.Of(answer).Schema()
	return schemaRef(name)
}

// sharedRef refers to the two answers that many routes of identity give.
func sharedRef(members map[string]string) object {
	if members["access_token"] != "" {
		return schemaRef("Session")
	}
	if members["identities"] != "" {
		return schemaRef("Account")
	}
	return membersSchema(members, true)
}

func pathParameters(path string) []any {
	var out []any
	for _, seg := range strings.Split(path, "/") {
		if strings.HasPrefix(seg, "{") && strings.HasSuffix(seg, "}") {
			name := strings.Trim(seg, "{}")
			if name == "id" {
				out = append(out, parameterRef(name))
				continue
			}
			example := memberExamples[name]
			if example == nil {
				example = exampleID
			}
			out = append(out, object{"name": name, "in": "path", "required": true, "description": memberDoc(name),
				"schema": object{"type": "string"}, "example": example})
		}
	}
	return out
}

func routeQuery(r route.Route) []any {
	var out []any
	for _, name := range sortedKeys(r.Query) {
		out = append(out, object{"name": name, "in": "query", "description": memberDoc(name),
			"schema": object{"type": r.Query[name]}, "example": memberExample(name, r.Query[name])})
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func routeBody(r route.Route) object {
	media, example := "application/json", object{}
	for name, t := range r.Body {
		if t == "file" {
			media = "multipart/form-data"
		}
		if memberExamples[name] != nil {
			example[name] = memberExample(name, t)
		}
	}
	return object{"content": object{media: object{"schema": membersSchema(r.Body, false), "example": example}}}
}

func membersSchema(members map[string]string, answer bool) object {
	props := object{}
	for name, t := range members {
		s := object{"type": t, "description": memberDoc(name)}
		switch {
		case t == "file":
			s = object{"type": "string", "contentMediaType": "application/octet-stream", "description": memberDoc(name)}
		case t == "array":
			s["items"] = object{"type": "object"}
		case t == "texts":
			s = withDoc(object{"type": "array", "items": object{"type": "string"}}, memberDoc(name))
		case answer && t == "string":
			s["type"] = []string{"string", "null"}
		}
		props[name] = s
	}
	return object{"type": "object", "properties": props}
}
