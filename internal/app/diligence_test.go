package app_test

import (
	"net/http"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Who looks without being asked, who is still within the grace, and who has done
// the work and waits for its verification lowers no figure.
func TestDiligenceIsNotPunished(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Safety)
		ago := func(d time.Duration) string { return time.Now().UTC().Add(-d).Format(time.RFC3339) }
		change := func(collection, id string, set map[string]any) {
			t.Helper()
			path := "/v1/" + collection + "?id=eq." + id
			if r := k.Call(testkit.Request{Method: "PATCH", Path: path, As: as, Body: set}); r.Status != http.StatusNoContent {
				t.Fatalf("%s %v: %d %s", collection, set, r.Status, r.Body)
			}
		}
		type figures struct {
			Overdue    int64   `json:"overdue_actions"`
			Compliance float64 `json:"checklist_compliance"`
		}
		measure := func() figures {
			t.Helper()
			var answer struct {
				KPIs figures `json:"kpis"`
			}
			k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis?days=1", As: as,
				Header: map[string]string{"Cache-Control": "no-cache"}}).JSON(t, &answer)
			return answer.KPIs
		}
		is := func(what string, want figures) {
			t.Helper()
			if got := measure(); got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		before := measure()
		oneLate := figures{before.Overdue + 1, before.Compliance}

		unasked := k.Insert(t, as, "checklist_runs", map[string]any{"title": "Racks"})
		is("an inspection that nobody asked for", before)
		change("checklist_runs", unasked, map[string]any{"status": "completed"})
		is("the same, done", before)

		late := k.Insert(t, as, "checklist_runs",
			map[string]any{"title": "Doors", "due_at": ago(time.Hour), "grace_minutes": 90})
		is("an inspection within its grace", before)
		change("checklist_runs", late, map[string]any{"grace_minutes": 30})
		if got := measure(); got.Compliance >= before.Compliance {
			t.Errorf("an inspection past its grace: %+v, before it %+v", got, before)
		}
		change("checklist_runs", late, map[string]any{"grace_minutes": 59, "due_at": ago(58 * time.Minute)})
		is("the same within its grace again", before)

		action := k.Insert(t, as, "actions", map[string]any{"title": "Mend the door", "due_at": ago(time.Minute)})
		is("an action past its due time", oneLate)
		change("actions", action, map[string]any{"status": "in_progress"})
		is("the same, begun", oneLate)
		change("actions", action, map[string]any{"status": "done"})
		is("the same, waiting for its verification", before)
		change("actions", action, map[string]any{"status": "in_progress"})
		is("the same, sent back", oneLate)
	})
}
