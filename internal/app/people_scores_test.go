package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Scores of places and machines are for everybody who reads records; those of
// people for the safety officer, administrators and the person.
func TestWhoReadsScores(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for role, want := range map[actor.Role]string{actor.Safety: "driver equipment worker zone",
			actor.Admin:   "driver equipment worker zone",
			actor.Manager: "equipment zone",
			actor.Viewer:  "equipment zone", actor.Operator: "worker", actor.Driver: "driver worker"} {
			types := map[string]bool{}
			for _, x := range testkit.List[struct {
				Type string `json:"entity_type"`
				User string `json:"user_id"`
			}](t, k, testkit.As(role), "predictive_scores?select=entity_type,user_id&limit=1000") {
				types[x.Type] = true
			}
			var got []string
			for _, x := range []string{"driver", "equipment", "worker", "zone"} {
				if types[x] {
					got = append(got, x)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s reads scores of %v, want %s", role, got, want)
			}
		}
	})
}

// How many are in a cluster tells of people where the reader knows the places,
// and so does a cluster of people only.
func TestWhoCountsClusters(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		callFunction[any](t, k, testkit.As(actor.Safety), "POST", "assign-risk-clusters")
		for role, want := range map[actor.Role]bool{actor.Safety: true, actor.Admin: true, actor.Manager: false,
			actor.Viewer: false} {
			rows := testkit.List[struct {
				Name  string `json:"cluster_name"`
				Count *int   `json:"entity_count"`
			}](t, k, testkit.As(role), "risk_clusters?select=cluster_name,entity_count")
			for _, x := range rows {
				if (x.Count != nil) != want {
					t.Errorf("%s reads the count of %s: %v", role, x.Name, x.Count)
				}
			}
			if len(rows) == 0 {
				t.Errorf("%s reads no clusters", role)
			}
			if r := k.Get(testkit.As(role), "/v1/risk_clusters?about=eq.both"); (r.Status == 200) != want {
				t.Errorf("%s asks what clusters are about: %d %s", role, r.Status, r.Body)
			}
		}
		k.Call(testkit.Request{Method: "POST", Path: "/functions/v1/assign-risk-clusters", As: testkit.As(actor.Safety),
			Body: map[string]string{"entity_type": "worker"}})
		people := map[string]bool{}
		for _, id := range clusterIDs(t, k, actor.Safety, "&about=eq.people") {
			people[id] = true
		}
		if len(people) == 0 {
			t.Error("the safety officer reads no clusters of people only")
		}
		for _, role := range []actor.Role{actor.Manager, actor.Viewer} {
			for _, id := range clusterIDs(t, k, role, "") {
				if people[id] {
					t.Errorf("%s reads cluster %s, which is of people only", role, id)
				}
			}
		}
	})
}

// clusterIDs are the ids of the clusters that a role reads.
func clusterIDs(t *testing.T, k *testkit.Kit, role actor.Role, filter string) (ids []string) {
	t.Helper()
	rows := testkit.List[struct {
		ID string `json:"id"`
	}](t, k, testkit.As(role), "risk_clusters?select=id"+filter)
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

// A move from one cluster into another is an event with a schema, of which a
// viewer hears where it is about a place.
func TestClusterChangesAreEvents(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		callFunction[any](t, k, officer, "POST", "calculate-predictive-safety-scores")
		callFunction[any](t, k, officer, "POST", "assign-risk-clusters")
		k.Insert(t, testkit.As(actor.Admin), "settings", map[string]any{"section": "scoring", "key": "cut_high", "value": 57})
		callFunction[any](t, k, officer, "POST", "assign-risk-clusters")
		if n := k.Told(t, "score.cluster_changed"); n == 0 {
			t.Error("nothing was told")
		}
		var doc struct {
			Components struct{ Schemas map[string]json.RawMessage }
		}
		k.Get(officer, "/openapi.json").JSON(t, &doc)
		if s := string(doc.Components.Schemas["score.cluster_changed"]); !strings.Contains(s, "previous_cluster") {
			t.Errorf("no schema: %s", s)
		}
	})
}

