package osha

import (
	"fmt"
	"math"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// changeSummaries keeps the totals of open summaries in step with the log and
// holds each step of a summary to its conditions.
func changeSummaries(tx *store.Tx, changes []store.Change) error {
	if err := checkKept(tx.Tx, tx.Now(), changes, "summary"); err != nil {
		return err
	}
	return safety.PerTenant(writeSummaries)(tx, changes)
}

func writeSummaries(tx *store.Tx, changes []store.Change) error {
	zone, err := tenantZone(tx.Tx, tx.TenantID)
	if err != nil {
		return err
	}
	sites := map[string]bool{}
	for _, c := range record.Changes[record.OSHASummary](changes) {
		addID(sites, c.After.SiteID())
	}
	rows, err := byID[record.Site](tx, sites)
	if err != nil {
		return fmt.Errorf("osha: read sites: %w", err)
	}
	b := &background{sites: rows, zone: zone}
	for _, c := range record.Changes[record.OSHASummary](changes) {
		site := b.sites[c.After.SiteID()]
		if site == nil {
			continue // the store's reference check names it
		}
		loc := b.establishmentZone(site.ID())
		if c.After.Status() == "open" || c.Before.Status() == "open" {
			if err := countTotals(tx.Tx, tx.TenantID, c.After, clockAt{tx.Now(), loc}); err != nil {
				return err
			}
			noteDoubt(c.After)
		}
		st := step{tx: tx.Tx, a: tx.Actor, c: c, site: site, now: tx.Now(), loc: loc}
		if err := st.checkStep(); err != nil {
			return err
		}
	}
	return nil
}

// countTotals fills a summary's totals from the log, hours from approved shifts and,
// where it is not given, the average number of employees from the dates of
// hire and leaving (each day of the year counts alike; 29 CFR 1904.32(b)(2)).
func countTotals(tx *db.Tx, tenant string, sum record.OSHASummary, at clockAt) error {
	queueTotals(tx, tenant, sum, at)
	year := sum.Year()
	from, to := yearBounds(year, at.zone)
	queueHours(tx, exposure{tenant: tenant, site: sum.SiteID(), from: from, to: to}, func(h decimal.Dec) {
		sum.SetHoursWorked(int64(math.Round(h.Float())) + sum.AdditionalHours())
	})
	if sum.AvgEmployees() == 0 {
		queueEmployees(tx, staff{tenant: tenant, site: sum.SiteID(), year: year},
			func(mean float64) { sum.SetAvgEmployees(int64(math.Ceil(mean))) })
	}
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("osha: total the log: %w", err)
	}
	return nil
}

// queueTotals asks for a summary's totals: the log, with the days that are expected
// of those who are still away.
func queueTotals(tx *db.Tx, tenant string, sum record.OSHASummary, at clockAt) {
	for _, t := range totals {
		sum[t] = int64(0)
	}
	p := Pick{Site: sum.SiteID(), Year: sum.Year()}
	queueCases(tx, tenant, p, at, func(c countedCase, sign int) {
		n, d := int64(sign), c.onLog(c.days.Expected)
		enterTotals(sum, line{c.outcome, c.kind, n, n * d.Away, n * d.Restricted})
	})
}

// yearBounds are the first instant of a local year and of the next.
func yearBounds(year int64, loc *time.Location) (from, to time.Time) {
	return time.Date(int(year), 1, 1, 0, 0, 0, 0, loc).UTC(), time.Date(int(year)+1, 1, 1, 0, 0, 0, 0, loc).UTC()
}

// exposure is whose hours are meant: of a tenant, or of one of its sites, for
// shifts that began in [from, to).
type exposure struct {
	tenant, site string
	from, to     time.Time
}

// hoursSQL adds up the hours of approved shifts of the people whom OSHA's records are about: those on the payroll,
// and others who are supervised day to day (29 CFR 1904.31). A shift belongs to the site of its zone, else of its
// worker. $1 tenant, $2 and $3 when a shift may begin, $4 site, empty for all.
const hoursSQL = `
	SELECT CAST(coalesce(SUM(shift.hours), 0) AS bigint)
	FROM shifts AS shift
	JOIN workers AS worker ON worker.tenant_id = $1 AND worker.id = shift.worker_id
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = shift.zone_id
	WHERE shift.tenant_id = $1
		AND shift.status = 'approved'
		AND shift.started_at >= $2
		AND shift.started_at < $3
		AND (worker.employment <> 'contractor' OR worker.supervised)
		AND ($4 = '' OR CAST(coalesce(zone.site_id, worker.site_id) AS text) = $4)`

// queueHours asks for the hours that were worked.
func queueHours(tx *db.Tx, e exposure, got func(decimal.Dec)) {
	tx.Queue(hoursSQL, []any{e.tenant, e.from, e.to, e.site}, func(r *db.Row) error { got(r.Dec(0)); return nil })
}

