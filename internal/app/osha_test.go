package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// first returns a field of the first row of a read with the service key.
func first(t *testing.T, k *testkit.Kit, path, field string) string {
	t.Helper()
	var rows []map[string]any
	k.Call(testkit.Request{Method: "GET", Path: path, Bearer: k.Service()}).JSON(t, &rows)
	if len(rows) == 0 {
		t.Fatalf("%s: no rows", path)
	}
	return fmt.Sprint(rows[0][field])
}

// A case is the safety officer's: administrators read, nobody else sees it.
// What breaks a rule of recording is refused by name and nothing is written.
func TestCases(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		site := first(t, k, "/v1/sites?select=id&order=code&limit=1&tenant_id=eq."+demo.North, "id")
		incident := k.Insert(t, testkit.As(actor.Operator), "incidents",
			map[string]any{"kind": "injury", "severity": "medium", "title": "Cut", "occurred_at": "2026-01-05T23:30:00Z",
				"site_id": site})
		safety := testkit.As(actor.Safety)
		for _, role := range []actor.Role{actor.Owner, actor.Manager, actor.Operator, actor.Viewer} {
			if r := k.Post(testkit.As(role), "/v1/osha_cases", map[string]any{"incident_id": incident}); r.Status != 403 {
				t.Errorf("%s makes a case: %d %s", role, r.Status, r.Body)
			}
		}
		id := k.Insert(t, safety, "osha_cases", map[string]any{"incident_id": incident})
		path := "/v1/osha_cases?id=eq." + id
		r := k.Get(testkit.As(actor.Admin), path+"&select=year,recordable,illness_type,case_no,entered_at")
		// 23:30 UTC is the next day in Berlin, of the same year.
		if got := string(r.Body); got != `[{"year":2026,"recordable":"undecided","illness_type":"injury","case_no":null,"entered_at":null}]` {
			t.Errorf("new case: %s", got)
		}
		patch := func(as string, body map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: path, As: as, Body: body})
		}
		for _, c := range []struct {
			body map[string]any
			want string
		}{
			{map[string]any{"recordable": "yes"}, "1904.7(b)(1)"},
			{map[string]any{"recordable": "yes", "basis": "days_away", "outcome": "days_away", "days_away": 3}, "1904.29(b)(1)"},
			{map[string]any{"privacy_case": true}, "1904.29(b)(8)"},
			{map[string]any{"days_away": 3661}, "1904.7(b)(3)"},
		} {
			if r := patch(safety, c.body); r.Status != 400 || !strings.Contains(string(r.Body), c.want) ||
				!strings.Contains(string(r.Body), "HF012") {
				t.Errorf("%v: %d %s, want 400 naming %s", c.body, r.Status, r.Body, c.want)
			}
		}
		full := map[string]any{"recordable": "yes", "basis": "days_away", "outcome": "days_away", "away_from": "2026-01-06",
			"away_until":    "2026-01-12",
			"employee_name": "Ada",
			"job_title":     "Picker", "where_occurred": "Dock 3", "description": "Cut, left hand, knife"}
		if r := patch(testkit.As(actor.Admin), full); r.Status != 403 {
			t.Errorf("an administrator writes: %d", r.Status)
		}
		if r := patch(safety, full); r.Status >= 300 {
			t.Fatalf("decide: %d %s", r.Status, r.Body)
		}
		var rows []map[string]any
		k.Get(safety, path).JSON(t, &rows)
		if rows[0]["days_away"] != 6.0 || rows[0]["case_no"] == nil || rows[0]["entered_late"] != false {
			t.Errorf("6 calendar days after the day of the injury (6 January in Berlin), a number, in time: %v", rows[0])
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + incident, As: safety,
			Body: map[string]any{"status": "void", "void_reason": "x"}}); r.Status != 409 ||
			!strings.Contains(string(r.Body), "1904.33") {
			t.Errorf("void with a recordable case: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: path, Bearer: k.Service()}); r.Status != 409 ||
			!strings.Contains(string(r.Body), "1904.33(a)") {
			t.Errorf("delete within five years: %d %s", r.Status, r.Body)
		}
		if r := k.Get(testkit.As(actor.Admin), "/v1/audit?select=after&entity_id=eq."+id); strings.Contains(string(r.Body),
			"Ada") {
			t.Errorf("the audit log holds the name: %s", r.Body)
		}
		if r := k.Post(safety, "/v1/osha_cases", map[string]any{"incident_id": incident}); r.Status != 409 {
			t.Errorf("a second case: %d %s", r.Status, r.Body)
		}
		if r := k.Post(safety, "/v1/osha_cases",
			map[string]any{"incident_id": first(t, k, "/v1/incidents?select=id&limit=1&kind=eq.injury&tenant_id=eq."+demo.South,
				"id")}); r.Status != 409 {
			t.Errorf("another tenant's incident: %d %s", r.Status, r.Body)
		}
	})
}

