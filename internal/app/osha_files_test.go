package app_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// The hours of a shift never exceed the time from its beginning to its end, less
// the break: whoever writes them.
func TestHoursFitTheShift(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as, represent := testkit.As(actor.Manager), map[string]string{"Prefer": "return=representation"}
		worker := k.Insert(t, as, "workers", map[string]any{"employee_no": "FIT-1", "name": "Ann Example"})
		post := func(day string, hours any) testkit.Response {
			return k.Call(testkit.Request{Method: "POST", Path: "/v1/shifts?select=id,hours", As: as, Header: represent,
				Body: map[string]any{
					"worker_id": worker, "started_at": "2024-05-" + day + "T08:00:00Z", "ended_at": "2024-05-" + day + "T16:40:00Z",
					"break_minutes": 30, "hours": hours}})
		}

		for day, hours := range map[string]string{"06": "8.1624", "07": "8.17"} {
			r := post(day, hours)
			if r.Status != 201 || !strings.Contains(string(r.Body), `"hours":`+hours) {
				t.Errorf("%s hours of 8.17: %d %s", hours, r.Status, r.Body)
			}
		}
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/shifts?select=hours", As: as, Header: represent,
			Body: map[string]any{
				"worker_id": worker, "started_at": "2024-05-20T08:00:00Z", "hours": 7.1234}})
		if string(r.Body) != `[{"hours":7.1234}]` {
			t.Errorf("hours that fill their shift: %d %s", r.Status, r.Body)
		}
		for day, hours := range map[string]any{"08": 8.18, "09": 24} {
			if r := post(day, hours); r.Status != 400 || !strings.Contains(string(r.Body), "hours: are more than the 8.17") {
				t.Errorf("%v hours of 8.17: %d %s", hours, r.Status, r.Body)
			}
		}

		var made []struct{ ID string }
		post("10", nil).JSON(t, &made)
		for _, body := range []map[string]any{{"hours": 9}, {"break_minutes": 60, "hours": 8},
			{"ended_at": "2024-05-10T12:00:00Z", "hours": 5}} {
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/shifts?id=eq." + made[0].ID, As: as, Body: body})
			if r.Status != 400 || !strings.Contains(string(r.Body), "hours: are more than") {
				t.Errorf("%v: %d %s", body, r.Status, r.Body)
			}
		}
		r = k.Get(as, "/v1/shifts?select=hours&worker_id=eq."+worker+"&order=started_at")
		if string(r.Body) != `[{"hours":8.1624},{"hours":8.17},{"hours":8.17},{"hours":7.1234}]` {
			t.Errorf("hours in the end: %s", r.Body)
		}
	})
}

// givenSubmitter makes an establishment that OSHA's file can be made of.
func givenSubmitter(t *testing.T, k *testkit.Kit, code, name string) string {
	t.Helper()
	return k.Insert(t, testkit.As(actor.Admin), "sites", map[string]any{"code": code, "name": name, "country": "US",
		"timezone": "America/Chicago", "address": "1 Main St", "city": "Austin", "state": "TX", "zip": "78701",
		"naics":              "493110",
		"establishment_type": 1})
}

// givenCase records an injury of 2025 at a site as a case of the log.
func givenCase(t *testing.T, k *testkit.Kit, site string, row map[string]any) {
	t.Helper()
	safety := testkit.As(actor.Safety)
	incident := k.Insert(t, safety, "incidents",
		map[string]any{"kind": "injury", "title": "Cut", "occurred_at": "2025-06-05T10:00:00Z", "site_id": site})
	all := map[string]any{"incident_id": incident, "recordable": "yes", "basis": "medical_treatment", "outcome": "other",
		"employee_name": "X", "job_title": "Y", "where_occurred": "Z", "description": "W"}
	for field, value := range row {
		all[field] = value
	}
	k.Insert(t, safety, "osha_cases", all)
}

// Three people with three cases in a year are a lawful summary: it says that the
// figures are seldom so, and is certified and submitted as it is.
func TestSmallEstablishmentCertifies(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety, admin := testkit.As(actor.Safety), testkit.As(actor.Admin)
		site := givenSubmitter(t, k, "SMALL", "Small")
		sum := k.Insert(t, safety, "osha_summaries", map[string]any{"site_id": site, "year": 2025, "avg_employees": 3,
			"additional_hours": 6000})
		path := "/v1/osha_summaries?id=eq." + sum
		is := func(when, want string) {
			t.Helper()
			if r := k.Get(safety, path+"&select=status,doubt"); string(r.Body) != want {
				t.Errorf("%s: %s, want %s", when, r.Body, want)
			}
		}
		change := func(as string, body map[string]any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: path, As: as, Body: body}); r.Status != 204 {
				t.Errorf("%v: %d %s", body, r.Status, r.Body)
			}
		}

		givenCase(t, k, site, nil)
		givenCase(t, k, site, nil)
		is("two cases", `[{"status":"open","doubt":null}]`)
		givenCase(t, k, site, nil)
		const doubt = `"doubt":"as many cases (3) as employees (3) or more, which is rare"`
		is("three cases", `[{"status":"open",`+doubt+`}]`)

		change(admin, map[string]any{"status": "certified", "certified_name": "C. E. O.", "certified_title": "President"})
		change(safety, map[string]any{"status": "submitted"})
		is("in the end", `[{"status":"submitted",`+doubt+`}]`)
		if r := k.Get(safety, "/v1/osha/ita-300a.csv?year=2025&site_id="+site); r.Status != 200 {
			t.Errorf("OSHA's file: %d %s", r.Status, r.Body)
		}
	})
}

