package app_test

import (
	"net/http"
	"testing"

	"holdfast/internal/testkit"
)

// The demonstration shows its own gaps: South has two truck operators without a
// valid certificate, and nobody in it keeps a duty because nothing is on record.
func TestDemoVerdicts(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		operators := 0
		for _, email := range []string{"admin@south.example", "owner@north.example"} {
			r := k.Post(email, "/functions/v1/check-compliance-rules", map[string]any{})
			if r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			var answer struct{ Summary map[string]any }
			r.JSON(t, &answer)
			var sum float64
			for _, count := range []string{"compliant_count", "waived_count", "insufficient_count", "warning_count",
				"breach_count"} {
				n, _ := answer.Summary[count].(float64)
				sum += n
			}
			if all := answer.Summary["total_regulations"]; sum == 0 || sum != all {
				t.Errorf("%s: %v of %v regulations are counted", email, sum, all)
			}

			type verdict struct {
				Status, About string
				Value         *float64
				Details       struct {
					NotApplicable bool `json:"not_applicable"`
				}
				Regulation struct{ Code string } `json:"regulations"`
			}
			for _, v := range testkit.List[verdict](t, k, email,
				"compliance_events?select=status,about,value,details,regulations(code)&limit=1000") {
				if v.Regulation.Code == "US-1910.178-L4" && v.Status == "breach" {
					operators++
				}
				if v.Status == "compliant" && v.Value == nil && v.About != "score" && !v.Details.NotApplicable {
					t.Errorf("%s: somebody keeps %s by absence", email, v.Regulation.Code)
				}
			}
		}
		if operators != 2 {
			t.Errorf("%d truck operators of South are in breach, want 2", operators)
		}
	})
}
