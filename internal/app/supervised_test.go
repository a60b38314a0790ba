package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// OSHA's records are about employees, agency workers and those contractors who are supervised day to day (29 CFR
// 1904.31): their hours and heads, their cases and what is told of them. European figures leave every contractor to
// the own employer.
func TestContractorsBySupervision(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "DAYTON", "US", "America/New_York")
		safety, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
		at := time.Now().Add(-3 * time.Hour)

		workers := map[string]string{}
		for i, w := range []struct {
			name, employment string
			supervised       bool
		}{
			{"employee", "employee", false},
			{"agency", "agency", false},
			{"supervised", "contractor", true},
			{"alone", "contractor", false},
		} {
			workers[w.name] = k.Insert(t, manager, "workers", map[string]any{"employee_no": "DAY-" + w.name, "name": w.name,
				"site_id": c.site, "employment": w.employment, "supervised": w.supervised, "hired_on": "2020-01-01"})
			k.Insert(t, manager, "shifts", map[string]any{"worker_id": workers[w.name], "status": "approved",
				"started_at": "2025-03-10T12:00:00Z", "ended_at": fmt.Sprintf("2025-03-10T%d:00:00Z", 13+i)})
		}

		r := k.Get(safety, "/functions/v1/safety-rates?year=2025&site_id="+c.site)
		for _, want := range []string{`"avg_employees":3,`, `"hours_worked":6,`} { // 1 + 2 + 3, without the fourth's 4
			if !strings.Contains(string(r.Body), want) {
				t.Errorf("the rates: %d %s, want %s", r.Status, r.Body, want)
			}
		}

		for name, isOurs := range map[string]bool{"employee": true, "agency": true, "supervised": true, "alone": false} {
			incident := c.addInjury(at, map[string]any{"entities": []any{
				map[string]any{"entity_type": "worker", "entity_id": workers[name], "role": "injured"}}})
			osha := k.Insert(t, safety, "osha_cases",
				map[string]any{"incident_id": incident, "worker_id": workers[name], "in_patient": true})
			want := ""
			if isOurs {
				want = "US-TREATMENT running"
			}
			c.wantStates(name+" in a hospital", incident, want)

			var row []struct {
				Due *string `json:"osha_due_at"`
			}
			k.Get(safety, "/v1/osha_cases?select=osha_due_at&id=eq."+osha).JSON(t, &row)
			if isOurs != (row[0].Due != nil) {
				t.Errorf("%s: to be told until %v", name, row[0].Due)
			}

			recordable := map[string]any{"recordable": "yes", "basis": "days_away", "outcome": "days_away", "days_away": 5,
				"job_title": "Picker", "where_occurred": "Dock 1", "description": "A fall"}
			r := c.patchRow(actor.Safety, "/v1/osha_cases?id=eq."+osha, recordable)
			if isOurs != (r.Status < 300) || !isOurs && !strings.Contains(string(r.Body), "1904.31(b)(3)") {
				t.Errorf("%s recorded: %d %s", name, r.Status, r.Body)
			}
		}
	})
}
