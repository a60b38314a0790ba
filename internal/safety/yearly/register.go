package yearly

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/safety"
)

// Register holds the establishments of a tenant, by id.
type Register struct{ sites map[string]*Establishment }

// Of returns an establishment; one that is not on record is one of which nothing is
// known.
func (g *Register) Of(site string) *Establishment {
	if e := g.sites[site]; e != nil {
		return e
	}
	return &Establishment{}
}

// Asks says whether a duty, by the fact that a rule asks for, holds for the records of
// an establishment's year.
func (g *Register) Asks(fact, site string, year int) Answer {
	if fact == safety.SubmitsCases {
		return g.Of(site).AsksCases(year)
	}
	return g.Of(site).AsksSummary(year)
}

const industriesSQL = `
	SELECT id, naics
	FROM sites
	WHERE tenant_id = $1`

const statedSQL = `
	SELECT site_id, year, peak_employees, avg_employees
	FROM osha_summaries
	WHERE tenant_id = $1`

// employmentsSQL counts the people whom OSHA's records are about, by when they were
// employed: those on the payroll, and others who are supervised day to day (29 CFR
// 1904.31, 1904.41(b)(2)). Who left on a day that nobody wrote down counts for none.
const employmentsSQL = `
	SELECT site_id, hired_on, left_on, COUNT(*)
	FROM workers
	WHERE tenant_id = $1
		AND (employment <> 'contractor' OR supervised)
		AND (status <> 'left' OR left_on IS NOT NULL)
	GROUP BY site_id, hired_on, left_on`

// QueueRegister asks for the establishments of a tenant; they are there after the next
// flush. People of no site may be of each.
func QueueRegister(tx *db.Tx, tenant string) *Register {
	g := &Register{sites: map[string]*Establishment{}}
	tx.Queue(industriesSQL, []any{tenant}, func(r *db.Row) error {
		g.sites[r.Text(0)] = &Establishment{NAICS: r.Text(1)}
		return nil
	})
	tx.Queue(statedSQL, []any{tenant}, func(r *db.Row) error {
		g.Of(r.Text(0)).StatePeople(int(r.Int(1)), r.Int(2), r.Int(3))
		return nil
	})
	tx.Queue(employmentsSQL, []any{tenant}, func(r *db.Row) error {
		from, until, people := parseDay(r.Text(1)), parseDay(r.Text(2)), r.Int(3)
		if !r.Null(0) {
			g.Of(r.Text(0)).AddPeople(from, until, people)
			return nil
		}
		for _, e := range g.sites {
			e.AddPeople(from, until, people)
		}
		return nil
	})
	return g
}

// parseDay reads a date; the zero time when there is none.
func parseDay(s string) time.Time {
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}
	}
	return day
}
