package contract_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"mime/multipart"
	"slices"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

func sortedNames[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

const functions = "/functions/v1/"

// What the interface says of the answers of the functions, field by field.
var functionFields = []struct {
	method, path string
	body         any
	fields       string
}{
	{"GET", "get-dashboard-snapshot-v2", nil, `
		tenant_id:uuid timestamp:timestamp cached:boolean
		zones.total:integer zones.items:array
		zones.items[].id:uuid zones.items[].code:string zones.items[].name:string
		zones.items[].x:number zones.items[].y:number zones.items[].z:number zones.items[].max_capacity:number
		inventory.items:array inventory.metrics.total_items:integer inventory.metrics.low_stock_count:integer
		inventory.metrics.total_stock_value:number
		inventory.stock_levels[].item_id:uuid inventory.stock_levels[].quantity:number
		pick_lists.active:integer pick_lists.items:array
		shipments.active:integer shipments.items:array
		drivers.active:integer drivers.items:array
		safety.metrics.total_incidents:integer safety.metrics.critical_incidents:integer
		safety.metrics.open_incidents:integer safety.metrics.incidents_by_category:object
		safety.metrics.incidents_by_category.near_miss:integer safety.recent_incidents:array
		import.metrics.total_jobs:integer import.metrics.completed_jobs:integer
		import.metrics.failed_jobs:integer import.metrics.total_imported:integer import.recent_jobs:array
		pagination.page:1 pagination.pageSize:50 pagination.hasMore:boolean`},
	{"GET", "admin-dashboard-summary", nil, `
		tenant_id:uuid timestamp:timestamp zones:array
		zones[].id:uuid zones[].code:string zones[].name:string
		zones[].x:number zones[].y:number zones[].z:number zones[].max_capacity:number
		inventory.items:array inventory.total_items:integer inventory.health.score:number
		inventory.health.fast_movers:integer inventory.health.slow_stock:integer
		inventory.health.dead_stock:integer inventory.health.critical_items:integer
		pick_lists.active:array pick_lists.active_count:integer
		shipments.recent:array shipments.stats.total:integer shipments.stats.active:integer
		shipments.stats.in_transit:integer shipments.stats.completed_today:integer settings:object`},
	{"POST", "calculate-predictive-safety-scores", struct{}{}, `
		success:true tenant_id:uuid scores_computed:integer scores:array
		scores[].entity_type:entity scores[].entity_id:uuid scores[].score:number scores[].confidence:number
		scores[].inputs.incident_count:number scores[].inputs.near_miss_count:number
		scores[].inputs.shift_hours:number scores[].inputs.workload:number scores[].inputs.period_days:30
		model.weight_incident:0.45 model.weight_near_miss:0.2 model.weight_shift_hours:0.2 model.weight_load:0.15`},
	{"GET", "calculate-predictive-safety-scores?entity_type=worker&period_days=7", nil, `
		success:true tenant_id:uuid scores_computed:integer
		scores[].entity_type:"worker" scores[].inputs.period_days:7 model.weight_load:0.15`},
	{"POST", "assign-risk-clusters", struct{}{}, `
		success:true tenant_id:uuid clusters_created:integer entities_assigned:integer
		clusters[].id:uuid clusters[].cluster_name:string clusters[].severity:number
		clusters[].description:string clusters[].entity_count:integer`},
	{"POST", "check-compliance-rules", struct{}{}, `
		success:true tenant_id:uuid events_created:integer
		summary.total_regulations:integer summary.compliant_count:integer summary.warning_count:integer
		summary.breach_count:integer summary.last_check:timestamp
		events[].regulation_id:uuid events[].entity_type:entity events[].entity_id:uuid events[].status:verdict`},
	{"POST", "auto-assign-training", struct{}{}, `
		success:true tenant_id:uuid assignments_created:integer courses_checked:integer scores_checked:integer
		assignments[].tenant_id:uuid assignments[].course_id:uuid assignments[].user_id:uuid
		assignments[].assignment_type:"risk_based" assignments[].assignment_reason:string
		assignments[].status:"assigned"`},
	{"GET", "safety-kpis", nil, `
		tenant_id:uuid timestamp:timestamp date_range_days:30
		kpis.tsr:integer kpis.critical_incidents:integer kpis.open_actions:integer kpis.overdue_actions:integer
		kpis.checklist_compliance:number
		distribution.by_category.injury:integer distribution.by_category.near_miss:integer
		distribution.by_category.hazard:integer
		distribution.by_severity.low:integer distribution.by_severity.medium:integer
		distribution.by_severity.high:integer recent_incidents:array`},
	{"GET", "safety-engagement", nil, `
		tenant_id:uuid user_id:uuid timestamp:timestamp
		user_score.score:number user_score.period_start:date user_score.period_end:date
		total_points:number recent_points:array badges:array team_scores:array zone_scores:array`},
}

// Every field of the interface stands in the answers of the functions, with its type
// and its default, on data that fill the lists.
func TestFieldsOfFunctions(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		makeVerdictsDue(t, k)
		for _, f := range functionFields {
			a := askAdmin(t, k, f.method, functions+f.path, f.body)
			a.checkFields(t, f.fields)
			if got := a.textOf("tenant_id"); got != `"`+demo.North+`"` {
				t.Errorf("%s: tenant %s, want the caller's", f.path, got)
			}
		}
	})
}

