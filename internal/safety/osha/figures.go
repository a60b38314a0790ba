package osha

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

// Figures are a year's counts for rates: columns of the log, lost-time
// injuries (deaths included), accidents of the European statistics, days lost,
// hours worked and the mean number of people employed. Days lost end with OSHA's
// counting, at 180 for each case; what lasts counts to today.
type Figures struct {
	Deaths, DaysAway, Restricted, Other int
	LostTime, FourDays                  int
	DaysLost                            int64
	Hours, Employees                    float64
}

// Asked says whose figures are asked for: a local year in a time zone, counted at a
// moment.
type Asked struct {
	Tenant string
	Pick
	Zone *time.Location
	Now  time.Time
}

// QueueFigures asks for the figures of a local year at one establishment, or
// with "" at all of a tenant; they are there after the next flush. Hours are
// those of approved shifts and the additional hours of summaries. Cases whose
// report is void never count.
func QueueFigures(tx *db.Tx, a Asked) *Figures {
	f := &Figures{}
	tenant, p, loc := a.Tenant, a.Pick, a.Zone
	args := []any{tenant, p.Year}
	only := ""
	if p.Site != "" {
		args = append(args, p.Site)
		only = " AND c.site_id = $3"
	}
	queueCases(tx, tenant, p, clockAt{a.Now, loc}, func(c countedCase, sign int) {
		f.addOutcome(c.outcome, c.kind == "injury", c.days.ToDate.Away >= europeDays, sign)
		f.DaysLost += int64(sign) * c.onLog(c.days.ToDate).Away
	})
	from, to := yearBounds(p.Year, loc)
	queueHours(tx, exposure{tenant: tenant, site: p.Site, from: from, to: to}, func(h decimal.Dec) { f.Hours += h.Float() })
	// An establishment's own figure counts before the one from dates of hire.
	own, counted := 0.0, map[string]bool{}
	tx.Queue(db.FillWords(`
		SELECT c.site_id, c.additional_hours, c.avg_employees
		FROM osha_summaries c
		WHERE c.tenant_id = $1
			AND c.year = $2 {only}`, "{only}", only), args,
		func(r *db.Row) error {
			f.Hours += float64(r.Int(1))
			if n := r.Int(2); n > 0 {
				own += float64(n)
				counted[r.Text(0)] = true
			}
			f.Employees = own
			return nil
		})
	queueEmployees(tx, staff{tenant: tenant, site: p.Site, year: p.Year, counted: counted}, func(mean float64) { f.Employees = own + mean })
	return f
}

func (f *Figures) addOutcome(outcome string, injury, long bool, n int) {
	switch outcome {
	case "death":
		f.Deaths += n
	case "days_away":
		f.DaysAway += n
	case "restricted":
		f.Restricted += n
	default:
		f.Other += n
	}
	if injury && (outcome == "death" || outcome == "days_away") {
		f.LostTime += n
	}
	if injury && (outcome == "death" || long) {
		f.FourDays += n
	}
}
