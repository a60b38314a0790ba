package safety_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"holdfast/internal/safety"
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
// else compliant; unknown data are compliant and say so.
func TestEvaluate(t *testing.T) {
	const counted = `{"scope":{"entity_types":["zone"]},"metric":"incident_count","window_days":90,"warn":{"op":">=","value":1},"breach":{"op":">=","value":3}`
	plain := parse(t, counted+`}`)
	per := parse(t, counted+`,"normalize":"per_200k_hours","min_exposure_hours":1000}`)
	large := parse(t, counted+`,"applies_if":[{"fact":"site.avg_employees","op":">","value":10}]}`)
	rest := parse(t, `{"scope":{"entity_types":["worker"]},"metric":"rest_hours_min","warn":{"op":"<","value":11.5},"breach":{"op":"<","value":11}}`)
	for _, c := range []struct {
		what  string
		rule  *safety.Rule
		in    safety.Reading
		facts map[string]float64
		want  safety.Verdict
	}{
		{"below both", plain, safety.Reading{Value: 0, Known: true}, nil, safety.Verdict{Status: "compliant", Known: true, Threshold: 1}},
		{"at warn", plain, safety.Reading{Value: 1, Known: true}, nil, safety.Verdict{Status: "warning", Value: 1, Known: true, Threshold: 1}},
		{"at breach", plain, safety.Reading{Value: 3, Known: true}, nil, safety.Verdict{Status: "breach", Value: 3, Known: true, Threshold: 3}},
		{"unknown", plain, safety.Reading{Value: 9}, nil, safety.Verdict{Status: "compliant", Value: 9, Threshold: 1, Insufficient: true}},
		{"2 in 100,000 h is 4 in 200,000 h", per, safety.Reading{Value: 2, Known: true, Hours: 100_000}, nil,
			safety.Verdict{Status: "breach", Value: 4, Known: true, Threshold: 3}},
		{"too few hours", per, safety.Reading{Value: 2, Known: true, Hours: 999}, nil,
			safety.Verdict{Status: "compliant", Value: 2, Threshold: 1, Insufficient: true}},
		{"small site", large, safety.Reading{Value: 3, Known: true}, map[string]float64{"site.avg_employees": 10},
			safety.Verdict{Status: "compliant", Value: 3, Known: true, Threshold: 1, Exempt: true}},
		{"large site", large, safety.Reading{Value: 3, Known: true}, map[string]float64{"site.avg_employees": 11},
			safety.Verdict{Status: "breach", Value: 3, Known: true, Threshold: 3}},
		{"fact unknown", large, safety.Reading{Value: 3, Known: true}, nil, safety.Verdict{Status: "compliant", Value: 3, Threshold: 1, Insufficient: true}},
		{"rest of 11.2 h", rest, safety.Reading{Value: 11.2, Known: true}, nil, safety.Verdict{Status: "warning", Value: 11.2, Known: true, Threshold: 11.5}},
		{"rest of 10.9 h", rest, safety.Reading{Value: 10.9, Known: true}, nil, safety.Verdict{Status: "breach", Value: 10.9, Known: true, Threshold: 11}},
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

// Days to and past a deadline are counted from the nearest one.
func TestDaysPast(t *testing.T) {
	r := parse(t, `{"scope":{"entity_types":["zone"]},"metric":"calendar_deadline","due":"03-02","state":"osha_summary.submitted","breach":{"op":">","value":0}}`)
	for day, want := range map[string]float64{"2026-03-02": 0, "2026-03-03": 1, "2026-02-01": -29, "2026-12-31": -61, "2026-08-31": 182} {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.DaysPast(at); got != want {
			t.Errorf("%s: %v, want %v", day, got, want)
		}
	}
}

// Points follow the tenant's settings; nonsense leaves them as they are.
func TestPointsSettings(t *testing.T) {
	p := safety.DefaultPoints()
	for key, value := range map[string]string{"points_near_miss": "12", "daily_cap": "-1", "points_hazard": `"x"`, "monthly_target": "0", "points_course": "1e9"} {
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
			v := r.Evaluate(safety.Reading{Value: value, Known: known, Hours: hours}, map[string]float64{"site.avg_employees": value})
			if !slices.Contains([]string{"compliant", "warning", "breach"}, v.Status) || !known && v.Status != "compliant" {
				t.Errorf("%s of %v: %+v", raw, value, v)
			}
		}
		if math.IsNaN(r.DaysPast(time.Now())) {
			t.Errorf("%s: no days", raw)
		}
	})
}
