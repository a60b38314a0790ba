package functions

import (
	"context"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/functions/output"
	"holdfast/internal/localtime"
	"holdfast/internal/safety/osha"
	"holdfast/internal/safety/regimes"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// RatesIn asks for a year's rates.
type RatesIn struct {
	Year   int64  `query:"year" min:"2002" max:"2100" doc:"Local calendar year; the current one when absent."`
	SiteID string `query:"site_id" format:"uuid" doc:"One establishment; all when absent."`
}

// RatesOut is the answer of safety-rates.
type RatesOut struct {
	output.Kept
	Year      int64      `json:"year" doc:"Local calendar year."`
	SiteID    *string    `json:"site_id" format:"uuid" doc:"The establishment, null for all."`
	Hours     float64    `json:"hours_worked" unit:"hours" doc:"Hours worked."`
	Employees float64    `json:"avg_employees" doc:"People employed on average."`
	Counts    CasesOut   `json:"cases" doc:"Recordable cases of the year."`
	TRIR      score.Rate `json:"trir" unit:"cases per 200,000 hours" doc:"Total recordable incident rate."`
	DART      score.Rate `json:"dart" unit:"cases per 200,000 hours" doc:"Days away, restricted or transferred."`
	LTIFR     score.Rate `json:"ltifr" unit:"injuries per 1,000,000 hours" doc:"Lost time injury frequency rate."`
	Severity  score.Rate `json:"severity_rate" unit:"days per 1,000,000 hours" doc:"Days lost."`
	ESAW      score.Rate `json:"esaw_incidence" unit:"accidents per 100,000 employed" doc:"Accidents with more than three days of absence."`

	Regimes []regimes.Regime `json:"regimes" doc:"Figures as the sites' countries count them."`
}

// CasesOut counts the recordable cases of a year.
type CasesOut struct {
	DaysAway   int64 `json:"days_away" doc:"Cases with days away from work."`
	DaysLost   int64 `json:"days_lost" unit:"days" doc:"Days lost."`
	Deaths     int64 `json:"deaths" doc:"Deaths."`
	FourDays   int64 `json:"four_days" doc:"Accidents with more than three days of absence."`
	LostTime   int64 `json:"lost_time_injuries" doc:"Injuries with lost time."`
	Other      int64 `json:"other" doc:"Other recordable cases."`
	Restricted int64 `json:"restricted" doc:"Cases with job transfer or restriction."`
}

// safetyRates answers safety-rates: TRIR and DART per 200,000 hours, LTIFR and the
// severity rate per 1,000,000, the European incidence per 100,000 employed,
// counts with their exact Poisson 90 % interval (Garwood 1936), and the figures of the
// countries where the establishments are.
// No hours is unknown, not 0.
func (d *dashboard) safetyRates(ctx context.Context, a actor.Actor, in *RatesIn) (*RatesOut, error) {
	now := d.now().UTC()
	out := &RatesOut{Kept: output.KeptOf(a.TenantID, now), Year: in.Year}
	var f *osha.Figures
	found := in.SiteID == ""
	if !found {
		out.SiteID = &in.SiteID
	}
	var zone string
	var places *regimes.Places
	err := d.readSnapshot(ctx, a, func(tx *store.Tx) {
		places = regimes.QueuePlaces(tx.Tx, a.TenantID, in.SiteID)
		store.QueueZone(tx.Tx, a.TenantID, &zone)
		if !found {
			tx.Queue(`
				SELECT coalesce(timezone, '')
				FROM sites
				WHERE tenant_id = $1
					AND id = $2`, []any{a.TenantID, in.SiteID},
				func(r *db.Row) error {
					found = true
					if z := r.Text(0); z != "" {
						zone = z
					}
					return nil
				})
		}
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.New(fault.NotFound, "", "there is no establishment %s", in.SiteID).At("site_id", "unknown")
	}
	loc := localtime.Zone(zone)
	if out.Year == 0 {
		out.Year = int64(localtime.Year(now, loc))
	}
	var regimesOf func() []regimes.Regime
	err = d.readSnapshot(ctx, a, func(tx *store.Tx) {
		regimesOf = regimes.QueueFigures(tx.Tx, regimes.Asked{
			Tenant: a.TenantID, Year: out.Year, Now: now, RateCount: score.RateCount, RateDays: score.RateDays,
		}, places)
		f = osha.QueueFigures(tx.Tx, osha.Asked{
			Tenant: a.TenantID, Pick: osha.Pick{Site: in.SiteID, Year: out.Year}, Zone: loc, Now: now,
		})
	})
	if err != nil {
		return nil, err
	}
	out.Regimes = regimesOf()
	if err := out.fillRates(f); err != nil {
		return nil, fmt.Errorf("functions: rates: %w", err)
	}
	return out, nil
}

func (o *RatesOut) fillRates(f *osha.Figures) (err error) {
	r := score.Recordables{Deaths: f.Deaths, DaysAway: f.DaysAway, Restricted: f.Restricted, Other: f.Other}
	o.Hours, o.Employees = score.Round(f.Hours, 2), score.Round(f.Employees, 1)
	o.Counts = CasesOut{Deaths: int64(f.Deaths), DaysAway: int64(f.DaysAway), Restricted: int64(f.Restricted),
		Other: int64(f.Other), LostTime: int64(f.LostTime), FourDays: int64(f.FourDays), DaysLost: f.DaysLost}
	if o.TRIR, err = score.TRIR(r, f.Hours); err != nil {
		return err
	}
	if o.DART, err = score.DART(r, f.Hours); err != nil {
		return err
	}
	if o.LTIFR, err = score.LTIFR(f.LostTime, f.Hours); err != nil {
		return err
	}
	if o.Severity, err = score.SeverityRate(float64(f.DaysLost), f.Hours); err != nil {
		return err
	}
	o.ESAW, err = score.ESAW(f.FourDays, f.Employees)
	return err
}
