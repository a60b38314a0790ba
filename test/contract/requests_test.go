package contract_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// contractFunctions are the functions of the interface, each with its methods, and
// whether its answers are kept.
var contractFunctions = []struct {
	name, methods string
	kept          bool
}{
	{"get-dashboard-snapshot-v2", "GET", true},
	{"admin-dashboard-summary", "GET", true},
	{"calculate-predictive-safety-scores", "GET POST", false},
	{"assign-risk-clusters", "POST", false},
	{"check-compliance-rules", "POST", false},
	{"auto-assign-training", "POST", false},
	{"safety-kpis", "GET", true},
	{"process-import-job", "POST", false},
	{"apply-import-job", "POST", false},
	{"rollback-import-job", "POST", false},
	{"safety-engagement", "GET", true},
}

// Each function takes the methods of the interface, and refuses others, a missing or
// wrong token and a person without tenant, with its status and {error, details}.
func TestFunctionsRefuseByStatus(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, f := range contractFunctions {
			path := functions + f.name
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				r := k.Call(testkit.Request{Method: method, Path: path, As: testkit.As(actor.Owner)})
				if refused := r.Status == 405; refused == strings.Contains(f.methods, method) {
					t.Errorf("%s %s: %d, methods are %s", method, f.name, r.Status, f.methods)
				}
			}
			method, _, _ := strings.Cut(f.methods, " ")
			for status, q := range map[int]testkit.Request{
				401: {Bearer: "garbage"},
				403: {As: "nobody@none.example"},
				405: {Method: "DELETE", As: testkit.As(actor.Owner)},
			} {
				if q.Path = path; q.Method == "" {
					q.Method = method
				}
				checkRefusal(t, k, q, status)
			}
			checkRefusal(t, k, testkit.Request{Method: method, Path: path}, 401)
		}
	})
}

func checkRefusal(t *testing.T, k *testkit.Kit, q testkit.Request, status int) {
	t.Helper()
	r := k.Call(q)
	var body any
	r.JSON(t, &body)
	if r.Status != status {
		t.Errorf("%s %s: %d %s, want %d", q.Method, q.Path, r.Status, r.Body, status)
	}
	answer{of: q.Method + " " + q.Path, tree: body}.checkFields(t, "error:string details:string")
}

// Parameters have their defaults and bounds, in a query as in a body.
func TestParameters(t *testing.T) {
	const (
		snapshot = "get-dashboard-snapshot-v2"
		scores   = "calculate-predictive-safety-scores"
		clusters = "assign-risk-clusters"
	)
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		zone := firstID(t, k, "zones")
		for _, c := range []struct {
			method, path string
			body         any
			fields       string
		}{
			{"GET", snapshot + "?page=2&pageSize=3", nil, `pagination.page:2 pagination.pageSize:3`},
			{"GET", snapshot + "?pageSize=200", nil, `pagination.pageSize:200`},
			{"GET", snapshot + "?pageSize=201", nil, `pagination.pageSize:200`},
			{"GET", "safety-kpis?days=7", nil, `date_range_days:7`},
			{"POST", scores, map[string]any{"entity_type": "zone", "entity_id": zone, "period_days": 14},
				`scores_computed:1 scores[].entity_type:"zone" scores[].entity_id:"` + zone + `" scores[].inputs.period_days:14`},
			{"GET", scores + "?entity_type=zone&entity_id=" + zone + "&period_days=14", nil,
				`scores_computed:1 scores[].entity_id:"` + zone + `" scores[].inputs.period_days:14`},
			{"POST", clusters, map[string]any{"entity_type": "zone", "min_score": 0, "max_score": 100}, `success:true`},
			{"POST", clusters, map[string]any{"min_score": 100, "max_score": 100}, `success:true`},
			{"POST", "check-compliance-rules", map[string]any{"entity_type": "zone", "entity_id": zone, "jurisdiction": "US"},
				`success:true`},
			{"POST", "check-compliance-rules", map[string]any{"jurisdiction": "EU"}, `success:true`},
			{"POST", "check-compliance-rules", map[string]any{"jurisdiction": "Global"}, `success:true`},
			{"POST", "auto-assign-training", map[string]any{"entity_type": "worker", "min_risk_score": 100},
				`success:true assignments_created:0`},
		} {
			askAdmin(t, k, c.method, functions+c.path, c.body).checkFields(t, c.fields)
		}
		checkClusterDefaults(t, k)
		for _, kind := range []string{"zone", "driver", "worker", "equipment"} {
			askAdmin(t, k, "GET", functions+scores+"?entity_type="+kind, nil).checkFields(t, `scores[].entity_type:"`+kind+`"`)
		}
		for path, body := range map[string]any{
			scores:                   map[string]any{"entity_type": "pallet"},
			clusters:                 map[string]any{"entity_type": "pallet"},
			"check-compliance-rules": map[string]any{"jurisdiction": "Mars"},
			"auto-assign-training":   map[string]any{"entity_id": "nothing"},
			"process-import-job":     struct{}{},
			"apply-import-job":       struct{}{},
			"rollback-import-job":    struct{}{},
		} {
			q := testkit.Request{Method: "POST", Path: functions + path, As: testkit.As(actor.Admin), Body: body}
			checkRefusal(t, k, q, 400)
		}
	})
}