// makeVerdictsDue gives the rules a new verdict to give, and makes training due.
func makeVerdictsDue(t *testing.T, k *testkit.Kit) {
	t.Helper()
	rule := `{
		"scope": {"entity_types": ["zone"]},
		"evidence": {"of": "incidents", "absence": "insufficient_data"},
		"metric": "incident_count",
		"breach": {"op": ">=", "value": 1}
	}`
	k.Insert(t, testkit.As(actor.Safety), "regulations",
		map[string]any{"code": "NEW-1", "title": "New", "rule": json.RawMessage(rule)})
	k.Insert(t, testkit.As(actor.Admin), "courses", map[string]any{"code": "NEW-1", "title": "New", "risk_threshold": 0})
}

// The light form holds metrics and counts, and no list.
func TestLightweightSnapshot(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		a := askAdmin(t, k, "GET", functions+"get-dashboard-snapshot-v2?lightweight=true", nil)
		full := askAdmin(t, k, "GET", functions+"get-dashboard-snapshot-v2", nil)
		if light, whole := a.listMembers(t, ""), full.listMembers(t, ""); light != whole {
			t.Errorf("members %s, want those of the full form: %s", light, whole)
		}
		for path, want := range map[string]string{
			"zones": "total", "inventory": "metrics", "pick_lists": "active", "shipments": "active",
			"drivers": "active", "safety": "metrics", "import": "metrics", "safety.metrics.incidents_by_category": "",
			"pagination": "hasMore page pageSize",
		} {
			if got := a.listMembers(t, path); got != want {
				t.Errorf("%s holds %q, want %q", path, got, want)
			}
		}
	})
}

// The last ten incidents stand in the KPIs, the one that was reported last first.
func TestRecentIncidentsAreTheLastTen(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var reported []string
		for range 12 {
			now := time.Now().UTC().Format(time.RFC3339)
			incident := map[string]any{"kind": "hazard", "title": "Oil on the floor", "occurred_at": now}
			reported = append(reported, k.Insert(t, testkit.As(actor.Operator), "incidents", incident))
		}
		slices.Reverse(reported)

		var kpis struct {
			Recent []struct{ ID string } `json:"recent_incidents"`
		}
		k.Get(testkit.As(actor.Safety), functions+"safety-kpis").JSON(t, &kpis)
		var shown []string
		for _, incident := range kpis.Recent {
			shown = append(shown, incident.ID)
		}
		if !slices.Equal(shown, reported[:10]) {
			t.Errorf("shown are %v, want %v", shown, reported[:10])
		}
	})
}

// Team and zone scores are for administrators alone.
func TestBoardsAreForAdministrators(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, role := range actor.Members {
			a := askAs(t, k, testkit.As(role), "GET", functions+"safety-engagement", nil)
			isAdministrator := role == actor.Owner || role == actor.Admin
			for _, board := range []string{"team_scores", "zone_scores"} {
				if shown := a.textOf(board) != ""; shown != isAdministrator {
					t.Errorf("%s reads %s: %v, want %v", role, board, shown, isAdministrator)
				}
			}
		}
	})
}

// A file goes through its states: processed, applied, rolled back.
func TestFieldsOfImports(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		job := uploadFile(t, k, "zones", "code,name\nNEW-1,One\nNEW-2,Two\n,Nameless\n")
		body := map[string]string{"job_id": job}
		for _, step := range []struct{ function, fields string }{
			{"process-import-job", `success:true job_id:"` + job + `" file_type:string
				stats.total_rows:3 stats.valid_rows:2 stats.invalid_rows:1 message:string`},
			{"apply-import-job", `success:true imported_count:2 message:string`},
			{"rollback-import-job", `success:true rolled_back:2 message:string`},
		} {
			if step.function == "rollback-import-job" {
				if n := k.Counted(t, "zones WHERE code IN ('NEW-1', 'NEW-2')"); n != 2 {
					t.Errorf("%d zones after applying, want 2", n)
				}
				checkOnlyAdministrators(t, k, step.function, body)
			}
			askAdmin(t, k, "POST", functions+step.function, body).checkFields(t, step.fields)
		}
		if n := k.Counted(t, "zones WHERE code IN ('NEW-1', 'NEW-2')"); n != 0 {
			t.Errorf("%d zones after the rollback, want 0", n)
		}
	})
}

// uploadFile sends a file as the administrator and returns the id of its job.
func uploadFile(t *testing.T, k *testkit.Kit, target, text string) string {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	testkit.Must(t, w.WriteField("target", target))
	file, err := w.CreateFormFile("file", target+".csv")
	testkit.Must(t, err)
	_, err = io.WriteString(file, text)
	testkit.Must(t, err)
	testkit.Must(t, w.Close())

	r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Admin), Body: form.Bytes(),
		Header: map[string]string{"Content-Type": w.FormDataContentType()}})
	var job struct{ ID string }
	if r.JSON(t, &job); r.Status != 201 {
		t.Fatalf("upload: %d %s", r.Status, r.Body)
	}
	return job.ID
}

// checkOnlyAdministrators tries a function as every other role.
func checkOnlyAdministrators(t *testing.T, k *testkit.Kit, function string, body any) {
	t.Helper()
	for _, role := range actor.Members {
		if role == actor.Owner || role == actor.Admin {
			continue
		}
		if r := k.Post(testkit.As(role), functions+function, body); r.Status != 403 {
			t.Errorf("%s as %s: %d %s, want 403", function, role, r.Status, r.Body)
		}
	}
}