// IsUnsupervised reports a worker whose injuries another employer records: a contractor whom nobody here supervises
// day to day (29 CFR 1904.31(b)(3)).
func IsUnsupervised(worker record.Worker) bool {
	isSupervised := worker.Supervised()
	return worker.Employment() == "contractor" && !isSupervised
}

// staff is whose number is meant: of a tenant or of one of its sites, in a
// year; sites in counted are left out.
type staff struct {
	tenant, site string
	year         int64
	counted      map[string]bool
}

// employmentsSQL selects when people were employed whom OSHA's records are about. $1 tenant, $2 site, empty for all.
const employmentsSQL = `
	SELECT hired_on, left_on, site_id
	FROM workers
	WHERE tenant_id = $1
		AND ($2 = '' OR CAST(site_id AS text) = $2)
		AND (employment <> 'contractor' OR supervised)
		AND (status <> 'left' OR left_on IS NOT NULL)`

// queueEmployees asks for the mean number of people employed on a day of the
// year. A worker without a date of hire counts for the whole year; one who has left on
// a day that nobody wrote down counts for none.
func queueEmployees(tx *db.Tx, st staff, got func(mean float64)) {
	first, last := time.Date(int(st.year), 1, 1, 0, 0, 0, 0, time.UTC), time.Date(int(st.year), 12, 31, 0, 0, 0, 0, time.UTC)
	days := 0.0
	got(0)
	tx.Queue(employmentsSQL, []any{st.tenant, st.site}, func(r *db.Row) error {
		if st.counted[r.Text(2)] {
			return nil
		}
		from, to := first, last
		if d := parseDay(r.Text(0)); d.After(from) {
			from = d
		}
		if d := parseDay(r.Text(1)); !d.IsZero() && d.Before(to) {
			to = d
		}
		if !to.Before(from) {
			days += to.Sub(from).Hours()/24 + 1
		}
		got(days / (last.Sub(first).Hours()/24 + 1))
		return nil
	})
}

// step is one change of a summary.
type step struct {
	tx   *db.Tx
	a    actor.Actor
	c    record.Change[record.OSHASummary]
	site record.Site
	now  time.Time
	loc  *time.Location
}

func (s *step) checkStep() error {
	sum := s.c.After
	if y := sum.Year(); y < 2002 || y > 2100 {
		return refuseRule("year", "29 CFR 1904.0", "summaries of this form are of years from 2002 to 2100")
	}
	from, to := s.c.Before.Status(), sum.Status()
	if err := s.checkPosting(); err != nil {
		return err
	}
	if err := s.checkCasesSubmitted(); err != nil {
		return err
	}
	if s.c.Op == store.Update && from == to && from != "open" {
		return s.checkFrozen()
	}
	switch {
	case from == "open" && to == "certified":
		return s.checkCertification()
	case from == "certified" && to == "submitted":
		sum.SetSubmittedAt(query.FormatTime(s.now))
		if err := CheckEstablishment(s.site); err != nil {
			return err
		}
		return CheckSummary(sum)
	case s.c.Op == store.Update && from != "open" && to == "open":
		if sum.ChangeReason() == "" || sum.ChangeReasonOrNull() == s.c.Before.ChangeReasonOrNull() &&
			from == "submitted" {
			return refuseEarly("29 CFR 1904.33(b)(3)", "say why the summary is opened again: change_reason")
		}
		sum.ClearCertifiedBy()
		sum.ClearCertifiedAt()
		sum.ClearSubmittedAt()
	}
	return nil
}

// checkPosting holds the time of posting to 29 CFR 1904.32(b)(6). Posting late is
// written down as it was; the compliance rule tells of it.
func (s *step) checkPosting() error {
	sum, year := s.c.After, int(s.c.After.Year())
	from, to := parseDay(sum.PostedFrom()), parseDay(sum.PostedTo())
	switch {
	case from.IsZero() && to.IsZero():
		return nil
	case from.IsZero():
		return refuseRule("posted_from", "29 CFR 1904.32(b)(6)", "posted_to needs posted_from")
	case sum.Status() == "open" && s.c.Before.PostedFrom() != sum.PostedFrom():
		return refuseRule("posted_from", "29 CFR 1904.32(b)(5)", "a summary is posted when it is certified")
	case from.Year() <= year:
		return refuseRule("posted_from", "29 CFR 1904.32(b)(6)", "the summary of %d is posted in the year after it", year)
	case !to.IsZero() && to.Before(time.Date(year+1, 4, 30, 0, 0, 0, 0, time.UTC)):
		return refuseRule("posted_to", "29 CFR 1904.32(b)(6)", "the summary stays posted until 30 April")
	case !to.IsZero() && to.Before(from):
		return refuseRule("posted_to", "29 CFR 1904.32(b)(6)", "lies before posted_from")
	}
	return nil
}