// The establishment of a case is that of its incident, or of the place where the
// incident was.
func TestCaseEstablishment(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		site := k.Insert(t, testkit.As(actor.Owner), "sites", map[string]any{"code": "EST", "name": "Establishment"})
		zone := k.Insert(t, testkit.As(actor.Manager), "zones",
			map[string]any{"code": "EST-1", "name": "There", "site_id": site})
		incident := k.Insert(t, safety, "incidents", map[string]any{"kind": "injury", "severity": "low", "title": "Cut",
			"zone_id":     zone,
			"occurred_at": "2026-02-02T10:00:00Z"})
		id := k.Insert(t, safety, "osha_cases", map[string]any{"incident_id": incident})
		if got := first(t, k, "/v1/osha_cases?select=site_id&id=eq."+id, "site_id"); got != site {
			t.Errorf("establishment %s, want %s", got, site)
		}
	})
}

// A case number counts for each establishment and year, without gaps or
// repetition when cases are decided at once.
func TestCaseNumbers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		site := k.Insert(t, testkit.As(actor.Admin), "sites", map[string]any{"code": "NEW", "name": "New"})
		const n = 6
		errs := make(chan error, n)
		for i := range n {
			incident := k.Insert(t, testkit.As(actor.Operator), "incidents",
				map[string]any{"kind": "injury", "title": fmt.Sprint(i), "occurred_at": "2026-02-03T10:00:00Z", "site_id": site})
			token := k.Token(testkit.As(actor.Safety))
			go func() {
				r := k.Call(testkit.Request{Method: "POST", Path: "/v1/osha_cases", Bearer: token,
					Body: map[string]any{"incident_id": incident, "recordable": "yes", "basis": "medical_treatment",
						"outcome": "other", "employee_name": "X", "job_title": "Y", "where_occurred": "Z", "description": "W"}})
				if r.Status != 201 {
					errs <- fmt.Errorf("%d %s", r.Status, r.Body)
					return
				}
				errs <- nil
			}()
		}
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		var rows []struct {
			No int `json:"case_no"`
		}
		k.Get(testkit.As(actor.Safety), "/v1/osha_cases?select=case_no&order=case_no&site_id=eq."+site).JSON(t, &rows)
		got, _ := json.Marshal(rows)
		if string(got) != `[{"case_no":1},{"case_no":2},{"case_no":3},{"case_no":4},{"case_no":5},{"case_no":6}]` {
			t.Errorf("numbers %s", got)
		}
	})
}

