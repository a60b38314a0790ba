package app_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// story is an injury of some days ago at an establishment of its own, as a recordable
// case.
type story struct {
	k                    *testkit.Kit
	site, incident, self string
	injured              time.Time // local day, as midnight UTC
}

// givenStory records a case at a new establishment in Texas; row says what is unlike
// a case of medical treatment.
func givenStory(t *testing.T, k *testkit.Kit, code string, daysAgo int, row map[string]any) *story {
	t.Helper()
	chicago, err := time.LoadLocation("America/Chicago")
	testkit.Must(t, err)
	now := time.Now().In(chicago)
	noon := time.Date(now.Year(), now.Month(), now.Day()-daysAgo, 12, 0, 0, 0, chicago)
	s := &story{k: k, injured: time.Date(noon.Year(), noon.Month(), noon.Day(), 0, 0, 0, 0, time.UTC)}
	if daysAgo == 0 {
		noon = now
	}
	s.site = givenSubmitter(t, k, code, code)
	s.incident = k.Insert(t, testkit.As(actor.Safety), "incidents",
		map[string]any{"kind": "injury", "title": "Cut", "site_id": s.site,
			"occurred_at": noon.UTC().Format(time.RFC3339)})
	all := map[string]any{"incident_id": s.incident, "recordable": "yes", "basis": "medical_treatment",
		"outcome":       "other",
		"employee_name": "X", "job_title": "Y", "where_occurred": "Z", "description": "W", "birth_date": "1990-01-01",
		"hire_date":       "2019-01-01",
		"activity_before": "a", "what_happened": "b", "injury_detail": "c", "object_substance": "d"}
	maps.Copy(all, row)
	s.self = k.Insert(t, testkit.As(actor.Safety), "osha_cases", all)
	return s
}

// dayAfter is the day so many days after the injury.
func (s *story) dayAfter(n int) string { return s.injured.AddDate(0, 0, n).Format(time.DateOnly) }

// absenceRow is an absence to be written; until is the last day, 0 while it lasts.
func (s *story) absenceRow(kind string, from, until int, more map[string]any) map[string]any {
	row := map[string]any{"case_id": s.self, "kind": kind, "from_on": s.dayAfter(from)}
	if until > 0 {
		row["until_on"] = s.dayAfter(until)
	}
	maps.Copy(row, more)
	return row
}

func (s *story) patchRow(path string, body map[string]any) testkit.Response {
	return s.k.Call(testkit.Request{Method: "PATCH", Path: path, As: testkit.As(actor.Safety), Body: body})
}

// caseIs holds columns of the case to what they are wanted to be.
func (s *story) caseIs(t *testing.T, when, fields, want string) {
	t.Helper()
	r := s.k.Get(testkit.As(actor.Safety), "/v1/osha_cases?select="+fields+"&id=eq."+s.self)
	if string(r.Body) != want {
		t.Errorf("%s: the case is %s, want %s", when, r.Body, want)
	}
}

// readSubmission reads the days away and restricted in OSHA's file of the case.
func (s *story) readSubmission(t *testing.T) string {
	t.Helper()
	return s.readColumn(t, "/v1/osha/ita-cases.csv", "dafw_num_away") + " " + s.readColumn(t, "/v1/osha/ita-cases.csv",
		"djtr_num_tr")
}

// readColumn reads a column of the first line of a file about the establishment's year; ""
// when it has no line.
func (s *story) readColumn(t *testing.T, path, name string) string {
	t.Helper()
	r := s.k.Get(testkit.As(actor.Safety), fmt.Sprintf("%s?year=%d&site_id=%s", path, s.injured.Year(), s.site))
	lines, err := csv.NewReader(strings.NewReader(string(r.Body))).ReadAll()
	if err != nil || r.Status != 200 {
		t.Fatalf("%s: %d %s", path, r.Status, r.Body)
	}
	if len(lines) < 2 {
		return ""
	}
	for i, head := range lines[0] {
		if head == name {
			return lines[1][i]
		}
	}
	t.Fatalf("%s has no column %s", path, name)
	return ""
}

// readDaysLost reads the days lost and the accidents of four days and more among the rates.
func (s *story) readDaysLost(t *testing.T) (days, long int) {
	t.Helper()
	var out struct {
		Cases struct {
			DaysLost int `json:"days_lost"`
			FourDays int `json:"four_days"`
		}
	}
	s.k.Get(testkit.As(actor.Safety), fmt.Sprintf("/functions/v1/safety-rates?year=%d&site_id=%s", s.injured.Year(),
		s.site)).JSON(t, &out)
	return out.Cases.DaysLost, out.Cases.FourDays
}

