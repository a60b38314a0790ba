package driving

import (
	"strings"
	"testing"
	"time"
)

// week begins on a Monday, in Berlin.
var berlin, _ = time.LoadLocation("Europe/Berlin")

// on is a trip on a day from Monday, 1 June 2026, of so many hours from an hour
// on, of which so many were at the wheel.
func on(day int, from, span, wheel float64) Trip {
	at := time.Date(2026, 6, 1+day, 0, 0, 0, 0, berlin).Add(time.Duration(from * float64(time.Hour)))
	return Trip{at, at.Add(time.Duration(span * float64(time.Hour))), time.Duration(wheel * float64(time.Hour))}
}

func TestLongestDay(t *testing.T) {
	for name, c := range map[string]struct {
		trips []Trip
		want  float64
	}{
		"two long days of a week are allowed":  {[]Trip{on(0, 6, 12, 10), on(1, 6, 12, 9.5), on(2, 6, 12, 8)}, 8},
		"a third one is not":                   {[]Trip{on(0, 6, 12, 10), on(1, 6, 12, 9.5), on(2, 6, 12, 9.25)}, 9.25},
		"nor more than ten hours":              {[]Trip{on(0, 6, 12, 10.5)}, 10.5},
		"a day goes on without a rest":         {[]Trip{on(0, 4, 6, 6), on(0, 18, 5, 5)}, 11},
		"the next week has its own":            {[]Trip{on(0, 6, 12, 10), on(1, 6, 12, 10), on(7, 6, 12, 10)}, 9},
		"Sunday night belongs to its own week": {[]Trip{on(4, 6, 12, 10), on(5, 6, 12, 10), on(6, 20, 12, 9.5)}, 9.5},
	} {
		if got := LongestDay(c.trips, berlin).Hours(); got != c.want {
			t.Errorf("%s: %v h, want %v", name, got, c.want)
		}
	}
}

func TestWeeks(t *testing.T) {
	var trips []Trip
	for day := range 12 {
		if day%7 < 6 {
			trips = append(trips, on(day, 6, 12, 8))
		}
	}
	if w, two := LongestWeek(trips, berlin).Hours(), LongestFortnight(trips, berlin).Hours(); w != 48 || two != 88 {
		t.Errorf("%v h in a week and %v in two, want 48 and 88", w, two)
	}
	apart := []Trip{on(0, 6, 12, 50), on(14, 6, 12, 50)}
	if two := LongestFortnight(apart, berlin).Hours(); two != 50 {
		t.Errorf("%v h in two weeks, want 50: they are not consecutive", two)
	}
}

func TestLongestStint(t *testing.T) {
	for name, c := range map[string]struct {
		trips []Trip
		want  float64
	}{
		"without a break":           {[]Trip{on(0, 6, 5, 5)}, 5},
		"with one inside":           {[]Trip{on(0, 6, 6, 5)}, 2.5},
		"a short pause is none":     {[]Trip{on(0, 6, 3, 3), on(0, 9.5, 2, 2)}, 5},
		"45 minutes between is one": {[]Trip{on(0, 6, 3, 3), on(0, 9.75, 2, 2)}, 3},
	} {
		if got := LongestStint(c.trips).Hours(); got != c.want {
			t.Errorf("%s: %v h, want %v", name, got, c.want)
		}
	}
}

func TestShortestRest(t *testing.T) {
	tens := []Trip{on(0, 6, 14, 8), on(1, 6, 14, 8), on(2, 6, 14, 8), on(3, 6, 14, 8)}
	if rest, ok := ShortestRest(tens); ok {
		t.Errorf("three reduced rests: %v, want none that counts", rest)
	}
	if rest, ok := ShortestRest(append(tens, on(4, 6, 8, 8))); !ok || rest != 10*time.Hour {
		t.Errorf("a fourth one: %v %v, want 10 h", rest, ok)
	}
	if rest, ok := ShortestRest([]Trip{on(0, 4, 4, 4), on(0, 12, 4, 4), on(0, 20, 2, 2)}); !ok || rest != 6*time.Hour {
		t.Errorf("a day of 18 hours: %v %v, want 6 h", rest, ok)
	}
}

func TestAgainst(t *testing.T) {
	var full []Trip
	for day := range 7 {
		full = append(full, on(day, 6, 10, 8))
	}
	two := append([]Trip{}, full[:6]...)
	for day := 7; day < 13; day++ {
		two = append(two, on(day, 6, 10, 7))
	}
	for name, c := range map[string]struct {
		trips []Trip
		now   Trip
		want  string
	}{
		"rested":         {[]Trip{on(0, 6, 12, 10)}, on(1, 6, 0, 0), ""},
		"ten hours":      {[]Trip{on(0, 6, 12, 10)}, on(0, 19, 0, 0), "art. 6(1)"},
		"nine, at last":  {[]Trip{on(0, 6, 12, 10), on(1, 6, 12, 10), on(2, 6, 11, 9)}, on(2, 18, 0, 0), "art. 6(1)"},
		"nine, at first": {[]Trip{on(0, 6, 11, 9)}, on(0, 18, 0, 0), ""},
		"the week":       {full, on(6, 17, 0, 0), "art. 6(2)"},
		"two weeks":      {two, on(13, 6, 0, 0), "art. 6(3)"},
		"no break":       {[]Trip{on(0, 6, 4.5, 4.5)}, on(0, 11, 0, 0), "art. 7"},
		"a break":        {[]Trip{on(0, 6, 4.5, 4.5)}, on(0, 11.25, 0, 0), ""},
		"a long day":     {[]Trip{on(0, 4, 3, 3), on(0, 12, 6, 2)}, on(0, 19.5, 0, 0), "art. 8(2)"},
	} {
		got := strings.Join(Against(c.trips, c.now.From, berlin), "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
