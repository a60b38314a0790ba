package app_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// clustersByEntity returns the cluster of each entity; one that stands in two
// is an error.
func clustersByEntity(t *testing.T, k *testkit.Kit) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, c := range testkit.List[struct {
		Name    string `json:"cluster_name"`
		Count   int    `json:"entity_count"`
		Members []struct {
			Type string `json:"entity_type"`
			ID   string `json:"entity_id"`
		}
	}](t, k, testkit.As(actor.Safety), "risk_clusters?select=cluster_name,entity_count,members") {
		if c.Count != len(c.Members) {
			t.Errorf("cluster %s counts %d entities and has %d", c.Name, c.Count, len(c.Members))
		}
		for _, m := range c.Members {
			if out[m.ID] != "" {
				t.Errorf("%s %s stands in two clusters", m.Type, m.ID)
			}
			out[m.ID] = m.Type + " " + c.Name
		}
	}
	return out
}

// What a manager looks at, a single entity and another period move no entity
// into another cluster: only an official run is kept.
func TestLooksAreNotOfficial(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
		const scores = "/functions/v1/calculate-predictive-safety-scores"
		type answer struct {
			Official bool
			Computed int `json:"scores_computed"`
		}
		ask := func(as, path string) (out answer) {
			r := k.Get(as, path)
			if r.Status != 200 {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
			r.JSON(t, &out)
			return out
		}
		runs := func() int { return len(testkit.List[any](t, k, officer, "score_runs?select=id&limit=1000")) }

		if out := ask(officer, scores); !out.Official || out.Computed == 0 {
			t.Fatalf("the safety officer's scores over all are not official: %+v", out)
		}
		callFunction[any](t, k, officer, "POST", "assign-risk-clusters")
		kept, before := runs(), clustersByEntity(t, k)
		zone := first(t, k, "/v1/predictive_scores?select=entity_id&entity_type=eq.zone&limit=1", "entity_id")
		for _, look := range []struct{ as, query string }{
			{manager, "?period_days=1"}, {manager, ""}, {manager, "?entity_type=zone&period_days=365"},
			{officer, "?period_days=1"}, {officer, "?entity_type=zone&entity_id=" + zone},
			{testkit.As(actor.Admin), "?period_days=31"},
		} {
			if out := ask(look.as, scores+look.query); out.Official || out.Computed == 0 {
				t.Errorf("%s: %+v, want a look", look.query, out)
			}
			callFunction[any](t, k, manager, "POST", "assign-risk-clusters")
			if n := runs(); n != kept {
				t.Errorf("%s keeps %d runs", look.query, n-kept)
			}
			if after := clustersByEntity(t, k); !maps.Equal(before, after) {
				t.Errorf("%s moves entities between clusters", look.query)
			}
		}
		if out := ask(testkit.As(actor.Admin), scores+"?period_days=30"); !out.Official || runs() == kept {
			t.Errorf("the administrator's scores over all are not kept: %+v", out)
		}
	})
}

// An assignment replaces what its filter names and leaves other entities in
// their clusters.
func TestFilteredClusters(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		callFunction[any](t, k, officer, "POST", "calculate-predictive-safety-scores")
		callFunction[any](t, k, officer, "POST", "assign-risk-clusters")
		whole := clustersByEntity(t, k)
		types := map[string]int{}
		for _, place := range whole {
			var kind, name string
			if _, err := fmt.Sscan(place, &kind, &name); err != nil {
				t.Fatal(err)
			}
			types[kind]++
		}
		if types["zone"] == 0 || types["worker"] == 0 {
			t.Fatalf("the demonstration groups %v", types)
		}

		for _, filter := range []map[string]any{
			{"entity_type": "zone"}, {"min_score": 60}, {"max_score": 20},
			{"entity_type": "worker", "min_score": 10, "max_score": 50},
		} {
			if r := k.Post(officer, "/functions/v1/assign-risk-clusters", filter); r.Status != 200 {
				t.Fatalf("%v: %d %s", filter, r.Status, r.Body)
			}
			if now := clustersByEntity(t, k); !maps.Equal(whole, now) {
				t.Errorf("%v leaves %d of %d entities where they were", filter, len(now), len(whole))
			}
		}
	})
}

// A run says what it is to be: one that cannot be official is refused with the
// field that stands against it, and writes nothing.
func TestOfficialRunsAreRefused(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
		const scores = "/functions/v1/calculate-predictive-safety-scores"
		runs := func() int { return len(testkit.List[any](t, k, officer, "score_runs?select=id&limit=1000")) }
		zone := first(t, k, "/v1/zones?select=id&limit=1", "id")
		before := runs()
		for _, c := range []struct {
			as     string
			body   map[string]any
			status int
			field  string
		}{
			{manager, map[string]any{"run": "official"}, 403, "run"},
			{officer, map[string]any{"run": "official", "period_days": 29}, 400, "period_days"},
			{officer, map[string]any{"run": "official", "period_days": 31}, 400, "period_days"},
			{officer, map[string]any{"run": "official", "entity_type": "zone", "entity_id": zone}, 400, "entity_id"},
			{officer, map[string]any{"run": "of course"}, 400, "run"},
			{officer, map[string]any{"run": "look"}, 200, `"official":false`},
			{manager, map[string]any{"run": "look"}, 200, `"official":false`},
		} {
			r := k.Post(c.as, scores, c.body)
			if r.Status != c.status || !strings.Contains(string(r.Body), c.field) {
				t.Errorf("%v: %d %.300s, want %d naming %s", c.body, r.Status, r.Body, c.status, c.field)
			}
			if n := runs(); n != before {
				t.Errorf("%v keeps %d runs", c.body, n-before)
			}
		}
		r := k.Post(officer, scores, map[string]any{"run": "official", "period_days": 30})
		if r.Status != 200 || runs() == before {
			t.Errorf("an official run of 30 days: %d, %d runs kept", r.Status, runs()-before)
		}
	})
}