// Absences say which days a case counts: the day of the injury counts nowhere, an
// absence that lasts counts to today, and the case follows with the outcome that is
// the most serious. One that is not recordable for first aid alone takes no days.
func TestAbsencesCountDays(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		s := givenStory(t, k, "ABS", 9, nil)
		s.caseIs(t, "before", "days_away,days_restricted,basis,outcome",
			`[{"days_away":0,"days_restricted":0,"basis":"medical_treatment","outcome":"other"}]`)
		if got := s.readSubmission(t); got != "0 0" {
			t.Errorf("before: %s", got)
		}

		restricted := k.Insert(t, safety, "absences", s.absenceRow("restricted", 3, 9, nil))
		s.caseIs(t, "at restricted work", "days_away,days_restricted,basis,outcome",
			`[{"days_away":0,"days_restricted":7,"basis":"restricted","outcome":"restricted"}]`)
		away := k.Insert(t, safety, "absences", s.absenceRow("away", 0, 2, nil))
		s.caseIs(t, "away", "days_away,days_restricted,outcome",
			`[{"days_away":2,"days_restricted":7,"outcome":"days_away"}]`)
		s.caseIs(t, "away", "away_from,away_until,restricted_from",
			fmt.Sprintf(`[{"away_from":"%s","away_until":"%s","restricted_from":"%s"}]`,
				s.dayAfter(0), s.dayAfter(2), s.dayAfter(3)))
		if got := s.readSubmission(t); got != "2 7" {
			t.Errorf("OSHA's file: %s days, want 2 away and 7 restricted", got)
		}
		if days, long := s.readDaysLost(t); days != 2 || long != 0 {
			t.Errorf("rates: %d days lost, %d of four and more, want 2 and 0", days, long)
		}
		if got := s.readColumn(t, "/v1/eu/esaw.csv", "days_lost"); got != "" {
			t.Errorf("ESAW has an accident of two days: %s", got)
		}

		s.patchRow("/v1/absences?id=eq."+restricted, map[string]any{"until_on": s.dayAfter(5)})
		r := k.Post(safety, "/v1/absences", s.absenceRow("away", 6, 0, nil))
		if r.Status != 201 {
			t.Fatalf("away again: %d %s", r.Status, r.Body)
		}
		if got := s.readSubmission(t); got != "6 3" {
			t.Errorf("away since the 6th day, today is the 9th: %s, want 6 and 3", got)
		}
		if days, long := s.readDaysLost(t); days != 6 || long != 1 {
			t.Errorf("rates: %d days lost, %d of four and more, want 6 and 1", days, long)
		}
		if got := s.readColumn(t, "/v1/eu/esaw.csv", "days_lost"); got != "006" {
			t.Errorf("ESAW: %s, want 006", got)
		}
		if got := s.readColumn(t, "/v1/eu/accidents.csv", "days_away"); got != "6" {
			t.Errorf("list of accidents: %s, want 6", got)
		}

		if r := s.patchRow("/v1/osha_cases?id=eq."+s.self, map[string]any{"days_away": 1}); r.Status != 400 ||
			!strings.Contains(string(r.Body), "days_away") {
			t.Errorf("days beside the absences: %d %s", r.Status, r.Body)
		}
		for _, id := range []string{restricted, away} {
			if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/absences?id=eq." + id,
				As: safety}); r.Status != 204 {
				t.Errorf("delete: %d %s", r.Status, r.Body)
			}
		}
		s.caseIs(t, "one is left", "days_away,days_restricted,restricted_from",
			`[{"days_away":4,"days_restricted":0,"restricted_from":null}]`)
		all := "/v1/absences?case_id=eq." + s.self
		entered := string(k.Get(safety, "/v1/osha_cases?select=entered_at,entered_late&id=eq."+s.self).Body)
		if r := k.Call(testkit.Request{Method: "DELETE", Path: all, As: safety}); r.Status != 204 {
			t.Errorf("the last one: %d %s", r.Status, r.Body)
		}
		s.caseIs(t, "none is left", "days_away,away_from,basis,outcome",
			`[{"days_away":0,"away_from":null,"basis":"medical_treatment","outcome":"other"}]`)
		s.caseIs(t, "none is left", "entered_at,entered_late", entered)
		if got := s.readSubmission(t); got != "0 0" {
			t.Errorf("none is left: %s", got)
		}

		undecided := givenStory(t, k, "UND", 9, map[string]any{"recordable": "undecided", "basis": nil, "outcome": nil})
		id := k.Insert(t, safety, "absences", undecided.absenceRow("away", 1, 2, nil))
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/absences?id=eq." + id,
			As: safety}); r.Status != 204 {
			t.Errorf("the last one of an undecided case: %d %s", r.Status, r.Body)
		}
		undecided.caseIs(t, "none is left", "days_away,recordable,outcome",
			`[{"days_away":0,"recordable":"undecided","outcome":null}]`)

		aid := givenStory(t, k, "AID", 9, map[string]any{"recordable": "no", "basis": "first_aid_only", "outcome": nil})
		if r := k.Post(safety, "/v1/absences", aid.absenceRow("away", 1, 2, nil)); r.Status != 400 ||
			!strings.Contains(string(r.Body), "more than first aid") {
			t.Errorf("days away after first aid: %d %s", r.Status, r.Body)
		}
	})
}

