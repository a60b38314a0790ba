package osha

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

// Figures are a year's counts for rates: columns of the log, lost-time
// injuries (deaths included), accidents of the European statistics, days lost,
// hours worked and the mean number of people employed.
type Figures struct {
	Deaths, DaysAway, Restricted, Other int
	LostTime, FourDays                  int
	DaysLost                            int64
	Hours, Employees                    float64
}

// QueueFigures asks for the figures of a local year at one establishment, or
// with "" at all of a tenant; they are there after the next flush. Hours are
// those of approved shifts and the additional hours of summaries. Cases whose
// report is void never count.
func QueueFigures(tx *db.Tx, tenant string, p Pick, loc *time.Location) *Figures {
	f := &Figures{}
	args := []any{tenant, p.Year}
	only := ""
	if p.Site != "" {
		args = append(args, p.Site)
		only = " AND c.site_id = $3"
	}
	tx.Queue(db.Fill(`
		SELECT c.outcome, c.illness_type, CASE WHEN c.days_away >= 4 THEN 1 ELSE 0 END, COUNT(*),
			CAST(SUM(c.days_away) AS bigint)
		FROM osha_cases c
		JOIN incidents i ON i.tenant_id = c.tenant_id AND i.id = c.incident_id
		WHERE c.tenant_id = $1
			AND c.year = $2
			AND c.recordable = 'yes'
			AND i.status <> 'void' {only}
		GROUP BY 1, 2, 3`, "{only}", only), args, func(r *db.Row) error {
		f.addOutcome(r.Text(0), r.Text(1) == "injury", r.Int(2) == 1, int(r.Int(3)))
		f.DaysLost += r.Int(4)
		return nil
	})
	from, to := yearBounds(p.Year, loc)
	queueHours(tx, exposure{tenant: tenant, site: p.Site, from: from, to: to}, func(h decimal.Dec) { f.Hours += h.Float() })
	// An establishment's own figure counts before the one from dates of hire.
	own, counted := 0.0, map[string]bool{}
	tx.Queue(db.Fill(`
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
