package absence

import (
	"fmt"
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// codeRule is the code of a fault that names a broken rule of record keeping.
const codeRule = "HF012"

// furthestYears is how far ahead an end may be estimated; what lies beyond is a
// typing error.
const furthestYears = 10

// Effects returns the consequences of changes to absences, for store.New.
func Effects() store.Effects {
	return store.Effects{
		Before: map[string]store.Effect{Resource: checkAbsences},
		After:  map[string]store.Effect{Resource: countCases},
	}
}

// knownCase is what absences are held against.
type knownCase struct{ injured, today time.Time }

// checkAbsences holds absences to their cases and to each other, tenant by tenant.
func checkAbsences(tx *store.Tx, changes []store.Change) error {
	sent := make(map[string]int, len(changes))
	for i, c := range record.Changes[record.Absence](changes) {
		if c.After != nil {
			sent[c.After.ID()] = i + 1
		}
	}
	return safety.PerTenant(func(tx *store.Tx, changes []store.Change) error {
		return checkAbsencesOf(tx, changes, sent)
	})(tx, changes)
}

// checkAbsencesOf holds absences of one tenant to the rules. It locks the cases, so
// that two changes at once do not both find a day free. sent are the places of all
// rows in the request, by id, from 1.
func checkAbsencesOf(tx *store.Tx, changes []store.Change, sent map[string]int) error {
	var ids []string
	changed := map[string]bool{}
	for _, c := range changes {
		ids = append(ids, c.After.Text(caseColumn))
		changed[c.After.Text(idColumn)] = true
	}
	cases, err := lockCases(tx, ids)
	if err != nil {
		return err
	}
	periods, err := ListAbsences(tx.Tx, tx.TenantID, ids)
	if err != nil {
		return fmt.Errorf("absence: read absences: %w", err)
	}

	for id := range periods {
		periods[id] = slices.DeleteFunc(periods[id], func(p Period) bool { return changed[p.ID] })
	}
	for _, c := range changes {
		p := periodOf(c.After)
		known, found := cases[p.CaseID]
		if !found {
			continue // the store's reference check names it
		}
		if err := checkPeriod(p, known); err != nil {
			return nameRow(err, sent[p.ID], len(sent))
		}
		periods[p.CaseID] = append(periods[p.CaseID], p)
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if bad, err := checkOverlap(periods[id], changed); err != nil {
			return nameRow(err, sent[bad], len(sent))
		}
	}
	return nil
}

// nameRow names the row of several that was refused, beside its field.
func nameRow(err *fault.Error, row, n int) error {
	if n > 1 {
		f := err.Fields[0]
		err.Msg = fmt.Sprintf("row %d, %s", row, err.Msg)
		err.Details = fmt.Sprintf("row %d, %s: %s", row, f.Name, f.Msg)
	}
	return err
}

// lockIncidentsSQL locks the incidents of cases. $1 tenant, $2 ids of cases.
const lockIncidentsSQL = `
	SELECT id
	FROM incidents
	WHERE tenant_id = $1
		AND id IN (
			SELECT incident_id
			FROM osha_cases
			WHERE tenant_id = $1
				AND id IN {ids $2}
		)
	ORDER BY id
	{for update}`

// QueueIncidents locks the incidents of cases with the next flush. A case and its incident
// are one story, and a change of each reaches the other: whatever changes a case locks its
// incident first, as a change of the incident does.
func QueueIncidents(tx *db.Tx, tenant string, cases []string) {
	tx.Queue(lockIncidentsSQL, []any{tenant, query.List(cases)}, func(*db.Row) error { return nil })
}

// lockCasesSQL locks cases and selects their outcomes. $1 tenant, $2 their ids.
const lockCasesSQL = `
	SELECT id, outcome
	FROM osha_cases
	WHERE tenant_id = $1
		AND id IN {ids $2}
	ORDER BY id
	{for update}`

// knownCasesSQL selects when cases happened, and in which time zone. $1 tenant, $2
// ids of cases.
const knownCasesSQL = `
	SELECT osha_case.id, incident.occurred_at, site.timezone
	FROM osha_cases AS osha_case
	JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = osha_case.incident_id
	JOIN sites AS site ON site.tenant_id = $1 AND site.id = osha_case.site_id
	WHERE osha_case.tenant_id = $1
		AND osha_case.id IN {ids $2}`

// lockCases locks cases and returns the days that count for them.
func lockCases(tx *store.Tx, ids []string) (map[string]knownCase, error) {
	args := []any{tx.TenantID, query.List(ids)}
	tenantZone := ""
	zones, moments := map[string]string{}, map[string]time.Time{}
	QueueIncidents(tx.Tx, tx.TenantID, ids)
	tx.Queue(lockCasesSQL, args, func(*db.Row) error { return nil })
	tx.Queue(knownCasesSQL, args, func(r *db.Row) error {
		at, err := time.Parse(time.RFC3339Nano, r.Text(1))
		moments[r.Text(0)], zones[r.Text(0)] = at, r.Text(2)
		return err
	})
	store.QueueZone(tx.Tx, tx.TenantID, &tenantZone)
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("absence: read cases: %w", err)
	}

	cases := make(map[string]knownCase, len(moments))
	for id, at := range moments {
		zone := localtime.Zone(tenantZone)
		if zones[id] != "" {
			zone = localtime.Zone(zones[id])
		}
		cases[id] = knownCase{injured: localtime.DateOf(at, zone).UTC(), today: localtime.DateOf(tx.Now(), zone).UTC()}
	}
	return cases, nil
}

