package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"holdfast/internal/api/auth"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/schema"
	"holdfast/internal/testkit"
)

// The document is valid and names everything that is served.
func TestOpenAPI(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	r := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"})
	if r.Status != http.StatusOK {
		t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	if len(r.Body) > 900_000 {
		t.Errorf("the document has %d bytes", len(r.Body))
	}
	doc, err := openapi3.NewLoader().LoadFromData(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Error(err)
	}
	var want []string
	for _, r := range catalog.Default().All() {
		want = append(want, "/v1/"+r.Name, "/v1/"+r.Name+"/{id}")
	}
	for _, r := range new(auth.API).Routes() {
		if !r.Unlisted {
			want = append(want, r.Pattern)
		}
	}
	want = append(want, k.App.Paths()...)
	for _, p := range want {
		if p = strings.TrimSuffix(p, "{$}"); len(p) > 1 {
			p = strings.TrimSuffix(p, "/")
		}
		if doc.Paths.Value(p) == nil {
			t.Errorf("%s is served and not in the document", p)
		}
	}
}

// Each role's document at the root shows only what the role may use.
func TestOpenAPIForRole(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	for _, c := range []struct {
		as   string
		path string
		ops  []string
	}{
		{"viewer@north.example", "/v1/zones", []string{"get"}},
		{"manager@north.example", "/v1/zones", []string{"delete", "get", "patch", "post", "put"}},
		{"operator@north.example", "/v1/audit", nil},
		{"viewer@north.example", "/functions/v1/safety-kpis", []string{"get"}},
		{"viewer@north.example", "/functions/v1/plan-routes", nil},
		{"viewer@north.example", "/functions/v1/rollback-import-job", nil},
		{"manager@north.example", "/functions/v1/rollback-import-job", nil},
		{"admin@north.example", "/functions/v1/rollback-import-job", []string{"post"}},
		{"viewer@north.example", "/v1/rate-limit/status", []string{"get"}},
	} {
		var doc struct {
			Paths map[string]map[string]any `json:"paths"`
		}
		k.Call(testkit.Request{Method: "GET", Path: "/rest/v1/", As: c.as,
			Header: map[string]string{"Accept": "application/vnd.oai.openapi+json"}}).JSON(t, &doc)
		var got []string
		for m := range doc.Paths[c.path] {
			if m != "servers" && m != "parameters" {
				got = append(got, m)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.ops) {
			t.Errorf("%s %s: %v, want %v", c.as, c.path, got, c.ops)
		}
	}
}

// Every answer of a collection, function, verb, event and route outside
// identity, and every refusal, has a body whose members are named; what is no
// JSON says of which type it is.
func TestOpenAPIAnswersAreTyped(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	answer := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"})
	doc, err := openapi3.NewLoader().LoadFromData(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	documents := []string{"/openapi.json", "/v1", "/rest/v1", "/catalog.json", "/types.ts", "/dev/mail", "/r/{token}",
		"/r/{token}/status"}
	seen := 0
	for path, item := range doc.Paths.Map() {
		if strings.HasPrefix(path, "/auth/v1") || slices.Contains(documents, path) {
			continue
		}
		for method, op := range item.Operations() {
			for status, r := range op.Responses.Map() {
				if status == "204" {
					continue
				}
				seen++
				if len(r.Value.Content) == 0 {
					t.Errorf("%s %s: %s has no body", method, path, status)
				}
				if m := r.Value.Content["application/json"]; m != nil && !namesMembers(m.Schema, 0) {
					t.Errorf("%s %s: %s is any object", method, path, status)
				}
			}
		}
	}
	if seen < 800 {
		t.Errorf("only %d answers were looked at", seen)
	}
	events := doc.Components.Schemas["AnyEvent"].Value.OneOf
	if len(events) < 30 {
		t.Errorf("%d events", len(events))
	}
	for _, e := range events {
		if data := e.Value.Properties["data"]; data == nil || len(data.Value.Properties) == 0 {
			t.Errorf("event %s names nothing of its data", e.Ref)
		}
	}
}

// namesMembers reports a schema with properties, or a list of such.
func namesMembers(s *openapi3.SchemaRef, depth int) bool {
	if s == nil || s.Value == nil || depth > 8 {
		return false
	}
	v := s.Value
	if len(v.Properties) > 0 || v.AdditionalProperties.Schema != nil || namesMembers(v.Items, depth+1) {
		return true
	}
	for _, list := range []openapi3.SchemaRefs{v.AllOf, v.AnyOf, v.OneOf} {
		for _, part := range list {
			if namesMembers(part, depth+1) {
				return true
			}
		}
	}
	return false
}

// Every schema says of which type its values are. One stands for any JSON value and says so.
func TestOpenAPISchemasHaveTypes(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	answer := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"})
	var doc map[string]any
	if err := json.Unmarshal(answer.Body, &doc); err != nil {
		t.Fatal(err)
	}
	seen := 0
	eachSchema(doc, "", func(at string, shape map[string]any) {
		seen++
		if !isTyped(shape) && at != "/components/schemas/"+schema.AnyName {
			t.Errorf("%s has no type", at)
		}
	})
	if seen < 3000 {
		t.Errorf("only %d schemas were looked at", seen)
	}
}

// Generators of clients resolve references to whole components alone, and make a type of
// one kind of value or null (oapi-codegen 2.8 refuses the rest).
func TestOpenAPISchemasSuitGenerators(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	answer := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"})
	var doc map[string]any
	answer.JSON(t, &doc)
	eachSchema(doc, "", func(at string, shape map[string]any) {
		if ref, _ := shape["$ref"].(string); strings.Count(ref, "/") > 3 {
			t.Errorf("%s refers to a part of a schema: %s", at, ref)
		}
		types, _ := shape["type"].([]any)
		kinds := slices.DeleteFunc(slices.Clone(types), func(kind any) bool { return kind == "null" })
		if len(kinds) > 1 {
			t.Errorf("%s is of several types: %v", at, types)
		}
	})
}

func isTyped(schema map[string]any) bool {
	for _, word := range []string{"type", "$ref", "oneOf", "anyOf", "allOf", "enum", "const", "required"} {
		if schema[word] != nil {
			return true
		}
	}
	return false
}

// eachSchema calls visit with the schemas below a part of the document: those of bodies and
// parameters, those that have a name, and what they are made of.
func eachSchema(part any, at string, visit func(at string, schema map[string]any)) {
	switch part := part.(type) {
	case []any:
		for i, v := range part {
			eachSchema(v, at+"/"+strconv.Itoa(i), visit)
		}
	case map[string]any:
		for name, v := range part {
			below := at + "/" + name
			_, isObject := v.(map[string]any)
			isObject = isObject && at != "/components/responses" // a collection is called items
			switch {
			case name == "example" || name == "default" || name == "enum":
				continue
			case isObject && (name == "schema" || name == "items" || name == "additionalProperties"):
				visit(below, v.(map[string]any))
			case isObject && (name == "schemas" || name == "properties"):
				for member, schema := range v.(map[string]any) {
					if schema, ok := schema.(map[string]any); ok {
						visit(below+"/"+member, schema)
					}
				}
			}
			eachSchema(v, below, visit)
		}
	}
}

// The document is kept: who has it is told so, and it travels compressed.
func TestOpenAPIIsKept(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	first := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"})
	tag := first.Header.Get("ETag")
	again := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json", Header: map[string]string{"If-None-Match": tag}})
	if tag == "" || again.Status != http.StatusNotModified || len(again.Body) > 0 {
		t.Errorf("tag %q, then %d with %d bytes", tag, again.Status, len(again.Body))
	}
	packed := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json",
		Header: map[string]string{"Accept-Encoding": "gzip"}})
	if packed.Header.Get("Content-Encoding") != "gzip" || len(packed.Body) > 110_000 {
		t.Errorf("%d bytes, %q", len(packed.Body), packed.Header.Get("Content-Encoding"))
	}
}
