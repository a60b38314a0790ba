package app_test

import (
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// The programme runs for those who lead, and its figures are for all.
func TestProgrammeByRole(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		runs := map[actor.Role]bool{actor.Owner: true, actor.Admin: true, actor.Manager: true, actor.Safety: true}
		for _, role := range actor.Members {
			for _, c := range []struct {
				method, name string
				open         bool
			}{{"POST", "calculate-predictive-safety-scores", false}, {"GET", "calculate-predictive-safety-scores", false},
				{"POST", "assign-risk-clusters", false},
				{"POST", "check-compliance-rules", false}, {"POST", "auto-assign-training", false}, {"GET", "safety-kpis", true},
				{"GET", "safety-engagement", true}} {
				want := 403
				if c.open || runs[role] {
					want = 200
				}
				if r := k.Call(testkit.Request{Method: c.method, Path: "/functions/v1/" + c.name,
					As: testkit.As(role)}); r.Status != want {
					t.Errorf("%s %s as %s: %d, want %d", c.method, c.name, role, r.Status, want)
				}
			}
		}
		first := k.Get(testkit.As(actor.Operator), "/functions/v1/safety-engagement")
		again := k.Get(testkit.As(actor.Operator), "/functions/v1/safety-engagement")
		if again.Header.Get("X-Cache") != "HIT" || string(first.Body) != string(again.Body) {
			t.Errorf("the second look is a %s", again.Header.Get("X-Cache"))
		}
	})
}
