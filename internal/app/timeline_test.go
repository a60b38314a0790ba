package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// happened is an entry of a timeline.
type happened struct {
	Kind, Text string
	By         *string
	Struck     bool
	Changes    []struct {
		Field  string
		Masked bool
	}
}

// inWords is a timeline as a line for each entry: its kind, its text or fields, and
// whether it says who.
func inWords(list []happened) string {
	var lines []string
	for _, e := range list {
		line := e.Kind + " " + e.Text
		for _, c := range e.Changes {
			line += c.Field
			if c.Masked {
				line += "(masked)"
			}
			line += " "
		}
		if e.Struck {
			line += " struck"
		}
		if e.By != nil {
			line += " by"
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "; ")
}

// A timeline tells what happened in its order, and to each reader no more than the
// collections and the audit log tell.
func TestTimeline(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		operator, safety := testkit.As(actor.Operator), testkit.As(actor.Safety)
		incident := reportHazard(t, k, operator)
		comment := k.Insert(t, operator, "comments", map[string]any{"incident_id": incident, "text": "Truck 4"})
		if _, r := uploadFile(t, k, safety, "incidents/"+incident, "a.pdf", []byte("%PDF-1.7")); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		patch := func(path string, set map[string]any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: path, As: safety, Body: set}); r.Status != 204 {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		patch("/v1/incidents?id=eq."+incident, map[string]any{"status": "triaged", "entities": []any{}, "lessons": "Mop",
			"root_causes": []any{map[string]any{"method": "5whys", "layer": "immediate", "text": "A leak"}}})
		patch("/v1/comments?id=eq."+comment, map[string]any{"status": "struck"})

		for _, c := range []struct {
			as   actor.Role
			want string
		}{
			{actor.Safety, "made by; comment Truck 4 struck by; file a.pdf by; changed status root_causes(masked) lessons by"},
			{actor.Manager, "comment Truck 4 struck by; file a.pdf by"},
			{actor.Operator, "comment Truck 4 struck by; file a.pdf"},
			{actor.Viewer, "comment Truck 4 struck; file a.pdf"},
		} {
			var list []happened
			k.Get(testkit.As(c.as), "/v1/incidents/"+incident+"/timeline").JSON(t, &list)
			if got := inWords(list); got != c.want {
				t.Errorf("to %s: %s, want %s", c.as, got, c.want)
			}
		}
		for _, as := range []string{testkit.As(actor.Driver), "admin@south.example"} {
			if r := k.Get(as, "/v1/incidents/"+incident+"/timeline"); r.Status != 404 {
				t.Errorf("%s reads the timeline of a hidden record: %d %s", as, r.Status, r.Body)
			}
		}
	})
}
