package app_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// The members that the interface gives the answers of the programme's
// functions, with their types; "[]" is an array whose elements follow.
var interfaceFields = []struct {
	method, path, body string
	fields             string
}{
	{"POST", "calculate-predictive-safety-scores", `{}`,
		`success:true tenant_id:uuid scores_computed:integer scores:array scores[].entity_type:entity scores[].entity_id:uuid scores[].score:number
		scores[].confidence:number scores[].inputs.incident_count:number scores[].inputs.near_miss_count:number
		scores[].inputs.shift_hours:number scores[].inputs.workload:number
		scores[].inputs.period_days:30 model.weight_incident:0.45 model.weight_near_miss:0.2 model.weight_shift_hours:0.2 model.weight_load:0.15`},
	{"GET", "calculate-predictive-safety-scores?entity_type=worker&period_days=7", ``,
		`success:true tenant_id:uuid scores_computed:integer scores[].entity_type:"worker" scores[].inputs.period_days:7 model.weight_load:0.15`},
	{"POST", "assign-risk-clusters", `{}`, `success:true tenant_id:uuid clusters_created:integer entities_assigned:integer
		clusters:array clusters[].id:uuid clusters[].cluster_name:string
		clusters[].severity:number clusters[].description:string clusters[].entity_count:integer`},
	{"POST", "check-compliance-rules", `{}`,
		`success:true tenant_id:uuid events_created:integer summary.total_regulations:integer summary.compliant_count:integer summary.warning_count:integer
		summary.breach_count:integer summary.last_check:timestamp events:array events[].regulation_id:uuid
		events[].entity_type:entity events[].entity_id:uuid events[].status:string`},
	{"POST", "auto-assign-training", `{}`, `success:true tenant_id:uuid assignments_created:integer courses_checked:integer
		scores_checked:integer assignments:array assignments[].tenant_id:uuid
		assignments[].course_id:uuid assignments[].user_id:uuid assignments[].assignment_type:"risk_based"
		assignments[].assignment_reason:string assignments[].status:"assigned"`},
	{"GET", "safety-kpis", ``, `tenant_id:uuid timestamp:timestamp date_range_days:30 kpis.tsr:integer
		kpis.critical_incidents:integer kpis.open_actions:integer kpis.overdue_actions:integer
		kpis.checklist_compliance:number distribution.by_category.injury:integer distribution.by_category.near_miss:integer distribution.by_category.hazard:integer
		distribution.by_severity.low:integer distribution.by_severity.medium:integer distribution.by_severity.high:integer recent_incidents:array`},
	{"GET", "safety-engagement", ``, `tenant_id:uuid user_id:uuid timestamp:timestamp user_score.score:number
		user_score.period_start:date user_score.period_end:date total_points:number
		recent_points:array badges:array team_scores:array zone_scores:array`},
}

var fieldForms = map[string]string{
	"uuid": `^"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"$`, "integer": `^-?\d+$`, "number": `^-?\d+(\.\d+)?$`,
	"string": `^".+"$`, "array": `^\[`,
	"timestamp": `^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"$`, "date": `^"\d{4}-\d\d-\d\d"$`, "entity": `^"(zone|driver|worker|equipment)"$`,
}