// checkPeriod holds a period to the calendar.
func checkPeriod(p Period, c knownCase) *fault.Error {
	switch {
	case p.From.Before(c.injured):
		return refusePeriod(fault.Invalid, fromColumn, "%s lies before the injury or illness of %s", WriteDay(p.From),
			WriteDay(c.injured))
	case p.From.After(c.today):
		return refusePeriod(fault.Invalid, fromColumn,
			"%s lies in the future: an absence is written down when it begins", WriteDay(p.From))
	case p.Until.IsZero() && p.Estimated:
		return refusePeriod(fault.Invalid, untilColumn, "is missing: an estimate needs the day that is expected")
	case p.Until.IsZero():
		return nil
	case p.Until.Before(p.From):
		return refusePeriod(fault.Invalid, untilColumn, "%s lies before %s", WriteDay(p.Until), WriteDay(p.From))
	case p.Until.After(c.today.AddDate(furthestYears, 0, 0)):
		return refusePeriod(fault.Invalid, untilColumn, "%s is more than %d years ahead, which is a typing error",
			WriteDay(p.Until), furthestYears)
	case p.Until.After(c.today) && !p.Estimated:
		return refusePeriod(fault.Invalid, untilColumn,
			"%s lies in the future: leave it empty, or say that it is estimated", WriteDay(p.Until))
	}
	return nil
}

// checkOverlap refuses a day that two periods of a case claim: each day is away or
// restricted, and counts once. It names the period that was changed, and its field.
func checkOverlap(periods []Period, changed map[string]bool) (id string, refused *fault.Error) {
	slices.SortStableFunc(periods, func(a, b Period) int { return a.From.Compare(b.From) })
	for i := 1; i < len(periods); i++ {
		before, after := periods[i-1], periods[i]
		if !before.Until.IsZero() && before.Until.Before(after.From) {
			continue
		}
		field, own, other := fromColumn, after, before
		if !changed[after.ID] {
			field, own, other = untilColumn, before, after
		}
		return own.ID, refusePeriod(fault.Conflict, field,
			"overlaps the days %s %s: each day is away or restricted, once; change that absence, or leave its days out",
			other.Kind, other.describeDays())
	}
	return "", nil
}

func (p Period) describeDays() string {
	if p.Until.IsZero() {
		return "since " + WriteDay(p.From)
	}
	return "from " + WriteDay(p.From) + " to " + WriteDay(p.Until)
}

func refusePeriod(kind fault.Kind, field, format string, args ...any) *fault.Error {
	return fault.New(kind, codeRule, field+" "+format, args...).At(field, format, args...)
}

// countCases has the cases whose absences changed counted anew. A case whose last
// absence was deleted has no days, for nothing else says how many there were, and no
// outcome that rests on days.
func countCases(tx *store.Tx, changes []store.Change) error {
	touched := map[string][]string{} // cases by tenant
	for _, c := range record.Changes[record.Absence](changes) {
		row := c.After
		if row == nil {
			row = c.Before
		}
		touched[row.TenantID()] = append(touched[row.TenantID()], row.CaseID())
	}
	for tenant, ids := range touched {
		if err := countCasesOf(tx.Of(tenant), slices.Compact(slices.Sorted(slices.Values(ids)))); err != nil {
			return err
		}
	}
	return nil
}

// countCasesOf counts cases of one tenant. It locks them first: of two who delete at
// once the second sees what the first left.
func countCasesOf(tx *store.Tx, ids []string) error {
	outcomes := map[string]string{}
	QueueIncidents(tx.Tx, tx.TenantID, ids)
	tx.Queue(lockCasesSQL, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		outcomes[r.Text(0)] = r.Text(1)
		return nil
	})
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("absence: lock cases: %w", err)
	}
	periods, err := ListAbsences(tx.Tx, tx.TenantID, ids)
	if err != nil {
		return fmt.Errorf("absence: read absences: %w", err)
	}
	sets := make([]record.OSHACase, len(ids))
	for i, id := range ids {
		sets[i] = record.OSHACase{idColumn: id}
		if len(periods[id]) == 0 {
			for _, f := range [...]string{"days_away", "days_restricted"} {
				sets[i][f] = int64(0)
			}
			for _, f := range [...]string{"away_from", "away_until", "restricted_from", "restricted_until"} {
				sets[i][f] = nil
			}
			if IsOutcomeOfDays(outcomes[id]) {
				sets[i].SetBasis(BasisWithoutDays)
				sets[i].SetOutcome(OutcomeWithoutDays)
			}
		}
	}
	return tx.UpdateEach("osha_cases", record.Rows(sets))
}
