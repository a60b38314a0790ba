package safety

import (
	"fmt"
	"strings"
	"testing"
)

// What is given for what unless a tenant sets it otherwise. Reports and
// finished work earn points, and nothing else does: an incentive for having no
// injuries would be one for not reporting them (29 CFR 1904.35(b)(1)(iv); OSHA
// memorandum of 11 October 2018).
func TestDefaultPoints(t *testing.T) {
	p := DefaultPoints()
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"near miss accepted", p.NearMiss, 10},
		{"hazard accepted", p.Hazard, 8},
		{"injury reported within 24 hours", p.InjuryPrompt, 8},
		{"injury reported later", p.InjuryLate, 5},
		{"action done by its due moment", p.ActionOnTime, 10},
		{"action done later", p.ActionLate, 3},
		{"action verified", p.Verified, 5},
		{"inspection in time", p.Checklist, 5},
		{"course completed", p.Course, 20},
		{"talk attended", p.Talk, 5},
		{"suggestion implemented", p.Suggestion, 15},
		{"most on one local day", p.DailyCap, 40},
		{"a month's target", p.MonthlyTarget, 100},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d points, want %d", c.what, c.got, c.want)
		}
	}
}

// The day's cap cuts the last award, and one kind of one source pays one person
// once.
func TestPay(t *testing.T) {
	near := func(user, source string) award {
		return award{user, "near_miss", "incidents", source, func(p Points) int64 { return p.NearMiss }}
	}
	course := func(user, source string) award {
		return award{user, "course", "training_assignments", source, func(p Points) int64 { return p.Course }}
	}
	for _, c := range []struct {
		name  string
		today int64 // points that ada has of this day
		given string
		list  []award
		want  string // user:source=points
	}{
		{"one report", 0, "", []award{near("ada", "1")}, "ada:1=10"},
		{"up to the cap", 20, "", []award{course("ada", "1")}, "ada:1=20"},
		{"the last is cut", 25, "", []award{course("ada", "1")}, "ada:1=15"},
		{"no more after it", 40, "", []award{near("ada", "1")}, ""},
		{"over it, after a lower cap was set", 60, "", []award{near("ada", "1")}, ""},
		{"in one go", 0, "", []award{course("ada", "1"), near("ada", "2"), near("ada", "3"), near("ada", "4")},
			"ada:1=20 ada:2=10 ada:3=10"},
		{"each person has a cap of his own", 40, "", []award{near("ada", "1"), near("bo", "1")}, "bo:1=10"},
		{"paid before", 0, "near_miss1ada", []award{near("ada", "1")}, ""},
		{"twice in one go", 0, "", []award{near("ada", "1"), near("ada", "1")}, "ada:1=10"},
		{"another kind of the same source", 0, "near_miss1ada", []award{course("ada", "1")}, "ada:1=20"},
		{"another person, the same source", 0, "near_miss1ada", []award{near("bo", "1")}, "bo:1=10"},
	} {
		p := &purse{points: DefaultPoints(), given: map[string]bool{c.given: true}, today: map[string]int64{"ada": c.today}}
		var got []string
		for _, r := range p.makePointEvents(c.list, "now") {
			got = append(got, fmt.Sprintf("%s:%s=%d", r["user_id"], r["source_id"], r["points"]))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

// Weeks of inspections without a miss, the latest first: one missed, or none
// due, ends the streak.
func TestStreak(t *testing.T) {
	for _, c := range []struct {
		weeks string // + all done in time, - one missed, . none due
		want  int64
	}{{"++++", 4}, {"+++++++++", 8}, {"+++-+", 3}, {"-++++", 0}, {"++.++", 2}, {".++++", 0}, {"", 0}} {
		var s streak
		for w, mark := range c.weeks {
			if w < streakWeeks {
				s.due[w], s.missed[w] = mark != '.', mark == '-'
			}
		}
		if got := s.streakWeeksOf(); got != c.want {
			t.Errorf("%s: %d weeks, want %d", c.weeks, got, c.want)
		}
	}
}
