package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// labelKit changes an incident and looks at what became of it.
type labelKit struct {
	*testing.T
	k        *testkit.Kit
	incident string
}

func (l *labelKit) changeIncident(as string, body any) testkit.Response {
	return l.k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + l.incident, As: as, Body: body})
}

// wantRefused holds a change to a status and words, and sees that nothing was written.
func (l *labelKit) wantRefused(what, as string, body map[string]any, status int, say string) {
	l.Helper()
	const columns = "/v1/incidents?select=kind,severity,status,occurred_at,site_id,zone_id,version&id=eq."
	before := string(l.k.Get(testkit.As(actor.Safety), columns+l.incident).Body)
	if r := l.changeIncident(as, body); r.Status != status || !strings.Contains(string(r.Body), say) {
		l.Errorf("%s: %d %s, want %d %s", what, r.Status, r.Body, status, say)
	}
	if after := string(l.k.Get(testkit.As(actor.Safety), columns+l.incident).Body); after != before {
		l.Errorf("%s: it was written: %s", what, after)
	}
}

func (l *labelKit) wantTaken(what, as string, body map[string]any) {
	l.Helper()
	if r := l.changeIncident(as, body); r.Status != http.StatusNoContent {
		l.Errorf("%s: %d %s", what, r.Status, r.Body)
	}
}

// With a case, kind, severity, moment and site of an incident are the safety officer's
// to change, with a reason; the case's year, log and figures follow.
func TestCaseFollowsItsIncident(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
		s := givenStory(t, k, "LABEL", 20, nil)
		other := givenSubmitter(t, k, "LABEL2", "Other")
		l := &labelKit{t, k, s.incident}
		earlier := time.Now().AddDate(-1, 0, -20).UTC().Format(time.RFC3339)

		for what, body := range map[string]map[string]any{
			"kind": {"kind": "illness"}, "severity": {"severity": "high"}, "occurred_at": {"occurred_at": earlier},
			"site_id": {"site_id": other},
		} {
			l.wantRefused("no reason for "+what, safety, body, 409, "change_reason")
			body["change_reason"] = "typing error"
			for _, as := range []string{manager, testkit.As(actor.Admin)} {
				l.wantRefused(what+" by "+as, as, body, 403, what)
			}
		}
		l.wantTaken("its title is nobody's secret", manager, map[string]any{"title": "Cut, left hand"})
		l.wantRefused("a hazard is no case", safety, map[string]any{"kind": "hazard", "change_reason": "a"}, 400,
			"kind stays injury")

		l.wantTaken("another year", safety, map[string]any{"occurred_at": earlier, "change_reason": "last year"})
		s.caseIs(t, "another year", "year,case_no", fmt.Sprintf(`[{"year":%d,"case_no":1}]`, s.injured.Year()-1))
		l.wantRefused("the same reason again", safety, map[string]any{"severity": "high", "change_reason": "last year"},
			409,
			"change_reason")
		l.wantTaken("another site", safety, map[string]any{"site_id": other, "change_reason": "the other house"})
		s.caseIs(t, "another site", "site_id,case_no", `[{"site_id":"`+other+`","case_no":1}]`)
		l.wantTaken("an illness", safety, map[string]any{"kind": "illness", "change_reason": "no accident"})
		s.caseIs(t, "an illness", "illness_type", `[{"illness_type":"other_illness"}]`)
		l.wantTaken("an injury", safety, map[string]any{"kind": "injury", "change_reason": "an accident after all"})
		s.caseIs(t, "an injury", "illness_type", `[{"illness_type":"injury"}]`)
		if r := k.Get(testkit.As(actor.Admin), "/v1/audit?select=after&entity_id=eq."+s.incident); !strings.Contains(
			string(r.Body), "the other house") {
			t.Errorf("the audit log has no reason: %s", r.Body)
		}

		// A zone says the site of an incident that names none.
		zone := k.Insert(t, manager, "zones", map[string]any{"code": "LABEL-Z", "name": "Z", "site_id": s.site})
		l.wantTaken("to a zone", safety,
			map[string]any{"site_id": nil, "zone_id": zone, "change_reason": "in the hall"})
		s.caseIs(t, "a zone of the first site", "site_id", `[{"site_id":"`+s.site+`"}]`)
		l.wantRefused("its zone by a manager", manager, map[string]any{"zone_id": nil}, 403, "zone_id")
	})
}

// A critical injury or illness keeps its kind and severity, and stays open, until it is
// decided whether it is recordable; one below that is free to change.
func TestCriticalInjuriesAreDecidedFirst(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		site := k.Insert(t, testkit.As(actor.Admin), "sites",
			map[string]any{"code": "KRIT", "name": "Lille", "country": "FR"})
		report := func(kind, severity string) *labelKit {
			row := map[string]any{"kind": kind, "severity": severity, "title": "x",
				"occurred_at": "2026-03-02T10:00:00Z",
				"site_id":     site}
			return &labelKit{t, k, k.Insert(t, safety, "incidents", row)}
		}
		for _, kind := range []string{"injury", "illness"} {
			l := report(kind, "critical")
			lower := map[string]any{"severity": "low", "change_reason": "a scratch"}
			for _, as := range []string{safety, testkit.As(actor.Admin), testkit.As(actor.Manager)} {
				l.wantRefused("lowered by "+as, as, lower, 409, "severity of a critical injury")
			}
			l.wantRefused("another kind", safety, map[string]any{"kind": "near_miss", "change_reason": "a"}, 409,
				"kind of a critical")
			row := map[string]any{"status": "investigating", "lead_user_id": demoUser(t, k, safety),
				"due_on": "2099-01-01"}
			l.wantTaken("triaged", safety, map[string]any{"status": "triaged"})
			l.wantTaken("investigated", safety, row)
			closed := map[string]any{"status": "closed", "root_causes": []map[string]any{
				{"method": "5whys", "layer": "immediate", "text": "x", "whys": []string{"y"}}}}
			l.wantRefused("closed without a case", safety, closed, 409, "decide first")
			c := k.Insert(t, safety, "osha_cases", map[string]any{"incident_id": l.incident})
			l.wantRefused("lowered, undecided", safety, lower, 409, "severity of a critical injury")
			l.wantRefused("closed, undecided", safety, closed, 409, "decide first")
			decide := map[string]any{"recordable": "no", "basis": "first_aid_only"}
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/osha_cases?id=eq." + c, As: safety,
				Body: decide}); r.Status != 204 {
				t.Fatalf("decide: %d %s", r.Status, r.Body)
			}
			l.wantTaken("lowered once it is decided", safety, lower)
			l.wantTaken("closed once it is decided", safety, closed)
		}

		report("injury", "high").wantTaken("below critical", testkit.As(actor.Manager),
			map[string]any{"severity": "low"})
		report("near_miss", "critical").wantTaken("nobody was hurt", testkit.As(actor.Manager),
			map[string]any{"severity": "low"})
	})
}

// demoUser is the account of a member.
func demoUser(t *testing.T, k *testkit.Kit, email string) string {
	t.Helper()
	return first(t, k, "/v1/members?select=user_id&email=eq."+email, "user_id")
}