// OSHA's count ends at 180 days, away and restricted together, and the European lists
// go on; what is stored has no end.
func TestAbsencesEndAtTheFigure(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		for _, c := range []struct {
			code                        string
			away, restricted            int // last days after the injury
			osha, esaw, stored, accLost string
		}{
			{"C179", 179, 0, "179 0", "179", `[{"days_away":179,"days_restricted":0}]`, "179"},
			{"C180", 180, 0, "180 0", "180", `[{"days_away":180,"days_restricted":0}]`, "180"},
			{"C182", 182, 0, "180 0", "182", `[{"days_away":182,"days_restricted":0}]`, "182"},
			{"C183", 183, 0, "180 0", "997", `[{"days_away":183,"days_restricted":0}]`, "183"},
			{"CSUM", 150, 199, "150 30", "150", `[{"days_away":150,"days_restricted":49}]`, "150"},
		} {
			s := givenStory(t, k, c.code, 200, nil)
			k.Insert(t, safety, "absences", s.absenceRow("away", 1, c.away, nil))
			if c.restricted > 0 {
				k.Insert(t, safety, "absences", s.absenceRow("restricted", c.away+1, c.restricted, nil))
			}
			s.caseIs(t, c.code, "days_away,days_restricted", c.stored)
			if got := s.readSubmission(t); got != c.osha {
				t.Errorf("%s: OSHA's file has %s, want %s", c.code, got, c.osha)
			}
			if got := s.readColumn(t, "/v1/eu/esaw.csv", "days_lost"); got != c.esaw {
				t.Errorf("%s: ESAW has %s, want %s", c.code, got, c.esaw)
			}
			if got := s.readColumn(t, "/v1/eu/accidents.csv", "days_away"); got != c.accLost {
				t.Errorf("%s: the list of accidents has %s, want %s", c.code, got, c.accLost)
			}
			if days, _ := s.readDaysLost(t); fmt.Sprint(days, " ") != strings.Fields(c.osha)[0]+" " {
				t.Errorf("%s: rates have %d days lost, want %s", c.code, days, c.osha)
			}
		}
	})
}

// A summary counts whoever is still away with the days that are expected; lists count
// what has passed (29 CFR 1904.7(b)(3)(ix)).
func TestAbsencesAreEstimated(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		s := givenStory(t, k, "EST", 10, nil)
		sum := k.Insert(t, safety, "osha_summaries",
			map[string]any{"site_id": s.site, "year": s.injured.Year(), "avg_employees": 12})
		id := k.Insert(t, safety, "absences", s.absenceRow("away", 1, 40, map[string]any{"estimated": true}))
		totals := func(when, want string) {
			t.Helper()
			if r := k.Get(safety,
				"/v1/osha_summaries?select=total_dafw_cases,total_dafw_days,total_djtr_days&id=eq."+sum,
			); string(r.Body) != want {
				t.Errorf("%s: the summary has %s, want %s", when, r.Body, want)
			}
		}
		totals("expected until the 40th day", `[{"total_dafw_cases":1,"total_dafw_days":40,"total_djtr_days":0}]`)
		s.caseIs(t, "today is the 10th", "days_away", `[{"days_away":10}]`)
		if got := s.readSubmission(t); got != "40 0" {
			t.Errorf("OSHA's file goes with the summary: %s", got)
		}
		if days, _ := s.readDaysLost(t); days != 10 {
			t.Errorf("rates: %d days lost, want 10", days)
		}
		s.patchRow("/v1/absences?id=eq."+id, map[string]any{"until_on": s.dayAfter(8), "estimated": false})
		totals("back after the 8th day", `[{"total_dafw_cases":1,"total_dafw_days":8,"total_djtr_days":0}]`)
		s.patchRow("/v1/absences?id=eq."+id, map[string]any{"until_on": nil})
		totals("back, and still away", `[{"total_dafw_cases":1,"total_dafw_days":10,"total_djtr_days":0}]`)
	})
}

