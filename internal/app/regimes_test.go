package app_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// regimeKit records accidents at an establishment of a country and reads what its
// country makes of them.
type regimeKit struct {
	*testing.T
	k          *testkit.Kit
	site, zone string
}

// regime is what a country counts.
type regime struct {
	Country     string
	From, To    string
	Hours       *float64 `json:"hours_worked"`
	Accidents   int
	Commuting   int
	WithoutCase int `json:"without_case"`
	Assumed     int `json:"assumed_days"`
	Figures     []struct {
		Code, Status, Unit, Counts, Denominator, Basis, Citation string
		Value, Low, High, Exposure                               *float64
		Count                                                    int
	}
}

func givenRegime(t *testing.T, k *testkit.Kit, code, country, zone string) *regimeKit {
	t.Helper()
	return &regimeKit{T: t, k: k, zone: zone, site: k.Insert(t, testkit.As(actor.Admin), "sites",
		map[string]any{"code": code, "name": code, "country": country, "timezone": zone})}
}

// addAccident records an accident at noon of a day, as an undecided case.
func (r *regimeKit) addAccident(day string, incident, row map[string]any) string {
	r.Helper()
	place, err := time.LoadLocation(r.zone)
	testkit.Must(r.T, err)
	noon, err := time.ParseInLocation("2006-01-02 15:04", day+" 12:00", place)
	testkit.Must(r.T, err)
	all := map[string]any{"kind": "injury", "title": "Fall", "site_id": r.site,
		"occurred_at": noon.UTC().Format(time.RFC3339)}
	maps.Copy(all, incident)
	caseRow := map[string]any{"incident_id": r.k.Insert(r.T, testkit.As(actor.Safety), "incidents", all)}
	maps.Copy(caseRow, row)
	return r.k.Insert(r.T, testkit.As(actor.Safety), "osha_cases", caseRow)
}

// isAway writes days of a case, both included.
func (r *regimeKit) isAway(id, kind, from, until string) {
	r.Helper()
	r.k.Insert(r.T, testkit.As(actor.Safety), "absences",
		map[string]any{"case_id": id, "kind": kind, "from_on": from, "until_on": until})
}

func (r *regimeKit) stateYear(year int, row map[string]any) string {
	r.Helper()
	all := map[string]any{"site_id": r.site, "year": year}
	maps.Copy(all, row)
	return r.k.Insert(r.T, testkit.As(actor.Safety), "osha_summaries", all)
}

func (r *regimeKit) readRegime(year int) regime {
	r.Helper()
	var out struct{ Regimes []regime }
	res := r.k.Get(testkit.As(actor.Safety), fmt.Sprintf("/functions/v1/safety-rates?year=%d&site_id=%s", year, r.site))
	res.JSON(r.T, &out)
	if len(out.Regimes) != 1 {
		r.Fatalf("one establishment has one country: %s", res.Body)
	}
	return out.Regimes[0]
}

// wantFigures holds figures to their values as text; null is what is not known.
func (r *regimeKit) wantFigures(when string, year int, want map[string]string) regime {
	r.Helper()
	got := r.readRegime(year)
	seen := map[string]bool{}
	for _, f := range got.Figures {
		seen[f.Code] = true
		have := "null"
		if f.Value != nil {
			have = fmt.Sprintf("%.2f", *f.Value)
		}
		if w, asked := want[f.Code]; asked && have != w {
			r.Errorf("%s: %s is %s of %d, want %s (%s)", when, f.Code, have, f.Count, w, f.Basis)
		}
		if f.Unit == "" || f.Counts == "" || f.Basis == "" || f.Citation == "" || (f.Value == nil) == (f.Status == "ok") {
			r.Errorf("%s: %s does not say what it stands on: %+v", when, f.Code, f)
		}
	}
	for code := range want {
		if !seen[code] {
			r.Errorf("%s: no figure %s", when, code)
		}
	}
	return got
}