// A summary follows its log until an executive who did not make it certifies
// it; then its figures stand, and it is submitted when OSHA's file would take
// it.
func TestSummaries(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety, admin := testkit.As(actor.Safety), testkit.As(actor.Admin)
		site := k.Insert(t, admin, "sites",
			map[string]any{"code": "TX", "name": "Texas", "country": "US", "timezone": "America/Chicago",
				"address": "1 Main St", "city": "Austin", "state": "TX",
				"zip": "78701", "naics": "493110", "establishment_type": 1})
		incident := k.Insert(t, safety, "incidents", map[string]any{"kind": "injury", "title": "Cut",
			"occurred_at": "2025-06-05T10:00:00Z", "site_id": site})
		sum := k.Insert(t, safety, "osha_summaries", map[string]any{"site_id": site, "year": 2025, "avg_employees": 12,
			"additional_hours": 24000})
		path := "/v1/osha_summaries?id=eq." + sum
		patch := func(as string, body map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: path, As: as, Body: body})
		}
		want := func(what string, r testkit.Response, status int, say string) {
			t.Helper()
			if r.Status != status || !strings.Contains(string(r.Body), say) {
				t.Errorf("%s: %d %s, want %d %s", what, r.Status, r.Body, status, say)
			}
		}
		sign := map[string]any{"status": "certified", "certified_name": "C. E. O.", "certified_title": "President"}
		want("closed without a decision",
			k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + incident, As: safety,
				Body: map[string]any{"status": "closed"}}), 409, "1904.29(b)(3)")
		dock := k.Insert(t, admin, "zones", map[string]any{"code": "TX-DOCK", "name": "Dock", "site_id": site})
		for where, at := range map[string]struct {
			who, zone string
			status    int
		}{"a zone of the site": {safety, dock, 409}, "nowhere in Germany": {safety, "", 204},
			"nowhere in the United States": {"admin@south.example", "", 409}} {
			row := map[string]any{"kind": "illness", "title": "Cough", "occurred_at": "2025-06-05T10:00:00Z"}
			if at.zone != "" {
				row["zone_id"] = at.zone
			}
			id := k.Insert(t, at.who, "incidents", row)
			want(where, k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + id, As: at.who,
				Body: map[string]any{"status": "closed"}}), at.status, "")
		}
		c := k.Insert(t, safety, "osha_cases", map[string]any{"incident_id": incident})
		want("undecided case", patch(admin, sign), 409, "1904.32(a)(1)")
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/osha_cases?id=eq." + c, As: safety,
			Body: map[string]any{"recordable": "yes", "basis": "days_away", "outcome": "days_away", "days_away": 4,
				"employee_name": "X", "job_title": "Y", "where_occurred": "Z", "description": "W"}})
		want("decide", r, 204, "")
		var rows []map[string]any
		k.Get(testkit.As(actor.Manager), path).JSON(t, &rows)
		if rows[0]["total_dafw_cases"] != 1.0 || rows[0]["total_dafw_days"] != 4.0 || rows[0]["total_injuries"] != 1.0 ||
			rows[0]["hours_worked"] != 24000.0 {
			t.Errorf("totals do not follow the log: %v", rows[0])
		}
		want("no name", patch(admin, map[string]any{"status": "certified"}), 400, "1904.32(b)(3)")
		want("four eyes", patch(safety, sign), 409, "somebody else")
		want("too few hours", patch(safety, map[string]any{"additional_hours": 6000}), 204, "")
		want("too few hours", patch(admin, sign), 400, "hours_worked")
		want("hours", patch(safety, map[string]any{"additional_hours": 24000}), 204, "")
		want("posted before it is certified", patch(safety, map[string]any{"posted_from": "2026-02-01"}), 400,
			"1904.32(b)(5)")
		want("manager certifies", patch(testkit.As(actor.Manager), sign), 403, "")
		want("certify", patch(admin, sign), 204, "")
		want("changed after", patch(safety, map[string]any{"additional_hours": 1}), 400, "1904.32(b)(3)")
		want("posted too short", patch(safety, map[string]any{"posted_from": "2026-02-01", "posted_to": "2026-04-29"}), 400,
			"1904.32(b)(6)")
		want("posted", patch(safety, map[string]any{"posted_from": "2026-02-01", "posted_to": "2026-04-30"}), 204, "")
		want("submit", patch(safety, map[string]any{"status": "submitted"}), 204, "")
		want("opened without a reason", patch(safety, map[string]any{"status": "open"}), 409, "change_reason")
		want("opened", patch(safety, map[string]any{"status": "open", "change_reason": "late case"}), 204, "")
		year := k.Insert(t, safety, "osha_summaries", map[string]any{"site_id": site, "year": 2099, "avg_employees": 12})
		want("year not over", k.Call(testkit.Request{Method: "PATCH", Path: "/v1/osha_summaries?id=eq." + year, As: admin,
			Body: sign}), 409, "1904.32(a)")
	})
}

// lastYear is the year before the one that it is at the tenant's place.
func lastYear(t *testing.T) int {
	t.Helper()
	chicago, err := time.LoadLocation("America/Chicago")
	testkit.Must(t, err)
	return time.Now().In(chicago).Year() - 1
}

