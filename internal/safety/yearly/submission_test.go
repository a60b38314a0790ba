package yearly

import (
	"slices"
	"strings"
	"testing"
)

// The appendices are whole: every code is two or four digits and stands once, a group of
// appendix B is in appendix A too, whose establishments send the summary anyway.
func TestIndustries(t *testing.T) {
	for name, list := range map[string]appendix{"A": industries.A, "B": industries.B} {
		if list.FirstYear < 2016 || len(list.Industries) < 60 {
			t.Errorf("appendix %s begins in %d and lists %d industries", name, list.FirstYear, len(list.Industries))
		}
		var codes []string
		for _, x := range list.Industries {
			if len(x.NAICS) != 2 && len(x.NAICS) != 4 || strings.Trim(x.NAICS, "0123456789") != "" || x.Name == "" {
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
	for _, x := range industries.B.Industries {
		if industries.A.lists(x.NAICS+"10") != Yes {
			t.Errorf("%s is in appendix B and not in A", x.NAICS)
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
