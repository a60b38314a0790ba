package app_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A case that states its days by dates counts each day once, in the order of the days
// and not of their kinds: restricted from the 3rd to the 6th and away from the 7th to
// the 11th are nine days running, and so are away from the 3rd to the 7th and restricted
// from the 5th to the 11th. Two days that are stated as both are two.
func TestStatedDaysCountOnce(t *testing.T) {
	days := func(awayFrom, awayUntil, restrictedFrom, restrictedUntil string) map[string]any {
		return map[string]any{"away_from": "2025-03-" + awayFrom, "away_until": "2025-03-" + awayUntil,
			"restricted_from": "2025-03-" + restrictedFrom, "restricted_until": "2025-03-" + restrictedUntil}
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, c := range []struct {
			code string
			row  map[string]any
			// Counts among a million hours.
			reported, recorded, german string
		}{
			{"RESTRICTED-FIRST", days("07", "11", "03", "06"), "1.00", "1.00", "1.00"},
			{"OVERLAP", days("03", "07", "05", "11"), "1.00", "1.00", "1.00"},
			{"WITHIN", days("03", "09", "04", "05"), "0.00", "1.00", "1.00"},
			{"TWICE", days("03", "04", "03", "04"), "0.00", "0.00", "0.00"},
			{"APART", days("08", "09", "03", "04"), "0.00", "0.00", "1.00"},
		} {
			british := givenRegime(t, k, "GB-"+c.code, "GB", "Europe/London")
			british.stateYear(2025, map[string]any{"additional_hours": 1000000, "avg_employees": 600})
			british.addAccident("2025-03-02", nil, c.row)
			british.wantFigures(c.code, 2025,
				map[string]string{"RIDDOR-FREQUENCY": c.reported, "RIDDOR-RECORD": c.recorded})

			german := givenRegime(t, k, "DE-"+c.code, "DE", "Europe/Berlin")
			german.addAccident("2025-03-02", nil, c.row)
			german.wantFigures(c.code, 2025, map[string]string{"ARBSCHG-6-2": c.german})
		}

		// Days without dates follow the accident, also where days away have no end yet.
		open := givenRegime(t, k, "GB-OPEN", "GB", "Europe/London")
		london, err := time.LoadLocation(open.zone)
		testkit.Must(t, err)
		now := time.Now().In(london)
		injured := now.AddDate(0, 0, -20)
		open.stateYear(injured.Year(), map[string]any{"additional_hours": 1000000, "avg_employees": 600})
		open.addAccident(injured.Format(time.DateOnly), nil,
			map[string]any{"away_from": now.AddDate(0, 0, -1).Format(time.DateOnly), "days_restricted": 8})
		open.wantFigures("away since yesterday", injured.Year(), map[string]string{"RIDDOR-FREQUENCY": "1.00"})
	})
}

// Days of last year's accident that fall in the year need the hours of their own site:
// over the hours of the others alone they would be too many.
func TestRatesOfDaysNeedTheHoursOfTheirSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		one := givenRegime(t, k, "BREST1", "FR", "Europe/Paris")
		one.isAway(one.addAccident("2024-05-06", nil, nil), "away", "2024-05-07", "2024-05-08")
		one.stateYear(2024, map[string]any{"additional_hours": 100000})
		two := givenRegime(t, k, "BREST2", "FR", "Europe/Paris")
		two.isAway(two.addAccident("2023-12-18", nil, nil), "away", "2023-12-19", "2024-01-20")

		want := func(when, status, days string, value float64) {
			t.Helper()
			var out struct{ Regimes []regime }
			k.Get(testkit.As(actor.Safety), "/functions/v1/safety-rates?year=2024").JSON(t, &out)
			seen := 0
			for _, r := range out.Regimes {
				for _, f := range r.Figures {
					if r.Country != "FR" || f.Code != "TG" && f.Code != "TF" {
						continue
					}
					seen++
					if f.Code == "TF" && (f.Status != "ok" || f.Count != 1) {
						t.Errorf("%s: the accidents of the year have their hours: %+v", when, f)
					}
					if f.Code != "TG" {
						continue
					}
					if f.Status != status || f.Count != 22 || (f.Value == nil) == (status == "ok") ||
						!strings.HasPrefix(f.Basis, days) {
						t.Errorf("%s: TG is %+v, want %s (%s)", when, f, status, days)
					}
					if f.Value != nil && *f.Value != value {
						t.Errorf("%s: TG is %v, want %v", when, *f.Value, value)
					}
				}
			}
			if seen != 2 {
				t.Errorf("%s: %d of TF and TG", when, seen)
			}
		}
		want("no hours where the days are", "insufficient_data", "missing at 1 of ", 0)
		two.stateYear(2024, map[string]any{"additional_hours": 100000})
		want("hours at both", "ok", "hours worked", 0.11)
	})
}