// Every field and default of the interface stands in the answers, on data that
// fill the lists.
func TestInterfaceFields(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		// Something new, so that rules have verdicts to give and training is due.
		officer := testkit.As(actor.Safety)
		k.Insert(t, officer, "regulations",
			map[string]any{"code": "NEW-1", "title": "New",
				"rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},
					"evidence":{"of":"incidents","absence":"insufficient_data"},
					"metric":"incident_count","breach":{"op":">=","value":1}}`)})
		k.Insert(t, testkit.As(actor.Admin), "courses", map[string]any{"code": "NEW-1", "title": "New", "risk_threshold": 0})
		for _, c := range interfaceFields {
			req := testkit.Request{Method: c.method, Path: "/functions/v1/" + c.path, As: testkit.As(actor.Admin)}
			if c.body != "" {
				req.Body = json.RawMessage(c.body)
			}
			r := k.Call(req)
			var answer any
			if err := json.Unmarshal(r.Body, &answer); err != nil || r.Status != 200 {
				t.Errorf("%s: %d %s", c.path, r.Status, r.Body)
				continue
			}
			for _, field := range strings.Fields(c.fields) {
				at, form, _ := strings.Cut(field, ":")
				got, err := member(answer, at)
				if err != nil {
					t.Errorf("%s: %s: %v", c.path, at, err)
					continue
				}
				if want, ok := fieldForms[form]; ok && !regexp.MustCompile(want).MatchString(got) || !ok && got != form {
					t.Errorf("%s: %s is %.60s, want %s", c.path, at, got, form)
				}
			}
			if !strings.Contains(string(r.Body), demo.North) {
				t.Errorf("%s: not of the caller's tenant", c.path)
			}
		}
		var out struct {
			Recent []json.RawMessage `json:"recent_incidents"`
		}
		if k.Get(officer, "/functions/v1/safety-kpis?days=365").JSON(t, &out); len(out.Recent) != 10 {
			t.Errorf("%d recent incidents, the interface shows the last 10", len(out.Recent))
		}
		for _, c := range testkit.List[struct {
			Min float64 `json:"min_score"`
			Max float64 `json:"max_score"`
		}](t, k, officer, "risk_clusters?select=min_score,max_score") {
			if c.Min != 0 || c.Max != 100 {
				t.Errorf("clusters of %v to %v by default, want 0 to 100", c.Min, c.Max)
			}
		}
	})
}

// member is a place in a JSON value as text: a.b[].c takes the first element.
func member(v any, path string) (string, error) {
	for _, p := range strings.Split(path, ".") {
		name, first := strings.CutSuffix(p, "[]")
		object, ok := v.(map[string]any)
		if !ok {
			return "", fmt.Errorf("%v is no object", v)
		}
		if v, ok = object[name]; !ok {
			return "", fmt.Errorf("there is no %s", name)
		}
		if first {
			array, ok := v.([]any)
			if !ok || len(array) == 0 {
				return "", fmt.Errorf("%s is empty or no array", name)
			}
			v = array[0]
		}
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// Who may run the programme, and who sees what of it.
func TestProgrammeByRole(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		runs := map[actor.Role]bool{actor.Owner: true, actor.Admin: true, actor.Manager: true, actor.Safety: true}
		for _, role := range actor.Members {
			for _, c := range []struct {
				method, name string
				open         bool
			}{{"POST", "calculate-predictive-safety-scores", false}, {"GET", "calculate-predictive-safety-scores", false}, {"POST", "assign-risk-clusters", false},
				{"POST", "check-compliance-rules", false}, {"POST", "auto-assign-training", false}, {"GET", "safety-kpis", true}, {"GET", "safety-engagement", true}} {
				want := 403
				if c.open || runs[role] {
					want = 200
				}
				if r := k.Call(testkit.Request{Method: c.method, Path: "/functions/v1/" + c.name, As: testkit.As(role)}); r.Status != want {
					t.Errorf("%s %s as %s: %d, want %d", c.method, c.name, role, r.Status, want)
				}
			}
			var board map[string]json.RawMessage
			k.Get(testkit.As(role), "/functions/v1/safety-engagement").JSON(t, &board)
			_, teams := board["team_scores"]
			_, zones := board["zone_scores"]
			if admin := role == actor.Owner || role == actor.Admin; teams != admin || zones != admin {
				t.Errorf("%s sees teams: %v, zones: %v", role, teams, zones)
			}
		}
		first := k.Get(testkit.As(actor.Operator), "/functions/v1/safety-engagement")
		again := k.Get(testkit.As(actor.Operator), "/functions/v1/safety-engagement")
		if again.Header.Get("X-Cache") != "HIT" || string(first.Body) != string(again.Body) {
			t.Errorf("the second look is a %s", again.Header.Get("X-Cache"))
		}
	})
}