// The demonstration year is filed: every form and file of it is made, for those
// who may have it, and OSHA's file has the columns and values it asks for.
func TestForms(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		year := lastYear(t)
		query := fmt.Sprintf("?year=%d", year)
		boss := "admin@south.example"
		for _, form := range []string{"300", "300a", "301"} {
			r := k.Get(boss, "/v1/osha/"+form+".pdf"+query)
			if r.Status != 200 || !strings.HasPrefix(string(r.Body), "%PDF-") ||
				r.Header.Get("Content-Type") != "application/pdf" ||
				!strings.Contains(r.Header.Get("Content-Disposition"), "osha-"+form+"-dfw1") {
				t.Errorf("%s: %d %s %.80q", form, r.Status, r.Header, r.Body)
			}
		}
		if r := k.Get("operator@south.example", "/v1/osha/300a.pdf"+query); r.Status != 403 {
			t.Errorf("an operator takes the summary: %d", r.Status)
		}
		for _, path := range []string{"300.pdf", "301.pdf", "ita-cases.csv"} {
			if r := k.Get(testkit.As(actor.Manager), "/v1/osha/"+path+query); r.Status != 403 {
				t.Errorf("a manager takes %s: %d", path, r.Status)
			}
		}
		if r := k.Get(testkit.As(actor.Manager), "/v1/osha/300a.pdf"+query); r.Status != 400 ||
			!strings.Contains(string(r.Body), "site_id") {
			t.Errorf("one of several establishments without a name: %d %s", r.Status, r.Body)
		}
		for _, bad := range []string{"?year=19", "?year=x", "?site_id=x", "?redact=x", "?year=2025&year=2025"} {
			if r := k.Get(boss, "/v1/osha/300.pdf"+bad); r.Status != 400 {
				t.Errorf("%s: %d", bad, r.Status)
			}
		}
		foreign := first(t, k, "/v1/sites?select=id&limit=1&tenant_id=eq."+demo.South, "id")
		if r := k.Get(testkit.As(actor.Safety), "/v1/osha/300.pdf?site_id="+foreign); r.Status != 404 {
			t.Errorf("another tenant's log: %d", r.Status)
		}
		checkGolden(t, k, boss, "/v1/osha/ita-300a.csv"+query, "ita-300a.csv", year)
		checkGolden(t, k, boss, "/v1/osha/ita-cases.csv"+query, "ita-cases.csv", year)
		if r := k.Get(boss, fmt.Sprintf("/v1/osha/ita-300a.csv?year=%d", year+1)); r.Status != 409 ||
			!strings.Contains(string(r.Body), "1904.32(b)(3)") {
			t.Errorf("a summary that is not certified: %d %s", r.Status, r.Body)
		}
		for field, bad := range map[string]any{"ein": "12", "address": "PO Box 7", "naics": "49", "state": "Texas"} {
			var was []map[string]any
			k.Get(boss, "/v1/sites?select="+field+"&code=eq.DFW1").JSON(t, &was)
			set := func(v any) {
				if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/sites?code=eq.DFW1", As: boss,
					Body: map[string]any{field: v}}); r.Status != 204 {
					t.Fatalf("%d %s", r.Status, r.Body)
				}
			}
			set(bad)
			if r := k.Get(boss, "/v1/osha/ita-300a.csv"+query); r.Status != 400 || !strings.Contains(string(r.Body), field) ||
				!strings.Contains(string(r.Body), "1904.41") {
				t.Errorf("%s %v: %d %s", field, bad, r.Status, r.Body)
			}
			set(was[0][field])
		}
		if r := k.Get(testkit.As(actor.Admin), "/v1/audit?select=id&action=like.export.osha*"); string(r.Body) != "[]" {
			t.Errorf("exports of another tenant in the audit log: %s", r.Body)
		}
		var notes []map[string]any
		k.Get(boss, "/v1/audit?select=id&action=like.export.osha*").JSON(t, &notes)
		if len(notes) != 5 {
			t.Errorf("%d exports noted, want 5", len(notes))
		}
	})
}

// checkGolden compares a file with testdata; {year} stands for the year.
func checkGolden(t *testing.T, k *testkit.Kit, as, path, name string, year int) {
	t.Helper()
	r := k.Get(as, path)
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(string(r.Body), fmt.Sprint(year), "{year}")
	if r.Status != 200 || got != string(want) {
		t.Errorf("%s: %d, got\n%s\nwant\n%s", path, r.Status, got, want)
	}
}

