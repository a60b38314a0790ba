package programme

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/safety/jurisdiction"
	"holdfast/internal/safety/yearly"
)

// done says when the annual summary of a year is in a state that a rule's
// deadline asks for.
var done = map[string]string{
	"osha_summary.certified": "status <> 'open'",
	"osha_summary.posted":    "posted_from IS NOT NULL",
	"osha_summary.submitted": "status = 'submitted'",

	"osha_summary.cases_submitted": "cases_submitted_on IS NOT NULL",
}

// deadlinesSQL selects the establishments in use that may be American, each with the years
// that its records are about, whether the summary of the year is in the state that
// is asked for, its industry, and its people: those of no site may be of each. $1 tenant;
// the word is that state's condition.
var deadlinesSQL = jurisdiction.FillStatement(`
	SELECT site.id, record.year, record.met, record.summary_id, coalesce(site.naics, ''),
		(
			SELECT COUNT(*)
			FROM workers
			WHERE workers.tenant_id = $1
				AND workers.status = 'active'
				AND (workers.site_id = site.id OR workers.site_id IS NULL)
		)
	FROM sites AS site
	JOIN tenants AS tenant ON tenant.id = site.tenant_id
	LEFT JOIN (
		SELECT summary.site_id, summary.year, CASE WHEN summary.%s THEN 1 ELSE 0 END AS met,
			summary.id AS summary_id
		FROM osha_summaries AS summary
		WHERE summary.tenant_id = $1
		UNION
		SELECT osha_case.site_id, osha_case.year, 0, CAST(NULL AS uuid)
		FROM osha_cases AS osha_case
		WHERE osha_case.tenant_id = $1
	) AS record ON record.site_id = site.id
	WHERE site.tenant_id = $1
		AND {may be american}
		AND site.archived_at IS NULL
	ORDER BY site.id, record.year`)

// fillDeadline reads how many days the deadline of the establishment that is
// worst off lies back, negative before it. It is unknown to a tenant that keeps
// no statutory log, and not about one without American establishments, or whose
// establishments are all too small for the rule, or of industries that keep no log: each
// is held to its own number of people, not to that of the largest.
func (s *scan) fillDeadline(tx *db.Tx, r *safety.Rule, t *table) {
	state, ok := done[r.State]
	if !ok || r.Per != "tenant" {
		return
	}
	t.exempt = !s.known.american
	d := &deadline{rule: r}
	tx.Queue(fmt.Sprintf(deadlinesSQL, state), []any{s.tenant}, func(row *db.Row) error {
		if id := row.Text(0); id != d.last {
			d.last = id
			isHeld := s.appliesToSite(r, row.Int(5)) && !yearly.IsExempt(row.Text(4))
			d.list = append(d.list, &establishment{id: id, isHeld: isHeld})
		}
		if at := d.list[len(d.list)-1]; at.isHeld && !row.Null(1) {
			d.anything = true
			at.addYear(row)
		}
		return nil
	})
	if r.YearlyFact() != "" {
		if s.submitters == nil {
			s.submitters = yearly.QueueRegister(tx, s.tenant)
		}
		d.register = s.submitters
	}

	today := localtime.DateOf(s.now, localtime.Zone(s.st.place)).UTC()
	s.finish = append(s.finish, func() { d.fillTable(today, t) })
}

// deadline is a yearly duty, with the establishments that it may be about.
type deadline struct {
	rule     *safety.Rule
	register *yearly.Register // nil where the rule is about all years alike
	list     []*establishment
	last     string // the establishment of the row that was read
	anything bool   // some statutory log is kept
}

// fillTable enters the establishment that is worst off. One of which it is not known
// whether the duty is about it leaves the verdict open, unless another is late.
func (d *deadline) fillTable(today time.Time, t *table) {
	isUnsure := d.register != nil && len(d.list) == 0
	if d.register != nil {
		for _, at := range d.list {
			isUnsure = at.excuseYears(d, today) || isUnsure
		}
	}
	isHeld := slices.ContainsFunc(d.list, func(at *establishment) bool { return at.isHeld })
	t.exempt = t.exempt || !isHeld && !isUnsure && len(d.list) > 0
	if d.anything || d.register != nil { // who submits needs no log to be late
		for _, at := range d.list {
			if !at.isHeld {
				continue
			}
			days := yearly.DaysPast(d.rule, today, &at.record)
			if !t.any || days > t.total {
				delete(t.evidence, everyEntity) // a summary of an establishment that is less late
			}
			t.putValue(everyEntity, days, at.summaries...)
		}
	}
	t.unsure = isUnsure && !(t.any && t.total > 0)
}

// establishment is what one has done for a yearly duty, and the summaries that
// show it, by year.
type establishment struct {
	id        string
	isHeld    bool // the rule is about it
	record    yearly.Record
	summaries []uuid.UUID
}

// excuseYears takes out the years to which the duty does not go, by the most people of
// each and the industry; without one that is left the rule is not about the
// establishment. It reports that of some year nothing says whether it does. A year that
// has begun without a record is held to be like the one before.
func (e *establishment) excuseYears(d *deadline, today time.Time) (isUnsure bool) {
	fact, isOwed := d.rule.YearlyFact(), false
	before, first := yearly.Unknown, yearly.FirstYear(d.rule, today, &e.record)
	e.record.AddYear(first, false)
	for year := first; year <= today.Year(); year++ {
		answer := d.register.AskFact(fact, e.id, year)
		if answer == yearly.Unknown && year == today.Year() {
			answer = before
		}
		before = answer
		if answer == yearly.Yes || e.record.IsMet(year) {
			isOwed = true
			continue
		}
		isUnsure = isUnsure || answer == yearly.Unknown
		e.record.AddYear(year, true)
	}
	e.isHeld = e.isHeld && isOwed
	return isUnsure
}

// addYear notes a row of deadlinesSQL.
func (e *establishment) addYear(row *db.Row) {
	met := row.Int(2) == 1
	e.record.AddYear(int(row.Int(1)), met)
	if met {
		e.summaries = append(e.summaries, row.UUID(3))
	}
}

// appliesToSite reports whether a rule is about an establishment with that many
// people. While nobody is on record it may be: that is not a small establishment.
func (s *scan) appliesToSite(r *safety.Rule, people int64) bool {
	facts := maps.Clone(s.facts)
	if len(facts) > 0 {
		facts[safety.SiteEmployees] = float64(people)
	}
	applies, sure := r.Applies(facts)
	return applies || !sure
}
