package app_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"holdfast/internal/authapi"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// The document is valid and names everything that is served.
func TestOpenAPI(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	r := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"})
	if r.Status != http.StatusOK {
		t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	if len(r.Body) > 720_000 {
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
	for _, r := range authapi.Routes() {
		want = append(want, "/auth/v1"+r.Pattern)
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
		k.Get(c.as, "/rest/v1/").JSON(t, &doc)
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
