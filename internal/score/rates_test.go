package score_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"holdfast/internal/score"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRates(t *testing.T) {
	cases := score.Recordables{Deaths: 1, DaysAway: 2, Restricted: 3, Other: 4}
	get := func(r score.Rate, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return asJSON(t, r)
	}
	// Limits of 0, 3, 5 and 10 events: 0..2.9957, 0.8177..7.7537,
	// 1.9701..10.5130, 5.4254..16.9622 (tables of the chi-square).
	for _, c := range []struct{ name, got, want string }{
		{"TRIR counts G+H+I+J", get(score.TRIR(cases, 400_000)), `{"value":5,"low":2.71,"high":8.48}`},
		{"DART counts H+I", get(score.DART(cases, 400_000)), `{"value":2.5,"low":0.99,"high":5.26}`},
		{"LTIFR per million hours", get(score.LTIFR(3, 500_000)), `{"value":6,"low":1.64,"high":15.51}`},
		{"ESAW per 100,000 employed", get(score.ESAW(5, 1000)), `{"value":500,"low":197.01,"high":1051.3}`},
		{"severity rate, no interval", get(score.SeverityRate(45, 500_000)), `{"value":90,"low":null,"high":null}`},
		{"no accident still has an upper limit", get(score.LTIFR(0, 1_000_000)), `{"value":0,"low":0,"high":3}`},
		{"no hours: unknown, not 0", get(score.TRIR(cases, 0)), `{"value":null,"low":null,"high":null}`},
		{"no hours: unknown severity", get(score.SeverityRate(45, 0)), `{"value":null,"low":null,"high":null}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// French warehousing (NAF 5210A and 5210B) in 2021.
func TestFrenchWarehousing(t *testing.T) {
	var hours, accidents float64
	for k, s := range french(t, "testdata/ameli_at_2021.csv") {
		if strings.HasPrefix(k.activity, "5210") {
			hours, accidents = hours+s.hours, accidents+s.accidents
		}
	}
	if accidents != 7075 || hours != 195_957_460 {
		t.Fatalf("%g accidents over %g h", accidents, hours)
	}
	million, err := score.LTIFR(int(accidents), hours)
	if err != nil {
		t.Fatal(err)
	}
	osha, err := score.TRIR(score.Recordables{DaysAway: int(accidents)}, hours)
	if err != nil {
		t.Fatal(err)
	}
	if *million.Value != 36.10 || *osha.Value != 7.22 {
		t.Errorf("rates %g and %g, want 36.10 and 7.22", *million.Value, *osha.Value)
	}
}

// The limits keep to the definition for any count: the chance of a count at
// least n under the low limit, and at most n under the high one, is 5 %.
func TestGarwoodLimits(t *testing.T) {
	tail := func(n int, mean float64) float64 { // P(at most n)
		var p float64
		for k := 0; k <= n; k++ {
			g, _ := math.Lgamma(float64(k) + 1)
			p += math.Exp(float64(k)*math.Log(mean) - mean - g)
		}
		return p
	}
	for _, n := range []int{1, 2, 10, 100, 7075, 100_000} {
		low, high := score.Garwood(n)
		if up := 1 - tail(n-1, low); math.Abs(up-0.05) > 1e-6 {
			t.Errorf("n = %d: P(>= n | low) = %g", n, up)
		}
		if down := tail(n, high); math.Abs(down-0.05) > 1e-6 {
			t.Errorf("n = %d: P(<= n | high) = %g", n, down)
		}
	}
}

func TestRateRefusals(t *testing.T) {
	_, err := score.TRIR(score.Recordables{Deaths: -1}, 1000)
	refused(t, err, "deaths")
	_, err = score.DART(score.Recordables{}, math.NaN())
	refused(t, err, "hours")
	_, err = score.LTIFR(-1, 1000)
	refused(t, err, "injuries")
	_, err = score.SeverityRate(math.Inf(1), 1000)
	refused(t, err, "lost_days")
}
