package app_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Cases of a year are submitted after it, and not in the future.
func TestCasesSubmittedOn(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		site := k.Insert(t, testkit.As(actor.Admin), "sites", map[string]any{
			"code": "TX", "name": "Texas", "country": "US", "timezone": "America/Chicago"})
		year := time.Now().UTC().Year() - 1
		sum := k.Insert(t, officer, "osha_summaries", map[string]any{"site_id": site, "year": year})
		day := func(at time.Time) string { return at.Format(time.DateOnly) }
		for _, c := range []struct {
			when   string
			on     any
			status int
		}{
			{"on the last day of the year", day(time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)), 400},
			{"the day after", day(time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC)), 204},
			{"in two days", day(time.Now().UTC().AddDate(0, 0, 2)), 400},
			{"not yet", nil, 204},
		} {
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/osha_summaries?id=eq." + sum, As: officer,
				Body: map[string]any{"cases_submitted_on": c.on}})
			if r.Status != c.status || c.status == 400 && !strings.Contains(string(r.Body), "cases_submitted_on") {
				t.Errorf("%s: %d %s, want %d", c.when, r.Status, r.Body, c.status)
			}
		}
	})
}
