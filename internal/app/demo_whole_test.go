package app_test

import (
	"net/http"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// The whole demonstration, as a visitor's client reads it: its figures are those
// of a warehouse at work, and half of its people can sign in.
func TestWholeDemonstration(t *testing.T) {
	testkit.RunWhole(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		within := func(what string, got, lo, hi float64) {
			t.Helper()
			if got < lo || got > hi {
				t.Errorf("%s: %v, want %v to %v", what, got, lo, hi)
			}
		}
		var shown struct {
			Inventory struct{ Metrics map[string]float64 }
		}
		k.Get(manager, "/functions/v1/get-dashboard-snapshot-v2?lightweight=true").JSON(t, &shown)
		within("items", shown.Inventory.Metrics["total_items"], 5000, 6000)
		within("value", shown.Inventory.Metrics["total_stock_value"], 1_000_000, 20_000_000)
		var kpis struct {
			KPIs struct {
				Rate      float64 `json:"lines_per_hour"`
				Lines     int64   `json:"lines_picked"`
				Shiftless int64   `json:"lines_without_shift"`
			}
		}
		setLeast(t, k, 2) // its pickers are too few for a rate that is nobody's own
		k.Get(manager, "/functions/v1/warehouse-kpis?days=7").JSON(t, &kpis)
		within("lines picked in an hour", kpis.KPIs.Rate, 40, 120)
		within("lines picked in a week", float64(kpis.KPIs.Lines), 1500, 9000)
		if kpis.KPIs.Shiftless != 0 {
			t.Errorf("%d lines were picked by people who were not at work", kpis.KPIs.Shiftless)
		}
		var rates struct {
			Hours float64 `json:"hours_worked"`
			Cases struct {
				LostTime   float64 `json:"lost_time_injuries"`
				Restricted float64 `json:"restricted"`
				Other      float64 `json:"other"`
			}
			LTIFR struct{ Value float64 }
		}
		k.Get(testkit.As(actor.Safety), "/functions/v1/safety-rates").JSON(t, &rates)
		if rates.Hours > 40_000 { // a year that has just begun has too few hours for a rate
			within("LTIFR", 1e6*rates.Cases.LostTime/rates.Hours, 20, 60)
			within("restricted cases", rates.Cases.Restricted, 1, 20)
			within("other cases", rates.Cases.Other, 1, 20)
		}
		mine := testkit.List[struct{ ID string }](t, k, testkit.As(actor.Operator),
			"pick_lists?select=id,workers!inner(user_id)&status=eq.released&workers.user_id=eq."+demo.Users()[4].ID)
		if len(mine) == 0 {
			t.Error("no open pick list for operator@")
		}
		workers := testkit.List[struct {
			User *string `json:"user_id"`
		}](t, k, manager, "workers?select=user_id&limit=100")
		with := 0
		for _, w := range workers {
			if w.User != nil {
				with++
			}
		}
		within("workers with an account, in 100", 100*float64(with)/float64(len(workers)), 50, 70)
		soon := time.Now().UTC().AddDate(0, 0, 25).Format(time.DateOnly)
		if got := testkit.List[struct{ ID string }](t, k, manager,
			"lots?select=id&short_dated=is.false&expires_on=lt."+soon); len(got) > 0 {
			t.Errorf("%d lots that do not last are not short-dated", len(got))
		}
		if got := testkit.List[struct{ ID string }](t, k, manager, "lots?select=id&short_dated=is.true"); len(got) == 0 {
			t.Error("no lot is short-dated: the demonstration shows none")
		}
		yesterday := time.Now().AddDate(0, 0, -5).UTC().Format(time.RFC3339)
		if got := testkit.List[struct{ ID string }](t, k, manager,
			"orders?select=id&type=eq.outbound&limit=1000&created_at=gt."+yesterday); len(got) < 3*40 {
			t.Errorf("%d orders in five days", len(got))
		}
		in := map[string]string{"email": "anke.petersen@north.example", "password": demo.Password}
		if r := k.Post("", "/auth/v1/token?grant_type=password", in); r.Status != http.StatusOK {
			t.Errorf("a worker signs in: %d %s", r.Status, r.Body)
		}
	})
}
