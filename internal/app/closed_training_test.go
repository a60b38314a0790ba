package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A training is waived or cancelled for a reason that says something: spaces are none,
// and what was said stays said.
func TestTrainingIsClosedForAReason(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		owner := testkit.As(actor.Owner)
		worker := k.Insert(t, owner, "workers", map[string]any{"employee_no": "CLOSE-1", "name": "Closed"})
		course := k.Insert(t, owner, "courses", map[string]any{"code": "CLOSE", "title": "Close"})
		const path = "/v1/training_assignments"
		id := k.Insert(t, owner, "training_assignments", map[string]any{"course_id": course, "worker_id": worker})
		patch := func(body map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: path + "?id=eq." + id, As: owner, Body: body})
		}
		refused := func(what string, r testkit.Response) {
			t.Helper()
			if r.Status != 409 && r.Status != 400 || !strings.Contains(string(r.Body), "close_reason") {
				t.Errorf("%s: %d %s", what, r.Status, r.Body)
			}
		}
		for _, status := range []string{"waived", "cancelled"} {
			for _, reason := range []any{nil, "", "  ", "\t\n", "\u00a0"} {
				refused(status, patch(map[string]any{"status": status, "close_reason": reason}))
			}
		}
		if got := first(t, k, path+"?select=status&id=eq."+id, "status"); got != "assigned" {
			t.Errorf("the training is %s", got)
		}
		if r := patch(map[string]any{"status": "waived", "close_reason": "Office"}); r.Status >= 300 {
			t.Fatalf("waived for a reason: %d %s", r.Status, r.Body)
		}
		refused("the reason taken away", patch(map[string]any{"close_reason": nil}))
	})
}
