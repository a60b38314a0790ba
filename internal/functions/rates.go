package functions

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/safety/osha"
	"holdfast/internal/score"
)

// RatesIn asks for a year's rates.
type RatesIn struct {
	Year   int64  `query:"year" min:"2002" max:"2100" doc:"Local calendar year; the current one when absent."`
	SiteID string `query:"site_id" format:"uuid" doc:"One establishment; all when absent."`
}

type ratesOut struct {
	TenantID  string           `json:"tenant_id"`
	Timestamp string           `json:"timestamp"`
	Cached    bool             `json:"cached"`
	Year      int64            `json:"year"`
	SiteID    *string          `json:"site_id"`
	Hours     float64          `json:"hours_worked"`
	Employees float64          `json:"avg_employees"`
	Counts    map[string]int64 `json:"cases"`
	TRIR      score.Rate       `json:"trir"`
	DART      score.Rate       `json:"dart"`
	LTIFR     score.Rate       `json:"ltifr"`
	Severity  score.Rate       `json:"severity_rate"`
	ESAW      score.Rate       `json:"esaw_incidence"`
}

// rates answers safety-rates: TRIR and DART per 200,000 hours, LTIFR and the
// severity rate per 1,000,000, the European incidence per 100,000 employed,
// counts with their exact Poisson 90 % interval (Garwood 1936).
// No hours is unknown, not 0.
func (d *dashboard) rates(ctx context.Context, a actor.Actor, in *RatesIn) ([]byte, error) {
	now := d.now().UTC()
	out := ratesOut{TenantID: a.TenantID, Timestamp: query.FormatTime(now), Year: in.Year}
	var f *osha.Figures
	found := in.SiteID == ""
	if !found {
		out.SiteID = &in.SiteID
	}
	var zone string
	err := d.read(ctx, a, func(tx *db.Tx) {
		tx.Queue("SELECT timezone FROM tenants WHERE id = $1", []any{a.TenantID}, func(r *db.Row) error { zone = r.Text(0); return nil })
		if !found {
			tx.Queue("SELECT coalesce(timezone, '') FROM sites WHERE tenant_id = $1 AND id = $2", []any{a.TenantID, in.SiteID}, func(r *db.Row) error {
				found = true
				if z := r.Text(0); z != "" {
					zone = z
				}
				return nil
			})
		}
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fault.New(fault.NotFound, "", "there is no establishment %s", in.SiteID).At("site_id", "unknown")
	}
	loc := safety.Location(zone)
	if out.Year == 0 {
		out.Year = int64(now.In(loc).Year())
	}
	err = d.read(ctx, a, func(tx *db.Tx) {
		f = osha.QueueFigures(tx, a.TenantID, osha.Pick{Site: in.SiteID, Year: out.Year}, loc)
	})
	if err != nil {
		return nil, err
	}
	if err := out.fill(f); err != nil {
		return nil, fmt.Errorf("functions: rates: %w", err)
	}
	return json.Marshal(out)
}

func (o *ratesOut) fill(f *osha.Figures) (err error) {
	r := score.Recordables{Deaths: f.Deaths, DaysAway: f.DaysAway, Restricted: f.Restricted, Other: f.Other}
	o.Hours, o.Employees = score.Round(f.Hours, 2), score.Round(f.Employees, 1)
	o.Counts = map[string]int64{"deaths": int64(f.Deaths), "days_away": int64(f.DaysAway), "restricted": int64(f.Restricted), "other": int64(f.Other),
		"lost_time_injuries": int64(f.LostTime), "four_days": int64(f.FourDays), "days_lost": f.DaysLost}
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