// Somebody who is sent home on the day of the injury is a case with days away at once:
// the days come without anybody writing to the case, and the summary counts both alike.
// One who comes back on the next day is none.
func TestAbsencesToComeDecide(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		for _, c := range []struct {
			code, kind string
			until      int // last day, 0 while it lasts
			outcome    string
			totals     string // of the summary
		}{
			{"HOME", "away", 0, "days_away",
				`"total_dafw_cases":1,"total_dafw_days":1,"total_djtr_cases":0,"total_djtr_days":0`},
			{"HOME5", "away", 5, "days_away",
				`"total_dafw_cases":1,"total_dafw_days":5,"total_djtr_cases":0,"total_djtr_days":0`},
			{"LIGHT", "restricted", 0, "restricted",
				`"total_dafw_cases":0,"total_dafw_days":0,"total_djtr_cases":1,"total_djtr_days":1`},
			{"LIGHT5", "restricted", 5, "restricted",
				`"total_dafw_cases":0,"total_dafw_days":0,"total_djtr_cases":1,"total_djtr_days":5`},
		} {
			s := givenStory(t, k, c.code, 0, nil)
			sum := k.Insert(t, safety, "osha_summaries",
				map[string]any{"site_id": s.site, "year": s.injured.Year(), "avg_employees": 12})
			totals := func(when, want string) {
				t.Helper()
				if r := k.Get(safety, "/v1/osha_summaries?select=total_dafw_cases,total_dafw_days,total_djtr_cases,"+
					"total_djtr_days&id=eq."+sum); string(r.Body) != "[{"+want+"}]" {
					t.Errorf("%s, %s: the summary has %s, want %s", c.code, when, r.Body, want)
				}
			}

			more := map[string]any{"estimated": c.until > 0}
			id := k.Insert(t, safety, "absences", s.absenceRow(c.kind, 0, c.until, more))
			s.caseIs(t, c.code, "days_away,days_restricted,basis,outcome", fmt.Sprintf(
				`[{"days_away":0,"days_restricted":0,"basis":"%s","outcome":"%s"}]`, c.outcome, c.outcome))
			totals("sent home today", c.totals)
			if r := s.patchRow("/v1/osha_cases?id=eq."+s.self,
				map[string]any{"basis": "medical_treatment", "outcome": "other"}); r.Status != 400 {
				t.Errorf("%s: the outcome beside the days to come: %d %s", c.code, r.Status, r.Body)
			}

			r := s.patchRow("/v1/absences?id=eq."+id, map[string]any{"until_on": s.dayAfter(0), "estimated": false})
			if r.Status != 204 {
				t.Errorf("%s, back tomorrow: %d %s", c.code, r.Status, r.Body)
			}
			s.caseIs(t, c.code, "basis,outcome", `[{"basis":"medical_treatment","outcome":"other"}]`)
			totals("back tomorrow",
				`"total_dafw_cases":0,"total_dafw_days":0,"total_djtr_cases":0,"total_djtr_days":0`)
		}
	})
}

// A case without absences has the days that it states, as before.
func TestCasesWithoutAbsences(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := givenStory(t, k, "OLD", 10, map[string]any{"basis": "days_away", "outcome": "days_away", "days_away": 6,
			"days_restricted": 2})
		if got := s.readSubmission(t); got != "6 2" {
			t.Errorf("OSHA's file: %s, want 6 and 2", got)
		}
		if days, long := s.readDaysLost(t); days != 6 || long != 1 {
			t.Errorf("rates: %d days lost, %d of four and more, want 6 and 1", days, long)
		}
		if got := s.readColumn(t, "/v1/eu/esaw.csv", "days_lost"); got != "006" {
			t.Errorf("ESAW: %s, want 006", got)
		}
		if r := s.patchRow("/v1/osha_cases?id=eq."+s.self, map[string]any{"days_away": 7}); r.Status != 204 {
			t.Errorf("another day: %d %s", r.Status, r.Body)
		}
	})
}

