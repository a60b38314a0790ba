package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

const trainingPath = "/v1/training_assignments"

// A person has a course open once, by whichever name the person is given: the second is
// refused in words that name the first and its last day, and another follows when that is
// over.
func TestCourseIsOpenOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		owner := testkit.As(actor.Owner)
		account := accountOf(t, actor.Operator)
		worker := first(t, k, "/v1/workers?select=id&user_id=eq."+account, "id")
		other := k.Insert(t, owner, "workers", map[string]any{"employee_no": "ONCE-1", "name": "Once"})
		course := k.Insert(t, owner, "courses", map[string]any{"code": "ONCE", "title": "Once"})
		wider := k.Insert(t, owner, "courses", map[string]any{"code": "TWICE", "title": "Twice"})
		row := func(course, column, person string) map[string]any {
			return map[string]any{"course_id": course, column: person, "due_on": "2031-04-05"}
		}
		id := k.Insert(t, owner, "training_assignments", row(course, "user_id", account))
		patch := func(id string, body map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: trainingPath + "?id=eq." + id, As: owner, Body: body})
		}
		refused := func(what string, r testkit.Response, wants ...string) {
			t.Helper()
			for _, want := range append(wants, "HF006") {
				if r.Status != 409 || !strings.Contains(string(r.Body), want) {
					t.Errorf("%s: %d %s, want 409 with %q", what, r.Status, r.Body, want)
				}
			}
		}
		for column, person := range map[string]string{"user_id": account, "worker_id": worker} {
			refused("a second by "+column, k.Post(owner, trainingPath, row(course, column, person)), id, "ONCE", "2031-04-05")
		}
		refused("one of many", k.Post(owner, trainingPath,
			[]any{row(wider, "worker_id", other), row(course, "worker_id", worker)}), id, "row 2")
		refused("two of one request", k.Post(owner, trainingPath,
			[]any{row(wider, "worker_id", other), row(course, "worker_id", other), row(wider, "worker_id", other)}),
			"row 3", "as row 1", "TWICE")
		wants(t, "another person and course", k.Post(owner, trainingPath,
			[]any{row(course, "worker_id", other), row(wider, "worker_id", worker)}), 200, "")

		for _, status := range []string{"in_progress", "failed", "assigned"} {
			wants(t, "the open one, "+status, patch(id, map[string]any{"status": status}), 200, "")
			refused("beside one that is "+status, k.Post(owner, trainingPath, row(course, "worker_id", worker)), id, status)
		}
		wants(t, "the open one is cancelled", patch(id, map[string]any{"status": "cancelled", "close_reason": "Ill"}), 200, "")
		next := k.Insert(t, owner, "training_assignments", row(course, "worker_id", worker))
		for _, status := range []string{"in_progress", "completed"} {
			wants(t, "the next, "+status, patch(next, map[string]any{"status": status}), 200, "")
		}
		k.Insert(t, owner, "training_assignments", row(course, "worker_id", worker))
	})
}

// An import goes on with the open training of a line's person and course. Where that is no
// line's, as an external certificate that waits for its second person, it says which line
// asks for a second.
func TestImportOfOpenTraining(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		owner := testkit.As(actor.Owner)
		account := accountOf(t, actor.Operator)
		no := first(t, k, "/v1/workers?select=employee_no&user_id=eq."+account, "employee_no")
		course := k.Insert(t, owner, "courses", map[string]any{"code": "FILE-ONCE", "title": "Once"})
		k.Insert(t, owner, "workers", map[string]any{"employee_no": "FILE-2", "name": "File"})
		k.Insert(t, owner, "training_assignments", map[string]any{"course_id": course, "user_id": account,
			"issuer": "Dekra", "completed_at": "2026-01-05T10:00:00Z"})
		body, kind := form(t, "training_assignments", "open.csv",
			"employee_no,course,due\nFILE-2,FILE-ONCE,2031-04-05\n"+no+",FILE-ONCE,2031-04-05\n")
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: owner, Body: body,
			Header: map[string]string{"Content-Type": kind}})
		var job struct{ ID string }
		if r.JSON(t, &job); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		in := map[string]any{"job_id": job.ID}
		wants(t, "processing", k.Post(owner, "/functions/v1/process-import-job", in), 200, "")
		wants(t, "what is wrong with the lines", k.Get(owner, "/v1/import-jobs/"+job.ID+"/rows?status=invalid"), 200,
			`"errors":[{"line":3,"column":"course","code":"rule","message":"the person has FILE-ONCE open already`)
		wants(t, "applying", k.Post(owner, "/functions/v1/apply-import-job", in), 200, "1 row with errors was left out")
	})
}

// Of those who assign one course to one person at once, one does: people, and the function
// that assigns by scores, which is refused nothing and assigns to whoever is left.
func TestCourseIsOpenedAtOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		owner, safety := testkit.As(actor.Owner), testkit.As(actor.Safety)
		worker := k.Insert(t, owner, "workers", map[string]any{"employee_no": "RACE", "name": "Race"})
		callFunction[any](t, k, safety, "POST", "calculate-predictive-safety-scores")
		testkit.Must(t, k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			_, err := tx.Exec(`
				UPDATE predictive_scores
				SET score = $3, confidence = $4
				WHERE tenant_id = $1
					AND entity_id = $2`, demo.North, worker, int64(decimal.FromFloat(90)), int64(decimal.FromFloat(0.9)))
			return err
		}))
		for round := range 4 {
			course := k.Insert(t, safety, "courses", map[string]any{"code": fmt.Sprintf("RACE-%d", round), "title": "Race",
				"risk_threshold": 80, "entity_types": []string{"worker"}})
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					if i%4 == 0 {
						if r := k.Post(safety, "/functions/v1/auto-assign-training", nil); r.Status != 200 {
							t.Errorf("by scores: %d %s", r.Status, r.Body)
						}
						return
					}
					r := k.Post(owner, trainingPath, map[string]any{"course_id": course, "worker_id": worker})
					if r.Status != 201 && r.Status != 409 {
						t.Errorf("by hand: %d %s", r.Status, r.Body)
					}
				})
			}
			all.Wait()
			rows := testkit.List[any](t, k, owner, "training_assignments?select=id&course_id=eq."+course+"&worker_id=eq."+worker)
			if len(rows) != 1 {
				t.Errorf("round %d: %d open trainings of one person and course", round, len(rows))
			}
		}
		again := callFunction[struct {
			Created int `json:"assignments_created"`
		}](t, k, safety, "POST", "auto-assign-training")
		if again.Created != 0 {
			t.Errorf("assigned %d more", again.Created)
		}
	})
}