// Nobody is away after the day of death: an absence that was left without an end counts
// seven days of TG (4 to 10 March, 7 x 1,000 / 1,000), and no British one of eight.
func TestDeathEndsDaysAway(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, country := range [...][2]string{{"FR", "Europe/Paris"}, {"GB", "Europe/London"}} {
			r := givenRegime(t, k, "END-"+country[0], country[0], country[1])
			id := r.addAccident("2025-03-03", nil, map[string]any{"death_date": "2025-03-10"})
			k.Insert(t, testkit.As(actor.Safety), "absences",
				map[string]any{"case_id": id, "kind": "away", "from_on": "2025-03-04"})
			r.stateYear(2025, map[string]any{"avg_employees": 10, "additional_hours": 1000})
			if country[0] == "FR" {
				r.wantFigures("after the death", 2025, map[string]string{"TF": "1000.00", "TG": "7.00"})
				continue
			}
			incident := k.Get(testkit.As(actor.Safety), "/v1/osha_cases?select=incident_id&id=eq."+id)
			var rows []struct {
				ID string `json:"incident_id"`
			}
			incident.JSON(t, &rows)
			(&clockKit{t, k, r.site}).wantStates("after the death", rows[0].ID, "GB-NOTIFY running, GB-PROC running")
		}
	})
}

// The establishment of Lille in a year: 184,320 hours, 118.4 full-time equivalents of
// 131 heads. With arrêt 4, 12, 31 and 7 days, and 60 of which 29 fall in the year; last
// year's accident has 20 days in this year; one commuting, 15 days; two declared without
// arrêt, four in the register of minor accidents. By hand:
//
//	TF  5 x 1,000,000 / 184,320 = 27.1267
//	TF2 7 x 1,000,000 / 184,320 = 37.9774
//	TF3 11 x 1,000,000 / 184,320 = 59.6788
//	TG  (4 + 12 + 31 + 7 + 29 + 20) x 1,000 / 184,320 = 103,000 / 184,320 = 0.5588
//	    (by year of case 114 days, 0.62; with commuting 118 days, 0.64)
//	IF  5 x 1,000 / 118.4 = 42.2297 (by heads 38.17)
func TestRatesOfLille(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		lille := givenRegime(t, k, "LILLE", "FR", "Europe/Paris")
		lille.wantFigures("nothing is known", 2025,
			map[string]string{"TF": "null", "TG": "null", "IF": "null", "ESAW": "null"})

		exempt := map[string]any{"recordable": "no", "basis": "not_work_related"}
		lille.isAway(lille.addAccident("2025-02-03", nil, exempt), "away", "2025-02-03", "2025-02-07")
		lille.isAway(lille.addAccident("2025-03-10", nil, nil), "away", "2025-03-11", "2025-03-22")
		lille.isAway(lille.addAccident("2025-05-05", nil, nil), "away", "2025-05-06", "2025-06-05")
		minorAtFirst := lille.addAccident("2025-09-01", nil, map[string]any{"minor_register": true})
		lille.isAway(minorAtFirst, "away", "2025-09-02", "2025-09-08")
		lille.isAway(lille.addAccident("2025-12-02", nil, nil), "away", "2025-12-03", "2026-01-31")
		lille.isAway(lille.addAccident("2024-12-16", nil, nil), "away", "2024-12-17", "2025-01-20")
		commuting := map[string]any{"journey": "commuting"}
		lille.isAway(lille.addAccident("2025-04-07", commuting, nil), "away", "2025-04-08", "2025-04-22")
		for _, day := range []string{"2025-06-16", "2025-07-15"} {
			lille.addAccident(day, nil, nil)
		}
		minor := map[string]any{"minor_register": true}
		lille.isAway(lille.addAccident("2025-08-04", nil, minor), "restricted", "2025-08-05", "2025-08-06")
		for _, day := range []string{"2025-08-11", "2025-08-12", "2025-08-13"} {
			lille.addAccident(day, nil, minor)
		}
		illness := k.Insert(t, testkit.As(actor.Safety), "incidents", map[string]any{"kind": "illness", "title": "Back",
			"site_id": lille.site, "occurred_at": "2025-08-20T10:00:00Z"})
		lille.isAway(k.Insert(t, testkit.As(actor.Safety), "osha_cases", map[string]any{"incident_id": illness}),
			"away", "2025-08-21", "2025-08-30")
		k.Insert(t, testkit.As(actor.Safety), "incidents", map[string]any{"kind": "injury", "title": "A visitor",
			"site_id": lille.site, "occurred_at": "2025-08-21T10:00:00Z"})

		year := lille.stateYear(2025, map[string]any{"avg_employees": 131, "additional_hours": 184320})
		lille.wantFigures("no equivalents", 2025, map[string]string{"TF": "27.13", "IF": "null", "ESAW": "3816.79"})
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/osha_summaries?id=eq." + year, As: testkit.As(actor.Safety),
			Body: map[string]any{"full_time_equivalents": 118.4}})
		if r.Status != http.StatusNoContent {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		got := lille.wantFigures("the year", 2025,
			map[string]string{"TF": "27.13", "TF2": "37.98", "TF3": "59.68", "TG": "0.56", "IF": "42.23"})
		if got.Accidents != 11 || got.Commuting != 1 || got.WithoutCase != 1 || got.Assumed != 0 || *got.Hours != 184320 ||
			got.From != "2025-01-01" || got.To != "2025-12-31" || got.Country != "FR" {
			t.Errorf("what it stands on: %+v", got)
		}
		for _, f := range got.Figures {
			// Garwood 90 % of 5 accidents: 1.9701 to 10.5130.
			if f.Code == "TF" && (f.Count != 5 || math.Abs(*f.Low-10.69) > 0.001 || math.Abs(*f.High-57.04) > 0.001) {
				t.Errorf("TF: %d, %v to %v", f.Count, *f.Low, *f.High)
			}
			if f.Code == "TG" && (f.Count != 103 || f.Low != nil) {
				t.Errorf("TG: %d days, low %v", f.Count, f.Low)
			}
		}
		lille.wantFigures("days of the year before", 2024, map[string]string{"TF": "null", "TG": "null"})
	})
}

