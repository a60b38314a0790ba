package yearly

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/safety"
)

// Register holds the establishments of a tenant, by id.
type Register struct{ sites map[string]*Establishment }

// FindEstablishment returns an establishment; one that is not on record is one of which nothing is
// known.
func (g *Register) FindEstablishment(site string) *Establishment {
	if e := g.sites[site]; e != nil {
		return e
	}
	return &Establishment{}
}

// AskFact says whether a duty, by the fact that a rule asks for, holds for the records of
// an establishment's year.
func (g *Register) AskFact(fact, site string, year int) Answer {
	if fact == safety.SubmitsCases {
		return g.FindEstablishment(site).AsksCases(year)
	}
	return g.FindEstablishment(site).AsksSummary(year)
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
// 1904.31, 1904.41(b)(2)), and says whether they left on a day that nobody wrote down.
const employmentsSQL = `
	SELECT site_id, hired_on, left_on, COUNT(*),
		CASE WHEN status = 'left' AND left_on IS NULL THEN 1 ELSE 0 END
	FROM workers
	WHERE tenant_id = $1
		AND (employment <> 'contractor' OR supervised)
	GROUP BY site_id, hired_on, left_on, CASE WHEN status = 'left' AND left_on IS NULL THEN 1 ELSE 0 END`

// QueueRegister asks for the establishments of a tenant; they are there after the next
// flush. People of no site may be of each.
func QueueRegister(tx *db.Tx, tenant string) *Register {
	g := &Register{sites: map[string]*Establishment{}}
	tx.Queue(industriesSQL, []any{tenant}, func(r *db.Row) error {
		g.sites[r.Text(0)] = &Establishment{NAICS: r.Text(1)}
		return nil
	})
	tx.Queue(statedSQL, []any{tenant}, func(r *db.Row) error {
		g.FindEstablishment(r.Text(0)).StatePeople(int(r.Int(1)), r.Int(2), r.Int(3))
		return nil
	})
	tx.Queue(employmentsSQL, []any{tenant}, func(r *db.Row) error {
		from, until, people, isPossible := parseDay(r.Text(1)), parseDay(r.Text(2)), r.Int(3), r.Int(4) == 1
		add := func(e *Establishment) {
			if isPossible {
				e.AddPossible(from, people)
				return
			}
			e.AddPeople(from, until, people)
		}
		if !r.Null(0) {
			add(g.FindEstablishment(r.Text(0)))
			return nil
		}
		for _, e := range g.sites {
			add(e)
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