// checkClusterDefaults tries that clusters without bounds hold every score from 0 to 100.
func checkClusterDefaults(t *testing.T, k *testkit.Kit) {
	t.Helper()
	askAdmin(t, k, "POST", functions+"assign-risk-clusters", struct{}{})
	clusters := testkit.List[struct {
		Min float64 `json:"min_score"`
		Max float64 `json:"max_score"`
	}](t, k, testkit.As(actor.Admin), "risk_clusters?select=min_score,max_score&order=id.desc&limit=1")
	if len(clusters) == 0 || clusters[0].Min != 0 || clusters[0].Max != 100 {
		t.Errorf("clusters without bounds are %v, want 0 to 100", clusters)
	}
}

// firstID is the id of some record of tenant north.
func firstID(t *testing.T, k *testkit.Kit, collection string) string {
	t.Helper()
	rows := testkit.List[struct{ ID string }](t, k, testkit.As(actor.Admin), collection+"?select=id&limit=1")
	if len(rows) == 0 {
		t.Fatalf("there are no %s", collection)
	}
	return rows[0].ID
}

// Kept answers say HIT or MISS, know the parameters, and are the tenant's own; the
// snapshot says it in its body too. Another tenant, another query and a cleared
// tenant begin with a MISS.
func TestAnswersAreKept(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		look := func(email, path string) (state, cached, tenant string) {
			t.Helper()
			r := k.Get(email, functions+path)
			a := answer{of: path}
			r.JSON(t, &a.tree)
			return r.Header.Get("X-Cache"), a.textOf("cached"), strings.Trim(a.textOf("tenant_id"), `"`)
		}
		admin, south := testkit.As(actor.Admin), "admin@south.example"
		for _, f := range contractFunctions {
			if !f.kept {
				continue
			}
			for n, c := range []struct{ email, query, state, tenant string }{
				{admin, "", "MISS", demo.North},
				{admin, "", "HIT", demo.North},
				{south, "", "MISS", demo.South},
				{south, "", "HIT", demo.South},
			} {
				state, cached, tenant := look(c.email, f.name+c.query)
				if state != c.state || tenant != c.tenant {
					t.Errorf("%s, look %d: %s of %s, want %s of %s", f.name, n, state, tenant, c.state, c.tenant)
				}
				if isHit := c.state == "HIT"; f.name == "get-dashboard-snapshot-v2" && (cached == "true") != isHit {
					t.Errorf("%s, look %d: cached is %s beside %s", f.name, n, cached, c.state)
				}
			}
			if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/cache", As: admin}); r.Status != 204 {
				t.Fatalf("clear: %d %s", r.Status, r.Body)
			}
			if state, _, _ := look(admin, f.name); state != "MISS" {
				t.Errorf("%s after the clear of its tenant: %s", f.name, state)
			}
			if state, _, _ := look(south, f.name); state != "HIT" {
				t.Errorf("%s after the clear of another tenant: %s", f.name, state)
			}
		}
		look(admin, "get-dashboard-snapshot-v2?pageSize=3")
		if state, _, _ := look(admin, "get-dashboard-snapshot-v2?pageSize=4"); state != "MISS" {
			t.Errorf("another page size: %s, want a MISS", state)
		}
	})
}
