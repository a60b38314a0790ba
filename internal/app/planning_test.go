package app_test

import (
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// The demonstration's manager plans a day over HTTP: an open pick list gets a
// shorter walk, waiting shipments become routes, items get reorder points, and
// the KPIs have something to say.
func TestPlanningOverHTTP(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		type pickList struct {
			ID     string
			RouteM float64 `json:"route_m"`
		}
		open := testkit.List[pickList](t, k, manager, "pick_lists?select=id,route_m&status=in.(draft,released,in_progress)&limit=5")
		if len(open) == 0 {
			t.Fatal("no open pick list")
		}
		for _, l := range open {
			var walk struct {
				Metres float64 `json:"distance_m"`
				Before float64 `json:"distance_before_m"`
				Lines  []struct{ ID string }
			}
			r := k.Post(manager, "/functions/v1/plan-pick-path", map[string]any{"pick_list_id": l.ID, "apply": true})
			if r.JSON(t, &walk); r.Status != 200 || walk.Metres > walk.Before {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			now := testkit.List[pickList](t, k, manager, "pick_lists?select=route_m&id=eq."+l.ID)[0]
			lines := testkit.List[struct{ ID string }](t, k, manager,
				"pick_lines?select=id&status=eq.pending&order=seq&pick_list_id=eq."+l.ID)
			if d := now.RouteM - walk.Metres; d > 0.06 || d < -0.06 || len(lines) != len(walk.Lines) {
				t.Fatalf("route_m %v of %v, %d lines of %d", now.RouteM, walk.Metres, len(lines), len(walk.Lines))
			}
			for i := range lines {
				if lines[i] != walk.Lines[i] {
					t.Fatalf("line %d is %s, planned was %s", i+1, lines[i].ID, walk.Lines[i].ID)
				}
			}
		}
		var plan struct {
			Km     float64 `json:"distance_km"`
			Before float64 `json:"distance_before_km"`
			Routes []struct{ Stops []struct{} }
		}
		if k.Post(manager, "/functions/v1/plan-routes", map[string]any{"max_stops": 4}).JSON(t,
			&plan); len(plan.Routes) == 0 || plan.Km <= 0 ||
			plan.Km > plan.Before {
			t.Errorf("%d routes of %v km, singly %v", len(plan.Routes), plan.Km, plan.Before)
		}
		var stock struct {
			Items []struct {
				Suggested *float64 `json:"suggested_reorder_point"`
				Demand    float64  `json:"demand_per_day"`
				ABC       string   `json:"suggested_abc_class"`
			}
		}
		k.Get(manager, "/functions/v1/inventory-plan?pageSize=200&abc=true").JSON(t, &stock)
		moving, classes := 0, map[string]int{}
		for _, it := range stock.Items {
			classes[it.ABC]++
			if it.Suggested != nil && *it.Suggested > 0 && it.Demand > 0 {
				moving++
			}
		}
		if moving < 10 || classes["A"] == 0 || classes["B"] == 0 || classes["C"] <= classes["A"] {
			t.Errorf("%d items with a suggestion, classes %v", moving, classes)
		}
		var figures struct {
			KPIs struct {
				Accuracy *float64 `json:"count_accuracy"`
				Rate     *float64 `json:"lines_per_hour"`
			} `json:"kpis"`
		}
		k.Get(testkit.As(actor.Viewer), "/functions/v1/warehouse-kpis?days=90").JSON(t, &figures)
		// The demonstration's pickers are too few for a rate that is nobody's own.
		if f := figures.KPIs; f.Accuracy == nil || *f.Accuracy <= 50 || *f.Accuracy >= 100 || f.Rate != nil {
			t.Errorf("KPIs %+v", f)
		}
		for _, fn := range []string{"plan-pick-path", "plan-routes"} {
			if r := k.Post(testkit.As(actor.Operator), "/functions/v1/"+fn, map[string]any{}); r.Status != 403 {
				t.Errorf("%s as an operator: %d", fn, r.Status)
			}
		}
	})
}
