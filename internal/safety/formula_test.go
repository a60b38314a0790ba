package safety

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
)

// One decimal, half up; no runs due = 100.
func TestChecklistCompliance(t *testing.T) {
	for _, c := range []struct {
		onTime, due int64
		want        string
	}{{0, 0, "100"}, {0, 3, "0"}, {1, 3, "33.3"}, {2, 3, "66.7"}, {3, 3, "100"}, {1, 2000, "0.1"}, {1, 2001, "0"}} {
		if got := ChecklistCompliance(c.onTime, c.due).String(); got != c.want {
			t.Errorf("%d of %d = %s, want %s", c.onTime, c.due, got, c.want)
		}
	}
}

// Answers by weight; what was not answered has no rate.
func TestPassRate(t *testing.T) {
	for _, c := range []struct {
		passed, failed int64
		want           string
	}{{0, 0, "none"}, {5, 0, "100"}, {0, 5, "0"}, {2, 1, "66.7"}, {1, 7, "12.5"}} {
		got := "none"
		if rate, ok := PassRate(c.passed, c.failed); ok {
			got = rate.String()
		}
		if got != c.want {
			t.Errorf("%d passed, %d failed = %s, want %s", c.passed, c.failed, got, c.want)
		}
	}
}

// The mean follows one report that took long to close; the median of delays
// does not follow one that came late.
func TestMeanAndMedian(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name         string
		times        []time.Duration
		mean, median string // days, hours
	}{
		{"none", nil, "none", "none"},
		{"one", []time.Duration{36 * time.Hour}, "1.5", "36"},
		{"two: their middle", []time.Duration{3 * time.Hour, time.Hour}, "0.1", "2"},
		{"three, unsorted", []time.Duration{5 * day, day, 2 * day}, "2.7", "48"},
		{"one came a year late", []time.Duration{time.Hour, 2 * time.Hour, 365 * day}, "121.7", "2"},
		{"half up", []time.Duration{3 * time.Minute}, "0", "0.1"}, // 0.05 h
		{"a clock that was wrong", []time.Duration{-time.Hour}, "0", "0"},
	} {
		got := func(d decimal.Dec, ok bool) string {
			if !ok {
				return "none"
			}
			return d.String()
		}
		if mean := got(MeanDays(c.times)); mean != c.mean {
			t.Errorf("%s: mean of %s days, want %s", c.name, mean, c.mean)
		}
		if median := got(MedianHours(c.times)); median != c.median {
			t.Errorf("%s: median of %s hours, want %s", c.name, median, c.median)
		}
	}
}

func TestRiskRating(t *testing.T) {
	for _, c := range []struct {
		severity   string
		likelihood any
		want       any
	}{{"low", int64(1), int64(1)}, {"critical", int64(5), int64(20)}, {"high", nil, nil}} {
		if got := RiskRating(c.severity, c.likelihood); got != c.want {
			t.Errorf("%v = %v", c, got)
		}
	}
}

// What an incident's entities may not be, with the rule that says so.
func TestEntitiesAreChecked(t *testing.T) {
	const id = "0190a000-0000-7000-8000-000000000001"
	one := `{"entity_type":"zone","entity_id":"` + id + `"}`
	for raw, rule := range map[string]string{
		``: "must be an array", `null`: "must be an array", `{}`: "must be an array", `[1]`: "must be an array",
		`[` + one + `,{"entity_type":"tenant","entity_id":"` + id + `"}]`:            "member 2: entity_type must be",
		`[{"entity_type":"Zone","entity_id":"` + id + `"}]`:                          "member 1: entity_type must be",
		`[{"entity_id":"` + id + `"}]`:                                               "member 1: entity_type must be",
		`[{"entity_type":"zone"}]`:                                                   "member 1: entity_id is not a UUID",
		`[{"entity_type":"zone","entity_id":"{` + id + `}"}]`:                        "member 1: entity_id is not a UUID",
		`[{"entity_type":"zone","entity_id":"` + id + `","role":"bystander"}]`:       "member 1: role must be",
		`[{"entity_type":"zone","entity_id":"` + id + `","tenant_id":"` + id + `"}]`: "must be an array of {entity_type",
		`[` + strings.Repeat(one+",", 100) + one + `]`:                               "at most 100",
	} {
		_, err := ParseEntities([]byte(raw))
		f := fault.As(err)
		if !fault.Is(err, fault.Invalid) || len(f.Fields) != 1 || f.Fields[0].Name != "entities" ||
			!strings.Contains(f.Fields[0].Msg, rule) {
			t.Errorf("%.80s: %v, want %q", raw, err, rule)
		}
	}
}

func FuzzParseEntities(f *testing.F) {
	const id = "0190a000-0000-7000-8000-000000000001"
	for _, s := range []string{`[]`, `[{"entity_type":"zone","entity_id":"` + id + `","role":"source"}]`, `{}`,
		`[{"entity_type":"tenant"}]`, `null`,
		`[1]`, ``, `[{"entity_type":"zone","entity_id":"0190A000-0000-7000-8000-00000000000A"}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := ParseEntities(raw)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		for _, e := range list {
			if len(e.ID) != 36 || e.Type == "" {
				t.Fatalf("%q gave %+v", raw, e)
			}
		}
	})
}
