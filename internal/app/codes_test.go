package app_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Accidents are coded as European and American statistics ask for: a code that there is not is refused
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
			{"oiics_nature", "1", 204, nil},
			{"oiics_nature", "13", 204, nil},
			{"oiics_nature", "131", 400, []string{"oiics_nature", "51 codes", "13 (Surface and flesh wounds)"}},
			{"oiics_part", "44", 204, nil},
			{"oiics_part", "7", 400, []string{"oiics_part", "42 codes"}},
			{"oiics_event", "41", 204, nil},
			{"oiics_event", "", 400, []string{"oiics_event"}},
			{"oiics_source", "86", 204, nil},
			{"oiics_source", "hand", 400, []string{"oiics_source", "83 codes"}},
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
		for _, code := range []string{"body_part=eq.54", "oiics_nature=eq.13", "oiics_part=eq.44", "oiics_event=eq.41",
			"oiics_source=eq.86"} {
			var list []struct{ ID string }
			path := "/v1/osha_cases?select=id&" + code
			k.Get(officer, path).JSON(t, &list)
			if r := k.Get(testkit.As(actor.Manager), path); len(list) != 1 || r.Status == 200 &&
				string(r.Body) != "[]" {
				t.Errorf("%s: an officer finds %d cases, a manager %d %s", code, len(list), r.Status, r.Body)
			}
		}
		groups := k.Get(officer, "/v1/osha_cases?select=oiics_event,count()&oiics_event=not.is.null")
		if groups.Status != 200 || !strings.Contains(string(groups.Body), `"oiics_event":"41","count":1`) {
			t.Errorf("events: %d %s", groups.Status, groups.Body)
		}
	})
}
