package app_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/functions/programme"
	"holdfast/internal/store"
	"holdfast/internal/testkit"
)

// scoreAnswer is all that a stranger has: the answer of
// calculate-predictive-safety-scores.
type scoreAnswer struct {
	Computed int `json:"scores_computed"`
	Scores   []struct {
		Type, ID   string
		EntityType string `json:"entity_type"`
		Score      float64
		ScoreLow   *float64 `json:"score_low"`
		ScoreHigh  *float64 `json:"score_high"`
		Terms      []struct{ Points float64 }
		Confidence float64
		Kind       string `json:"model_kind"`
		Inputs     struct {
			Incidents int     `json:"incident_count"`
			Near      int     `json:"near_miss_count"`
			Hours     float64 `json:"shift_hours"`
			Load      float64 `json:"workload"`
			Days      float64 `json:"period_days"`
		}
		Rate        float64 `json:"rate_per_200k"`
		Low         float64 `json:"interval_low"`
		High        float64 `json:"interval_high"`
		Probability float64
		History     struct {
			Events, Units float64
			Features      []float64
		}
	}
	Model struct {
		scoreModel
		ByType []scoreModel `json:"by_type"`
	}
}

type scoreModel struct {
	Kind       string
	EntityType string  `json:"entity_type"`
	Incident   float64 `json:"weight_incident"`
	Near       float64 `json:"weight_near_miss"`
	Hours      float64 `json:"weight_shift_hours"`
	Load       float64 `json:"weight_load"`
	Params     struct {
		Bounds map[string]struct {
			HoursLow   float64 `json:"hours_low"`
			HoursHigh  float64 `json:"hours_high"`
			LoadLow    float64 `json:"load_low"`
			LoadHigh   float64 `json:"load_high"`
			Incident   float64 `json:"incident_half"`
			Near       float64 `json:"near_miss_half"`
			Confidence float64 `json:"confidence_hours"`
		}
		Prior        gamma
		Theta        gamma
		Intercept    float64
		Coefficients []float64
		Scaler       struct{ Mean, SD []float64 }
		BaseRate     float64 `json:"base_rate"`
	}
}

type gamma struct{ Alpha, Beta, Mean float64 }

func half(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Floor(x*p+0.5+1e-9) / p
}

// recompute works every score of an answer out again from the answer alone, by
// the formulas of the three models, and returns how many there were of each.
func (s *scoreAnswer) recompute(t *testing.T) map[string]int {
	t.Helper()
	models := map[string]scoreModel{}
	for _, m := range s.Model.ByType {
		models[m.EntityType] = m
	}
	seen := map[string]int{}
	for _, x := range s.Scores {
		m, own := models[x.EntityType]
		if !own {
			m = s.Model.scoreModel
		}
		if m.Kind != x.Kind {
			t.Fatalf("%s is scored by %s, the answer shows %s", x.EntityType, x.Kind, m.Kind)
		}
		seen[x.Kind]++
		same := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("%s of a %s by %s: the answer says %v, its inputs %v", what, x.EntityType, x.Kind, got, want)
			}
		}
		points := 0.0
		for _, term := range x.Terms {
			points += term.Points
		}
		if math.Abs(points-x.Score) > 0.051+0.005*float64(len(x.Terms)) {
			t.Errorf("the terms of a %s by %s add up to %v, the score is %v", x.EntityType, x.Kind, points, x.Score)
		}
		if x.ScoreLow == nil || x.ScoreHigh == nil || *x.ScoreLow < 0 || *x.ScoreLow > x.Score || *x.ScoreHigh < x.Score ||
			*x.ScoreHigh > 100 {
			t.Fatalf("the interval of a %s by %s: %v to %v around %v", x.EntityType, x.Kind, x.ScoreLow, x.ScoreHigh, x.Score)
		}
		if x.Kind == "weighted" && *x.ScoreHigh-*x.ScoreLow < 1 {
			t.Errorf("the interval of a %s is %v to %v", x.EntityType, *x.ScoreLow, *x.ScoreHigh)
		}
		in := x.Inputs
		if x.Kind == "weighted" {
			b, ramp := m.Params.Bounds[x.EntityType], func(v, lo, hi float64) float64 { return max(0, min(1, (v-lo)/(hi-lo))) }
			sum := m.Incident + m.Near + m.Hours + m.Load
			points := m.Incident*(1-math.Exp2(-float64(in.Incidents)*30/in.Days/b.Incident)) + m.Near*(1-math.Exp2(-float64(in.Near)*30/in.Days/b.Near)) +
				m.Hours*ramp(7*in.Hours/in.Days, b.HoursLow, b.HoursHigh) + m.Load*ramp(in.Load, b.LoadLow, b.LoadHigh)
			same("score", x.Score, half(100*points/sum, 1))
			sure := in.Hours / (in.Hours + b.Confidence)
			if in.Hours == 0 {
				sure = (m.Incident + m.Near) / sum * in.Days / (in.Days + 90)
			}
			same("confidence", x.Confidence, half(sure, 2))
			continue
		}
		p, peer, scale := m.Params.Prior, m.Params.Prior.Mean, 1.0
		if x.Kind == "poisson" {
			p, peer = m.Params.Theta, m.Params.BaseRate
			log := m.Params.Intercept
			for j, c := range m.Params.Coefficients {
				if sd := m.Params.Scaler.SD[j]; sd > 0 {
					log += c * (x.History.Features[j] - m.Params.Scaler.Mean[j]) / sd
				}
			}
			scale = math.Exp(log)
		}
		a, b := p.Alpha+x.History.Events, (p.Beta+x.History.Units)/scale
		same("score", x.Score, half(100*(1-math.Exp2(-a/b/peer)), 1))
		same("rate", x.Rate, half(a/b, 2))
		at := func(rate float64) float64 { return 100 * (1 - math.Exp2(-rate/peer)) }
		near := 0.051 + 0.36/peer // the rates of the answer are rounded to two decimals
		if low, high := min(x.Score, at(x.Low)), max(x.Score, at(x.High)); math.Abs(*x.ScoreLow-low) > near ||
			math.Abs(*x.ScoreHigh-high) > near {
			t.Errorf("the interval of a %s by %s: %v to %v, its rates give %v to %v", x.EntityType, x.Kind, *x.ScoreLow,
				*x.ScoreHigh, low, high)
		}
		same("confidence", x.Confidence, half(x.History.Units/(x.History.Units+p.Beta), 2))
		same("probability", x.Probability, half(1-math.Pow(b/(b+in.Hours/200_000), a), 4))
	}
	return seen
}

