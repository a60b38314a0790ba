package safety_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/safety"
	"holdfast/internal/safety/yearly"
)

func parse(t *testing.T, rule string) *safety.Rule {
	t.Helper()
	r, err := safety.ParseRule([]byte(rule))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What a rule says: breach if breach holds, else warning if warn holds,
// else compliant. Without data there is no verdict, or a breach where absence is
// declared to be one; a rule that does not apply needs no data.
func TestEvaluate(t *testing.T) {
	const counted = `{"scope":{"entity_types":["zone"]},
		"evidence":{"of":"incidents","absence":"insufficient_data"},
		"metric":"incident_count","window_days":90,"warn":{"op":">=","value":1},"breach":{"op":">=","value":3}`
	plain := parse(t, counted+`}`)
	per := parse(t, counted+`,"normalize":"per_200k_hours","min_exposure_hours":1000}`)
	large := parse(t, counted+`,"applies_if":[{"fact":"site.avg_employees","op":">","value":10}]}`)
	rest := parse(t, `{"scope":{"entity_types":["worker"]},
		"evidence":{"of":"shifts","absence":"insufficient_data"},
		"metric":"rest_hours_min","warn":{"op":"<","value":11.5},"breach":{"op":"<","value":11}}`)
	duty := parse(t, counted+`,"evidence":{"of":"incidents","absence":"breach"},"applies_if":[{"fact":"site.avg_employees","op":">","value":10}]}`)
	eleven := map[string]float64{"site.avg_employees": 11}
	for _, c := range []struct {
		what  string
		rule  *safety.Rule
		in    safety.Reading
		facts map[string]float64
		want  safety.Verdict
	}{
		{"below both", plain, safety.Reading{Value: 0, Known: true}, nil,
			safety.Verdict{Status: "compliant", Known: true, Threshold: 1}},
		{"at warn", plain, safety.Reading{Value: 1, Known: true}, nil,
			safety.Verdict{Status: "warning", Value: 1, Known: true, Threshold: 1}},
		{"at breach", plain, safety.Reading{Value: 3, Known: true}, nil,
			safety.Verdict{Status: "breach", Value: 3, Known: true, Threshold: 3}},
		{"unknown", plain, safety.Reading{Value: 9}, nil,
			safety.Verdict{Status: "insufficient_data", Value: 9, Threshold: 1, Absent: true}},
		{"never done", duty, safety.Reading{}, eleven, safety.Verdict{Status: "breach", Threshold: 3, Absent: true}},
		{"never done, and done", duty, safety.Reading{Known: true}, eleven,
			safety.Verdict{Status: "compliant", Known: true, Threshold: 1}},
		{"never done, does not apply", duty, safety.Reading{}, map[string]float64{"site.avg_employees": 10},
			safety.Verdict{Status: "compliant", Threshold: 1, Exempt: true}},
		{"never done, size unknown", duty, safety.Reading{}, nil,
			safety.Verdict{Status: "insufficient_data", Threshold: 1, Absent: true}},
		{"of elsewhere", duty, safety.Reading{Exempt: true}, eleven,
			safety.Verdict{Status: "compliant", Threshold: 1, Exempt: true}},
		{"2 in 100,000 h is 4 in 200,000 h", per, safety.Reading{Value: 2, Known: true, Hours: 100_000}, nil,
			safety.Verdict{Status: "breach", Value: 4, Known: true, Threshold: 3}},
		{"too few hours", per, safety.Reading{Value: 2, Known: true, Hours: 999}, nil,
			safety.Verdict{Status: "insufficient_data", Value: 2, Threshold: 1, Absent: true}},
		{"small site", large, safety.Reading{Value: 3, Known: true}, map[string]float64{"site.avg_employees": 10},
			safety.Verdict{Status: "compliant", Value: 3, Known: true, Threshold: 1, Exempt: true}},
		{"large site", large, safety.Reading{Value: 3, Known: true}, map[string]float64{"site.avg_employees": 11},
			safety.Verdict{Status: "breach", Value: 3, Known: true, Threshold: 3}},
		{"fact unknown", large, safety.Reading{Value: 3, Known: true}, nil,
			safety.Verdict{Status: "insufficient_data", Value: 3, Threshold: 1, Absent: true}},
		{"rest of 11.2 h", rest, safety.Reading{Value: 11.2, Known: true}, nil,
			safety.Verdict{Status: "warning", Value: 11.2, Known: true, Threshold: 11.5}},
		{"rest of 10.9 h", rest, safety.Reading{Value: 10.9, Known: true}, nil,
			safety.Verdict{Status: "breach", Value: 10.9, Known: true, Threshold: 11}},
	} {
		if got := c.rule.Evaluate(c.in, c.facts); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

// Every shipped regulation parses; those of other jurisdictions are drafts.
func TestShippedRegulationsParse(t *testing.T) {
	active := 0
	for _, r := range safety.ShippedRegulations([]string{"EU", "Global"}) {
		if _, err := safety.ParseRule(r["rule"].(json.RawMessage)); err != nil {
			t.Errorf("%s: %v", r["code"], err)
		}
		if r["status"] == "active" {
			active++
		}
		if (r["status"] == "active") == (r["jurisdiction"] == "US") {
			t.Errorf("%s of %s is %s for an EU tenant", r["code"], r["jurisdiction"], r["status"])
		}
	}
	if active != 11 {
		t.Errorf("%d active, want 11", active)
	}
}

// A deadline stays missed until the duty is done: for the summary of a year over
// the five years that it is kept, for its electronic submission for good. It is
// never taken for the next one because that is nearer.
func TestDaysPast(t *testing.T) {
	rule := func(due, state string) *safety.Rule {
		return parse(t, `{"scope":{"entity_types":["zone"]},
			"evidence":{"of":"osha_summaries","absence":"insufficient_data"},
			"metric":"calendar_deadline","due":"`+due+`","state":"osha_summary.`+state+
			`","breach":{"op":">","value":0}}`)
	}
	posted, submitted := rule("02-01", "posted"), rule("03-02", "submitted")
	record := func(first int, met ...int) *yearly.Record {
		y := &yearly.Record{}
		y.AddYear(first, false)
		for _, year := range met {
			y.AddYear(year, true)
		}
		return y
	}
	for _, c := range []struct {
		rule   *safety.Rule
		day    string
		record *yearly.Record
		want   float64
	}{
		{submitted, "2026-03-01", record(2025), -1},
		{submitted, "2026-03-02", record(2025), 0},
		{submitted, "2026-03-03", record(2025), 1},
		{submitted, "2026-12-31", record(2025), 304}, // nearer to the next
		{submitted, "2027-02-20", record(2025, 2026), 355},
		{submitted, "2026-12-31", record(2025, 2025), -61},
		{submitted, "2026-12-31", record(2015), 3956},
		{posted, "2025-12-31", record(2020, 2021, 2022, 2023, 2024), 1794},
		{posted, "2026-01-01", record(2020, 2021, 2022, 2023, 2024), -31}, // 2020 is past its five years
		{posted, "2026-02-20", &yearly.Record{}, 19},
		{posted, "2026-01-31", &yearly.Record{}, 364},
	} {
		at, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		if got := yearly.DaysPast(c.rule, at, c.record); got != c.want {
			t.Errorf("%s of %+v on %s: %v, want %v", c.rule.State, c.record, c.day, got, c.want)
		}
	}
}

// Every shipped rule declares what decides it and what absence means, and a
// clause that its metric contradicts is refused by name.
func TestEvidence(t *testing.T) {
	for _, r := range safety.ShippedRegulations(nil) {
		if rule := parse(t, string(r["rule"].(json.RawMessage))); rule.Evidence == nil {
			t.Errorf("%s declares no evidence", r["code"])
		}
	}
	const head = `{"scope":{"entity_types":["zone"]},"metric":"days_since_checklist","breach":{"op":">","value":31},"evidence":`
	for clause, words := range map[string]string{
		`{"of":"shifts","absence":"breach"}`:            "evidence.of",
		`{"absence":"breach"}`:                          "evidence.of",
		`{"of":"checklist_runs","absence":"compliant"}`: "evidence.absence",
		`{"of":"checklist_runs"}`:                       "evidence.absence",
	} {
		if _, err := safety.ParseRule([]byte(head + clause + `}`)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want a fault that names %s", clause, err, words)
		}
	}
}

// Points follow the tenant's settings; nonsense leaves them as they are.
func TestPointsSettings(t *testing.T) {
	p := safety.DefaultPoints()
	for key, value := range map[string]string{"points_near_miss": "12", "daily_cap": "-1", "points_hazard": `"x"`,
		"monthly_target": "0", "points_course": "1e9"} {
		if !p.Set(key, value) {
			t.Errorf("%s is not known", key)
		}
	}
	if p.Set("unknown", "1") {
		t.Error("an unknown key was taken")
	}
	want := safety.DefaultPoints()
	want.NearMiss = 12
	if p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
}

// Whatever a rule's text is, reading it ends in a fault or in a rule that
// judges any value.
func FuzzParseRule(f *testing.F) {
	for _, r := range safety.ShippedRegulations(nil) {
		f.Add([]byte(r["rule"].(json.RawMessage)), 3.5, 1000.0)
	}
	f.Add([]byte(`{"metric":"incident_count"}`), 1.0, 0.0)
	f.Add([]byte(`[]`), 0.0, 0.0)
	f.Fuzz(func(t *testing.T, raw []byte, value, hours float64) {
		r, err := safety.ParseRule(raw)
		if err != nil {
			return
		}
		for _, known := range []bool{true, false} {
			v := r.Evaluate(safety.Reading{Value: value, Known: known, Hours: hours},
				map[string]float64{"site.avg_employees": value})
			if !slices.Contains(safety.Statuses[:], v.Status) || !known && !v.Exempt &&
				(v.Status == "compliant" || v.Status == "warning") {
				t.Errorf("%s of %v: %+v", raw, value, v)
			}
		}
		if math.IsNaN(yearly.DaysPast(r, time.Now(), &yearly.Record{})) {
			t.Errorf("%s: no days", raw)
		}
	})
}