// Each day of a case is away or restricted, once: an overlap is a 409 that names the
// field and the other days, by every way in, and nothing is written.
func TestAbsencesDoNotOverlap(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		s := givenStory(t, k, "LAP", 30, nil)
		first := k.Insert(t, safety, "absences", s.absenceRow("away", 5, 10, nil))
		second := k.Insert(t, safety, "absences", s.absenceRow("restricted", 11, 15, nil)) // the day after: no overlap
		rows := func() string { return string(k.Get(safety, "/v1/absences?order=from_on&case_id=eq."+s.self).Body) }
		before := rows()
		refuse := func(what string, r testkit.Response, status int, field, say string) {
			t.Helper()
			body := string(r.Body)
			if r.Status != status || !strings.Contains(body, say) ||
				!strings.Contains(body, `"details":"`+field+`: `) || !strings.Contains(body, "HF012") {
				t.Errorf("%s: %d %s, want %d naming %s: %s", what, r.Status, r.Body, status, field, say)
			}
			if after := rows(); after != before {
				t.Errorf("%s: something was written: %s", what, after)
			}
		}

		other := givenStory(t, k, "LAP2", 30, nil)
		same := s.absenceRow("away", 10, 10, nil)
		refuse("POST of the same kind", k.Post(safety, "/v1/absences", same), 409, "from_on",
			s.dayAfter(5))
		refuse("POST of another kind", k.Post(safety, "/v1/absences", s.absenceRow("restricted", 8, 10, nil)), 409,
			"from_on", "away or restricted")
		refuse("POST that lasts", k.Post(safety, "/v1/absences", s.absenceRow("away", 1, 0, nil)), 409, "until_on",
			s.dayAfter(10))
		refuse("bulk against each other", k.Post(safety, "/v1/absences",
			[]map[string]any{other.absenceRow("away", 1, 3, nil),
				other.absenceRow("restricted", 3, 4, nil)}), 409, "row 2, from_on", other.dayAfter(3))
		refuse("bulk against a row", k.Post(safety, "/v1/absences",
			[]map[string]any{s.absenceRow("away", 20, 21, nil), s.absenceRow("away", 2, 5, nil)}), 409,
			"row 2, until_on", s.dayAfter(5))
		refuse("bulk with a bad row", k.Post(safety, "/v1/absences",
			[]map[string]any{s.absenceRow("away", 20, 21, nil), other.absenceRow("away", 1, 3, nil),
				s.absenceRow("away", 23, 22, nil)}), 400, "row 3, until_on", `"message":"row 3, until_on `)
		refuse("PATCH", s.patchRow("/v1/absences?id=eq."+first, map[string]any{"until_on": s.dayAfter(11)}), 409,
			"until_on", s.dayAfter(11))
		earlier := map[string]any{"from_on": s.dayAfter(10)}
		refuse("PATCH of the later", s.patchRow("/v1/absences?id=eq."+second, earlier), 409,
			"from_on", s.dayAfter(10))
		refuse("PATCH to no end", s.patchRow("/v1/absences?id=eq."+first, map[string]any{"until_on": nil}), 409,
			"until_on", s.dayAfter(11))
		upsert := s.absenceRow("away", 5, 12, map[string]any{"id": first})
		refuse("upsert", k.Call(testkit.Request{Method: "POST", Path: "/v1/absences?on_conflict=id", As: safety,
			Body:   upsert,
			Header: map[string]string{"Prefer": "resolution=merge-duplicates"}}), 409, "until_on", s.dayAfter(11))

		refuse("ends before it begins", k.Post(safety, "/v1/absences", s.absenceRow("away", 20, 19, nil)), 400,
			"until_on", s.dayAfter(20))
		refuse("before the injury", k.Post(safety, "/v1/absences", s.absenceRow("away", -1, 1, nil)), 400, "from_on",
			s.dayAfter(0))
		refuse("begins tomorrow", k.Post(safety, "/v1/absences", s.absenceRow("away", 31, 0, nil)), 400, "from_on",
			"future")
		refuse("ends tomorrow", k.Post(safety, "/v1/absences", s.absenceRow("away", 20, 31, nil)), 400, "until_on",
			"estimated")
		estimated := map[string]any{"estimated": true}
		refuse("estimated without a day", k.Post(safety, "/v1/absences", s.absenceRow("away", 20, 0, estimated)), 400,
			"until_on", "expected")
		refuse("in two hundred years", k.Post(safety, "/v1/absences", s.absenceRow("away", 20, 73000, estimated)), 400,
			"until_on", "typing error")

		// The same row again is no overlap with itself.
		if r := s.patchRow("/v1/absences?id=eq."+first,
			map[string]any{"from_on": s.dayAfter(4), "until_on": s.dayAfter(9)}); r.Status != 204 {
			t.Errorf("moved: %d %s", r.Status, r.Body)
		}
	})
}

