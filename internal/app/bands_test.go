package app_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// One critical incident is not Low, whatever the score; beside peers High begins above
// their mean, and a score that rests on too little is in the cluster of what cannot be
// told.
func TestBandsGoByTheModel(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		zones := map[string]string{}
		for _, code := range []string{"BAND-CRITICAL", "BAND-LOW", "BAND-MEAN", "BAND-ABOVE", "BAND-LITTLE", "BAND-ENOUGH"} {
			zones[code] = k.Insert(t, testkit.As(actor.Manager), "zones", map[string]any{"code": code, "name": code})
		}
		at := time.Now().Add(-48 * time.Hour).UTC().Format(time.RFC3339)
		for code, severity := range map[string]string{"BAND-CRITICAL": "critical", "BAND-LOW": "high"} {
			k.Insert(t, safety, "incidents", map[string]any{"kind": "injury", "severity": severity, "title": "Fall",
				"zone_id": zones[code], "occurred_at": at})
		}

		var run struct {
			Official bool
			Scores   []struct {
				Entity  string `json:"entity_id"`
				Cluster string
				Score   float64
				Inputs  struct {
					Critical int `json:"critical_count"`
				}
			}
		}
		ofZones := map[string]any{"entity_type": "zone"}
		k.Post(safety, "/functions/v1/calculate-predictive-safety-scores", ofZones).JSON(t, &run)
		seen := 0
		for _, s := range run.Scores {
			want := map[string]string{zones["BAND-CRITICAL"]: "High", zones["BAND-LOW"]: "Low"}[s.Entity]
			if want == "" {
				continue
			}
			seen++
			if s.Cluster != want || s.Score >= 25 || (s.Inputs.Critical == 1) != (want == "High") {
				t.Errorf("%+v, want %s of a score below 25", s, want)
			}
		}
		if !run.Official || seen != 2 {
			t.Fatalf("official %v, %d of 2 zones", run.Official, seen)
		}

		// What a model that compares peers would have said of the others.
		testkit.Must(t, k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			for _, s := range []struct {
				code              string
				score, confidence float64
			}{{"BAND-MEAN", 50, 0.9}, {"BAND-ABOVE", 50.1, 0.9}, {"BAND-LITTLE", 90, 0.24}, {"BAND-ENOUGH", 90, 0.25}} {
				_, err := tx.Exec(`
					UPDATE predictive_scores
					SET model_kind = 'eb', score = $3, confidence = $4
					WHERE tenant_id = $1
						AND entity_id = $2`, demo.North, zones[s.code],
					int64(decimal.FromFloat(s.score)), int64(decimal.FromFloat(s.confidence)))
				if err != nil {
					return err
				}
			}
			return nil
		}))
		if r := k.Post(safety, "/functions/v1/assign-risk-clusters", ofZones); r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		var clusters []struct {
			Name     string `json:"cluster_name"`
			Severity int
			Members  []struct {
				Entity string `json:"entity_id"`
			}
		}
		k.Get(safety, "/v1/risk_clusters?select=cluster_name,severity,members&entity_type=eq.zone").JSON(t, &clusters)
		in := map[string]string{}
		for _, c := range clusters {
			for _, m := range c.Members {
				in[m.Entity] = c.Name
			}
			if c.Severity != slices.Index([]string{"Unclear", "Low", "Medium", "High", "Critical"}, c.Name) {
				t.Errorf("%s has the severity %d", c.Name, c.Severity)
			}
		}
		for code, want := range map[string]string{"BAND-CRITICAL": "High", "BAND-LOW": "Low", "BAND-MEAN": "Medium",
			"BAND-ABOVE": "High", "BAND-LITTLE": "Unclear", "BAND-ENOUGH": "Critical"} {
			if got := in[zones[code]]; got != want {
				t.Errorf("%s is in the cluster %q, want %s", code, got, want)
			}
		}
	})
}
