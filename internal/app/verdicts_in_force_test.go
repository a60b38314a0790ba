package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// state is a verdict in force, as the collection shows it.
type state struct {
	Entity     string   `json:"entity_id"`
	Kind       string   `json:"entity_type"`
	Status     string   `json:"status"`
	Value      *float64 `json:"value"`
	Evidence   []string `json:"evidence"`
	Event      string   `json:"event_id"`
	At         string   `json:"last_evaluated_at"`
	Regulation struct {
		At string `json:"last_evaluated_at"`
	} `json:"regulations"`
}

const stateColumns = "entity_id,entity_type,status,value,evidence,event_id,last_evaluated_at," +
	"regulations(last_evaluated_at)"

// statesOf lists the verdicts in force under a regulation.
func statesOf(t *testing.T, k *testkit.Kit, as, rule string) []state {
	t.Helper()
	return testkit.List[state](t, k, as, "compliance_states?select="+stateColumns+"&regulation_id=eq."+rule)
}

// addRule adds a regulation as the safety officer.
func addRule(t *testing.T, k *testkit.Kit, code, jurisdiction, rule string) string {
	t.Helper()
	return k.Insert(t, testkit.As(actor.Safety), "regulations", map[string]any{
		"code": code, "title": code, "jurisdiction": jurisdiction, "rule": json.RawMessage(rule)})
}

// A verdict in force shows what it rests on today, not what it rested on when its
// status changed; a scan that finds nothing new writes one moment for the regulation.
func TestVerdictsInForce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		rule := addRule(t, k, "LATE", "Global", `{"scope":{"entity_types":["zone"],"filter":{"severity_min":"critical"}},
			"evidence":{"of":"actions","absence":"insufficient_data"},
			"metric":"overdue_actions","per":"tenant","breach":{"op":">=","value":1}}`)
		for _, x := range testkit.List[struct{ ID string }](t, k, officer,
			"actions?select=id&priority=eq.critical&status=in.(open,in_progress)") {
			k.Call(testkit.Request{Method: "PATCH", Path: "/v1/actions?id=eq." + x.ID, As: officer,
				Body: map[string]any{"status": "cancelled", "cancel_reason": "not part of this test"}})
		}
		scan := func() (out struct {
			Events []struct {
				Regulation string   `json:"regulation_id"`
				Evidence   []string `json:"evidence"`
			}
			Standing struct{ URL string }
		}) {
			t.Helper()
			k.Post(officer, "/functions/v1/check-compliance-rules", map[string]any{"jurisdiction": "Global"}).JSON(t, &out)
			told := out.Events[:0]
			for _, e := range out.Events {
				if e.Regulation == rule {
					told = append(told, e)
				}
			}
			out.Events = told
			return out
		}
		only := func(status string, value float64, evidence ...string) state {
			t.Helper()
			list := statesOf(t, k, officer, rule)
			if len(list) != 1 {
				t.Fatalf("%d verdicts in force, want one on the tenant", len(list))
			}
			x := list[0]
			if x.Status != status || x.Value == nil || *x.Value != value || !slices.Equal(x.Evidence, evidence) {
				t.Errorf("in force is %+v, want %s %v on %v", x, status, value, evidence)
			}
			return x
		}
		late := func(minutes int) string {
			t.Helper()
			due := time.Now().UTC().Add(-time.Duration(minutes) * time.Minute).Format(time.RFC3339)
			return k.Insert(t, officer, "actions", map[string]any{"title": "Late", "priority": "critical", "due_at": due})
		}

		scan()
		kept := only("compliant", 0)
		if kept.At != kept.Regulation.At {
			t.Errorf("a first verdict is of %s, its regulation of %s", kept.At, kept.Regulation.At)
		}
		scan()
		if again := only("compliant", 0); again.At != kept.At || again.Regulation.At <= kept.Regulation.At {
			t.Errorf("a scan that finds nothing new: %+v after %+v, want the regulation's moment alone to move", again, kept)
		}

		first := late(20)
		out := scan()
		broken := only("breach", 1, first)
		if len(out.Events) != 1 || !slices.Equal(out.Events[0].Evidence, []string{first}) {
			t.Errorf("the change is told as %+v, want one with its evidence", out.Events)
		}
		second := late(10)
		out = scan()
		if len(out.Events) != 0 {
			t.Errorf("an unchanged status is told: %+v", out.Events)
		}
		more := only("breach", 2, first, second)
		if more.Event != broken.Event || more.At <= broken.At {
			t.Errorf("one more late action: %+v after %+v, want the same event and a later moment", more, broken)
		}
		r := k.Get(officer, out.Standing.URL)
		if r.Status != 200 || !strings.Contains(string(r.Body), second) {
			t.Errorf("%s: %d %.300s", out.Standing.URL, r.Status, r.Body)
		}
		const path = "/v1/compliance_states"
		for _, c := range [][2]string{{"POST", path}, {"DELETE", path + "?regulation_id=eq." + rule}} {
			r := k.Call(testkit.Request{Method: c[0], Path: c[1], As: officer, Body: map[string]any{"status": "compliant"}})
			if r.Status < 400 || r.Status >= 500 {
				t.Errorf("%s %s: %d", c[0], c[1], r.Status)
			}
		}
	})
}