func scored(t *testing.T, k *testkit.Kit, as string, body map[string]any) *scoreAnswer {
	t.Helper()
	r := k.Post(as, "/functions/v1/calculate-predictive-safety-scores", body)
	if r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	out := &scoreAnswer{}
	r.JSON(t, out)
	return out
}

// A stranger can recompute any score from the answer alone, whichever model
// made it.
func TestScoresAreRecomputed(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		first := scored(t, k, testkit.As(actor.Safety), nil)
		if n := first.recompute(t); first.Computed == 0 || len(first.Scores) != first.Computed || len(n) == 0 {
			t.Fatalf("%d scores of %d", len(first.Scores), first.Computed)
		}
		by := actor.Actor{Role: actor.Service, TenantID: demo.North, KeyID: "test"}
		aYearBefore(t, k, by)
		if _, err := programme.New(k.App.Store, time.Now, programme.Hooks{}).Train(t.Context(), by); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"eb", "poisson", "weighted"} {
			activate(t, k, by, kind)
			for _, days := range []int{30, 7, 365} {
				n := scored(t, k, testkit.As(actor.Safety), map[string]any{"period_days": days}).recompute(t)
				if n[kind] == 0 {
					t.Errorf("nothing was scored by %s: %v", kind, n)
				}
			}
		}
	})
}

// aYearBefore gives the demonstration's workers, who begin 90 days ago, a year of
// shifts and accidents before that: enough for every model to be trained.
func aYearBefore(t *testing.T, k *testkit.Kit, by actor.Actor) {
	t.Helper()
	now := time.Now().UTC()
	err := k.App.DB.Write(t.Context(), db.Scope{Tenant: by.TenantID}, func(tx *db.Tx) error {
		var workers []string
		err := tx.Query("SELECT id FROM workers WHERE tenant_id = $1 ORDER BY id", []any{by.TenantID}, func(r *db.Row) error {
			workers = append(workers, r.Text(0))
			return nil
		})
		if err != nil {
			return err
		}
		var hours, accidents []store.Row
		for i, w := range workers {
			for p := 4; p < 13; p++ {
				for d := range 4 {
					end := now.AddDate(0, 0, -28*p-7*d-3)
					hours = append(hours, store.Row{"worker_id": w, "started_at": end.Add(-time.Duration(8+i%5) * time.Hour),
						"ended_at": end, "units_done": "500"})
				}
				if i%3 == 0 && (i+p)%2 == 0 || (i+p)%11 == 0 {
					at := now.AddDate(0, 0, -28*p-5)
					accidents = append(accidents, store.Row{"kind": "injury", "title": "Before", "occurred_at": at, "reported_at": at,
						"entities": json.RawMessage(`[{"entity_type":"worker","entity_id":"` + w + `","role":"injured"}]`)})
				}
			}
		}
		if _, err = k.App.Store.In(tx, by).InsertRows("shifts", hours); err == nil {
			_, err = k.App.Store.In(tx, by).InsertRows("incidents", accidents)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// activate makes the trained models of one kind those that count.
func activate(t *testing.T, k *testkit.Kit, by actor.Actor, kind string) {
	t.Helper()
	err := k.App.DB.Write(context.Background(), db.Scope{Tenant: by.TenantID}, func(tx *db.Tx) error {
		var shadows, actives []string
		err := tx.Query("SELECT id, kind, status FROM score_models WHERE tenant_id = $1 AND entity_type IS NOT NULL AND status <> 'retired' ORDER BY id",
			[]any{by.TenantID}, func(row *db.Row) error {
				switch {
				case row.Text(1) == kind && row.Text(2) == "shadow":
					actives = append(actives, row.Text(0))
				case row.Text(1) != kind && row.Text(2) == "active":
					shadows = append(shadows, row.Text(0))
				}
				return nil
			})
		if err == nil && len(shadows) > 0 {
			err = k.App.Store.In(tx, by).UpdateRows("score_models", shadows, store.Row{"status": "shadow"})
		}
		if err == nil && len(actives) > 0 {
			err = k.App.Store.In(tx, by).UpdateRows("score_models", actives, store.Row{"status": "active"})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
