package score_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/score"
)

// makeStandings makes scores of a model that compares nobody.
func makeStandings(scores []float64) []score.Standing {
	list := make([]score.Standing, len(scores))
	for i, s := range scores {
		list[i].Score = s
	}
	return list
}

// members maps each non-empty band to the indices it holds.
func members(cs []score.Cluster) map[string][]int {
	out := map[string][]int{}
	for _, c := range cs {
		out[c.Name] = c.Members
	}
	return out
}

func TestAssign(t *testing.T) {
	all := score.Range{Min: 0, Max: 100}
	scores := []float64{0, 24.9, 25, 49.9, 50, 74.9, 75, 100}
	for _, c := range []struct {
		name string
		cuts score.Cuts
		in   score.Range
		want map[string][]int
	}{
		{"half-open at every cut", score.DefaultCuts(), all,
			map[string][]int{"Low": {0, 1}, "Medium": {2, 3}, "High": {4, 5}, "Critical": {6, 7}}},
		{"only scores in range, ends included", score.DefaultCuts(), score.Range{Min: 25, Max: 50},
			map[string][]int{"Medium": {2, 3}, "High": {4}}},
		{"cut points of the tenant", score.Cuts{Medium: 10, High: 20, Critical: 100 - 1e-3}, all,
			map[string][]int{"Low": {0}, "High": {1, 2, 3, 4, 5, 6}, "Critical": {7}}},
		{"nothing in range, nothing created", score.DefaultCuts(), score.Range{Min: 1, Max: 2}, map[string][]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := score.Assign(makeStandings(scores), c.cuts, c.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, members(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBandsWorstFirst(t *testing.T) {
	got, err := score.DefaultCuts().Bands()
	if err != nil {
		t.Fatal(err)
	}
	want := [4]score.Band{{"Critical", 4, 75, 100}, {"High", 3, 50, 75}, {"Medium", 2, 25, 50}, {"Low", 1, 0, 25}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAssignRefusals(t *testing.T) {
	all, cuts := score.Range{Min: 0, Max: 100}, score.DefaultCuts()
	for _, c := range []struct {
		field  string
		scores []float64
		cuts   score.Cuts
		in     score.Range
	}{
		{"min_score", nil, cuts, score.Range{Min: 60, Max: 40}},
		{"min_score", nil, cuts, score.Range{Min: math.NaN(), Max: 40}},
		{"max_score", nil, cuts, score.Range{Min: 0, Max: 101}},
		{"score", []float64{math.NaN()}, cuts, all},
		{"score", []float64{-0.1}, cuts, all},
		{"cuts", nil, score.Cuts{Medium: 50, High: 50, Critical: 75}, all},
		{"critical", nil, score.Cuts{Medium: 25, High: 50, Critical: math.NaN()}, all},
	} {
		_, err := score.Assign(makeStandings(c.scores), c.cuts, c.in)
		refused(t, err, c.field)
	}
}

// A critical incident is at least High; beside peers High begins above their mean, and
// a score that rests on too little is in no band.
func TestBandsOfStandings(t *testing.T) {
	for _, c := range []struct {
		name string
		in   score.Standing
		want string
	}{
		{"weighted, at the cut", score.Standing{Score: 50}, "High"},
		{"weighted, nothing known", score.Standing{}, "Low"},
		{"a critical incident", score.Standing{Score: 9.9, Confidence: 0.1, HasCritical: true}, "High"},
		{"critical both ways", score.Standing{Score: 80, HasCritical: true}, "Critical"},
		{"like its peers", score.Standing{Score: 50, Confidence: 0.9, IsRelative: true}, "Medium"},
		{"above its peers", score.Standing{Score: 50.1, Confidence: 0.9, IsRelative: true}, "High"},
		{"twice its peers", score.Standing{Score: 75, Confidence: 0.9, IsRelative: true}, "Critical"},
		{"below the least confidence", score.Standing{Score: 90, Confidence: 0.24, IsRelative: true}, "Unclear"},
		{"at the least confidence", score.Standing{Score: 90, Confidence: 0.25, IsRelative: true}, "Critical"},
		{"unclear, but critical", score.Standing{Score: 50, IsRelative: true, HasCritical: true}, "High"},
	} {
		got, err := score.DefaultCuts().BandOf(c.in)
		if err != nil || got.Name != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got.Name, err, c.want)
		}
	}
	list := []score.Standing{{Score: 90, IsRelative: true}, {Score: 10}, {Score: 80}}
	got, err := score.Assign(list, score.DefaultCuts(), score.Range{Max: 100})
	if err != nil || len(got) != 3 || got[0].Name != "Critical" || got[2].Name != "Unclear" || got[2].Severity != 0 {
		t.Errorf("worst first, what cannot be told last: %+v %v", got, err)
	}
}
