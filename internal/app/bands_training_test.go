package app_test

import (
	"context"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// A score that rests on too little to tell its band assigns no course, and skipped says
// so; with a critical incident, or by another score of the same person, the course is
// due by the score as ever.
func TestBandsThatCannotBeToldAssignNoTraining(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		course := k.Insert(t, safety, "courses", map[string]any{"code": "UNCLEAR", "title": "Unclear", "risk_threshold": 50,
			"entity_types": []string{"worker", "driver"}})
		ids := map[string]string{}
		for _, no := range []string{"LITTLE", "ENOUGH", "CRITICAL", "LOW", "BOTH"} {
			ids[no] = k.Insert(t, testkit.As(actor.Admin), "workers", map[string]any{"employee_no": no, "name": no})
		}
		driver := k.Insert(t, testkit.As(actor.Admin), "drivers", map[string]any{"worker_id": ids["BOTH"]})
		callFunction[any](t, k, safety, "POST", "calculate-predictive-safety-scores")

		// What a model that compares peers would have said of them.
		const little, critical = `{}`, `{"critical_count":1}`
		testkit.Must(t, k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			for _, s := range []struct {
				entity            string
				score, confidence float64
				inputs            string
			}{
				{ids["LITTLE"], 50, 0.1, little}, {ids["ENOUGH"], 50, 0.25, little}, {ids["CRITICAL"], 50, 0.1, critical},
				{ids["LOW"], 20, 0.1, critical}, {ids["BOTH"], 90, 0.1, little}, {driver, 60, 0.9, little},
			} {
				n, err := tx.Exec(`
					UPDATE predictive_scores
					SET model_kind = 'eb', score = $3, confidence = $4, inputs = $5
					WHERE tenant_id = $1
						AND entity_id = $2`, demo.North, s.entity,
					int64(decimal.FromFloat(s.score)), int64(decimal.FromFloat(s.confidence)), s.inputs)
				if err != nil || n != 1 {
					t.Fatalf("%d scores of %s: %v", n, s.entity, err)
				}
			}
			return nil
		}))
		out := callFunction[struct {
			Skipped []struct {
				Course string `json:"course_id"`
				Worker string `json:"worker_id"`
				Reason string
			}
		}](t, k, safety, "POST", "auto-assign-training")
		reasons := map[string]string{}
		for _, x := range out.Skipped {
			if x.Course == course {
				reasons[x.Worker] = x.Reason
			}
		}
		for no, want := range map[string]struct {
			courses int
			reason  string
		}{"LITTLE": {0, "unclear"}, "ENOUGH": {1, ""}, "CRITICAL": {1, ""}, "LOW": {0, ""}, "BOTH": {1, ""}} {
			rows := testkit.List[any](t, k, safety,
				"training_assignments?select=id&course_id=eq."+course+"&worker_id=eq."+ids[no])
			if len(rows) != want.courses || reasons[ids[no]] != want.reason {
				t.Errorf("%s: %d courses, skipped as %q, want %+v", no, len(rows), reasons[ids[no]], want)
			}
		}
	})
}