// A verdict on what left the scope of its regulation is in force no more; those on
// single people's scores are for the readers of scores.
func TestVerdictsLeaveWithTheirScope(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		callFunction[any](t, k, officer, "POST", "calculate-predictive-safety-scores")
		rule := scoreRule(t, k, "BAND")
		callFunction[any](t, k, officer, "POST", "check-compliance-rules")
		kinds := func(role actor.Role) (out []string) {
			for _, x := range statesOf(t, k, testkit.As(role), rule) {
				if !slices.Contains(out, x.Kind) {
					out = append(out, x.Kind)
				}
				if x.Value != nil && len(x.Evidence) != 1 {
					t.Errorf("%+v does not name its score", x)
				}
			}
			slices.Sort(out)
			return out
		}
		for role, want := range map[actor.Role]string{
			actor.Safety: "[driver worker zone]", actor.Admin: "[driver worker zone]",
			actor.Manager: "[zone]", actor.Viewer: "[zone]",
		} {
			if got := fmt.Sprint(kinds(role)); got != want {
				t.Errorf("%s reads verdicts on scores of %s, want %s", role, got, want)
			}
		}

		k.Call(testkit.Request{Method: "PATCH", Path: "/v1/regulations?id=eq." + rule, As: officer, Body: map[string]any{
			"rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"predictive_scores","absence":"insufficient_data"},
				"metric":"predictive_score","breach":{"op":">=","value":50}}`)}})
		callFunction[any](t, k, officer, "POST", "check-compliance-rules")
		if got := fmt.Sprint(kinds(actor.Safety)); got != "[zone]" {
			t.Errorf("after the scope shrank verdicts on %s are in force", got)
		}

		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/regulations?id=eq." + rule, As: officer,
			Body: map[string]any{"status": "retired"}})
		if r.Status >= 300 {
			t.Fatalf("retire: %d %s", r.Status, r.Body)
		}
		callFunction[any](t, k, officer, "POST", "check-compliance-rules")
		if left := statesOf(t, k, officer, rule); len(left) > 0 {
			t.Errorf("%d verdicts under a retired regulation are in force", len(left))
		}
	})
}

// Each site is held to its own inspections: the extinguishers of one are not seen to
// by looking at those of another, and a law of the United States asks nothing elsewhere.
func TestRulesOfASiteLookAtTheSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		admin, officer := testkit.As(actor.Admin), testkit.As(actor.Safety)
		hall := map[string]string{}
		for code, country := range map[string]string{"SEEN": "US", "MISSED": "US", "ABROAD": "DE"} {
			site := k.Insert(t, admin, "sites", map[string]any{"code": code, "name": code, "country": country})
			hall[code] = k.Insert(t, admin, "zones", map[string]any{
				"code": "A-" + code, "name": code, "kind": "area", "site_id": site})
		}
		rule := addRule(t, k, "FIRE", "US", `{"scope":{"entity_types":["zone"],"filter":{"checklist":"bottles"}},
			"evidence":{"of":"checklist_runs","absence":"breach"},
			"metric":"days_since_checklist","window_days":365,"per":"site","breach":{"op":">","value":31}}`)
		run := k.Insert(t, officer, "checklist_runs", map[string]any{
			"title": "Bottles", "zone_id": hall["SEEN"], "score": 100})
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/checklist_runs?id=eq." + run, As: officer,
			Body: map[string]any{"status": "completed"}})
		if r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		callFunction[any](t, k, officer, "POST", "check-compliance-rules")
		got := map[string]string{}
		for _, x := range statesOf(t, k, officer, rule) {
			got[x.Entity] = fmt.Sprint(x.Status, x.Evidence)
		}
		for code, want := range map[string]string{"SEEN": "compliant[" + run + "]", "MISSED": "breach[]", "ABROAD": ""} {
			if got[hall[code]] != want {
				t.Errorf("%s: %q, want %q", code, got[hall[code]], want)
			}
		}
		bad := k.Post(officer, "/v1/regulations", map[string]any{"code": "X", "title": "X", "rule": json.RawMessage(
			`{"scope":{"entity_types":["zone"]},"evidence":{"of":"actions","absence":"breach"},
				"metric":"overdue_actions","per":"site","breach":{"op":">","value":1}}`)})
		if bad.Status != 400 || !strings.Contains(string(bad.Body), "per site") {
			t.Errorf("a site's rule over actions: %d %s", bad.Status, bad.Body)
		}
	})
}

// At a tenant with one site, zones that name none are of that site, as for stock.
func TestZonesOfNoSiteAreOfTheOnlyOne(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		admin, officer := testkit.As(actor.Admin), testkit.As(actor.Safety)
		site := k.Insert(t, admin, "sites", map[string]any{"code": "ONLY", "name": "Only", "country": "US"})
		others := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/sites?code=neq.ONLY", As: admin,
			Body: map[string]any{"archived_at": "2026-01-01T00:00:00Z"}})
		if others.Status >= 300 {
			t.Fatalf("%d %s", others.Status, others.Body)
		}
		hall := k.Insert(t, admin, "zones", map[string]any{"code": "A-HALL", "name": "Hall", "kind": "area"})
		rule := addRule(t, k, "FIRE", "US", `{"scope":{"entity_types":["zone"],"filter":{"checklist":"bottles"}},
			"evidence":{"of":"checklist_runs","absence":"breach"},
			"metric":"days_since_checklist","window_days":365,"per":"site","breach":{"op":">","value":31}}`)
		run := k.Insert(t, officer, "checklist_runs", map[string]any{"title": "Bottles", "site_id": site, "score": 100})
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/checklist_runs?id=eq." + run, As: officer,
			Body: map[string]any{"status": "completed"}})
		if r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}

		callFunction[any](t, k, officer, "POST", "check-compliance-rules")
		states := statesOf(t, k, officer, rule)
		if len(states) != 1 || states[0].Entity != hall || states[0].Status != "compliant" {
			t.Errorf("inspected at the only site: %+v", states)
		}
	})
}