// OSHA's files carry each text as it was written, also one that a spreadsheet would
// run; the lists that people open carry it guarded.
func TestSubmissionsCarryTheText(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety, admin := testkit.As(actor.Safety), testkit.As(actor.Admin)
		site := givenSubmitter(t, k, "EQUAL", "=Equal")
		sum := k.Insert(t, safety, "osha_summaries", map[string]any{"site_id": site, "year": 2025, "avg_employees": 12,
			"additional_hours": 24000})
		givenCase(t, k, site, map[string]any{"basis": "days_away", "outcome": "days_away", "days_away": 5,
			"job_title": "@picker", "where_occurred": "+1 floor", "description": "=2 fingers, cut", "birth_date": "1990-01-02",
			"hire_date": "2020-05-01", "activity_before": "-picking", "what_happened": "=cut", "injury_detail": "'=cut",
			"object_substance": "-knife"})
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/osha_summaries?id=eq." + sum, As: admin,
			Body: map[string]any{"status": "certified", "certified_name": "C. E. O.", "certified_title": "President"}})
		if r.Status != 204 {
			t.Fatalf("certify: %d %s", r.Status, r.Body)
		}

		for path, texts := range map[string][]string{
			"osha/ita-300a.csv": {"\n=Equal,"},
			"osha/ita-cases.csv": {"\n=Equal,", ",@picker,", ",+1 floor,", `,"=2 fingers, cut",`,
				",-picking,=cut,'=cut,-knife,"},
			"eu/accidents.csv": {",'@picker,'+1 floor,", `,"'=2 fingers, cut",`},
			"eu/esaw.csv":      {",'=Equal,"},
		} {
			r := k.Get(safety, fmt.Sprintf("/v1/%s?year=2025&site_id=%s", path, site))
			for _, text := range texts {
				if r.Status != 200 || !strings.Contains(string(r.Body), text) {
					t.Errorf("%s: %d, without %q:\n%s", path, r.Status, text, r.Body)
				}
			}
		}
	})
}

// Somebody who has left on a day that nobody wrote down is in no average: not of a
// summary, not of the rates, not in the size of an establishment.
func TestLeftWithoutADay(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
		site := givenSubmitter(t, k, "LEFT", "Left")
		for i := range 11 {
			k.Insert(t, manager, "workers", map[string]any{"employee_no": fmt.Sprint("LEFT-", i), "name": "Ann Example",
				"site_id": site})
		}
		givenCase(t, k, site, map[string]any{"basis": "days_away", "outcome": "days_away", "days_away": 5})
		is := func(when, employees, size string) {
			t.Helper()
			r := k.Get(safety, "/functions/v1/safety-rates?year=2025&site_id="+site)
			if !strings.Contains(string(r.Body), `"avg_employees":`+employees+",") {
				t.Errorf("%s: rates %s, want %s employees", when, r.Body, employees)
			}
			r = k.Get(safety, "/v1/eu/esaw.csv?year=2025&site_id="+site)
			if columns := strings.Split(strings.Split(string(r.Body), "\n")[1], ","); columns[9] != size {
				t.Errorf("%s: size %s, want %s", when, columns[9], size)
			}
		}
		is("eleven at work", "11", "2")

		for _, change := range []map[string]any{{"status": "left"}, {"status": "left", "left_on": "2025-12-31"}} {
			no := "LEFT-0"
			if change["left_on"] != nil {
				no = "LEFT-1"
			}
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/workers?employee_no=eq." + no, As: manager, Body: change})
			if r.Status != 204 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
		is("one left on a day, one on none", "10", "2")
		k.Call(testkit.Request{Method: "PATCH", Path: "/v1/workers?employee_no=eq.LEFT-2", As: manager,
			Body: map[string]any{"status": "left"}})
		is("two left on no day", "9", "1")

		sum := k.Insert(t, safety, "osha_summaries", map[string]any{"site_id": site, "year": 2025})
		if r := k.Get(safety, "/v1/osha_summaries?select=avg_employees&id=eq."+sum); string(r.Body) != `[{"avg_employees":9}]` {
			t.Errorf("the summary: %s", r.Body)
		}
	})
}

// The list of art. 9 of 89/391/EEC has no period of its own: its rule reminds, and is
// never a breach by the seven days that are OSHA's.
func TestListOfAccidentsHasNoSevenDays(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var rows []struct {
			Code string
			Rule struct{ Warn, Breach *struct{ Value float64 } }
		}
		k.Get(testkit.As(actor.Safety), "/v1/regulations?select=code,rule&code=in.(EU-89-391-9,US-1904.29)&order=code").JSON(t, &rows)
		if len(rows) != 2 || rows[0].Rule.Breach != nil || rows[0].Rule.Warn == nil || rows[1].Rule.Breach.Value != 7 {
			t.Errorf("rules of the lists: %+v", rows)
		}
	})
}