// checkCasesSubmitted holds the day on which the cases of a year were submitted to the
// time in which that can be.
func (s *step) checkCasesSubmitted() error {
	const field, citation = "cases_submitted_on", "29 CFR 1904.41(a)(2)"
	sum, year := s.c.After, int(s.c.After.Year())
	day := parseDay(sum.CasesSubmittedOn())
	if day.IsZero() || s.c.Before.CasesSubmittedOn() == sum.CasesSubmittedOn() {
		return nil
	}
	if day.Year() <= year {
		return refuseRule(field, citation, "%s: the cases of %d are submitted in the year after it", field, year)
	}
	if day.After(localtime.DateOf(s.now, s.loc).UTC()) {
		return refuseRule(field, citation, "%s lies in the future", field)
	}
	return nil
}

// checkFrozen refuses to change the figures of a certified summary.
func (s *step) checkFrozen() error {
	for _, f := range append([]string{"avg_employees", "peak_employees", "additional_hours", "certified_name", "certified_title", "certified_phone"},
		totals[:]...) {
		if s.c.Before[f] != s.c.After[f] {
			return refuseRule(f, "29 CFR 1904.32(b)(3)", "the summary is certified: open it again to change %s", f)
		}
	}
	return nil
}

// certify: the year is over, every case decided, the figures add up, and an
// executive who did not make the summary puts his name to it
// (29 CFR 1904.32(a), (b)(3)-(4); four eyes: domain, roles).
func (s *step) checkCertification() error {
	sum := s.c.After
	year := sum.Year()
	_, over := yearBounds(year, s.loc)
	switch {
	case s.now.Before(over):
		return refuseEarly("29 CFR 1904.32(a)", "the year %d is not over", year)
	case sum.CertifiedName() == "":
		return refuseRule("certified_name", "29 CFR 1904.32(b)(3)", "name the company executive who certifies")
	case sum.CertifiedTitle() == "":
		return refuseRule("certified_title", "29 CFR 1904.32(b)(4)", "give the executive's title")
	case !s.a.Person():
		return refuseEarly("29 CFR 1904.32(b)(3)", "a person certifies, not a key")
	case !s.a.Seconds(sum.CreatedByOrNull()):
		return refuseEarly("29 CFR 1904.32(b)(3)", "somebody else certifies than the one who made the summary")
	}
	undecided := int64(0)
	err := s.tx.Query(`
		SELECT COUNT(*)
		FROM osha_cases
		WHERE tenant_id = $1
			AND site_id = $2
			AND year = $3
			AND recordable = 'undecided'`,
		[]any{s.a.TenantID, sum.SiteIDOrNull(), year}, func(r *db.Row) error {
			undecided = r.Int(0)
			return nil
		})
	if err != nil {
		return fmt.Errorf("osha: look for undecided cases: %w", err)
	}
	if undecided > 0 {
		return refuseEarly("29 CFR 1904.32(a)(1)", "%d cases of the year are undecided", undecided)
	}
	if err := CheckSummary(sum); err != nil {
		return err
	}
	sum.SetCertifiedBy(s.a.UserID)
	sum.SetCertifiedAt(query.FormatTime(s.now))
	return nil
}

// refreshSummaries totals anew the open summaries of the logs that changed. A
// certified one stays as it was certified (29 CFR 1904.33(b)(3)).
func refreshSummaries(tx *store.Tx, changes []store.Change) error {
	return safety.PerTenant(func(tx *store.Tx, changes []store.Change) error {
		touched := map[log]bool{}
		sites := map[string]bool{}
		for _, c := range changes {
			for _, row := range [...]record.OSHACase{record.OSHACase(c.Before), record.OSHACase(c.After)} {
				if row != nil && row.YearOrNull() != nil {
					touched[log{row.SiteID(), row.Year()}] = true
					addID(sites, row.SiteID())
				}
			}
		}
		ids := make([]string, 0, len(sites))
		for id := range sites {
			ids = append(ids, id)
		}
		open, err := record.List[record.OSHASummary](tx, "status = 'open' AND site_id IN {ids $2}", query.List(ids))
		if err != nil {
			return fmt.Errorf("osha: read summaries: %w", err)
		}
		var stale []string
		for _, sum := range open {
			if touched[log{sum.SiteID(), sum.Year()}] {
				stale = append(stale, sum.ID())
			}
		}
		if len(stale) == 0 {
			return nil
		}
		err = tx.As(actor.Actor{Role: actor.Service, TenantID: tx.TenantID, RequestID: tx.RequestID}).UpdateRows("osha_summaries", stale, store.Row{})
		return err
	})(tx, changes)
}
