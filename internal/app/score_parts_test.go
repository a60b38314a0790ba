package app_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// An incident counts for whoever was injured, involved or its source. A witness and
// whoever reports it have no part in it: nobody's score rises by speaking up.
func TestWhomAnIncidentCountsFor(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety, operator := testkit.As(actor.Safety), testkit.As(actor.Operator)
		account := first(t, k, "/v1/members?select=user_id&email=eq."+operator, "user_id")
		worker := func(no string, row map[string]any) string {
			row["employee_no"], row["name"] = no, "Ann Example"
			return k.Insert(t, testkit.As(actor.Manager), "workers", row)
		}
		var mine []struct{ ID string }
		k.Get(testkit.As(actor.Admin), "/v1/workers?select=id&user_id=eq."+account).JSON(t, &mine)
		reporter := ""
		if len(mine) > 0 {
			reporter = mine[0].ID
		} else {
			reporter = worker("PART-ME", map[string]any{"user_id": account})
		}
		parts := map[string]string{}
		for _, role := range []string{"injured", "involved", "source", "witness", ""} {
			parts[role] = worker("PART-"+strings.ToUpper(role), map[string]any{})
		}

		counted := func(id string) int {
			t.Helper()
			var out scoreAnswer
			k.Post(safety, "/functions/v1/calculate-predictive-safety-scores",
				map[string]any{"entity_type": "worker", "entity_id": id}).JSON(t, &out)
			if len(out.Scores) != 1 {
				t.Fatalf("%d scores of one worker", len(out.Scores))
			}
			return out.Scores[0].Inputs.Incidents
		}
		report := func(entities []map[string]any) string {
			raw, err := json.Marshal(entities)
			testkit.Must(t, err)
			return k.Insert(t, operator, "incidents", map[string]any{"kind": "injury", "title": "Fall", "severity": "low",
				"occurred_at": time.Now().Add(-time.Hour).UTC(), "entities": json.RawMessage(raw)})
		}
		entity := func(id, role string) map[string]any {
			e := map[string]any{"entity_type": "worker", "entity_id": id}
			if role != "" {
				e["role"] = role
			}
			return e
		}

		before := counted(reporter)
		list := []map[string]any{entity(reporter, "")}
		for role, id := range parts {
			list = append(list, entity(id, role))
		}
		incident := report(list)
		for role, id := range parts {
			want := 1
			if role == "witness" {
				want = 0
			}
			if got := counted(id); got != want {
				t.Errorf("named as %q: %d incidents, want %d", role, got, want)
			}
		}
		if got := counted(reporter); got != before {
			t.Errorf("the reporter: %d incidents, want %d", got, before)
		}

		// Corrected, the record counts for whom it names now.
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + incident, As: safety,
			Body: map[string]any{
				"entities": []map[string]any{entity(parts["witness"], "injured"), entity(parts["injured"], "witness"),
					entity(reporter, "involved")}}})
		if r.Status != 204 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if got, was, me := counted(parts["witness"]), counted(parts["injured"]), counted(reporter); got != 1 || was != 0 ||
			me != before+1 {
			t.Errorf("corrected: injured %d, witness %d, reporter involved %d", got, was, me)
		}
	})
}
