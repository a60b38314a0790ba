package app_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Accidents are coded as European statistics ask for: a code that there is not is refused
// by the field's name with those that are near, and the file of accidents has the codes.
func TestAccidentsAreCoded(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		year := time.Now().UTC().Year() - 1
		at := time.Date(year, 6, 3, 9, 0, 0, 0, time.UTC)
		l := givenSite(t, k, "HAM", "DE", "Europe/Berlin")
		incident := l.addInjury(at, map[string]any{"category_tags": []string{"fall_height"}})
		c := k.Insert(t, officer, "osha_cases", map[string]any{"incident_id": incident, "site_id": l.site,
			"employee_name": "Ada", "job_title": "Picker", "description": "Fall", "where_occurred": "Ramp",
			"recordable": "yes", "basis": "days_away", "outcome": "days_away",
			"illness_type": "injury", "away_from": at.AddDate(0, 0, 1).Format(time.DateOnly),
			"away_until": at.AddDate(0, 0, 9).Format(time.DateOnly)})
		s := &story{k: k, site: l.site, injured: at}
		read := func() string {
			t.Helper()
			var out []string
			for _, column := range []string{"type_of_injury", "part_of_body_injured", "deviation", "contact_mode_of_injury"} {
				out = append(out, s.readColumn(t, "/v1/eu/esaw.csv", column))
			}
			return strings.Join(out, " ")
		}
		if got := read(); got != "000 00 51 31" {
			t.Errorf("before anything is coded: %s", got)
		}
		for _, x := range []struct {
			field, code string
			status      int
			says        []string
		}{
			{"injury_type", "021", 204, nil},
			{"injury_type", "023", 400, []string{"injury_type", "46 codes", "022"}},
			{"injury_type", "21", 400, []string{"injury_type"}},
			{"body_part", "54", 204, nil},
			{"body_part", "56", 400, []string{"body_part", "41 codes", "55"}},
			{"body_part", "", 400, []string{"body_part"}},
			{"deviation", "52", 204, nil},
			{"deviation", "53", 400, []string{"deviation", "52"}},
			{"contact_mode", "32", 204, nil},
			{"contact_mode", "hand", 400, []string{"contact_mode"}},
		} {
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/osha_cases?id=eq." + c, As: officer,
				Body: map[string]any{x.field: x.code}})
			if r.Status != x.status {
				t.Errorf("%s %q: %d %s, want %d", x.field, x.code, r.Status, r.Body, x.status)
			}
			for _, words := range x.says {
				if !strings.Contains(string(r.Body), words) {
					t.Errorf("%s %q does not say %s: %s", x.field, x.code, words, r.Body)
				}
			}
		}
		if got := read(); got != "021 54 52 32" {
			t.Errorf("as coded: %s", got)
		}
		var list []struct{ ID string }
		path := "/v1/osha_cases?select=id&body_part=eq.54"
		k.Get(officer, path).JSON(t, &list)
		if r := k.Get(testkit.As(actor.Manager), path); len(list) != 1 || r.Status == 200 && string(r.Body) != "[]" {
			t.Errorf("an officer finds %d cases, a manager %d %s", len(list), r.Status, r.Body)
		}
	})
}
