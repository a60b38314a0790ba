package app_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// takenNames are types and words, in any case, that a generated client has already:
// of TypeScript's library, and keywords and built-ins of Go, Python, Java and C#.
const takenNames = `
	abort and any all array as assert async attribute await base blob bool boolean break buffer byte
	callable cap case catch chan char class comment const continue date datetime decimal def default defer
	delegate dict document double dynamic element elif else enum error event events except exception
	exclude extends extract fallthrough false file final finally float for from func function global go goto
	headers history id if implements import in input instanceof int integer interface internal is iterator
	key keys lambda len list location lock long map match max message min module namespace native navigator new next
	nil node none nonnull nonlocal not notification null number object omit op open operator option options or out
	override package parameters params partial pass permissions pick plugin print private promise protected
	proxy public raise range readonly record ref request required response result return returntype row select
	selection set short signal static storage str string struct super switch symbol sync task text this
	throw throws timestamp touch transient true try tuple type typeof undefined union url uuid value var void
	volatile when where while with worker yield zip`

// foldName is a schema's name without signs and case, which generators drop.
func foldName(name string) string {
	return strings.ToLower(strings.NewReplacer(".", "", "_", "", "-", "").Replace(name))
}

// No schema bears a name that a language of clients has already, no two the same but
// for signs and case; every operation and tag has a description.
func TestOpenAPINamesAreFree(t *testing.T) {
	k := testkit.New(t, db.SQLite)
	var doc struct {
		Components struct {
			Schemas map[string]any
		}
		Paths map[string]map[string]any
		Tags  []struct{ Name, Description string }
	}
	if r := k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"}); r.Status != http.StatusOK {
		t.Fatalf("status %d", r.Status)
	} else {
		r.JSON(t, &doc)
	}

	taken, seen := map[string]bool{}, map[string]string{}
	for _, word := range strings.Fields(takenNames) {
		taken[word] = true
	}
	for name := range doc.Components.Schemas {
		folded := foldName(name)
		if taken[folded] {
			t.Errorf("the schema %s bears a name that is taken", name)
		}
		if other := seen[folded]; other != "" {
			t.Errorf("the schemas %s and %s have one name", name, other)
		}
		seen[folded] = name
	}
	if len(seen) < 300 {
		t.Errorf("only %d schemas", len(seen))
	}

	for _, tag := range doc.Tags {
		if tag.Description == "" {
			t.Errorf("the tag %s has no description", tag.Name)
		}
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			if op, ok := op.(map[string]any); ok && (op["description"] == nil || op["description"] == "") {
				t.Errorf("%s %s has no description", method, path)
			}
		}
	}
}
