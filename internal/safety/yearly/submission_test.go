package yearly

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The appendices are whole: every code is two, four or six digits and stands once, a group
// of appendix B is in appendix A too, whose establishments send the summary anyway, and no
// industry that keeps no log is asked to send any of it.
func TestIndustries(t *testing.T) {
	lists := map[string]appendix{"A": industries.A, "B": industries.B, "A to subpart B": industries.Exempt}
	for name, list := range lists {
		if list.FirstYear < 2015 || len(list.Industries) < 60 {
			t.Errorf("appendix %s begins in %d and lists %d industries", name, list.FirstYear, len(list.Industries))
		}
		var codes []string
		for _, x := range list.Industries {
			isWhole := len(x.NAICS)%2 == 0 && len(x.NAICS) <= 6 && strings.Trim(x.NAICS, "0123456789") == ""
			if !isWhole || x.Name == "" {
				t.Errorf("appendix %s lists %+v", name, x)
			}
			if slices.Contains(codes, x.NAICS) {
				t.Errorf("appendix %s lists %s twice", name, x.NAICS)
			}
			codes = append(codes, x.NAICS)
		}
		if !slices.IsSorted(codes) {
			t.Errorf("appendix %s is not in the order of codes", name)
		}
	}
	if len(industries.Groups) != 311 || !slices.IsSorted(industries.Groups) {
		t.Errorf("NAICS 2017 has 311 industry groups, and %d are known", len(industries.Groups))
	}
	for _, x := range slices.Concat(industries.A.Industries, industries.B.Industries) {
		if len(x.NAICS) == fewestDigits && !isGroup(x.NAICS) {
			t.Errorf("%s of an appendix is no industry group", x.NAICS)
		}
	}
	for _, x := range industries.Exempt.Industries {
		if industries.A.listsIndustry(x.NAICS+"10") == Yes || industries.B.listsIndustry(x.NAICS+"10") == Yes {
			t.Errorf("%s keeps no log and is in an appendix of subpart E", x.NAICS)
		}
	}
	for _, x := range industries.B.Industries {
		if industries.A.listsIndustry(x.NAICS+"10") != Yes {
			t.Errorf("%s is in appendix B and not in A", x.NAICS)
		}
	}
}

// Who left on an unknown day leaves a duty open where a line lies between the people who
// are certain and those who may have been there.
func TestPossiblePeople(t *testing.T) {
	const warehouse, garages, offices = "493110", "811111", "541110"
	for _, c := range []struct {
		naics             string
		certain, possible int64
		summary, cases    Answer
	}{
		{warehouse, 10, 9, No, No},
		{warehouse, 10, 10, Unknown, No},
		{warehouse, 10, 150, Unknown, Unknown},
		{warehouse, 20, 79, Yes, No},
		{warehouse, 20, 80, Yes, Unknown},
		{warehouse, 100, 200, Yes, Yes},
		{warehouse, 0, 150, Unknown, Unknown},
		{garages, 10, 239, No, No},
		{garages, 10, 240, Unknown, No},
		{garages, 250, 10, Yes, No},
		{offices, 250, 10, No, No},
		{offices, 0, 500, No, No},
		{"455110", 10, 9, No, No},
		{"455110", 10, 10, Unknown, No},
	} {
		e := &Establishment{NAICS: c.naics}
		e.AddPeople(time.Time{}, time.Time{}, c.certain)
		e.AddPossible(time.Time{}, c.possible)
		if summary, cases := e.AsksSummary(2025), e.AsksCases(2025); summary != c.summary || cases != c.cases {
			t.Errorf("%+v: %d and %d", c, summary, cases)
		}
	}
}

// The duties of a year begin with the rules that made them.
func TestDutiesBegin(t *testing.T) {
	e := &Establishment{NAICS: "493110"}
	for _, year := range []int{2015, 2016, 2022, 2023} {
		e.StatePeople(year, 300, 200)
	}
	for _, c := range []struct {
		year           int
		summary, cases Answer
	}{{2015, No, No}, {2016, Yes, No}, {2022, Yes, No}, {2023, Yes, Yes}, {2024, Unknown, Unknown}} {
		if summary, cases := e.AsksSummary(c.year), e.AsksCases(c.year); summary != c.summary || cases != c.cases {
			t.Errorf("%d: %d and %d, want %d and %d", c.year, summary, cases, c.summary, c.cases)
		}
	}
}
