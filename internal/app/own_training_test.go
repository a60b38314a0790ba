package app_test

import (
	"fmt"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// userOf returns the account of a demonstration person.
func userOf(t *testing.T, email string) string {
	t.Helper()
	for _, u := range demo.Users() {
		if u.Email == email {
			return u.ID
		}
	}
	t.Fatalf("nobody is %s", email)
	return ""
}

// Nobody completes their own training, whatever the way: another person
// confirms it, and sets its result and its dates.
func TestNobodyCompletesTheirOwnTraining(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		owner := testkit.As(actor.Owner)
		patch := func(as, id string, body map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/training_assignments?id=eq." + id, As: as, Body: body})
		}
		course := 0
		assign := func(user string) string {
			course++
			id := k.Insert(t, owner, "courses", map[string]any{"code": fmt.Sprintf("OWN-%d", course), "title": "Own"})
			return k.Insert(t, owner, "training_assignments", map[string]any{"course_id": id, "user_id": user})
		}

		for _, role := range []actor.Role{actor.Operator, actor.Driver, actor.Manager, actor.Safety, actor.Admin} {
			me := testkit.As(role)
			id := assign(userOf(t, me))
			if r := patch(me, id, map[string]any{"status": "in_progress"}); r.Status >= 300 {
				t.Fatalf("%s begins: %d %s", role, r.Status, r.Body)
			}
			for _, body := range []map[string]any{{"status": "completed"},
				{"status": "completed", "completed_at": "2026-01-05T08:00:00Z"},
				{"status": "waived", "close_reason": "x"}} {
				if r := patch(me, id, body); r.Status < 400 || r.Status >= 500 {
					t.Errorf("%s sets %v: %d %s", role, body, r.Status, r.Body)
				}
			}
			if got := first(t, k, "/v1/training_assignments?select=status&id=eq."+id, "status"); got != "in_progress" {
				t.Errorf("the training of the %s is %s", role, got)
			}
			if r := patch(owner, id, map[string]any{"status": "completed"}); r.Status >= 300 {
				t.Errorf("another person confirms for the %s: %d %s", role, r.Status, r.Body)
			}
			if r := patch(me, id, map[string]any{"expires_on": "2030-01-01"}); r.Status < 400 || r.Status >= 500 {
				t.Errorf("%s dates the certificate: %d %s", role, r.Status, r.Body)
			}
		}

		// Beside the state: a record that begins completed, many at once, and a file.
		manager := testkit.As(actor.Manager)
		mine, others := userOf(t, manager), userOf(t, testkit.As(actor.Operator))
		code := k.Insert(t, owner, "courses", map[string]any{"code": "OWN-FILE", "title": "Own"})
		row := func(user string) map[string]any {
			return map[string]any{"course_id": code, "user_id": user, "status": "completed",
				"completed_at": "2026-01-05T08:00:00Z"}
		}
		for _, body := range []any{row(mine), []any{row(others), row(mine)}} {
			if r := k.Post(manager, "/v1/training_assignments", body); r.Status != 403 {
				t.Errorf("a record that begins completed: %d %s", r.Status, r.Body)
			}
		}
		two := []string{assign(mine), assign(others)}
		many := "/v1/training_assignments?id=in.(" + two[0] + "," + two[1] + ")"
		if r := k.Call(testkit.Request{Method: "PATCH", Path: many, As: manager,
			Body: map[string]any{"status": "in_progress"}}); r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: many, As: manager,
			Body: map[string]any{"status": "completed"}}); r.Status != 403 {
			t.Errorf("many at once: %d %s", r.Status, r.Body)
		}

		body, kind := form(t, "training_assignments", "done.csv", "email,course,completed\n"+manager+",OWN-FILE,2026-01-31\n")
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
			Header: map[string]string{"Content-Type": kind}})
		var job struct{ ID string }
		if r.JSON(t, &job); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		for _, step := range []string{"process-import-job", "apply-import-job"} {
			if r := k.Post(manager, "/functions/v1/"+step, map[string]any{"job_id": job.ID}); r.Status >= 500 {
				t.Errorf("%s: %d %s", step, r.Status, r.Body)
			}
		}
		if rows := testkit.List[any](t, k, owner, "training_assignments?select=id&course_id=eq."+code); len(rows) > 0 {
			t.Errorf("%d trainings of the manager are completed by the manager", len(rows))
		}
	})
}