// Germany: 3 reportable accidents in 240,000 hours are 160 full-time workers and 18.75
// for a thousand of them, 12.50 for a million hours. Four days away are reportable,
// three are not.
func TestRatesOfGermany(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		hamburg := givenRegime(t, k, "HAMBURG", "DE", "Europe/Berlin")
		for _, until := range []string{"2025-03-06", "2025-03-07", "2025-04-30"} {
			hamburg.isAway(hamburg.addAccident("2025-03-02", nil, nil), "away", "2025-03-03", until)
		}
		hamburg.isAway(hamburg.addAccident("2025-03-02", nil, nil), "away", "2025-03-03", "2025-03-05")
		commuting := map[string]any{"journey": "commuting"}
		hamburg.isAway(hamburg.addAccident("2025-03-02", commuting, nil), "away", "2025-03-03", "2025-03-09")
		hamburg.stateYear(2025, map[string]any{"additional_hours": 240000, "avg_employees": 160})
		hamburg.wantFigures("the year", 2025, map[string]string{"1000-MANN-QUOTE": "18.75", "PER-MILLION-HOURS": "12.50",
			"ARBSCHG-6-2": "3.00", "ESAW": "1875.00"})
	})
}

// The United Kingdom: 2 reportable of 160 people in 300,000 hours are 1,250 and 6.67.
// Eight days without the usual work are reported, seven are recorded; a specified
// injury is reported without any; roads are left out. Four accidents of four days
// among 160 are 2,500 in the Union, none of three.
func TestRatesOfBritainAndTheUnion(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		leeds := givenRegime(t, k, "LEEDS", "GB", "Europe/London")
		eight := leeds.addAccident("2025-03-03", nil, nil)
		leeds.isAway(eight, "away", "2025-03-04", "2025-03-06")
		leeds.isAway(eight, "restricted", "2025-03-07", "2025-03-11")
		leeds.isAway(leeds.addAccident("2025-03-03", nil, nil), "away", "2025-03-04", "2025-03-10")
		leeds.addAccident("2025-05-06", nil, map[string]any{"specified_injury": "fracture"})
		broken := leeds.addAccident("2025-06-02", nil, nil) // eight days, never more than six of them together
		leeds.isAway(broken, "away", "2025-06-03", "2025-06-08")
		leeds.isAway(broken, "away", "2025-06-12", "2025-06-13")
		road := map[string]any{"journey": "road"}
		leeds.isAway(leeds.addAccident("2025-07-07", road, nil), "away", "2025-07-08", "2025-08-08")
		leeds.stateYear(2025, map[string]any{"additional_hours": 300000, "avg_employees": 160})
		leeds.wantFigures("the year", 2025, map[string]string{"RIDDOR-INCIDENCE": "1250.00", "RIDDOR-FREQUENCY": "6.67",
			"RIDDOR-RECORD": "4.00"})

		gent := givenRegime(t, k, "GENT", "BE", "Europe/Brussels")
		for range 3 {
			gent.isAway(gent.addAccident("2025-03-03", nil, nil), "away", "2025-03-04", "2025-03-07")
		}
		gent.isAway(gent.addAccident("2025-03-03", nil, nil), "away", "2025-03-04", "2025-03-06")
		commuting := map[string]any{"journey": "commuting"}
		gent.isAway(gent.addAccident("2025-03-03", commuting, nil), "away", "2025-03-04", "2025-06-06")
		gent.addAccident("2025-03-03", nil, map[string]any{"death_date": "2026-03-02"})
		gent.stateYear(2025, map[string]any{"avg_employees": 160})
		gent.wantFigures("the year", 2025, map[string]string{"ESAW": "2500.00"})
	})
}

