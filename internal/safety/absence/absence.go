// Package absence keeps the days on which somebody was away from work, or at
// restricted work, after an accident or illness, and counts them as each regime
// does. Rows say what was; a regime's end of counting is applied to a figure and
// never stored.
//
// Layer: domains. Begin at [Effects].
package absence

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Resource is the collection of absences.
const Resource = "absences"

// Kinds of a day.
const (
	Away       = "away"
	Restricted = "restricted"
)

// Columns of the collection.
const (
	idColumn        = "id"
	caseColumn      = "case_id"
	kindColumn      = "kind"
	fromColumn      = "from_on"
	untilColumn     = "until_on"
	estimatedColumn = "estimated"
)

// Period is the days of one row, both included.
type Period struct {
	ID, CaseID, Kind string
	From             time.Time // midnight UTC of a calendar day, as all days here
	Until            time.Time // zero while it lasts
	Estimated        bool      // Until is what is expected
}

// Days are calendar days, without an end of counting.
type Days struct{ Away, Restricted int64 }

// Tally is what the periods of a case count.
type Tally struct {
	ToDate   Days // up to today
	Expected Days // an estimated end counts as it is estimated
}

// AddPeriod counts a period into the tally. The day of the injury counts in no regime:
// 29 CFR 1904.7(b)(3)(i); Regulation (EU) No 349/2011. What lasts counts to today, and
// what lasts on the day of the injury is expected to have the next day at least.
func (t *Tally) AddPeriod(p Period, injured, today time.Time) {
	from := p.From
	if next := injured.AddDate(0, 0, 1); from.Before(next) {
		from = next
	}
	past, expected := today, today
	if from.After(today) {
		expected = from
	}
	if !p.Until.IsZero() {
		expected = p.Until
		if p.Until.Before(today) {
			past = p.Until
		}
	}
	t.ToDate.addDays(p.Kind, countDays(from, past))
	t.Expected.addDays(p.Kind, countDays(from, expected))
}

func (d *Days) addDays(kind string, n int64) {
	if kind == Away {
		d.Away += n
	} else {
		d.Restricted += n
	}
}

// countDays counts the days from the first to the last, both included.
func countDays(from, until time.Time) int64 {
	if until.Before(from) {
		return 0
	}
	return int64(until.Sub(from).Hours()/24) + 1
}

// oshaEnd is where OSHA's counting stops, for days away and restricted together:
// 29 CFR 1904.7(b)(3)(vii), (b)(4)(xi).
const oshaEnd = 180

// UnderOSHA are the days as the log of a year has them: at most 180, days away
// first as the more serious.
func (d Days) UnderOSHA() Days {
	away := min(d.Away, oshaEnd)
	return Days{Away: away, Restricted: min(d.Restricted, oshaEnd-away)}
}

// What a case is recorded as once nobody is away or at restricted work any more: it
// stays on the log until somebody says that it is not recordable.
const (
	BasisWithoutDays   = "medical_treatment"
	OutcomeWithoutDays = "other"
)

// IsOutcomeOfDays reports an outcome that rests on days.
func IsOutcomeOfDays(outcome string) bool { return outcome == "days_away" || outcome == "restricted" }

// CountPeriods counts the periods of a case.
func CountPeriods(periods []Period, injured, today time.Time) Tally {
	var t Tally
	for _, p := range periods {
		t.AddPeriod(p, injured, today)
	}
	return t
}

// periodsSQL selects the absences of cases, by case and day. $1 tenant, $2 ids of
// cases.
const periodsSQL = `
	SELECT id, case_id, kind, from_on, until_on, estimated
	FROM absences
	WHERE tenant_id = $1
		AND case_id IN {ids $2}
	ORDER BY case_id, from_on, id`

// ListAbsences returns the absences of cases, in the order of their days.
func ListAbsences(tx *db.Tx, tenant string, cases []string) (map[string][]Period, error) {
	found := map[string][]Period{}
	if len(cases) == 0 {
		return found, nil
	}
	err := tx.Query(periodsSQL, []any{tenant, query.List(cases)}, func(r *db.Row) error {
		p := Period{ID: r.Text(0), CaseID: r.Text(1)}
		p.ScanColumns(r, 2)
		found[p.CaseID] = append(found[p.CaseID], p)
		return nil
	})
	return found, err
}

// ScanColumns reads kind, first day, last day and whether it is estimated from four
// columns of a result, the first of which is named.
func (p *Period) ScanColumns(r *db.Row, first int) {
	p.Kind, p.From, p.Until = r.Text(first), parseDay(r.Text(first+1)), parseDay(r.Text(first+2))
	p.Estimated = r.Bool(first + 3)
}

func periodOf(row store.Row) Period {
	estimated, _ := row[estimatedColumn].(bool)
	return Period{
		ID: row.Text(idColumn), CaseID: row.Text(caseColumn), Kind: row.Text(kindColumn),
		From: parseDay(row.Text(fromColumn)), Until: parseDay(row.Text(untilColumn)), Estimated: estimated,
	}
}

// parseDay reads a stored calendar day as midnight UTC; the zero time when there is
// none.
func parseDay(s string) time.Time {
	d, err := localtime.ParseDate(s)
	if err != nil {
		return time.Time{}
	}
	return d.UTC()
}

// WriteDay writes a calendar day as it is stored.
func WriteDay(midnight time.Time) string { return localtime.DateOf(midnight, time.UTC).String() }
