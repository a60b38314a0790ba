package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/schema"
)

type box struct {
	Code   string   `json:"code" doc:"What it is called."`
	Pieces int64    `json:"pieces,omitempty" min:"1" max:"9"`
	Weight *float64 `json:"weight" unit:"kg"`
	Kind   []string `json:"kind,omitempty" oneof:"big small"`
	inner
}

type inner struct {
	Depth float64 `json:"depth,omitempty"`
}

// A value is refused at the member that does not fit; what the shape does not
// name is nobody's business.
func TestCheck(t *testing.T) {
	s := schema.Of([]box{})
	for raw, want := range map[string]string{
		`[]`: "", `[{"code":"a"}]`: "", `[{"code":"a","colour":{"x":[1]}}]`: "",
		`[{"code":"a","weight":null,"pieces":9}]`: "",
		`[{"code":"a","pieces":1.0}]`:             "",
		`{}`:                                      " must be an array",
		`null`:                                    " must be an array",
		`[1]`:                                     "[0] must be an object",
		`[{}]`:                                    "[0].code is required",
		`[{"code":1}]`:                            "[0].code must be a string",
		`[{"code":"a"},{"code":"b","pieces":0}]`:  "[1].pieces must be at least 1",
		`[{"code":"a","pieces":1.5}]`:             "[0].pieces must be a whole number",
		`[{"code":"a","pieces":1e999999999}]`:     "[0].pieces is out of range",
		`[{"code":"a","weight":"1"}]`:             "[0].weight must be a number",
		`[{"code":"a","kind":["big","odd"]}]`:     "[0].kind[1] must be one of [big small]",
		`[{"code":"a","depth":"x"}]`:              "[0].depth must be a number",
	} {
		path, reason := s.Check([]byte(raw))
		if got := path + " " + reason; got != want && (want != "" || reason != "") {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// The schema says what Check refuses, and the example passes it.
func TestSchema(t *testing.T) {
	s := schema.Of(box{})
	got, err := json.Marshal(s.Schema())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"properties":{"code":{"description":"What it is called.","type":"string"},"depth":{"type":"number"},` +
		`"kind":{"items":{"enum":["big","small"],"type":"string"},"type":"array"},"pieces":{"maximum":9,"minimum":1,"type":"integer"},` +
		`"weight":{"description":"Unit: kg.","type":["number","null"]}},"required":["code","weight"],"type":"object"}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	raw, err := json.Marshal(s.Example())
	if err != nil {
		t.Fatal(err)
	}
	if path, reason := s.Check(raw); reason != "" {
		t.Errorf("example %s: %s %s", raw, path, reason)
	}
}