// One story in six regimes: an accident on a Monday, away for two days, then at
// restricted work for seven.
func TestOneStoryInSixRegimes(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for country, c := range map[string]struct {
			zone string
			want map[string]string
		}{
			"FR": {"Europe/Paris", map[string]string{"TF": "1.00", "TG": "0.00", "ESAW": "0.00"}},
			"DE": {"Europe/Berlin", map[string]string{"1000-MANN-QUOTE": "0.00", "ARBSCHG-6-2": "1.00", "ESAW": "0.00"}},
			"GB": {"Europe/London", map[string]string{"RIDDOR-FREQUENCY": "1.00", "RIDDOR-RECORD": "1.00"}},
		} {
			r := givenRegime(t, k, "STORY"+country, country, c.zone)
			r.stateYear(2026, map[string]any{"additional_hours": 1000000, "avg_employees": 600})
			id := r.addAccident("2026-03-02", nil, nil)
			r.isAway(id, "away", "2026-03-03", "2026-03-04")
			r.isAway(id, "restricted", "2026-03-05", "2026-03-11")
			got := r.wantFigures(country, 2026, c.want)
			for _, f := range got.Figures {
				if f.Code == "TG" && f.Count != 2 {
					t.Errorf("TG counts %d days, want 2", f.Count)
				}
			}
		}
	})
}

// A figure without its denominator is not known, also where one of two establishments
// lacks it; OSHA's end of 180 days cuts no European figure; countries without figures
// of their own have none, and an unknown establishment is refused.
func TestRatesThatAreNotKnown(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		one := givenRegime(t, k, "LYON1", "FR", "Europe/Paris")
		one.isAway(one.addAccident("2025-01-06", nil, nil), "away", "2025-01-07", "2025-08-04") // 210 days
		one.stateYear(2025, map[string]any{"additional_hours": 100000, "avg_employees": 60, "full_time_equivalents": 50})
		one.wantFigures("one establishment", 2025, map[string]string{"TF": "10.00", "TG": "2.10", "IF": "20.00"})

		two := givenRegime(t, k, "LYON2", "FR", "Europe/Paris")
		two.addAccident("2025-02-03", nil, nil)
		two.wantFigures("without hours", 2025, map[string]string{"TF": "null", "TF2": "null", "TG": "null", "IF": "null"})
		var out struct{ Regimes []regime }
		k.Get(safety, "/functions/v1/safety-rates?year=2025").JSON(t, &out)
		found := false
		for _, r := range out.Regimes {
			if r.Country == "US" {
				t.Errorf("the United States have OSHA's rates: %+v", r)
			}
			for _, f := range r.Figures {
				if r.Country == "FR" && f.Code == "TF" {
					found = true
					if f.Value != nil || f.Status != "insufficient_data" || !strings.Contains(f.Basis, "missing at 1 of ") {
						t.Errorf("one of two without hours: %+v", f)
					}
				}
			}
		}
		if !found {
			t.Error("no French figures")
		}

		number := one.addAccident("2025-10-01", nil, map[string]any{"days_away": 6})
		got := one.wantFigures("a number of days", 2025, map[string]string{"TG": "2.16"})
		if got.Assumed != 1 {
			t.Errorf("%d accidents with assumed days, want 1 (%s)", got.Assumed, number)
		}
	})
}

// Whether an accident was on the way to work decides about its country's figures: with
// a case the safety officer alone changes it, with a reason.
func TestJourneyIsChangedWithAReason(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := givenStory(t, k, "WAY", 9, nil)
		l := &labelKit{t, k, s.incident}
		way := func(journey string, reason any) map[string]any {
			return map[string]any{"journey": journey, "change_reason": reason}
		}
		safety := testkit.As(actor.Safety)
		l.wantRefused("a manager", testkit.As(actor.Manager), way("commuting", "on the way home"), 403, "journey")
		l.wantRefused("no reason", safety, map[string]any{"journey": "commuting"}, 409, "change_reason")
		l.wantRefused("no such way", safety, way("bus", "on the way home"), 400, "journey")
		l.wantTaken("with a reason", safety, way("commuting", "on the way home"))
	})
}
