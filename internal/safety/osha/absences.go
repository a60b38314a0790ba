package osha

import (
	"maps"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/absence"
)

// Columns of a case that its absences decide.
const (
	awayColumn            = "days_away"
	restrictedColumn      = "days_restricted"
	awayFromColumn        = "away_from"
	awayUntilColumn       = "away_until"
	restrictedFromColumn  = "restricted_from"
	restrictedUntilColumn = "restricted_until"

	idColumn         = "id"
	recordableColumn = "recordable"
	basisColumn      = "basis"
	outcomeColumn    = "outcome"
)

// countedFields are the days of a case that its absences count, where it has any.
var countedFields = [...]string{awayColumn, restrictedColumn, awayFromColumn, awayUntilColumn, restrictedFromColumn,
	restrictedUntilColumn}

// checkFollow refuses a change that moves an injury behind the first absence, at the
// field that moves it. A case that has got there otherwise, as with the time zone of its
// establishment, is written and counted as it is.
func checkFollow(periods []absence.Period, injured time.Time, field string) error {
	if len(periods) == 0 || !periods[0].From.Before(injured) {
		return nil
	}
	first := periods[0]
	return refuseRule(field, "29 CFR 1904.7(b)(3)(i)", "%s: %s lies behind %s, from which on somebody was %s",
		field, absence.WriteDay(injured), absence.WriteDay(first.From), first.Kind)
}

// takeAbsences gives a case the days of its absences, and with them the outcome that
// is the most serious (29 CFR 1904.33(b)(1)), unless the change itself decides it. Days
// that are expected decide too: they come without anybody writing to the case, and the
// annual summary has them among its days.
func takeAbsences(ch record.Change[record.OSHACase], periods []absence.Period, t absence.Tally) error {
	c := ch.After
	for _, f := range countedFields {
		if safety.IsChanged(ch.Change, f) {
			return refuseRule(f, "29 CFR 1904.7(b)(3)",
				"%s follows from the absences of the case (absences): change those", f)
		}
	}
	c.SetDaysAway(t.ToDate.Away)
	c.SetDaysRestricted(t.ToDate.Restricted)
	from, until := findEnds(periods, absence.Away)
	c.SetAwayFromOrNull(from)
	c.SetAwayUntilOrNull(until)
	from, until = findEnds(periods, absence.Restricted)
	c.SetRestrictedFromOrNull(from)
	c.SetRestrictedUntilOrNull(until)
	if c.Recordable() != "yes" || c.Outcome() == "death" ||
		safety.IsChanged(ch.Change, recordableColumn, basisColumn, outcomeColumn) {
		return nil
	}
	if outcome := outcomeOfDays(t.Expected); outcome != "" {
		c.SetBasis(outcome)
		c.SetOutcome(outcome)
	} else if absence.IsOutcomeOfDays(c.Outcome()) {
		c.SetBasis(absence.BasisWithoutDays)
		c.SetOutcome(absence.OutcomeWithoutDays)
	}
	return nil
}

// outcomeOfDays is the outcome that days lead to, "" without any.
func outcomeOfDays(d absence.Days) string {
	if d.Away > 0 {
		return "days_away"
	}
	if d.Restricted > 0 {
		return "restricted"
	}
	return ""
}

// findEnds are the first and the last day of the periods of a kind, in the order of
// their days; the last is nil while one lasts.
func findEnds(periods []absence.Period, kind string) (first, last any) {
	for _, p := range periods {
		if p.Kind != kind {
			continue
		}
		if first == nil {
			first = absence.WriteDay(p.From)
		}
		last = nil
		if !p.Until.IsZero() {
			last = absence.WriteDay(p.Until)
		}
	}
	return first, last
}

// countedCase is a recordable case with the days that count for it.
type countedCase struct {
	id, outcome, kind string
	days              absence.Tally
}

// onLog are the days that the log of a year has of a case: a death has none
// (29 CFR 1904.7(b)(2)), and counting stops at 180.
func (c countedCase) onLog(d absence.Days) absence.Days {
	if c.outcome == "death" {
		return absence.Days{}
	}
	return d.UnderOSHA()
}