// Absences are read and written as the case is, and no tenant's reach another's case.
func TestAbsencesAreTheSafetyOfficers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		s := givenStory(t, k, "WHO", 10, nil)
		id := k.Insert(t, safety, "absences", s.absenceRow("away", 1, 3, map[string]any{"physician": "Dr. Quill"}))
		for _, role := range []actor.Role{actor.Manager, actor.Operator, actor.Driver, actor.Viewer} {
			if r := k.Get(testkit.As(role), "/v1/absences?id=eq."+id); r.Status != 403 {
				t.Errorf("%s reads absences: %d %s", role, r.Status, r.Body)
			}
		}
		for _, role := range []actor.Role{actor.Owner, actor.Admin, actor.Manager, actor.Operator, actor.Viewer} {
			if r := k.Post(testkit.As(role), "/v1/absences", s.absenceRow("away", 5, 6, nil)); r.Status != 403 {
				t.Errorf("%s writes an absence: %d %s", role, r.Status, r.Body)
			}
		}
		if r := k.Get(testkit.As(actor.Admin),
			"/v1/absences?select=physician&id=eq."+id); string(r.Body) != `[{"physician":"Dr. Quill"}]` {
			t.Errorf("an administrator reads: %s", r.Body)
		}
		if r := k.Get(testkit.As(actor.Admin),
			"/v1/audit?select=after&entity_id=eq."+id); !strings.Contains(string(r.Body), "from_on") ||
			strings.Contains(string(r.Body), "Quill") {
			t.Errorf("the audit log: %s", r.Body)
		}
		const missing = "00000000-0000-4000-8000-00000000dead"
		foreign, before := k.Foreign(t, "osha_cases"), k.Counted(t, "absences")
		for _, header := range []string{"", "resolution=merge-duplicates"} {
			ask := func(self string) testkit.Response {
				return k.Call(testkit.Request{Method: "POST", Path: "/v1/absences", As: safety,
					Header: map[string]string{"Prefer": header},
					Body:   s.absenceRow("away", 5, 6, map[string]any{"case_id": self})})
			}
			other, none := ask(foreign), ask(missing)
			if other.Status/100 != 4 || !strings.Contains(string(other.Body), "case_id") ||
				other.Status != none.Status ||
				strings.ReplaceAll(string(other.Body), foreign, missing) != string(none.Body) {
				t.Errorf("%q: another tenant's case is %d %s, a missing one %d %s", header, other.Status, other.Body,
					none.Status, none.Body)
			}
		}
		upsert := s.absenceRow("away", 1, 3, map[string]any{"id": id, "case_id": foreign})
		if r := k.Call(testkit.Request{Method: "POST", Path: "/v1/absences?on_conflict=id", As: safety, Body: upsert,
			Header: map[string]string{"Prefer": "resolution=merge-duplicates"}}); r.Status/100 != 4 ||
			!strings.Contains(string(r.Body), "case_id") {
			t.Errorf("a row moves to another tenant's case: %d %s", r.Status, r.Body)
		}
		if after := k.Counted(t, "absences"); after != before {
			t.Errorf("%d absences, before %d", after, before)
		}
		r := k.Call(testkit.Request{Method: "GET", Path: "/v1/absences?id=eq." + id, As: "admin@south.example"})
		if string(r.Body) != "[]" {
			t.Errorf("another tenant reads: %d %s", r.Status, r.Body)
		}
	})
}