// Rates of the demonstration year, by hand: 2 + 1 + 1 cases in 46,912 hours.
func TestRates(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		type rate struct{ Value, Low, High *float64 }
		var out struct {
			Hours    float64 `json:"hours_worked"`
			Cases    map[string]int
			TRIR     rate
			DART     rate
			LTIFR    rate
			Severity rate `json:"severity_rate"`
		}
		r := k.Get("admin@south.example", fmt.Sprintf("/functions/v1/safety-rates?year=%d", lastYear(t)))
		r.JSON(t, &out)
		// 4 x 200,000 / 46,912 = 17.05; Garwood 90 % of 4: 1.3663 to 9.1535.
		if out.Hours != 46912 || out.TRIR.Value == nil || *out.TRIR.Value != 17.05 || *out.TRIR.Low != 5.83 ||
			*out.TRIR.High != 39.02 {
			t.Errorf("TRIR: %s", r.Body)
		}
		if *out.DART.Value != 8.53 || *out.LTIFR.Value != 21.32 || *out.Severity.Value != 127.9 || out.Severity.Low != nil {
			t.Errorf("DART, LTIFR, severity: %s", r.Body)
		}
		r = k.Get("admin@south.example", "/functions/v1/safety-rates?year=2010")
		if !strings.Contains(string(r.Body), `"trir":{"value":null,"low":null,"high":null}`) {
			t.Errorf("a year without hours: %s", r.Body)
		}
		if r := k.Get("operator@south.example", "/functions/v1/safety-rates"); r.Status != 403 {
			t.Errorf("operator: %d", r.Status)
		}
	})
}

// The European lists hold accidents from the fourth day of absence on.
func TestEuropeanLists(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		site := first(t, k, "/v1/sites?select=id&order=code&limit=1&tenant_id=eq."+demo.North, "id")
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/sites?id=eq." + site, As: testkit.As(actor.Admin),
			Body: map[string]any{"nace": "5210", "nuts": "DE600"}}); r.Status != 204 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		// The only one who was there that day: the demonstration's people came later.
		worker := k.Insert(t, testkit.As(actor.Admin), "workers",
			map[string]any{"employee_no": "ESAW-1", "name": "Ada", "isco": "93", "site_id": site, "hired_on": "2019-03-04",
				"left_on": "2019-12-31"})
		for i, c := range []map[string]any{{"days_away": 3},
			{"days_away": 4, "birth_date": "1990-03-05", "sex": "F", "worker_id": worker},
			{"basis": "death", "outcome": "death", "death_date": "2019-03-05", "privacy_case": true,
				"privacy_reason": "mental_illness"}} {
			incident := k.Insert(t, safety, "incidents",
				map[string]any{"kind": "injury", "title": fmt.Sprint(i), "occurred_at": "2019-03-04T09:15:00Z", "site_id": site,
					"category_tags": []string{"slip_trip"}})
			row := map[string]any{"incident_id": incident, "recordable": "yes", "basis": "days_away", "outcome": "days_away",
				"employee_name": fmt.Sprint("Ada ", i), "job_title": "=Picker", "where_occurred": "Z", "description": "W"}
			maps.Copy(row, c)
			k.Insert(t, safety, "osha_cases", row)
		}
		list := string(k.Get(safety, "/v1/eu/accidents.csv?year=2019").Body)
		if strings.Count(list, "\n") != 3 || strings.Contains(list, "Ada 0") ||
			!strings.Contains(list, ",2019-03-04,10:15,Ada 1,'=Picker,Z,W,4,0\n") ||
			!strings.Contains(list, ",Privacy case,") {
			t.Errorf("accidents: %s", list)
		}
		esaw := string(k.Get(safety, "/v1/eu/esaw.csv?year=2019").Body)
		if strings.Contains(esaw, "Ada") || strings.Count(esaw, "\n") != 3 ||
			!strings.Contains(esaw, ",DE,5210,93,28,2,0,300,1,DE600,20190304,10,000,00,004,0,000,00,00,00.02,52,00.02,00,00.02\n") ||
			!strings.Contains(esaw, ",DE,5210,,99,9,0,000,1,DE600,20190304,10,000,00,998,") {
			t.Errorf("ESAW: %s", esaw)
		}
		if r := k.Get(testkit.As(actor.Viewer), "/v1/eu/esaw.csv"); r.Status != 403 {
			t.Errorf("a viewer: %d", r.Status)
		}
	})
}