// countedCasesSQL selects the recordable cases of a year with their absences; a case
// has as many rows as absences, or one. $1 tenant, $2 year, $3 establishment, empty
// for all.
const countedCasesSQL = `
	SELECT osha_case.id, osha_case.outcome, osha_case.illness_type, osha_case.days_away, osha_case.days_restricted,
		incident.occurred_at, site.timezone,
		absence.kind, absence.from_on, absence.until_on, absence.estimated
	FROM osha_cases AS osha_case
	JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = osha_case.incident_id
	JOIN sites AS site ON site.tenant_id = $1 AND site.id = osha_case.site_id
	LEFT JOIN absences AS absence ON absence.tenant_id = $1 AND absence.case_id = osha_case.id
	WHERE osha_case.tenant_id = $1
		AND osha_case.year = $2
		AND ($3 = '' OR CAST(osha_case.site_id AS text) = $3)
		AND osha_case.recordable = 'yes'
		AND incident.status <> 'void'
	ORDER BY osha_case.id`

// clockAt is a moment and the time zone of a tenant, which establishments without
// one of their own go by.
type clockAt struct {
	now  time.Time
	zone *time.Location
}

// queueCases asks for the recordable cases of a log. add gets a case at each of its
// absences with the sign 1, after the case as it stood before with the sign -1.
func queueCases(tx *db.Tx, tenant string, p Pick, at clockAt, add func(c countedCase, sign int)) {
	var c countedCase
	tx.Queue(countedCasesSQL, []any{tenant, p.Year, p.Site}, func(r *db.Row) error {
		if id := r.Text(0); id != c.id {
			c = countedCase{id: id, outcome: r.Text(1), kind: r.Text(2)}
		} else {
			add(c, -1)
		}
		if r.Null(7) {
			c.days = tallyOf(absence.Days{Away: r.Int(3), Restricted: r.Int(4)})
		} else {
			zone := at.zone
			if name := r.Text(6); name != "" {
				zone = localtime.Zone(name)
			}
			var period absence.Period
			period.ScanColumns(r, 7)
			c.days.AddPeriod(period, localtime.DateOf(r.Time(5), zone).UTC(), localtime.DateOf(at.now, zone).UTC())
		}
		add(c, 1)
		return nil
	})
}

// statedDays are the days that a case without absences states itself.
func statedDays(c record.OSHACase) absence.Tally {
	return tallyOf(absence.Days{Away: c.DaysAway(), Restricted: c.DaysRestricted()})
}

// tallyOf are days of which nothing is left open.
func tallyOf(d absence.Days) absence.Tally { return absence.Tally{ToDate: d, Expected: d} }

// countEntries counts the days of entries: those of the case's absences, or those
// that it states itself.
func countEntries(tx *db.Tx, tenant string, entries []Entry, dayOf func(Entry) (injured, today time.Time)) error {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.Case.ID()
	}
	periods, err := absence.ListAbsences(tx, tenant, ids)
	if err != nil {
		return err
	}
	for i, e := range entries {
		entries[i].Days = statedDays(e.Case)
		if list := periods[ids[i]]; len(list) > 0 {
			injured, today := dayOf(e)
			entries[i].Days = absence.CountPeriods(list, injured, today)
		}
	}
	return nil
}

// onLog are the days of an entry as the log of a year has them.
func (e Entry) onLog(d absence.Days) absence.Days {
	return countedCase{outcome: e.Case.Outcome()}.onLog(d)
}

// withDays are the cases of a book with days as the log has them.
func (b *Book) withDays(days func(absence.Tally) absence.Days) []record.OSHACase {
	log := make([]record.OSHACase, len(b.Entries))
	for i, e := range b.Entries {
		c := maps.Clone(e.Case)
		d := e.onLog(days(e.Days))
		c.SetDaysAway(d.Away)
		c.SetDaysRestricted(d.Restricted)
		log[i] = c
	}
	return log
}

func daysToDate(t absence.Tally) absence.Days { return t.ToDate }

// daysExpected are those of the annual summary: who is still away is counted with the
// days that are expected, 29 CFR 1904.7(b)(3)(ix).
func daysExpected(t absence.Tally) absence.Days { return t.Expected }
