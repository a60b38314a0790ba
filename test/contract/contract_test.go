// Package contract_test holds the server to the interface that its users were given:
// every endpoint, field, default, state, limit and rule of it is one claim, and each
// claim is tried over HTTP on both engines. A claim that only a clock or another
// program can show is tried elsewhere; docs/api-tests.md says where.
package contract_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// forms are what the interface calls the types of its fields.
var forms = map[string]*regexp.Regexp{
	"uuid":      regexp.MustCompile(`^"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"$`),
	"integer":   regexp.MustCompile(`^-?\d+$`),
	"number":    regexp.MustCompile(`^-?\d+(\.\d+)?$`),
	"string":    regexp.MustCompile(`^".+"$`),
	"boolean":   regexp.MustCompile(`^(true|false)$`),
	"array":     regexp.MustCompile(`^\[`),
	"object":    regexp.MustCompile(`^\{`),
	"timestamp": regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"$`),
	"date":      regexp.MustCompile(`^"\d{4}-\d\d-\d\d"$`),
	"entity":    regexp.MustCompile(`^"(zone|driver|worker|equipment)"$`),
	"verdict":   regexp.MustCompile(`^"(compliant|warning|breach)"$`),
}

// An answer is the body of a response, looked into by paths.
type answer struct {
	of   string // the request, for messages
	tree any
}

// askAdmin calls as the administrator of tenant north and reads the answer, which has to be a 200.
func askAdmin(t *testing.T, k *testkit.Kit, method, path string, body any) answer {
	t.Helper()
	return askAs(t, k, testkit.As(actor.Admin), method, path, body)
}

func askAs(t *testing.T, k *testkit.Kit, email, method, path string, body any) answer {
	t.Helper()
	r := k.Call(testkit.Request{Method: method, Path: path, As: email, Body: body})
	if r.Status != 200 {
		t.Fatalf("%s %s %v as %s: %d %s", method, path, body, email, r.Status, r.Body)
	}
	a := answer{of: method + " " + path}
	r.JSON(t, &a.tree)
	return a
}

// checkFields tries claims of the form path:form, where form is one of forms or the
// JSON value itself.
func (a answer) checkFields(t *testing.T, claims string) {
	t.Helper()
	for claim := range strings.FieldsSeq(claims) {
		path, form, _ := strings.Cut(claim, ":")
		got, err := findMember(a.tree, path)
		if err != nil {
			t.Errorf("%s: %s: %v", a.of, path, err)
			continue
		}
		if pattern, ok := forms[form]; ok && !pattern.MatchString(got) || !ok && got != form {
			t.Errorf("%s: %s is %.60s, want %s", a.of, path, got, form)
		}
	}
}

// textOf is the JSON text of a member, "" where there is none.
func (a answer) textOf(path string) string {
	text, err := findMember(a.tree, path)
	if err != nil {
		return ""
	}
	return text
}

// listMembers names the members of an object in alphabetical order.
func (a answer) listMembers(t *testing.T, path string) string {
	t.Helper()
	text, err := findMember(a.tree, path)
	if err != nil {
		t.Fatalf("%s: %s: %v", a.of, path, err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%s: %s: %v", a.of, path, err)
	}
	return strings.Join(sortedNames(object), " ")
}

// findMember is the JSON text of a member: a.b[].c looks into the first element of b,
// and "" is the whole.
func findMember(tree any, path string) (string, error) {
	for name := range strings.SplitSeq(path, ".") {
		if path == "" {
			break
		}
		name, first := strings.CutSuffix(name, "[]")
		object, ok := tree.(map[string]any)
		if !ok {
			return "", fmt.Errorf("%v is no object", tree)
		}
		if tree, ok = object[name]; !ok {
			return "", fmt.Errorf("there is no %s", name)
		}
		if !first {
			continue
		}
		array, ok := tree.([]any)
		if !ok || len(array) == 0 {
			return "", fmt.Errorf("%s is empty or no array", name)
		}
		tree = array[0]
	}
	text, err := json.Marshal(tree)
	return string(text), err
}