// The verbs of the programme refuse what is asked wrongly by POST and, where
// there is one, by GET: 4xx with the place, and nothing is written.
func TestProgrammeRefuses(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		south := k.Foreign(t, "zones")
		counted := func() (n int) {
			for _, c := range []string{"score_runs", "risk_clusters", "compliance_events", "training_assignments",
				"regulations"} {
				r := k.Call(testkit.Request{Method: "HEAD", Path: "/v1/" + c, As: testkit.As(actor.Admin),
					Header: map[string]string{"Prefer": "count=exact"}})
				_, total, _ := strings.Cut(r.Header.Get("Content-Range"), "/")
				for _, d := range total {
					n = n*10 + int(d-'0')
				}
			}
			return n
		}
		before := counted()
		const scores, rule = "/functions/v1/calculate-predictive-safety-scores", "/v1/regulations"
		for _, c := range []struct {
			method, path, body string
			status             int
			names              string
		}{
			{"GET", scores + "?entity_type=truck", "", 400, "entity_type"},
			{"GET", scores + "?entity_type=", "", 400, "entity_type"},
			{"GET", scores + "?entity_id=" + south, "", 404, south},
			{"GET", scores + "?period_days=0", "", 400, "period_days"},
			{"GET", scores + "?period_days=366", "", 400, "period_days"},
			{"GET", scores + "?period_days=NaN", "", 400, "period_days"},
			{"GET", scores + "?period_days=30&period_days=31", "", 400, "period_days"},
			{"POST", scores, `{"entity_type":"truck"}`, 400, "entity_type"},
			{"POST", scores, `{"entity_id":"` + south + `"}`, 404, south},
			{"POST", scores, `{"entity_type":"worker","entity_id":"` + south + `"}`, 404, south},
			{"POST", scores, `{"period_days":0}`, 400, "period_days"},
			{"POST", scores, `{"period_days":366}`, 400, "period_days"},
			{"POST", scores, `{"period_days":NaN}`, 400, "JSON"},
			{"POST", "/functions/v1/assign-risk-clusters", `{"min_score":60,"max_score":50}`, 400, "min_score"},
			{"POST", "/functions/v1/assign-risk-clusters", `{"max_score":"NaN"}`, 400, "max_score"},
			{"GET", "/functions/v1/assign-risk-clusters", "", 405, "POST"},
			{"POST", "/functions/v1/check-compliance-rules", `{"jurisdiction":"UK"}`, 400, "jurisdiction"},
			{"POST", "/functions/v1/check-compliance-rules", `{"entity_id":"` + south + `"}`, 404, south},
			{"POST", "/functions/v1/auto-assign-training", `{"min_risk_score":101}`, 400, "min_risk_score"},
			{"POST", "/functions/v1/auto-assign-training", `{"entity_id":"` + south + `"}`, 404, south},
			{"GET", "/functions/v1/safety-kpis?days=0", "", 400, "days"},
			{"GET", "/functions/v1/safety-kpis?days=366", "", 400, "days"},
			{"POST", rule, `{"code":"X","title":"X","rule":{"scope":{"entity_types":["zone"]},"metric":"incidentcount","breach":{"op":">","value":1}}}`, 400,
				"unknown metric"},
			{"POST", rule, `{"code":"X","title":"X","rule":{"scope":{"entity_types":["truck"]},
				"evidence":{"of":"incidents","absence":"insufficient_data"},
				"metric":"incident_count","breach":{"op":">","value":1}}}`, 400, "truck"},
		} {
			req := testkit.Request{Method: c.method, Path: c.path, As: officer,
				Header: map[string]string{"Content-Type": "application/json"}}
			if c.body != "" {
				req.Body = []byte(c.body)
			}
			r := k.Call(req)
			if r.Status != c.status || !strings.Contains(string(r.Body)+r.Header.Get("Allow"), c.names) {
				t.Errorf("%s %s %s: %d %s, want %d naming %s", c.method, c.path, c.body, r.Status, r.Body, c.status, c.names)
			}
		}
		if n := counted(); n != before {
			t.Errorf("refused calls wrote: %d records were %d", n, before)
		}
	})
}
