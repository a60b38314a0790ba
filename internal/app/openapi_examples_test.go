package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// documented is what the test reads of the OpenAPI document.
type documented struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		RequestBodies map[string]documentedBody `json:"requestBodies"`
	} `json:"components"`
}

type documentedBody struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Example json.RawMessage `json:"example"`
	} `json:"content"`
}

type documentedOperation struct {
	ID   string         `json:"operationId"`
	Body documentedBody `json:"requestBody"`
}

// Each operation has an id of its own, and what it shows as an example the
// server reads: it may be refused for what it names, never for its form.
func TestOpenAPIExamples(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	var doc documented
	k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"}).JSON(t, &doc)
	seen, sent := map[string]string{}, 0
	for path, item := range doc.Paths {
		for method, raw := range item {
			if method == "servers" || method == "parameters" {
				continue
			}
			var op documentedOperation
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			if other := seen[op.ID]; op.ID == "" || other != "" {
				t.Errorf("%s %s: operationId %q is that of %q too", method, path, op.ID, other)
			}
			seen[op.ID] = method + " " + path
			if speaks(path, method) {
				sent++
				try(t, k, strings.ToUpper(method), path, doc.example(op.Body))
			}
		}
	}
	if sent < 300 {
		t.Errorf("only %d examples were sent", sent)
	}
}

// speaks leaves out what waits for events, ends the test's own session, or
// leads a browser elsewhere.
func speaks(path, method string) bool {
	return (strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/functions/")) && path != "/v1/events" &&
		!strings.Contains(path, "import-jobs") && method != "delete"
}

func (d *documented) example(b documentedBody) json.RawMessage {
	if name, ok := strings.CutPrefix(b.Ref, "#/components/requestBodies/"); ok {
		b = d.Components.RequestBodies[name]
	}
	return b.Content["application/json"].Example
}

func try(t *testing.T, k *testkit.Kit, method, path string, body json.RawMessage) {
	t.Helper()
	const id = "0190c000-0000-7000-8000-000000000001"
	target := strings.NewReplacer("{id}", id, "{delivery}", id, "{photo}", id, "{row}", "1").Replace(path)
	switch {
	case method == "PUT" || method == "PATCH" && !strings.Contains(path, "{id}"):
		target += "?id=eq." + id
	case method == "GET" && !strings.Contains(path, "{id}") && strings.HasPrefix(path, "/v1/"):
		target += "?limit=1"
	}
	req := testkit.Request{Method: method, Path: target, As: "admin@north.example"}
	if len(body) > 0 {
		req.Body = string(body)
	}
	r := k.Call(req)
	var fail struct {
		Code string `json:"code"`
	}
	if strings.Contains(r.Header.Get("Content-Type"), "json") && r.Status >= 400 {
		r.JSON(t, &fail)
	}
	unread := []string{"PGRST100", "PGRST102", "PGRST204", "22P02", "23502"}
	if r.Status >= http.StatusInternalServerError || r.Status == http.StatusBadRequest &&
		slices.Contains(unread, fail.Code) {
		t.Errorf("%s %s %s: %d %.200s", method, target, body, r.Status, r.Body)
	}
}
